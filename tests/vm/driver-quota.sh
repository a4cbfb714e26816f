#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
#
# The limits of an ordinary user, on a machine with little memory. Arguments select some tests.
exec scripts/vm --cpus 2 --memory 1G --timeout 350 -- build/test/driver-quota "$@"
