#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# In a sealed guest of tests/bench/providers: an NVMe disk that takes as long as flash does, in
# virtual time. The kernel's own target serves a disk of null_blk, which answers by a timer, over
# the loopback interface; commands, and their tracepoints, are those of any NVMe disk.
# providers_flash_guest.sh FOLDER READS NS MODULE...
cd "$1" || exit 1
reads=$2 ns=$3
shift 3
for module; do
	case $module in
	*/null_blk.ko)
		insmod "$module" nr_devices=1 gb=1 irqmode=2 completion_nsec="$ns" submit_queues=1
		;;
	*) insmod "$module" ;;
	esac || exit 1
done
mount -t configfs none /sys/kernel/config || exit 1
target=/sys/kernel/config/nvmet
mkdir $target/subsystems/flash $target/subsystems/flash/namespaces/1 $target/ports/1
echo 1 >$target/subsystems/flash/attr_allow_any_host
printf /dev/nullb0 >$target/subsystems/flash/namespaces/1/device_path
echo 1 >$target/subsystems/flash/namespaces/1/enable
echo tcp >$target/ports/1/addr_trtype
echo ipv4 >$target/ports/1/addr_adrfam
echo 127.0.0.1 >$target/ports/1/addr_traddr
echo 4420 >$target/ports/1/addr_trsvcid
ln -s $target/subsystems/flash $target/ports/1/subsystems/flash
echo transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=flash,nr_io_queues=1 >/dev/nvme-fabrics || exit 1
tries=0
until [ -b /dev/nvme0n1 ]; do
	[ $((tries += 1)) -lt 600 ] || exit 1
	sleep 0.05
done
# load NAME [COMMAND...]: runs fio with the command as a prefix.
load() {
	name=$1
	shift
	"$@" fio --name=load --filename=/dev/nvme0n1 --rw=randread --bs=4k --direct=1 --ioengine=psync \
		--thread --size=256M --number_ios="$reads" --randseed=7 --percentile_list=50:99 \
		--output-format=json --output="$name.json" || exit 1
}
export XDG_CONFIG_HOME="$PWD/config"
load warm
load plain
load full acceltrace record -o flash.atrace --device 0000:00:00.0 --
load calls acceltrace record -o calls.atrace --device 0000:00:00.0 --device file-io --
load low acceltrace record -o low.atrace --overhead low --device 0000:00:00.0 --
load again
