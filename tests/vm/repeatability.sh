#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# Two recordings under --icount agree: job order, counts and counters exactly, durations within 1 %.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for run in 1 2; do
	mkdir "$scratch/$run"
	scripts/vm --icount --timeout 250 --share "$scratch/$run" -- \
		tests/vm/lib/steady-guest "$scratch/$run" || exit 1
done
exec tests/scoring/compare-reports --acceltrace "${BUILD:-build}/bin/acceltrace" \
	"$scratch/1/demo.atrace" "$scratch/2/demo.atrace"
