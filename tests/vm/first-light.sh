#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 1800
#
# One transformer inference traced from API call to interrupt: the trace is valid, it has every job
# and command of the device's truth log, and the Perfetto export is valid. Then bad input: one clear
# line, the right exit status, and no recorded data is lost.
set -u
acceltrace=${BUILD:-build}/bin/acceltrace
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. tests/harness/tap.sh
plan 17
start_of() { tr '\n' '|' <"$1" | cut -c1-300; }

# Sealed: the truth must not depend on how late a busy host delivers the device's interrupts.
bin=${BUILD:-build}/bin
scripts/vm --icount --sealed --timeout 900 --share "$scratch" \
	--device "axl,truth=$scratch/truth.jsonl" --file "$bin/acceltrace" \
	--file "$bin/acceltraced" --file "$bin/axl-transformer" -- sh -c '
	cd "$1"
	COLUMNS=200 acceltrace devices >devices.txt 2>&1; echo $? >devices.status
	acceltrace record -o /tmp/run.atrace -- axl-transformer >workload.txt 2>record.txt
	echo $? >record.status
	acceltrace record -o /tmp/seven.atrace -- sh -c "exit 7" 2>/dev/null; echo $? >seven.status
	acceltrace record -q -o /tmp/killed.atrace -- sh -c "kill -TERM \$\$"; echo $? >killed.status
	acceltrace record -q -o /tmp/stop.atrace --pid $$ &
	tries=0
	until test -e /tmp/stop.atrace || test $((tries += 1)) -gt 600; do sleep 0.1; done
	sleep 1; kill -INT $!; wait $!
	echo $? >stop.status
	mkdir small && mount -t tmpfs -o size=64k none small
	acceltrace record -o small/full.atrace -- axl-transformer >/dev/null 2>full.txt
	echo $? >full.status
	cp /tmp/*.atrace . ; cp small/full.atrace . ; umount small
	true' sh "$scratch" 2>"$scratch/vm.txt"
check 'the guest ran' 0 $?
check 'record forwards success' 0 "$(cat "$scratch/record.status")"
check 'the workload is right' 1 "$(grep -c ': ok$' "$scratch/workload.txt")"
COLUMNS=300 "$acceltrace" verify "$scratch/run.atrace" >"$scratch/verify.txt"
check 'verify finds nothing' 0 $?
grep -v '^ ' "$scratch/verify.txt" | sed 's/^/# /'
# The run with the full disk follows in the same truth log.
jobs=$(sed -n 's/^\([0-9]*\) jobs,.*/\1/p' "$scratch/workload.txt")
tests/scoring/match-truth --acceltrace "$acceltrace" --jobs "1-$jobs" "$scratch/run.atrace" \
	"$scratch/truth.jsonl" \
	>"$scratch/match.txt"
check 'every job and command of the truth is in the trace, once' 0 $?
sed 's/^/# /' "$scratch/match.txt"
check 'no loss' '0 lost, 0 refused' \
	"$(grep '^losses' "$scratch/verify.txt" | grep -o '0 lost, 0 refused')"
check 'no violation of causality' '0 violations' \
	"$(grep '^causality' "$scratch/verify.txt" | grep -o '0 violations')"
"$acceltrace" export "$scratch/run.atrace" --format perfetto -o "$scratch/run.perfetto-trace" &&
	tests/perfetto/validate-perfetto --tree "$scratch/run.perfetto-trace" >"$scratch/perfetto.txt"
check 'the Perfetto export is valid' 0 $?
check 'it has the process, the queues, the engines, counters' '1 1 1 1' \
	"$(for track in 'thread axl-transformer' 'track queue 0' 'track matrix' 'counter h2d_busy'; do
		grep -c "$track:" "$scratch/perfetto.txt" | sed 's/[2-9]/1/'
	done | xargs)"
check 'devices lists the accelerator, its link and its clock' '0 1' \
	"$(cat "$scratch/devices.status") $(grep -c 'gen 4 x8.*ppm' "$scratch/devices.txt")"
check 'the exit status of the command comes through' 7 "$(cat "$scratch/seven.status")"
check 'so does its death' 143 "$(cat "$scratch/killed.status")"
"$acceltrace" verify "$scratch/stop.atrace" >"$scratch/stop.txt"
check 'a recording that is interrupted is whole' '0 0' "$? $(cat "$scratch/stop.status")"
check 'a full disk fails in one line' '1 1' \
	"$(cat "$scratch/full.status") $(grep -c '^acceltrace: .*\(space\|full\)' "$scratch/full.txt")"
"$acceltrace" report "$scratch/full.atrace" >"$scratch/full-report.txt" 2>"$scratch/full-said.txt"
check 'what was recorded before is readable, and what was lost is said in one line' '1 1 1' \
	"$? $(wc -l <"$scratch/full-said.txt") $(grep -c '^VERDICT' "$scratch/full-report.txt")"

scripts/vm --no-device --timeout 300 -- acceltrace record -o /tmp/x.atrace -- true 2>"$scratch/none.txt"
check 'no device: one line, status 1' '1 1' "$? $(grep -c '^acceltrace: ' "$scratch/none.txt")"
scripts/vm --no-device --timeout 300 -- acceltrace devices 2>"$scratch/list.txt"
check 'no device to list: one line, status 1' '1 1' \
	"$? $(grep -c '^acceltrace: no accelerator' "$scratch/list.txt")"
for file in devices record full none list; do echo "# $file: $(start_of "$scratch/$file.txt")"; done
