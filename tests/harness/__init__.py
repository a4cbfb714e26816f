# SPDX-License-Identifier: Apache-2.0
"""The parts of tests/run: discover (which tests), execute, results (what they said), report."""
import dataclasses
import os

REPO = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
LOGS = os.path.join(REPO, "build", "test-logs")

PASS, FAIL, SKIP = "pass", "FAIL", "skip"


@dataclasses.dataclass
class Job:
    """One process to run; it holds one test case or many."""

    name: str  # kind/name
    kind: str
    argv: list
    timeout_s: float
    reader: str = "text"  # "catch", or "text": TAP when it prints a plan, else its exit status
    serial: bool = False  # must run alone

    @property
    def log(self):
        return os.path.join(LOGS, self.name + ".log")


@dataclasses.dataclass
class Case:
    """The verdict on one test case; a skip has its reason, a failure its detail."""

    name: str
    verdict: str
    detail: str = ""
