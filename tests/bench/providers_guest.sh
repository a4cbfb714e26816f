#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# In the guest of tests/bench/providers: fio's random reads with and without a recording.
# providers_guest.sh FOLDER READS
cd "$1" || exit 1
reads=$2
modprobe nvme poll_queues=1
tries=0
until [ -b /dev/nvme0n1 ] && [ -b /dev/nvme1n1 ]; do
	[ $((tries += 1)) -lt 600 ] || exit 1
	sleep 0.05
done
dd if=/dev/nvme0n1 of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
# load NAME ENGINE [COMMAND...]: runs fio with the command as a prefix; its results are in
# NAME.json.
disk=0
load() {
	name=$1 engine=$2
	shift 2
	# shellcheck disable=SC2086
	"$@" fio --name=load --filename=/dev/nvme${disk}n1 --rw=randread --bs=4k --direct=1 \
		--ioengine=$engine --thread --size=256M --number_ios="$reads" --randseed=7 \
		--percentile_list=10:50:99 --output-format=json --output="$name.json" || exit 1
}
# record NAME OPTION...: the command that records into NAME.
record() {
	name=$1
	shift
	acceltrace record -o "/tmp/$name.atrace" --device nvme$disk "$@" || exit 1
	cp "/tmp/$name.atrace" .
}
load warm psync
load plain psync
cat /sys/block/nvme0n1/stat >before
load recorded psync record run --
cat /sys/block/nvme0n1/stat >after
load calls psync record calls --device file-io --
load low psync record low --overhead low --
load again psync
# Polled I/O, so that next to nothing is between the driver and fio.
load polled 'io_uring --hipri' record polled --
# The slow disk.
[ "$(tr -d ' ' </sys/class/nvme/nvme1/serial)" = 2 ] || exit 1
disk=1
load slow psync record slow --
load slowcalls psync record slowcalls --device file-io --
