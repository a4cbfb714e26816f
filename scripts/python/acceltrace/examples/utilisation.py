#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plots the utilisation of each unit over the run: utilisation.py FILE OUT.png [BINS]"""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
import acceltrace  # noqa: E402


def busy_shares(starts, ends, edges):
    """The share of each bin that [start, end) covers; commands of a unit do not overlap."""
    before = np.array([np.clip(edge - starts, 0, ends - starts).sum() for edge in edges])
    return np.diff(before) / np.diff(edges)


def main():
    trace, out, bins = sys.argv[1], sys.argv[2], int((sys.argv + [200])[3])
    commands = acceltrace.load(trace, "commands")
    edges = np.linspace(commands["start_ns"].min(), commands["end_ns"].max(), bins + 1)
    units = sorted(set(commands["unit"]))
    shares = {}
    for unit in units:
        mine = commands[commands["unit"] == unit]
        shares[unit] = busy_shares(mine["start_ns"].astype(float), mine["end_ns"].astype(float),
                                   edges)
    try:
        import matplotlib
    except ImportError:
        sys.exit("matplotlib is not installed: apt install python3-matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(len(units), 1, sharex=True, figsize=(10, 1.6 * len(units)),
                                   squeeze=False)
    for axis, unit in zip(axes[:, 0], units):
        axis.fill_between((edges[:-1] - edges[0]) / 1e6, 100 * shares[unit], step="post")
        axis.set_ylim(0, 100)
        axis.set_ylabel(f"{unit}, %")
    axes[-1, 0].set_xlabel("ms from the first command's start")
    figure.tight_layout()
    figure.savefig(out)


if __name__ == "__main__":
    main()
