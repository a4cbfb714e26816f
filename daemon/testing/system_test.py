#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Compares interrupts and the host's counters with the kernel's counts just inside of the recording
and just outside; control groups; messages about unavailable sources.
"""

import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from private_test import equal, path, run  # noqa: E402
from recording import DAEMON, Recording, summary, tap  # noqa: E402
from sched_test import APP, query  # noqa: E402

SOFTIRQS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
            "RCU")
# Some kernels (6.18) omit tracepoints of whole interrupts, up to one in a hundred. Kernels that do
# not (6.1) must have all of them.
SEEN_AT_LEAST = 1 if os.environ.get("EXACT_INTERRUPTS") else 0.5
test = tap.Cases()


def read(name):
    try:
        with open(name, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def interrupts():
    """Counts {(kind, number): count} from /proc, all CPUs."""
    counts = {}
    for line in read("/proc/softirqs").splitlines()[1:]:
        name, *each = line.split()
        counts["soft", SOFTIRQS.index(name.rstrip(":"))] = sum(map(int, each))
    cpus = len(read("/proc/interrupts").splitlines()[0].split())
    for line in read("/proc/interrupts").splitlines()[1:]:
        if match := re.match(r"\s*(\d+):", line):
            # Shared interrupts run several handlers, one for each entry.
            if "," not in line:
                counts["hard", int(match[1])] = sum(map(int, line.split()[1:1 + cpus]))
    return counts


def counters():
    """Totals {(source, object, name): total} from /proc."""
    totals = {}
    for line in read("/proc/vmstat").splitlines():
        name, value = line.split()
        totals["memory", "", name] = int(value)
    for name in ("cpu", "memory", "io", "irq"):
        for line in read(f"/proc/pressure/{name}").splitlines():
            totals["pressure", name, line.split()[0] + " waited"] = int(line.split("total=")[1])
    for line in read("/proc/stat").splitlines():
        if line.startswith("ctxt"):
            totals["cpu", "", "context switches"] = int(line.split()[1])
    for line in read("/proc/net/dev").splitlines()[2:]:
        name, *values = line.replace(":", " ").split()
        totals["net", name, "received"] = int(values[0])
        totals["net", name, "sent"] = int(values[8])
    for line in read("/proc/diskstats").splitlines():
        name, *values = line.split()[2:]
        totals["block", name, "reads"] = int(values[0])
        totals["block", name, "written"] = int(values[6]) * 512
    return totals


def between(got, inner, outer, allow_absent=(), seen_at_least=1):
    """Each count is between those taken just inside and just outside of the recording.
    seen_at_least is the minimum fraction of the kernel's count that its tracepoints must report.
    """
    checked = 0
    for key, value in got.items():
        if key not in outer[0] or key not in outer[1]:
            continue
        low = inner[1].get(key, 0) - inner[0].get(key, 0)
        high = outer[1][key] - outer[0][key]
        assert seen_at_least * low <= value + (seen_at_least < 1) and value <= high, \
            (key, low, value, high)
        checked += value > 0
    for key in inner[1]:
        if key not in got and key not in allow_absent:
            low = inner[1][key] - inner[0].get(key, 0)
            assert seen_at_least * low <= (seen_at_least < 1), (key, low)
    return checked


def recorded(name, sources, snapshot):
    """Returns (trace, snapshots just inside, just outside) of a recording with some activity."""
    trace = path(name)
    before = snapshot()
    recording = Recording("--output", trace, "--no-device", "--sources", sources)
    equal(recording.first, "ready")
    inside = snapshot()
    text, status = recording.run(APP, "phases")
    equal((status, "mark computed" in text), (0, True))
    with open(trace + ".data", "wb") as file:
        file.write(bytes(1 << 20))
        os.fsync(file.fileno())
    time.sleep(1.2)
    recording.drain()  # a sample in between
    inside_end = snapshot()
    done, status, stderr = recording.stop()
    after = snapshot()
    equal((status, done["error"], done["lost"], done["bad"]), (0, "", 0, 0))
    for hop_name, hop in summary(trace)["hops"].items():
        equal((hop_name, hop["in"]), (hop_name, hop["out"]))
    return trace, (inside, inside_end), (before, after), stderr


@test
def interrupts_are_what_the_kernel_counts():
    trace, inner, outer, _ = recorded("irq", "irq", interrupts)
    rows = query(trace, """SELECT kind, number, sum(count), sum(total_ns), sum(hits), sum(hit_ns),
        max(longest_ns) FROM interrupts GROUP BY kind, number""")
    # Shared interrupts are counted by handler.
    shared = {("hard", row[1]) for row in rows if row[0] == "hard"} - set(inner[0])
    got = {(row[0], row[1]): row[2] for row in rows}
    assert between(got, inner, outer, shared, SEEN_AT_LEAST) >= 2, rows
    for _, _, count, total_ns, hits, hit_ns, longest_ns in rows:
        assert hits <= count and hit_ns <= total_ns and longest_ns <= total_ns, rows
    # Intervals are contiguous.
    for kind, number, cpu in query(trace, "SELECT DISTINCT kind, number, cpu FROM interrupts"):
        spans = query(trace, f"""SELECT begin_ns, end_ns FROM interrupts WHERE kind = '{kind}'
            AND number = {number} AND cpu = {cpu} ORDER BY begin_ns""")
        assert all(end <= begin for (_, end), (begin, _) in zip(spans, spans[1:])), spans


@test
def counters_grow_by_what_the_kernel_counts():
    trace, inner, outer, _ = recorded("counters", "pressure,memory,cpu,block,net", counters)
    rows = query(trace, """SELECT source, object, counter, max(value) - min(value), count(*)
        FROM system_counters GROUP BY 1, 2, 3""")
    got = {row[:3]: row[3] for row in rows}
    # Other values in these files are not recorded.
    assert between(got, inner, outer, set(inner[1]) - set(got)) >= 2, rows
    assert ("memory", "", "pgfault") in got and got["memory", "", "pgfault"] >= 1500, got
    # At the beginning, at the end, and in between.
    assert min(row[4] for row in rows if row[:3] in outer[0]) >= 3, rows


@test
def the_control_group_of_each_process():
    trace = path("groups")
    recording = Recording("--output", trace, "--no-device", "--sources", "cgroup")
    equal(recording.first, "ready")
    text, status = recording.run("/bin/cat", "/proc/self/cgroup")
    equal(status, 0)
    with subprocess.Popen(["sleep", "60"]) as child:
        equal(recording.ask(f"pid {child.pid}"), "ok")
        time.sleep(0.3)
        recording.stop()
        child.kill()
    wanted = re.search(r"^0::(.*)$", text, re.M)
    wanted = wanted[1] if wanted and wanted[1] != "/" else text.splitlines()[0].split(":", 2)[2]
    equal(query(trace, f"SELECT control_group FROM process_groups WHERE pid = {child.pid}"),
          [(wanted,)])


@test
def what_cannot_be_had_is_said_and_no_failure():
    trace = path("lacks")
    recording = Recording("--output", trace, "--no-device", "--sources", "pcie,sched")
    equal(recording.first, "ready")
    recording.run(APP, "phases")
    _, status, stderr = recording.stop()
    equal(status, 0)
    lines = [line for line in stderr.splitlines() if "pcie" in line]
    equal(len(lines), 1)
    assert "no PCIe device" in lines[0], lines
    assert query(trace, "SELECT count(*) FROM thread_states")[0][0] > 0
    bad = subprocess.run([DAEMON, "--private", "--system", "--output", trace, "--sources", "shed"],
                         capture_output=True, text=True, check=False)
    equal(bad.returncode, 2)
    assert "no source called 'shed'; there are sched, irq," in bad.stderr, bad


if __name__ == "__main__":
    sys.exit(run([case for case in test if case.__name__ in sys.argv[1:]] or test))
