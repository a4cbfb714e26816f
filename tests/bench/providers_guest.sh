#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# In the guest of tests/bench/providers: fio's random reads with and without a recording.
# providers_guest.sh FOLDER READS
cd "$1" || exit 1
reads=$2
modprobe nvme
tries=0
until [ -b /dev/nvme0n1 ]; do
	[ $((tries += 1)) -lt 600 ] || exit 1
	sleep 0.05
done
dd if=/dev/nvme0n1 of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
# load NAME [COMMAND...]: fio, as the command's own; its figures are in NAME.json.
load() {
	name=$1
	shift
	"$@" fio --name=load --filename=/dev/nvme0n1 --rw=randread --bs=4k --direct=1 \
		--ioengine=psync --thread --size=256M --number_ios="$reads" --randseed=7 \
		--percentile_list=50:99 --output-format=json --output="$name.json" || exit 1
}
load warm
load plain
cat /sys/block/nvme0n1/stat >before
load recorded acceltrace record -o /tmp/run.atrace --device nvme0 --
cat /sys/block/nvme0n1/stat >after
load low acceltrace record -o /tmp/low.atrace --device nvme0 --overhead low --
load again
cp /tmp/run.atrace .
