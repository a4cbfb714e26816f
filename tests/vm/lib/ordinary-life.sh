#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 1500
#
# verify finds nothing in everyday recordings: attaching, detaching, snapshots, other programs on
# the same device, clients and programs that are killed, clocks that wrap and jump, devices in
# trouble. tests/vm/lib/ordinary-life.sh NAME... makes these only, 2/5 the second fifth of all;
# KEEP=FOLDER keeps the traces. A guest for a fifth takes some minutes; tests/bench/verify makes
# all. SEALED=1 uses a sealed guest, for recordings that need no monitor.
set -u
acceltrace=${BUILD:-build}/bin/acceltrace
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
traces=${KEEP:-$scratch/traces}
mkdir -p "$traces"
traces=$(cd "$traces" && pwd)
set -- -- /usr/bin/python3 -B tests/vm/lib/ordinary_life.py "$traces" "$@"
if [ -n "${SEALED:-}" ]; then
	set -- --device axl,fault-late-irq-ns=3000000,fault-late-irqs=3 "$@"
	for file in "$(realpath "${BUILD:-build}")"/bin/acceltrace* "$(realpath "${BUILD:-build}")"/bin/axl-[hst]* \
		tests/vm/lib/ordinary_life.py daemon/testing/recording.py tests/driver/monitor.py tests/harness \
		/usr/bin/python3 "$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"; do
		set -- --file "$file" "$@"
	done
	set -- --sealed "$@"
else
	set -- --unsealed --qemu-arg=-chardev --qemu-arg="socket,id=qmpguest,path=$scratch/qmp,server=on,wait=off" \
		--qemu-arg=-device --qemu-arg=virtserialport,bus=vser.0,chardev=qmpguest,name=axl.qmp \
		--qemu-arg=-chardev --qemu-arg="socket,id=qmpmon,path=$scratch/qmp" \
		--qemu-arg=-mon --qemu-arg=chardev=qmpmon,mode=control "$@"
fi
scripts/vm --icount --timeout 1200 --share "$traces" --allow '.*axl.*' --allow '.*pcieport.*' \
	--device axl --device axl,clock-bits=32,clock-ppm=-20 \
	--device axl,clock-bits=24,clock-hz=1000000 "$@" >"$scratch/made" 2>"$scratch/err"
status=$?
sed 's/^/# /' "$scratch/err"
[ $status -eq 0 ] && echo 'ok 1 - every recording was made' ||
	echo "not ok 1 - every recording was made: status $status"
count=1
while read -r name; do
	count=$((count + 1))
	if "$acceltrace" verify "$traces/$name.atrace" >"$scratch/verify.txt" 2>&1; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		sed 's/^/# /' "$scratch/verify.txt"
	fi
done <"$scratch/made"
echo "1..$count"
