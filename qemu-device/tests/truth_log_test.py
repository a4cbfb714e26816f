#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every line of a truth log has the fields that docs/truth-log.md lists, and its sums are exact.

The log is that of axl-model-bench: all engines, each fault, each event.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
KINDS = {"meta", "cmd", "doorbell", "job", "irq", "clock", "link", "throttle", "ecc", "knob",
         "fault", "ctx-error", "ctx-reset", "reset"}
FAULTS = {"lost-irq", "late-irq", "duplicate-completion", "corrupt-completion", "hang",
          "failed-dma", "poison", "removed", "replugged"}


def record():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "truth.jsonl")
        subprocess.run([f"{REPO}/build/test/axl-model-bench", "truth", path], cwd=REPO, check=True,
                       timeout=120, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as log:
            return [json.loads(line) for line in log]


def section(page, title):
    return page[page.index(f"### {title}"):].split("\n### ")[0].split("\n", 1)[1]


def documented(page):
    """The names that the document lists for each kind; those of `rest`, by kind."""
    names = {kind: set(re.findall(r"`(\w+)`", section(page, f"`{kind}`")))
             for kind in ("cmd", "doorbell", "job")}
    rest = section(page, "The rest")
    for kinds, fields in re.findall(r"^\| (`[\w-]+`(?:, `[\w-]+`)*) \| (.*) \|$", rest, re.M):
        for kind in re.findall(r"`([\w-]+)`", kinds):
            names[kind] = set(re.findall(r"`(\w+)`", fields)) | {"time_ns", "tsc"}
    return names


def wrong_sums(line):
    spent = line["end_ns"] - line["head_ns"]
    yield line["busy_ns"] + sum(line["stall_ns"].values()) != spent
    yield sum(line["bound_ns"].values()) != spent
    yield line["limiter_ns"] != max(line["bound_ns"].values())
    yield line["bound_ns"][line["limiter"]] != line["limiter_ns"]
    yield not (line["doorbell_ns"] <= line["fetched_ns"] <= line["head_ns"] <= line["start_ns"]
               <= line["end_ns"])


def main():
    with open(f"{REPO}/docs/truth-log.md", encoding="utf-8") as text:
        names = documented(text.read())
    lines = record()
    kinds = {line["t"] for line in lines}
    unknown = {(line["t"], field) for line in lines if line["t"] in names for field in line
               if field not in names[line["t"]] | {"t", "dev"}}
    # The fields of a fault depend on the fault.
    unknown = {(kind, field) for kind, field in unknown if kind != "fault"}
    commands = [line for line in lines if line["t"] == "cmd"]
    keys = [(line["dev"], line["job"], line["index"]) for line in commands]
    logged = {line["fault"] for line in lines if line["t"] == "fault"}
    checks = [
        ("a line of every kind", kinds == KINDS, kinds ^ KINDS),
        ("every fault by its name", logged == FAULTS, logged ^ FAULTS),
        ("every field is on the page", not unknown, unknown),
        ("times and sums of each command", not any(any(wrong_sums(c)) for c in commands),
         [c for c in commands if any(wrong_sums(c))][:3]),
        ("each command once", len(commands) > 150 and len(set(keys)) == len(keys), len(commands)),
    ]
    print(f"1..{len(checks)}")
    for number, (name, good, detail) in enumerate(checks, 1):
        print(f"{'ok' if good else 'not ok'} {number} - truth log: {name}")
        if not good:
            print(f"# {detail}")
    return 0 if all(good for _, good, _ in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
