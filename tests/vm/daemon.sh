#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 1000
#
# The capture daemon with a device: its error messages, several recordings at once, and the same
# recordings of the probe app on the guest's kernel.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
LIMIT=900 tests/driver/guest -- sh -c 'mkdir /dev/shm/daemon &&
	exec python3 -B daemon/testing/device_guest.py /dev/shm/daemon' >"$scratch/out" 2>"$scratch/err"
status=$?
cat "$scratch/out"
if [ $status -ne 0 ]; then
	sed 's/^/# /' "$scratch/err"
fi
exit $status
