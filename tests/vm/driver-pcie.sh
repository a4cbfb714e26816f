#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
#
# The device as a PCI Express function of Linux: what lspci says it can, and a corrected
# error given by QEMU's monitor. Those that take a reset are in driver-recover.sh.
exec tests/driver/guest -- python3 -B tests/driver/pcie_guest.py
