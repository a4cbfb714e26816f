# SPDX-License-Identifier: Apache-2.0
"""A trace as it was recorded: tables of numpy, device times in raw ticks."""

import functools

import numpy as np

from . import blocks
from .schema import SCHEMA
from .codec import decompress
from .wire import Malformed, decode, fields, varint

NUMBER = {name: number for name, number in SCHEMA.enums["Table"].items()}
API = ("begin_ns", "end_ns", "pid", "tid", "name", "correlation", "bytes", "stream", "result",
       "open", "began_before")
RANGES = ("begin_ns", "end_ns", "pid", "tid", "name", "depth", "mark", "open", "began_before")
COMMANDS = ("device", "job", "index", "context", "queue", "correlation", "unit", "opcode", "op",
            "tag", "status", "limiter", "work", "bytes", "memory_bytes", "row_hits", "row_misses",
            "fetched_ticks", "head_ticks", "start_ticks", "end_ticks")
SIGNED = {"begin_ns", "end_ns", "result", "before_ns", "width_ns", "first", "last"}


def packets(data):
    """The body of each packet: (field name, bytes)."""
    bodies = SCHEMA.messages["Packet"]
    at = 0
    while at < len(data):
        tag, start = varint(data, at)
        size, start = varint(data, start)
        if tag != 10 or start + size > len(data):
            raise Malformed(f"no whole packet at byte {at}: not a trace, or damaged or cut short; "
                            "see acceltrace verify")
        at = start + size
        for number, wire, value in fields(data[start:at]):
            field = bodies.get(number)
            if wire == 2 and field is not None and field.kind in SCHEMA.messages:
                yield field, value


def plain(batch, name, rows):
    values = batch.get(name)
    if values is None or len(values) == 0:
        return np.zeros(rows, np.uint64)
    if len(values) != rows:
        raise Malformed("damaged: columns of unequal length; see acceltrace verify")
    return values.astype(np.uint64, copy=False)


def deltas(batch, name, rows):
    return np.cumsum(plain(batch, name, rows), dtype=np.uint64)


def of_block(block, packed):
    rows = int(block.get("rows", 0))
    columns = blocks.unpack(block, packed)
    return lambda name: columns.get(name, np.zeros(rows, np.uint64)), rows


def of_batch(batch, first):
    rows = len(batch.get(first, ()))

    def get(name):
        return (deltas(batch, name + "_delta", rows) if name + "_delta" in batch else
                plain(batch, name, rows))
    return get, rows


