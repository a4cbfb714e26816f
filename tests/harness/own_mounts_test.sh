#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# own-mounts: mounts in it are not visible outside, in a root that is a mount point and in a plain
# chroot below a mount that all namespaces share.
set -u
top=${REPO:-$(cd "$(dirname "$0")/../.." && pwd)}
own=$top/tests/harness/own-mounts
. "$top/tests/harness/tap.sh"
reason=$("$own" true) || {
	echo "1..0 # SKIP $reason"
	exit 0
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
plan 5
cat >"$scratch/inside" <<'END'
touch "$PLACE/written" && mkdir "$PLACE/a" && mount -t tmpfs inner-of-own-mounts "$PLACE/a" &&
	grep -c inner-of-own-mounts /proc/self/mountinfo
END
mounts() { grep -c inner-of-own-mounts /proc/self/mountinfo; }
check 'something is mounted' 1 "$("$own" sh "$scratch/inside")"
check 'nobody else sees it' 0 "$(mounts)"
"$own" sh -c 'exit 7'
check 'the status is the command'\''s' 7 $?

# A root in an outer namespace, made of programs and the folders that are mounted in every chroot.
cat >"$scratch/outer" <<'END'
root=$PLACE/shared/root
mkdir -p "$PLACE/shared" && mount -t tmpfs none "$PLACE/shared" && mount --make-shared "$PLACE/shared" || exit
mkdir -p "$root/usr" "$root/proc" "$root/dev" "$root/sys" "$root/etc" "$root/tmp" || exit
for name in bin sbin lib lib64 lib32; do
	if [ -L /$name ]; then
		cp -P /$name "$root"
	elif [ -e /$name ]; then
		mkdir "$root/$name" && mount --bind /$name "$root/$name" || exit
	fi
done
mount --bind /usr "$root/usr" && mount --bind /dev "$root/dev" && mount -t proc proc "$root/proc" &&
	mount -t sysfs sys "$root/sys" && mount --make-shared "$root/sys" && cp "$1/inside" "$2" "$root/tmp" || exit
cp /etc/ld.so.* "$root/etc"
cp -r /etc/alternatives "$root/etc"
chroot "$root" unshare --mount true 2>/dev/null && echo 'this is no plain chroot'
chroot "$root" /tmp/own-mounts sh /tmp/inside
grep -c inner-of-own-mounts /proc/self/mountinfo
END
check 'in a plain chroot, too' '1 0' "$("$own" sh "$scratch/outer" "$scratch" "$own" 2>&1 | paste -sd' ')"
check 'whatever it did' 0 "$(mounts)"
