# SPDX-License-Identifier: Apache-2.0
"""Checks the allowed includes: the table of docs/architecture.md."""

import collections
import os
import re

from lint import is_test

MOST_SOURCES = 40  # of a folder: more cannot be seen at a glance
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')
IMPORT = re.compile(r'^\s*import\s+"([^"]+)"')

# The order of data through libtrace: a folder may include itself and those before it.
STREAM = ["libtrace/base", "libtrace/proto",
          *(f"libtrace/stream/{part}" for part in ("bytes", "columns", "file"))]
CHAIN = [*STREAM, "libtrace/clock",
         *(f"libtrace/model/{part}" for part in ("columns", "tables", "load", "part")),
         *(f"libtrace/analysis/{part}" for part in ("rows", "usage", "checks", "whatif", "report")),
         "libtrace/query", "libtrace/check",
         *(f"libtrace/view/{part}" for part in ("common", "timeline", "text", "json", "html"))]
ANALYSIS = CHAIN.index("libtrace/analysis/rows")
# The order inside the device, where some folders skip others that they do not need.
UAPI = ["kmod/uapi"]
PLAIN = [*UAPI, "qemu-device/knobs", "qemu-device/memory"]  # and timing: C without QEMU
CORE = [*PLAIN, "qemu-device/timing", "qemu-device/host"]
OBSERVE = [*CORE, "qemu-device/core"]
FRONT = [*OBSERVE, "qemu-device/observe", "qemu-device/numerics"]
# The daemon's data come from sources, each kind in a folder of its own, and go through the session
# to the sink. Only what knows axl may include its driver's contract.
BASE = [*STREAM, "daemon/base"]
SOURCES = [*BASE, "daemon/bpf", "daemon/sources/common", "libtrace/ring"]
SESSION = [*BASE, "daemon/sources/common", "daemon/session", "libtrace/control"]
KINDS = [f"daemon/sources/{kind}" for kind in ("api", "axl", "system", "provider", "bpf")]
DAEMON = [*SOURCES, *KINDS, "daemon/session", "daemon/sink", "libtrace/provider",
          "libtrace/control"]
AXL_FOLDERS = ("daemon/sources/axl/", "daemon/testing/axl/")
AXL_DOOR = "daemon/sources/axl/axl_devices.h"  # which includes nothing of axl itself
MAY = {
    "kmod/uapi": [],
    "kmod": ["kmod/uapi"],
    "qemu-device": UAPI,
    "qemu-device/host": [],
    "qemu-device/knobs": UAPI,
    "qemu-device/memory": UAPI,
    "qemu-device/timing": PLAIN,
    "qemu-device/numerics": [*PLAIN, "qemu-device/host"],
    "qemu-device/core": CORE,
    "qemu-device/observe": OBSERVE,
    "qemu-device/frontend": FRONT,
    "qemu-device/loop": [*FRONT, "qemu-device/frontend"],
    "qemu-device/pci": [*FRONT, "qemu-device/frontend", "qemu-device/loop"],
    "libtrace/ring": [],
    "libtrace/runtime": ["libtrace/ring", "kmod/uapi"],
    "libtrace/provider": ["libtrace/base"],
    "libtrace/control": STREAM,
    "libtrace/symbols": ["libtrace/base"],
    "libtrace/cli": [*CHAIN, "libtrace/ring", "libtrace/runtime", "libtrace/provider",
                     "libtrace/symbols", "libtrace/control"],
    "daemon": DAEMON,
    "daemon/base": STREAM,
    "daemon/bpf": [],
    "daemon/sources/common": SOURCES,
    "daemon/sources/api": SOURCES,
    "daemon/sources/axl": [*SOURCES, "kmod/uapi"],
    "daemon/sources/system": [*SOURCES, "libtrace/control"],
    "daemon/sources/provider": [*SOURCES, "daemon/sources/system", "libtrace/provider"],
    "daemon/sources/bpf": [*SOURCES, "daemon/sources/api", "daemon/sources/provider",
                           "libtrace/provider"],
    "daemon/session": SESSION,
    "daemon/sink": SESSION,
    **{folder: CHAIN[:number] + ["libtrace/symbols"] * (number >= ANALYSIS)
       for number, folder in enumerate(CHAIN)},
}
TABLED = ("daemon/", "kmod/", "libtrace/", "qemu-device/")
NEUTRAL = tuple(f"libtrace/{folder}/"
                for folder in ("proto", "model", "analysis", "query", "check", "view"))
