# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the page: paths, and one browser for all cases of a script."""

import functools
import os
import sys
import tempfile

from harness import tap

from . import browser as browsers

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
MAKE_TRACE = os.path.join(REPO, "build", "test", "make-page-trace")
GOLDEN = os.path.join(REPO, "tests", "golden")
STATE = "acceltrace()"


def run_cases(cases, begin):
    """Returns the exit status of a script. Each case gets the value of `with begin(folder,
    browser)`; arguments of the script are names of cases to run.
    """
    if browsers.find() is None:
        print("chromium is not installed: scripts/install-deps test")
        return 77
    with tempfile.TemporaryDirectory() as folder, browsers.Browser(folder) as browser:
        try:
            browser.call("Browser.getVersion")
        except browsers.Failed as error:
            print(f"chromium does not start here: {error}")
            return 77
        with begin(folder, browser) as given:
            wanted = [one for one in cases if len(sys.argv) < 2 or one.__name__ in sys.argv]
            return tap.run([functools.update_wrapper(functools.partial(one, given), one)
                            for one in wanted])
