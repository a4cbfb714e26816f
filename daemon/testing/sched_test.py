#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Compares run states of threads with the kernel's counts: switches, page faults, CPU time; wakers;
two threads on one CPU; lost records.
"""

import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from private_test import equal, path, run  # noqa: E402
from recording import REPO, Recording, summary, tap, until_it_sleeps  # noqa: E402

APP = os.path.join(REPO, "build/test/axl-sched-app")
COUNTED = ("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches")
# schedstat is updated at switches and ticks only.
TICK_NS = 10_000_000
# The kernel charges a thread from a little before it reports the switch to it.
CHARGE_NS = 20_000
test = tap.Cases()


def query(trace, sql, lossy=False):
    program = os.path.join(REPO, "build/bin/acceltrace")
    done = subprocess.run([program, "query", trace, sql, "--json", "--top", "100000"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == lossy, done
    return [tuple(row) for row in json.loads(done.stdout)["rows"]]


def record(name, *argv):
    """Returns (trace, lines of the program, losses)."""
    trace = path(name)
    recording = Recording("--output", trace, "--no-device", "--sources", "sched")
    equal(recording.first, "ready")
    text, status = recording.run(APP, *argv)
    equal(status, 0)
    done, status, _ = recording.stop()
    equal((status, done["error"], done["bad"]), (0, "", 0))
    for name, hop in summary(trace)["hops"].items():
        equal((name, hop["in"] - hop["out"] - hop["lost"] - hop["bad"]), (name, 0))
    return trace, [line.split() for line in text.splitlines()], done["lost"]


def marks(lines):
    return {line[1]: {"tid": int(line[2]), "ns": int(line[3]), "charged_ns": int(line[8]),
                      **dict(zip(COUNTED, map(int, line[4:8])))}
            for line in lines if line[0] == "mark"}


def counted(trace, since, until, lossy=False):
    """Sums of a thread's rows between two marks."""
    sums = ", ".join(f"ifnull(sum({column}), 0)" for column in (*COUNTED, "charged_ns"))
    row, = query(trace, f"""SELECT {sums} FROM thread_states WHERE tid = {until['tid']}
        AND state = 'running' AND end_ns > {since['ns']} AND end_ns <= {until['ns']}""", lossy)
    return dict(zip((*COUNTED, "charged_ns"), row))


def time_in(trace, since, until, state):
    row, = query(trace, f"""SELECT ifnull(sum(end_ns - begin_ns), 0), count(*) FROM thread_states
        WHERE tid = {until['tid']} AND state = '{state}' AND begin_ns >= {since['ns']}
        AND end_ns <= {until['ns']}""")
    return row


def without_gaps(trace, lossy=False):
    for row in query(trace, """SELECT tid, max(end_ns) - min(begin_ns), sum(end_ns - begin_ns)
            FROM thread_states GROUP BY pid, tid""", lossy):
        equal((row[0], row[1]), (row[0], row[2]))


@test
def counts_are_the_kernels_own():
    trace, lines, lost = record("phases", "phases")
    equal(lost, 0)
    at = marks(lines)
    order = ["begin", "slept", "faulted", "computed"]
    for since, until in zip(order, order[1:]):
        got = counted(trace, at[since], at[until])
        for column in COUNTED:
            equal((until, column, got[column]),
                  (until, column, at[until][column] - at[since][column]))
        charged_ns = at[until]["charged_ns"] - at[since]["charged_ns"]
        assert abs(got["charged_ns"] - charged_ns) <= TICK_NS, (until, got, charged_ns)
    without_gaps(trace)
    equal(query(trace, "SELECT count(*) FROM thread_states WHERE state = 'unknown'"), [(0,)])


