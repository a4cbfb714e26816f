#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/driver.md says of tracepoints and statistics exactly what the headers say."""

import os
import re
import sys

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
COMMON = ["u32 dev", "u32 ctx", "u32 queue", "u32 job", "u64 seq", "u64 correlation"]


def read(path):
    with open(os.path.join(REPO, path), encoding="utf-8") as text:
        return text.read()


def fields(body):
    found = []
    for match in re.finditer(r"AXL_JOB_FIELDS|__field\(__(\w+), (\w+)\)", body):
        found += COMMON if match[0] == "AXL_JOB_FIELDS" else [f"{match[1]} {match[2]}"]
    return ", ".join(found)


def tracepoints(header):
    """Name to fields, classes resolved; the order of TP_ARGS must be that of the fields."""
    events, classes = {}, {}
    pattern = r"^(TRACE_EVENT|DECLARE_EVENT_CLASS|DEFINE_EVENT)\(([\w, ]+?),\n(.*?)\n\);"
    for kind, names, body in re.findall(pattern, header, re.S | re.M):
        if kind == "DEFINE_EVENT":
            parent, name = names.split(", ")
            events[name] = classes[parent]
            continue
        struct = re.search(r"TP_STRUCT__entry\((.*?)\n\t\),", body, re.S)[1]
        listed = fields(struct)
        args = re.split(r",\s*", re.search(r"TP_ARGS\((.*?)\)", body, re.S)[1])
        if [field.split()[1] for field in listed.split(", ")] != args:
            raise ValueError(f"{names}: arguments and fields differ in order")
        (events if kind == "TRACE_EVENT" else classes)[names] = listed
    return events


def main():
    doc = read("docs/driver.md")
    told = dict(re.findall(r"^\| `(axl_\w+)` \|[^|]*\| ([^|]*) \|$", doc, re.M))
    stats_table = doc[doc.index("| file | counts |"):]
    told_stats = dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|$", stats_table, re.M))
    stats = re.findall(r'X\(\w+, (\w+), "([^"]*)"\)', read("kmod/uapi/axl_stats.h"))
    checks = [
        ("tracepoints", tracepoints(read("kmod/axl_trace.h")), told),
        ("statistics", dict(stats), told_stats),
    ]
    print(f"1..{len(checks)}")
    failed = False
    for number, (name, real, written) in enumerate(checks, 1):
        wrong = [key for key in {*real, *written} if real.get(key) != written.get(key)]
        bad = not real or bool(wrong)
        failed |= bad
        print(f"{'not ok' if bad else 'ok'} {number} - docs/driver.md: {name}, {len(real)} entries")
        for key in sorted(wrong):
            print(f"# {key}: header {real.get(key)!r}, page {written.get(key)!r}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
