#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
"""acceltrace export --format chrome, read back with Python's json and compared, event by event,
with the tables of the model (--format csv): times to the ns, names, places, arrows, counters."""

import collections
import csv
import decimal
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
REPO = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402

ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
MAKE_TRACE = os.path.join(REPO, "build", "test", "make-page-trace")
GOLDEN = os.path.join(REPO, "tests", "golden")
FIRST_DEVICE_PID = 1 << 30

csv.field_size_limit(1 << 20)
folder = tempfile.TemporaryDirectory()
case = tap.Cases()


def run(*words):
    return subprocess.run([ACCELTRACE, *words], capture_output=True, timeout=60, check=False)


def ns(text):
    """µs of the file to ns, exactly."""
    value = decimal.Decimal(text) * 1000
    assert value == int(value), text
    return int(value)


class Export:
    def __init__(self, trace):
        name = os.path.basename(trace)
        out, tables = (os.path.join(folder.name, name + end) for end in (".json", ".csv"))
        for kind, to in (("chrome", out), ("csv", tables)):
            done = run("export", trace, "--format", kind, "-o", to)
            assert done.returncode in (0, 1), done
        with open(out, encoding="ascii") as file:
            self.json = json.load(file, parse_float=decimal.Decimal)
        self.events = self.json["traceEvents"]
        self.tables = {}
        for table in os.listdir(tables):
            with open(os.path.join(tables, table), encoding="utf-8", errors="replace",
                      newline="") as file:
                self.tables[table.removesuffix(".csv")] = list(csv.DictReader(file))
        self.threads = {(event["pid"], event["tid"]): event["args"]["name"]
                        for event in self.events if event.get("name") == "thread_name"}

    def of(self, category, phase="X"):
        return [event for event in self.events
                if event["ph"] == phase and event.get("cat") == category]


def same(found, wanted):
    """The same things, each as often."""
    found, wanted = collections.Counter(found), collections.Counter(wanted)
    assert found == wanted, (list((found - wanted).items())[:5], list((wanted - found).items())[:5])


def span(event):
    begin = ns(event["ts"])
    return begin, begin + ns(event.get("dur", 0))


def named(text):
    return text or "(unnamed)"


def compare(export):
    api, ranges, commands, jobs = (export.tables[name] for name in
                                   ("api", "ranges", "commands", "jobs"))
    same([(*span(e), e["name"], e["pid"], str(e["args"]["correlation"])) for e in export.of("api")],
         [(int(r["begin_ns"]), int(r["end_ns"]), named(r["name"]), int(r["pid"]), r["correlation"])
          for r in api])
    same([(*span(e), e["name"], e["pid"]) for e in export.of("range")],
         [(int(r["begin_ns"]), int(r["end_ns"]), named(r["name"]), int(r["pid"]))
          for r in ranges if r["mark"] == "0"])
    same([(ns(e["ts"]), e["name"], e["pid"]) for e in export.of("range", "i")],
         [(int(r["begin_ns"]), named(r["name"]), int(r["pid"])) for r in ranges
          if r["mark"] == "1"])
    same([(*span(e), e["name"], export.threads[e["pid"], e["tid"]], e["pid"] - FIRST_DEVICE_PID,
           str(e["args"]["correlation"]), str(e["args"]["start_ticks"]))
          for e in export.of("command")],
         [(int(r["start_ns"]), int(r["end_ns"]), r["op"] or r["opcode"], r["unit"], 0,
           r["correlation"], r["start_ticks"]) for r in commands])
    same([(*span(e), e["name"], str(e["args"]["job"]), export.threads[e["pid"], e["tid"]])
          for e in export.of("job")],
         [(int(r["device_doorbell_ns"]), int(r["completion_ns"]), "job", r["job"],
           "queue " + r["queue"]) for r in jobs if r["completion_ns"]])
    same([(ns(e["ts"]), str(e["args"]["job"]), e["pid"]) for e in export.of("driver")
          if e["name"] == "submit"],
         [(int(r["submit_ns"]), r["job"], int(r["pid"])) for r in jobs
          if r["submit_ns"]])