@test
def states_are_those_of_what_it_did():
    trace, lines, _ = record("states", "phases")
    at = marks(lines)
    slept_ns, sleeps = time_in(trace, at["begin"], at["slept"], "sleeping")
    # A sleep that ends before the thread leaves its CPU is not a switch.
    least = min(20, at["slept"]["voluntary_switches"] - at["begin"]["voluntary_switches"])
    assert least > 0, least
    assert slept_ns >= least * 2_000_000 and sleeps >= least, (slept_ns, sleeps, least)
    # Perhaps in one run, which began before the mark.
    (computed_ns,), = query(trace, f"""SELECT sum(end_ns - begin_ns) FROM thread_states
        WHERE tid = {at['begin']['tid']} AND state = 'running' AND end_ns > {at['faulted']['ns']}
        AND end_ns <= {at['computed']['ns']}""")
    assert computed_ns >= 60_000_000, computed_ns
    waits = query(trace, f"""SELECT wait, count(*) FROM thread_states
        WHERE tid = {at['begin']['tid']} AND state = 'sleeping'
        AND begin_ns >= {at['begin']['ns']} AND end_ns <= {at['slept']['ns']}
        GROUP BY wait ORDER BY 2 DESC""")
    assert "nanosleep" in waits[0][0], waits
    # It ended, and there are no later records of it.
    report = subprocess.run([os.path.join(REPO, "build/bin/acceltrace"), "report", trace,
                             "--full"], capture_output=True, text=True, check=False)
    assert "THREADS" in report.stdout and "waits for CPU" in report.stdout, report.stdout


@test
def two_threads_on_one_cpu_take_turns():
    cpu = min(os.sched_getaffinity(0))
    trace, lines, lost = record("share", "share", str(cpu))
    equal(lost, 0)
    tids = [int(line[2]) for line in lines if line[0] == "thread"]
    equal(len(tids), 2)
    runs = query(trace, f"""SELECT begin_ns, end_ns, tid, cpu FROM thread_states
        WHERE state = 'running' AND tid IN ({tids[0]}, {tids[1]}) ORDER BY begin_ns""")
    inferred = "sched-inferred" in summary(trace)["hops"]
    for (_, end_ns, _, _), (begin_ns, _, _, _) in zip(runs, runs[1:]):
        assert end_ns <= begin_ns + (CHARGE_NS if inferred else 0), (end_ns, begin_ns)
    equal({row[3] for row in runs}, {cpu})
    waited, = query(trace, f"""SELECT sum(end_ns - begin_ns) FROM thread_states
        WHERE state = 'runnable' AND tid IN ({tids[0]}, {tids[1]})""")
    # While both compute one of them waits, at least for the time of the shorter one.
    assert waited[0] > 0, waited
    without_gaps(trace)


@test
def who_woke_whom():
    trace, lines, lost = record("pingpong", "pingpong", "500")
    equal(lost, 0)
    other, = (int(line[2]) for line in lines if line[0] == "thread")
    main = marks(lines)["main"]["tid"]
    for sleeper, waker in ((other, main), (main, other)):
        rows = query(trace, f"""SELECT waker_tid, waker_interrupt, count(*) FROM thread_states
            WHERE tid = {sleeper} AND state = 'sleeping' AND (wait LIKE '%pipe%' OR wait = '')
            GROUP BY 1, 2 ORDER BY 3 DESC""")
        # The scheduler's tick may preempt some of them before they wait.
        assert rows and rows[0][:2] == (waker, 0) and rows[0][2] >= 400, (sleeper, waker, rows)
        # The reason of long waits is known, short ones are not examined.
        equal(query(trace, f"""SELECT count(*) FROM thread_states WHERE tid = {sleeper}
            AND state = 'sleeping' AND wait = '' AND end_ns - begin_ns >= 20000"""), [(0,)])
    without_gaps(trace)


