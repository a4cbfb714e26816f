#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of a benchmark: a row with a bar has a verdict, an informative row has neither."""

import contextlib
import io
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import bench  # noqa: E402

ROWS = [({"value": 1.0, "bar": "<= 1"}, True, "ok"),
        ({"value": 1.1, "bar": "<= 1"}, False, "MISSED"),
        ({"value": float("nan"), "bar": ">= 0"}, False, "MISSED"), ({"value": 5}, None, ""),
        ({"value": 5, "doubt": "of another module"}, None, "(of another module)"),
        ({"value": 1, "bar": "== 1", "doubt": "of another module"}, False, "MISSED")]


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench.REPO = folder
        suite = bench.Suite("some")
        said = []
        for number, (row, _, _) in enumerate(ROWS):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                suite.row(f"row {number}", unit="", **row)
            said.append(out.getvalue())
        with contextlib.redirect_stdout(io.StringIO()):
            status = suite.finish()
        with open(os.path.join(folder, "build/bench/some.json"), encoding="utf-8") as file:
            rows = json.load(file)["rows"]
    print(f"1..{len(ROWS) + 1}")
    bad = 0
    for number, ((row, ok, verdict), found, line) in enumerate(zip(ROWS, rows, said), 1):
        right = verdict in line and found.get("bar") == row.get("bar") and found.get("ok") == ok
        if "bar" not in row:
            right = right and not {"bar", "ok"} & set(found) and "MISSED" not in line
        bad += not right
        print(f"{'ok' if right else 'not ok'} {number} - bench: {row}")
    bad += status != 1
    verdict = "ok" if status == 1 else "not ok"
    print(f"{verdict} {len(ROWS) + 1} - bench: a missed bar is the status")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
