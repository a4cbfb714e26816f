#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# axl.ko builds without a warning (W=1) for each kernel whose headers are installed, and asks
# for features, never for a version.
set -u
top=${REPO:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$top" || exit 1
unset MAKEFLAGS MAKELEVEL
. "$top/tests/harness/tap.sh"

headers=$(for release in /usr/src/linux-headers-*/include/config/kernel.release; do
	[ -e "$release" ] && echo "${release%/include/config/kernel.release}"
done)
if [ -z "$headers" ]; then
	echo '1..0 # SKIP no kernel headers in /usr/src'
	exit 0
fi
# shellcheck disable=SC2086 # one word for each
set -- $headers
plan $(($# + 2))
check 'no version is asked for' '' \
	"$(grep -nE 'LINUX_VERSION_CODE|KERNEL_VERSION' kmod/*.[ch] kmod/Kbuild)"
# Each of Kbuild's feature probes is used in the source.
check 'each probe is used' '' "$(grep -o 'AXL_HAVE_[A-Z_]*' kmod/Kbuild | while read -r name; do
	grep -q "$name" kmod/compat.h || echo "$name"
done)"
for folder; do
	release=${folder#/usr/src/linux-headers-}
	said=$(make -s kmod "KMOD_HEADERS=$folder" "KERNELRELEASE_TARGET=$release" 2>&1 |
		grep -v -e 'no BTF in axl.ko' -e '^  KMOD ')
	check "Linux $release" '' \
		"$said$(grep -E 'warning:|WARNING:|error:' "build/kmod/$release/build.log")"
done
