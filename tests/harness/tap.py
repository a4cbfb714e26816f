# SPDX-License-Identifier: Apache-2.0
"""Runs functions as test cases that speak TAP, see run()."""
import time
import traceback


class Skip(Exception):
    """A test cannot be run here; its text has the reason."""


class Cases(list):
    """The tests of a script: every function with this decorator."""

    def __call__(self, function):
        self.append(function)
        return function


def run(tests):
    """Runs the functions, whose names say what they check; returns the exit status."""
    print(f"1..{len(tests)}")
    failed = 0
    for number, function in enumerate(tests, 1):
        begin = time.monotonic()
        verdict, reason, why = "ok", "", ""
        try:
            function()
        except Skip as skip:
            reason = f" # SKIP {skip}"
        except Exception:  # whatever it is, the test did not pass
            verdict = "not ok"
            failed += 1
            why = traceback.format_exc().rstrip()
        print(f"{verdict} {number} - {function.__name__.replace('_', ' ')}{reason}", flush=True)
        for line in why.splitlines():
            print(f"# {line}")
        print(f"# {time.monotonic() - begin:.1f} s")
    return 1 if failed else 0
