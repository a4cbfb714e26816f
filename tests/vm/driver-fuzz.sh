#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# A short run of the ioctl fuzzer, four threads and then one, whose calls a seed repeats.
# AXL_FUZZ_OPS ioctls; the long run is part of `make check-debug`.
exec tests/driver/guest -- sh -c '
build/test/driver-fuzz || status=1
AXL_FUZZ_THREADS=1 build/test/driver-fuzz || status=1
exit ${status:-0}'
