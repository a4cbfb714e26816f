#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# The device's faults one by one, set by the guest through a QMP port. The
# driver's own words about them are expected in the kernel's log.
exec tests/driver/guest -- build/test/driver-fault "$@"
