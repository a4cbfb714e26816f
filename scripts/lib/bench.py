# SPDX-License-Identifier: Apache-2.0
"""Rows of a benchmark: printed as a table, written to build/bench/NAME.json.

    import bench
    suite = bench.Suite("model")
    suite.row("DRAM row hits against closed form", value=0.4, unit="%", bar="<= 1",
              command="make bench BENCH=model")
    sys.exit(suite.finish())

`ok` is computed here from the value and the bar, nowhere else. A bar is an operator and a number,
or None for an informative figure: such a row has neither `bar` nor `ok`. QUICK=1 in the environment
requests a reduced but real version; `bench.QUICK` is true then.
"""

import json
import math
import operator
import os
import platform
import re
import statistics

REPO = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
QUICK = os.environ.get("QUICK", "") not in ("", "0")
OPERATORS = {"<=": operator.le, ">=": operator.ge, "==": operator.eq, "<": operator.lt,
             ">": operator.gt}
BAR = re.compile(r"^(<=|>=|==|<|>) (-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)$")


def holds(value, bar):
    """Whether a value meets a bar; None without a bar. A value that is not a number meets no
    bar.
    """
    if bar is None:
        return None
    match = BAR.match(bar)
    if not match:
        raise ValueError(f"bar {bar!r}: want an operator and a number, such as '<= 1.5'")
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return False
    return OPERATORS[match.group(1)](value, float(match.group(2)))


def machine():
    """The machine that the figures were measured on."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as cpuinfo:
        model = re.search(r"^model name\s*: (.*)$", cpuinfo.read(), re.M)
    return {"cpu": model.group(1) if model else platform.machine(), "cpus": os.cpu_count(),
            "kernel": platform.release(), "quick": QUICK}


def median(values):
    return statistics.median(values)


class Suite:
    """The rows of one benchmark suite."""

    def __init__(self, name):
        self.name = name
        self.rows = []

    def row(self, name, value, unit, bar=None, command=None, doubt=None):
        """Adds a row and prints it; returns whether it meets its bar. `doubt` is the reason why a
        figure that was measured earlier is no longer valid; its bar is then missed.
        """
        ok = holds(value, bar)
        if ok and doubt:
            ok = False
        command = command or f"make bench BENCH={self.name}{' QUICK=1' if QUICK else ''}"
        # JSON has neither infinity nor NaN.
        finite = not isinstance(value, float) or math.isfinite(value)
        self.rows.append({"name": name, "value": value if finite else None, "unit": unit,
                          **({} if bar is None else {"bar": bar, "ok": ok}), "command": command,
                          **({"doubt": doubt} if doubt else {})})
        verdict = {None: "", True: "ok", False: "MISSED"}[ok]
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        print(f"{name:<58} {shown:>12} {unit:<10} {bar or '':<12} {verdict}"
              f"{f' ({doubt})' if doubt else ''}", flush=True)
        return ok

    def finish(self):
        """Writes the file; returns the exit status: 1 if a bar was missed or nothing was
        measured.
        """
        folder = os.path.join(REPO, "build", "bench")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{self.name}.json")
        with open(f"{path}.new", "w", encoding="utf-8") as out:
            json.dump({"bench": self.name, "machine": machine(), "rows": self.rows}, out, indent=1)
            out.write("\n")
        os.rename(f"{path}.new", path)
        missed = sum(row.get("ok") is False for row in self.rows)
        print(f"{self.name}: {len(self.rows)} rows, {missed} missed; build/bench/{self.name}.json")
        return 1 if missed or not self.rows else 0
