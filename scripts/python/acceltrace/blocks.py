# SPDX-License-Identifier: Apache-2.0
"""Blocks: rows of a table, packed bit by bit in eight lanes (docs/stream.md)."""

import numpy as np

from .schema import SCHEMA
from .codec import decompress
from .wire import Malformed

LANES = 8
NAMES = {number: name.removeprefix("COLUMN_").lower()
         for name, number in SCHEMA.enums["Column"].items()}
COLUMN = {name.removeprefix("COLUMN_"): number for name, number in SCHEMA.enums["Column"].items()}
FIRST_STALL = SCHEMA.enums["Column"]["COLUMN_STALL_TICKS"]
OFFSET, DELTA, REFERENCE, SPARSE, UNIT = range(5)
MOST_ROWS = 1 << 14


def lane_bytes(count, width):
    each = -(-count // LANES)
    return 32 * -(-each * width // 32)


def narrow(data, at, count, width):
    """`count` numbers of at most 32 bits, and the offset of their end."""
    size = lane_bytes(count, width)
    if at + size > len(data):
        raise Malformed("damaged: a block that is too short; see acceltrace verify")
    if width == 0 or count == 0:
        return np.zeros(count, np.uint64), at + size
    words = np.frombuffer(data, "<u4", size // 4, at).reshape(-1, LANES).astype(np.uint64)
    words = np.vstack((words, np.zeros((1, LANES), np.uint64)))
    number = np.arange(count)
    bit = number // LANES * width
    word, lane = bit // 32, number % LANES
    both = words[word, lane] | words[word + 1, lane] << np.uint64(32)
    return both >> (bit % 32).astype(np.uint64) & np.uint64((1 << width) - 1), at + size


def numbers(data, at, count, width):
    if width <= 32:
        return narrow(data, at, count, width)
    low, at = narrow(data, at, count, 32)
    high, at = narrow(data, at, count, width - 32)
    return low | high << np.uint64(32), at


def planes(data, at, count, width):
    """The same for a packed block: the lowest byte of each, then the next one of each."""
    each = (width + 7) // 8
    values = np.zeros(count, np.uint64)
    for plane in range(each):
        begin = at + plane * count
        values |= np.frombuffer(data, np.uint8, count, begin).astype(np.uint64) << np.uint64(
            8 * plane)
    return values, at + each * count


def after_unit(columns, values):
    """Heads: `values` after the end of the previous command on the same unit."""
    def plain(name):
        return map(int, columns.get(COLUMN[name], np.zeros(len(values), np.uint64)))
    ends, heads, mask = {}, [], (1 << 64) - 1
    for value, unit, fetched, start, end in zip(
            map(int, values), plain("UNIT"), plain("FETCHED_TICKS"), plain("START_TICKS_AFTER"),
            plain("END_TICKS_AFTER")):
        late = ends.get(unit, fetched) - fetched & mask
        head = value + (0 if late >> 63 else late) & mask
        ends[unit] = fetched + head + start + end & mask
        heads.append(head)
    return np.array(heads, np.uint64)


def unpack(block, packed=False):
    """{column: uint64 values}; those of stall causes are named stall_0, stall_1, ..."""
    rows, data = int(block.get("rows", 0)), block.get("data", b"")
    if rows > MOST_ROWS:
        raise Malformed("damaged: a block of too many rows; see acceltrace verify")
    parts = [block.get(name, ()) for name in ("column", "width", "mode", "base")]
    count = len(parts[0])
    widths, modes, bases = (list(map(int, part)) + [0] * (count - len(part)) for part in parts[1:])
    starts, references = (iter(map(int, block.get(name, ()))) for name in ("start", "reference"))
    if packed:
        data = decompress(block, sum((min(width, 64) + 7) // 8 for width in widths) * rows)
    read = planes if packed else numbers
    columns, at = {}, 0
    for number, width, mode, base in zip(map(int, parts[0]), widths, modes, bases):
        base = np.uint64(base)
        if width > 64 or mode > (UNIT if packed else SPARSE):
            raise Malformed("a block of a later version; see acceltrace verify")
        if mode == SPARSE:
            there, at = narrow(data, at, rows, 1)
            there = there.astype(bool)
            some, at = numbers(data, at, int(there.sum()), width)
            values = np.zeros(rows, np.uint64)
            values[there] = some + base
        else:
            values, at = read(data, at, rows, width)
            values = values + base
        if mode == DELTA:
            values = np.cumsum(values, dtype=np.uint64) + np.uint64(next(starts, 0))
        elif mode == UNIT:
            values = after_unit(columns, values)
        elif mode == REFERENCE:
            of = next(references, -1)
            if of not in columns:
                raise Malformed("damaged: a column that is not there; see acceltrace verify")
            values = values + columns[of]
        columns[number] = values
    return {NAMES.get(number, f"stall_{number - FIRST_STALL}" if number > FIRST_STALL else
                      f"column_{number}") if number != FIRST_STALL else "stall_0": values
            for number, values in columns.items()}
