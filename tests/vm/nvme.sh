#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A device of a third-party driver, by its provider: the recording of QEMU's NVMe disk equals the
# kernel's own statistics of the disk, command by command and byte by byte.
set -u
acceltrace=${BUILD:-build}/bin/acceltrace
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. tests/harness/tap.sh
plan 64
cat >"$scratch/guest" <<'END'
cd "$1" || exit 1
modprobe nvme
tries=0
until [ -b /dev/nvme0n1 ] && [ -b /dev/nvme1n1 ]; do
	[ $((tries += 1)) -lt 600 ] || exit 1
	sleep 0.05
done
[ -e /sys/block/nvme1n1/mq/0 ] && [ ! -e /sys/block/nvme1n1/mq/1 ] || exit 1
# Opening succeeds once the kernel has read the partition table.
dd if=/dev/nvme0n1 of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
address=$(basename "$(readlink -f /sys/class/nvme/nvme0/device)")
acceltrace providers --check nvme >check.txt
echo $? >check.status
# recorded NAME OPTION... -- COMMAND...
recorded() {
	name=$1 disk=/sys/block/nvme0n1/stat
	[ $name != shared ] || disk=/sys/block/nvme1n1/stat
	shift
	cat "$disk" >"$name.before"
	acceltrace record -o "/tmp/$name.atrace" "$@" 2>"$name.txt"
	echo $? >"$name.status"
	cat "$disk" >"$name.after"
	cp "/tmp/$name.atrace" .
}
# Counters of any device, by any provider that matches it: a perf event, a file of sysfs.
mkdir -p ~/.config/acceltrace
cat >~/.config/acceltrace/counted.provider <<'EOF'
[provider]
format = 1
name = counted
about = what can be counted beside any device
[match]
device = *:*
[counter cycles]
pmu = msr/tsc/
unit = cycles
[counter irq]
file = irq
unit = number
kind = gauge
EOF
grep MHz /proc/cpuinfo >mhz.txt
acceltrace record -o /tmp/counted.atrace --device 0000:00:1f.0 -- sleep 1.5 2>counted.txt
echo $? >counted.status
cp /tmp/counted.atrace .
rm ~/.config/acceltrace/counted.provider
recorded direct --device "$address" -- sh -c '
	dd if=/dev/nvme0n1 of=/dev/null bs=4k count=500 iflag=direct
	dd if=/dev/zero of=/dev/nvme0n1 bs=64k count=40 oflag=direct'
# Kernel threads, many processes, and flushes.
recorded system --system --device nvme0 -- sh -c '
	for place in 0 16 32; do
		dd if=/dev/zero of=/dev/nvme0n1 bs=1M count=4 seek=$place conv=fsync &
	done
	dd if=/dev/nvme0n1 of=/dev/null bs=512 count=200 skip=100000 iflag=direct
	wait'
# Deep queues on both CPUs: completion interrupts arrive during submissions.
recorded load --device nvme0 -- fio --name=load --filename=/dev/nvme0n1 --rw=randrw --direct=1 \
	--bsrange=512-8k --ioengine=libaio --iodepth=32 --numjobs=4 --randseed=7 --norandommap \
	--size=64M --io_size=1G --number_ios=5000 --output-format=json --output=load.json
# The same with one queue, which both CPUs use: a tag freed by a completion on one of them is reused
# on the other immediately. Interrupts on one CPU, submissions on the other.
recorded shared --device nvme1 -- fio --name=load --filename=/dev/nvme1n1 --rw=randrw --direct=1 \
	--bsrange=512-8k --ioengine=libaio --iodepth=64 --numjobs=4 --randseed=9 --norandommap \
	--size=32M --io_size=1G --number_ios=5000 --output-format=json --output=shared.json
# With the system calls: a program's own reads, and many threads that wait in one at once.
recorded calls --device nvme0 --device file-io -- sh -c '
	dd if=/dev/nvme0n1 of=/dev/null bs=4k count=300 iflag=direct
	dd if=/dev/nvme0n1 of=/dev/null bs=64k count=20 iflag=direct
	python3 waiters.py'
# A CPU that comes online during the recording.
echo 0 >/sys/devices/system/cpu/cpu1/online
recorded cpus --device nvme0 -- sh -c '
	echo 1 >/sys/devices/system/cpu/cpu1/online
	sleep 1
	cat /sys/block/nvme0n1/stat >cpus.before
	taskset -c 1 dd if=/dev/nvme0n1 of=/dev/null bs=4k count=200 iflag=direct
	echo 0 >/sys/devices/system/cpu/cpu1/online
	sleep 1
	echo 1 >/sys/devices/system/cpu/cpu1/online
	sleep 1
	taskset -c 1 dd if=/dev/nvme0n1 of=/dev/null bs=4k count=100 iflag=direct'
