#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Compares run states of threads with `perf sched timehist` of the same run: each period on a CPU
is in both, on the same CPU, with the same times.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from private_test import equal, path  # noqa: E402
from recording import tap  # noqa: E402
from sched_test import query, record  # noqa: E402

LINE = re.compile(r"\s*(\d+)\.(\d{6}) \[(\d+)\]\s+\S.*\[(\d+)(?:/\d+)?\]"
                  r"\s+(\d+\.\d{3})\s+(\d+\.\d{3})\s+(\d+\.\d{3})\s+([A-Z])\s*$")
# perf has microseconds.
ROUND_NS = 1_000
# Some hundred instructions, and perhaps an interrupt or a preemption by the hypervisor, separate
# the two times of one switch. The number of times that are not close is printed, but is no failure.
CLOSE_NS = 20_000
test = tap.Cases()


class Perf:
    """Runs `perf sched record` of the whole system, on the daemon's clock."""

    def __init__(self, name):
        self.file = path(name + ".perf")
        command = ["perf", "sched", "record", "-k", "CLOCK_MONOTONIC", "-m", "64M",
                   "-o", self.file, "--", "sleep", "240"]
        # pylint: disable=consider-using-with
        self.perf = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(600):  # what it runs is begun when it records
            children = f"/proc/{self.perf.pid}/task/{self.perf.pid}/children"
            if self.perf.poll() is not None:
                raise tap.Skip("perf sched records nothing here: " +
                               self.perf.stderr.read().decode().strip().splitlines()[-1])
            with open(children, encoding="utf-8") as file:
                pids = file.read().split()
            if pids and os.path.basename(os.readlink(f"/proc/{pids[0]}/exe")) == "sleep":
                return
            time.sleep(0.05)
        raise AssertionError("perf did not begin")

    def runs(self):
        """By thread: (end, CPU, wait, delay, run) of each period on a CPU, in ns."""
        self.perf.send_signal(signal.SIGINT)
        self.perf.communicate(timeout=120)
        stats = subprocess.run(["perf", "report", "--stats", "-i", self.file], text=True,
                               capture_output=True, check=False, timeout=240)
        if stats.returncode != 0 or re.search(r"LOST\w* events: +[1-9]", stats.stdout):
            raise tap.Skip("perf lost events of its own")
        done = subprocess.run(["perf", "sched", "timehist", "--state", "-i", self.file],
                              capture_output=True, text=True, check=False, timeout=240)
        assert done.returncode == 0, done.stderr
        threads = {}
        for line in done.stdout.splitlines():
            if match := LINE.match(line):
                seconds, micros, cpu, tid, *spans = match.groups()[:7]
                threads.setdefault(int(tid), []).append(
                    (int(seconds) * 10**9 + int(micros) * 1000, int(cpu),
                     *(round(float(span) * 10**6) for span in spans)))
        return threads


def ours(trace, tid):
    """The same from a trace: the time before a run is away, the last part of it ready."""
    rows = query(trace, f"""SELECT state, begin_ns, end_ns, cpu FROM thread_states
        WHERE tid = {tid} ORDER BY begin_ns""")
    runs, away, ready, slept = [], 0, 0, False
    for state, begin_ns, end_ns, cpu in rows:
        if state == "running":
            # perf only counts a delay after a wake-up.
            runs.append((end_ns, cpu, away, ready if slept else 0, end_ns - begin_ns))
            away, ready, slept = 0, 0, False
            continue
        away += end_ns - begin_ns
        slept = slept or state in ("sleeping", "blocked")
        ready = ready + end_ns - begin_ns if state == "runnable" else 0
    return runs


def matching(tid, runs, theirs):
    """Finds perf's row of each of our runs but the last one. perf notes a switch away after the
    thread ran and before it runs again, however long that takes, so one row is in between.
    """
    rows = iter(row for row in theirs if row[0] > runs[0][0] - runs[0][4] - ROUND_NS)
    for mine, after in zip(runs, runs[1:]):
        row = next(rows, None)
        assert row is not None, (tid, mine, "perf has no row")
        assert mine[0] - mine[4] - ROUND_NS < row[0] < after[0] - after[4] + ROUND_NS, (
            tid, mine, after, row)
        yield row


def compare(name, *argv):
    if shutil.which("perf") is None:
        raise tap.Skip("no perf: install linux-perf")
    perf = Perf(name)
    trace, lines, lost = record(name, *argv)
    theirs = perf.runs()
    if not theirs:
        raise tap.Skip("this perf prints its table in another way")
    equal(lost, 0)
    compared = far = 0
    for tid in sorted({int(line[2]) for line in lines if line[0] in ("thread", "mark")}):
        # The first one began before the recording or with the thread; the last one does not end
        # with a switch.
        runs = ours(trace, tid)[1:-1]
        assert len(runs) >= 4, (tid, runs)
        for mine, after, other in zip(runs, runs[1:], matching(tid, runs, theirs[tid])):
            equal((tid, mine[0], mine[1]), (tid, mine[0], other[1]))
            differ = max(abs(a - b) for a, b in zip((mine[0], *mine[2:]), (other[0], *other[2:])))
            far += differ > CLOSE_NS
            compared += 1
            assert after[0] > mine[0], (tid, mine, after)
    print(f"# {name}: {compared} times on a CPU compared, {far} more than "
          f"{CLOSE_NS // 1000} us apart")


@test
def one_thread_that_sleeps_faults_and_computes():
    compare("phases", "phases")


@test
def two_threads_that_wake_each_other():
    compare("pingpong", "pingpong", "2000")


@test
def two_threads_that_share_a_cpu():
    compare("share", "share", str(min(os.sched_getaffinity(0))))


if __name__ == "__main__":
    sys.exit(tap.run(test))
