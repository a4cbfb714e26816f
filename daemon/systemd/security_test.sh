#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# How exposed the unit is by the rules of systemd-analyze: 2.0 at most.
set -u
if ! systemd-analyze security --help 2>/dev/null | grep -q offline; then
	echo 'no systemd-analyze here that looks at a file (systemd 250)'
	exit 77
fi
top=${REPO:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$top/tests/harness/tap.sh"
plan 3
unit=$top/daemon/systemd/acceltraced.service
# The threshold is in tenths; the exit status is that of the comparison.
systemd-analyze security --offline=1 --no-pager --threshold=20 "$unit" >"$TMPDIR/all" 2>&1
check 'exposure is 2.0 at most' 0 $?
grep -v '✓' "$TMPDIR/all" | sed 's/^/# /'
# The check is effective: without a filter of system calls the exposure is above the threshold.
grep -v '^SystemCallFilter\|^User=' "$unit" >"$TMPDIR/acceltraced.service"
systemd-analyze security --offline=1 --no-pager --threshold=20 "$TMPDIR/acceltraced.service" >/dev/null 2>&1
check 'a weaker unit is reported' 1 $?
# The capabilities that the daemon keeps are those that the unit grants.
sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr ' ' '\n' | sort >"$TMPDIR/given"
sed -n '/kRecording\[\]/,/};/p' "$top/daemon/base/privileges.cc" | grep -o 'CAP_[A-Z_]*' >"$TMPDIR/kept"
grep -o 'add(CAP_[A-Z_]*' "$top/daemon/base/privileges.cc" | sed 's/add(//' >>"$TMPDIR/kept"
check 'the daemon keeps what the unit gives' '' "$(sort -u "$TMPDIR/kept" | diff "$TMPDIR/given" -)"
