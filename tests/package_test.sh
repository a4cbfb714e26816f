#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# The Debian packages: lintian's findings, that they contain what `make install` installs, and that
# they are installed, upgraded and purged without a trace in a copy of this machine's root.
set -u
top=${REPO:-$(cd "$(dirname "$0")/.." && pwd)}
cd "$top" || exit 1
for tool in dpkg-buildpackage dh dh_dkms dh_python3 chrpath lintian; do
	command -v $tool >/dev/null || {
		echo "$tool is not installed: scripts/install-deps test"
		exit 77
	}
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset MAKEFLAGS MAKELEVEL
. "$top/tests/harness/tap.sh"
plan 14

make -s package >"$scratch/package" 2>&1
check 'package' 0 $?
sed 's/^/# /' "$scratch/package"
version=$(sed -n 's/.*kVersion\[\] = "\(.*\)";/\1/p' libtrace/base/version.h)
names='acceltrace acceltrace-demo acceltrace-dkms libacceltrace-dev libacceltrace0.1 libaxl-dev libaxl0
python3-acceltrace'
check 'these packages, of this version' '' "$(
	for name in $names; do
		ls build/package/"${name}_${version}"_*.deb >/dev/null 2>&1 || echo "no $name"
	done
)"
ls build/package/libaxl0-dbgsym_*.deb >/dev/null 2>&1
check 'symbols for debuggers are packages of their own' 0 $?
debugged=''
readelf -S build/bin/acceltrace | grep -q '\.debug_info' ||
	debugged='debug-file-with-no-debug-symbols' # built so, without -g
# shellcheck disable=SC2086
lintian --allow-root ${debugged:+--suppress-tags $debugged} build/package/*.changes >"$scratch/lintian" 2>&1
sed 's/^/# /' "$scratch/lintian"
check 'lintian: no error, no warning' 0 "$(grep -c '^[EW]:' "$scratch/lintian")"

# The same files as an installation, each in exactly one package.
scripts/lib/install "$scratch/root" /usr --package "lib/$(gcc -print-multiarch)" >"$scratch/install" 2>&1
(cd "$scratch/root" && find . ! -type d | sed 's/^..//' | sort) >"$scratch/installed"
for deb in build/package/*.deb; do
	case $deb in *-dbgsym_*) continue ;; esac
	dpkg-deb --fsys-tarfile "$deb" | tar -t | grep -v '/$' | sed 's/^..//'
done | sed 's/\(man.*\)\.gz$/\1/' | sort >"$scratch/packed"
check 'no file is in two packages' '' "$(uniq -d <"$scratch/packed")"
check 'every installed file is in one' '' "$(comm -23 "$scratch/installed" "$scratch/packed")"

# A copy of this machine's root in memory, which has the packages' dependencies, but no network.
cat >"$scratch/guest" <<'END'
# guest REPO VERSION: in the copy.
set -u
cd "$1/build" || exit 1
export DEBIAN_FRONTEND=noninteractive LC_ALL=C TMPDIR=/tmp
mount -t proc proc /proc 2>/dev/null
files() { find /etc /usr /var /opt /srv /home -xdev \( -path /var/log -o -path /var/cache -o -path /var/lib/dpkg \
	-o -path /var/lib/systemd -o -path '/var/lib/dkms/mok.*' -o -path '*/modules.*' -o -path "$1" \) -prune -o \
	! -type d -print | sort; }