# Two control groups: the process is put into its group before it executes its program.
mkdir /sys/fs/cgroup/one /sys/fs/cgroup/two
recorded groups --device nvme0 --sources cgroup,pcie -- sh -c '
	for group in "one 400 4k" "two 100 16k"; do
		set -- $group
		sh -c "echo \$\$ >/sys/fs/cgroup/$1/cgroup.procs
			exec dd if=/dev/nvme0n1 of=/dev/null bs=$3 count=$2 iflag=direct" &
	done
	wait'
# An unprivileged user with the service's capabilities (daemon/systemd/acceltraced.service), and a
# copy of the programs, since the checkout may be unreadable for that user.
caps=+bpf,+perfmon,+sys_ptrace,+checkpoint_restore,+dac_read_search,+sys_admin
chmod 666 /dev/nvme0n1
mkdir -p /tmp/copy/bin /tmp/copy/lib && cp "$REPO/build/bin/acceltrace"* /tmp/copy/bin &&
	cp -a "$REPO/build/lib/libacceltrace.so"* /tmp/copy/lib && cp -r "$REPO/build/share" /tmp/copy &&
	chmod -R a+rX /tmp/copy || exit 1
mkdir -m 777 /tmp/nobody
(cd /tmp/nobody && PATH=/tmp/copy/bin:$PATH exec /usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups \
	--inh-caps=$caps --ambient-caps=$caps acceltrace record --device nvme0 -o own.atrace -- \
	dd if=/dev/nvme0n1 of=/dev/null bs=4k count=300 iflag=direct) 2>own.txt
cp /tmp/nobody/own.atrace .
acceltrace record -o none.atrace --device 0000:00:1f.0 -- true 2>none.txt
echo $? >none.status
rmmod nvme
acceltrace record -o none.atrace --device "$address" -- true 2>gone.txt
echo $? >gone.status
acceltrace providers --check nvme >/dev/null 2>absent.txt
echo $? >absent.status
END
cat >"$scratch/waiters.py" <<'END'
import os, threading
ends = [os.pipe() for _ in range(100)]
waiting = [threading.Thread(target=os.read, args=(r, 77)) for r, _ in ends]
for thread in waiting:
    thread.start()
for _, w in ends:
    os.write(w, b"x")
for thread in waiting:
    thread.join()
END
truncate -s 64M "$scratch/disk" "$scratch/shared"
scripts/vm --no-device --no-module --timeout 400 --share "$scratch" \
	--qemu-arg=-drive --qemu-arg="file=$scratch/disk,if=none,id=disk,format=raw" \
	--qemu-arg=-device --qemu-arg=nvme,drive=disk,serial=1 \
	--qemu-arg=-drive --qemu-arg="file=$scratch/shared,if=none,id=shared,format=raw" \
	--qemu-arg=-device --qemu-arg=nvme,drive=shared,serial=2,max_ioqpairs=1 \
	-- sh "$scratch/guest" "$scratch" 2>"$scratch/vm.txt"
check 'the guest ran' 0 $?
check 'the provider can be had' 0 "$(cat "$scratch/check.status")"
sed 's/^/# /' "$scratch/check.txt"

# The kernel's counts in between: the fields of Documentation/block/stat.rst.
moved() {
	paste -d' ' "$scratch/$1.before" "$scratch/$1.after" |
		awk -v "half=17" "{ for (i = 1; i <= half; i++) d[i] = \$(half + i) - \$i; print $2 }"
}
ask() { "$acceltrace" query "$scratch/$1.atrace" --csv "$2" 2>/dev/null | tail -n 1; }
for name in direct system load shared calls cpus groups; do
	# The block layer also counts an fsync as a write without sectors, which has no command of
	# its own.
	syncs=0
	[ $name != system ] || syncs=3
	check "$name: recorded" '0, 0 lost' \
		"$(cat "$scratch/$name.status"), $(grep -o '\b0 lost' "$scratch/$name.txt")"
	check "$name: commands are the reads and writes that the disk's statistics count" \
		"$(moved $name "d[1] + d[5] - $syncs")" \
		"$(ask $name 'SELECT count(*) FROM jobs WHERE copy_bytes > 0')"
	check "$name: bytes are theirs" "$(moved $name '(d[3] + d[7]) * 512')" \
		"$(ask $name 'SELECT sum(copy_bytes) FROM jobs')"
	check "$name: and commands without bytes are its flushes and discards" \
		"$(moved $name 'd[12] + d[16]')" "$(ask $name 'SELECT count(*) FROM jobs WHERE copy_bytes = 0')"
	check "$name: by opcode, reads and writes" "$(moved $name 'd[1] " " d[5] - '$syncs)" "$(
		ask $name "SELECT sum(opcode = 'read') || ' ' || sum(opcode = 'write') FROM host_events
			WHERE kind = 'submit'" | tr -d '"')"
	check "$name: each completion has its submission, and before it" 0 \
		"$(ask $name 'SELECT count(*) FROM jobs WHERE submit_ns IS NULL OR consumed_ns IS NULL
			OR consumed_ns < submit_ns')"
	"$acceltrace" verify "$scratch/$name.atrace" >"$scratch/verify.txt"
	check "$name: verify finds nothing" 0 $?
	grep -v '^ ' "$scratch/verify.txt" | sed 's/^/# /'
