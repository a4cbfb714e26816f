#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest whose power is cut: records calls onto its disk and prints the time.
power_guest.py [SECONDS]: its kernel panics that long after the first of them.
"""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../daemon/testing"))
# pylint: disable=wrong-import-position
from recording import APP, Recording  # noqa: E402

FOLDER = "/tmp/disk"


def main():
    for module in ("virtio_blk", "ext4"):
        subprocess.run(["/sbin/modprobe", module], check=True)
    os.mkdir(FOLDER)
    while subprocess.run(["mount", "-t", "ext4", "/dev/vda", FOLDER], check=False).returncode:
        time.sleep(0.1)
    # pylint: disable=consider-using-with
    app = subprocess.Popen([APP, "1000000000", "pause-ms=1"], stdout=subprocess.DEVNULL)
    recording = Recording("--output", os.path.join(FOLDER, "trace"), "--no-device", "--libaxl", APP)
    assert recording.first == "ready", recording.first
    answer = recording.ask(f"pid {app.pid}")
    assert answer == "ok", answer
    if len(sys.argv) == 1:
        while True:
            print(time.monotonic_ns(), flush=True)
            time.sleep(0.002)
    # The last output may be lost with the kernel, so the end is announced in advance.
    end_ns = time.monotonic_ns() + int((0.3 + float(sys.argv[1])) * 1e9)
    print(end_ns, flush=True)
    while time.monotonic_ns() < end_ns:
        time.sleep(0.001)
    with open("/proc/sysrq-trigger", "w", encoding="ascii") as file:
        file.write("c")


if __name__ == "__main__":
    sys.exit(main())
