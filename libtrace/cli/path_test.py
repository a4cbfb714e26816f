#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""acceltrace critical-path and whatif, and the report's advice, through the program."""

import json
import os
import subprocess
import sys

REPO = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402

ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
DEMO, STEP, BROKEN = (os.path.join(REPO, "tests", "golden", name + ".atrace")
                      for name in ("demo", "step", "broken"))
case = tap.Cases()


def run(*words):
    return subprocess.run([ACCELTRACE, *words], capture_output=True, text=True, timeout=60,
                          check=False)


def said(*words):
    done = run(*words, "--json")
    assert (done.returncode, done.stderr) == (0, ""), (words, done)
    return json.loads(done.stdout)


def close(got, wanted, of):
    assert abs(got - wanted) <= max(2, of), (got, wanted)


@case
def the_critical_path_is_the_run():
    for file in (DEMO, STEP):
        path = said("critical-path", file)
        assert (path["schema"], path["version"]) == ("acceltrace.critical-path", 1)
        assert 0 < path["on_path"] <= path["events"]
        # The pieces must follow each other from the begin to the end, and the causes must add up to
        # it.
        at = path["pieces"][0]["begin_ns"]
        for piece in path["pieces"]:
            assert piece["begin_ns"] == at and piece["end_ns"] >= at, piece
            at = piece["end_ns"]
        close(at if not path["more_pieces"] else path["run_ns"], path["run_ns"], 2)
        close(sum(cause["ns"] for cause in path["causes"]), path["run_ns"], len(path["causes"]))
        close(1e6 * sum(cause["share"] for cause in path["causes"]), 1e6, 50)
        for op in path["slack"]:
            assert 0 <= op["on_path"] <= op["count"] and 0 <= op["least_ns"] <= op["mean_ns"], op


@case
def faster_is_never_slower_and_slower_never_faster():
    for file in (DEMO, STEP):
        same = said("whatif", file, "--set", "matrix.rate=x1")
        close(same["predicted"]["ns"], same["replayed_ns"], 1e-4 * same["recorded_ns"])
        for key in ("pcie.bandwidth", "pcie.latency", "dram.bandwidth", "matrix.rate", "dispatch",
                    "host.speed", "host.submit", "host.wake"):
            times = [said("whatif", file, "--set", f"{key}=x{factor}")["predicted"]["ns"]
                     for factor in (0.5, 1, 2, 4)]
            assert times == sorted(times, reverse=True), (file, key, times)
        found = said("whatif", file, "--set", "host.speed=x2", "--set", "matrix.rate=x2")
        one = said("whatif", file, "--set", "host.speed=x2")
        assert found["predicted"]["ns"] <= one["predicted"]["ns"]
        predicted = found["predicted"]
        assert predicted["lo_ns"] <= predicted["ns"] <= predicted["hi_ns"]


@case
def edits_predict_what_the_report_advises():
    report = said("report", STEP)
    assert report["advice"], report.keys()
    least = [advice["gain"]["lo_ns"] for advice in report["advice"]]
    assert least == sorted(least, reverse=True) and least[0] > 0
    for advice in report["advice"]:
        if not advice["whatif"]:
            continue
        edited = said("whatif", STEP, *advice["whatif"].split())
        close(edited["gain_ns"], advice["gain"]["ns"], 0.02 * edited["recorded_ns"])
    for option in ("--merge-copies", "--async", "--overlap", "--no-allocation", "--pinned",
                   "--no-program", "--batch", "--merge-commands", "--ordered-rows", "--fuse-all",
                   "--poll"):
        edited = said("whatif", STEP, option)
        assert edited["change"] == option and edited["gain_ns"] >= 0, edited
    text = run("report", STEP).stdout
    head = text.splitlines()[:24]
    assert any(line.startswith("WHAT TO CHANGE") for line in head), head


@case
def what_cannot_be_is_refused_in_a_line():
    for words, status in ((("--set", "nosuch=x2"), 2), (("--set", "matrix.rate"), 2),
                          (("--set", "matrix.rate=x0"), 2), (("--set", "matrix.rate=x-1"), 2),
                          (("--set", "matrix.rate=xnan"), 2), (("--set", "matrix.rate=x1e999"), 2),
                          (("--fuse", "one"), 2), (("--fuse", "nosuch,other"), None)):
        done = run("whatif", STEP, *words)
        assert done.returncode == status or status is None and done.returncode in (1, 2), done
        assert len(done.stderr.splitlines()) == 1 and done.stdout == "", (words, done)


@case
def damage_withholds_the_answer():
    for verb in (("critical-path",), ("whatif", "--async"), ("whatif", "--set", "host.speed=x2"),
                 ("whatif",)):
        done = run(verb[0], BROKEN, *verb[1:])
        assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done
        assert "No answer" in done.stdout and "predicted" not in done.stdout, done
    report = run("report", BROKEN, "--json")
    assert json.loads(report.stdout)["advice"] == [], report.stderr


if __name__ == "__main__":
    sys.exit(tap.run(case))
