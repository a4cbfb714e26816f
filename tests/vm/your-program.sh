#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
#
# docs/your-program.md from its second section on, every command unchanged, in a root where
# acceltrace is installed: the slowness is found, fixed, and stays fixed.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. tests/harness/tap.sh
plan 11
# Blocks of C are the files named before them, blocks of sh the commands.
awk -v folder="$scratch" '
	/^## / { section++ }
	/^`[^ ]*\.c`:$/ { gsub(/[`:]/, ""); name = $0 }
	/^```/ { kind = kind == "" ? substr($0 "-", 4) : ""; next }
	section >= 2 && kind == "c-" { print >(folder "/" name) }
	section >= 2 && kind == "sh-" { print >(folder "/commands") }' docs/your-program.md
check 'the page has a program' 1 "$(grep -c 'int main' "$scratch/tiles.c")"
check 'and commands' '2 2 1 1 1' "$(for word in cc record report whatif check; do
	grep -cE "^(acceltrace )?$word " "$scratch/commands"; done | paste -sd' ')"
scripts/lib/install "$scratch/root" /usr --no-module
check 'it is installed' 0 $?
cat >"$scratch/guest" <<'END'
cp -a "$1/root/usr/." /usr/ && ldconfig || exit 1
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
unset LD_LIBRARY_PATH
mkdir -p /tmp/tiles && cp "$1/tiles.c" /tmp/tiles
COLUMNS=100 sh -ex "$1/commands" >"$1/said.txt" 2>"$1/errors.txt"
echo $? >"$1/status"
command -v acceltrace >"$1/which"
cp /tmp/tiles/*.atrace "$1"
END
scripts/vm --icount --timeout 800 --share "$scratch" -- sh "$scratch/guest" "$scratch" \
	2>"$scratch/vm.txt"
check 'the guest ran' 0 $?
check 'every command works, the check of the mended run last' 0 "$(cat "$scratch/status")"
check 'with what was installed' /usr/bin/acceltrace "$(cat "$scratch/which")"
check 'the report says what to change' 1 "$(grep -c '^WHAT TO CHANGE' "$scratch/said.txt")"
# As one line, wherever it is broken.
said=$(tr -s ' \n' ' ' <"$scratch/said.txt")
count() { echo "$said" | grep -o "$1" | wc -l; }
# The first screen has as many suggestions as fit below the verdict; this shows all of them.
"${BUILD:-build}/bin/acceltrace" report --section change "$scratch/slow.atrace" >"$scratch/change.txt"
changes=$(tr -s ' \n' ' ' <"$scratch/change.txt")
among() { echo "$changes" | grep -o "$1" | wc -l; }
check 'the planted wait comes first' 1 \
	"$(among '1\. [0-9.]* % of the run ([^)]*), [^ ]* [^ ]* The program waits 63 times for work')"
share() { echo "$said" | sed -n "s/.*$1.*/\1/p" | head -n 1; }
predicted=$(share 'predicted [^,]*, \([0-9.]*\) % less')
gained=$(share 'The run took [^:]*: [^(]*(-\([0-9.]*\) %)')
echo "# predicted without waits $predicted % less, in truth $gained %, of the run with the tracer"
check 'it would be quicker without the waits, and is' '1 1' \
	"$(awk -v a="$predicted" -v b="$gained" 'BEGIN { print (a > 10), (b > 10) }')"
check 'what is gone are the waits' 1 "$(count 'axlStreamSynchronize 64 → 0 ')"
check 'nothing was lost' 0 "$(for trace in "$scratch"/*.atrace; do
	"${BUILD:-build}/bin/acceltrace" verify "$trace" >/dev/null || echo "$trace"; done | wc -l)"
sed 's/^/# /' "$scratch/errors.txt" "$scratch/vm.txt"
sed -n '1,60s/^/# /p' "$scratch/said.txt"
