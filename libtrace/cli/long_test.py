#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Long traces: answers from a part of the file, through the program."""

import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
REPO = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402

BUILD = os.path.join(REPO, "build")
ACCELTRACE = os.path.join(BUILD, "bin", "acceltrace")
MAKE = os.path.join(BUILD, "test", "make-page-trace")
JOBS, EACH_NS, CALL_NS = 50_000, 12_000, 1_200  # as make-page-trace makes them
folder = tempfile.TemporaryDirectory()
LONG = os.path.join(folder.name, "long.atrace")
PACKED = os.path.join(folder.name, "packed.atrace")
case = tap.Cases()


def run(*words, status=1):
    """status: 1, since the trace has losses."""
    done = subprocess.run([ACCELTRACE, *words], capture_output=True, text=True, timeout=120,
                          check=False, env={**os.environ, "COLUMNS": "80", "LC_ALL": "C.UTF-8"})
    assert done.returncode == status, (words, done.returncode, done.stderr)
    return done


def bytes_read():
    """By all commands up to now, as the kernel counts what a process and its children read."""
    with open("/proc/self/io", encoding="ascii") as file:
        return int(file.readline().removeprefix("rchar:"))


@case
def a_time_of_a_long_trace_is_what_the_whole_has_there():
    begin_ns, end_ns = 200_000_000, 210_000_000
    # Counted from the first call, which is the first event.
    calls = [n for n in range(JOBS)
             if n * EACH_NS <= end_ns and n * EACH_NS + CALL_NS >= begin_ns]
    for path in (LONG, PACKED):
        words = ("--from", f"{begin_ns}ns", "--to", f"{end_ns}ns")
        counts = json.loads(run("report", path, "--json", *words).stdout)["counts"]
        # A job is included if any part of it is, along with its call.
        assert len(calls) <= counts["api_calls"] <= len(calls) + 1, (path, counts, len(calls))
        # The job of the last call may begin after the end.
        assert counts["api_calls"] - 1 <= counts["jobs"] <= counts["api_calls"], counts
        assert counts["commands"] == 4 * counts["jobs"], counts
        found = json.loads(run("query", path, "select min(job), max(job), count(*) from jobs",
                               "--json", *words).stdout)["rows"][0]
        assert found[2] == counts["jobs"] and found[1] - found[0] + 1 == found[2], found
        first, last = found[0] - 1, found[1] - 1
        assert abs(first - calls[0]) <= 1 and calls[-1] - 1 <= last <= calls[-1], (found, calls)


@case
def a_report_of_a_long_trace_is_of_stretches_and_says_so():
    text = run("report", LONG).stdout
    lines = text.splitlines()
    assert "by 12 stretches" in lines[1] and "550,000 events" in lines[1], text
    assert len(lines) <= 30 and max(map(len, lines)) <= 80, text
    assert "lost" in text, text
    whole = json.loads(run("report", LONG, "--json").stdout)
    some = json.loads(run("report", LONG, "--json", "--stretches", "6").stdout)
    assert (some["schema"], some["version"]) == ("acceltrace.stretches", 1)
    assert len(some["stretches"]) == 6 and some["events_read"] < some["events"] / 4, some
    assert some["lost"] == whole["losses"]["lost"], some
    for name, share in some["time"].items():
        of_all = whole["breakdown"]["classes"][name]["share"]
        assert share["lo"] - 0.002 <= of_all <= share["hi"] + 0.002, (name, share, of_all)
    assert some["gains"][0]["resource"] == whole["limiter"]["gains"][0]["resource"]
    assert abs(some["gains"][0]["share"]["mid"] - whole["limiter"]["gains"][0]["share"]) < 0.01


