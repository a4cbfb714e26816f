#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""Call sites of API calls on the page of acceltrace html: the tables of a trace with stacks."""

import contextlib
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402
from page import pages  # noqa: E402

case = tap.Cases()
# The texts of a card's rows, or null if there is no such card.
ROWS = """((title) => {
    const card = [...document.querySelectorAll('#tables .card')].find(
        (each) => each.querySelector('h3').firstChild.textContent === title);
    return card ? [...card.querySelectorAll('tbody tr')].map(
        (row) => [...row.cells].map((cell) => cell.innerText)) : null; })"""


def kind_of(trace):
    return os.path.basename(trace).removesuffix(".atrace")


class Opener:
    """Opens pages of traces in one browser, at their tables."""

    def __init__(self, folder, browser):
        self.folder, self.browser = folder, browser

    def trace(self, kind):
        path = os.path.join(self.folder, kind + ".atrace")
        subprocess.run([pages.MAKE_TRACE, kind, path], check=True, timeout=60)
        return path

    def open(self, trace, **more):
        out = os.path.join(self.folder, "page.html")
        done = subprocess.run([pages.ACCELTRACE, "html", trace, "-o", out], capture_output=True,
                              timeout=60, check=False)
        assert done.returncode == (kind_of(trace) == "stacks"), done  # it has a loss
        return self.browser.open(out, 1366, 768, fragment="#tables", **more)


def sites_of(trace):
    done = subprocess.run([pages.ACCELTRACE, "report", "--json", trace], capture_output=True,
                          text=True, timeout=60, check=False)
    return json.loads(done.stdout)["call_sites"]


def quiet(page):
    assert page.complaints() == [], page.complaints()


@case
def sites_and_stacks_are_those_of_the_report(opener):
    trace = opener.trace("stacks")
    found = sites_of(trace)
    page = opener.open(trace)
    rows = page.run(ROWS + "('Call sites')")
    assert [(row[0], row[1], row[2]) for row in rows] == [
        (site["site"], "till", str(site["calls"])) for site in found["sites"]], rows
    assert [row[:1] + row[2:3] for row in rows] == [["till+0x1000", "39"], ["till+0x2000", "10"]]
    assert "1 call of no known stack" in page.run("document.getElementById('tables').innerText")
    rows = page.run(ROWS + "('Call stacks')")
    assert [(int(row[1]), int(row[2])) for row in rows] == [
        (len(stack["frames"]), stack["calls"]) for stack in found["stacks"]], rows
    # From the site outwards; frames inside the library come after it.
    for row, stack in zip(rows, found["stacks"]):
        assert row[0] == " \u2190 ".join(stack["frames"][stack["site"]:]), (row, stack)
    quiet(page)


@case
def a_stack_opens_to_its_frames(opener):
    trace = opener.trace("stacks")
    page = opener.open(trace)
    for number, stack in enumerate(sites_of(trace)["stacks"]):
        details = f"document.querySelectorAll('.frames')[{number}]"
        assert page.run(f"{details}.querySelector('ol').checkVisibility()") is False
        page.run(f"{details}.querySelector('summary').click()")
        page.settle()
        items = f"[...{details}.querySelectorAll('li')]"
        assert page.run(items + ".map((e) => e.innerText)") == stack["frames"]
        assert page.run(items + ".every((e) => e.checkVisibility())")
        # Frames of the library are dim.
        assert page.run(items + ".filter((e) => e.className === 'dim').length") == stack["site"]
    quiet(page)


@case
def long_stacks_take_no_more_than_their_column(opener):
    for dark in (False, True):
        page = opener.open(opener.trace("stacks"), dark=dark)
        for script in ("0", "document.querySelectorAll('.frames summary').forEach((e) => "
                       "e.click())"):
            page.run(script)
            page.settle()
            wide = page.run("""[...document.querySelectorAll('#tables .card')].filter(
                (each) => each.innerText.startsWith('Call s') && each.scrollWidth >
                each.clientWidth).map((each) => each.innerText)""")
            assert wide == [], wide
        quiet(page)


@case
def without_stacks_there_is_neither(opener):
    page = opener.open(os.path.join(pages.GOLDEN, "demo.atrace"))
    assert page.run(ROWS + "('Call sites')") is None
    assert page.run(ROWS + "('Call stacks')") is None
    assert len(page.run(ROWS + "('API calls')")) > 2
    quiet(page)


if __name__ == "__main__":
    sys.exit(pages.run_cases(case, lambda *given: contextlib.nullcontext(Opener(*given))))
