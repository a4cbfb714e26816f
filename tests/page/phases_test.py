#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""Phases on the page of acceltrace html: the band under the ruler, and the list of them."""

import contextlib
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(REPO, "tests"))
from page import pages  # noqa: E402

cases = []


def case(function):
    cases.append(function)
    return function


class Opener:
    """Opens pages of golden traces in one browser."""

    def __init__(self, folder, browser):
        self.folder, self.browser = folder, browser

    def open(self, name):
        trace = os.path.join(pages.GOLDEN, name + ".atrace")
        out = os.path.join(self.folder, name + ".html")
        done = subprocess.run([pages.ACCELTRACE, "html", trace, "-o", out], capture_output=True,
                              timeout=60, check=False)
        assert done.returncode == (name == "broken"), done
        return self.browser.open(out, 1366, 768)


def phases_of(name):
    trace = os.path.join(pages.GOLDEN, name + ".atrace")
    done = subprocess.run([pages.ACCELTRACE, "report", "--json", trace], capture_output=True,
                          text=True, timeout=60, check=True)
    return json.loads(done.stdout)["phases"]


def window(page):
    return page.run("acceltrace().window")


def pixels(page, x, y):
    """The colour of the ruler's canvas at a position."""
    return page.run("(() => { const from = document.getElementById('ruler'), r = devicePixelRatio; "
                    "const c = document.createElement('canvas'); c.width = c.height = 1; "
                    "const g = c.getContext('2d', {willReadFrequently: true}); "
                    f"g.drawImage(from, {x} * r, {y} * r, 1, 1, 0, 0, 1, 1); "
                    "return [...g.getImageData(0, 0, 1, 1).data]; })()")


def middle_of(page, phase):
    """The position of the middle of a phase's band on the screen."""
    base = page.run("acceltrace().run[0]")
    x = page.run(f"acceltrace().xOf({base} + {(phase['begin_ns'] + phase['end_ns']) / 2})")
    box = page.run("(() => { const b = document.getElementById('ruler').getBoundingClientRect(); "
                   "return [b.left, b.top]; })()")
    return x, box


@case
def phases_are_listed_with_what_limits_each(opener):
    page = opener.open("demo")
    page.key("4")
    rows = page.run("[...document.querySelectorAll('#phases tbody tr')].map((e) => e.innerText)")
    phases = phases_of("demo")
    assert [phase["phase"] for phase in phases] == ["load", "prefill", "decode"], phases
    assert len(rows) == len(phases), rows
    for row, phase in zip(rows, phases):
        gain = phase["limit"]["gains"][0]
        for wanted in (phase["phase"], f"{gain['resource']} {gain['share'] * 100:.1f} %",
                       str(phase["jobs"])):
            assert wanted in row, (row, wanted)
    page.run("document.querySelectorAll('#phases td button')[1].click()")
    page.settle()
    begin, end = window(page)
    base, prefill = page.run("acceltrace().run[0]"), phases[1]
    assert begin < base + prefill["begin_ns"] < base + prefill["end_ns"] < end
    assert end - begin < 1.1 * (prefill["end_ns"] - prefill["begin_ns"])
    assert page.complaints() == [], page.complaints()


@case
def a_band_in_the_timeline_shows_them(opener):
    page = opener.open("demo")
    page.key("2")
    page.settle()
    phases = phases_of("demo")
    colours = []
    for phase in phases[1:]:
        x, (left, top) = middle_of(page, phase)
        # At the band's upper edge, where there is no text.
        colours.append(tuple(pixels(page, x, 31)))
        page.mouse("mouseMoved", left + x, top + 38)
        page.settle()
        title = page.run("document.getElementById('ruler').title")
        gain = phase["limit"]["gains"][0]["resource"]
        assert phase["phase"] in title and gain in title, title
    assert len(set(colours)) == 2 and all(colour[3] == 255 for colour in colours), colours
    x, (left, top) = middle_of(page, phases[1])
    page.click(left + x, top + 38)
    page.settle()
    begin, end = window(page)
    assert end - begin < 1.1 * (phases[1]["end_ns"] - phases[1]["begin_ns"]), (begin, end)
    # A click on the times above it has no effect.
    page.click(left + 700, top + 12)
    page.settle()
    assert window(page) == [begin, end]
    assert page.complaints() == [], page.complaints()


@case
def a_run_without_phases_has_neither(opener):
    page = opener.open("broken")
    page.key("4")
    assert page.run("document.getElementById('phases')") is None
    page.key("2")
    page.settle()
    assert page.run("document.getElementById('ruler').clientHeight") == 30
    assert page.complaints() == [], page.complaints()


@contextlib.contextmanager
def opener_in(folder, browser):
    yield Opener(folder, browser)


if __name__ == "__main__":
    sys.exit(pages.run_cases(cases, opener_in))
