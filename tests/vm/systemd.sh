#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
#
# The service as it is installed, under systemd: it starts, records, and stops with everything
# flushed and nothing to complain of in the journal.
set -u
if [ ! -x /lib/systemd/systemd ]; then
	echo 'systemd is not installed here'
	exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
truncate -s 16M "$scratch/disk"
# The tree may lie below /tmp, which is not the guest's to be cleaned.
scripts/vm --systemd --append systemd.mask=systemd-tmpfiles-setup.service --timeout 840 \
	--share "$scratch" --qemu-arg=-drive --qemu-arg="file=$scratch/disk,if=none,id=disk,format=raw" \
	--qemu-arg=-device --qemu-arg=nvme,drive=disk,serial=1 -- \
	python3 -B daemon/testing/unit_guest.py "$scratch" >"$scratch/out" 2>"$scratch/err"
status=$?
cat "$scratch/out"
[ $status -eq 0 ] || sed 's/^/# /' "$scratch/err"
exit $status
