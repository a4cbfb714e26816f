# SPDX-License-Identifier: Apache-2.0
"""Reads a kernel log for what must not be in it."""

import re

BAD = re.compile("|".join((
    r"\bWARNING: ", r"\bBUG: ", r"\bBUG:? at ", r"\bkernel BUG at ", r"\bOops\b", "Kernel panic",
    "Call Trace:", "general protection fault", "scheduling while atomic", "Bad page state",
    "KASAN", "KCSAN", "KFENCE: ", "UBSAN", "stack-out-of-bounds", "unreferenced object",
    "possible recursive locking", "circular locking dependency", "inconsistent lock state",
    "suspicious RCU usage", "sleeping function called from", "rcu: .*stall", "detected stalls",
    "soft lockup", "hard LOCKUP", r"blocked for more than \d+ seconds", "INFO: task .* blocked",
    "DMA-API: ", "ODEBUG: ", "refcount_t: ", "list_(add|del) corruption")))

# Lines that look like the above and are not: what stock kernels say on every boot.
HARMLESS = re.compile("|".join((
    "Speculative Return Stack Overflow", "KFENCE: enabled", "kfence: initialized",
    "(KASAN|UBSAN|KCSAN): .*(initialized|enabled)", "kasan: KernelAddressSanitizer",
    "DMA-API: preallocated", "DMA-API: debugging enabled")))


def findings(log, allowed):
    """The bad lines of a log, each with the lines after it, at most 60 in all."""
    allow = [re.compile(pattern) for pattern in allowed]
    lines = log.splitlines()
    shown = []
    until = -1
    for number, line in enumerate(lines):
        bad = BAD.search(line) and not HARMLESS.search(line)
        if bad and not any(pattern.search(line) for pattern in allow):
            until = number + 12
        if number <= until:
            shown.append(line)
            if len(shown) == 60:
                shown.append("...")
                break
    return shown
