#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""acceltrace query, check, diff and filters, through the program."""

import csv
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

sys.dont_write_bytecode = True
REPO = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402

BUILD = os.path.join(REPO, "build")
ACCELTRACE = os.path.join(BUILD, "bin", "acceltrace")
GOLDEN = os.path.join(REPO, "tests", "golden")
DEMO = os.path.join(GOLDEN, "demo.atrace")
BROKEN = os.path.join(GOLDEN, "broken.atrace")
folder = tempfile.TemporaryDirectory()
case = tap.Cases()


def run(*words, **more):
    return subprocess.run([ACCELTRACE, *words], capture_output=True, text=True, timeout=60,
                          check=False, **more)


def ask(sql, *words, file=DEMO, status=0):
    done = run("query", file, sql, "--json", *words)
    assert done.returncode == status, (sql, words, done.stderr)
    found = json.loads(done.stdout)
    assert (found["schema"], found["version"]) == ("acceltrace.query", 1)
    return found["rows"]


def one(sql, *words, **more):
    return ask(sql, *words, **more)[0][0]


def refused(status, text, *words):
    done = run("query", *words)
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines)) == (status, 1), (words, done)
    assert text in lines[0], (words, lines)
    return done


def expanded(name):
    """X_{a,b} is X_a and X_b."""
    found = re.fullmatch(r"([^{]*)\{([^}]*)\}", name)
    return [found[1] + part for part in found[2].split(",")] if found else [name]


@case
def the_document_lists_what_there_is():
    done = run("query", DEMO, "--tables", "--csv")
    assert done.returncode == 0, done
    there = {}
    for row in list(csv.reader(io.StringIO(done.stdout)))[1:]:
        name = re.sub(r"^stall_.*_ticks$", "stall_CAUSE_ticks", row[1])
        there.setdefault(row[0], [])
        if name not in there[row[0]]:
            there[row[0]].append(name)
    with open(os.path.join(REPO, "docs", "query.md"), encoding="utf-8") as file:
        text = file.read()
    documented = {}
    for title, body in re.findall(r"^### (\w+)\n(.*?)(?=^##)", text, re.M | re.S):
        body = re.sub(r"\([^()]*\)", "", body)  # remarks
        documented[title] = [
            name for word in re.findall(r"`([^`]+)`", body) for name in expanded(word)]
    assert sorted(documented) == sorted(there), set(documented) ^ set(there)
    for table, columns in there.items():
        assert documented[table] == columns, (table, set(documented[table]) ^ set(columns))


@case
def output_forms():
    sql = "SELECT name, count(*) AS n FROM api GROUP BY name ORDER BY n DESC LIMIT 3"
    table = run("query", DEMO, sql).stdout.splitlines()
    assert table[0].split() == ["name", "n"] and len(table) == 4, table
    rows = list(csv.reader(io.StringIO(run("query", DEMO, sql, "--csv").stdout)))
    assert rows[0] == ["name", "n"] and len(rows) == 4, rows
    assert [[name, int(n)] for name, n in rows[1:]] == ask(sql)
    assert len(ask("SELECT name FROM api", "--top", "7")) == 7
    values = ask("SELECT NULL, 1, 2.5, 'a\"b', x'00ff', 9e999")
    assert values == [[None, 1, 2.5, 'a"b', "00ff", None]], values
    refused(2, "excludes", DEMO, sql, "--csv", "--json")


