#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
#
# The two commands of README's section "Install", unchanged, in a root that has nothing of
# acceltrace but the packages: the second records an NVMe disk.
set -u
for tool in dpkg-buildpackage dh dh_dkms dh_python3 chrpath; do
	command -v $tool >/dev/null || {
		echo "$tool is not installed: scripts/install-deps test"
		exit 77
	}
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. tests/harness/tap.sh
plan 8
sed -n '/^## Install$/,/^```$/p' README.md | sed -n '/^```sh$/,$p' | sed '1d;$d' >"$scratch/commands"
check 'README has two commands' 'sudo apt, sudo acceltrace' \
	"$(awk '{ printf "%s%s %s", (NR > 1 ? ", " : ""), $1, $2 }' "$scratch/commands")"
mkdir -p "$scratch/build/package"
unset MAKEFLAGS MAKELEVEL
scripts/lib/package >"$scratch/package.txt" 2>&1
check 'there are packages' 0 $?
# Only these packages, which the first command names.
cp build/package/acceltrace_*.deb build/package/libacceltrace0.1_*.deb build/package/libaxl0_*.deb \
	"$scratch/build/package/"
cat >"$scratch/guest" <<'END'
cd "$1" || exit 1
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive
unset LD_LIBRARY_PATH
modprobe nvme
command -v acceltrace acceltraced >before.txt
# root needs no sudo; manuals are not looked up here.
[ -x /usr/bin/sudo ] || printf '#!/bin/sh\nexec "$@"\n' >/usr/local/bin/sudo
[ -x /usr/bin/sudo ] || chmod +x /usr/local/bin/sudo
echo 'man-db man-db/auto-update boolean false' | debconf-set-selections 2>/dev/null
rm -f /var/lib/man-db/auto-update
{
	printf 'cd /root || exit 1\nln -s "%s/build" .\n' "$1"
	cat commands
} >both
# The second one runs alone: it records into the folder where it is called.
bash -x both >said.txt 2>errors.txt
echo $? >status
command -v acceltrace >after.txt
cp /root/*.atrace . && ls *.atrace >traces
acceltrace report "$(cat traces)" >report.txt 2>&1
acceltrace query "$(cat traces)" --csv "SELECT count(*) || ' ' || sum(copy_bytes) FROM jobs JOIN processes
	USING (pid) WHERE name = 'dd' AND consumed_ns > submit_ns" >jobs.txt 2>&1
getent group acceltrace >group.txt
END
truncate -s 64M "$scratch/disk"
scripts/vm --no-device --no-module --timeout 600 --share "$scratch" \
	--qemu-arg=-drive --qemu-arg="file=$scratch/disk,if=none,id=disk,format=raw" \
	--qemu-arg=-device --qemu-arg=nvme,drive=disk,serial=1 \
	-- sh "$scratch/guest" "$scratch" 2>"$scratch/vm.txt"
check 'the guest ran' 0 $?
check 'nothing was there before' '' "$(cat "$scratch/before.txt")"
check 'both commands work' 0 "$(cat "$scratch/status")"
check 'what they installed did it' /usr/bin/acceltrace "$(cat "$scratch/after.txt")"
check 'each read is recorded' '1000 4096000' "$(tail -n 1 "$scratch/jobs.txt" | tr -d '"')"
check 'nothing was lost' 1 "$(grep -c '\b0 lost' "$scratch/errors.txt")"
for file in package vm said errors report; do sed "s/^/# $file: /" "$scratch/$file.txt"; done