done
check 'capabilities are enough' '300, 0 lost' "$(ask own 'SELECT count(*) FROM jobs
	WHERE consumed_ns > submit_ns'), $(grep -o '\b0 lost' "$scratch/own.txt")"
check 'a CPU that comes is reported, each time' 2 \
	"$(grep -c 'warning: CPU 1 came online' "$scratch/cpus.txt")"
check 'that load is one: tens of thousands of commands' 1 \
	"$(ask load 'SELECT count(*) >= 20000 FROM jobs')"
check 'each process has its own' 'dd 500' \
	"$(ask direct 'SELECT name, count(*) FROM jobs JOIN processes USING (pid)
		WHERE name = '"'dd'"' AND copy_bytes = 4096' | tr ',' ' ')"
groups="SELECT control_group, count(*), sum(copy_bytes) FROM jobs JOIN
	(SELECT pid, control_group, max(time_ns) FROM process_groups GROUP BY pid) USING (pid)"
check 'commands and bytes of each control group' '/one 400 1638400, /two 100 1638400' "$(
	"$acceltrace" query "$scratch/groups.atrace" --csv "$groups WHERE control_group IN ('/one', '/two')
		GROUP BY control_group ORDER BY control_group" | sed 1d | tr ',' ' ' | paste -sd, | sed 's/,/, /g')"
# The query is in docs/providers.md.
sed -n '/^WITH ends AS/,/;$/p' docs/providers.md | tr -d ';' >"$scratch/depth.sql"
check 'queue depth: one of dd, what fio keeps under way in its queues' '1 1 1' "$(
	ask direct "SELECT max(most) FROM ($(cat "$scratch/depth.sql"))") $(
	ask load "SELECT max(most) BETWEEN 16 AND 128 FROM ($(cat "$scratch/depth.sql"))") $(
	ask shared "SELECT max(most) BETWEEN 64 AND 256 FROM ($(cat "$scratch/depth.sql"))")"
# Without the reads of the loader and the shell.
check 'a read has its command, which is within it, and as long' '300 1228800, 20 1310720' "$(
	ask calls "SELECT group_concat(n || ' ' || b, ', ') FROM (SELECT count(*) AS n, sum(copy_bytes) AS b
		FROM api JOIN jobs USING (correlation) WHERE name = 'read' AND copy_bytes = bytes
		AND begin_ns <= submit_ns AND consumed_ns <= end_ns AND correlation != 0 GROUP BY bytes)" | tr -d '"')"
check 'threads that all wait have an end, each' '100 0' "$(
	ask calls "SELECT count(*), sum(open) FROM api WHERE name = 'read' AND bytes = 77" | tr ',' ' ')"
check 'counters of a device that has nothing else' '0 1 1' "$(cat "$scratch/counted.status") $(
	ask counted "SELECT count(*) FROM devices WHERE device = 'counted-0000:00:1f.0'") $(
	ask counted "SELECT count(DISTINCT counter) FROM system_counters WHERE source = 'provider'
		AND object = '0000:00:1f.0' AND counter = 'irq' AND unit = 'number'")"
# Two CPUs, whose clock rate the kernel calibrates at boot; the file is read together with the
# event, slightly later.
rate=$(ask counted "SELECT (max(value) - min(value)) * 1e3 / (max(time_ns) - min(time_ns))
	FROM system_counters WHERE counter = 'cycles'")
mhz=$(awk '/MHz/ { sum += $4 } END { print sum }' "$scratch/mhz.txt")
check 'and a perf event counts what it says' 1 \
	"$(awk -v rate="$rate" -v mhz="$mhz" 'BEGIN { print (rate > 0.95 * mhz && rate < 1.05 * mhz) }')"
echo "# $rate of $mhz MHz"
check 'a device of no provider: one line that says where to look' '1 1 1' \
	"$(cat "$scratch/none.status") $(wc -l <"$scratch/none.txt") \
$(grep -c 'no provider has tracepoints of 0000:00:1f.0: see acceltrace providers' "$scratch/none.txt")"
check 'of one whose driver is gone there are counters, and no more, which is said' '0 1' \
	"$(cat "$scratch/gone.status") $(grep -c 'only counters are recorded' "$scratch/gone.txt")"
check 'and providers says why' '1 1' \
	"$(cat "$scratch/absent.status") $(grep -c 'no such device here with driver nvme' "$scratch/absent.txt")"
for file in vm direct system load shared calls cpus own none gone absent; do sed "s/^/# $file: /" "$scratch/$file.txt"; done
