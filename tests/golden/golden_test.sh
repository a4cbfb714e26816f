#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Each stored trace has unchanged output: report, JSON, verify and the Perfetto export.
# tests/golden/golden_test.sh --update stores the present output; review the difference.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=${REPO:-$(cd "$here/../.." && pwd)}
build=${BUILD:-$top/build}
acceltrace=$build/bin/acceltrace
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
traces='step broken demo'
export COLUMNS=100 LC_ALL=C.UTF-8

# reads TRACE VERB...: the verb succeeds, or exits with 1 and one line if the trace is lossy.
reads() {
	name=$1
	shift
	"$acceltrace" "$@" 2>"$scratch/said.txt"
	set -- $? "$(wc -l <"$scratch/said.txt")"
	if [ "$name" = broken ]; then [ "$*" = '1 1' ]; else [ "$*" = '0 0' ]; fi
}

# say TRACE FILE FOLDER: writes all output for a trace into FOLDER, and checksums of long ones.
say() {
	mkdir -p "$scratch/$1" &&
		reads "$1" report "$2" >"$3/$1.answer.txt" &&
		reads "$1" report --full "$2" >"$3/$1.report.txt" &&
		reads "$1" report --json "$2" >"$scratch/$1/report.json" &&
		reads "$1" export "$2" --format csv -o "$scratch/$1" &&
		(cd "$scratch/$1" && sha256sum -- *) >"$3/$1.sums.txt" &&
		reads "$1" export "$2" --format perfetto -o "$scratch/$1.perfetto-trace" &&
		"$top/tests/perfetto/validate-perfetto" --tree --digest "$scratch/$1.perfetto-trace" \
			>"$3/$1.perfetto.txt" || return 1
	"$acceltrace" verify "$2" >"$3/$1.verify.txt" 2>"$scratch/said.txt"
	echo "exit status $?" >>"$3/$1.verify.txt"
}

if [ "${1:-}" = --update ]; then
	"$build/test/make-trace" step "$here/step.atrace" || exit 1
	"$build/test/make-trace" broken "$here/broken.atrace" || exit 1
	for trace in $traces; do say "$trace" "$here/$trace.atrace" "$here" || exit 1; done
	exit 0
fi

count=0
echo 1..22
check() {
	count=$((count + 1))
	if [ "$2" = 0 ]; then echo "ok $count - $1"; else echo "not ok $count - $1"; fi
}
for trace in $traces; do
	say "$trace" "$here/$trace.atrace" "$scratch"
	check "$trace: said" $?
	for what in answer.txt report.txt verify.txt perfetto.txt sums.txt; do
		diff -u "$here/$trace.$what" "$scratch/$trace.$what" | sed 's/^/# /' | head -40
		cmp -s "$here/$trace.$what" "$scratch/$trace.$what"
		check "$trace: $what" $?
	done
done
# A packed trace has the same output and is smaller.
for trace in step demo; do
	"$acceltrace" pack "$here/$trace.atrace" -o "$scratch/packed.atrace" 2>"$scratch/said.txt" &&
		[ "$(wc -c <"$scratch/packed.atrace")" -lt "$(wc -c <"$here/$trace.atrace")" ] &&
		reads $trace report --full "$scratch/packed.atrace" >"$scratch/new.txt" &&
		cmp "$here/$trace.report.txt" "$scratch/new.txt"
	check "$trace: packed" $?
done
# A trace that is made now has the same output as the stored one.
for trace in step broken; do
	"$build/test/make-trace" $trace "$scratch/new.atrace" &&
		reads $trace report --full "$scratch/new.atrace" >"$scratch/new.txt" &&
		cmp -s "$here/$trace.report.txt" "$scratch/new.txt"
	check "$trace: made anew" $?
done
