#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
#
# Tracepoints as tracefs shows them. Arguments name some tests.
exec tests/driver/guest -- build/test/driver-trace "$@"
