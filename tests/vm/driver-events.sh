#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
#
# The driver's unsolicited reports: tracepoints as tracefs shows them, and uevents.
exec tests/driver/guest -- sh -c '
for name in trace uevent; do
	build/test/driver-$name || status=1
done
exit ${status:-0}'