@case
def commands_alone_are_what_they_are_among_the_rest():
    asks = ("SELECT op, unit, count(*), sum(bytes), sum(work), sum(busy_ticks),"
            " sum(end_ticks - start_ticks), max(end_raw_ticks), min(job), max(limiter)"
            " FROM commands {} GROUP BY op, unit ORDER BY op, unit")
    answers = []
    for path in (LONG, PACKED):
        for rest in ("", "WHERE (SELECT count(*) FROM api) > 0"):
            answers.append(json.loads(run("query", path, asks.format(rest), "--json").stdout))
    assert answers[0]["rows"] and all(answer["rows"] == answers[0]["rows"] for answer in answers)
    # Losses are reported in both cases.
    for rest in ("", "WHERE (SELECT count(*) FROM api) > 0"):
        assert "loss: " in run("query", LONG, asks.format(rest)).stderr, rest


@case
def rows_of_a_time_are_what_they_are_among_the_rest():
    # The second condition uses another table, so everything within the time is read.
    for sql in ("SELECT unit, count(*), sum(bytes), min(job), max(job), max(end_raw_ticks),"
                " min(\"index\"), max(op) FROM commands {} GROUP BY unit ORDER BY unit",
                "SELECT * FROM api {}", "SELECT count(*), max(end_ns) FROM api {}"):
        for begin_ns, end_ns in ((0, 9_000_000), (300_000_000, 306_000_123), (590_000_000, 10**9)):
            words = ("--csv", "--from", f"{begin_ns}ns", "--to", f"{end_ns}ns")
            answers = [run("query", path, sql.format(rest), *words)
                       for path in (LONG, PACKED)
                       for rest in ("", "WHERE (SELECT count(*) FROM jobs) > 0")]
            assert len(answers[0].stdout.splitlines()) > 1, (sql, words, answers[0])
            # A query that is also limited to a container cannot be answered by the time alone.
            refused = run("query", LONG, sql.format(""), *words, "--container", "web", status=2)
            assert "no such container as web" in refused.stderr, refused
            for answer in answers[1:]:
                assert answer.stdout == answers[0].stdout, (sql, words)
                assert "loss: " in answer.stderr, answer


@case
def a_query_of_rows_of_a_time_reads_no_more_than_that():
    """By its WHERE: of a column alone what lies there is read, of a term everything."""
    if not os.path.exists("/proc/self/io"):
        raise tap.Skip("this kernel does not count what processes read")
    begin_ns = int(json.loads(run("query", LONG, "SELECT begin_ns FROM trace",
                                  "--json").stdout)["rows"][0][0])
    lo_ns, hi_ns = begin_ns + 200_000_000, begin_ns + 206_000_000
    for path in (LONG, PACKED):
        for asked, table, column in (
                ("*", "api", "begin_ns"), ("*", "api", "end_ns"),
                ("job, api_name, submit_ns, consumed_ns, completion_ticks", "jobs", "submit_ns"),
                ("job, api_name, wait_api_name, submit_ns, wake_ns", "jobs", "completion_ns"),
                ('job, "index", op, bytes, start_ticks, end_ticks', "commands", "start_ns"),
                ("*", "host_events", "time_ns"), ("*", "device_events", "time_ns")):
            rows, read = [], []
            for term in (column, f"{column} + 0"):
                sql = (f"SELECT {asked} FROM {table} WHERE {term} >= {lo_ns} AND {term} < {hi_ns}"
                       f" ORDER BY {column}")
                before = bytes_read()
                rows.append(json.loads(run("query", path, sql, "--json").stdout)["rows"])
                read.append(bytes_read() - before)
            assert rows[0] == rows[1], (path, table, column, len(rows[0]), len(rows[1]))
            assert table in ("host_events", "device_events") or len(rows[0]) > 400, (table, rows)
            # The time is a hundredth of the trace; in small files the parts are relatively large.
            assert read[0] < read[1] / 2, (path, table, column, read)


@case
def all_of_it_is_read_when_asked_for():
    assert "stretches" not in run("report", LONG, "--all").stdout
    assert "stretches" not in run("report", LONG, "--section", "losses").stdout


