#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How check-debug interprets kernel logs and parts that ran at different times."""

import glob
import os
import sys
import tempfile
import unittest

REPO = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.dont_write_bytecode = True
sys.path[:0] = [f"{REPO}/scripts/lib", f"{REPO}/tests/driver"]

import debug_results  # noqa: E402
from vm import dmesg  # noqa: E402

KNOWN = glob.glob(f"{REPO}/tests/driver/known-reports/*")


def log_of(lines, first_s=70.0, offset="+0x10/0x20"):
    """Lines as a kernel prints them, with random stack contents in between."""
    shown = []
    for number, line in enumerate(lines):
        line = line.replace("ADDRESS", "ffff88800%07x" % number)
        line = line.replace("irq/pciehp", "irq/24-pciehp/35")
        stamp = f"[{first_s + number / 1000:12.6f}]  "
        shown.append(stamp + line + (offset if line.isidentifier() else ""))
        if line.isidentifier():
            shown.append(stamp + "? printk+0x5/0x9")
    return "\n".join(shown) + "\n"


class Reports(unittest.TestCase):
    """Kernel logs."""

    def setUp(self):
        self.known = [dmesg.Known(path) for path in KNOWN]
        self.lines = self.known[0].lines

    def test_known_report_is_cut_and_counted(self):
        log = "[ 1.0] boot\n" + log_of(self.lines) + "[ 90.0] axl 0000:01:00.0: axl1\n"
        self.assertEqual(dmesg.findings(log, [], self.known), [])
        self.assertEqual(dmesg.reports(log, [], self.known), [])
        self.assertEqual(list(dmesg.split_known(log, self.known)[1].values()), [1])
        self.assertEqual(len(dmesg.reports(log)), 1)

    def test_any_other_word_makes_it_a_finding(self):
        stack = self.lines.index("pciehp_ist")
        for changed in (self.lines[:stack] + ["axl_remove"] + self.lines[stack:],
                        [line.replace("reset_lock", "axl_lock") for line in self.lines],
                        self.lines[:stack] + self.lines[stack + 1:], self.lines[:-3]):
            log = log_of(changed)
            self.assertTrue(dmesg.findings(log, [], self.known), changed)
            self.assertEqual(len(dmesg.reports(log, [], self.known)), 1)

    def test_what_comes_behind_a_known_report_counts(self):
        log = log_of(self.lines) + "[ 99.0] WARNING: CPU: 0 PID: 1 at axl\n"
        self.assertEqual(len(dmesg.reports(log, [], self.known)), 1)

    def test_each_report_counts_once(self):
        one = ["WARNING: CPU: 0 PID: 1 at axl", "Call Trace:"] + ["walk"] * 30
        self.assertEqual(len(dmesg.reports(log_of(one + one + ["BUG: KASAN: bad"]))), 3)

    def test_a_checker_that_gave_up_counts(self):
        self.assertTrue(dmesg.reports("[ 1.0] kmemleak: Kernel memory leak detector disabled\n"))


def record(**changes):
    """A part that passed."""
    return {"ok": True, "why": "", "commit": "c1", "module": "m1", "kernel": "k1", "command": "x",
            "figures": {"splats": [0, "reports"], "unplug_threads": [8, "threads"],
                        "cycles": [60, "cycles"]}, **changes}


def figures(records, module="m1", parts=("a", "b")):
    return {row["name"]: row for row in debug_results.rows(records, parts, module, "k1")}


class Rows(unittest.TestCase):
    """Figures over parts."""

    def test_parts_add_up(self):
        rows = figures({"a": record(), "b": record(commit="c2")})
        self.assertEqual((rows["cycles"]["value"], rows["unplug_threads"]["value"]), (120, 8))
        self.assertEqual(rows["cycles"]["at"], "c1 c2")
        self.assertEqual([row["doubts"] for row in rows.values()], [[]] * len(rows))

    def test_threads_of_two_tests_are_no_more(self):
        made = {}
        for value in (8, 4):
            debug_results.add(made, "unplug_threads", value, "threads")
            debug_results.add(made, "cycles", value, "cycles")
        self.assertEqual(made, {"unplug_threads": [4, "threads"], "cycles": [12, "cycles"]})

    def test_another_module_is_reported(self):
        rows = figures({"a": record(), "b": record(module="m0", commit="c0")})
        self.assertEqual(rows["cycles"]["doubts"], ["b ran another module, of c0"])

    def test_a_part_that_did_not_run_or_failed_is_reported(self):
        rows = figures({"a": record(ok=False, why="it hung")})
        self.assertEqual(rows["splats"]["doubts"], ["not run: b", "a failed: it hung"])
        self.assertEqual(rows["cycles"]["doubts"], ["a failed: it hung"])
        self.assertEqual(rows["parts_run"]["value"], 1)

    def test_a_rerun_replaces_its_part_only(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/results.json"
            debug_results.store("a", record(), path)
            debug_results.store("b", record(), path)
            debug_results.store("a", record(commit="c3"), path)
            commits = {name: one["commit"] for name, one in debug_results.load(path).items()}
            self.assertEqual(commits, {"a": "c3", "b": "c1"})

    def test_the_module_is_what_its_sources_are(self):
        os.chdir(REPO)
        self.assertRegex(debug_results.module(), "^[0-9a-f]{12}$")


if __name__ == "__main__":
    unittest.main()
