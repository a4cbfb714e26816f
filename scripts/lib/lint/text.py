# SPDX-License-Identifier: Apache-2.0
"""Checks of files as text: licences, layout, sizes, words, white space."""

import os
import re

from lint import is_cxx, is_fixture, is_kernel_style, is_test

TOP = {".ci", ".clang-format", ".gitignore", "LICENSE", "Makefile", "README.md", "daemon", "docs",
       "kmod", "libtrace", "qemu-device", "scripts", "tests"}
SPDX = re.compile(r"SPDX-License-Identifier: (.*?)\s*(\*/|-->|$)")
NO_SPDX = {"LICENSE", ".gitignore"}
MAX_BYTES = 30_000
MAX_PRODUCT_BYTES = 20_480
PRODUCT = ("kmod/", "qemu-device/", "daemon/", "libtrace/")
MAX_FIXTURE_BYTES = 1_000_000
# Split up, because this file would match otherwise.
WORDS = re.compile("|".join((r"\bTO" + r"DO\b", r"\bFIX" + r"ME\b", r"\bXX" + r"X+\b",
                             "not " + "implemented", r"(?<![\w.])/wo" + r"rk/")), re.I)
MAX_COLUMNS = 100

# First sentences of comments that leave to the reader what they are about ("Of each device.",
# "Those that are late.") or what the rest of the sentence would be ("False: it is damaged.").
FRAGMENT = re.compile(r"(?:As of|Of) (?!course\b)[^,]*$|That are\b|Whoever\b|Whose\b|Else\b|"
                      r"Those (?:after|before|from|in|of|that|to|which|who|whose|with|without)\b|"
                      r"Not (?:for|from|in|of|to)\b|Likewise (?:for|in|of|with)\b|Such as\b|"
                      r"(?:True|False|None|Otherwise)$")
SENTENCE = re.compile(r".*?(?:(?=[.:;!](?:\s|$))|$)")


def licences_for(path):
    """The licences that the folder allows, the usual one first."""
    code = path.endswith((".c", ".h")) and not is_test(path)
    if path.startswith("kmod/uapi/") and code:
        return ["GPL-2.0 WITH Linux-syscall-note", "GPL-2.0-only WITH Linux-syscall-note"]
    if path.startswith("daemon/bpf/") and path.endswith(".h"):
        # Files shared by BPF programs and the daemon are under both licences.
        return ["GPL-2.0", "GPL-2.0-only", "GPL-2.0 OR Apache-2.0"]
    if path.startswith(("kmod/", "daemon/bpf/")):
        return ["GPL-2.0", "GPL-2.0-only"] + ([] if code else ["Apache-2.0"])
    if path.startswith("qemu-device/"):
        return ["GPL-2.0-or-later"] + ([] if code else ["Apache-2.0"])
    return ["Apache-2.0"]


def spdx(tree):
    """each file names its licence, and the one of its folder"""
    for path in tree.paths:
        if path in NO_SPDX or not tree.is_text(path):
            continue
        match = next(filter(None, map(SPDX.search, tree.lines(path)[:4])), None)
        allowed = licences_for(path)
        if match is None:
            yield f"{path}:1: no SPDX line: add SPDX-License-Identifier: {allowed[0]}"
        elif match.group(1).strip("() ") not in allowed:
            yield f"{path}:1: licence {match.group(1)}: this folder has {allowed[0]}"


def layout(tree):
    """the top level holds the agreed folders, and each folder of sources its README"""
    folders = {}
    for path in tree.paths:
        if path.split("/")[0] not in TOP:
            yield f"{path}: the top level holds the agreed folders only: move it into one"
        folder = os.path.dirname(path)
        if path.endswith((".c", ".cc", ".h", ".py", ".sh")) and not is_fixture(path):
            folders[folder] = folders.get(folder, 0) + 1
    for folder, count in folders.items():
        if count > 1 and f"{folder}/README.md" not in tree.paths:
            yield f"{folder}: no README.md: write half a page of reading order"