@case
def what_is_wrong_is_one_line():
    refused(2, "syntax error", DEMO, "SELEC 1")
    errors = refused(2, "unrecognized token", DEMO, "SELECT\n\x1b[31m1 FROM jobs").stderr
    assert errors.strip().isprintable(), errors
    refused(2, "no such table: nosuch; --tables lists", DEMO, "SELECT * FROM nosuch")
    refused(2, "can only be read", DEMO, "DROP TABLE jobs")
    refused(2, "one at a time", DEMO, "SELECT 1; SELECT 2")
    refused(2, "no query", DEMO)
    refused(2, "not both", DEMO, "SELECT 1", "--tables")
    refused(2, "FILE is required")
    refused(1, "cannot open", "/nowhere/x", "SELECT 1")
    refused(1, "steps", DEMO, "SELECT count(*) FROM commands a, commands b, commands c", "--steps",
            "100000")
    refused(1, "memory", DEMO, "SELECT max(x) FROM (SELECT a.correlation AS x, randomblob(500) AS y"
            " FROM commands a, commands b LIMIT 100000) GROUP BY y", "--memory", "4MB")
    # A query on a lossy trace is answered, with a warning.
    done = refused(1, "the answer lacks what is missing", BROKEN, "SELECT count(*) FROM jobs")
    assert done.stdout.split()[-1].isdigit(), done


