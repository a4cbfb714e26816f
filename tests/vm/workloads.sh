#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# The workloads on the emulated device: right results with every option, on several devices, from
# several processes; libaxl names a device's faults, which are gone with the next process.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo 1..6

# check NUMBER NAME STATUS
check() {
	if [ "$3" -eq 0 ]; then echo "ok $1 - $2"; else echo "not ok $1 - $2"; fi
}

scripts/vm --icount --unsealed --timeout 300 -- sh -e -c '
	build/bin/axl-hello
	build/bin/axl-transformer
	build/bin/axl-transformer --rebuild-graphs --no-stream-weights --tile 50
	build/bin/axl-transformer --sync-each-step --layers 1 --dim 48 --heads 3 --ffn 77 --vocab 99 \
		--prompt 1 --tokens 20 --seed 5
	build/bin/axl-transformer --prompt 40 --tokens 0 --json
	build/bin/axl-matmul
	build/bin/axl-matmul --bf16 --transpose-b --scratch --shape 37x41x43
	build/bin/axl-bandwidth --max 1048576
	build/bin/axl-patterns
	build/bin/axl-stress'
check 1 'every workload is right, with every option' $?

scripts/vm --cpus 2 --timeout 300 --device axl --device axl -- sh -e -c '
	build/bin/axl-stress --processes 3 --threads 4 --calls 300
	build/bin/axl-stress --processes 3 --threads 3 --calls 300 --priorities --seed 9
	build/bin/axl-stress --processes 20 --threads 1 --calls 30
	build/bin/axl-transformer --device 1
	build/bin/axl-transformer --devices 0'
check 2 'processes, threads and two devices at once' $?

# Each device has one fault, which libaxl names; afterwards everything works again.
scripts/vm --timeout 300 --allow '.*axl.*' \
	--device axl,fault-poison=1 --device axl,fault-fail-dmas=1 --device axl,fault-hang-engine=2 \
	--device axl,fault-lose-irqs=40 -- sh -c '
	status=0
	expect() {
		message=$(build/bin/axl-transformer --device "$1" 2>&1 >/dev/null)
		case $? in 1) ;; *) echo "device $1: not status 1"; status=1 ;; esac
		case $message in
		*"$2"*"failed at its command"*"$3"*) ;;
		*) echo "device $1: $message"; status=1 ;;
		esac
		build/bin/axl-transformer --device "$1" || { echo "device $1: not well again"; status=1; }
	}
	expect 0 axlErrorLaunchFailure uncorrectable
	expect 1 axlErrorLaunchFailure "the bus refused"
	expect 2 axlErrorTimeout hung
	build/bin/axl-transformer --device 3 || status=1
	exit $status'
check 3 'faults are named, lost interrupts survived' $?

scripts/vm --no-device --timeout 120 -- sh -c '
	message=$(build/bin/axl-transformer 2>&1); test $? -eq 1 || exit 1
	case $message in *axlErrorNoDevice*modprobe*) ;; *) echo "$message"; exit 1 ;; esac
	build/bin/axl-transformer --heads 7 2>/dev/null; test $? -eq 2 || exit 1
	build/bin/axl-matmul --shape 1x2 2>/dev/null; test $? -eq 2 || exit 1
	build/bin/axl-stress --streams 0 2>/dev/null; test $? -eq 2'
check 4 'no device and misuse are clear' $?

# A device is removed by surprise while programs use it. They report it and end; the next one works.
scripts/vm --cpus 2 --timeout 200 --allow '.*axl.*' -- sh -c '
	build/bin/axl-stress --calls 100000 --processes 3 >/dev/null 2>/tmp/errors &
	until [ "$(ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c "/dev/axl0$")" -ge 3 ]; do sleep 0.1; done
	sleep 3
	device=$(ls -d /sys/bus/pci/drivers/axl/0000*)
	echo 1 >"$device/remove"
	wait $!; test $? -eq 1 || exit 1
	grep -v axlErrorDeviceLost /tmp/errors && exit 1
	grep -q axlErrorDeviceLost /tmp/errors || exit 1
	echo 1 >/sys/bus/pci/rescan
	build/bin/axl-transformer'
check 5 'a device that goes away is reported as such, and works when back' $?

# A resource's ceiling is its property's value, less the cost of starting and draining.
scripts/vm --icount --unsealed --timeout 200 -- build/bin/axl-calibrate --json >"$scratch/ceilings.json" &&
	python3 -c '
import json, sys
device = json.load(open(sys.argv[1]))["devices"][0]
seen = {row["resource"]: row["per_s"] for row in device["ceilings"]}
# Payload of gen 4 x8 in packets of 256 B; DRAM and scratchpad ports; 32 x 32 MACs and 32 lanes at 1 GHz.
most = {"h2d": 15.754e9, "d2h": 15.754e9, "memory": 32e9, "scratchpad": 256e9,
        "matrix": 1024e9, "vector": 32e9}
print("#", seen)
assert seen.keys() == most.keys(), seen
assert all(0.8 * most[name] <= seen[name] <= most[name] for name in most), (seen, most)' "$scratch/ceilings.json"
check 6 'axl-calibrate reaches what each resource can do' $?
