# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# For scripts that speak TAP: `. tests/harness/tap.sh`, then plan once and a check for each case.
tap_count=0

plan() { echo "1..$1"; }

check() { # NAME EXPECTED GOT
	tap_count=$((tap_count + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $tap_count - $1"
	else
		echo "not ok $tap_count - $1"
		printf '# expected: %s\n# got: %s\n' "$2" "$3" | head -n 60
	fi
}

skip() { # NAME REASON
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}