def arrows(export):
    """Each begins once and ends once, later, at slices that are there."""
    places = {(e["pid"], e["tid"], e["ts"]) for e in export.events if e["ph"] in "Xi"}
    flows = collections.defaultdict(list)
    for event in export.events:
        if event["ph"] in "stf":
            assert (event["pid"], event["tid"], event["ts"]) in places, event
            flows[event["id"]].append(event)
    for flow in flows.values():
        kinds = collections.Counter(event["ph"] for event in flow)
        assert kinds["s"] == kinds["f"] == 1, flow
        begin, end = (next(e for e in flow if e["ph"] == kind) for kind in "sf")
        assert all(begin["ts"] <= event["ts"] <= end["ts"] for event in flow), flow
    return flows


@case
def events_are_those_of_the_model():
    for name in ("step", "demo"):
        export = Export(os.path.join(GOLDEN, name + ".atrace"))
        compare(export)
        assert len(export.of("command")) > 5, name
        # The arrow of a job begins at the call that launched it.
        launches = [flow for flow in arrows(export).values() if flow[0]["name"] == "launch"]
        begins = {next(event["ts"] for event in flow if event["ph"] == "s") for flow in launches}
        calls = {event["ts"] for event in export.of("api")}
        assert launches and begins <= calls, (name, len(launches))


@case
def counters_are_those_of_the_model():
    export = Export(os.path.join(GOLDEN, "demo.atrace"))
    tracks = collections.defaultdict(list)
    for event in export.events:
        if event["ph"] == "C":
            tracks[event["name"]].append((ns(event["ts"]), event["args"]))
    jobs = [row for row in export.tables["jobs"] if row["submit_ns"] and row["consumed_ns"]]
    changes = sorted([(int(row["submit_ns"]), 1) for row in jobs] +
                     [(int(row["consumed_ns"]), -1) for row in jobs])
    wanted, level = {}, 0
    for at, by in changes:
        level += by
        wanted[at] = level
    found = {at: values["jobs"] for at, values in tracks.pop("jobs in flight")}
    assert found == wanted
    rows = export.tables["counters"]
    assert tracks and rows
    for name, values in tracks.items():
        samples = [(int(r["time_ticks"]), int(r["time_ns"]), int(r["value"])) for r in rows
                   if r["counter"] == name]
        assert [at for at, _ in values] == sorted({at for _, at, _ in samples})[:len(values)], name
        for (at, value), (ticks, begin, first), (after, _, last) in zip(
                values, samples, samples[1:]):
            if "%" in value:
                wanted = (last - first) / (after - ticks) * 100
                assert at == begin and abs(float(value["%"]) - wanted) < 1e-6, (name, at, value)


@case
def hostile_names_and_losses_come_through():
    trace = os.path.join(folder.name, "hostile.atrace")
    subprocess.run([MAKE_TRACE, "hostile", trace], check=True, timeout=60)
    export = Export(trace)
    compare(export)
    arrows(export)
    names = {event["name"] for event in export.events if "name" in event}
    assert "<img src=x onerror='window.hostile = 1'>" in names
    assert "\u202egnp.exe" in names and any(
        name.startswith("W" * 1000) for name in names)
    large = os.path.join(folder.name, "large.atrace")
    subprocess.run([MAKE_TRACE, "large", "3000", large], check=True, timeout=60)
    export = Export(large)
    compare(export)
    same([(ns(e["ts"]), e["args"]["count"]) for e in export.of("loss")],
         [(int(r["first_ns"]), int(r["count"])) for r in export.tables["losses"]])


@case
def stdout_takes_it():
    done = run("export", os.path.join(GOLDEN, "step.atrace"), "--format", "chrome", "-o", "-")
    assert done.returncode == 0 and json.loads(done.stdout)["displayTimeUnit"] == "ns", done.stderr


if __name__ == "__main__":
    with folder:
        sys.exit(tap.run(case))
