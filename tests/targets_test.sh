#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
#
# The user-visible make targets: an installation runs from its place and can be removed, and the
# other targets do what they say.
set -u
top=${REPO:-$(cd "$(dirname "$0")/.." && pwd)}
cd "$top" || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MAKEFLAGS MAKELEVEL
. "$top/tests/harness/tap.sh"
plan 19

make help >"$scratch/help" 2>&1
check 'help' 0 $?
# Each target that the help names exists.
sed -n 's/^make \([a-z-]*\) .*/\1/p' "$scratch/help" | while read -r target; do
	grep -Eq "^([a-z-]+ )*$target( [a-z-]+)*:" scripts/targets.mk Makefile kmod/build.mk daemon/build.mk || echo "$target"
done >"$scratch/absent"
check 'help names targets that there are' '' "$(cat "$scratch/absent")"

# runs TARGET: the arguments that the test runner would get.
runs() { make -s --no-print-directory RUN_TESTS='echo ran' "$@" 2>&1 | grep '^ran'; }
check 'check' 'ran --kind lint --kind unit --kind program --kind script' "$(runs check)"
check 'check-vm' 'ran --kind vm' "$(runs check-vm)"
check 'fuzz' 1 "$(make -n fuzz FUZZ_TIME=7 2>&1 | grep -c '^tests/run *--kind fuzz --fuzz-time 7$')"
check 'lint' 1 "$(make -n lint | grep -c '^scripts/lint$')"
make bench BENCH=nosuch >"$scratch/bench" 2>&1
check 'bench: a suite that is not there' 'bench: no suite nosuch in tests/bench' \
	"$(grep '^bench: ' "$scratch/bench")"

# Each suite names the files that it uses, so that it runs in a checkout without a build.
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
# Files that are always installed, whatever kernels the module was built for.
(cd "$scratch/root" && find . ! -type d | grep -v '^./usr/lib/modules/\|/\.build-id/' | sed 's/^..//' | sort) \
	>"$scratch/files"
version=$(sed -n 's/.*kVersion\[\] = "\(.*\)";/\1/p' libtrace/base/version.h)
{
	for file in build/bin/*; do echo "opt/axl/bin/${file##*/}"; done
	for page in docs/*.md docs/*.png docs/*.svg README.md LICENSE; do echo "opt/axl/share/doc/acceltrace/$page"; done
	for page in docs/man/*.[1-8]; do echo "opt/axl/share/man/man${page##*.}/${page##*/}"; done
	for file in daemon/providers/*.provider; do
		echo "opt/axl/share/acceltrace/providers/${file##*/}"
	done
	for file in scripts/probes/*.bt; do echo "opt/axl/share/acceltrace/probes/${file##*/}"; done
	for header in kmod/uapi/*.h; do echo "opt/axl/include/axl/uapi/${header##*/}"; done
	scripts/lib/public-headers | sed 's|.* |opt/axl/include/acceltrace/|'
	for file in scripts/python/acceltrace/*.py; do
		case $file in *_test.py) ;; *) echo "opt/axl/lib/python3/dist-packages/acceltrace/${file##*/}" ;; esac
	done
	cat <<-END
		opt/axl/include/axl.h
		opt/axl/lib/acceltrace/axl.so
		opt/axl/lib/libacceltrace.so
		opt/axl/lib/libacceltrace.so.${version%.*}
		opt/axl/lib/libacceltrace.so.$version
		opt/axl/lib/libaxl.so
		opt/axl/lib/libaxl.so.0
		opt/axl/lib/libaxl.so.$version
		opt/axl/lib/pkgconfig/acceltrace.pc
		opt/axl/lib/pkgconfig/axl.pc
		opt/axl/lib/python3/dist-packages/acceltrace/host.proto
		opt/axl/lib/python3/dist-packages/acceltrace/trace.proto
		opt/axl/share/acceltrace/acceltraced.conf
		opt/axl/share/acceltrace/host.proto
		opt/axl/share/acceltrace/trace.proto
		opt/axl/share/bash-completion/completions/acceltrace
		opt/axl/share/bash-completion/completions/acceltraced
		opt/axl/share/zsh/vendor-completions/_acceltrace
		usr/lib/systemd/system/acceltraced-metrics.socket
		usr/lib/systemd/system/acceltraced.service
		usr/lib/systemd/system/acceltraced.socket
		usr/lib/sysusers.d/acceltrace.conf
		usr/lib/tmpfiles.d/acceltrace.conf
	END
} | sort >"$scratch/expected"
check 'install: these files' '' "$(diff "$scratch/expected" "$scratch/files")"
check 'install: the module' 1 "$(find "$scratch/root/usr/lib/modules" -name axl.ko | head -n 1 | wc -l)"
COLUMNS=100 LC_ALL=C.UTF-8 "$scratch/root/opt/axl/bin/acceltrace" report tests/golden/demo.atrace >"$scratch/report" 2>&1
cmp -s "$scratch/report" tests/golden/demo.answer.txt
check 'install: acceltrace runs from there' 0 $?

