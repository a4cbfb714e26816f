#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest of tests/vm/driver-pcie.sh: the output of lspci, and a corrected error. TAP."""

import glob
import os
import subprocess
import sys
import time

sys.path[:0] = ["tests/driver"]

from monitor import inject, monitor_port  # noqa: E402

DEVICE = os.path.realpath(glob.glob("/sys/bus/pci/drivers/axl/0*")[0])
NAME = os.path.basename(DEVICE)


def hello():
    return subprocess.run(["build/bin/axl-hello"], capture_output=True).returncode == 0


def lspci():
    return subprocess.run(["lspci", "-vv", "-s", NAME], capture_output=True, text=True).stdout


def counted():
    with open(f"{DEVICE}/aer_dev_correctable", encoding="ascii") as file:
        return "RxErr 1" in file.read()


def corrected_error_seen(limit_s=60):
    """QEMU 7.2 notes it in the device and sends no message upstream; with later versions Linux
    receives it, counts it and clears it there.
    """
    for _ in range(limit_s * 5):
        if "RxErr+" in lspci() or counted():
            return True
        time.sleep(0.2)
    return False


class Checks:
    count = 0

    def add(self, name, ok):
        self.count += 1
        print(f"{'ok' if ok else 'not ok'} {self.count} - {name}", flush=True)


def main():
    checks = Checks()
    shown = lspci()
    checks.add("lspci shows error reporting", "Advanced Error Reporting" in shown)
    checks.add("lspci shows function-level reset", "FLReset+" in shown)
    port = monitor_port()
    inject(port, "-c axl0 1")
    checks.add("a corrected error is seen", corrected_error_seen())
    checks.add("and disturbs nobody", hello())
    print(f"1..{checks.count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
