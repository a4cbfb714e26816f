#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Each of the driver's headers alone, in every language that reads them, in 64 and 32 bits: their
# assertions hold and no struct has uninitialised padding.
set -u
out=${TMPDIR:-/tmp}/uapi
mkdir -p "$out"
for header in axl.h axl_hw.h axl_counters.h axl_stats.h; do
	echo "#include \"kmod/uapi/$header\""
done >"$out/all.c"
cp "$out/all.c" "$out/all.cc"
# Assertions that the UAPI header does not make itself.
cat >>"$out/all.c" <<'END'
_Static_assert(sizeof(struct axl_ctx_destroy) == 8, "axl_ctx_destroy");
_Static_assert(sizeof(struct axl_buf_destroy) == 8, "axl_buf_destroy");
_Static_assert(sizeof(struct axl_trace_close) == 8, "axl_trace_close");
END
count=0
check() {
	name=$1
	shift
	count=$((count + 1))
	if "$@" -I. -Wall -Wextra -Werror -o "$out/object" >"$out/log" 2>&1; then
		echo "ok $count - uapi: $name"
	else
		echo "not ok $count - uapi: $name"
		status=1
		sed 's/^/# /' "$out/log" | head -n 20
	fi
}
echo 1..5
wide='-idirafter /usr/include/x86_64-linux-gnu'
check C cc -std=c11 -Wpadded -c "$out/all.c"
check C++ c++ -std=c++20 -Wpadded -c "$out/all.cc"
# shellcheck disable=SC2086 # two words
check BPF clang --target=bpf -O2 $wide -Wpadded -c "$out/all.c"
# shellcheck disable=SC2086
check '32 bits, C' clang -m32 -std=c11 $wide -Wpadded -c "$out/all.c"
# shellcheck disable=SC2086
check '32 bits, C++' clang++ -m32 -std=c++20 $wide -Wpadded -c "$out/all.cc"
exit "${status:-0}"
