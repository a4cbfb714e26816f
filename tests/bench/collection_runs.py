# SPDX-License-Identifier: Apache-2.0
"""Runs of programs in one guest, recorded and not, with their times in the device's truth log."""

import bisect
import json
import os
import re
import shutil
import subprocess
import tempfile

import bench

BIN = f"{bench.REPO}/build/bin"
PLAIN, FULL, LOW = "plain", "full", "low"
PERIOD_MS = 100


class Run:
    """One run of a program."""

    def __init__(self, ident, name, mode, phase_ms, command, period_ms=PERIOD_MS):
        self.ident, self.name, self.mode, self.phase_ms = ident, name, mode, phase_ms
        self.command, self.period_ms = command, period_ms
        self.regions = []  # [{"region_ns", "begin_tsc", "end_tsc"}...] as the program printed them
        self.device_ns = 0  # truth log: first doorbell to last completion of the last region
        self.overlap_ns = 0  # truth log: copies and computing at once
        self.commands = 0
        self.report = None
        self.error = ""

    @property
    def region_ns(self):
        return self.regions[-1]["region_ns"]

    def how(self, options):
        # Everything on is the default of `acceltrace record`.
        return {PLAIN: "plain", FULL: options.get(FULL, "--counter-period 1ms"),
                LOW: "--overhead low"}.get(self.mode, self.mode)

    def line(self, options):
        start = ""
        if self.phase_ms is not None:
            start = f"{self.period_ms * 1000000}:{self.phase_ms * 1000000}"
        return f"{self.ident}|{self.how(options)}|{start}|{self.command}"


def union(spans):
    """Sorted, disjoint spans that cover the same time."""
    result = []
    for begin, end in sorted(spans):
        if result and begin <= result[-1][1]:
            result[-1][1] = max(result[-1][1], end)
        else:
            result.append([begin, end])
    return result


def common(first, second):
    """The total time in which both lists of disjoint spans overlap."""
    total = i = j = 0
    while i < len(first) and j < len(second):
        total += max(0, min(first[i][1], second[j][1]) - max(first[i][0], second[j][0]))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return total


DOORBELL = re.compile(r'"tsc":(\d+)')
COMPLETION = re.compile(r'"completion_tsc":(\d+)')
COMMAND = re.compile(r'"engine":"(\w+)".*"start_tsc":(\d+),"end_tsc":(\d+)')


def read_truth(path, runs):
    """Fills in device_ns, overlap_ns and commands of each run's last region."""
    runs = sorted((run for run in runs if run.regions), key=lambda r: r.regions[-1]["begin_tsc"])
    begins = [run.regions[-1]["begin_tsc"] for run in runs]
    ends = [run.regions[-1]["end_tsc"] for run in runs]
    first, last = [None] * len(runs), [0] * len(runs)
    spans = [([], []) for _ in runs]

    def index(tsc):
        found = bisect.bisect_right(begins, tsc) - 1
        return found if found >= 0 and tsc <= ends[found] else None

    with open(path, encoding="utf-8") as log:
        for line in log:
            if line.startswith('{"t":"cmd"'):
                engine, start, end = COMMAND.search(line).groups()
                found = index(int(start))
                if found is not None:
                    runs[found].commands += 1
                    spans[found][engine in ("matrix", "vector")].append((int(start), int(end)))
            elif line.startswith('{"t":"doorbell"'):
                tsc = int(DOORBELL.search(line).group(1))
                found = index(tsc)
                if found is not None and first[found] is None:
                    first[found] = tsc
            elif line.startswith('{"t":"job"'):
                tsc = int(COMPLETION.search(line).group(1))
                found = index(tsc)
                if found is not None:
                    last[found] = tsc
    for number, run in enumerate(runs):
        if first[number] is not None:
            run.device_ns = last[number] - first[number]
        run.overlap_ns = common(*(union(side) for side in spans[number]))


def report_of(trace):
    done = subprocess.run([f"{BIN}/acceltrace", "report", trace, "--json"], capture_output=True,
                          text=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return None


def read_run(folder, run):
    """Reads the files that a run has written."""
    def text(suffix):
        path = f"{folder}/{run.ident}.{suffix}"
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    if text("status").strip() != "0":
        status = text("status").strip() or "unknown"
        run.error = f"exit status {status}: {text('err').strip()[-300:]}"
        return
    try:
        if run.command.startswith("axl-transformer"):
            run.regions = json.loads(text("out"))["runs"][:1]
        else:
            run.regions = [json.loads(line) for line in text("out").splitlines()]
        assert run.regions[-1]["region_ns"] > 0
    except (ValueError, KeyError, IndexError, AssertionError) as error:
        run.error = f"no figures in its output ({error!r})"
        return
    trace = f"{folder}/{run.ident}.atrace"
    if os.path.exists(trace):
        run.report = report_of(trace)
        if run.report is None:
            run.error = "no report of its recording"


def run_guest(runs, options=None, vm=("--icount",), keep=None, timeout_s=1800):
    """Runs them in sequence in one sealed guest. keep: a folder for the traces."""
    folder = tempfile.mkdtemp(prefix="collection-")
    try:
        out = f"{folder}/out"
        os.mkdir(out)
        with open(f"{folder}/plan", "w", encoding="ascii") as plan:
            plan.writelines(f"{run.line(options or {})}\n" for run in runs)
        guest = f"{bench.REPO}/tests/bench/collection_guest.sh"
        files = [guest, f"{folder}/plan", *(f"{BIN}/{name}" for name in (
            "acceltrace", "acceltraced", "axl-transformer", "axl-observed"))]
        words = [f"{bench.REPO}/scripts/vm", "--sealed", *vm, "--timeout", str(timeout_s),
                 "--share", out, "--device", f"axl,truth={folder}/truth.jsonl"]
        for file in files:
            words += ["--file", file]
        done = subprocess.run([*words, "--", "sh", guest, f"{folder}/plan", out], check=False,
                              cwd=bench.REPO, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"the guest failed ({done.returncode}): {done.stderr[-2000:]}")
        for run in runs:
            read_run(out, run)
        read_truth(f"{folder}/truth.jsonl", runs)
        if keep:
            os.makedirs(keep, exist_ok=True)
            for name in os.listdir(out):
                shutil.copy(f"{out}/{name}", keep)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return runs