debs() { ls "$1"/*.deb | grep -v dbgsym; }
files "$1" >/tmp/before
# The module is compiled only once, with the upgrade, since that takes long.
dpkg -i $(debs package | grep -v dkms) >/tmp/install.txt 2>&1
echo "install $?"
acceltrace --version
acceltraced --version
COLUMNS=100 LC_ALL=C.UTF-8 acceltrace report "$1/tests/golden/demo.atrace" 2>&1 | cmp -s - "$1/tests/golden/demo.answer.txt"
echo "report $?"
getent group acceltrace >/dev/null
echo "group $?"
for unit in /lib/systemd/system/acceltraced.service /usr/lib/systemd/system/acceltraced.service; do
	[ -e $unit ] && unit_found=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' $unit)
done
test -x "$unit_found"
echo "unit $?"
printf '#include <axl.h>\n#include <axl/uapi/axl.h>\nint main(void) { int n; return axlGetDeviceCount(&n) == axlSuccess; }\n' \
	>/tmp/user.c
cc -Wall -Werror -o /tmp/user /tmp/user.c $(pkg-config --cflags --libs axl) && ldd /tmp/user | grep -q 'libaxl\.so\.0'
echo "compile $?"
/usr/bin/python3 -c 'import acceltrace; assert acceltrace.__version__ == "'"$2"'", acceltrace.__version__'
echo "python $?"
dpkg -i $(debs package-next) >/tmp/upgrade.txt 2>&1
echo "upgrade $?"
find /lib/modules -name 'axl.ko*' -path '*dkms*' -exec cp {} /tmp/ \;
unxz -q /tmp/axl.ko.xz 2>/dev/null
readelf -S /tmp/axl.ko | grep -q '\.BTF' && modinfo -F version /tmp/axl.ko | grep -qx "$2"
echo "module $?"
dpkg-query -W -f '${Version}\n' acceltrace libaxl0 acceltrace-dkms
echo mine >/etc/acceltrace/providers.d/mine.provider
dpkg --purge $(debs package-next | sed 's|.*/||; s|_.*||') >/tmp/purge.txt 2>&1
echo "purge $?"
test -e /etc/acceltrace/providers.d/mine.provider
echo "own files stay $?"
rm -rf /etc/acceltrace
files "$1" >/tmp/after
# Except users and groups, and their backup files.
diff /tmp/before /tmp/after | grep '^[<>]' | grep -v ' /etc/\(passwd\|group\|gshadow\|shadow\)\|/tmp/\|/etc/ld.so.cache'
END
DEB_BUILD_OPTIONS=noautodbgsym DPKG_DEB_COMPRESSOR_TYPE=none PACKAGE_OUT=$top/build/package-next VERSION_SUFFIX=+1 \
	scripts/lib/package >"$scratch/next" 2>&1
check 'package of a later version' 0 $?
tests/harness/own-mounts sh -c '
	copy=$PLACE/root
	mkdir "$PLACE/up" "$PLACE/work" "$copy" &&
	mount -t overlay overlay -o "lowerdir=/,upperdir=$PLACE/up,workdir=$PLACE/work" "$copy" &&
	mount --rbind /dev "$copy/dev" && mount -t tmpfs none "$copy/tmp" && mount -t proc proc "$copy/proc" &&
	mkdir -p "$copy/$2" && mount --bind "$2" "$copy/$2" && cp "$1/guest" "$copy/tmp/" || exit 77
	chroot "$copy" sh /tmp/guest "$2" "$3"
	for said in install upgrade purge; do cp "$copy/tmp/$said.txt" "$1/"; done
' sh "$scratch" "$top" "$version" >"$scratch/said" 2>"$scratch/errors"
status=$?
if [ $status -eq 77 ]; then
	for name in install 'what is installed works' upgrade purge 'no trace' 'own files' quiet; do
		skip "$name" "no overlay of the root can be mounted here: $(cat "$scratch/said" "$scratch/errors" | tail -n 1)"
	done
	exit 0
fi
sed 's/^/# /' "$scratch/said" "$scratch/errors"
said() { grep -c "^$1\$" "$scratch/said"; }
check 'install' 1 "$(said 'install 0')"
check 'what is installed works' 8 \
	"$(grep -c "^acceltraced* $version\$\|^\(report\|group\|unit\|module\|compile\|python\) 0\$" "$scratch/said")"
check 'upgrade' 4 "$(grep -c "^upgrade 0\$\|^$version+1\$" "$scratch/said")"
check 'purge' 1 "$(said 'purge 0')"
check 'purge leaves own files' 1 "$(said 'own files stay 0')"
check 'purge leaves nothing else' '' "$(grep '^[<>]' "$scratch/said")"
grep -ih 'warning\|error' "$scratch/install.txt" "$scratch/upgrade.txt" "$scratch/purge.txt" |
	grep -v "/etc/acceltrace/providers.d' not empty" >"$scratch/complaints"
check 'dpkg has nothing to complain of' '' "$(cat "$scratch/complaints")"
