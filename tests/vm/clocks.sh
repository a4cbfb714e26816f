#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# Two devices with clocks 220 ppm apart: each converted time, and the slack of each order between
# them (a thread waited for a job on one and then submitted to the other), contains the truth.
set -u
build=${BUILD:-build}
acceltrace=$build/bin/acceltrace
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. tests/harness/tap.sh
plan 5
[ "${build#/}" != "$build" ] || build=$PWD/build
scripts/vm --icount --unsealed --timeout 500 --share "$scratch" \
	--device "axl,truth=$scratch/truth0.jsonl,clock-ppm=20" \
	--device "axl,truth=$scratch/truth1.jsonl,clock-ppm=-200" -- sh -c '
	acceltrace record -q -o /dev/shm/run.atrace --device axl0 --device axl1 -- "$2/test/axl-pulse" 1 40 2 &&
		cp /dev/shm/run.atrace "$1"' sh "$scratch" "$build" 2>"$scratch/vm.txt"
check 'the guest recorded' 0 $?
"$build/test/clock-score" "$scratch/run.atrace" "$scratch/truth0.jsonl" "$scratch/truth1.jsonl" \
	>"$scratch/score.txt"
check 'every interval holds the truth' 0 $?
sed 's/^/# /' "$scratch/score.txt"
check 'there are orders between devices' 1 \
	"$(sed -n 's/^\([0-9]*\) orders between devices: 0 outside.*0 contradict.*/\1/p' \
		"$scratch/score.txt" | awk '{ print ($1 > 60) }')"
COLUMNS=300 "$acceltrace" report --section clocks "$scratch/run.atrace" >"$scratch/report.txt"
# Well below 1 us, as ±NNN ns.
between='[0-9]* orders carried by a thread, [0-9.]* .s apart at least, ±[0-9.]* ns usually'
check 'the report shows those from the first to the second' 1 \
	"$(grep -c "axl0 before axl1: $between; 0 contradict" "$scratch/report.txt")"
check 'and back' 1 "$(grep -c "axl1 before axl0: $between; 0 contradict" "$scratch/report.txt")"
