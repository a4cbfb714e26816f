#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Detection of a guest stuck in stale translations, with a monitor that answers like QEMU's."""

import json
import os
import socket
import sys
import threading

sys.dont_write_bytecode = True
LIB = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
sys.path[:0] = [LIB, os.path.join(LIB, "..", "..", "tests", "harness")]

import tap  # noqa: E402
from vm import stale  # noqa: E402

ENTRY, TABLE, STACK = 0xffffffff81c00ba0, 0xfffffe0000000000, 0xffffc900000d4d38
OTHER = 0xffffffff810e179e
HALTED = (1, 0, OTHER, STACK)


def held(number):
    """A CPU that takes breakpoints for ever; now and then it is at the handler's entry."""
    return (0, 0, ENTRY + 13 if number % 6 == 0 else OTHER, STACK + number % 3 * 48)


CASES = [
    ("one is held", lambda n: [held(n), HALTED], (7, 2), True),
    ("both are held", lambda n: [held(n), held(n + 1)], (7, 2), True),
    ("a program computes", lambda n: [(0, 3, 0x401000, 0x7ffffff0), HALTED], (7, 2), False),
    ("the kernel computes", lambda n: [(0, 0, OTHER, STACK), HALTED], (7, 2), False),
    ("breakpoints of a program that goes on",
     lambda n: [held(n) if n % 30 < 29 else (0, 3, 0x401000, 0x7ffffff0), HALTED], (7, 2), False),
    ("another task in between",
     lambda n: [held(n) if n % 30 - 20 else (0, 0, OTHER, STACK + 65536), HALTED], (7, 2), False),
    ("a QEMU without the fault", lambda n: [held(n), HALTED], (8, 1), False)]


class Qemu(threading.Thread):
    """The other end of the socket."""

    def __init__(self, port, cpus, version):
        super().__init__(daemon=True)
        self.port, self.cpus, self.version = port, cpus, version
        self.number, self.said = 0, []

    def answer(self, line):
        if line == "info registers -a":
            text = "".join(
                f"\nCPU#{cpu}\nRAX={0:016x} RBX={0:016x}\nRSI={0:016x} RSP={stack:016x}\n"
                f"RIP={instruction:016x} RFL=00000002 [-------] CPL={level} II=0 HLT={halted}\n"
                f"IDT=     {TABLE:016x} 00000fff\n"
                for cpu, (halted, level, instruction, stack) in enumerate(self.cpus(self.number)))
            self.number += 1
            return text
        if line.startswith("x "):
            low = (ENTRY & 0xffff) | 0x10 << 16 | 0xee00 << 32 | (ENTRY >> 16 & 0xffff) << 48
            return f"{line.split()[-1]}: 0x{low:016x} 0x{ENTRY >> 32:016x}\r\n"
        self.said.append(line)
        return ""

    def run(self):
        with self.port.makefile("rw") as file:
            def send(**reply):
                file.write(json.dumps(reply) + "\n")
                file.flush()
            send(QMP={"version": {"qemu": {"major": self.version[0], "minor": self.version[1]}}})
            for text in file:
                request = json.loads(text)
                send(event="SOMETHING")
                if request["execute"] == "query-cpus-fast":
                    send(**{"return": [{"cpu-index": n, "thread-id": n} for n in range(2)]})
                elif request["execute"] == "human-monitor-command":
                    send(**{"return": self.answer(request["arguments"]["command-line"])})
                else:
                    send(**{"return": {}})


def looked(cpus, version, state):
    mine, other = socket.socketpair()
    qemu = Qemu(other, cpus, version)
    qemu.start()
    watch = stale.Watch(mine, state=state, sleep=lambda _: None)
    freed = [watch.look(float(now)) for now in range(20)]
    return freed, watch.met, qemu.said


def case(name, cpus, version, wanted):
    def check():
        found = looked(cpus, version, lambda thread: "R")
        assert found == ([now == stale.LOOKS - 1 and wanted for now in range(20)], wanted,
                         ["log nochain"] * wanted), found
    check.__name__ = name
    return check


test = tap.Cases(case(*each) for each in CASES)


@test
def who_sleeps_is_not_asked():
    found = looked(lambda n: [held(n), held(n)], (7, 2), lambda thread: "S")
    assert found[1:] == (False, []), found


@test
def a_qemu_that_greets_late_is_watched():
    mine, other = socket.socketpair()
    watch = stale.Watch(mine, state=lambda thread: "R", sleep=lambda _: None)
    assert not watch.look(0.0)
    Qemu(other, lambda n: [held(n), HALTED], (7, 2)).start()
    assert any([watch.look(float(now)) for now in range(1, 20)])


@test
def a_qemu_that_is_gone_is_left_alone():
    mine, other = socket.socketpair()
    other.close()
    watch = stale.Watch(mine)
    assert not any([watch.look(float(now)) for now in range(9)])


if __name__ == "__main__":
    sys.exit(tap.run(test))
