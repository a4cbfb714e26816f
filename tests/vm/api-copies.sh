#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 1800
#
# Programs whose copy of libaxl was not specified. A run of a few milliseconds is recorded from its
# first call whichever copy its loader finds: in a system folder, by a run path, in LD_LIBRARY_PATH,
# for a program that a shell runs. A copy that is only loaded by its path is found once it uses a
# device; if that is too late the recorder says why, and its advice helps. If no probe can be found
# it says so.
set -u
acceltrace=${BUILD:-build}/bin/acceltrace
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. tests/harness/tap.sh
plan 24

lib=${BUILD:-build}/lib
mkdir "$scratch/own" "$scratch/elsewhere"
objcopy --remove-section .note.stapsdt "$lib/libaxl.so" "$scratch/blind.so"
cp "$lib/libaxl.so" "$scratch/own/libaxl.so.0"
cat >"$scratch/short.c" <<'END'
#include <axl.h>
#include <dlfcn.h>
int main(int argc, char **argv) {
  void *memory, *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : dlopen(0, RTLD_NOW);
  if (!library) return 2;
  axlError_t (*take)(void **, size_t) = dlsym(library, "axlMalloc");
  axlError_t (*set)(void *, uint32_t, size_t, axlStream_t) = dlsym(library, "axlMemsetD32Async");
  axlError_t (*give)(void *) = dlsym(library, "axlFree");
  axlError_t (*wait)(void) = dlsym(library, "axlDeviceSynchronize");
  if (!take || !set || !give || !wait) return 3;
  return take(&memory, 4096) || set(memory, 1, 1024, 0) || wait() || give(memory);
}
END
set_up() {
	name=$1
	shift
	cc -O2 -Ilibtrace/runtime -o "$scratch/$name" "$scratch/short.c" "$@"
}
set_up linked -Wl,--no-as-needed -L"$lib" -laxl &&
	set_up run-path -Wl,--no-as-needed "$scratch/own/libaxl.so.0" -Wl,-rpath,"$scratch/own" &&
	set_up loads
check 'the programs are made' 0 $?
cat >"$scratch/guest" <<'END'
cd "$1" || exit
copy=/usr/lib/x86_64-linux-gnu/libaxl.so.0
here=$2/lib/libaxl.so
unset LD_LIBRARY_PATH
record() {
	name=$1
	shift
	acceltrace record -o "/dev/shm/$name.atrace" "$@" >/dev/null 2>"$name.txt"
	echo "$name: $?"
	cp "/dev/shm/$name.atrace" .
}
cp "$here" "$copy" && ldconfig
record system -- ./linked
record shell -- sh -c 'exec ./linked'
rm -f "$copy" && ldconfig
mkdir /tmp/copy /tmp/blind
cp "$here" /tmp/copy/libaxl.so.0
cp "$here" elsewhere/axl
cp blind.so /tmp/blind/libaxl.so.0
record run-path -- ./run-path
record variable -- env LD_LIBRARY_PATH=/tmp/copy ./linked
record own-build -- env LD_LIBRARY_PATH="${here%/*}" ./linked
record loaded -- ./loads "$1/elsewhere/axl"
record named --libaxl "$1/elsewhere/axl" -- ./loads "$1/elsewhere/axl"
record copy -- unshare -m sh -c 'mount -t tmpfs none /mnt && cp /tmp/copy/libaxl.so.0 /mnt/axl &&
	LD_PRELOAD=/mnt/axl LD_LIBRARY_PATH=/tmp/blind exec axl-transformer --tokens 500 --no-check'
record blind -- env LD_LIBRARY_PATH=/tmp/blind axl-transformer --tokens 500 --no-check
true
END
scripts/vm --icount --unsealed --timeout 900 --share "$scratch" -- sh "$scratch/guest" "$scratch" \
	"$(realpath "${BUILD:-build}")" >"$scratch/statuses" 2>"$scratch/vm.txt"
check 'the guest ran' 0 $?
check 'every command passed' 0 "$(grep -vc ': 0$' "$scratch/statuses")"
calls() { $acceltrace query --csv "$scratch/$1.atrace" 'SELECT count(*) FROM api' | tail -n 1; }
for case in system shell run-path variable own-build named; do
	check "$case: its four calls are in the trace" 4 "$(calls $case)"
	check "$case: nothing is wrong with it" '' \
		"$($acceltrace verify "$scratch/$case.atrace" 2>&1 >/dev/null)"
	check "$case: nothing is said while recording" 0 "$(grep -c 'API library' "$scratch/$case.txt")"
done
$acceltrace report "$scratch/loaded.atrace" --full 2>&1 | tr -s '\n ' ' ' >"$scratch/said"
check 'loaded by its path: what is missing is said with the cure' 1 \
	"$(grep -c 'copy of the API library.*--libaxl' "$scratch/said")"
check 'copy: its calls are seen once it uses the device' 1 \
	"$(awk "BEGIN { print ($(calls copy) > 100) }")"
check 'blind: said while recording, with the cure' 1 \
	"$(grep -c 'cannot be seen.*note.stapsdt' "$scratch/blind.txt")"
cat "$scratch"/*.txt | sed 's/^/# /'
