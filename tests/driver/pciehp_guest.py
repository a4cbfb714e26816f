#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Provokes a report of known-reports in a guest of the debug kernel without axl.ko. TAP.

power: a slot is switched off by sysfs. surprise: its device is removed. aer: the same after a bus
error and a rescan, the two other ways in which the kernel takes these locks.
"""

import glob
import os
import subprocess
import sys
import time

sys.path[:0] = ["tests/driver"]

from monitor import ask, inject, monitor_port  # noqa: E402


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def seen(words, limit_s=60):
    """Whether these words appear in the kernel's log."""
    for _ in range(limit_s * 5):
        log = subprocess.run(["dmesg"], capture_output=True, text=True, errors="replace").stdout
        if words in log:
            return True
        time.sleep(0.2)
    return False


def pull_out():
    ask(monitor_port(), "qom-set", path="/machine/peripheral/axl0", property="fault-removed",
        value=1)


def main(how):
    if os.path.exists("/sys/module/axl"):
        sys.exit("axl.ko is loaded")
    if how == "power":
        write(glob.glob("/sys/bus/pci/slots/1/power")[0], "0")
    if how == "aer":
        device = os.path.realpath(glob.glob("/sys/bus/pci/slots/1/address")[0])
        with open(device, encoding="ascii") as file:
            name = file.read().strip() + ".0"
        # Enable messages for fatal errors, as a driver would.
        subprocess.run(["setpci", "-s", name, "COMMAND=0006:0006"], check=True)
        subprocess.run(["setpci", "-s", name, "CAP_EXP+8.w=000f:000f"], check=True)
        port = monitor_port()
        inject(port, "axl0 0x40000 0 0 0 0")
        port.close()
        if not seen("AER: "):
            sys.exit("no bus error was handled")
        time.sleep(3)
        # A rescan takes the other locks if it finds something.
        write(f"/sys/bus/pci/devices/{name}/remove", "1")
        write("/sys/bus/pci/rescan", "1")
    if how in ("surprise", "aer"):
        pull_out()
    found = seen("circular locking")
    print("1..1")
    print(f"{'ok' if found else 'not ok'} 1 - pciehp: {how}: its lockdep report comes without "
          "axl.ko, too", flush=True)
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
