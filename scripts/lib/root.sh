# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Fresh roots of Debian, to test that nothing undeclared is needed: sourced by scripts/clean-root
# and tests/package-roots. Needs root and a mirror: $MIRROR, or that of this machine's own apt.

# The codename of a release by its number.
root_suite() {
	case $1 in
	12) echo bookworm ;;
	13) echo trixie ;;
	*) return 1 ;;
	esac
}

# Lines "deb URI SUITE main" for a codename, from this machine's apt sources for any release.
root_sources() {
	if [ -n "${MIRROR:-}" ]; then
		echo "deb $MIRROR $1 main"
		return
	fi
	here=$(. /etc/os-release && echo "$VERSION_CODENAME")
	apt-get indextargets --format '$(ORIGIN)|$(COMPONENT)|$(REPO_URI)|$(RELEASE)' 'Created-By: Packages' \
		2>/dev/null | sed -n "s/^\(Debian\|\$(ORIGIN)\)|main|\(.*\)|$here\(-updates\|-security\)\{0,1\}\$/deb \2 $1\3 main/p" |
		sort -u
}

# root_make CODENAME FOLDER LOG: makes a minimal root that uses the mirror like this machine.
root_make() {
	if [ "$(id -u)" != 0 ]; then
		echo "clean-root: a fresh root of Debian takes root: sudo it" >&2
		return 1
	fi
	sources=$(root_sources "$1")
	mirror=$(echo "$sources" | sed -n "s/^deb \(.*\) $1 main\$/\1/p" | head -n 1)
	if [ -z "$mirror" ]; then
		echo "clean-root: apt's sources name no mirror of Debian: set MIRROR" >&2
		return 1
	fi
	# A tool of the caller, not of the root.
	command -v debootstrap >/dev/null || scripts/install-deps root >"$3" 2>&1 || {
		echo "clean-root: debootstrap is missing and cannot be installed: $(tail -n 1 "$3")" >&2
		return 1
	}
	rm -rf --one-file-system "$2"
	mkdir -p "$2"
	if ! debootstrap --variant=minbase "$1" "$2" "$mirror" >"$3" 2>&1; then
		echo "clean-root: debootstrap of $1 failed: $(tail -n 1 "$3")" >&2
		return 1
	fi
	rm -f "$2/etc/apt/sources.list"
	echo "$sources" >"$2/etc/apt/sources.list.d/mirror.list"
	apt-config dump | grep -E '^Acquire::(https?::(Proxy|CaInfo|Verify)|Check-|Retries)' >"$2/etc/apt/apt.conf.d/90mirror"
	echo 'Acquire::Languages "none";' >>"$2/etc/apt/apt.conf.d/90mirror"
	# The root is temporary, so it need not survive a power failure.
	echo force-unsafe-io >"$2/etc/dpkg/dpkg.cfg.d/unsafe-io"
	cp -L /etc/resolv.conf "$2/etc/resolv.conf" 2>/dev/null
	if [ -e /etc/ssl/certs/ca-certificates.crt ] && echo "$sources" | grep -q 'deb https:'; then
		mkdir -p "$2/etc/ssl/certs"
		cp -L /etc/ssl/certs/ca-certificates.crt "$2/etc/ssl/certs/"
	fi
	return 0
}

# root_enter FOLDER COMMAND...: runs it with that folder as the root of a new mount namespace. The
# folder becomes a mount point and the real root, since in a plain chroot neither `unshare --mount`
# nor a user namespace works. ROOT_BIND=FROM:TO makes a folder of this machine visible in it.
root_enter() {
	unshare --mount --propagation private sh -ec '
		root=$1
		shift
		mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		mount --rbind /sys "$root/sys"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs -o mode=755 tmpfs "$root/run"
		if [ -n "${ROOT_BIND:-}" ]; then
			mkdir -p "$root${ROOT_BIND#*:}"
			mount --bind "${ROOT_BIND%%:*}" "$root${ROOT_BIND#*:}"
		fi
		mkdir -p "$root/.old"
		cd "$root"
		pivot_root . .old
		cd /
		umount --lazy /.old
		rmdir /.old
		exec chroot / env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
			DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 ${http_proxy:+http_proxy="$http_proxy"} \
			${https_proxy:+https_proxy="$https_proxy"} "$@"' sh "$@"
}
