# SPDX-License-Identifier: Apache-2.0
"""Decodes protobuf to dicts of numbers, strings and numpy columns."""

import numpy as np

from .schema import SCHEMA

SIGNED = {"sint32", "sint64"}
NUMBERS = SIGNED | {"uint32", "uint64", "int32", "int64", "bool", "fixed32", "fixed64", "double"}
MOST_DEPTH = 8


class Malformed(ValueError):
    """The file is not a trace, or damaged: acceltrace verify says where."""


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("damaged: a number that does not end; see acceltrace verify")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (1 << 64) - 1, at
        shift += 7


def varints(data):
    """A packed column, as uint64."""
    each = np.frombuffer(data, np.uint8)
    if len(each) == 0:
        return np.zeros(0, np.uint64)
    ends = np.flatnonzero(each < 128)
    if len(ends) == 0 or ends[-1] != len(each) - 1:
        raise Malformed("damaged: a column that does not end; see acceltrace verify")
    starts = np.concatenate(([0], ends[:-1] + 1))
    places = np.arange(len(each)) - np.repeat(starts, ends - starts + 1)
    parts = (each & 127).astype(np.uint64) << np.minimum(7 * places, 63).astype(np.uint64)
    return np.add.reduceat(parts, starts)


def unzigzag(values):
    return (values >> np.uint64(1)).view(np.int64) ^ -(values & np.uint64(1)).view(np.int64)


def column(kind, data):
    if kind == "fixed32":
        return np.frombuffer(data, "<u4")
    if kind == "fixed64":
        return np.frombuffer(data, "<u8")
    if kind == "double":
        return np.frombuffer(data, "<f8")
    values = varints(data)
    if kind in SIGNED:
        return unzigzag(values)
    return values.view(np.int64) if kind in ("int32", "int64") else values


def fields(data):
    """Yields (number, wire type, value or bytes) of each field of a message."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, at = data[at:at + size], at + size
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise Malformed(f"damaged: no field is of kind {wire}; see acceltrace verify")
        if at > len(data):
            raise Malformed("damaged: a field that is cut short; see acceltrace verify")
        yield number, wire, value


def one(field, wire, value, depth):
    if field.kind in SCHEMA.messages:
        return decode(field.kind, value, depth + 1)
    if field.kind == "string":
        return bytes(value).decode(errors="replace")
    if wire in (1, 5):
        return column(field.kind, value)[0]
    if wire == 2:
        return bytes(value)
    if field.kind in SIGNED:
        return value >> 1 ^ -(value & 1)
    return value


def decode(message, data, depth=0):
    """A message as {field: value}; repeated fields are lists, columns numpy arrays. Missing and
    unknown fields are left out.
    """
    if depth > MOST_DEPTH:
        raise Malformed("damaged: messages within messages; see acceltrace verify")
    known, values = SCHEMA.messages[message], {}
    for number, wire, value in fields(data):
        field = known.get(number)
        if field is None:
            continue
        numeric = field.kind in NUMBERS or field.kind in SCHEMA.enums
        if numeric != (wire != 2) and not (numeric and field.repeated):
            raise Malformed(f"damaged: {field.name} is not of its kind; see acceltrace verify")
        if field.repeated and numeric:
            more = column(field.kind, value) if wire == 2 else np.array(
                [one(field, wire, value, depth)])
            values[field.name] = (np.concatenate((values[field.name], more)) if field.name in values
                                  else more)
        elif field.repeated:
            values.setdefault(field.name, []).append(one(field, wire, value, depth))
        else:
            values[field.name] = one(field, wire, value, depth)
    return values