check 'install: the unit starts what was installed' 'ExecStart=/opt/axl/bin/acceltraced' \
	"$(grep '^ExecStart=' "$scratch/root/usr/lib/systemd/system/acceltraced.service")"
# Without -g there is no debug information to keep.
kept=0
readelf -S build/bin/acceltrace | grep -q '\.debug_info' && kept=1
id=$(readelf -n "$scratch/root/opt/axl/bin/acceltrace" | sed -n 's/.*Build ID: *//p')
symbols=$(find "$scratch/root/opt/axl/lib/debug/.build-id" -name "${id#??}.debug")
check 'install: without debug information, which lies beside' "0 $kept" "$(
	readelf -S "$scratch/root/opt/axl/bin/acceltrace" | grep -c '\.debug_info'
) $(readelf -S "$symbols" 2>/dev/null | grep -c '\.debug_info')"

# A program can be compiled against the installation alone.
export PKG_CONFIG_PATH="$scratch/root/opt/axl/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$scratch/root"
export LD_LIBRARY_PATH="$scratch/root/opt/axl/lib"
cat >"$scratch/user.c" <<'END'
#include <axl.h>
#include <axl/uapi/axl.h>
#include <stdio.h>

int main(void)
{
	int count = 0;
	struct axl_info info = { .size = sizeof(info) };

	puts(axlGetErrorName(axlGetDeviceCount(&count)));
	return info.size == 0;
}
END
# shellcheck disable=SC2046
(cd "$scratch" && gcc -Wall -Wextra -Werror -o user user.c $(pkg-config --cflags --libs axl) && ./user) \
	>"$scratch/user.out" 2>&1
check 'install: pkg-config axl, beside the header of the driver' 'axlErrorNoDevice' \
	"$(sed 's/axlSuccess/axlErrorNoDevice/' "$scratch/user.out")"
sed -n '/^```cpp$/,/^```$/p' docs/reading-traces.md | sed '1d;$d' >"$scratch/reader.cc"
# shellcheck disable=SC2046
(
	cd "$scratch" &&
		g++ -std=c++20 -Wall -Wextra -Werror -o reader reader.cc $(pkg-config --cflags --libs acceltrace) &&
		./reader "$top/tests/golden/demo.atrace"
) >"$scratch/reader.out" 2>&1
count() { build/bin/acceltrace query tests/golden/demo.atrace "SELECT count(*) FROM $1" | tail -n 1 | tr -d ' '; }
check 'install: pkg-config acceltrace, with the program of docs/reading-traces.md' \
	"axl0: $(count commands) commands in $(count jobs) jobs" "$(tail -n 1 "$scratch/reader.out")"
unset LD_LIBRARY_PATH
check 'versions: libraries and their symbols carry one' 'AXL_0.1 ACCELTRACE_0.1' "$(
	for library in libaxl libacceltrace; do
		objdump -p "build/lib/$library.so" | sed -n '/Version definitions/,/^$/p' | grep -o '[A-Z]*_[0-9.]*$'
	done | tr '\n' ' ' | sed 's/ $//'
)"

# All places must have the version number of libtrace/base/version.h.
{
	build/bin/acceltrace --version | grep -qx "acceltrace $version" || echo 'acceltrace'
	build/bin/acceltraced --version | grep -qx "acceltraced $version" || echo 'acceltraced'
	grep -q "^MODULE_VERSION(\"$version\");" kmod/axl_drv.c || echo 'kmod/axl_drv.c'
	grep -q "^__version__ = \"$version\"" scripts/python/acceltrace/__init__.py || echo '__init__.py'
	sed -n 2p scripts/debian/changelog | grep -q "^acceltrace ($version) " || echo 'scripts/debian/changelog'
	[ "$(grep -c "libacceltrace${version%.*}\b" scripts/debian/control)" = 3 ] || echo 'scripts/debian/control'
	[ -e "scripts/debian/libacceltrace${version%.*}.install" ] || echo 'scripts/debian/libacceltrace*.install'
	grep -q "^ACCELTRACE_${version%.*} {" libtrace/libacceltrace.map || echo 'libtrace/libacceltrace.map'
	for name in axl acceltrace; do [ "$(pkg-config --modversion $name)" = "$version" ] || echo "$name.pc"; done
} >"$scratch/differ"
check 'versions: the same in every place' '' "$(cat "$scratch/differ")"

make -s uninstall "DESTDIR=$scratch/root" PREFIX=/opt/axl >"$scratch/uninstall" 2>&1
check 'uninstall leaves nothing' '' "$(cat "$scratch/uninstall")$(find "$scratch/root" ! -type d)"
