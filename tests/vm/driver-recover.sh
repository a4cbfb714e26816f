#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# The device is inaccessible for a moment: errors injected at its root port, function-level reset,
# bus reset; alone, combined and under load. Arguments select some.
exec tests/driver/guest -- build/test/driver-recover "$@"
