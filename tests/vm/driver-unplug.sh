#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# The device disappears while it is used, in every way, in one guest. Arguments select some.
exec tests/driver/guest -- build/test/driver-unplug "$@"
