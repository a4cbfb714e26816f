#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In a guest with a device: kills the daemon at random moments of recordings of the transformer.
kills_guest.py FOLDER COUNT SEED leaves the traces and prints a line for each kill: its number and
time, whether the program was running, and the program's status.
"""

import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../daemon/testing"))
# pylint: disable=wrong-import-position
from recording import REPO, Recording  # noqa: E402

WORKLOAD = [os.path.join(REPO, "build", "bin", "axl-transformer"), "--no-check",
            "--tokens", "230", "--layers", "2", "--dim", "64", "--ffn", "128"]
# Runs longer than the latest kill.
PROGRAM = 'read x; for i in 1 2 3 4 5; do "$@" || exit 1; done'


def main():
    folder, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    for number in range(count):
        with subprocess.Popen(["sh", "-c", PROGRAM, "sh", *WORKLOAD],
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as app:
            recording = Recording("--output", os.path.join(folder, f"{number}.atrace"))
            assert recording.first == "ready", recording.first
            answer = recording.ask(f"pid {app.pid}")
            assert answer == "ok", answer
            app.stdin.write("x\n")
            app.stdin.close()
            time.sleep(0.3 + rng.random() * 2)
            killed_ns = time.monotonic_ns()
            recording.daemon.kill()
            running = app.poll() is None
            recording.daemon.communicate()
            # The traced program must continue unaffected.
            print(number, killed_ns, int(running), app.wait(), flush=True)


if __name__ == "__main__":
    main()
