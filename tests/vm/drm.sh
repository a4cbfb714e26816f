#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Graphics devices of third-party drivers: the fences of QEMU's virtual GPU, to which a program
# sends pictures of a pointer, and of the kernel's vgem, which a program signals itself. The
# recording must equal the kernel's own trace of the same time.
set -u
acceltrace=${BUILD:-build}/bin/acceltrace
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. tests/harness/tap.sh
plan 15
cat >"$scratch/guest" <<'END'
load=$2/tests/vm/lib/drm_load.py
cd "$1" || exit 1
# No console on it: Linux 6.1 warns if one is drawn while the device is shut down.
modprobe drm_kms_helper fbdev_emulation=0
modprobe virtio-gpu && modprobe vgem || exit 1
acceltrace providers --check virtio-gpu >check.txt
address=$(sed -n 's/^devices: //p' check.txt)
trace=/sys/kernel/tracing
for fence in emit init signaled; do echo 1 >$trace/events/dma_fence/dma_fence_$fence/enable; done
# recorded NAME DEVICE COMMAND...
recorded() {
	name=$1 device=$2
	shift 2
	echo >$trace/trace
	acceltrace record -o "/tmp/$name.atrace" --system --device "$device" -- "$@" 2>"$name.txt"
	echo $? >"$name.status"
	cat $trace/trace >"$name.fences"
	cp "/tmp/$name.atrace" .
}
recorded pointers "$address" python3 "$load" pointers 200
recorded vgem vgem python3 "$load" vgem 300
END
scripts/vm --no-device --no-module --timeout 300 --share "$scratch" \
	--qemu-arg=-device --qemu-arg=virtio-gpu-pci \
	-- sh "$scratch/guest" "$scratch" "$PWD" 2>"$scratch/vm.txt"
check 'the guest ran' 0 $?
check 'the provider can be had' 3 "$(grep -c ' yes$' "$scratch/check.txt")"
sed 's/^/# /' "$scratch/check.txt"
ask() { "$acceltrace" query "$scratch/$1.atrace" --csv "$2" 2>/dev/null | tail -n 1; }
# fences NAME DRIVER EVENT: their number in the kernel's trace.
fences() { grep -c "dma_fence_$3: driver=$2 " "$scratch/$1.fences"; }
# device NAME DRIVER EVENT-OF-SUBMISSIONS AT-LEAST
device() {
	check "$1: recorded" '0, 0 lost' "$(cat "$scratch/$1.status"), $(grep -o '\b0 lost' "$scratch/$1.txt")"
	submitted=$(fences "$1" "$2" "$3")
	check "$1: there were fences" 1 $((submitted >= $4))
	check "$1: jobs are the kernel's fences" "$submitted" "$(ask "$1" 'SELECT count(*) FROM jobs')"
	check "$1: all of them were signaled, and are paired" "$(fences "$1" "$2" signaled)" \
		"$(ask "$1" 'SELECT count(*) FROM jobs WHERE consumed_ns > submit_ns')"
	"$acceltrace" verify "$scratch/$1.atrace" >"$scratch/verify.txt"
	check "$1: verify finds nothing" 0 $?
	"$acceltrace" export "$scratch/$1.atrace" --format perfetto -o "$scratch/$1.perfetto" >"$scratch/export.txt" 2>&1 &&
		tests/perfetto/validate-perfetto "$scratch/$1.perfetto" >>"$scratch/export.txt" 2>&1
	check "$1: its export to Perfetto is valid" 0 $?
	sed 's/^/# /' "$scratch/export.txt"
}
device pointers virtio_gpu emit 200
device vgem vgem init 300
check "each job's queue is its fence's context" "$(grep 'dma_fence_emit: driver=virtio_gpu ' "$scratch/pointers.fences" |
	sed 's/.* context=\([0-9]*\) .*/\1/' | sort -n | uniq -c | awk '{ printf "%s%s %s", (NR > 1 ? ", " : ""), $2, $1 }')" \
	"$(ask pointers "SELECT group_concat(queue || ' ' || n, ', ') FROM
		(SELECT queue, count(*) AS n FROM jobs GROUP BY queue ORDER BY queue)" | tr -d '"')"
for file in vm pointers vgem; do sed "s/^/# $file: /" "$scratch/$file.txt"; done
