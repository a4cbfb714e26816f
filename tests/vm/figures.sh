#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# The report's figures contain the truth, whatever the device's clock: coarse clocks with ticks
# longer than the measured intervals, clocks that wrap while recording, and an ordinary one. One
# recording of all of them at once, then one of each alone.
set -u
build=${BUILD:-build}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. tests/harness/tap.sh
plan 6
[ "${build#/}" != "$build" ] || build=$PWD/build

cat >"$scratch/record" <<END
#!/bin/sh -e
cd /dev/shm
acceltrace record -q -o all.atrace -- "$build/test/axl-pulse" 2 20 4
for d in 0 1 2 3; do
	acceltrace record -q -o "\$d.atrace" --device axl\$d -- "$build/bin/axl-transformer" \\
		--device \$d --layers 1 --tokens 3 --no-check
done
cp ./*.atrace "$scratch"
END
chmod +x "$scratch/record"
scripts/vm --icount --unsealed --timeout 500 --share "$scratch" \
	--device "axl,truth=$scratch/truth0.jsonl,clock-hz=1000000,clock-bits=24" \
	--device "axl,truth=$scratch/truth1.jsonl,clock-hz=24576000,clock-bits=32,clock-ppm=-80" \
	--device "axl,truth=$scratch/truth2.jsonl,clock-hz=312500000,clock-bits=32,clock-ppm=20" \
	--device "axl,truth=$scratch/truth3.jsonl,clock-bits=32,clock-ppm=37" -- \
	"$scratch/record" 2>"$scratch/vm.txt"
check 'the guest recorded' 0 $? || sed 's/^/# /' "$scratch/vm.txt"
for trace in all 0 1 2 3; do
	truths="$scratch/truth[0-3].jsonl"
	# shellcheck disable=SC2086
	"$build/test/report-score" "$scratch/$trace.atrace" $truths >"$scratch/score.txt" 2>&1
	check "every figure of $trace holds the truth" 0 $?
	sed 's/^/# /' "$scratch/score.txt"
done
