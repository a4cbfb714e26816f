# SPDX-License-Identifier: Apache-2.0
"""Which files a sealed guest needs: those named, and what the loader would load for them."""

import os
import re
import shutil
import subprocess

from vm import Failure

LIMIT_BYTES = 512 << 20


def named(opts):
    """The files of --file, and COMMAND itself where it is a file of ours."""
    command = opts.command[0]
    found = shutil.which(command, path=f"{opts.repo}/build/bin") if "/" not in command else command
    for path in [*opts.file, *([found] if found and os.path.isfile(found) else [])]:
        path = os.path.abspath(path)
        if not os.path.isdir(path):
            yield path
        for parent, _, names in os.walk(path):
            yield from (os.path.join(parent, name) for name in names)


def libraries(path):
    """Absolute paths of the loader and the libraries of a program, as the loader finds them."""
    with open(path, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return []
    done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
    if "not found" in done.stdout:
        missing = next(line for line in done.stdout.splitlines() if "not found" in line)
        raise Failure(f"{path} cannot run: {missing.strip()}")
    return re.findall(r"(/\S+) \(0x", done.stdout)


def of(opts):
    """Every file to put into the guest, at the same path there."""
    files = set()
    for path in named(opts):
        files.add(path)
        files.update(libraries(path))
    total = sum(os.path.getsize(path) for path in files)
    if total > LIMIT_BYTES:
        raise Failure(f"a sealed guest takes {LIMIT_BYTES >> 20} MiB of files, not {total >> 20}: "
                      "name fewer with --file")
    return files


def folders(paths):
    """Every folder above these paths."""
    found = set()
    for path in paths:
        while (path := os.path.dirname(path)) not in ("", "/"):
            found.add(path)
    return found
