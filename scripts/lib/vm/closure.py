# SPDX-License-Identifier: Apache-2.0
"""Selects the files for a guest's memory: those named, and those that the loader would load for
them.
"""

import os
import re
import shutil
import subprocess

from vm import Failure

LIMIT_BYTES = 512 << 20
HELD_BYTES = 256 << 20  # of files, and of each shared folder, where the rest may stay with the host
# Files that nearly every program opens.
COMMON = ("/etc/ld.so.cache", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/localtime",
          "/usr/lib/locale/C.utf8/LC_CTYPE", "/usr/lib/x86_64-linux-gnu/gconv/gconv-modules.cache")
# Files that a program starts or opens although its command line does not name them.
BESIDE = {"acceltrace": ("acceltraced", "../lib/libaxl.so")}


def named(opts):
    """The files of --file, and COMMAND itself if it is a file of the host."""
    command = opts.command[0]
    found = shutil.which(command, path=f"{opts.repo}/build/bin") if "/" not in command else command
    for path in [*opts.file, *([found] if found and os.path.isfile(found) else [])]:
        path = os.path.abspath(path)
        if not os.path.isdir(path):
            yield path
        for parent, _, names in os.walk(path):
            yield from (os.path.join(parent, name) for name in names)


def libraries(path, some=False):
    """Absolute paths of the loader and the libraries of a program, as the loader finds them; some:
    only those that it finds.
    """
    with open(path, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return []
    done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
    if "not found" in done.stdout and not some:
        missing = next(line for line in done.stdout.splitlines() if "not found" in line)
        raise Failure(f"{path} cannot run: {missing.strip()}")
    return re.findall(r"(/.*) \(0x", done.stdout)


def size(paths):
    return sum(os.path.getsize(path) for path in paths)


def words(command):
    """The words of a command, and the words in them, for a shell's -c."""
    return [word for part in command for word in [part, *re.split(r"[\s;&|()`'\"<>=:]+", part)]]


def mentioned(opts):
    """Files that COMMAND names: programs in PATH, paths, or the interpreter of a script."""
    path = f"{opts.repo}/build/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    found = {}
    pending = words(opts.command)
    while pending:
        word = pending.pop()
        file = shutil.which(word, path=path) if word and "/" not in word else word
        if not file or not os.path.isfile(file) or os.path.abspath(file) in found:
            continue
        file = os.path.abspath(file)
        found[file] = None
        pending += [os.path.join(os.path.dirname(file), name)
                 for name in BESIDE.get(os.path.basename(file), ())]
        with open(file, "rb") as content:
            begin = content.read(4096)
        if b"\0" not in begin and os.path.getsize(file) <= 1 << 16:
            # A script contains the names of what it calls, including its interpreter, and many
            # other words.
            with open(file, encoding="utf-8", errors="replace") as script:
                pending += words([script.read().replace("#!", " ")])
    return list(found)


def held(opts):
    """Files that a guest under --icount gets into its memory: the first ones that fit."""
    chosen, total = [], 0
    pending = [*named(opts), *mentioned(opts), *COMMON]
    for path in dict.fromkeys(os.path.realpath(each) for each in pending if os.path.isfile(each)):
        files = [path, *map(os.path.realpath, libraries(path, some=True))]
        new = [file for file in dict.fromkeys(files) if file not in chosen]
        if total + size(new) <= HELD_BYTES:
            chosen += new
            total += size(new)
    return chosen


def held_shares(opts):
    """The shared folders that are copied into the guest; others are too large, and stay live."""
    def fits(folder):
        total = 0
        for parent, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(parent, name)
                total += os.lstat(path).st_size if os.path.lexists(path) else 0
                if total > HELD_BYTES:
                    return False
        return True
    return [share for share in opts.share if fits(share)]


def of(opts):
    """Every file to put into the guest, at the same path there."""
    files = set()
    for path in named(opts):
        files.add(path)
        files.update(libraries(path))
    total = size(files)
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
