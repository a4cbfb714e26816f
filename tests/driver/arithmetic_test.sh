#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compiles parts of the driver (arithmetic.c) as a program of this machine that checks every
# overflow, shift and access. kernel.h replaces the kernel's headers.
set -eu
dir=${TMPDIR:-/tmp}/arithmetic
sources="kmod/axl_dev.h kmod/axl_stamp.h kmod/axl_*_types.h kmod/compat.h $(
	sed -n 's/^#include "\(kmod\/.*\)"$/\1/p' tests/driver/arithmetic.c)"
# shellcheck disable=SC2086 # several, and patterns
sed -n 's/^#include <\(linux\/.*\)>.*/\1/p' $sources | while read -r header; do
	mkdir -p "$dir/$(dirname "$header")"
	echo '#include "tests/driver/kernel.h"' >"$dir/$header"
done
mkdir "$dir/trace"
: >"$dir/trace/define_trace.h"
cc -std=gnu11 -O1 -g -Wall -Wextra -Werror -Wno-unused-function -fsanitize=address,undefined \
	-fno-sanitize-recover=all -I. "-I$dir" -o "$dir/arithmetic" \
	tests/driver/arithmetic.c tests/driver/harness.c
ASAN_OPTIONS=detect_leaks=0 "$dir/arithmetic" "$@"
