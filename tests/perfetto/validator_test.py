#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The validator refuses exports that a viewer would draw wrongly: one change each."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import zlib

sys.dont_write_bytecode = True
REPO = os.environ.get("REPO") or os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
BUILD = os.environ.get("BUILD") or os.path.join(REPO, "build")
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402

VALIDATOR = os.path.join(REPO, "tests/perfetto/validate-perfetto")
loader = importlib.machinery.SourceFileLoader("validator", VALIDATOR)
spec = importlib.util.spec_from_loader("validator", loader)
validator = importlib.util.module_from_spec(spec)
loader.exec_module(validator)
EVENT, ROW, TRACK = validator.EVENT, validator.ROW, validator.DESCRIPTOR


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def encode(fields):
    out = b""
    for number, wire, value in fields:
        out += varint(number << 3 | wire)
        if wire == 0:
            out += varint(value)
        elif wire == 2:
            out += varint(len(value)) + value
        else:
            out += value
    return out


def packets():
    data = subprocess.run([os.path.join(BUILD, "bin/acceltrace"), "export",
                           os.path.join(REPO, "tests/golden/step.atrace"), "--format", "perfetto",
                           "-o", "-"], check=True, stdout=subprocess.PIPE).stdout
    for _, _, packet in validator.fields(data):
        inside = dict((number, value) for number, _, value in validator.fields(packet))
        if validator.COMPRESSED not in inside:
            yield list(validator.fields(packet))
            continue
        for _, _, each in validator.fields(zlib.decompress(inside[validator.COMPRESSED])):
            yield list(validator.fields(each))


def verdict(changed):
    """The validator's output for packets; "" if there is none."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(encode([(1, 2, encode(packet))]) for packet in changed))
        file.flush()
        done = subprocess.run([VALIDATOR, file.name], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout


def body(packet, number):
    return next((list(validator.fields(value)) for n, _, value in packet if n == number), None)


def put(packet, number, fields):
    return [(n, w, encode(fields) if n == number else value) for n, w, value in packet]


def without(fields, *numbers):
    return [field for field in fields if field[0] not in numbers]


def first(number, change, where=lambda fields: True):
    """The trace with change(fields) applied to the first such body."""
    done, out = False, []
    for packet in packets():
        fields = body(packet, number)
        if fields is not None and not done and where(fields):
            packet, done = put(packet, number, change(fields)), True
        out.append(packet)
    assert done
    return out


def has(*numbers):
    return lambda fields: all(any(n == number for n, _, _ in fields) for number in numbers)


def percent(fields):
    about = body(fields, 8)
    return about is not None and (6, 2, b"%") in about


def renamed(old, new):
    """Replaces it by another of the same length."""
    out = []
    for packet in packets():
        out.append([(n, w, value.replace(encode([(2, 2, old)]), encode([(2, 2, new)]))
                     if n == 12 else value) for n, w, value in packet])
    return out


def row_moved():
    """The second row of a queue begins within the first one."""
    out, queue = [], None
    for packet in packets():
        fields = body(packet, ROW)
        if fields is not None and queue is None:
            queue = [f for f in fields if f[0] == 13]
            fields = without(fields, 2) + [(2, 0, 1 << 20)]
            packet = put(packet, ROW, fields)
        elif fields is not None and queue[0] in fields:
            packet = put(packet, ROW, without(fields, 2) + [(2, 0, 1 << 30)])
        out.append(packet)
    return out


def as_process(fields):
    return without(fields, 2, 11, 3000) + [(3, 2, encode([(1, 0, 1 << 30), (6, 2, b"axl0")]))]


MISTAKES = {
    "a device that is a process": ("impossible pid", lambda: first(TRACK, as_process, has(3000))),
    "an order below a process": ("which is ignored", lambda: first(
        TRACK, lambda f: f + [(11, 0, 3)], has(3))),
    "a percentage with its own axis": ("an axis of its own", lambda: first(
        TRACK, lambda f: put(f, 8, without(body(f, 8), 7)), percent)),
    "a track that nobody describes": ("no description", lambda: first(
        TRACK, lambda f: without(f, 14), has(14))),
    "a track without a rank": ("no rank", lambda: first(
        TRACK, lambda f: without(f, 12), lambda f: has(12, 5)(f) and not has(8)(f))),
    "a process that is not in the tree": ("is not in the tree", lambda: [
        packet for packet in packets() if body(packet, validator.TREE) is None]),
    "no uuid": ("no uuids", lambda: [
        packet for packet in packets() if body(packet, validator.UUID) is None]),
    "a PCI address under another number": ("not of the format", lambda: first(
        validator.GPUS, lambda f: [(1, 2, encode(
            [(6 if n == 7 else n, w, v) for n, w, v in body(f, 1)]))])),
    "a row without its queue": ("an undefined queue", lambda: first(
        ROW, lambda f: without(f, 13))),
    "a row of no context": ("an undefined context", lambda: first(
        ROW, lambda f: without(f, 5) + [(5, 0, 1 << 40)])),
    "a row twice": ("twice or missing", lambda: [
        each for packet in packets()
        for each in [packet] + [without(packet, 12)] * (body(packet, ROW) is not None)]),
    "rows that overlap": ("overlaps another one", row_moved),
    "a correlation with no row": ("no row", lambda: first(
        EVENT, lambda f: without(f, 3000) + [(3000, 2, encode([(1, 0, 1 << 40)]))], has(3000))),
    "a name that only one slice has": ("a name of its own", lambda: renamed(b"submit", b"subm 3")),
    "events of a clock that no snapshot has": ("not in the snapshot", lambda: first(
        validator.CLOCKS, lambda f: [x for x in f if body([x], 1) is None or
                                     (1, 0, validator.OWN) not in body([x], 1)])),
    "a common clock that is incremental": ("is common", lambda: first(
        validator.CLOCKS, lambda f: [
            (1, 2, encode(without(body([x], 1), 3) + [(3, 0, 1)])) if body([x], 1) else x
            for x in f])),
    "an event with a clock of its own": ("a clock of its own", lambda: [
        packet + [(58, 0, 3)] if body(packet, EVENT) is not None else packet
        for packet in packets()]),
}


def an_export_is_valid():
    said = verdict(list(packets()))
    assert said == "", said


def mistake(name):
    words, change = MISTAKES[name]

    def test():
        said = verdict(change())
        assert words in said, said or "nothing is said"
    test.__name__ = name.replace(" ", "_")
    return test


if __name__ == "__main__":
    sys.exit(tap.run([an_export_is_valid] + [mistake(name) for name in MISTAKES]))
