#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Work for graphics devices, by the kernel's interfaces alone: `pointers N` shows N pointers
on a virtual GPU's screen, `vgem N` attaches N fences to a buffer and signals them."""

import array
import fcntl
import glob
import os
import struct
import sys


def code(number, size):
    """_IOWR('d', number, size bytes)."""
    return 3 << 30 | size << 16 | ord("d") << 8 | number


def call(card, number, form, *values):
    """Calls an ioctl with a structure of this format; returns it as modified."""
    data = bytearray(struct.pack(form, *values))
    fcntl.ioctl(card, code(number, len(data)), data)
    return struct.unpack(form, data)


def card_of(driver):
    """Opens the card of a driver, or of a device with that name."""
    for path in sorted(glob.glob("/sys/class/drm/card[0-9]")):
        links = [os.path.realpath(path + "/device"), os.path.realpath(path + "/device/driver")]
        if driver in [os.path.basename(link) for link in links]:
            return os.open("/dev/dri/" + os.path.basename(path), os.O_RDWR)
    return sys.exit(f"no card of {driver}")


def dumb(card, width, height):
    """Creates a buffer; returns its handle and pitch."""
    made = call(card, 0xB2, "IIIIIIQ", height, width, 32, 0, 0, 0, 0)
    return made[4], made[5]


def resources(card):
    """The first CRTC and connector: queries their number, then their ids."""
    # Pointers to frames, CRTCs, connectors and encoders, the counts of each, bounds.
    form = "QQQQIIIIIIII"
    counts = call(card, 0xA0, form, *[0] * 12)[4:8]
    lists = [array.array("I", [0] * max(count, 1)) for count in counts]
    call(card, 0xA0, form, *[one.buffer_info()[0] for one in lists], *counts, 0, 0, 0, 0)
    return lists[1][0], lists[2][0]


def pointers_of(many):
    """Shows each one before the next."""
    card = card_of("virtio-pci")
    crtc, connector = resources(card)
    width, height = 1024, 768
    handle, pitch = dumb(card, width, height)
    # id, width, height, pitch, bits, depth, handle
    frame = call(card, 0xAE, "IIIIIII", 0, width, height, pitch, 32, 24, handle)[0]
    # 60 Hz: clock, five of a line and five of a frame, the rate, flags, type, name.
    mode = struct.pack("I10HIII32s", 65000, width, 1048, 1184, 1344, 0, height, 771, 777, 806, 0,
                       60, 0, 0, b"load")
    connectors = array.array("I", [connector])
    # connectors and how many, CRTC, frame, x, y, gamma, whether there is a mode
    call(card, 0xA2, "QIIIIIII68s", connectors.buffer_info()[0], 1, crtc, frame, 0, 0, 0, 1, mode)
    # Frames are sent without a fence, pointers with one each.
    pointers = [dumb(card, 64, 64)[0] for _ in range(2)]
    for pointer in range(many):
        # flags (1: a new picture), CRTC, place, size, picture, the place in it that points
        call(card, 0xBB, "IIiiIIIii", 1, crtc, 0, 0, 64, 64, pointers[pointer % 2], 0, 0)


def vgem(many):
    """One buffer for each, as a buffer takes one fence for writing at a time."""
    card = card_of("vgem")
    for _ in range(many):
        handle, _ = dumb(card, 64, 64)
        # handle, flags (1: for writing), fence, padding
        fence = call(card, 0x41, "IIII", handle, 1, 0, 0)[2]
        # _IOW: fence, flags
        fcntl.ioctl(card, 1 << 30 | 8 << 16 | ord("d") << 8 | 0x42, struct.pack("II", fence, 0))


if __name__ == "__main__":
    {"pointers": pointers_of, "vgem": vgem}[sys.argv[1]](int(sys.argv[2]))
