#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
#
# A driver of another version than the rest: recorder and applications refuse it in one line, and
# earlier recordings stay. Cases that need no device are in libtrace/cli.
set -u
build=$(realpath "${BUILD:-build}")
other=$build/test/other-version/axl.ko
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. tests/harness/tap.sh
plan 8
# The exit status and the line that a command printed, if it was a single one.
said() {
	echo "$(cat "$scratch/$1.status") $(wc -l <"$scratch/$1.err"): $(cat "$scratch/$1.err")"
}

# The number must differ from that of kmod/uapi/axl.h.
ours=$(sed -n 's/^#define AXL_UAPI_VERSION[[:space:]]*//p' kmod/uapi/axl.h)
theirs=$((ours + 1))
scripts/vm --timeout 200 --share "$scratch" -- sh -c '
	cd "$1"
	try() {
		name=$1
		shift
		"$@" >$name.out 2>$name.err
		echo $? >$name.status
	}
	try same acceltrace record -q -o kept.atrace -- axl-hello
	cp kept.atrace before
	rmmod axl && insmod "$2" said_version="$3" || exit 1
	try number acceltrace record -o kept.atrace -- axl-hello
	try devices acceltrace devices
	try hello axl-hello
	rmmod axl && insmod "$2" || exit 1
	try tracepoint acceltrace record -o kept.atrace -- axl-hello
	try without acceltrace record -o without.atrace --probes device,clock -- axl-hello
	' sh "$scratch" "$other" $theirs 2>"$scratch/vm.txt"
check 'the guest ran' 0 $?
sed 's/^/# /' "$scratch/vm.txt"
check 'with its own driver it records' '0 0: ' "$(said same)"
check 'a driver of another version: one line, status 1' "1 1: acceltrace: axl0: the loaded axl.ko \
speaks version $theirs of its interface, acceltraced $ours: load the axl.ko built with this \
acceltraced" "$(said number)"
check 'an application gets an error as well' '1 1' "$(cat "$scratch/hello.status") $(grep -c \
	"speaks version $theirs of its interface, this library $ours" "$scratch/hello.err")"
check 'devices are listed, the clock with the reason why not' '0 1' \
	"$(cat "$scratch/devices.status") $(grep -c "speaks version $theirs" "$scratch/devices.out")"
check 'a tracepoint with other arguments: one line, status 1' "1 1: acceltrace: the loaded axl.ko \
has a tracepoint axl_link with other arguments: load the axl.ko built with this acceltraced" \
	"$(said tracepoint)"
check 'what does not use it works' '0 1' \
	"$(cat "$scratch/without.status") $(wc -l <"$scratch/without.err")"
cmp -s "$scratch/kept.atrace" "$scratch/before"
check 'the trace that was there is untouched' 0 $?
