#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The Makefile's rules, on a tree of one program and a compiler that is as slow as the test wants: a
# change while it works, by hand or by a second make, must not leave anything stale.
set -u
top=${REPO:-$(cd "$(dirname "$0")/.." && pwd)}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
unset MAKEFLAGS MAKELEVEL JUMBO
. "$top/tests/harness/tap.sh"
plan 10

mkdir -p "$tree/scripts" "$tree/libtrace/proto" "$tree/libtrace/x"
cp "$top/Makefile" "$tree/"
cp "$top/scripts/targets.mk" "$tree/scripts/"
mkdir "$tree/scripts/lib"
cp "$top/scripts/lib/precompiled.h" "$tree/scripts/lib/"
cp "$top/libtrace/proto/"*.proto "$tree/libtrace/proto/"
mkdir "$tree/libtrace/base"
cp "$top/libtrace/base/version.h" "$tree/libtrace/base/"
cd "$tree" || exit 1
# These braces are make's.
# shellcheck disable=SC2016
echo '$(eval $(call program,$(BUILD)/bin/x,libtrace/x/x.cc,))
ALL += $(BUILD)/bin/x' >libtrace/x/build.mk
printf '#include <cstdio>\n#include "libtrace/x/x.h"\nint main() { puts(X); }\n' >libtrace/x/x.cc
say() { echo "#define X \"$1\"" >libtrace/x/x.h; }

# A compiler that waits between reading and writing the file that HOLD names.
cat >slow-c++ <<'END'
#!/bin/sh
for last; do :; done # the output: -o is the last option when it compiles
g++ "$@" || exit 1
case " $* " in *" -c "*)
	if [ -n "${HOLD:-}" ]; then
		cp "$last" "$HOLD.object"
		: >"$HOLD.waits"
		while [ ! -e "$HOLD" ]; do sleep 0.05; done
		cat "$HOLD.object" >"$last"
	fi ;;
esac
END
chmod +x slow-c++
build() { make CXX=./slow-c++ >>log 2>&1; }
# held NAME: starts make in the background and waits until its compiler has read the source.
held() {
	HOLD=$PWD/$1 build &
	tries=0
	while [ ! -e "$1.waits" ] && [ $((tries += 1)) -lt 1200 ]; do sleep 0.05; done
}

say one
build
check 'it builds' one "$(build/bin/x)"
build
check 'and has nothing to do then' "make: Nothing to be done for 'all'." "$(tail -n 1 log)"

say two
held edit
say three
: >edit
wait $!
build
check 'what changed while its object was made is made again' three "$(build/bin/x)"

# The slower of two makes ends last and has read the older source.
say four
held slower
slower=$!
say five
build
: >slower
wait $slower
build
check 'of two makes the one with the older source does not win' five "$(build/bin/x)"
: >log
echo '// A comment.' >>libtrace/proto/trace.proto
build
build
check 'a comment in the schema compiles nothing' 'PROTOC libtrace/proto/trace.proto' \
	"$(grep -v '^make' log | xargs)"

# With JUMBO, existing groups stay when a file is added, and the rest is not rebuilt.
cp "$top/scripts/lib/jumbo" scripts/lib/
echo 'int Other() { return 1; }' >libtrace/x/other.cc
sed -i 's|x/x.cc|& libtrace/x/other.cc|' libtrace/x/build.mk
make JUMBO=1 CXX=./slow-c++ >>log 2>&1
joined=$(grep -c '\.o ' build/jumbo/plan.mk)
check 'two files of one program are joined' '1 five' "$joined $(build/bin/x)"
touch libtrace/x/new.cc
make CXX=./slow-c++ >log 2>&1
check 'and stay so when another file comes' '1 JUMBO build/jumbo' \
	"$(grep -c '\.o ' build/jumbo/plan.mk) $(xargs -d '\n' <log | tr -s ' ' | sed 's/^ //')"
# A fuzzer's object of a joined source whose precompiled header does not exist yet.
mkdir -p build/jumbo/fuzz/libtrace/x
cp libtrace/x/x.cc build/jumbo/fuzz/libtrace/x/
check 'fuzzers are compiled by their own rule' 1 \
	"$(make -n CLANGXX=clang-of-fuzzers FUZZ_OPT=-O3 build/obj-jumbo/fuzz/libtrace/x/x.o | grep -c 'clang-of-fuzzers.* -c ')"
check 'nothing is left over' '' "$(find build -name '*.start' -o -name 'new.*' -o -name '*.o.*')"
for folder in 'a b' 'a:b'; do
	mkdir "$tree/$folder"
	(cd "$tree/$folder" && make -f "$tree/Makefile" help 2>&1)
done >log
check 'a folder that neither kernel nor QEMU could be built in is refused in a line' '2 2' \
	"$(wc -l <log) $(grep -c 'takes\? no folder with a space or a colon' log)"
