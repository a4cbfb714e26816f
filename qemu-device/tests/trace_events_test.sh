#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# QEMU knows the device's trace events, and they fire on resets of a device without a
# guest.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=${REPO:-$(cd "$here/../.." && pwd)}
build=${BUILD:-$top/build}
. "$top/tests/harness/tap.sh"
qemu() {
	LD_PRELOAD=$build/qemu-device/axl.so qemu-system-x86_64 -nodefaults -no-user-config -display none "$@"
}
plan 3
wanted=$(sed -n 's/^\(axl_[a-z_]*\)(.*/\1/p' "$top/qemu-device/trace-events" | sort)
check 'QEMU lists every event' "$wanted" "$(qemu -trace help | grep '^axl_' | sort)"
log=$(printf '%s\n' '{"execute": "qmp_capabilities"}' \
	'{"execute": "human-monitor-command", "arguments": {"command-line": "info pci"}}' \
	'{"execute": "system_reset"}' '{"execute": "quit"}' |
	qemu -machine q35 -S -qmp stdio -device pcie-root-port,id=rp -device axl,bus=rp,id=named \
		-trace 'axl_*' 2>&1 >/dev/null)
check 'a reset is reported, by the name of the device' 1 "$(echo "$log" | grep -c 'axl_reset named' | sed 's/[2-9]/1/')"
check 'so is each context with it' 1 "$(echo "$log" | grep -c 'axl_context_reset named: context 1$' | sed 's/[2-9]/1/')"
