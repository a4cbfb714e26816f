#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
#
# The device as a PCI Express function of Linux: what lspci says it can, a function-level
# reset from sysfs, an error given by QEMU's monitor that ends in the driver's handlers.
exec tests/driver/guest -- python3 -B tests/driver/pcie_guest.py