AXL = re.compile(r"(?<![a-z])axl", re.I)


def folder_of(path):
    """The deepest folder in the table that contains a path; None outside of all."""
    found = [folder for folder in MAY if path.startswith(folder + "/")]
    return max(found, key=len) if found else None


def resolve(tree, includer, name):
    """The repository's path of an included name; None for files of other projects."""
    if name.endswith((".pb.h", ".pb.cc")):
        name = name.rsplit(".pb.", 1)[0] + ".proto"
    for candidate in (os.path.normpath(os.path.join(os.path.dirname(includer), name)), name):
        if candidate in tree.paths or os.path.dirname(candidate) in MAY:
            return candidate
    return None


def include_direction(tree):
    """includes follow the data and never go back"""
    for path in tree.having(".c", ".cc", ".h", ".proto"):
        folder = folder_of(path)
        if folder is None and path.startswith(TABLED):
            yield f"{path}: its folder is not in the table of includes: move it to one that is"
        if folder is None or is_test(path):
            continue
        for number, line in enumerate(tree.lines(path), 1):
            match = INCLUDE.match(line) or IMPORT.match(line)
            target = match and resolve(tree, path, match.group(1))
            if not target:
                continue
            other = folder_of(target)
            if os.path.basename(target) == "state.h" and other != folder:
                yield f"{path}:{number}: includes {target}: private to {other}"
            elif other is None and target.startswith("tests/"):
                yield f"{path}:{number}: includes {target}: products do not include tests"
            elif other not in (None, folder) and other not in MAY[folder]:
                allowed = ", ".join(MAY[folder]) or "nothing"
                yield f"{path}:{number}: {folder} includes {other}; it may include {allowed}"


def one_chip(tree):
    """the daemon knows axl in axl's own folders only, its tests as well"""
    for path in tree.having(".c", ".cc", ".h", under="daemon/"):
        if path.startswith(AXL_FOLDERS):
            continue
        for number, line in enumerate(tree.lines(path), 1):
            match = INCLUDE.match(line)
            name = match.group(1) if match else ""
            if name.startswith(("kmod/", *AXL_FOLDERS)) and name != AXL_DOOR:
                yield f"{path}:{number}: includes {name}: only axl's folders may"


def vendor_neutral(tree):
    """no name in libtrace/{proto,model,analysis,query,check,view} belongs to axl"""
    for path in tree.having(".cc", ".h", ".proto"):
        if not path.startswith(NEUTRAL) or is_test(path):
            continue
        for number, line in enumerate(tree.lines(path), 1):
            # A comment may have an example; code and strings may not.
            if AXL.search(line.split("//")[0]):
                yield f"{path}:{number}: names axl: say it for any accelerator"


def folders(tree):
    """a folder has at most 40 sources"""
    sources = collections.Counter(os.path.dirname(path) for path in tree.having(".c", ".cc"))
    for folder, count in sources.items():
        if count > MOST_SOURCES:
            yield f"{folder}: {count} sources, the limit is {MOST_SOURCES}: divide it by purpose"


def header_guards(tree):
    """headers can be included twice"""
    for path in tree.having(".h"):
        text = "\n".join(tree.lines(path)[:40])
        if not re.search(r"^#\s*(pragma once|ifndef \w+)|^#if !defined\(\w+\)", text, re.M):
            yield f"{path}:1: no include guard"


CHECKS = [include_direction, one_chip, vendor_neutral, folders, header_guards]
