#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 1200
#
# Two runs of the demo's recording agree in job order, counts, every counter sample, and in every
# duration of the report within 1 %, the second one on a busy host. The truth logs of the device are
# identical.
set -u
scratch=$(mktemp -d)
busy=
stop() {
	# shellcheck disable=SC2086
	[ -z "$busy" ] || kill $busy 2>/dev/null
	busy=
}
trap 'stop; rm -rf "$scratch"' EXIT
bin=${BUILD:-build}/bin
echo 1..5
count=0
check() { # NAME EXPECTED GOT
	count=$((count + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		printf '# expected: %s\n# got: %s\n' "$2" "$3"
	fi
}
# Like scripts/demo, but into one folder more, so that the guest sees the same name both times.
record() {
	mkdir "$scratch/out" && scripts/vm --icount --sealed --timeout 550 --share "$scratch/out" \
		--device "axl,truth=$scratch/$1.jsonl" --file scripts/lib/demo-guest \
		--file "$bin/acceltrace" --file "$bin/acceltraced" --file "$bin/axl-transformer" -- \
		sh scripts/lib/demo-guest "$scratch/out"
	status=$?
	mv "$scratch/out" "$scratch/$1"
	return $status
}
record quiet
check 'a quiet host records' 0 $?
for _ in 1 2 3; do
	while :; do cat "$bin"/* >/dev/null; done &
	busy="$busy $!"
done
record busy
check 'a busy host records' 0 $?
stop
tests/scoring/compare-reports --acceltrace "$bin/acceltrace" \
	"$scratch/quiet/demo.atrace" "$scratch/busy/demo.atrace" >"$scratch/compared.txt" 2>&1
check 'the reports agree' 0 $?
sed 's/^/# /' "$scratch/compared.txt"
cmp -s "$scratch/quiet/demo.atrace" "$scratch/busy/demo.atrace" && echo '# the traces are one'
cmp "$scratch/quiet.jsonl" "$scratch/busy.jsonl"
check 'the truth logs are the same' 0 $?
tests/scoring/compare-reports --acceltrace "$bin/acceltrace" tests/golden/demo.atrace \
	"$scratch/busy/demo.atrace" >"$scratch/compared.txt" 2>&1
check 'the recording of another build is distinguished' 1 $?
