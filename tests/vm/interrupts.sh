#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
#
# Compares each interrupt of a recording with the guest kernel's counts just inside of it and just
# outside. daemon/testing/system_test does the same less strictly on the host's kernel.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
scripts/vm --no-device --no-module --cpus 2 --timeout 240 --share "$scratch" -- \
	env EXACT_INTERRUPTS=1 python3 -B daemon/testing/system_test.py \
	interrupts_are_what_the_kernel_counts >"$scratch/out" 2>"$scratch/err"
status=$?
cat "$scratch/out"
[ $status -eq 0 ] || sed 's/^/# /' "$scratch/err"
exit $status
