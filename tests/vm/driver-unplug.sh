#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# The device goes while it is used, in every way, one after the other in one guest. Arguments name some.
exec tests/driver/guest -- build/test/driver-unplug "$@"
