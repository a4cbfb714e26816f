#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The runner itself: a failure must never be counted as passed."""

import os
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

from harness import FAIL, PASS, REPO, SKIP, Job, execute, report, results  # noqa: E402

CHECKS = []


def check(name, condition):
    CHECKS.append((name, bool(condition)))


def verdicts(cases):
    return [case.verdict for case in cases]


def test_status():
    check("status 0 passes", verdicts(results.text_cases(0, "")) == [PASS])
    check("status 1 fails", verdicts(results.text_cases(1, "")) == [FAIL])
    check("a signal fails", verdicts(results.text_cases(-11, "all good\n")) == [FAIL])
    skipped = results.text_cases(77, "looking\nno perf here\n\n")
    check("status 77 skips", verdicts(skipped) == [SKIP])
    check("the reason is the last line", skipped[0].detail == "no perf here")


def test_tap():
    cases = results.text_cases(0, "1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no c\n")
    check("tap: one case a line", verdicts(cases) == [PASS, FAIL, SKIP])
    check("tap: the skip has its reason", cases[2].detail == "no c")
    cases = results.text_cases(1, "1..2\n# set up\nnot ok 1 - a\n# got 3\n#  of 4\nok 2\n# late\n")
    check("tap: a failure has the comments after it",
          [case.detail for case in cases] == ["got 3\n of 4", ""])
    check("tap: too few lines fail", FAIL in verdicts(results.text_cases(0, "1..2\nok 1\n")))
    check("tap: too many lines fail", FAIL in verdicts(results.text_cases(0, "1..1\nok 1\nok 2\n")))
    check("tap: a crash after the last line fails",
          FAIL in verdicts(results.text_cases(-6, "1..1\nok 1\n")))
    check("tap: not ok fails although skipped",
          verdicts(results.text_cases(0, "1..1\nnot ok 1 - a # SKIP b\n")) == [FAIL])
    check("tap: an empty plan skips", verdicts(results.text_cases(0, "1..0 # SKIP no\n")) == [SKIP])
    check("no tap: words that begin with ok do not count",
          verdicts(results.text_cases(1, "ok so far\n")) == [FAIL])


def test_catch():
    good = b'<Catch><TestCase name="a"><OverallResult success="true"/></TestCase>'
    bad = (b'<TestCase name="b"><Expression success="false" type="CHECK" filename="f" line="3">'
           b'<Original>x == 1</Original><Expanded>2 == 1</Expanded></Expression>'
           b'<OverallResult success="false"/></TestCase>')
    skip = (b'<TestCase name="c"><Skip>no c</Skip>'
            b'<OverallResult success="true" skips="1"/></TestCase>')
    warned = (b'<TestCase name="d"><Warning>\n  skipped: no d\n</Warning>'
              b'<OverallResult success="true"/></TestCase>')
    end = b"</Catch>"
    cases = results.catch(1, good + bad + skip + warned + end)
    check("catch: one case a test case", verdicts(cases) == [PASS, FAIL, SKIP, SKIP])
    check("catch: skips have their reasons", [c.detail for c in cases[2:]] == ["no c", "no d"])
    check("catch: the failed check is shown",
          "x == 1" in cases[1].detail and "f:3" in cases[1].detail)
    check("catch: a bad exit status after good cases fails",
          FAIL in verdicts(results.catch(1, good + end)))
    check("catch: a report cut short fails", FAIL in verdicts(results.catch(-11, good)))
    check("catch: rubbish fails", FAIL in verdicts(results.catch(0, good + b"<<<")))
    check("catch: no case fails", verdicts(results.catch(0, b"<Catch></Catch>")) == [FAIL])
    check("catch: no report fails", verdicts(results.catch(0, b"")) == [FAIL])


def test_silence():
    """Cases that assert nothing, in a real binary."""
    program = os.path.join(REPO, "build", "test", "silent-cases")
    for name, good in (("loud: sections vary*", True), ("loud: asserts in*", True),
                       ("silent: nothing*", False), ("silent: one of*", False)):
        job = Job(f"self/silent-{os.getpid()}", "unit", [program, name], 20, reader="catch")
        cases = execute.run_job(job, {})
        with open(job.log, encoding="utf-8") as log:
            said = log.read()
        os.unlink(job.log)
        check(f"catch: {name}", (FAIL not in verdicts(cases)) == good)
        check(f"catch: {name} is reported", said.startswith("asserts nothing: silent") != good)