def size(tree):
    """no product file over 20 KB, no other over 30 KB (stored inputs: 1 MB)"""
    for path in tree.paths:
        limit = MAX_BYTES if tree.is_text(path) else MAX_FIXTURE_BYTES
        if path.startswith(PRODUCT) and tree.is_text(path) and not is_test(path):
            limit = MAX_PRODUCT_BYTES
        if path != "LICENSE" and len(tree.data(path)) > limit:
            yield f"{path}: {len(tree.data(path))} bytes, the limit is {limit}: split it by subject"


def words(tree):
    """no notes to oneself, and no paths of one machine"""
    for path in tree.paths:
        if not tree.is_text(path):
            continue
        for number, line in enumerate(tree.lines(path), 1):
            if match := WORDS.search(line):
                yield f"{path}:{number}: \"{match.group()}\": finish it, or open an issue"


def whitespace(tree):
    """no trailing blanks, no CRs, one newline at the end, tabs only where they belong"""
    for path in tree.paths:
        data = tree.data(path)
        if not tree.is_text(path) or not data:
            continue
        if b"\r" in data:
            yield f"{path}: has carriage returns"
        if not data.endswith(b"\n") or data.endswith(b"\n\n"):
            yield f"{path}: must end in one newline"
        for number, line in enumerate(tree.lines(path), 1):
            if line != line.rstrip():
                yield f"{path}:{number}: trailing blanks"
            if "\t" in line and (is_cxx(path) or path.endswith(".py")):
                yield f"{path}:{number}: a tab: indent with blanks here"


def columns(tree):
    """code lines are at most 100 columns wide"""
    for path in tree.having(".cc", ".c", ".h", ".py", ".proto"):
        for number, line in enumerate(tree.lines(path), 1):
            width = len(line.expandtabs(8))
            if width > MAX_COLUMNS and "://" not in line:
                yield f"{path}:{number}: {width} columns, the limit is {MAX_COLUMNS}"


def comment_blocks(path, lines):
    """Blocks of comment lines of their own: the number of the first line, and the text."""
    marker = r"\s*#+(?:\s+|$)" if path.endswith((".py", ".sh")) else r"\s*(?://+|/?\*+/?)(?:\s+|$)"
    begin, block = 0, []
    for number, line in enumerate([*lines, ""], 1):
        match = re.match(marker, line)
        text = line[match.end():].removesuffix("*/").strip() if match else ""
        if text:
            begin = begin or number
            block.append(text)
        elif block:
            yield begin, " ".join(block)
            begin, block = 0, []


def comments(tree):
    """comments begin as sentences, not as fragments"""
    for path in tree.having(".c", ".cc", ".h", ".proto", ".py", ".sh"):
        for number, text in comment_blocks(path, tree.lines(path)):
            sentence = SENTENCE.match(text).group()
            if FRAGMENT.match(sentence) and "?" not in sentence:
                yield f"{path}:{number}: \"{sentence[:30]}\" is a fragment: write a sentence"


def kernel_style(tree):
    """kernel C: tabs, and no // comments but the SPDX line"""
    for path in filter(is_kernel_style, tree.paths):
        for number, line in enumerate(tree.lines(path), 1):
            if re.match(r" {8}", line):
                yield f"{path}:{number}: indented with blanks: the kernel uses tabs"
            if re.match(r"\s*//", line) and "SPDX" not in line:
                yield f"{path}:{number}: // comment: the kernel uses /* */"


def mode(tree):
    """what begins with #! is executable, and nothing else is"""
    for path in tree.paths:
        script = tree.data(path).startswith(b"#!")
        # Parts that other scripts start by name have the line for editors and shellcheck.
        if script and not tree.is_executable(path) and "/lib/" not in path:
            yield f"{path}: begins with #! and is not executable: chmod +x it"
        if not script and tree.is_executable(path):
            yield f"{path}: is executable and does not begin with #!: chmod -x it"


CHECKS = [spdx, layout, size, words, whitespace, columns, comments, kernel_style, mode]
