#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# Recordings under --icount agree from one boot to the next: job order, counts and counters exactly,
# durations within 1 %. Virtual time goes on while the host reads a file for the guest, so that a
# busy host can disturb a recording: each boot makes five, and one of each must agree.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for boot in a b; do
	mkdir "$scratch/$boot"
	scripts/vm --icount --timeout 250 --share "$scratch/$boot" -- \
		tests/vm/lib/steady-guest "$scratch/$boot" || exit 1
done
agree=0
for a in 1 2 3 4 5; do
	for b in 1 2 3 4 5; do
		if tests/scoring/compare-reports --acceltrace "${BUILD:-build}/bin/acceltrace" \
			"$scratch/a/$a.atrace" "$scratch/b/$b.atrace" >"$scratch/out.txt" 2>&1; then
			agree=$((agree + 1))
		fi
		echo "# run $a of boot a, run $b of boot b: $(tail -n 1 "$scratch/out.txt")"
	done
done
echo "$agree of 25 pairs agree"
[ $agree -gt 0 ]
