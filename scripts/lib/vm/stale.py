# SPDX-License-Identifier: Apache-2.0
"""Detects a guest that is stuck in a stale translation of QEMU, and frees it.

QEMU before 8.1 translates for each CPU on a separate thread. If one CPU writes to code while
another one translates it, the translation of the old code may stay. The kernel patches its code by
a temporary breakpoint; a CPU with the translation of the breakpoint hits it for ever, in exceptions
that find none. Translations with other properties are made again, so changing the guest's
properties (`log nochain`) frees it, but makes it slower.
"""

import json
import re
import time

FIXED = (8, 1)
EVERY_S = 0.5
LOOKS = 4  # in which a CPU has to be busy before its registers are read
SAMPLES, SAMPLES_EVERY_S = 40, 0.025
GREETING_S, ANSWER_S = 0.2, 20
SIZE_BYTES = 32  # of the kernel's entry for breakpoints, at least
STACK = 14  # bits; a kernel stack is 16 KiB


class Monitor:
    """QEMU's monitor at a socket. Raises OSError if it does not answer in time."""

    def __init__(self, port):
        self.port, self.text = port, b""
        port.settimeout(GREETING_S)

    def line(self):
        while b"\n" not in self.text:
            data = self.port.recv(65536)
            if not data:
                raise OSError("QEMU is gone")
            self.text += data
        line, self.text = self.text.split(b"\n", 1)
        return json.loads(line)

    def ask(self, command, **arguments):
        request = json.dumps({"execute": command, "arguments": arguments})
        self.port.sendall(request.encode() + b"\n")
        while True:
            reply = self.line()
            if "return" in reply or "error" in reply:
                return reply.get("return")

    def people(self, command):
        """Runs a command of the human monitor and returns its output."""
        return self.ask("human-monitor-command", **{"command-line": command}) or ""


def state_of(thread):
    """State R: it runs or is runnable."""
    with open(f"/proc/{thread}/stat", encoding="ascii", errors="replace") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def registers(text):
    """{CPU: (halted, level, stack, instruction, table of interrupts)} of `info registers -a`."""
    found = {}
    for part in re.split(r"^CPU#", text, flags=re.M)[1:]:
        values = {name: re.search(rf"\b{name}\s*=\s*([0-9a-f]+)", part)
                  for name in ("HLT", "CPL", "RSP", "RIP", "IDT")}
        if all(values.values()):
            halted, level, *rest = (int(value[1], 16) for value in values.values())
            found[int(part.split()[0])] = (halted, level, *rest)
    return found


class Watch:
    """Poll it while the guest runs; met: whether the fault was found."""

    def __init__(self, port, state=state_of, sleep=time.sleep):
        self.monitor, self.state, self.sleep = Monitor(port), state, sleep
        self.threads, self.busy, self.next, self.met = None, {}, 0, False

    def look(self, now):
        """Whether the guest was just freed."""
        if now < self.next or self.threads == {}:
            return False
        self.next = now + EVERY_S
        try:
            if self.threads is None:
                self.threads = self.connect()
            if self.threads is None:
                return False
            for cpu, thread in self.threads.items():
                self.busy[cpu] = self.busy.get(cpu, 0) + 1 if self.state(thread) == "R" else 0
            if max(self.busy.values(), default=0) < LOOKS:
                return False
            self.busy.clear()
            if not self.circles():
                return False
            self.monitor.people("log nochain")
            self.met, self.threads = True, {}
            return True
        except (OSError, ValueError):  # QEMU ends, or is too busy to answer
            self.threads = {}
            return False

    def connect(self):
        """The CPUs' threads; None: QEMU's monitor is not ready yet."""
        try:
            version = self.monitor.line()["QMP"]["version"]["qemu"]
        except TimeoutError:
            return None
        self.monitor.port.settimeout(ANSWER_S)
        if (version["major"], version["minor"]) >= FIXED:
            return {}
        self.monitor.ask("qmp_capabilities")
        return {cpu["cpu-index"]: cpu["thread-id"]
                for cpu in self.monitor.ask("query-cpus-fast") or []}

    def entry(self, table):
        """The kernel's breakpoint handler: the fourth gate of the table."""
        text = self.monitor.people(f"x /2xg {table + 3 * 16:#x}")
        words = re.findall(r"0x([0-9a-f]{16})\b", text.partition(":")[2])
        if len(words) != 2:
            return None
        low, high = (int(word, 16) for word in words)
        return (low & 0xffff) | (low >> 32 & 0xffff0000) | (high & 0xffffffff) << 32

    def circles(self):
        """Whether a CPU only takes breakpoints, on one kernel stack."""
        stacks, entries, at_entry = {}, {}, set()
        for number in range(SAMPLES):
            now = registers(self.monitor.people("info registers -a"))
            for cpu, (halted, level, stack, instruction, table) in now.items():
                if number == 0:
                    stacks[cpu] = stack >> STACK
                if halted or level or stacks.get(cpu) != stack >> STACK:
                    stacks.pop(cpu, None)
                    continue
                if cpu not in entries:
                    entries[cpu] = self.entry(table)
                entry = entries[cpu]
                if entry is not None and 0 <= instruction - entry < SIZE_BYTES:
                    at_entry.add(cpu)
            if not stacks:
                return False
            self.sleep(SAMPLES_EVERY_S)
        return bool(at_entry & set(stacks))
