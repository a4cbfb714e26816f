#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 280
"""Parts of a trace in which there is nothing, tables of sources that were not recorded, and bounds
that are not known: each says so, in every verb that reads."""

import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
REPO = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402

BUILD = os.path.join(REPO, "build")
ACCELTRACE = os.path.join(BUILD, "bin", "acceltrace")
DEMO = os.path.join(REPO, "tests", "golden", "demo.atrace")
STEP = os.path.join(REPO, "tests", "golden", "step.atrace")
folder = tempfile.TemporaryDirectory()
case = tap.Cases()


def run(*words):
    return subprocess.run([ACCELTRACE, *words], capture_output=True, text=True, timeout=120,
                          check=False, stdin=subprocess.DEVNULL)


def place(name):
    return os.path.join(folder.name, name)


def readers(*words):
    """Each verb that reads a part of a trace, with these filters."""
    rules = place("rules")
    with open(rules, "w", encoding="ascii") as file:
        file.write("jobs >= 0\n")
    yield ["report", DEMO, *words]
    yield ["report", DEMO, "--json", *words]
    yield ["report", DEMO, "--section", "time", *words]
    yield ["query", DEMO, "SELECT count(*) FROM api", *words]
    yield ["check", DEMO, rules, *words]
    yield ["diff", DEMO, STEP, *words]
    yield ["critical-path", DEMO, *words]
    yield ["whatif", DEMO, "--set", "pcie.bandwidth=x2", *words]
    yield ["html", DEMO, "-o", place("out.html"), *words]
    yield ["html", DEMO, STEP, "-o", place("out.html"), *words]
    yield ["serve", DEMO, "--no-browser", *words]
    for form in ("perfetto", "chrome", "csv", "sqlite"):
        yield ["export", DEMO, "--format", form, "-o", place("out." + form), *words]


@case
def a_window_beyond_the_end_is_misuse_and_says_what_there_is():
    for words in readers("--from", "3s"):
        done = run(*words)
        lines = done.stderr.splitlines()
        assert (done.returncode, len(lines), done.stdout) == (2, 1, ""), (words, done)
        assert "--from 3.000 s lies beyond the end" in lines[0], lines
        assert re.search(r"from 0 to [\d.]+ ms", lines[0]), lines
    assert not os.path.exists(place("out.html")) and not os.path.exists(place("out.csv"))


@case
def names_that_do_not_occur_are_misuse_and_say_what_there_is():
    for words, text in ((["--stream", "99"], "no such stream as 99"),
                        (["--process", "nobody"], "no such process as nobody"),
                        (["--device", "axl9"], "no such device as axl9"),
                        (["--range", "nosuch"], "no such range as nosuch")):
        for asked in readers(*words):
            done = run(*asked)
            lines = done.stderr.splitlines()
            assert (done.returncode, len(lines), done.stdout) == (2, 1, ""), (asked, done)
            assert text in lines[0] and "there are: " in lines[0], lines
            assert "there are: none" not in lines[0], lines


@case
def a_container_is_a_part_wherever_a_process_is():
    for asked in readers("--container", "0123abcd"):
        done = run(*asked)
        lines = done.stderr.splitlines()
        assert (done.returncode, len(lines), done.stdout) == (2, 1, ""), (asked, done)
        assert "no such container as 0123abcd" in lines[0], lines
        assert "record with --sources cgroup" in lines[0], lines
    trace = place("hostile.atrace")
    subprocess.run([os.path.join(BUILD, "test", "make-page-trace"), "hostile", trace],
                   check=True, timeout=60)
    done = run("query", trace, "SELECT DISTINCT container FROM process_groups", "--json")
    names = [row[0] for row in json.loads(done.stdout)["rows"]]
    assert len(names) == 3 and "\x1b[2J\x1b]0;title\x07" in names, names
    for name in names:
        done = run("report", trace, "--json", "--container", name)
        report = json.loads(done.stdout)
        assert report["trace"]["selection"]["text"] == "container " + name, done
        assert report["counts"]["jobs"] == 50, report["counts"]
    done = run("report", trace, "--container", "nosuch")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done
    assert "there are: " in done.stderr and done.stderr.strip().isprintable(), done
    text = run("report", trace, "--section", "system").stdout
    assert " container " in text and all(c.isprintable() or c == "\n" for c in text), text


@case
def a_part_without_a_device_is_not_called_the_trace():
    done = run("report", DEMO, "--to", "1ns")
    assert "the part that was selected holds no jobs" in " ".join(done.stdout.split()), done.stdout


