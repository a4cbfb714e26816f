#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 1200
#
# The bpftrace scripts of scripts/probes over real work, one device healthy, one that hangs.
set -u
if ! command -v bpftrace >/dev/null || ! command -v perf >/dev/null; then
	echo 'bpftrace or perf is not installed here'
	exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
scripts/vm --cpus 2 --timeout 1150 --allow '.*axl.*' --device axl --device axl,fault-hang-engine=2 \
	--share "$scratch" -- \
	python3 -B scripts/probes/probes_guest.py /tmp >"$scratch/out" 2>"$scratch/err"
status=$?
cat "$scratch/out"
[ $status -eq 0 ] || sed 's/^/# /' "$scratch/err"
exit $status