@test
def a_snapshot_has_threads_as_they_are_then():
    trace, snapshot = path("ring"), path("snapshot")
    recording = Recording("--output", trace, "--no-device", "--sources", "sched", "--ring", "4M")
    equal(recording.first, "ready")
    with subprocess.Popen([APP, "pingpong", "100", "hold"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as child:
        equal(child.stdout.readline(), "ready\n")
        equal(recording.ask(f"pid {child.pid}"), "ok")
        print(file=child.stdin, flush=True)
        while (line := child.stdout.readline()) != "over\n":
            assert line.startswith("thread"), line
        until_it_sleeps(child.pid)
        recording.drain()
        equal(recording.ask(f"snapshot {snapshot}"), "ok")
        print(file=child.stdin, flush=True)
        at = marks([line.split() for line in child.stdout])
        equal(child.wait(), 0)
    done, status, _ = recording.stop()
    equal((status, done["error"], done["lost"], done["bad"]), (0, "", 0, 0))
    tid = at["main"]["tid"]
    # In the snapshot it waits for a line until the end; the whole recording continues from there.
    last, = query(snapshot, f"""SELECT state, end_ns FROM thread_states WHERE tid = {tid}
        ORDER BY begin_ns DESC LIMIT 1""")
    equal(last[0], "sleeping")
    row, = query(trace, f"""SELECT state, end_ns FROM thread_states WHERE tid = {tid}
        AND begin_ns < {last[1]} AND end_ns >= {last[1]}""")
    assert row[0] == "sleeping" and row[1] > last[1], (row, last)
    without_gaps(snapshot)
    without_gaps(trace)
    got = counted(trace, at["begin"], at["main"])
    for column in COUNTED:
        equal((column, got[column]), (column, at["main"][column] - at["begin"][column]))


@test
def lost_records_leave_holes_and_counts_stay_exact():
    trace = path("lost")
    recording = Recording("--output", trace, "--no-device", "--sources", "sched")
    equal(recording.first, "ready")
    # It waits for a line before it begins, and for another one before it prints its counts.
    with subprocess.Popen([APP, "pingpong", "25000", "hold"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as child:
        equal(child.stdout.readline(), "ready\n")
        equal(recording.ask(f"pid {child.pid}"), "ok")
        os.kill(recording.daemon.pid, signal.SIGSTOP)
        print(file=child.stdin, flush=True)
        while (line := child.stdout.readline()) != "over\n":
            assert line.startswith("thread"), line
        os.kill(recording.daemon.pid, signal.SIGCONT)
        recording.drain()
        print(file=child.stdin, flush=True)
        at = marks([line.split() for line in child.stdout])
        equal(child.wait(), 0)
    done, status, _ = recording.stop()
    equal((status, done["error"], done["bad"]), (0, "", 0))
    hop = summary(trace)["hops"]["sched"]
    assert hop["lost"] > 0, hop
    equal(hop["in"], hop["out"] + hop["lost"])
    without_gaps(trace, lossy=True)
    unknown, = query(trace, f"""SELECT count(*), sum(end_ns - begin_ns) FROM thread_states
        WHERE tid = {at['main']['tid']} AND state = 'unknown'""", lossy=True)
    assert unknown[0] > 0 and unknown[1] > 0, unknown
    # Each lost record is within a span of the account, and each span has its times.
    spans = query(trace, "SELECT first_ns, last_ns, count FROM losses WHERE hop = 'sched'",
                  lossy=True)
    equal(sum(count for _, _, count in spans), hop["lost"])
    assert all(0 < first <= last for first, last, _ in spans), spans
    for begin, end in query(trace, "SELECT begin_ns, end_ns FROM thread_states WHERE "
                            "state = 'unknown'", lossy=True):
        assert any(begin <= last and first <= end for first, last, _ in spans), (begin, end, spans)
    got = counted(trace, at["begin"], at["main"], lossy=True)
    for column in COUNTED:
        equal((column, got[column]), (column, at["main"][column] - at["begin"][column]))
    verified = subprocess.run([os.path.join(REPO, "build/bin/acceltrace"), "verify", trace],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "COLUMNS": "300"})
    assert f"sched: {hop['lost']} events lost" in verified.stdout, verified


if __name__ == "__main__":
    sys.exit(run(test))
