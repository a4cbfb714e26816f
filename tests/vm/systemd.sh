#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
#
# The installed service under systemd: it starts at boot, records, and stops with everything flushed
# and without a warning in the journal.
set -u
if [ ! -x /lib/systemd/systemd ]; then
	echo 'systemd is not installed here'
	exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
truncate -s 16M "$scratch/disk"
# The steps of a package's installation. Nothing else of the host's is started at boot.
setup='
	rm -f /etc/systemd/system/*.wants/* /usr/lib/systemd/system/multi-user.target.wants/*
	scripts/lib/install "" /usr --no-module
	systemd-sysusers
	systemctl enable acceltraced.service'
# The tree may be below /tmp, which the guest must not clean.
scripts/vm --systemd --setup "$setup" --append systemd.wants=multi-user.target \
	--append systemd.mask=systemd-tmpfiles-setup.service --timeout 840 \
	--qemu-arg=-drive --qemu-arg="file=$scratch/disk,if=none,id=disk,format=raw" \
	--qemu-arg=-device --qemu-arg=nvme,drive=disk,serial=1 -- \
	sh -c 'mkdir /dev/shm/unit &&
	exec python3 -B daemon/testing/unit_guest.py /dev/shm/unit "build/kmod/$(uname -r)/axl.ko"' \
	>"$scratch/out" 2>"$scratch/err"
status=$?
cat "$scratch/out"
[ $status -eq 0 ] || sed 's/^/# /' "$scratch/err"
exit $status
