#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
#
# perf, trace-cmd, bpftrace and linuxptp on the driver, and the interfaces that they use.
exec scripts/vm --cpus 2 --timeout 300 -- sh -c '
for name in pmu ptp sysfs; do
	build/test/driver-$name || status=1
done
tests/driver/tools.sh || status=1
exit ${status:-0}'
