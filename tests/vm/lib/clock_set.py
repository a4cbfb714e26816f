# SPDX-License-Identifier: Apache-2.0
"""In a guest with two devices and a monitor port: records a program that always has commands in
flight while the devices' clocks are set, back and ahead, by little and by much.

clock_set.py TRACE. Called by tests/vm/clock-set.sh.
"""
import os
import random
import subprocess
import sys
import time

REPO = os.environ["REPO"]
sys.dont_write_bytecode = True
sys.path[:0] = [f"{REPO}/tests/driver"]
import monitor  # noqa: E402

# Shorter than a command, than a job, than the time between two clock samples, and longer.
STEPS = [-300, -777, -5_000, -54_321, -800_000, -123_456_789, 300, 4_000, 70_000, 12_345_678]


def main():
    port = monitor.monitor_port()
    begun, over = "/tmp/begun", "/tmp/over"
    program = ("axl-transformer --devices 0 --layers 2 --prompt 4 --tokens 8 --no-check || exit; "
               f"touch {begun}")
    client = subprocess.Popen(["acceltrace", "record", "-q", "-o", sys.argv[1], "--", "sh", "-c",
                               f"while [ ! -e {over} ]; do {program}; done"],
                              stdout=subprocess.DEVNULL)
    while not os.path.exists(begun) and client.poll() is None:
        time.sleep(0.002)
    source = random.Random(3)
    steps = STEPS * 3
    source.shuffle(steps)
    for step in steps:
        time.sleep(source.uniform(0.001, 0.008))
        for device in (0, 1):
            reply = monitor.ask(port, "qom-set", path=f"/machine/peripheral/axl{device}",
                                property="fault-clock-step", value=step)
            assert "return" in reply, reply
    with open(over, "w", encoding="ascii"):
        pass
    port.close()
    return client.wait(300)


if __name__ == "__main__":
    sys.exit(main())
