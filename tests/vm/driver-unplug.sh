#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# The device goes while it is used. Without arguments: the ways that can follow
# each other in one guest; under_load/unplug and surprise run when named.
[ $# -gt 0 ] || set -- told/unbind told/remove told/unplug under_load/unbind under_load/remove
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
scripts/vm --cpus 2 --timeout "${LIMIT:-500}" \
	--qemu-arg=-chardev --qemu-arg="socket,id=qmpguest,path=$dir/qmp,server=on,wait=off" \
	--qemu-arg=-device --qemu-arg=virtserialport,bus=vser.0,chardev=qmpguest,name=axl.qmp \
	--qemu-arg=-chardev --qemu-arg="socket,id=qmpmon,path=$dir/qmp" \
	--qemu-arg=-mon --qemu-arg=chardev=qmpmon,mode=control \
	-- build/test/driver-unplug "$@"
