# SPDX-License-Identifier: Apache-2.0
"""Reads a kernel log for what must not be in it."""

import re

BAD = re.compile(
    r"\bWARNING: |\bBUG: |\bBUG:? at |\bkernel BUG at |\bOops\b|KASAN|KCSAN|KFENCE: |UBSAN|Call Trace:"
    r"|general protection fault|Kernel panic|unreferenced object|blocked for more than \d+ seconds"
    r"|possible recursive locking|circular locking dependency|inconsistent lock state"
    r"|suspicious RCU usage|sleeping function called from|rcu: .*stall|soft lockup|hard LOCKUP"
    r"|DMA-API: |ODEBUG: |refcount_t: |scheduling while atomic|detected stalls|Bad page state"
    r"|list_(add|del) corruption|stack-out-of-bounds|INFO: task .* blocked")

# Lines that look like the above and are not: what stock kernels say on every boot.
HARMLESS = re.compile(r"Speculative Return Stack Overflow|KFENCE: enabled|kfence: initialized"
                      r"|(KASAN|UBSAN|KCSAN): .*(initialized|enabled)|kasan: KernelAddressSanitizer")


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
