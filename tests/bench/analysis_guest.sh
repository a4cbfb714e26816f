#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# In the guest: sh analysis_guest.sh PLAN FOLDER. Each line of PLAN is "ID|HOW|PROPERTIES|COMMAND":
# sets the device's PROPERTIES (NAME=NUMBER, blanks between) through QEMU's monitor, runs COMMAND,
# recorded into FOLDER/ID.atrace if HOW is `record`, its output into FOLDER/ID.out, and the exit
# status into FOLDER/ID.status.
set -u
plan=$1 out=$2

port=
for name in /sys/class/virtio-ports/*/name; do
	[ "$(cat "$name")" = axl.qmp ] && port=/dev/$(basename "$(dirname "$name")")
done
[ -n "$port" ] || exit 1
exec 4<>"$port"

# ask TEXT: sends one command; its answer is the next line with "return" or "error".
ask() {
	echo "$1" >&4
	while read -r line <&4; do
		case $line in
		*'"return"'*) return 0 ;;
		*'"error"'*)
			echo "monitor: $1: $line" >&2
			return 1
			;;
		esac
	done
	return 1
}

# Properties that are already set are not sent again.
known=' '
set_properties() {
	for pair in $1; do
		case $known in
		*" $pair "*) continue ;;
		esac
		ask "{\"execute\":\"qom-set\",\"arguments\":{\"path\":\"/machine/peripheral/axl0\",\"property\":\"${pair%%=*}\",\"value\":${pair#*=}}}" ||
			return 1
		kept=' '
		for old in $known; do
			[ "${old%%=*}" = "${pair%%=*}" ] || kept="$kept$old "
		done
		known="$kept$pair "
	done
}

ask '{"execute":"qmp_capabilities"}' || exit 1
# The host provides files in its own time, while the guest's idle time is skipped, so a daemon that
# is read for the first time may seem not to start.
for attempt in 1 2 3; do
	acceltrace record -q -o /tmp/warm.atrace -- true 2>/tmp/warm.err && break
	echo "warming up, attempt $attempt: $(cat /tmp/warm.err)" >&2
done
while IFS='|' read -r id how properties command; do
	if ! set_properties "$properties"; then
		echo 125 >"$out/$id.status"
		continue
	fi
	if [ "$how" = record ]; then
		for attempt in 1 2 3; do
			# shellcheck disable=SC2086
			acceltrace record -q -o "$out/$id.atrace" -- $command >"$out/$id.out" 2>"$out/$id.err"
			status=$?
			grep -q 'daemon did not start' "$out/$id.err" || break
			echo "$id, attempt $attempt: $(cat "$out/$id.err")" >&2
		done
	else
		# shellcheck disable=SC2086
		$command >"$out/$id.out" 2>"$out/$id.err"
		status=$?
	fi
	echo "$status" >"$out/$id.status"
done <"$plan"
