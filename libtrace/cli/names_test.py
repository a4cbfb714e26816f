#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Names in a trace are anybody's: what they may do to a terminal, to readers of JSON, XML and CSV,
and words that look like options."""

import csv
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unicodedata
import xml.etree.ElementTree

REPO = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(REPO, "tests"))
from bad_input_test import crc32c, varint  # noqa: E402
from harness import tap  # noqa: E402

ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
DEMO = os.path.join(REPO, "tests", "golden", "demo.atrace")
FOLDER = tempfile.TemporaryDirectory()
PATIENCE_S = 100
case = tap.Cases()

# Each has eight bytes, like the opcode copy_h2d.
ODD = {"escape": b"\x1b[31m\x07XY", "c1": "\u009b31mXYZ".encode(), "bidi": "A\u202eBC12".encode(),
       "wide": "日本ab".encode(), "combining": "e\u0301e\u0301ab".encode(),
       "zero": "a\u200bb\u200d".encode(), "invalid": b"ab\xff\xfecd\xc3(", "quote": b"\"'<&>]]>",
       "hebrew": "שלום".encode(), "delete": b"a\x7f\x00\r\n\tbc", "tag": "\U000e0041abcd".encode(),
       "noncharacter": "\uffffabcde".encode()}
# Nothing else than this may reach a terminal besides our own text.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e"
                    "\u2066-\u206f\ufff9-\uffff\U000e0000-\U000e0fff]")


def path(name):
    return os.path.join(FOLDER.name, name)


def rewritten(name, words):
    """The demo's trace with other words of the same lengths, its checksums made right again."""
    with open(DEMO, "rb") as file:
        data = file.read()
    at, out = 0, b""
    while at < len(data):
        begin = at
        size, at = varint(data, begin + 1)  # behind its tag
        packet = data[at:at + size]
        changed = packet
        for old, new in words.items():
            assert len(old) == len(new), (old, new)
            # Strings of protobuf follow their length.
            changed = changed.replace(bytes([len(old)]) + old, bytes([len(old)]) + new)
        if changed != packet:
            summed, tag = changed[:-9], changed[-9:-4]
            changed = summed + tag + crc32c(summed).to_bytes(4, "little")
        out += data[begin:at] + changed
        at += size
    with open(path(name), "wb") as file:
        file.write(out)
    return path(name)


def run(*words, **more):
    return subprocess.run([ACCELTRACE, *words], capture_output=True, timeout=PATIENCE_S,
                          check=False, **more)


def at_terminal(*words):
    """What a verb prints on a terminal of 100 columns, as text; its colours are taken out."""
    ours, theirs = os.openpty()
    environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    with subprocess.Popen([ACCELTRACE, *words], stdin=subprocess.DEVNULL, stdout=theirs,
                          stderr=subprocess.DEVNULL, env=environment) as process:
        os.close(theirs)
        out = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            out += part
        os.close(ours)
        process.wait()
    return re.sub(r"\x1b\[\d*(;\d+)*m", "", out.decode()).replace("\r\n", "\n")


def strict(text):
    """JSON as RFC 8259 has it: no key twice, no NaN, UTF-8."""
    def once(pairs):
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), keys
        return dict(pairs)

    def refuse(word):
        raise ValueError(word)
    return json.loads(text.decode("utf-8"), object_pairs_hook=once, parse_constant=refuse)


