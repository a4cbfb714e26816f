# SPDX-License-Identifier: Apache-2.0
"""Cells of the clock matrix in the VM: axl-pulse is recorded repeatedly in one boot, with other
clocks each time, and each trace is scored against the devices' truth logs.

    with cell.Machine(icount=True, devices=["clock-bits=32", ""]) as machine:
        machine.set(0, "clock-ppm", 20)
        scores = machine.record(seconds=5, rate=100, devices=2,
                                disturbances=[(2, 0, "clock-ppm", 30)])

A disturbance is (at_s, device, property, value): it is set by QMP once the truth log shows that
much virtual time since the recording's first doorbell.
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
START_S = 120  # a boot takes this long at most, on a very busy host


class Qmp:
    """The part of QEMU's monitor protocol needed to set properties."""

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


class TruthTail:
    """The progress of virtual time in a truth log since this object was made."""

    def __init__(self, path):
        self.path = path
        self.at = os.path.getsize(path)
        self.first = None
        self.newest = None

    def elapsed_s(self):
        """Time since the first doorbell; None before it."""
        with open(self.path, "rb") as log:
            log.seek(self.at)
            text = log.read()
        # Complete lines only: the device may be writing one.
        text = text[:text.rfind(b"\n") + 1]
        if self.first is None:
            begin = text.find(b'"t":"doorbell"')
            if begin < 0:
                return None
            self.first = int(TIME.search(text, begin).group(1))
        self.at += len(text)
        times = TIME.findall(text)
        self.newest = int(times[-1]) if times else self.newest
        return ((self.newest or self.first) - self.first) * 1e-9


class Machine:
    """A guest that records on request. devices: the properties of each."""

    def __init__(self, icount, devices, keep=None, timeout_s=3600):
        self.stack = contextlib.ExitStack()
        self.folder = keep or self.stack.enter_context(
            tempfile.TemporaryDirectory(prefix="clock-cell-"))
        self.recorded = 0
        # Several TCG threads make the guest's cycle counter jump; docs/clocks.md, limits.
        command = [f"{REPO}/scripts/vm", "--timeout", str(timeout_s), "--share", self.folder,
                   "--qmp", f"{self.folder}/qmp"]
        command += (["--icount", "--unsealed", "--skip-idle"] if icount else
                    ["--cpus", "2", "--tcg", "--tcg-one-thread"])
        self.truths = [f"{self.folder}/truth{device}.jsonl" for device in range(len(devices))]
        for truth, own in zip(self.truths, devices):
            command += ["--device", ",".join(filter(None, [f"axl,truth={truth}", own]))]
        command += ["--", f"{REPO}/tests/scoring/record-cells", self.folder]
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True)
        self.qmp = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self._go("end", "")
            try:
                self.process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                pass
        if self.process.poll() is None:
            self.process.terminate()
            self.process.communicate()
        self.stack.close()

    def set(self, device, name, value):
        if self.qmp is None:
            self._wait_for(lambda: os.path.exists(f"{self.folder}/qmp"), START_S)
            self.qmp = Qmp(f"{self.folder}/qmp")
        self.qmp.command("qom-set", path=f"/machine/peripheral/axl{device}", property=name,
                         value=value)

    def record(self, seconds, rate, devices, disturbances=(), pulse=(), load=0, timeout_s=300):
        """Records axl-pulse on the first `devices` devices. pulse: further arguments for it. load:
        processes that keep the host busy meanwhile. Returns lists of scores by device, as
        clock-score --json prints them: "ptm", "plain" (as without cross-timestamps) and
        "unannounced" (as if the device had also announced no changes); and "figures", the result of
        report-score.
        """
        number = self.recorded
        self.recorded += 1
        self._wait_for(lambda: os.path.exists(self.truths[0]), START_S)
        tail = TruthTail(self.truths[0])
        options = ",".join(f"--device,axl{device}" for device in range(devices))
        command = [f"{REPO}/build/test/axl-pulse", seconds, rate, devices, *pulse]
        self._go(options, " ".join(map(str, command)))
        deadline_s = START_S + timeout_s
        with contextlib.ExitStack() as busy:
            for _ in range(load):
                spinner = busy.enter_context(subprocess.Popen(["sh", "-c", "while :; do :; done"]))
                busy.callback(spinner.kill)
            for at_s, device, name, value in disturbances:
                self._wait_for(lambda: (tail.elapsed_s() or 0) >= at_s, deadline_s, number)
                self.set(device, name, value)
            self._wait_for(lambda: os.path.exists(f"{self.folder}/done-{number}"), deadline_s)
        with open(f"{self.folder}/done-{number}", encoding="ascii") as status:
            if status.read().strip() != "0":
                with open(f"{self.folder}/out-{number}", encoding="utf-8") as out:
                    raise RuntimeError(f"the recording failed: {out.read().strip()[-500:]}")
        trace = f"{self.folder}/cell-{number}.atrace"
        scores = {name: score(trace, self.truths[:devices], options) for name, options in
                  (("ptm", []), ("plain", ["--no-ptm"]),
                   ("unannounced", ["--no-ptm", "--unannounced"]))}
        scores["figures"] = score_figures(trace, self.truths[:devices])
        return scores

    def run(self, command, devices, timeout_s=600):
        """Records a command of the build on these devices; returns the result of report-score."""
        number = self.recorded
        self.recorded += 1
        self._wait_for(lambda: os.path.exists(self.truths[0]), START_S)
        program = next(path for path in (f"{REPO}/build/{folder}/{command[0]}"
                                         for folder in ("bin", "test")) if os.path.exists(path))
        self._go(",".join(f"--device,axl{device}" for device in devices),
                 " ".join(map(str, [program, *command[1:]])))
        self._wait_for(lambda: os.path.exists(f"{self.folder}/done-{number}"), timeout_s)
        with open(f"{self.folder}/done-{number}", encoding="ascii") as status:
            if status.read().strip() != "0":
                with open(f"{self.folder}/out-{number}", encoding="utf-8") as out:
                    raise RuntimeError(f"the recording failed: {out.read().strip()[-500:]}")
        return score_figures(f"{self.folder}/cell-{number}.atrace", self.truths)

    def _go(self, options, command):
        path = f"{self.folder}/go-{self.recorded - (options != 'end')}"
        with open(f"{self.folder}/go", "w", encoding="ascii") as out:
            out.write(f"{options} {command}\n")
        os.rename(f"{self.folder}/go", path)

    def _wait_for(self, condition, timeout_s, number=None):
        deadline = time.monotonic() + timeout_s
        while not condition():
            if self.process.poll() is not None:
                raise RuntimeError(f"the VM ended: {self.process.stderr.read().strip()[-500:]}")
            if number is not None and os.path.exists(f"{self.folder}/done-{number}"):
                raise RuntimeError("the recording ended before the clock was disturbed")
            if time.monotonic() > deadline:
                raise RuntimeError(f"nothing happened for {timeout_s} s")
            time.sleep(0.02)


def score(trace, truths, options):
    done = subprocess.run([f"{REPO}/build/test/clock-score", "--json", *options, trace, *truths],
                          capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(f"clock-score: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def score_figures(trace, truths):
    done = subprocess.run([f"{REPO}/build/test/report-score", "--json", trace, *truths],
                          capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(f"report-score: {done.stderr.strip()}")
    return json.loads(done.stdout)
