#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/driver.md agrees exactly with the source about tracepoints, sysfs and uevents."""

import glob
import os
import re
import sys

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
# Arguments that stand for several fields.
PACKED = {"where": ["dev", "ctx", "queue", "status"], "job_cmds": ["job", "num_cmds", "submit_cpu"],
          "tid_pid": ["tid", "pid"]}
COMMON = ["u32 dev", "u32 ctx", "u32 queue", "u32 job", "u64 seq", "u64 correlation"]


def read(path):
    with open(os.path.join(REPO, path), encoding="utf-8") as text:
        return text.read()


def tracepoint_headers():
    """The headers of subjects that axl_trace.h collects."""
    collected = re.findall(r'^#include "(axl_trace_\w+\.h)"$', read("kmod/axl_trace.h"), re.M)
    return "\n".join(read(f"kmod/{name}") for name in collected)


def fields(body):
    found = []
    for match in re.finditer(r"AXL_JOB_FIELDS|__field\(__(\w+), (\w+)\)", body):
        found += COMMON if match[0] == "AXL_JOB_FIELDS" else [f"{match[1]} {match[2]}"]
    return ", ".join(found)


def tracepoints(header):
    """Maps names to fields, with classes resolved; the order of TP_ARGS must be that of the
    fields.
    """
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
        args = [field for arg in args for field in PACKED.get(arg, [arg])]
        if [field.split()[1] for field in listed.split(", ")] != args:
            raise ValueError(f"{names}: arguments and fields differ in order")
        (events if kind == "TRACE_EVENT" else classes)[names] = listed
    return events


def table(doc, heading):
    """Maps the first column to the rest, for the table with that heading."""
    rows = doc[doc.index(heading):].split("\n\n", 1)[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", rows, re.M))


def attributes(source):
    """Maps names to modes; the declared files must be those that the device has."""
    modes = {"RO": "0444", "RW": "0644", "WO": "0200"}
    found = {name: modes[kind]
             for kind, name in re.findall(r"^static DEVICE_ATTR_(\w+)\((\w+)\);", source, re.M)}
    if sorted(found) != sorted(re.findall(r"^\t&dev_attr_(\w+)\.attr,", source, re.M)):
        raise ValueError("axl_sysfs.c: declared and given attributes differ")
    return found


def uevents():
    """The arguments that the driver passes to axl_uevent(); a name that is not a literal is an
    error.
    """
    calls = set()
    for path in glob.glob(os.path.join(REPO, "kmod", "*.c")):
        for arguments in re.findall(r"^\t+axl_uevent\(([^;]*)\);", read(path), re.M):
            calls.add(re.fullmatch(r'[\w>-]+, "(\w+)"', arguments)[1])
    return calls


def main():
    doc = read("docs/driver.md")
    documented = dict(re.findall(r"^\| `(axl_\w+)` \|[^|]*\| ([^|]*) \|$", doc, re.M))
    documented_modes = {name: rest.split(" | ")[0]
                        for name, rest in table(doc, "| attribute | mode | is |").items()}
    stats = re.findall(r'X\(\w+, (\w+), "([^"]*)"\)', read("kmod/uapi/axl_stats.h"))
    checks = [
        ("tracepoints", tracepoints(tracepoint_headers()), documented),
        ("attributes", attributes(read("kmod/axl_sysfs.c")), documented_modes),
        ("statistics", dict(stats), table(doc, "| file | counts |")),
        ("uevents", dict.fromkeys(uevents(), True),
         dict.fromkeys(table(doc, "| uevent | when |"), True)),
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
