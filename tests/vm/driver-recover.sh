#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# The bus takes the device away for a moment: errors injected at its root port, function-level
# reset, bus reset; alone, on top of each other and under load. Arguments name some.
exec tests/driver/guest -- build/test/driver-recover "$@"
