#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In the guest of tests/vm/driver-pcie.sh: what lspci and a corrected error show. TAP."""

import glob
import json
import os
import subprocess
import sys

DEVICE = os.path.realpath(glob.glob("/sys/bus/pci/drivers/axl/0*")[0])
NAME = os.path.basename(DEVICE)


def monitor_port():
    for name in glob.glob("/sys/class/virtio-ports/*/name"):
        with open(name, encoding="ascii") as file:
            if file.read() == "axl.qmp\n":
                return open(f"/dev/{name.split('/')[-2]}", "r+b", buffering=0)
    sys.exit("no monitor port")


def answer(port):
    """The next answer; the greeting and events come in between."""
    while True:
        line = b""
        while not line.endswith(b"\n"):
            line += port.read(1)
        reply = json.loads(line)
        if "return" in reply or "error" in reply:
            return reply


def ask(port, command, **arguments):
    port.write(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
    return answer(port)


def inject(port, error):
    line = f"pcie_aer_inject_error {error}"
    return ask(port, "human-monitor-command", **{"command-line": line}).get("return", "")


def hello():
    return subprocess.run(["build/bin/axl-hello"], capture_output=True).returncode == 0


def lspci():
    return subprocess.run(["lspci", "-vv", "-s", NAME], capture_output=True, text=True).stdout


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
    ask(port, "qmp_capabilities")
    inject(port, "-c axl0 1")
    # QEMU notes it in the device and sends no message upstream.
    checks.add("a corrected error is seen in the device", "RxErr+" in lspci())
    checks.add("and disturbs nobody", hello())
    print(f"1..{checks.count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