class Trace:
    """Reads a whole file. Tables: api, ranges, commands, clocks, losses."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.info, self.devices, self.strings, self.op_names = {}, {}, {0: ""}, {}
        self.parts = {"api": [], "ranges": [], "commands": [], "clocks": [], "losses": []}
        for field, body in packets(memoryview(data)):
            self.add(field, decode(field.kind, body))

    def add(self, field, message):
        add = getattr(self, "add_" + field.name, None)
        if add is not None:
            add(message)

    def add_packed(self, packed):
        field = SCHEMA.messages["Packet"].get(packed.get("body", 0))
        body = decompress(packed, packed.get("size", 0))
        if field is not None and field.name != "packed" and field.kind in SCHEMA.messages:
            self.add(field, decode(field.kind, memoryview(body)))

    def add_info(self, info):
        self.info = info

    def add_device(self, device):
        self.devices[device.get("device", 0)] = device

    def add_strings(self, strings):
        self.strings.update(zip(map(int, strings.get("id", ())), strings.get("value", ())))

    def add_op_names(self, names):
        rows = len(names.get("pid", ()))
        for pid, tag, name in zip(*(plain(names, key, rows) for key in ("pid", "tag", "name"))):
            self.op_names[int(pid), int(tag)] = int(name)

    def add_packed_block(self, block):
        self.add_block(block, packed=True)

    def add_block(self, block, packed=False):
        table = int(block.get("table", 0))
        if table == NUMBER["TABLE_COMMANDS"]:
            self.put_commands(*of_block(block, packed), block.get("device", 0),
                              block.get("stalls", 0))
        elif table == NUMBER["TABLE_API_CALLS"]:
            self.put_api(*of_block(block, packed))

    def add_api(self, batch):
        self.put_api(*of_batch(batch, "begin_ns_delta"))

    def put_api(self, get, rows):
        begin = get("begin_ns")
        self.put("api", API, rows, get, {"begin_ns": begin, "end_ns": begin + get("duration_ns")})

    def add_ranges(self, batch):
        get, rows = of_batch(batch, "begin_ns_delta")
        begin = get("begin_ns")
        self.put("ranges", RANGES, rows, get,
                 {"begin_ns": begin, "end_ns": begin + get("duration_ns")})

    def add_commands(self, batch):
        get, rows = of_batch(batch, "fetched_ticks_delta")
        ticks = batch.get("stall_ticks", np.zeros(0, np.uint64))
        stalls = len(ticks) // rows if rows else 0
        for cause in range(stalls):
            batch[f"stall_{cause}"] = ticks[cause::stalls]
        self.put_commands(get, rows, batch.get("device", 0), stalls)

    def put_commands(self, get, rows, device, stalls):
        bits = self.devices.get(device, {}).get("clock", {}).get("bits", 64) or 64
        mask = np.uint64((1 << bits) - 1)
        fetched = get("fetched_ticks")
        head = fetched + get("head_ticks_after")
        start = head + get("start_ticks_after")
        made = {"device": np.full(rows, device, np.uint64), "op": np.zeros(rows, np.uint64),
                "fetched_ticks": fetched & mask, "head_ticks": head & mask,
                "start_ticks": start & mask, "end_ticks": start + get("end_ticks_after") & mask}
        causes = [f"stall_{cause}" for cause in range(stalls)]
        self.put("commands", (*COMMANDS, *causes), rows, get, made)

    def add_clocks(self, batch):
        get, rows = of_batch(batch, "host_before_ns_delta")
        self.put("clocks", ("device", "before_ns", "width_ns", "ticks"), rows, get,
                 {"device": np.full(rows, batch.get("device", 0), np.uint64),
                  "before_ns": get("host_before_ns"), "width_ns": get("host_width_ns"),
                  "ticks": get("device_ticks")})

    def add_losses(self, batch):
        get, rows = of_batch(batch, "hop")
        self.put("losses", ("hop", "count", "first", "last", "in_ticks", "device"), rows, get, {})

    def put(self, table, names, rows, get, made):
        part = np.zeros(rows, [(name, np.int64 if name in SIGNED else np.uint64)
                               for name in names])
        for name in names:
            values = made[name] if name in made else get(name)
            part[name] = values.view(np.int64) if name in SIGNED else values
        self.parts[table].append(part)

    def string(self, number):
        return self.strings.get(int(number), "")

    @functools.cached_property
    def clients(self):
        """The processes of calls, a set for each client: the upper half of a correlation."""
        clients = {}
        for calls in self.parts["api"]:
            pairs = np.stack((calls["correlation"] >> np.uint64(32), calls["pid"]))
            for client, pid in np.unique(pairs, axis=1).T:
                clients.setdefault(int(client), set()).add(int(pid))
        return clients

    def process(self, correlation):
        """The process that made the call, as far as calls tell; 0: unknown."""
        client = int(correlation) >> 32
        pids = self.clients.get(client, ())
        if len(pids) == 1 and client != 0:
            return next(iter(pids))
        # Without any, the trace may be older, when clients were processes.
        known = pids or any(client in each for each in self.clients.values())
        return 0 if known else client

    def op(self, command):
        """The name of a command in the table: its tag's name, else its opcode's."""
        process = self.process(command["correlation"])
        name = self.op_names.get((process, int(command["tag"])), 0)
        if name:
            return self.string(name)
        opcodes = self.devices.get(int(command["device"]), {}).get("opcodes", ())
        return next((code.get("name", "") for code in opcodes
                     if code.get("code", 0) == int(command["opcode"])), "")

    def table(self, name):
        """A structured array. Names are numbers, for string(); ticks are raw."""
        if name not in self.parts:
            raise KeyError(f"no table {name}: one of {', '.join(self.parts)}; "
                           "acceltrace.load() has all")
        parts = self.parts[name]
        if not parts:
            return np.zeros(0, [("none", np.uint64)])
        widest = max((part.dtype for part in parts), key=lambda each: len(each.names))
        whole = np.zeros(sum(map(len, parts)), widest)
        at = 0
        for part in parts:
            for column in part.dtype.names:
                whole[column][at:at + len(part)] = part[column]
            at += len(part)
        return whole
