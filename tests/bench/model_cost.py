#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of the device's model on the host: wall time of axl-transformer on a device with the
full model and its trace unit on (all classes, counters each ms, without a reader), divided by that
on one with the functional model and no trace. Both devices are in one guest and run in turn. Under
icount the guest's waiting takes no time, so this is the cost of emulation and not the modelled
time. Prints one JSON object on the last line. QUICK=1: fewer runs.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile

REPO = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PAIRS = 10 if os.environ.get("QUICK") == "1" else 30
WARM_UP = 2
# The times of created files show the host's clock, which the guest cannot read. The ring exists
# before and after the run, like a daemon's, so the time is that of the workload.
GUEST = """
cd "$1"
pair=0
while test $pair -lt $2; do
    "$REPO/build/test/axl-ring-run" off sh -c ': >$0.0; axl-transformer --device 1 && : >$0.1' \\
        off.$pair >/tmp/off || exit 1
    "$REPO/build/test/axl-ring-run" on sh -c ': >$0.0; axl-transformer --device 0 && : >$0.1' \\
        on.$pair >/tmp/on || exit 1
    pair=$((pair + 1))
done
cp /tmp/on on
"""


def took_ms(share, run):
    """The duration of a run."""
    begin, end = (os.stat(os.path.join(share, f"{run}.{i}")).st_mtime_ns for i in (0, 1))
    return (end - begin) / 1e6


def main():
    with tempfile.TemporaryDirectory() as share:
        pairs = WARM_UP + PAIRS
        done = subprocess.run(
            ["scripts/vm", "--icount", "--unsealed", "--skip-idle", "--timeout", "600",
             "--share", share,
             "--device", "axl", "--device", "axl,model=functional", "--",
             "sh", "-c", GUEST, "sh", share, str(pairs)],
            cwd=REPO, stdout=subprocess.DEVNULL, timeout=700, check=False)
        if done.returncode:
            print(f"model_cost: the guest ended with {done.returncode}", file=sys.stderr)
            return 1
        off, on = ([took_ms(share, f"{side}.{pair}") for pair in range(WARM_UP, pairs)]
                   for side in ("off", "on"))
        with open(os.path.join(share, "on"), encoding="utf-8") as out:
            words = out.read().split("records ")[-1].split()
    records = int(words[0])
    if records < 1000:
        print(f"model_cost: the trace unit made {records} records only", file=sys.stderr)
        return 1
    print(json.dumps({
        "ratio": statistics.median(a / b for a, b in zip(on, off)),
        "on_ms": statistics.median(on), "off_ms": statistics.median(off),
        "least_on_ms": min(on), "least_off_ms": min(off), "pairs": PAIRS, "records": records}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
