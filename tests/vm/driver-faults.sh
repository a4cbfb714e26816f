#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# The device's faults, one at a time, set by the guest through a QMP port, and the handling of
# contexts that do not reset. Arguments select some. The driver's messages about them are expected
# in the kernel's log.
# shellcheck disable=SC2016 # the guest's shell expands it
exec tests/driver/guest -- sh -c '
for name in fault reset; do
	build/test/driver-$name "$@" || status=1
done
exit ${status:-0}' - "$@"
