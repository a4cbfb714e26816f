#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# In the guest: sh collection_guest.sh PLAN FOLDER. Each line of PLAN is "ID|HOW|START|COMMAND":
# runs COMMAND under HOW, its output into FOLDER/ID.out, a recording into FOLDER/ID.atrace, and the
# exit status into FOLDER/ID.status. HOW is `plain`, `detach`, or options of `acceltrace record`.
# START is AXL_START for the program (tests/workloads/common/region.h).
set -u
plan=$1 out=$2
# khugepaged scans every ten seconds, which takes 7 ms from the run that is active then.
echo 100000000 >/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs

# Waits for N lines of a program's output, one per repetition.
wait_for_lines() { # FILE N
	tries=0
	while [ "$(wc -l <"$1")" -lt "$2" ] && [ $tries -lt 3000 ]; do
		sleep 0.01
		tries=$((tries + 1))
	done
}

# Four repetitions in one process: two before a recording, one recorded, and one after the recording
# has ended.
detach() { # ID COMMAND...
	id=$1
	shift
	mkfifo "$out/$id.step"
	"$@" --stepwise --repeat 4 <"$out/$id.step" >"$out/$id.out" 2>"$out/$id.err" &
	program=$!
	exec 3>"$out/$id.step"
	for number in 1 2 3; do
		if [ $number = 3 ] && [ "$how" = detach ]; then
			acceltrace record -o "$out/$id.atrace" --pid $program 2>>"$out/$id.err" &
			recorder=$!
			sleep 1
		fi
		echo >&3
		wait_for_lines "$out/$id.out" $number
	done
	if [ "$how" = detach ]; then
		kill -INT "$recorder"
		wait "$recorder"
	fi
	echo >&3
	exec 3>&-
	wait $program
	status=$?
	rm "$out/$id.step"
	return $status
}

while IFS='|' read -r id how start command; do
	export AXL_START="$start"
	case $how in
	plain)
		# shellcheck disable=SC2086
		$command >"$out/$id.out" 2>"$out/$id.err"
		;;
	detach | attached-never)
		# shellcheck disable=SC2086
		detach "$id" $command
		;;
	*)
		# shellcheck disable=SC2086
		acceltrace record -q $how -o "$out/$id.atrace" -- $command >"$out/$id.out" 2>"$out/$id.err"
		;;
	esac
	echo $? >"$out/$id.status"
done <"$plan"
