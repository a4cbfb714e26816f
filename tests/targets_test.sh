#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
#
# The make targets that people type: what is installed runs from where it was put, the package holds
# the same, and the others call what they say.
set -u
top=${REPO:-$(cd "$(dirname "$0")/.." && pwd)}
cd "$top" || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MAKEFLAGS MAKELEVEL
. "$top/tests/harness/tap.sh"
plan 14

make help >"$scratch/help" 2>&1
check 'help' 0 $?
# Each target that it names is one.
sed -n 's/^make \([a-z-]*\) .*/\1/p' "$scratch/help" | while read -r target; do
	grep -Eq "^([a-z-]+ )*$target( [a-z-]+)*:" scripts/targets.mk Makefile kmod/build.mk || echo "$target"
done >"$scratch/absent"
check 'help names targets that there are' '' "$(cat "$scratch/absent")"

# runs TARGET: what the test runner would be called with.
runs() { make -s --no-print-directory RUN_TESTS='echo ran' "$@" 2>&1 | grep '^ran'; }
check 'check' 'ran --kind lint --kind unit --kind program --kind script' "$(runs check)"
check 'check-vm' 'ran --kind vm' "$(runs check-vm)"
check 'fuzz' 1 "$(make -n fuzz FUZZ_TIME=7 2>&1 | grep -c '^tests/run *--kind fuzz --fuzz-time 7$')"
check 'lint' 1 "$(make -n lint | grep -c '^scripts/lint$')"
make bench BENCH=nosuch >"$scratch/bench" 2>&1
check 'bench: a suite that is not there' 'bench: no suite nosuch in tests/bench' \
	"$(grep '^bench: ' "$scratch/bench")"

# Each suite names what it uses, so that it runs in a checkout where nothing was built.
for suite in tests/bench/*; do
	[ -f "$suite" ] || continue
	[ -x "$suite" ] || continue
	needs=$(sed -n '1,20s/^# needs: *//p' "$suite")
	[ -n "$needs" ] || continue
	# shellcheck disable=SC2013
	for file in $(grep -o 'build/\(test\|fuzz\)/[a-z0-9_-]*' "$suite" | sort -u); do
		case " $needs " in *" $file "*) ;; *) echo "$suite does not say that it needs $file" ;; esac
	done
	# shellcheck disable=SC2086
	make -n all $needs >/dev/null 2>&1 || echo "$suite: one of $needs is no target"
done >"$scratch/needs"
check 'bench: suites say what they need' '' "$(cat "$scratch/needs")"

make -s install "DESTDIR=$scratch/root" PREFIX=/opt/axl >"$scratch/install" 2>&1
check 'install' 0 $?
# What is always there, whatever kernels the module was built for.
(cd "$scratch/root" && find . -type f | grep -v '^./usr/lib/modules/' | sed 's/^..//' | sort) \
	>"$scratch/files"
{
	for file in build/bin/*; do echo "opt/axl/bin/${file##*/}"; done
	for page in docs/*.md docs/*.png README.md LICENSE; do echo "opt/axl/share/doc/acceltrace/$page"; done
	for page in docs/man/*.[1-8]; do echo "opt/axl/share/man/man${page##*.}/${page##*/}"; done
	for file in daemon/providers/*.provider; do
		echo "opt/axl/share/acceltrace/providers/${file##*/}"
	done
	for header in kmod/uapi/*.h; do echo "opt/axl/include/axl/${header##*/}"; done
	cat <<-END
		opt/axl/include/axl.h
		opt/axl/lib/acceltrace/axl.so
		opt/axl/lib/libacceltrace.so
		opt/axl/lib/libaxl.so
		opt/axl/share/acceltrace/trace.proto
		usr/lib/systemd/system/acceltraced.service
		usr/lib/sysusers.d/acceltrace.conf
	END
} | sort >"$scratch/expected"
check 'install: these files' '' "$(diff "$scratch/expected" "$scratch/files")"
check 'install: the module' 1 "$(find "$scratch/root/usr/lib/modules" -name axl.ko | head -n 1 | wc -l)"
"$scratch/root/opt/axl/bin/acceltrace" report tests/golden/demo.atrace >"$scratch/report" 2>&1
cmp -s "$scratch/report" tests/golden/demo.report.txt
check 'install: acceltrace runs from there' 0 $?

if command -v dpkg-shlibdeps >/dev/null; then
	make -s package >"$scratch/package" 2>&1
	deb=$(tail -n 1 "$scratch/package")
	dpkg-deb -c "$deb" 2>/dev/null | awk '$1 ~ /^-/ { print $6 }' | sed 's/^..//' |
		grep -v '^usr/lib/modules/' | sort >"$scratch/packed"
	sed 's|^opt/axl|usr|' "$scratch/expected" | sort | diff - "$scratch/packed" >"$scratch/diff"
	check 'package: the same files' '' "$(cat "$scratch/diff" "$scratch/package" | grep -v '\.deb$')"
	check 'package: it names what it needs' 1 \
		"$(dpkg-deb -f "$deb" Depends | grep -c 'libbpf.*libprotobuf\|libprotobuf.*libbpf')"
else
	skip 'package: the same files' 'dpkg-dev is not installed'
	skip 'package: it names what it needs' 'dpkg-dev is not installed'
fi
