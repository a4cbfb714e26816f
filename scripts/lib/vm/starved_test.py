#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stalls of a guest that its host did not run, and of one that had its CPUs."""

import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
LIB = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
sys.path[:0] = [LIB, os.path.join(LIB, "..", "..", "tests", "harness")]

import tap  # noqa: E402
from vm import dmesg, starved  # noqa: E402

RCU = "[   40.100000] rcu: INFO: rcu_preempt self-detected stall on CPU"
LOCKUP = "[   60.000000] watchdog: BUG: soft lockup - CPU#1 stuck for 23s! [axl-stress:99]"
HUNG = "[  200.000000] INFO: task axl-stress:99 blocked for more than 120 seconds."
STACK = ["[   40.100001] Call Trace:", "[   40.100002]  axl_ioctl+0x10/0x20 [axl]"]
test = tap.Cases()


class Guest:
    """One of three threads; the second waits for a CPU for the given share of each second."""

    def __init__(self, share):
        self.folder = tempfile.TemporaryDirectory()
        self.console = os.path.join(self.folder.name, "console")
        with open(self.console, "wb"):
            pass
        self.share, self.now, self.ns = share, 0.0, 0
        self.watch = starved.Watch(1, self.console, lambda _: {"1": 7, "2": self.ns, "3": 0})

    def run(self, seconds):
        for _ in range(int(seconds / starved.EVERY_S)):
            self.now += starved.EVERY_S
            self.ns += int(self.share(self.now) * starved.EVERY_S * 1e9)
            self.watch.look(self.now)
        return self

    def say(self, line, end="\r\n"):
        with open(self.console, "ab") as file:
            file.write((line + end).encode())
        return self.run(1)

    def excused(self):
        return list(self.watch.excused)


@test
def a_guest_without_a_cpu_is_excused():
    for line in (RCU, LOCKUP, HUNG):
        guest = Guest(lambda now: 0.8).run(200).say("[ 1.0] other words").say(line)
        assert guest.excused() == [line], (line, guest.excused())
        assert 0.7 < guest.watch.excused[line] < 0.9, guest.watch.excused


@test
def a_guest_with_its_cpus_is_not():
    for share in (0.0, 0.3):
        for line in (RCU, LOCKUP, HUNG):
            assert not Guest(lambda now, share=share: share).run(200).say(line).excused(), line


@test
def what_counts_is_the_time_that_the_line_speaks_of():
    assert not Guest(lambda now: 0.9 if now < 100 else 0).run(150).say(RCU).excused()
    assert Guest(lambda now: 0.9 if now > 70 else 0).run(100).say(RCU).excused()
    # A task stalled for two minutes, and the guest was without a CPU for a quarter of them.
    assert not Guest(lambda now: 0.9 if now > 70 else 0).run(100).say(HUNG).excused()
    # Nothing can have stalled for long in a guest that has just started.
    assert not Guest(lambda now: 1.0).run(3).say(RCU).excused()


@test
def other_findings_are_never_excused():
    guest = Guest(lambda now: 1.0).run(200)
    for line in ("[ 1.0] BUG: KASAN: use-after-free in axl_ioctl", "[ 1.0] WARNING: CPU: 0 PID: 1"):
        assert not guest.say(line).excused(), line


@test
def a_line_that_comes_in_parts_is_one():
    guest = Guest(lambda now: 0.9).run(200)
    guest.say(RCU[:30], end="")
    assert not guest.excused()
    assert guest.say(RCU[30:]).excused() == [RCU]


@test
def what_was_waited_for_is_added_up():
    assert abs(Guest(lambda now: 0.5).run(100).watch.waits_s - 50) < 1
    assert Guest(lambda now: 0.0).run(100).watch.waits_s < 1
    # A wait of 30 s is known at its end, and may exceed the elapsed time.
    assert abs(Guest(lambda now: 60 if now == 50 else 0).run(100).watch.waits_s - 30) < 1
    assert Guest(lambda now: 5).run(100).watch.waits_s <= 100


@test
def the_log_loses_the_excused_report_and_no_other():
    log = "\n".join([RCU, *STACK, "[   41.000000] axl: probed"])
    assert dmesg.findings(log, [], excused=[RCU]) == []
    assert dmesg.findings(log, [])[0] == RCU
    assert dmesg.findings(log, [], excused=[LOCKUP])[0] == RCU
    other = "[   42.000000] WARNING: CPU: 0 PID: 1 at axl.c:1"
    found = dmesg.findings("\n".join([log, other, *STACK]), [], excused=[RCU])
    assert found == [other, *STACK], found
    # A stack long after an excused report is not part of it.
    far = "\n".join([RCU, *["[ 50.0] axl: words"] * 200, *STACK])
    assert dmesg.findings(far, [], excused=[RCU]) == STACK


@test
def each_thread_of_a_process_is_read():
    with subprocess.Popen(["sleep", "100"]) as process:
        found = starved.waited_ns(process.pid)
        process.kill()
    assert list(found) == [str(process.pid)] and found[str(process.pid)] >= 0, found
    assert starved.waited_ns(process.pid) == {}


if __name__ == "__main__":
    sys.exit(tap.run(test))
