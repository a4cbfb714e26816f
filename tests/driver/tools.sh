#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2086
#
# Runs the distribution's own tools on the driver. Runs in a guest; TAP.
count=0
out=$(mktemp)
job='build/test/driver-submit matmul_between_copies'

# result NAME STATUS: prints the tool's output if it failed.
result() {
	count=$((count + 1))
	if [ "$2" = 0 ]; then
		echo "ok $count - driver-tools: $1"
	else
		echo "not ok $count - driver-tools: $1"
		sed 's/^/# /' "$out" | tail -n 20
	fi
}

need() {
	command -v "$1" >/dev/null && return 0
	count=$((count + 1))
	echo "ok $count - driver-tools: $1 # SKIP $1 is not installed"
	return 1
}

if need perf; then
	perf list 2>/dev/null >"$out"
	# From perf 6.8 on, units that differ by their number are listed as one, without it.
	grep -q 'axl\(_0\)\?/matrix_busy/' "$out" && grep -q 'axl:axl_doorbell' "$out"
	result 'perf list' $?

	perf stat -x, -a -e axl_0/matrix_busy/,axl_0/h2d_bytes/,axl_0/jobs/ $job >"$out" 2>&1
	grep -q '^1,count,axl_0/jobs/' "$out" && grep -q '^4608,bytes,axl_0/h2d_bytes/' "$out"
	result 'perf stat' $?

	perf record -q -o "$out.data" -a -c 1000000 -e '{cpu-clock,axl_0/elapsed_ticks/}:S' -C 0 \
		build/test/driver-submit ring_wraps >"$out" 2>&1 &&
		perf script -i "$out.data" 2>/dev/null | grep -c 'axl_0/elapsed_ticks/' >"$out" &&
		[ "$(cat "$out")" -ge 3 ]
	result 'perf record, counters sampled by a clock' $?

	perf record -q -o "$out.data" -a -e 'axl:*' $job >"$out" 2>&1 &&
		perf script -i "$out.data" >"$out" 2>&1
	missing=0
	for event in submit doorbell submit_end irq complete wait wake ctx queue buf dma_map; do
		grep -q "axl:axl_$event:" "$out" || { echo "no axl_$event" >>"$out"; missing=1; }
	done
	result "perf record -e 'axl:*'" $missing
fi

if need trace-cmd; then
	trace-cmd record -q -o "$out.dat" -e axl $job >"$out" 2>&1 &&
		trace-cmd report -i "$out.dat" >"$out" 2>/dev/null
	grep -q 'axl_submit:.*num_cmds=4 copy_bytes=6912' "$out" &&
		grep -q 'axl_submit_end:.*ret=0 error=none' "$out" &&
		grep -q 'axl_complete:.*status=ok' "$out"
	result 'trace-cmd' $?
fi

if need bpftrace; then
	# shellcheck disable=SC2016 # the program's own variables
	bpftrace -e 'tracepoint:axl:axl_submit { printf("submit %d\n", args->num_cmds); }
		tracepoint:axl:axl_complete { printf("status %d\n", args->status); exit(); }' \
		-c "$job" >"$out" 2>&1
	grep -q 'submit 4' "$out" && grep -q 'status 0' "$out"
	result 'bpftrace' $?
fi

PATH=$PATH:/usr/sbin
ptp=/dev/$(ls /sys/class/axl/axl0/device/ptp 2>/dev/null)
if need phc_ctl; then
	phc_ctl "$ptp" get >"$out" 2>&1 && grep -q 'clock time is' "$out"
	result 'phc_ctl get' $?
	phc_ctl "$ptp" caps >"$out" 2>&1 && grep -q 'cross timestamping support' "$out"
	result 'phc_ctl caps' $?
	phc_ctl "$ptp" cmp >"$out" 2>&1 && grep -q 'offset from CLOCK_REALTIME' "$out"
	result 'phc_ctl cmp' $?
	phc_ctl "$ptp" set 0 >"$out" 2>&1
	grep -q 'failed to set' "$out"
	result 'phc_ctl set is refused' $?
fi
if need phc2sys; then
	timeout 60 phc2sys -s "$ptp" -c CLOCK_REALTIME -O 0 -m -R 4 2>&1 |
		grep -m 1 'CLOCK_REALTIME .*offset' >"$out"
	result 'phc2sys' $?
fi
echo "1..$count"
rm -f "$out" "$out".*
