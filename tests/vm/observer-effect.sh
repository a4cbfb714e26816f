#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 1200
#
# Recording must not change the recorded program much, and must report the change: two programs in
# an icount guest, not recorded and recorded. `make bench BENCH=collection` has all programs and the
# goals; the limits here only catch regressions.
set -u
PYTHONPATH=scripts/lib:tests/bench PYTHONDONTWRITEBYTECODE=1 exec python3 tests/vm/lib/observer_effect.py
