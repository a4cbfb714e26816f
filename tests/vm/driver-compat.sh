#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
#
# Every ioctl as a 32-bit program sees it.
if [ ! -e build/test/driver32-uapi ]; then
	echo "1..0 # SKIP no 32-bit C library to link with: apt-get install libc6-dev-i386"
	exit 0
fi
exec scripts/vm --cpus 2 --timeout 250 -- sh -c '
for name in uapi context buffer submit wait observe hostring client; do
	build/test/driver32-$name || status=1
done
exit ${status:-0}'
