# SPDX-License-Identifier: Apache-2.0
"""Finds problems in a kernel log."""

import os
import re

BAD = re.compile("|".join((
    r"\bWARNING: ", r"\bBUG: ", r"\bBUG:? at ", r"\bkernel BUG at ", r"\bOops\b", "Kernel panic",
    "Call Trace:", "general protection fault", "scheduling while atomic", "Bad page state",
    "KASAN", "KCSAN", "KFENCE: ", "UBSAN", "stack-out-of-bounds", "unreferenced object",
    "possible recursive locking", "circular locking dependency", "inconsistent lock state",
    "suspicious RCU usage", "sleeping function called from", "rcu: .*stall", "detected stalls",
    "soft lockup", "hard LOCKUP", r"blocked for more than \d+ seconds", "INFO: task .* blocked",
    # A checker that has given up finds nothing more.
    "kmemleak: .* disabled", "lockdep is turned off",
    "DMA-API: ", "ODEBUG: ", "refcount_t: ", "list_(add|del) corruption")))

# Harmless lines that look like the above: stock kernels print them on every boot.
HARMLESS = re.compile("|".join((
    "Speculative Return Stack Overflow", "KFENCE: enabled", "kfence: initialized",
    "(KASAN|UBSAN|KCSAN): .*(initialized|enabled)", "kasan: KernelAddressSanitizer",
    "DMA-API: preallocated", "DMA-API: debugging enabled")))

# Parts of a report that another line began.
PART = re.compile("Call Trace:|stack backtrace:")
NEAR_LINES, LONG_LINES = 12, 120
MOST_LINES = 300  # of a known report, with what a stack holds by chance

# Differences between two runs with the same report: times, addresses, offsets, process ids,
# processors, taint, the kernel's patch level, how lockdep has seen a lock used so far.
VARYING = ((re.compile(r"^\[ *\d+\.\d+\] ?"), ""), (re.compile(r"\b[0-9a-f]{16}\b"), "ADDRESS"),
           (re.compile(r"\+0x[0-9a-f]+/0x[0-9a-f]+"), ""), (re.compile(r"\bPID: \d+"), "PID"),
           (re.compile(r"\bCPU: \d+"), "CPU"), (re.compile(r"\birq/\d+-(\w+)/\d+"), r"irq/\1"),
           (re.compile(r"\birq/\d+-"), "irq/"), (re.compile(r"\{[-.+?]{4}\}"), "{USE}"),
           (re.compile(r"(Not tainted|Tainted:[ A-Z]*) (\d+\.\d+)\.\S+ #.*$"), r"\2"),
           (re.compile(r"^(\d+\.\d+)\.\S+ #\d+ (Not tainted|Tainted:[ A-Z]*)$"), r"\1"))


# The state of a processor, which varies.
STATE = re.compile(r"(RIP|Code|RSP|R[A-DS][XI]|RBP|R\d\d|[CFG]S|CR\d|PKRU|ORIG_RAX): |\? |$")


def plain(line):
    """A line of a log without the varying parts; None for lines that are not reliable."""
    for pattern, text in VARYING:
        line = pattern.sub(text, line)
    line = line.strip()
    return None if STATE.match(line) else line


class Known:
    """A report that the driver does not cause: plain() lines; "# " begins a comment."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as text:
            lines = [line.strip() for line in text]
        self.name = os.path.basename(path)
        self.lines = [line for line in lines if line and not line.startswith("# ")]
        if len(self.lines) < 3:
            raise ValueError(f"{path}: want the whole report")

    def end(self, lines, start):
        """The number after its last line if it begins at `start`, else None."""
        wanted = iter(self.lines)
        expected = next(wanted)
        for number in range(start, min(len(lines), start + MOST_LINES)):
            line = plain(lines[number])
            if line is None:
                continue
            if line != expected:
                return None
            expected = next(wanted, None)
            if expected is None:
                return number + 1
        return None


def split_known(log, known):
    """The log's other lines, and how often each known report was in it, by name."""
    lines = log.splitlines()
    counts = {}
    kept = []
    number = 0
    while number < len(lines):
        for one in known:
            end = one.end(lines, number)
            if end:
                counts[one.name] = counts.get(one.name, 0) + 1
                number = end
                break
        else:
            kept.append(lines[number])
            number += 1
    return kept, counts


def is_bad(line, allow):
    return bool(BAD.search(line) and not HARMLESS.search(line)
                and not any(pattern.search(line) for pattern in allow))


def reports(log, allowed=(), known=()):
    """The first line of each report in a log; a report has many bad lines."""
    allow = [re.compile(pattern) for pattern in allowed]
    begins = []
    latest = -LONG_LINES - 1
    for number, line in enumerate(split_known(log, known)[0]):
        if not is_bad(line, allow):
            continue
        if number - latest > (LONG_LINES if PART.search(line) else NEAR_LINES):
            begins.append(line)
        latest = number
    return begins


def findings(log, allowed, known=(), excused=()):
    """The bad lines of a log, each with the lines after it, at most 60 in total. The lines
    `excused` and their stacks are not bad.
    """
    allow = [re.compile(pattern) for pattern in allowed]
    shown = []
    until = begun = -1
    for number, line in enumerate(split_known(log, known)[0]):
        if line in excused:
            begun = number + LONG_LINES
        elif is_bad(line, allow) and not (number <= begun and PART.search(line)):
            until, begun = number + NEAR_LINES, -1
        if number <= until:
            shown.append(line)
            if len(shown) == 60:
                shown.append("...")
                break
    return shown
