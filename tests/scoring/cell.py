# SPDX-License-Identifier: Apache-2.0
"""One cell of the clock matrix in the VM: record axl-pulse there, break the clock on the way,
score the trace against the truth logs.

A disturbance is (at_s, property, value): set on every device by QMP once the truth log shows that
much virtual time since the first doorbell.
"""

import contextlib
import json
import os
import re
import socket
import subprocess
import tempfile
import time

REPO = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
TIME = re.compile(rb'"(?:time|completion)_ns":(\d+)')


class Qmp:
    """Just enough of QEMU's monitor protocol to set properties."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rb")
        self.lines.readline()
        self.command("qmp_capabilities")

    def command(self, name, **arguments):
        request = {"execute": name, "arguments": arguments}
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        while True:
            answer = json.loads(self.lines.readline())
            if "error" in answer:
                raise RuntimeError(f"{name}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]


def virtual_times(path):
    """(first doorbell, newest time) in a truth log, ns; None before the first doorbell."""
    try:
        with open(path, "rb") as log:
            text = log.read()
    except FileNotFoundError:
        return None
    first = text.find(b'"t":"doorbell"')
    times = TIME.findall(text, first) if first >= 0 else []
    return (int(times[0]), int(times[-1])) if times else None


def disturb(process, folder, devices, disturbances):
    """Carries out the disturbances while the VM runs."""
    qmp = None
    log = os.path.join(folder, "truth0.jsonl")
    for at_s, name, value in disturbances:
        while process.poll() is None:
            seen = virtual_times(log)
            if seen and seen[1] - seen[0] >= at_s * 1e9:
                break
            time.sleep(0.05)
        if process.poll() is not None:
            raise RuntimeError("the VM ended before the clock was disturbed")
        qmp = qmp or Qmp(os.path.join(folder, "qmp"))
        for device in range(devices):
            qmp.command("qom-set", path=f"/machine/peripheral/axl{device}", property=name,
                        value=value)


def run(icount, seconds, rate, properties="", devices=1, disturbances=(), stop_daemon=None,
        load=0, timeout_s=600, keep=None):
    """Records and scores, in the folder `keep` or one that goes away. Returns lists of scores by
    device, as clock-score --json prints them: "ptm", "plain" (as if there were no
    cross-timestamps) and "untold" (as if the device had not told of changes, either).
    properties: of every device, or a list. load: processes that keep the host busy."""
    with contextlib.ExitStack() as stack:
        folder = keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="clock-cell-"))
        command = [f"{REPO}/scripts/vm", "--timeout", str(timeout_s), "--share", folder, "--qmp",
                   f"{folder}/qmp"]
        command += ["--icount"] if icount else ["--cpus", "2", "--tcg"]
        truths = [f"{folder}/truth{device}.jsonl" for device in range(devices)]
        for device, truth in enumerate(truths):
            own = properties if isinstance(properties, str) else properties[device]
            command += ["--device", ",".join(filter(None, [f"axl,truth={truth}", own]))]
        trace = f"{folder}/cell.atrace"
        command += ["--", "acceltrace", "record", "-o", trace, "--", f"{REPO}/build/test/axl-pulse",
                    str(seconds), str(rate), str(devices)]
        if stop_daemon:
            command += ["--stop-daemon", str(stop_daemon[0]), str(stop_daemon[1])]
        busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(load)]
        try:
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  text=True) as process:
                try:
                    disturb(process, folder, devices, disturbances)
                    _, errors = process.communicate(timeout=timeout_s + 60)
                except BaseException:
                    process.kill()
                    raise
        finally:
            for spinner in busy:
                spinner.kill()
                spinner.wait()
        if process.returncode != 0:
            raise RuntimeError(f"the VM ended with {process.returncode}: {errors.strip()[-500:]}")
        return {name: score(trace, truths, options) for name, options in
                (("ptm", []), ("plain", ["--no-ptm"]), ("untold", ["--no-ptm", "--untold"]))}


def score(trace, truths, options):
    done = subprocess.run([f"{REPO}/build/test/clock-score", "--json", *options, trace, *truths],
                          capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(f"clock-score: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]
