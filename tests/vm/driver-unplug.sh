#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# The device goes while it is used. Without arguments: the ways that can follow
# each other in one guest; under_load/unplug and surprise run when named.
[ $# -gt 0 ] || set -- told/unbind told/remove told/unplug under_load/unbind under_load/remove
exec tests/driver/guest -- build/test/driver-unplug "$@"
