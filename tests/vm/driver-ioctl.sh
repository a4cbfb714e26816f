#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# Every ioctl of the driver on the stock kernel, one program per subject.
exec scripts/vm --cpus 2 --timeout 500 -- sh -c '
for name in uapi context buffer submit wait observe hostring client; do
	build/test/driver-$name || status=1
done
exit ${status:-0}'
