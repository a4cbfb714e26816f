#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks that the providers in documents are valid: the template of docs/bring-your-own.md and the
# example of the manual page. Only their devices may be missing here.
set -u
top=${REPO:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$top" || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. "$top/tests/harness/tap.sh"
plan 4
sed -n '/^```ini$/,/^```$/p' docs/bring-your-own.md | sed '1d;$d' >"$scratch/template.provider"
sed -n '/^\[provider\]$/,/^\.fi$/p' docs/man/acceltrace-provider.5 | sed '$d' >"$scratch/manual.provider"
for name in template manual; do
	build/bin/acceltrace providers --check "$scratch/$name.provider" >"$scratch/out" 2>"$scratch/err"
	sed 's/^/# /' "$scratch/out" "$scratch/err"
	check "$name: a provider, each line of it described" 1 "$(grep -c '^ *evidence' "$scratch/out")"
	check "$name: no mistake in it" '' "$(grep -E '\.provider:[0-9]+:|mistake' "$scratch/err")"
done
