#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
#
# The device as a PCI Express function in Linux: its capabilities according to lspci, and a
# corrected error injected by QEMU's monitor. Errors that need a reset are in driver-recover.sh.
exec tests/driver/guest -- python3 -B tests/driver/pcie_guest.py
