#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
#
# User stacks of API calls on the guest's kernel: an older one, which leaves less stack for programs
# that call each other.
exec scripts/vm --cpus 2 --timeout 280 -- python3 -B daemon/testing/stacks_test.py
