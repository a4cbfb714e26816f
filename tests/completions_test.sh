#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Completions of bash and zsh: the shells offer every verb and option in --help. Manual pages format
# without a warning.
set -u
top=${REPO:-$(cd "$(dirname "$0")/.." && pwd)}
cd "$top" || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. "$top/tests/harness/tap.sh"
plan 11
scripts/lib/completions "$scratch" >"$scratch/said" 2>&1
check 'completions are made' 0 "$?"
sed 's/^/# /' "$scratch/said"

# Parses the help text in another way than scripts/lib/completions.
verbs=$(build/bin/acceltrace --help | sed '1,/^Subcommands:/d' | grep -o '^  [a-z][a-z-]*' | tr -d ' ')
options() { "$@" --help | grep -oE '(^ *|,|\[| |\()--?[a-z][a-z-]*' | grep -oE -- '--[a-z][a-z-]*' | sort -u; }
# Options that the help text mentions but that are not options of that verb.
options_of() {
	build/bin/acceltrace "$1" --help | grep -oE '^  (-[a-z],)?--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | sort -u
}

cat >"$scratch/offer.bash" <<'END'
# offer WORD...: the completions that bash offers for the last word.
source "$1/bash"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
compopt() { :; }
_acceltrace
printf '%s\n' "${COMPREPLY[@]}"
END
offer() { bash "$scratch/offer.bash" "$scratch" "$@"; }
check 'bash: verbs' '' "$(
	offer acceltrace '' >"$scratch/offered"
	for verb in $verbs; do grep -qx -- "$verb" "$scratch/offered" || echo "$verb"; done
)"
check 'bash: options of each verb' '' "$(
	for verb in $verbs; do
		offer acceltrace "$verb" - >"$scratch/offered"
		for option in $(options_of "$verb"); do
			grep -qx -- "$option" "$scratch/offered" || echo "$verb $option"
		done
	done
)"
check 'bash: options of acceltraced' '' "$(
	offer acceltraced - >"$scratch/offered"
	for option in $(options build/bin/acceltraced); do
		grep -qx -- "$option" "$scratch/offered" || echo "$option"
	done
)"
check 'bash: of a beginning' report "$(offer acceltrace rep)"
check 'bash: values' 'perfetto' "$(offer acceltrace export run.atrace --format p)"
check 'bash: values after =' 'time' "$(offer acceltrace report --sort = t)"
cd "$scratch" && touch run.atrace && cd "$top" || exit 1
check 'bash: files' "$scratch/run.atrace" "$(offer acceltrace report "$scratch/ru")"

if command -v zsh >/dev/null; then
	# The functions that zsh calls are replaced by one that prints its arguments.
	cat >"$scratch/offer.zsh" <<'END'
emulate -L zsh
_arguments() { print -rl -- "$@"; state=${STATE:-verb}; return 1 }
_describe() { print -rl -- $verbs }
service=$2 words=("${@:3}")
source $1/zsh
END
	check 'zsh: verbs and options of each' '' "$(
		STATE=verb zsh "$scratch/offer.zsh" "$scratch" acceltrace >"$scratch/offered"
		for verb in $verbs; do
			grep -q "^$verb:" "$scratch/offered" || echo "$verb"
			STATE=arguments zsh "$scratch/offer.zsh" "$scratch" acceltrace "$verb" >"$scratch/of"
			for option in $(options_of "$verb"); do
				grep -q -- "^\*$option\[" "$scratch/of" || echo "$verb $option"
			done
		done
		zsh "$scratch/offer.zsh" "$scratch" acceltraced >"$scratch/of"
		for option in $(options build/bin/acceltraced); do
			grep -q -- "^\*$option\[" "$scratch/of" || echo "acceltraced $option"
		done
	)"
else
	skip 'zsh: verbs and options of each' 'zsh is not installed'
fi

# Programs, file formats, the device node, libraries.
check 'each program has a manual page' '' "$(
	for file in build/bin/*; do ls docs/man/"${file##*/}".[18] >/dev/null 2>&1 || echo "${file##*/}"; done
)"
if command -v man >/dev/null; then
	mkdir "$scratch/man1"
	cp docs/man/*.1 "$scratch/man1/"
	check 'manual pages are laid out' '' "$(
		for page in docs/man/*.[1-8]; do
			file=$top/$page
			(cd "$scratch" && MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z "$file" 2>&1 >/dev/null) |
				sed "s|^|$page: |"
		done
	)"
else
	skip 'manual pages are laid out' 'man-db is not installed'
fi
