# SPDX-License-Identifier: Apache-2.0
"""Named ranges of the calling thread, by libaxl; they appear in traces of the process."""

import contextlib
import ctypes
import os

HERE = os.path.dirname(os.path.realpath(__file__))
PLACES = (os.environ.get("ACCELTRACE_LIBAXL", ""), "libaxl.so.0", "libaxl.so",
          os.path.join(HERE, "..", "..", "..", "build", "lib", "libaxl.so"))


def library():
    """libaxl, or the reason why it is not available."""
    why = "libaxl.so is not found: name it in ACCELTRACE_LIBAXL"
    for place in PLACES:
        if not place:
            continue
        try:
            axl = ctypes.CDLL(place)
            for name in ("axlRangePush", "axlMark"):
                getattr(axl, name).argtypes, getattr(axl, name).restype = [ctypes.c_char_p], None
            axl.axlRangePop.argtypes, axl.axlRangePop.restype = [], None
            return axl, ""
        except OSError as error:
            if os.path.exists(place):
                why = str(error)
        except AttributeError:
            why = f"{place} has no ranges: it is of another version"
    return None, why


AXL, WHY_NOT = library()


def available():
    """Whether libaxl was found. Without it ranges do nothing; WHY_NOT says why."""
    return AXL is not None


def text(name):
    return str(name).encode(errors="replace").replace(b"\0", b"?")


class range(contextlib.ContextDecorator):  # what it is called outside: acceltrace.range
    """with range("step"): ..., or @range("step") over a function."""

    def __init__(self, name):
        self.name = text(name)

    def __enter__(self):
        if AXL is not None:
            AXL.axlRangePush(self.name)
        return self

    def __exit__(self, *_):
        if AXL is not None:
            AXL.axlRangePop()
        return False


def mark(name):
    if AXL is not None:
        AXL.axlMark(text(name))