@case
def no_more_is_read_than_fits_into_the_memory_allowed():
    assert "by 12 stretches" in run("report", LONG, "--memory", "64MB").stdout
    page = os.path.join(folder.name, "page.html")
    for words in (["report", LONG, "--all"], ["report", LONG, "--json"], ["verify", LONG],
                  ["critical-path", LONG], ["whatif", LONG], ["html", LONG, "-o", page],
                  ["export", LONG, "--format", "chrome", "-o", "-"], ["diff", LONG, LONG]):
        done = run(*words, "--memory", "64MB")
        assert len(done.stderr.splitlines()) == 1 and not done.stdout, (words, done)
        assert "more than --memory allows" in done.stderr, (words, done)
    assert not os.path.exists(page)
    tables = os.path.join(folder.name, "csv")
    run("export", LONG, "--format", "csv", "-o", tables, "--memory", "1GB")
    done = run("report", LONG, "--from", "0ms", "--to", "250ms", "--memory", "64MB")
    assert "more than --memory allows" in done.stderr, done
    # Without an index, this is only found while reading.
    with open(LONG, "rb") as file:
        data = file.read()
    path = os.path.join(folder.name, "cut.atrace")
    with open(path, "wb") as file:
        file.write(data[:len(data) - 100])
    assert "more than" in run("verify", path, "--memory", "64MB").stderr


@case
def a_short_trace_is_read_as_a_whole():
    demo = os.path.join(REPO, "tests", "golden", "demo.atrace")
    assert "stretches" not in run("report", demo, status=0).stdout
    assert "by 3 stretches" in run("report", demo, "--stretches", "3", status=0).stdout or \
        "by 1 stretch," in run("report", demo, "--stretches", "3", status=0).stdout


@case
def damage_is_found_or_the_whole_is_read():
    with open(LONG, "rb") as file:
        data = bytearray(file.read())
    path = os.path.join(folder.name, "damaged.atrace")
    for at in (len(data) // 3, len(data) // 2):
        data[at] ^= 0x10
    with open(path, "wb") as file:
        file.write(data[:len(data) - 100])
    done = run("report", path)
    assert "stretches" not in done.stdout and "verify" in done.stderr, done
    done = run("report", path, "--stretches", "4")
    assert "read as a whole" in done.stderr and not done.stdout, done
    with open(path, "wb") as file:
        file.write(data)
    # With its index, damage is reported even if it is far from the requested time.
    for words in ([], ["--from", "1ms", "--to", "2ms"]):
        done = run("report", path, *words)
        assert "stretches" not in done.stdout, done
        assert "rows of host are missing" in done.stderr, done


@case
def a_query_of_a_time_answers_for_what_it_reads():
    with open(LONG, "rb") as file:
        data = bytearray(file.read())
    data[len(data) // 2] ^= 0x10
    path = os.path.join(folder.name, "elsewhere.atrace")
    with open(path, "wb") as file:
        file.write(data)
    early, all_times = ("--from", "1ms", "--to", "9ms"), ("--from", "1ms", "--to", "590ms")
    for sql in ("select count(*), sum(bytes), max(job) from commands", "select * from host_events",
                "select * from api"):
        whole = run("query", LONG, sql, "--csv", *early)
        there = run("query", path, sql, "--csv", *early)
        assert there.stdout == whole.stdout and "missing: 50 findings" in there.stderr, there
        # The damage is within this time.
        assert "are missing" in run("query", path, sql, "--csv", *all_times).stderr
    # A query on the whole trace reads all of it.
    done = run("query", path, "select damaged_stretches from trace", "--csv", *early)
    assert done.stdout.split() == ["damaged_stretches", "1"], done
    assert "rows of commands are missing" in done.stderr, done


if __name__ == "__main__":
    subprocess.run([MAKE, "large", str(JOBS), LONG], check=True)
    subprocess.run([ACCELTRACE, "pack", LONG, "-o", PACKED], check=True, capture_output=True)
    sys.exit(tap.run(case))
