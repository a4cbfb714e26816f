#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""acceltrace report as people see it: the answer, its parts, narrow and plain terminals."""

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

ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
GOLDEN = os.path.join(REPO, "tests", "golden")
TRACES = ["step", "broken", "demo"]
TEXT_VERBS = [["report"], ["report", "--full"], ["report", "--summary"], ["verify"],
              ["critical-path"], ["whatif", "--set", "host.speed=x2"]]
folder = tempfile.TemporaryDirectory()
case = tap.Cases()


def path(trace):
    return os.path.join(GOLDEN, trace + ".atrace")


def run(*words, text=True, **variables):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("COLUMNS", "LC_ALL", "LC_CTYPE", "LANG", "NO_COLOR", "TERM")}
    return subprocess.run([ACCELTRACE, *words], capture_output=True, text=text, timeout=60,
                          check=False, env={**environment, **variables})


def utf8(*words, **variables):
    done = run(*words, text=False, **variables)
    return done.stdout.decode("utf-8")


@case
def the_answer_fits_on_a_screen():
    for trace in TRACES:
        for columns in ("80", "100", "200"):
            text = utf8("report", path(trace), COLUMNS=columns)
            assert len(text.splitlines()) <= 24, (trace, columns, text)
            for word in ("VERDICT", "WHERE THE TIME WENT", "--full", "docs/glossary.md"):
                assert word in text, (word, text)


@case
def no_line_is_wider_than_asked():
    for trace in TRACES:
        for words in TEXT_VERBS:
            for columns in (60, 80, 132):
                text = utf8(words[0], path(trace), *words[1:], COLUMNS=str(columns))
                widest = max(text.splitlines(), key=len)
                assert len(widest) <= columns, (trace, words, columns, widest)
            assert max(map(len, utf8(words[0], path(trace), *words[1:]).splitlines())) <= 80


@case
def what_is_left_out_is_named():
    narrow, wide = (utf8("report", path("demo"), "--section", "utilisation", COLUMNS=columns)
                    for columns in ("80", "200"))
    left_out = re.search(r"wider: (.*)", narrow).group(1).split(", ")
    assert left_out and "wider:" not in wide
    for title in left_out:
        titles = [next(line for line in text.splitlines() if line.startswith("  unit "))
                  for text in (narrow, wide)]
        assert title not in titles[0] and title in titles[1], titles


@case
def names_are_never_cut():
    for columns in ("60", "80", "100", "200"):
        text = utf8("report", path("demo"), "--section", "ops", COLUMNS=columns)
        assert "…" not in text and "load_qkv" in text, text
        assert text.count("layer[0-3].") > 5, text


@case
def sections_come_alone_and_in_order():
    whole = utf8("report", path("demo"), "--full")
    assert "utilisation, latency" in " ".join(run("report", "--help").stdout.split())
    text = utf8("report", path("demo"), "--section", "ops,latency")
    assert text.startswith("LATENCY") and "\nOPS BY DEVICE TIME" in text and "VERDICT" not in text
    assert all(line in whole for line in text.splitlines())
    assert utf8("report", path("demo"), "--section", "help,memory").count("\n\n") == 1
    for words in (["--section", "everything"], ["--section", "ops", "--full"]):
        done = run("report", path("demo"), *words)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done


@case
def plain_terminals_get_ascii():
    for trace in TRACES:
        for words in TEXT_VERBS:
            done = run(words[0], path(trace), *words[1:], text=False, LC_ALL="C")
            assert all(byte == 10 or 32 <= byte < 127 for byte in done.stdout), (trace, words)
            assert len(done.stdout) > 100
    assert "±" in utf8("report", path("step"), LC_ALL="C.UTF-8")


def calibrated(ceilings, device="axl0"):
    file = os.path.join(folder.name, "ceilings.json")
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"schema": "acceltrace-ceilings/1",
                   "devices": [{"device": device, "ceilings": ceilings}]}, out)
    return file


@case
def measured_ceilings_replace_the_devices():
    file = calibrated([{"resource": "h2d", "unit": "bytes", "per_s": 12.5e9, "by": "copy_in"}])
    before, after = (json.loads(utf8("report", path("demo"), "--json", *words))["roofline"][0]
                     for words in ([], ["--ceilings", file]))
    rate = {row["resource"]: row for row in after["ceilings"]}
    assert rate["h2d"] == {"resource": "h2d", "counts": "bytes", "per_s": 12500000000.0,
                           "measured": True}
    assert not rate["memory"]["measured"]
    for old, new in zip(before["ops"], after["ops"]):
        slower = old["unit"] == "h2d" and old["bytes"] > 0
        assert (old["of_roof"] != new["of_roof"]) == slower, (old, new)
    assert "h2d 12.5 GB/s (measured)" in " ".join(
        utf8("report", path("demo"), "--section", "roofline", "--ceilings", file).split())


@case
def bad_ceilings_are_one_clear_line():
    row = {"resource": "h2d", "unit": "bytes", "per_s": 1}
    bad = [b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}" * 600000,
           {"schema": "acceltrace-ceilings/2", "devices": []}]
    for devices in (None, {}, [1], [{}], [{"device": "axl0"}], [{"device": 1, "ceilings": []}],
                    [{"device": "a", "ceilings": [1]}], [{"device": "a", "ceilings": [row] * 65}],
                    [{"device": "a", "ceilings": []}] * 65, [{"device": "a" * 300, "ceilings": []}],
                    *([{"device": "a", "ceilings": [{**row, **change}]}] for change in (
                        {"per_s": 0}, {"per_s": -1}, {"per_s": "1"}, {"resource": 3},
                        {"unit": None}))):
        bad.append({"schema": "acceltrace-ceilings/1", "devices": devices})
    file = os.path.join(folder.name, "bad.json")
    for content in bad:
        with open(file, "wb") as out:
            out.write(content if isinstance(content, bytes) else json.dumps(content).encode())
        done = run("report", path("demo"), "--ceilings", file)
        assert (done.returncode, len(done.stderr.splitlines()), done.stdout) == (2, 1, ""), (
            content, done)
        assert "axl-calibrate" in done.stderr, done.stderr
    done = run("report", path("demo"), "--ceilings", os.path.join(folder.name, "none"))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done


if __name__ == "__main__":
    sys.exit(tap.run(case))
