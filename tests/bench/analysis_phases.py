# SPDX-License-Identifier: Apache-2.0
"""Cases of the analysis suite: phases found in the jobs against the program's actual phases."""

import csv
import subprocess
import tempfile

from analysis_cases import ACCELTRACE, DEFAULTS, ask


def transformer(name, words, *, tokens=16, prompt=16):
    return (f"transformer-{name}",
            f"axl-transformer --no-check --prompt {prompt} --tokens {tokens} {words}".strip())


# Name and command. A prompt of one token is an ordinary round (docs/analysis.md).
TRANSFORMERS = [
    *[transformer(f"tokens-{tokens}", "", tokens=tokens) for tokens in (1, 2, 3, 4, 5, 8, 40)],
    *[transformer(f"prompt-{prompt}", "", prompt=prompt) for prompt in (2, 3, 5, 64)],
    *[transformer(f"{name}-{tokens}", words, tokens=tokens) for tokens in (6, 24)
      for name, words in (("sync", "--sync-each-step"), ("rebuild", "--rebuild-graphs"),
                          ("kept", "--no-stream-weights"),
                          ("sync-rebuild", "--sync-each-step --rebuild-graphs"),
                          ("sync-kept", "--sync-each-step --no-stream-weights"),
                          ("all", "--sync-each-step --rebuild-graphs --no-stream-weights"))],
    transformer("layers-1", "--layers 1"),
    transformer("layers-1-sync", "--layers 1 --sync-each-step"),
    transformer("layers-9", "--layers 9", tokens=7),
    transformer("tile-64", "--tile 64"),
    transformer("wide", "--dim 256 --heads 8 --ffn 768", tokens=7),
]


def synth(name, words, rounds=12):
    return f"synth-{name}", f"axl-synth --rounds {rounds} {words}", rounds


# Programs without ranges: name, command, rounds (0: nothing that repeats and computes).
SYNTHS = [
    synth("one", "--parts matrix:60,copy-in:30"),
    synth("overlap", "--parts matrix:60,copy-in:30,copy-out:20 --overlap"),
    synth("sync", "--parts vector:60,copy-out:30 --sync-every 1"),
    synth("sync-3", "--parts vector:60,copy-out:30 --sync-every 3"),
    synth("submit", "--parts matrix:30,submit:50"),
    synth("wait", "--parts dram:30,sync:60"),
    synth("host", "--parts matrix:30,host:400"),
    synth("host-sync", "--parts matrix:30,host:400 --sync-every 1"),
    synth("many", "--parts scratch:20,copy-in:10", 300),
    ("synth-few", "axl-synth --rounds 3 --parts matrix:60,copy-in:30", 0),
]
COPIES = [
    ("copies-in", "axl-synth --rounds 12 --parts copy-in:60", 0),
    ("copies-both", "axl-synth --rounds 12 --parts copy-in:60,copy-out:60 --overlap", 0),
    ("copies-sync", "axl-synth --rounds 12 --parts copy-in:60,copy-out:60 --sync-every 1", 0),
]



# Ranges of the transformer, and the phase that each should be; "decode N" is one per token.
NAMES = {"upload": "load", "prefill": "prefill", "decode": "decode"}
# The tolerance of an edge, as a share of the run.
NEAR = 0.01


class PhaseCase:
    """A program's phases by its ranges, or from its parameters, and the phases that were found."""

    def __init__(self, ident, command, rounds=None):
        self.ident, self.command, self.rounds = ident, command, rounds
        self.found, self.expected = [], []  # (kind, rounds, begin, end)
        self.off, self.run_ns, self.error = 0, 0, ""

    def plan(self):
        words = " ".join(f"{name}={value}" for name, value in DEFAULTS.items())
        yield f"{self.ident}|record|{words}|{self.command}\n"

    def read(self, folder):
        trace = f"{folder}/{self.ident}.atrace"
        report = ask("report", trace)
        if "phases" not in report:
            self.error = report.get("error") or "no figures"
            return
        self.run_ns = report["breakdown"]["run_ns"]
        self.found = [(phase["phase"], phase["rounds"], phase["begin_ns"], phase["end_ns"])
                      for phase in report["phases"]]
        if self.rounds is not None:
            kind = "rounds" if self.rounds > 0 else "work"
            self.expected = [(kind, self.rounds, None, None)]
            return
        self.expected = self.by_ranges(trace)
        if len(self.found) == len(self.expected):
            self.off = max(abs(edge - true) for found, expected in zip(self.found, self.expected)
                           for edge, true in zip(found[2:], expected[2:]))

    @staticmethod
    def by_ranges(trace):
        """A phase lasts from the end of the previous one until everything it submitted is
        complete.
        """
        tables = {}
        with tempfile.TemporaryDirectory(prefix="phases-") as folder:
            subprocess.run([ACCELTRACE, "export", trace, "--format", "csv", "-o", folder],
                           check=True, capture_output=True)
            for name in ("ranges", "jobs", "api"):
                with open(f"{folder}/{name}.csv", encoding="utf-8") as file:
                    tables[name] = list(csv.DictReader(file))
        calls = {call["correlation"]: int(call["begin_ns"]) for call in tables["api"]}
        jobs = [(int(job["submit_ns"]), int(job["consumed_ns"]), calls.get(job["host_correlation"]))
                for job in tables["jobs"] if job["submit_ns"] and job["consumed_ns"]]
        run_begin = min(call or submit for submit, _, call in jobs)
        expected, done = [], run_begin
        for row in sorted(tables["ranges"], key=lambda row: int(row["begin_ns"])):
            kind = NAMES.get(row["name"].split()[0]) if row["mark"] == "0" else None
            begin, end = int(row["begin_ns"]), int(row["end_ns"])
            within = [consumed for submit, consumed, _ in jobs if begin <= submit <= end]
            if kind is None or not within:
                continue
            begin, done = max(begin, done), max(done, *within)
            if expected and expected[-1][0] == kind:
                expected[-1] = (kind, expected[-1][1] + 1, expected[-1][2], done - run_begin)
            else:
                expected.append((kind, 1, begin - run_begin, done - run_begin))
        # Copies to the device are not rounds.
        return [(kind, 0 if kind == "load" else rounds, begin, end)
                for kind, rounds, begin, end in expected]

    def named(self):
        return [phase[0] for phase in self.found] == [phase[0] for phase in self.expected]

    def counted(self):
        return [phase[:2] for phase in self.found] == [phase[:2] for phase in self.expected]

    def near(self):
        return self.named() and self.off <= NEAR * self.run_ns


def cases():
    return ([PhaseCase(name, command) for name, command in TRANSFORMERS] +
            [PhaseCase(*each) for each in SYNTHS + COPIES])


def score(suite, tried):
    whole = [case for case in tried if not case.error]
    for case in whole:
        if not (case.counted() and case.near()):
            print(f"# {case.ident}: {case.command}: found {case.found}, is {case.expected}")
    suite.row("phases: recordings", len(whole), "", ">= 38")
    suite.row("phases: not as the program's ranges, or what is known of it, have them",
              sum(not case.named() for case in whole), "", "== 0")
    suite.row("phases: rounds miscounted", sum(not case.counted() for case in whole), "", "== 0")
    suite.row("phases: an edge is off by more than 1 % of the run",
              sum(not case.near() for case in whole), "", "== 0")
    offs = sorted(case.off / 1000 for case in whole if case.rounds is None and case.named())
    if offs:
        suite.row("phases: edges off by at most, half of them", offs[len(offs) // 2], "us")
        suite.row("phases: edges off by at most, all of them", offs[-1], "us")
