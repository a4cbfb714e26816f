#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 280
"""Two traces above each other: both show the same time, and each difference leads to its place."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
from harness import tap  # noqa: E402
from page.pages import ACCELTRACE, MAKE_TRACE, run_cases  # noqa: E402

case = tap.Cases()
WINDOWS = "acceltrace().windows"
DIFFERENCES = "document.getElementById('differences').innerText"
ROWS = "[...document.querySelectorAll('#differences tbody tr[data-goes]')]"


def until(page, script, seconds=60):
    end = time.monotonic() + seconds
    while not page.run(script):
        assert time.monotonic() < end, (script, page.run("document.body.innerText")[:500])
        time.sleep(0.1)


def quiet(page):
    assert page.complaints() == [], page.complaints()


def frame(side):
    return f"document.querySelector('iframe[data-side={side}]')"


def inside(side, script):
    return f"{frame(side)}.contentWindow.{script}"


def same(a, b):
    return all(abs(x - y) < 1 for x, y in zip(a, b))


class Both:
    """A comparison as a file and as it is served; both must behave alike."""

    def __init__(self, folder, browser, traces, url):
        self.folder, self.browser, self.traces, self.url = folder, browser, traces, url
        self.file = os.path.join(folder, "both.html")
        done = subprocess.run([ACCELTRACE, "html", *traces, "-o", self.file], capture_output=True,
                              text=True, timeout=120, check=False)
        # Both have lost an event and report it.
        assert done.returncode == 1 and "lacks what is missing" in done.stderr, done

    def open(self, width=1366, height=900, **more):
        for url in (self.file, self.url):
            page = self.browser.open(url, width, height, **more)
            until(page, "acceltrace().idle")
            page.settle()
            yield page


@case
def both_show_the_same_time(both):
    for page in both.open():
        a, b = page.run(WINDOWS)
        assert same(a, b), (a, b)
        page.run("acceltrace().pages.a.window()")
        # Moving either one moves the other.
        for side in "ab":
            page.run(inside(side, "focus()"))
            before = page.run(WINDOWS)[0]
            page.run(inside(side, "dispatchEvent(new KeyboardEvent('keydown', {key: 'w'}))"))
            page.run(inside(side, "dispatchEvent(new KeyboardEvent('keyup', {key: 'w'}))"))
            page.settle()
            a, b = page.run(WINDOWS)
            assert same(a, b) and not same(a, before), (a, b, before)
        quiet(page)


@case
def the_first_use_of_a_device_may_be_what_is_aligned(both):
    for page in both.open():
        page.run("""const box = document.getElementById('align'); box.value = 'run';
                    box.dispatchEvent(new Event('change'))""")
        a, b = page.run(WINDOWS)
        runs = page.run("['a', 'b'].map((side) => acceltrace().pages[side].run[0])")
        assert same([t - runs[0] for t in a], [t - runs[1] for t in b]), (a, b, runs)
        quiet(page)


@case
def what_differs_is_what_diff_says(both):
    done = subprocess.run([ACCELTRACE, "diff", *both.traces, "--json"], capture_output=True,
                          text=True, timeout=60, check=False)
    diff = json.loads(done.stdout)
    for page in both.open():
        text = page.run("document.getElementById('differences').textContent")
        for name in ("classes", "ops", "stages", "units", "calls", "transfers"):
            for change in diff[name][:5]:
                word = change["name"] if name not in ("classes", "stages") else \
                    change["name"].replace("_", " ")
                assert name == "transfers" or change["certainty"] == "same" or word in text, word
        assert "certain" in text and "…" not in text
        quiet(page)


@case
def a_row_leads_to_its_place_in_both(both):
    for page in both.open():
        row = ROWS + ".find((each) => each.cells[0].textContent.includes('matrix'))"
        assert page.run(f"Boolean({row})"), page.run(DIFFERENCES)
        page.run(row + ".click()")
        for side in "ab":
            until(page, inside(side, "acceltrace().selected !== null"))
            assert page.run(inside(side, "acceltrace().selected.kind")) == "command"
        assert page.run("document.querySelectorAll('tr.here').length") == 1
        # Both begin at their place with the same width, and keep it when one is moved.
        places = [page.run(inside(side, "acceltrace().selectedId")) for side in "ab"]
        assert places[0] == places[1], places
        page.run(inside("a", "dispatchEvent(new KeyboardEvent('keydown', {key: 's'}))"))
        page.run(inside("a", "dispatchEvent(new KeyboardEvent('keyup', {key: 's'}))"))
        page.settle()
        a, b = page.run(WINDOWS)
        assert abs((a[1] - a[0]) - (b[1] - b[0])) < 1, (a, b)
        assert page.run("document.getElementById('align').value") == "row"
        # The keyboard works as well.
        page.run(ROWS + "[0].focus()")
        page.key("Enter")
        assert page.run(ROWS + "[0].className") == "here"
        quiet(page)


@case
def it_takes_the_theme_and_fits_every_width(both):
    for width in (390, 768, 1366, 1920, 2560):
        for dark in (False, True):
            for page in both.open(width=width, height=1000, dark=dark):
                assert page.run("document.documentElement.scrollWidth <= innerWidth"), width
                theme = "dark" if dark else "light"
                for side in "ab":
                    assert page.run(inside(side, "document.documentElement.dataset.theme")) == theme
                    height = page.run(frame(side) + ".clientHeight")
                    assert height > 100, (width, height)
                over = page.run("""(() => {
                    const box = (s) => document.querySelector(s).getBoundingClientRect();
                    const a = box('iframe[data-side=a]'), b = box('iframe[data-side=b]'),
                          d = box('#differences');
                    return a.bottom > b.top + 1 || (b.bottom > d.top + 1 && b.right > d.left + 1) ||
                        d.right > innerWidth + 1; })()""")
                assert over is False, width
                quiet(page)


@case
def hostile_names_stay_text(both):
    hostile = os.path.join(both.folder, "<img src=x onerror=alert(1)>.atrace")
    subprocess.run([MAKE_TRACE, "hostile", hostile], check=True, timeout=60)
    out = os.path.join(both.folder, "hostile.html")
    subprocess.run([ACCELTRACE, "html", hostile, both.traces[0], "-o", out], check=False,
                   timeout=120, capture_output=True)
    page = both.browser.open(out, 1366, 900)
    until(page, "acceltrace().idle")
    assert page.run("document.querySelectorAll('img').length") == 0
    assert page.run("window.hostile === undefined")
    quiet(page)


@contextlib.contextmanager
def compared(folder, browser):
    traces = [os.path.join(folder, name) for name in ("base.atrace", "slower.atrace")]
    subprocess.run([MAKE_TRACE, "large", "50", traces[0]], check=True, timeout=60)
    subprocess.run([MAKE_TRACE, "slower", traces[1]], check=True, timeout=60)
    with subprocess.Popen([ACCELTRACE, "serve", "--no-browser", *traces], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
        try:
            url = process.stdout.readline().strip()
            assert url, process.stderr.read()
            yield Both(folder, browser, traces, url)
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0, process.stderr.read()


if __name__ == "__main__":
    sys.exit(run_cases(case, compared))
