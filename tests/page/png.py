# SPDX-License-Identifier: Apache-2.0
"""Reduces screenshots to the 256 most frequent colours."""

import collections
import struct
import zlib


def chunks(data):
    at = 8
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        yield kind, data[at + 8:at + 8 + length]
        at += 12 + length


def unfiltered(rows, width, each):
    """The bytes of an image without PNG's filters, row by row."""
    stride, last = width * each, bytes(width * each)
    for at in range(0, len(rows), stride + 1):
        kind, row = rows[at], bytearray(rows[at + 1:at + 1 + stride])
        for i in range(stride if kind else 0):
            left = row[i - each] if i >= each else 0
            up, corner = last[i], last[i - each] if i >= each else 0
            if kind == 1:
                row[i] = row[i] + left & 255
            elif kind == 2:
                row[i] = row[i] + up & 255
            elif kind == 3:
                row[i] = row[i] + (left + up) // 2 & 255
            else:
                near = left + up - corner
                row[i] = row[i] + min((left, up, corner), key=lambda v, n=near: abs(n - v)) & 255
        yield row
        last = row


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def smaller(data):
    """The same picture with at most 256 colours."""
    parts = collections.defaultdict(bytes)
    for kind, body in chunks(data):
        parts[kind] += body
    width, height, depth, colour = struct.unpack_from(">IIBB", parts[b"IHDR"])
    each = {2: 3, 6: 4}[colour]
    assert depth == 8, depth
    pixels = [[bytes(row[i:i + 3]) for i in range(0, width * each, each)]
              for row in unfiltered(zlib.decompress(parts[b"IDAT"]), width, each)]
    counts = collections.Counter(pixel for row in pixels for pixel in row)
    palette = [pixel for pixel, _ in counts.most_common(256)]
    place = {pixel: number for number, pixel in enumerate(palette)}

    def nearest(pixel):
        if pixel not in place:
            place[pixel] = min(range(len(palette)), key=lambda number: sum(
                (a - b) ** 2 for a, b in zip(palette[number], pixel)))
        return place[pixel]

    rows = b"".join(b"\0" + bytes(map(nearest, row)) for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
            + chunk(b"PLTE", b"".join(palette)) + chunk(b"IDAT", zlib.compress(rows, 9))
            + chunk(b"IEND", b""))
