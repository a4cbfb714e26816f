#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 1800
#
# A program whose copy of libaxl nobody named: at another path, in a mount namespace of its own, and
# one in which no probe can be found. The first two are seen once they use a device; of the last one
# the daemon says that its calls are not.
set -u
acceltrace=${BUILD:-build}/bin/acceltrace
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. tests/harness/tap.sh
plan 8

objcopy --remove-section .note.stapsdt "${BUILD:-build}/lib/libaxl.so" "$scratch/blind.so"
scripts/vm --icount --timeout 900 --share "$scratch" -- sh -c '
	mkdir /tmp/copy /tmp/blind
	cp "$2/lib/libaxl.so" /tmp/copy/libaxl.so.0
	cp "$1/blind.so" /tmp/blind/libaxl.so.0
	acceltrace record -o "$1/copy.atrace" -- env LD_LIBRARY_PATH=/tmp/copy \
		axl-transformer --tokens 500 --no-check >/dev/null 2>"$1/copy.txt"
	acceltrace record -o "$1/apart.atrace" -- unshare -m sh -c "mount -t tmpfs none /mnt &&
		cp /tmp/copy/libaxl.so.0 /mnt && LD_LIBRARY_PATH=/mnt \
		exec axl-transformer --tokens 500 --no-check" >/dev/null 2>"$1/apart.txt"
	acceltrace record -o "$1/blind.atrace" -- env LD_LIBRARY_PATH=/tmp/blind \
		axl-transformer --no-check >/dev/null 2>"$1/blind.txt"
	true' sh "$scratch" "$(realpath "${BUILD:-build}")" 2>"$scratch/vm.txt"
check 'the guest ran' 0 $?
calls() { $acceltrace report "$scratch/$1.atrace" --json | python3 -c '
import json, sys
print(int(json.load(sys.stdin)["counts"]["api_calls"] > 100))'; }
for case in copy apart; do
	check "$case: its calls are in the trace" 1 "$(calls $case)"
	check "$case: nothing is wrong with it" '' \
		"$($acceltrace verify "$scratch/$case.atrace" 2>&1 >/dev/null)"
	check "$case: said while recording" 1 "$(grep -c 'runs another copy' "$scratch/$case.txt")"
done
check 'blind: said while recording' 1 "$(grep -c 'cannot be seen' "$scratch/blind.txt")"
