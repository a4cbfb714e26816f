#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
#
# What an ordinary user can take, on a machine with little memory. Arguments name some tests.
exec scripts/vm --cpus 2 --memory 1G --timeout 350 -- build/test/driver-quota "$@"