def columns(text):
    """As an independent table has it."""
    return sum(0 if unicodedata.combining(c) or unicodedata.category(c) in ("Cf", "Mn", "Me")
               else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


@case
def nothing_odd_reaches_a_terminal():
    for kind, odd in ODD.items():
        trace = rewritten("odd.atrace", {b"copy_h2d": odd, b"dispatch": odd})
        for words in (["report", trace, "--full"],
                      ["query", trace, "SELECT opcode FROM commands LIMIT 9"],
                      ["query", trace, "--csv", "SELECT opcode FROM commands LIMIT 9"],
                      ["query", trace, "--json", "SELECT opcode FROM commands LIMIT 9"],
                      ["report", trace, "--json"], ["verify", trace], ["critical-path", trace],
                      ["top", trace, "--once"], ["diff", trace, DEMO], ["check", trace, "jobs > 0"],
                      ["query", trace, "--tables"]):
            text = at_terminal(*words)
            found = UNSAFE.search(text)
            assert not found, (kind, words, text[max(0, found.start() - 40):found.end() + 40])


@case
def columns_stay_under_their_titles():
    for kind in ("wide", "combining", "zero", "hebrew", "bidi"):
        trace = rewritten("odd.atrace", {b"copy_h2d": ODD[kind]})
        lines = run("query", trace, "SELECT opcode, 'x' AS mark FROM commands GROUP BY opcode"
                    ).stdout.decode().splitlines()
        at = {columns(line[:line.rindex("x" if n else "mark")]) for n, line in enumerate(lines)}
        assert len(at) == 1 and len(lines) > 3, (kind, lines)


@case
def cut_names_fit():
    trace = rewritten("odd.atrace", {b"bin/axl-transformer": "日本語日本語".encode() + b"a"})
    for width in (40, 41, 60, 80):
        environment = {**os.environ, "COLUMNS": str(width), "LC_ALL": "C.UTF-8"}
        for words in (["report", trace, "--full"],
                      ["query", trace, "SELECT 'e\u0301日本' || opcode || "
                       "'日本語日本語日本語日本語日本語', 1 FROM commands LIMIT 5"]):
            for line in run(*words, env=environment).stdout.decode().splitlines():
                assert columns(line) <= width or " " not in line.strip(), (width, words, line)


@case
def csv_holds_what_the_trace_holds():
    for kind, odd in ODD.items():
        if kind == "invalid":
            continue  # is no string of a trace
        trace = rewritten("odd.atrace", {b"copy_h2d": odd})
        out = run("query", trace, "--csv", "SELECT opcode FROM commands WHERE opcode LIKE ? || '%'"
                  .replace("? || '%'", "'%'")).stdout.decode()
        cells = {row[0] for row in csv.reader(io.StringIO(out, newline=""))}
        if kind != "delete":  # SQL's text ends at a zero
            assert odd.decode() in cells, (kind, cells)


@case
def json_is_strict_whatever_the_names():
    twice = {b"dispatch": b"throttle", b"semaphore": b"semaphorE", b"pcie": b"pcie"}
    for words in (twice, *({b"copy_h2d": odd, b"dispatch": odd} for odd in ODD.values())):
        trace = rewritten("odd.atrace", words)
        for verb in (["report", trace, "--json"], ["verify", trace, "--json"],
                     ["critical-path", trace, "--json"], ["diff", trace, DEMO, "--json"],
                     ["whatif", trace, "--set", "pcie.bandwidth=x2", "--json"],
                     ["check", trace, "jobs > 0", "--json"],
                     ["query", trace, "--json", "SELECT * FROM commands LIMIT 5"]):
            done = run(*verb)
            assert done.stdout, (verb, done.stderr)
            strict(done.stdout)
        if words is twice or b"\xff" not in words[b"copy_h2d"]:
            done = run("export", trace, "--format", "chrome", "-o", path("chrome.json"))
            assert os.path.exists(path("chrome.json")), done
            with open(path("chrome.json"), "rb") as file:
                events = strict(file.read())["traceEvents"]
            os.unlink(path("chrome.json"))
            assert events
    # Both devices of the same name must be there.
    trace = rewritten("odd.atrace", twice)
    header = run("query", trace, "--csv", "SELECT * FROM commands LIMIT 1").stdout.split(b"\n")[0]
    assert b"stall_throttle_ticks," in header and header.count(b"stall_throttle_ticks") == 2, header


@case
def junit_is_xml_whatever_the_names():
    rules = ["jobs > 0", "jobs < 0"]
    for kind, odd in ODD.items():
        trace = rewritten("odd.atrace", {b"copy_h2d": odd})
        named = os.path.join(FOLDER.name.encode(), odd.replace(b"/", b"_").replace(b"\0", b"0"))
        shutil.copy(trace, named)
        text = odd.replace(b"\n", b"").replace(b"\r", b"").replace(b"\0", b"")
        for quote in (b"'", b'"'):
            if quote not in text:
                rule = b"count(op " + quote + text + quote + b") >= 0"
                done = run("check", named, *rules, rule, b"jobs > 0 # " + text, "--junit", "-")
                if done.returncode == 2:  # that rule cannot be had
                    done = run("check", named, *rules, b"jobs > 0 # " + text, "--junit", "-")
                root = xml.etree.ElementTree.fromstring(done.stdout)
                assert len(root.findall(".//testcase")) >= 3, (kind, done)
                assert len(root.findall(".//failure")) >= 1, (kind, done)


@case
def what_is_no_utf8_is_said_in_our_words():
    trace = rewritten("odd.atrace", {b"bin/axl-transformer": b"bin/\xff" + b"x" * 14})
    for verb in ("report", "verify", "critical-path", "top"):
        done = run(verb, trace)
        assert b"libprotobuf" not in done.stderr + done.stdout, done.stderr
        assert all(line.startswith(b"acceltrace") for line in done.stderr.splitlines()), done.stderr


@case
def every_verb_takes_names_that_look_like_options():
    shutil.copy(DEMO, path("-x.atrace"))
    with open(path("--rules"), "w", encoding="ascii") as file:
        file.write("jobs > 0\n")
    for words in (["report", "--", "-x.atrace"], ["verify", "--", "-x.atrace"],
                  ["report", "--json", "--", "-x.atrace"], ["critical-path", "--", "-x.atrace"],
                  ["query", "--csv", "--", "-x.atrace", "SELECT 1"],
                  ["check", "--", "-x.atrace", "--rules"], ["check", "--", "-x.atrace", "jobs > 0"],
                  ["diff", "--", "-x.atrace", "-x.atrace"], ["top", "--once", "--", "-x.atrace"],
                  ["whatif", "--set", "pcie.bandwidth=x2", "--", "-x.atrace"],
                  ["html", "-o", "x.html", "--", "-x.atrace"],
                  ["pack", "-o", "p", "--", "-x.atrace"],
                  ["export", "--format", "csv", "-o", "c", "--", "-x.atrace"]):
        done = run(*words, cwd=FOLDER.name)
        assert done.returncode == 0, (words, done)
    for words in (["report", "-x.atrace"], ["report", "--", "-y.atrace"], ["report", "--"],
                  ["report", "--", "-x.atrace", "more"]):
        done = run(*words, cwd=FOLDER.name)
        assert done.returncode in (1, 2) and len(done.stderr.splitlines()) == 1, (words, done)


@case
def rules_of_any_editor_are_read():
    for text in ("\ufeffjobs > 0\n", "\ufeff# a remark\r\njobs > 0\r\n\r\n", "jobs > 0\r\n",
                 "\ufeff\njobs > 0"):
        with open(path("rules"), "w", encoding="utf-8", newline="") as file:
            file.write(text)
        done = run("check", DEMO, path("rules"))
        assert done.returncode == 0 and b"pass" in done.stdout, (text, done)


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@case
def a_query_without_end_ends():
    for words in (["--timeout", "300ms"], ["--timeout", "1s", "--csv"]):
        for sql in (ENDLESS, "SELECT count(*) FROM commands a, commands b, commands c, commands d"):
            done = run("query", DEMO, *words, sql)
            lines = done.stderr.splitlines()
            assert (done.returncode, len(lines)) == (1, 1) and b"--timeout" in lines[0], done
    for word in ("0s", "x", "-1s", "5"):
        assert run("query", DEMO, "--timeout", word, "SELECT 1").returncode == 2, word
    # SQLite cannot interrupt this function.
    done = run("query", DEMO, "--timeout", "300ms",
               "SELECT instr(zeroblob(4000000), zeroblob(2000000) || x'01')")
    assert done.returncode == 1 and b"--timeout" in done.stderr, done


@case
def a_slow_reader_of_an_answer_is_waited_for():
    with subprocess.Popen([ACCELTRACE, "query", DEMO, "--timeout", "1s", "--csv",
                           "SELECT a.job, b.job FROM commands a, commands b LIMIT 60000"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as process:
        first = process.stdout.read(10)
        time.sleep(1.5)
        out, said = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, said) == (0, b""), said
        rows = (first + out).count(b"\n") - 1
        assert rows == 60000, rows


@case
def a_query_is_interrupted():
    with subprocess.Popen([ACCELTRACE, "query", DEMO, ENDLESS], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, said) == (-signal.SIGINT, b""), said


@case
def who_waits_for_a_silent_source_says_so():
    server = socket.socket(socket.AF_UNIX)
    server.bind(path("silent"))
    server.listen()
    os.mkfifo(path("fifo"))
    holder = os.open(path("fifo"), os.O_RDWR)
    for words in (["serve", "--live", "--no-browser", path("silent")], ["report", path("silent")],
                  ["serve", "--no-browser", path("silent")], ["report", path("fifo")],
                  ["report", "-"], ["query", path("silent"), "SELECT 1"]):
        with subprocess.Popen([ACCELTRACE, *words], stdin=holder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            line = process.stderr.readline()
            assert b"nothing came for" in line and b"waiting" in line, (words, line)
            process.send_signal(signal.SIGINT)
            _, more = process.communicate(timeout=PATIENCE_S)
            assert more == b"", (words, more)
    os.close(holder)
    server.close()


if __name__ == "__main__":
    sys.exit(tap.run(case))
