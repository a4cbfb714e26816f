# SPDX-License-Identifier: Apache-2.0
"""Traces of acceltrace as numpy arrays, and ranges for recorded programs.

    import acceltrace
    commands = acceltrace.load("run.atrace", "commands")   # all columns, times converted
    raw = acceltrace.Trace("run.atrace")                   # read here, device times as raw ticks
    raw.table("api")["begin_ns"]
    acceltrace.frame(commands)                             # pandas, if installed

    with acceltrace.range("step"):
        ...
"""

from .export import frame, load
from . import ranges
from .ranges import available, mark, range
from .trace import Trace

__all__ = ["Trace", "available", "frame", "load", "mark", "range", "ranges"]

__version__ = "0.1.0"
