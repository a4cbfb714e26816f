# SPDX-License-Identifier: Apache-2.0
"""The parts of scripts/vm: options, kernel, initramfs, machine, run, stale, starved, dmesg."""


class Failure(Exception):
    """The guest cannot run; the text is one line that says why and what to do."""
