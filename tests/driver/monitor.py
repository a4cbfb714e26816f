# SPDX-License-Identifier: Apache-2.0
"""The emulator's monitor (QMP) from inside the guest that tests/driver/guest starts."""

import glob
import json
import sys


def monitor_port():
    """Opens the port to the monitor, ready for commands."""
    for name in glob.glob("/sys/class/virtio-ports/*/name"):
        with open(name, encoding="ascii") as file:
            if file.read() == "axl.qmp\n":
                port = open(f"/dev/{name.split('/')[-2]}", "r+b", buffering=0)
                ask(port, "qmp_capabilities")
                return port
    sys.exit("no monitor port")


def answer(port):
    """Returns the next answer; skips the greeting and events."""
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
