# SPDX-License-Identifier: Apache-2.0
"""Decompression: Zstandard from Python itself (3.14) or from Debian's libzstd1."""

import ctypes

from .schema import SCHEMA
from .wire import Malformed

try:
    from compression import zstd
except ImportError:
    zstd = None
MOST_BYTES = 16 << 20


def by_library(data, size):
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        raise Malformed("the trace is packed: install libzstd1, or Python 3.14") from None
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = (ctypes.c_char_p, ctypes.c_size_t) * 2
    out = ctypes.create_string_buffer(max(size, 1))
    return out.raw[:size] if library.ZSTD_decompress(out, size, data, len(data)) == size else None


def decompress(message, size):
    """`data` of a packed block, or of a Packed, which must be exactly `size` bytes."""
    data = bytes(message.get("data", b""))
    if message.get("codec", 0) != SCHEMA.enums["Codec"]["CODEC_ZSTD"]:
        raise Malformed("packed by a later version; see acceltrace verify")
    if size > MOST_BYTES:
        raise Malformed("damaged: it unpacks to more than a packet holds; see acceltrace verify")
    if size == 0:
        return b""
    if zstd is not None:
        try:
            plain = zstd.decompress(data)
        except zstd.ZstdError:
            plain = None
    else:
        plain = by_library(data, size)
    if plain is None or len(plain) != size:
        raise Malformed("damaged: it does not decompress; see acceltrace verify")
    return plain
