#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# In the guest: sh collection_tools_guest.sh FOLDER PERF FEW MANY TIMES TRACEPOINT... Runs
# axl-observed with FEW and MANY launches, TIMES times, under each tool that records the driver's
# tracepoints, and writes "TOOL LAUNCHES NS STATUS": the processor's busy time from the tool's start
# until its file is closed. Before that it writes the cost of each way to attach to a tracepoint
# ("WAY NS").
set -u
out=$1 perf=$2 few=$3 many=$4 times=$5
shift 5
tracing=/sys/kernel/tracing
[ -d $tracing/events ] || mount -t tracefs tracefs $tracing

# Busy time of the only processor; it is idle for most of a recording's beginning and end.
now() {
	awk '/^now at/ && !now { now = $3 } /idle_sleeptime/ { idle = $3 }
		END { printf "%.0f\n", now - idle }' /proc/timer_list
}

# each: every tracepoint, with an option before it.
each() { # OPTION PREFIX TRACEPOINT...
	option=$1 prefix=$2
	shift 2
	for name; do printf '%s %s%s ' "$option" "$prefix" "$name"; done
}

with_ftrace() {
	echo 64 >$tracing/buffer_size_kb
	for name in $tracepoints; do echo 1 >"$tracing/events/axl/$name/enable"; done
	cat $tracing/per_cpu/cpu0/trace_pipe_raw >"$out/ftrace" &
	reader=$!
	"$@"
	status=$?
	for name in $tracepoints; do echo 0 >"$tracing/events/axl/$name/enable"; done
	kill $reader
	wait $reader 2>/dev/null
	return $status
}

tracepoints=$*
perf_events=$(each -e axl: "$@")
"${0%/tests/bench/*}/build/test/axl-tracepoint-cost" $tracing >"$out/ways"
runs=$(seq "$times" | sed "s/.*/$few $many/")
for tool in plain acceltrace acceltrace-bpf ftrace trace-cmd perf; do
	for launches in cold $runs; do
		cold=
		[ "$launches" != cold ] || launches=$few cold=cold- # finds the caches so
		program="axl-observed tiny-launches --count $launches"
		begin=$(now)
		# shellcheck disable=SC2086
		case $tool in
		plain) $program ;;
		acceltrace) acceltrace record -q --probes driver -o "$out/a.atrace" -- $program ;;
		acceltrace-bpf)
			acceltrace record -q --probes tracepoints -o "$out/a.atrace" -- $program
			;;
		ftrace) with_ftrace $program ;;
		trace-cmd) trace-cmd record $perf_events -o "$out/trace.dat" $program ;;
		perf) "$perf" record -q -a -m 1024 $perf_events -o "$out/perf.data" -- $program ;;
		esac >"$out/$tool.log" 2>&1
		status=$?
		end=$(now)
		echo "$cold$tool $launches $((end - begin)) $status" >>"$out/times"
		rm -f "$out/a.atrace" "$out/trace.dat" "$out/perf.data" "$out/ftrace"
	done
done
