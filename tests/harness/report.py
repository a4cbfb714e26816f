# SPDX-License-Identifier: Apache-2.0
"""Prints progress and counts verdicts."""

import sys

from harness import FAIL, PASS, SKIP

TAIL_LINES = 40


def tail(path):
    """The last lines of a log, indented."""
    try:
        with open(path, "rb") as log:
            text = log.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "".join(f"    | {line}\n" for line in text.splitlines()[-TAIL_LINES:])


class Tally:
    """All verdicts of a run, printed as they come."""

    def __init__(self):
        self.counts = {PASS: 0, FAIL: 0, SKIP: 0}
        self.skips = []
        self.failures = []
        self.jobs_done = 0
        self.jobs_expected = 0
        self.running = {}
        self.live = sys.stdout.isatty()

    def expect(self, count, running):
        self.jobs_expected, self.running = count, running

    def line(self, text):
        if self.live:
            sys.stdout.write("\r\033[K")
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def tick(self):
        """The status line at the bottom of a terminal: progress, and running tests."""
        if self.live:
            names = " ".join(sorted(self.running))
            sys.stdout.write(f"\r\033[K[{self.jobs_done}/{self.jobs_expected}] {names}"[:110])
            sys.stdout.flush()

    def add(self, job, cases, seconds):
        """Adds the cases of a finished job."""
        self.jobs_done += 1
        by_verdict = {verdict: [case for case in cases if case.verdict == verdict]
                      for verdict in self.counts}
        for verdict, found in by_verdict.items():
            self.counts[verdict] += len(found)
        names = [f"{len(found)} {verdict.lower()}"
                 for verdict, found in by_verdict.items() if found]
        worst = next((v for v in (FAIL, PASS, SKIP) if by_verdict[v]), FAIL)
        self.line(f"{worst}  {job.name:<28} {', '.join(names):<20} {seconds:6.1f} s")
        for case in by_verdict[SKIP]:
            self.skips.append(f"{job.name} {case.name}".strip() + f": {case.detail}")
        for case in by_verdict[FAIL]:
            detail = "".join(f"\n    {line}" for line in case.detail.splitlines())
            self.failures.append(f"{job.name} {case.name}".strip() + detail)
            self.line(f"    failed: {case.name or job.name}{detail}")
        if by_verdict[FAIL]:
            self.line(tail(job.log) + f"    log: {job.log}")

    def add_problem(self, text):
        self.counts[FAIL] += 1
        self.failures.append(text)
        self.line(f"{FAIL}  {text}")

    def interrupted(self):
        self.add_problem("interrupted")

    def finish(self):
        """Prints the end; returns the exit status."""
        if self.live:
            sys.stdout.write("\r\033[K")
        if self.skips:
            self.line("\nSkipped:")
            for skip in sorted(self.skips):
                self.line(f"  {skip}")
        if self.failures:
            self.line("\nFailed:")
            for failure in self.failures:
                self.line(f"  {failure}")
        if sum(self.counts.values()) == 0:
            self.add_problem("no test ran")
        passed, failed, skipped = (self.counts[verdict] for verdict in (PASS, FAIL, SKIP))
        self.line(f"{passed} passed, {failed} failed, {skipped} skipped")
        return 1 if self.counts[FAIL] else 0
