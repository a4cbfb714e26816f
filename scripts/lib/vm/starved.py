# SPDX-License-Identifier: Apache-2.0
"""Whether a guest had its CPUs when its kernel reported a stall.

A kernel that did not run for twenty seconds finds that nothing has happened in that time, and
cannot know why. The host can: it counts for each thread of QEMU how long it was runnable but had to
wait. A stall only counts if the guest had its CPUs meanwhile.
"""

import collections
import contextlib
import os
import re

STALL = re.compile(r"rcu: .*stall|detected stalls|soft lockup|hard LOCKUP|"
                   r"blocked for more than \d+ seconds|INFO: task .* blocked")
# Kernels report the length of a stall; the usual ones apply if they do not.
SECONDS = re.compile(r"stuck for (\d+)s|for more than (\d+) seconds")
USUAL_S = 21
EVERY_S = 0.5
DELAY_S = 5  # that a line may take from the guest to the host
KEPT_S = 300
# A thread that waits for this share of the time gets less than half of what it could use.
SHARE = 0.5


def waited_ns(process, proc="/proc"):
    """{thread: runnable time without a CPU} of a process, or {} if it has exited."""
    found = {}
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"{proc}/{process}/task"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"{proc}/{process}/task/{thread}/schedstat", encoding="ascii") as file:
                    found[thread] = int(file.read().split()[1])
    return found


def longest_s(before, after):
    """The wait between two samples of the thread that waited longest."""
    return max(ns - before.get(thread, 0) for thread, ns in after.items()) / 1e9


def window_s(line):
    """The period before a line for which the guest's CPU time is examined."""
    match = SECONDS.search(line)
    seconds = next((int(text) for text in match.groups() if text), 0) if match else 0
    return min((seconds or USUAL_S) + DELAY_S, KEPT_S)


class Watch:
    """Poll it while the guest runs; excused: the stalls that the host caused."""

    def __init__(self, process, console, waited=waited_ns):
        self.process, self.console, self.waited = process, console, waited
        self.samples = collections.deque()  # (time, {thread: ns})
        self.next, self.place, self.rest = 0.0, 0, b""
        self.excused = {}  # line: the share of the time that a thread waited
        self.begin, self.waits_s = None, 0.0  # for how long in all one thread or another waited

    def look(self, now, last=False):
        """Takes a sample when due, and judges new console output."""
        if now < self.next and not last:
            return
        self.next = now + EVERY_S
        self.sample(now)
        for line in self.lines():
            if STALL.search(line):
                share = self.share(now, window_s(line))
                if share >= SHARE:
                    self.excused[line] = share

    def sample(self, now):
        threads = self.waited(self.process)
        if not threads:
            return
        self.begin = now if self.begin is None else self.begin
        if self.samples:
            # A wait is counted as a whole when it has ended.
            waits_s = self.waits_s + longest_s(self.samples[-1][1], threads)
            self.waits_s = min(waits_s, now - self.begin)
        self.samples.append((now, threads))
        while self.samples[0][0] < now - KEPT_S:
            self.samples.popleft()

    def lines(self):
        """New complete lines of the console."""
        try:
            with open(self.console, "rb") as file:
                file.seek(self.place)
                data = file.read()
        except OSError:
            return []
        self.place += len(data)
        *lines, self.rest = (self.rest + data).split(b"\n")
        return [line.decode("utf-8", "replace").replace("\r", "") for line in lines]

    def share(self, now, seconds):
        """The largest share of these seconds that one thread of the guest waited for a CPU."""
        within = [sample for sample in self.samples if sample[0] >= now - seconds]
        if len(within) < 2:
            return 0.0
        # The stall lasted that long, so a guest that is younger has no excuse.
        longest = longest_s(within[0][1], within[-1][1])
        return min(longest / max(now - within[0][0], seconds - DELAY_S), 1.0)
