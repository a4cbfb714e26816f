#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# The device's faults one by one, set by the guest through a QMP port, and what is made of
# them when a context does not reset. Arguments name some. The driver's own words about
# them are expected in the kernel's log.
# shellcheck disable=SC2016 # the guest's shell expands it
exec tests/driver/guest -- sh -c '
for name in fault reset; do
	build/test/driver-$name "$@" || status=1
done
exit ${status:-0}' - "$@"
