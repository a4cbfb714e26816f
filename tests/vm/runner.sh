#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# scripts/vm itself: a guest that fails must never look like one that passed.
set -u
vm='scripts/vm --no-device --no-module --timeout 120'
. tests/harness/tap.sh
plan 17


scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# One boot checks everything that a good run must show. Under --icount shared folders are copied,
# there and back.
echo here >"$scratch/gone"
echo here >"$scratch/stays"
$vm --icount --share "$scratch" -- sh -c '
	echo "words: $#: $1"; echo error >&2; pwd; echo more >/dev/stdout
	mkdir "$2/new" && mv "$2/gone" "$2/new/there"
	echo kept >"$2/file"; sleep 1000 & exit 7' sh 'two  words $HOME' "$scratch" \
	>"$scratch/out" 2>"$scratch/err"
check 'the status is the command'\''s' 7 $?
check 'arguments, working directory and output come through' \
	"words: 2: two  words \$HOME|$(pwd)|more|" "$(tr '\n' '|' <"$scratch/out")"
check 'stderr is kept apart' error "$(grep -v '^vm: guest: COMMAND waited' "$scratch/err")"
check 'what was renamed there is so here' 'here|here|' \
	"$(cat "$scratch/stays" "$scratch/new/there" | tr '\n' '|')"
check 'and nothing else is left of it' 1 "$([ ! -e "$scratch/gone" ] && echo 1)"
check 'a shared folder keeps what the guest wrote' kept "$(cat "$scratch/file")"

$vm -- poweroff -f 2>"$scratch/err"
check 'a guest that never answers is a failure' 125 $?

$vm -- sh -c 'echo c >/proc/sysrq-trigger; sleep 60' 2>"$scratch/err"
check 'a panic is a failure' 125 $?
check 'a panic is shown' 1 "$(grep -c 'Kernel panic' "$scratch/err")"

$vm -- sh -c 'echo "WARNING: CPU: 0 PID: 1 at nowhere" >/dev/kmsg' 2>"$scratch/err"
check 'a warning of the kernel fails a command that passed' 1 $?

$vm --timeout 10 -- sleep 1000 2>"$scratch/err"
check 'a guest that hangs is ended' 124 $?

# A sealed guest: the same contract, and the host is unreachable while the command runs.
rm -f "$scratch"/*
echo here >"$scratch/host-only"
$vm --sealed --icount --share "$scratch" --file scripts/lib/demo-guest -- sh -c '
	echo "words: $#: $1"; echo error >&2; pwd; ls "$2"; grep -c 9p /proc/mounts
	cp scripts/lib/demo-guest "$2/kept"; exit 7' sh 'two  words $HOME' "$scratch" \
	>"$scratch/out" 2>"$scratch/err"
check 'sealed: the status is the command'\''s' 7 $?
check 'sealed: nothing of the host is there' "words: 2: two  words \$HOME|$(pwd)|0|" \
	"$(tr '\n' '|' <"$scratch/out")"
check 'sealed: stderr is kept apart' error "$(cat "$scratch/err")"
cmp -s scripts/lib/demo-guest "$scratch/kept"
check 'sealed: a named file is there, a shared folder is copied out' 0 $?
check 'sealed: what the host had there stays' here "$(cat "$scratch/host-only")"
$vm --sealed -- sh -c 'echo "WARNING: CPU: 0 PID: 1 at nowhere" >/dev/kmsg' 2>"$scratch/err"
check 'sealed: a warning of the kernel fails a command that passed' 1 $?
