#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# Clocks that are set while commands are in flight, which the devices announce: each command is
# recorded, its times and the report's figures contain the truth, and verify finds nothing.
set -u
build=${BUILD:-build}
acceltrace=$build/bin/acceltrace
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. tests/harness/tap.sh
plan 7
# So slow that commands are always in flight, however the host schedules the guest.
slow=matrix-rate=4
truths="$scratch/truth0.jsonl $scratch/truth1.jsonl"
scripts/vm --icount --unsealed --timeout 500 --share "$scratch" \
	--device "axl,truth=$scratch/truth0.jsonl,$slow" \
	--device "axl,truth=$scratch/truth1.jsonl,clock-bits=32,clock-ppm=-20,$slow" \
	--qemu-arg=-chardev --qemu-arg="socket,id=qmpguest,path=$scratch/qmp,server=on,wait=off" \
	--qemu-arg=-device --qemu-arg=virtserialport,bus=vser.0,chardev=qmpguest,name=axl.qmp \
	--qemu-arg=-chardev --qemu-arg="socket,id=qmpmon,path=$scratch/qmp" \
	--qemu-arg=-mon --qemu-arg=chardev=qmpmon,mode=control \
	-- sh -c 'python3 -B tests/vm/lib/clock_set.py /dev/shm/run.atrace && cp /dev/shm/run.atrace "$1"' \
	sh "$scratch" 2>"$scratch/vm.txt"
check 'the guest recorded' 0 $? || sed 's/^/# /' "$scratch/vm.txt"

# Jumps during a command, of commands whose jobs are in the trace.
"$acceltrace" export "$scratch/run.atrace" --format csv -o "$scratch/csv" 2>"$scratch/err"
# shellcheck disable=SC2086
python3 - "$scratch/csv/commands.csv" $truths >"$scratch/across.txt" <<'END'
import csv, json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    recorded = {(int(row["device"].removeprefix("axl")), int(row["job"]), int(row["index"]))
                for row in csv.DictReader(file)}
jobs = {key[:2] for key in recorded}
across = missing = 0
for device, path in enumerate(sys.argv[2:]):
    with open(path, encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    jumps = [e["time_ns"] for e in events if e["t"] == "clock" and e["ticks_before"]]
    for e in events:
        if e["t"] != "cmd" or (device, e["job"]) not in jobs:
            continue
        if any(e["fetched_ns"] < at < e["end_ns"] for at in jumps):
            across += 1
            missing += (device, e["job"], e["index"]) not in recorded
print(across, missing)
END
read -r across missing <"$scratch/across.txt"
echo "# $across commands were in flight when their device's clock was set"
check 'commands were in flight meanwhile' 1 $((across >= 5))
check 'and each is in the trace' 0 "$missing"
"$acceltrace" verify "$scratch/run.atrace" >"$scratch/verify.txt" 2>&1
check 'verify finds nothing' 0 $? || sed 's/^/# /' "$scratch/verify.txt"
check 'no record was refused' 0 "$(grep -c '[1-9] refused' "$scratch/verify.txt")"
# shellcheck disable=SC2086
"$build/test/clock-score" "$scratch/run.atrace" $truths >"$scratch/score.txt" 2>&1
check 'every interval holds the truth' 0 $?
sed 's/^/# /' "$scratch/score.txt"
# shellcheck disable=SC2086
"$build/test/report-score" "$scratch/run.atrace" $truths >"$scratch/figures.txt" 2>&1
check 'so does every figure' 0 $? || sed 's/^/# /' "$scratch/figures.txt"
[ -z "${KEEP:-}" ] || cp "$scratch"/*.atrace "$scratch"/*.jsonl "$KEEP"
