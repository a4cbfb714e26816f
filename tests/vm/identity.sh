#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 1000
# serial
#
# The owner of each call, job and command: namespaces, exec, fork, reused numbers, forged ids. See
# daemon/testing/identity_guest.py.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
LIMIT=900 tests/driver/guest -- sh -c 'mkdir /dev/shm/identity && chmod 755 /dev/shm/identity &&
	exec python3 -B daemon/testing/identity_guest.py /dev/shm/identity' \
	>"$scratch/out" 2>"$scratch/err"
status=$?
cat "$scratch/out"
if [ $status -ne 0 ]; then
	sed 's/^/# /' "$scratch/err"
fi
exit $status
