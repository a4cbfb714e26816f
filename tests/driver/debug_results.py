# SPDX-License-Identifier: Apache-2.0
"""Results of `make check-debug`: build/check-debug/results.json has a record of each part that ran.

A record: "ok", "why" (failures), "figures" {name: [value, unit]}, "commit", "module" (of kmod's
sources), "kernel" (the debug kernel's folder name), "known" {report: count}, "command", "seconds".
Parts may have run at different times; rows() adds them up and says whether each result is about the
present module. tests/bench/driver compares the rows with the bars.
"""

import glob
import hashlib
import json
import os
import subprocess

PATH = "build/check-debug/results.json"
# Figures that need all parts: "0 splats" of a run that omitted half of them says nothing.
OF_ALL_PARTS = ("splats", "leaks", "driver_tests_failed")
SMALLEST = ("unplug_threads",)  # not summed up: the weakest one's


def module(folder="kmod"):
    """Names the module's sources, in the tree or in the copy that was built."""
    digest = hashlib.sha256()
    for path in sorted(sum((glob.glob(f"{folder}/{kind}")
                            for kind in ("*.[ch]", "uapi/*.h", "Kbuild")), [])):
        if not path.endswith(".mod.c"):
            with open(path, "rb") as source:
                digest.update(os.path.relpath(path, folder).encode() + b"\0" + source.read())
    return digest.hexdigest()[:12]


def commit():
    """The commit that is checked out, with + if the tree differs from it."""
    done = subprocess.run(["git", "describe", "--always", "--dirty=+", "--exclude=*"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def kernel_folder():
    """The debug kernel of this tree's configuration; empty if unknown."""
    done = subprocess.run(["tests/driver/build-debug-kernel", "--where"], capture_output=True,
                          text=True, check=False)
    return done.stdout.strip()


def kernel():
    """The debug kernel's name, or None."""
    return os.path.basename(kernel_folder()) or None


def built_module():
    """module() of the sources built for that kernel."""
    with open(f"{kernel_folder()}/include/config/kernel.release", encoding="ascii") as release:
        return module(f"build/kmod/{release.read().strip()}/src")


def add(figures, name, value, unit):
    """Adds one test's figure to that of its part."""
    old = figures.get(name, [None])[0]
    if old is not None:
        value = min(old, value) if name in SMALLEST else old + value
    figures[name] = [value, unit]


def parts():
    """All parts of check-debug."""
    done = subprocess.run(["tests/driver/check-debug", "--parts"], capture_output=True, text=True,
                          check=True)
    return done.stdout.split()


def load(path=PATH):
    """Records by part; empty if there is no such file or another version wrote it."""
    try:
        with open(path, encoding="utf-8") as file:
            records = json.load(file)
    except (OSError, ValueError):
        return {}
    return records if isinstance(records, dict) else {}


def store(name, record, path=PATH):
    """Replaces the record of a part."""
    records = {**load(path), name: record}
    with open(f"{path}.new", "w", encoding="utf-8") as out:
        json.dump(records, out, indent=1)
        out.write("\n")
    os.rename(f"{path}.new", path)


def doubts(records, missing, module_now, kernel_now):
    """Reasons why a figure of these parts is not valid; empty if it is."""
    found = [f"not run: {' '.join(missing)}"] if missing else []
    for name, record in records.items():
        if not record["ok"]:
            found.append(f"{name} failed: {record['why']}")
        if record["module"] != module_now:
            found.append(f"{name} ran another module, of {record['commit']}")
        if kernel_now and record["kernel"] != kernel_now:
            found.append(f"{name} ran on another kernel")
    return found


def rows(records, wanted, module_now, kernel_now):
    """Figures over all parts: {"name", "value", "unit", "at", "command", "doubts"}."""
    records = {name: records[name] for name in wanted if name in records}
    missing = [name for name in wanted if name not in records]
    made = [{"name": "parts_run", "value": len(records), "unit": f"of {len(wanted)}",
             "doubts": doubts(records, missing, module_now, kernel_now), "of": records}]
    names = dict.fromkeys(name for record in records.values() for name in record["figures"])
    for name in names:
        of = {part: record for part, record in records.items() if name in record["figures"]}
        values = [record["figures"][name][0] for record in of.values()]
        made.append({
            "name": name, "value": min(values) if name in SMALLEST else sum(values),
            "unit": next(iter(of.values()))["figures"][name][1], "of": of,
            "doubts": doubts(of, missing if name in OF_ALL_PARTS else [], module_now, kernel_now)})
    for row in made:
        of = row.pop("of")
        row["at"] = " ".join(sorted({record["commit"] for record in of.values()}))
        row["command"] = "make check-debug" if len(of) != 1 else next(iter(of.values()))["command"]
    return made
