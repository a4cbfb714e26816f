# SPDX-License-Identifier: Apache-2.0
"""The tables of `acceltrace export --format csv` as structured arrays."""

import csv
import os
import shutil
import subprocess
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.realpath(__file__))
BUILT = os.path.join(HERE, "..", "..", "..", "build", "bin", "acceltrace")


def program():
    """The program acceltrace: from the same source tree, else from the PATH."""
    return BUILT if os.access(BUILT, os.X_OK) else shutil.which("acceltrace")


def typed(values):
    """A column of text as int64, uint64, float64 (nan if missing), or text."""
    some = [value for value in values if value != ""]
    for kind in (np.int64, np.uint64):
        try:
            whole = np.array(list(map(int, some)), kind)
        except (ValueError, OverflowError):
            continue
        # A missing number is -1, or the largest number of an unsigned type.
        column = np.full(len(values), -1, np.int64).view(kind)
        column[[value != "" for value in values]] = whole
        return column
    try:
        return np.array([float(value) if value else np.nan for value in values])
    except ValueError:
        return np.array(values, object)


def table_of(path):
    csv.field_size_limit(1 << 20)
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        rows = csv.reader(file)
        names = next(rows)
        columns = [typed(column) for column in zip(*rows)] or [np.zeros(0)] * len(names)
    array = np.zeros(len(columns[0]), [(name, column.dtype)
                                       for name, column in zip(names, columns)])
    for name, column in zip(names, columns):
        array[name] = column
    return array


def load(path, table=None):
    """A table of a trace, or {name: table}. Cells that are empty in CSV are -1, or nan.

    A damaged or lossy trace is loaded as far as possible, with a warning.
    """
    if program() is None:
        raise FileNotFoundError("acceltrace is not in the PATH, nor built beside this module")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program(), "export", path, "--format", "csv", "-o", folder],
                              capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)
        tables = {name.removesuffix(".csv"): os.path.join(folder, name)
                  for name in sorted(os.listdir(folder)) if name.endswith(".csv")}
        if done.returncode != 0 and not tables:
            raise ValueError(done.stderr.strip())
        if done.returncode != 0:
            import warnings
            warnings.warn(done.stderr.strip())
        if table is None:
            return {name: table_of(where) for name, where in tables.items()}
        if table not in tables:
            raise KeyError(f"no table {table}: one of {', '.join(tables)}")
        return table_of(tables[table])


def frame(array):
    """A pandas frame of a structured array."""
    import pandas
    return pandas.DataFrame({name: array[name] for name in array.dtype.names})