@case
def a_file_of_the_same_tables():
    path = os.path.join(folder.name, "trace.sqlite")
    done = run("export", DEMO, "--format", "sqlite", "-o", path)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert os.listdir(folder.name) == ["trace.sqlite"]
    stored = sqlite3.connect(path)
    names = [row[0] for row in stored.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    assert names == sorted({row[0] for row in csv.reader(io.StringIO(
        run("query", DEMO, "--tables", "--csv").stdout))} - {"table"})
    for name in names:
        rows = [list(row) for row in stored.execute(f'SELECT * FROM "{name}" ORDER BY rowid')]
        assert rows == ask(f'SELECT * FROM "{name}"'), name
    assert stored.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    for words, status in ((["-o", "-"], 2), (["-o", "/nowhere/x"], 1), (["-o", "/dev/full"], 1)):
        done = run("export", DEMO, "--format", "sqlite", *words)
        assert (done.returncode, len(done.stderr.splitlines())) == (status, 1), done
    done = run("export", BROKEN, "--format", "sqlite", "-o", path)
    assert done.returncode == 1 and "lacks what is missing" in done.stderr, done


@case
def filters_cut_the_same_everywhere():
    jobs, calls, commands = (one(f"SELECT count(*) FROM {table}")
                             for table in ("jobs", "api", "commands"))
    pid = one("SELECT DISTINCT pid FROM jobs")
    count = "SELECT count(*) FROM jobs"
    assert one(count, "--process", str(pid)) == jobs
    assert one(count, "--process", "axl-*", "--device", "axl0") == jobs
    for words, text in ((["--process", "nobody"], "no such process"),
                        (["--device", "axl7"], "no such device"),
                        (["--range", "nosuch*"], "no such range"),
                        (["--from", "5"], "is no time"), (["--to", "soon"], "is no time"),
                        (["--stream", "977"], "no such stream as 977 in the trace; there are: 0"),
                        (["--from", "-2ms"], "from the trace's begin on"),
                        (["--from", "2ms", "--to", "1ms"], "2.000 ms lies after --to 1.000 ms")):
        refused(2, text, DEMO, count, *words)
    inside = one(count, "--range", "decode*")
    assert 0 < inside < jobs, inside
    # Windows before and after a time: each row is in one of them, and overlapping jobs are in both.
    begin, end, middle = ask("SELECT begin_ns, end_ns, (SELECT max(submit_ns) + min(submit_ns) "
                             "FROM jobs) / 2 - begin_ns FROM trace")[0]
    first = one(count, "--to", f"{middle}ns")
    second = one(count, "--from", f"{middle}ns")
    assert jobs <= first + second <= jobs + 5 and first > 0 and second > 0, (first, second)
    assert one("SELECT count(*) FROM api", "--to", f"{end - begin}ns") == calls
    # A job in the window is complete.
    window = ["--from", f"{middle}ns", "--to", f"{middle + 1000000}ns"]
    assert one("SELECT count(*) FROM jobs WHERE on_device AND commands_retired <> (SELECT count(*) "
               "FROM commands c WHERE c.device = jobs.device AND c.job = jobs.job)", *window) == 0
    assert one("SELECT count(*) FROM jobs WHERE api_name = ''", *window) == 0
    assert one("SELECT count(*) FROM commands", *window) < commands
    # All verbs use the same part, and a part of a whole trace does not count as damaged.
    whole = json.loads(run("critical-path", DEMO, "--json").stdout)
    for words in (window, ["--range", "decode*"], ["--process", str(pid)], ["--stream", "0"],
                  ["--device", "axl0"]):
        done = run("report", DEMO, "--json", *words)
        assert done.returncode == 0, (words, done.stderr)
        report = json.loads(done.stdout)
        assert report["counts"]["jobs"] == one(count, *words), words
        assert report["trace"]["selection"]["rows"] <= report["trace"]["selection"]["rows_of_all"]
        broken = [law for law in report["conservation"] if law["state"] == "broken"]
        assert not broken and report["causality"]["violations"] == 0, (words, broken)
        path = os.path.join(folder.name, "part.sqlite")
        assert run("export", DEMO, "--format", "sqlite", "-o", path, *words).returncode == 0
        assert sqlite3.connect(path).execute(count).fetchone()[0] == report["counts"]["jobs"]
        # These are the other verbs that read traces.
        chain = json.loads(run("critical-path", DEMO, "--json", *words).stdout)
        faster = json.loads(run("whatif", DEMO, "--without-tracer", "--json", *words).stdout)
        if report["counts"]["jobs"] == 0:
            assert "no work" in chain["error"] and faster["error"], (words, chain, faster)
        else:
            assert 0 < chain["run_ns"] <= whole["run_ns"], (words, chain["run_ns"])
            assert (chain["run_ns"] == whole["run_ns"]) == (report["counts"]["jobs"] == jobs)
            assert abs(faster["recorded_ns"] - chain["run_ns"]) <= 1, (words, faster)
        page = os.path.join(folder.name, "part.html")
        assert run("html", DEMO, "-o", page, *words).returncode == 0
        with open(page, encoding="utf-8") as text:
            assert report["trace"]["selection"]["text"] in text.read(), words
    assert "selected" in run("report", DEMO, *window).stdout
    # A damaged trace stays damaged, whatever part is selected.
    assert run("report", BROKEN, "--to", "1ns").returncode == 1


@case
def rows_and_their_order():
    report = json.loads(run("report", DEMO, "--json", "--sort", "count").stdout)
    counts = [op["count"] for op in report["ops"]]
    assert counts == sorted(counts, reverse=True)
    text = run("report", DEMO, "--top", "2", "--sort", "name", "--section", "ops").stdout
    ops = [line for line in text.splitlines() if line.startswith("  layer") or "%" in line]
    assert len(ops) == 2, text
    assert run("report", DEMO, "--sort", "colour").returncode == 2


@case
def a_summary_is_that_of_the_whole():
    done = run("report", DEMO, "--summary", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["schema"]) == (0, "acceltrace.summary"), done
    assert found["from_index"]
    report = json.loads(run("report", DEMO, "--json").stdout)
    counts = report["counts"]
    assert found["tables"]["api"] == counts["api_calls"], found
    assert found["tables"]["commands"] == counts["commands"], found
    assert found["length_ns"] == report["trace"]["stop_at_ns"] - report["trace"]["start_at_ns"]
    # Counters cover another window, from their first snapshot to the last, but the order is the
    # same.
    units = report["utilisation"][0]["units"]
    busiest = max(units, key=lambda unit: unit["busy"]["ns"])["unit"]
    assert found["units"][0]["unit"] == busiest, (found["units"], busiest)
    # Without an index, all of it is read.
    with open(DEMO, "rb") as file:
        data = file.read()
    cut = os.path.join(folder.name, "cut")
    with open(cut, "wb") as file:
        file.write(data[:-1])
    done = run("report", cut, "--summary", "--json")
    whole = json.loads(done.stdout)
    assert done.returncode == 1 and not whole["from_index"], done
    assert whole["tables"]["commands"] == counts["commands"], whole
    with open(cut, "wb") as file:
        file.write(data[:200] + bytes(300) + data[500:])
    assert run("report", cut, "--summary").returncode == 1
    done = run("report", BROKEN, "--summary", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done
    losses = json.loads(run("report", BROKEN, "--json").stdout)["losses"]
    assert found["from_index"] and found["lost"] == losses["lost"] > 0, (found, losses)
    assert run("report", "/nowhere", "--summary").returncode == 1


@case
def what_changed():
    done = run("diff", DEMO, DEMO, "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["schema"], found["comparable"]) == (0, "acceltrace.diff", True)
    assert {op["certainty"] for op in found["ops"]} == {"same"}, done
    done = run("diff", os.path.join(GOLDEN, "step.atrace"), DEMO)
    assert done.returncode == 1 and "cannot be compared" in done.stderr, done
    assert "cannot be compared" in done.stdout and len(done.stderr.splitlines()) == 1, done
    done = run("diff", os.path.join(GOLDEN, "step.atrace"), BROKEN)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done
    assert run("diff", DEMO).returncode == 2


@case
def assertions():
    def check(status, *words):
        done = run("check", *words)
        lines = done.stderr.splitlines()
        assert (done.returncode, len(lines)) == (status, 1 if status else 0), (words, done)
        return done.stdout, "".join(lines)

    check(0, DEMO, "losses == 0", "jobs > 1", "share(class.computing) < 100%")
    text, errors = check(1, DEMO, "losses == 0", "p99(job.latency) < 1us", "jobs == 1")
    assert "2 of 3 rules failed: line 1: p99(job.latency) < 1us: is " in errors, errors
    assert [line.split()[0] for line in text.splitlines()] == ["pass", "FAIL", "FAIL"], text
    _, errors = check(2, DEMO, "p99(job.latency) < 80")
    assert "column 18" in errors and "write a unit" in errors, errors
    check(2, DEMO, "run <= 1.1 * baseline")
    check(0, DEMO, "run <= 1.1 * baseline", "--baseline", DEMO)
    # The values are equal within their bounds, so the rule is undecided.
    rule = 'p50(op."*") <= baseline'
    assert check(1, DEMO, rule, "--baseline", DEMO)[0].startswith("UNSURE")
    assert check(0, DEMO, rule, "--baseline", DEMO, "--lenient")[0].startswith("likely")
    name = os.path.join(folder.name, "rules")
    with open(name, "w", encoding="utf-8") as file:
        file.write("# of the demo\n\nlosses == 0\nop.x < 1\n")
    _, errors = check(2, DEMO, name)
    assert "rules: line 4, column 1: " in errors, errors
    with open(name, "w", encoding="utf-8") as file:
        file.write('losses == 0\ncount(api.name == "<&>\'") == 1\n')
    xml = os.path.join(folder.name, "junit.xml")
    check(1, DEMO, name, "--junit", xml)
    suite = ElementTree.parse(xml).getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1"), suite.attrib
    cases_ = suite.findall("testcase")
    assert cases_[1].get("name") == 'count(api.name == "<&>\'") == 1', cases_[1].attrib
    assert [len(case_.findall("failure")) for case_ in cases_] == [0, 1]
    found = json.loads(check(1, DEMO, name, "--json")[0])
    assert [rule["state"] for rule in found["rules"]] == ["pass", "fail"], found
    # In a lossy trace, what was lost could change the outcome, and the losses are reported.
    text, errors = check(1, BROKEN, "jobs < 1000", "losses > 0")
    assert "rows are missing" in errors and "pass   losses > 0" in text, (text, errors)
    check(1, BROKEN, "losses > 0")
    check(0, DEMO, "count(jobs) == 0", "--to", "1ns")


if __name__ == "__main__":
    sys.exit(tap.run(case))