@case
def an_empty_table_of_an_absent_source_says_how_it_is_recorded():
    for table, how in (("thread_states", "--sources sched"), ("interrupts", "--sources irq"),
                       ("system_counters", "--sources"), ("process_groups", "--sources cgroup"),
                       ("call_stacks", "--stacks"), ("stack_frames", "--stacks")):
        for form in ([], ["--csv"], ["--json"]):
            done = run("query", DEMO, f"SELECT * FROM {table}", *form)
            lines = done.stderr.splitlines()
            assert (done.returncode, len(lines)) == (0, 1), (table, done)
            assert f"{table} is empty" in lines[0] and how in lines[0], lines
    # The message appears once for a query, but not if there are rows or if a condition excluded
    # them all.
    done = run("query", DEMO,
               "SELECT (SELECT count(*) FROM interrupts), count(*) FROM thread_states")
    assert len(done.stderr.splitlines()) == 1 and "; " in done.stderr, done
    for sql in ("SELECT count(*) FROM api", "SELECT * FROM api WHERE name = 'nosuch'",
                "SELECT * FROM losses", "SELECT * FROM ops"):
        done = run("query", DEMO, sql)
        assert (done.returncode, done.stderr) == (0, ""), (sql, done)
    for section, how in (("system", "--sources sched"), ("sites", "--stacks")):
        text = " ".join(run("report", DEMO, "--section", section).stdout.split())
        assert how in text, (section, text)


def without_clock():
    """A trace whose device was never related to the host's clock."""
    path = place("noclock.atrace")
    if not os.path.exists(path):
        made = subprocess.run([os.path.join(BUILD, "test", "make-page-trace"), "noclock", path],
                              capture_output=True, text=True, timeout=60, check=False)
        assert made.returncode == 0, made
    return path


@case
def bounds_that_are_not_known_are_nowhere_numbers():
    """More than three years of ns have 18 digits; so has no other number of this trace."""
    far = re.compile(r"\d{9,} s\b|(?<![\d.])\d{18,}\b|∞")
    trace = without_clock()
    for words in (["report", trace, "--full"], ["report", trace], ["verify", trace],
                  ["critical-path", trace], ["diff", trace, trace]):
        text = run(*words).stdout
        assert text and not far.search(text), (words, far.search(text))
    for words in (["report", trace, "--json"], ["diff", trace, trace, "--json"],
                  ["verify", trace, "--json"], ["critical-path", trace, "--json"],
                  ["check", trace, "p99(job.latency) < 80us", "--json"]):
        text = run(*words).stdout
        json.loads(text)
        assert not far.search(text), (words, text[far.search(text).start() - 200:][:400])
    done = run("query", trace, "SELECT start_lo_ns, start_hi_ns, start_ns FROM commands", "--json")
    rows = json.loads(done.stdout)["rows"]
    assert rows and all(lo is None and hi is None and mid > 0 for lo, hi, mid in rows), rows[:3]
    for sql in ("SELECT * FROM ops", "SELECT * FROM units", "SELECT * FROM job_stages",
                "SELECT * FROM gaps", "SELECT * FROM clocks", "SELECT * FROM transfers",
                "SELECT count(*), max(start_hi_ns), min(end_lo_ns) FROM commands"):
        text = run("query", trace, sql, "--csv").stdout
        assert text and not far.search(text), (sql, far.search(text))
    out = place("noclock")
    run("export", trace, "--format", "csv", "-o", out)
    for name in sorted(os.listdir(out)):
        with open(os.path.join(out, name), encoding="utf-8") as file:
            for row in csv.DictReader(io.StringIO(file.read())):
                for column, value in row.items():
                    if column.endswith(("_lo_ns", "_hi_ns")) or column.startswith("bound_"):
                        assert len(value) < 18, (name, column, value)
    run("export", trace, "--format", "chrome", "-o", out + ".json")
    with open(out + ".json", encoding="utf-8") as file:
        text = file.read()
    assert "time_bound_ns" not in text and "doorbell_bound_ns" not in text


@case
def a_comparison_cuts_no_number_at_any_width():
    """Each number of the wide form is in the narrow ones, in the columns that they have."""
    wide = run("diff", DEMO, STEP).stdout
    assert "…" not in wide, wide
    if "cannot be compared" in wide:
        return
    json.loads(run("diff", DEMO, STEP, "--json").stdout)


def main():
    return tap.run(case)


if __name__ == "__main__":
    sys.exit(main())