def run_shell(text, timeout_s=20):
    """Runs a script as a job; returns its cases and the folder that it was given."""
    job = Job(f"self/{os.getpid()}", "script", ["/bin/sh", "-c", text], timeout_s)
    cases = execute.run_job(job, {})
    with open(job.log, encoding="utf-8") as log:
        said = log.read().strip()
    os.unlink(job.log)
    return cases, said


def gone(pid, seconds=10):
    """Whether a process ends within some seconds; a zombie has ended."""
    for _ in range(seconds * 100):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
                if " Z " in stat.read():
                    return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def test_execute():
    cases, folder = run_shell("echo $TMPDIR; test -d $TMPDIR")
    check("a job passes", verdicts(cases) == [PASS])
    check("its temporary folder is gone", folder and not os.path.exists(folder))
    cases, _ = run_shell("sleep 100", timeout_s=0.5)
    check("a job that hangs fails", verdicts(cases) == [FAIL])
    _, pid = run_shell("sleep 100 & echo $!")
    check("what a job left running is gone", gone(pid))
    missing = Job("self/missing", "program", [os.path.join(tempfile.gettempdir(), "no", "such")], 5)
    check("a missing program fails", verdicts(execute.run_job(missing, {})) == [FAIL])
    os.unlink(missing.log)


def test_surroundings():
    """The caller's own settings do not reach a test."""
    own = {"LANG": "tr_TR.UTF-8", "COLUMNS": "20", "CC": "/none", "MAKEFLAGS": "-k",
           "HOME": "/none", "http_proxy": "http://127.0.0.1:9", "PYTHONWARNINGS": "error",
           "XDG_CONFIG_HOME": "/none", "AXL_CYCLES": "3", "PATH": "/none:/bin"}
    before, umask = dict(os.environ), os.umask(0o077)
    try:
        os.environ.clear()
        os.environ.update(own)
        _, said = run_shell("env; umask; ls -A $TMPDIR $HOME")
    finally:
        os.environ.clear()
        os.environ.update(before)
        os.umask(umask)
    names = [line.split("=")[0] for line in said.splitlines() if "=" in line]
    wanted = {"AXL_CYCLES", "BUILD", "HOME", "LANG", "LC_ALL", "PATH", "PYTHONDONTWRITEBYTECODE",
              "REPO", "TERM", "TMPDIR"}
    others = set(names) - wanted - {"PWD", "OLDPWD", "_", "SHLVL"}
    check("surroundings: only what is meant", wanted <= set(names) and not others)
    check("surroundings: the system's programs first",
          "\nPATH=/usr/sbin:/usr/bin:/sbin:/bin:/none\n" in f"\n{said}\n")
    check("surroundings: its files can be read by others", "0022" in said.splitlines())
    check("surroundings: a home of its own", "/home\n" in said and "HOME=/none" not in said)


def test_limit():
    def left_s(took, waited):
        clock = iter((0, took))
        busy = iter((5, 5 + waited))
        return execute.Limit(10, lambda: next(clock), lambda: next(busy)).left_s()
    check("limit: all of it", left_s(0, 0) == 10)
    check("limit: it ends", left_s(10, 0) == 0)
    check("limit: without a CPU it does not run", left_s(10, 8) == 8)
    check("limit: but not for ever", left_s(1000, 990) < 0)
    check("limit: what waited for a CPU grows", execute.waited_s() >= 0)


def test_report():
    quiet, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")
    try:
        tally = report.Tally()
        empty = tally.finish()
        tally = report.Tally()
        tally.add(Job("a/b", "script", [], 1), results.text_cases(0, ""), 0.1)
        passed = tally.finish()
        tally.add(Job("a/c", "script", [], 1), results.text_cases(1, ""), 0.1)
        failed = tally.finish()
    finally:
        sys.stdout = quiet
    check("a run without tests fails", empty == 1)
    check("a run that passed passes", passed == 0)
    check("one failure fails the run", failed == 1)


def main():
    for test in (test_status, test_tap, test_catch, test_silence, test_execute, test_limit,
                 test_surroundings, test_report):
        test()
    print(f"1..{len(CHECKS)}")
    for number, (name, passed) in enumerate(CHECKS, 1):
        print(f"{'' if passed else 'not '}ok {number} - {name}")
    return 0 if all(passed for _, passed in CHECKS) else 1


if __name__ == "__main__":
    sys.exit(main())
