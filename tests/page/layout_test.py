#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""The layout of the page of acceltrace html in narrow and wide windows, light and dark: nothing
exceeds the edge, no text is cut without a way to read all of it, texts do not overlap.
"""

import contextlib
import os
import subprocess
import sys

sys.dont_write_bytecode = True
REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402
from page import pages  # noqa: E402

case = tap.Cases()
SIZES = ((390, 844), (768, 1024), (1366, 768), (1920, 1080), (2560, 1440))
VIEWS = ("overview", "timeline", "charts", "tables", "trust")

# A list of problems of the visible page, as texts.
LOOK = r"""(() => {
    const bad = [];
    const say = (what, element) => bad.push(`${what}: ${element.id}.${
        element.className.baseVal ?? element.className} ${
        element.textContent.trim().slice(0, 50)}`);
    const dialog = document.querySelector('dialog[open]'), root = dialog || document.body;
    for (const {scrollWidth} of [document.documentElement, document.body]) {
        if (scrollWidth > innerWidth) bad.push(`the document is ${scrollWidth} wide`);
    }
    // The box of a graph may be scrolled.
    const scrolls = (element) => element.closest('.graph-box') !== null;
    const parents = function* (element) {
        for (let up = element; up !== null; up = up.parentElement) yield [up, getComputedStyle(up)];
    };
    const isClipped = (element) => {
        for (const [up, {overflowX}] of parents(element.parentElement)) {
            if (up.tagName === 'SECTION' || up === document.body) return false;
            if (overflowX === 'hidden') return true;
        }
        return false;
    };
    // The places of visible text, line by line.
    const texts = [];
    const addTexts = (element) => {
        let clip = [0, 0, innerWidth, innerHeight];
        for (const [up, {overflow}] of parents(element)) {
            if (overflow === 'visible') continue;
            const {left, top, right, bottom} = up.getBoundingClientRect();
            clip = [Math.max(clip[0], left), Math.max(clip[1], top),
                    Math.min(clip[2], right), Math.min(clip[3], bottom)];
        }
        for (const node of element.childNodes) {
            if (node.nodeType !== 3 || node.data.trim() === '') continue;
            const range = document.createRange();
            range.selectNodeContents(node);
            for (const rect of range.getClientRects()) {
                const seen = {left: Math.max(rect.left, clip[0]), top: Math.max(rect.top, clip[1]),
                              right: Math.min(rect.right, clip[2]),
                              bottom: Math.min(rect.bottom, clip[3]), element, node};
                if (seen.right - seen.left > 1 && seen.bottom - seen.top > 1) texts.push(seen);
            }
        }
    };
    for (const element of root.querySelectorAll('*')) {
        if (!element.checkVisibility({visibilityProperty: true}) ||
            element.closest('#announce, noscript') ||
            (element.closest('svg') !== null && element.tagName !== 'text')) continue;
        const box = element.getBoundingClientRect(), style = getComputedStyle(element);
        if (box.width === 0) continue;
        const isOver = box.right > innerWidth + 1 || box.left < -1;
        if (isOver && !scrolls(element) && !isClipped(element)) say('over the edge', element);
        const isText = [...element.childNodes].some(
            (each) => each.nodeType === 3 && each.data.trim() !== '');
        const isTitled = element.closest('[title]') !== null, isBlock = style.display !== 'inline';
        if (element.scrollWidth > element.clientWidth + 1 && style.overflowX !== 'visible' &&
            isBlock && !scrolls(element) &&
            (element.tagName === 'SECTION' || style.textOverflow !== 'ellipsis' || !isTitled)) {
            say('cut', element);
        }
        if (element.scrollHeight > element.clientHeight + 2 && style.overflowY === 'hidden' &&
            isText && isBlock && !isTitled) say('cut below', element);
        if (isText) addTexts(element);
    }
    // Lines of text are a little higher than their letters.
    texts.sort((a, b) => a.top - b.top);
    texts.forEach((a, i) => {
        for (let k = i + 1; k < texts.length && texts[k].top < a.bottom - 4; ++k) {
            const b = texts[k];
            if (a.node !== b.node && a.left < b.right - 1 && b.left < a.right - 1) {
                say(`over "${b.element.textContent.trim().slice(0, 40)}"`, a.element);
            }
        }
    });
    for (const {of, width, list} of dialog ? [] : acceltrace().labels()) {
        list.forEach((a, i) => {
            const name = `${of}: "${a.full.slice(0, 50)}"`;
            if (a.x < -1 || a.x + a.w > width + 1) bad.push(name + ' leaves its canvas');
            const isWhole = a.text === a.full || (a.text.endsWith('…') && a.text.length >= 4 &&
                a.full.startsWith(a.text.slice(0, -1)));
            if (!isWhole) bad.push(name + ' is cut to ' + a.text);
            for (const b of list.slice(i + 1)) {
                if (a.x < b.x + b.w - 1 && b.x < a.x + a.w - 1 && Math.abs(a.y - b.y) < 9) {
                    bad.push(name + ' over ' + b.text);
                }
            }
        });
    }
    return [...new Set(bad)].slice(0, 12);
})()"""


class Opener:
    def __init__(self, folder, browser):
        self.folder, self.browser = folder, browser

    def open(self, name):
        if name in ("hostile", "stacks"):
            trace = os.path.join(self.folder, name + ".atrace")
            subprocess.run([pages.MAKE_TRACE, name, trace], check=True, timeout=60)
        else:
            trace = os.path.join(pages.GOLDEN, name + ".atrace")
        out = os.path.join(self.folder, name + ".html")
        done = subprocess.run([pages.ACCELTRACE, "html", trace, "-o", out], capture_output=True,
                              timeout=120, check=False)
        assert done.returncode in (0, 1), done
        return self.browser.open(out, 1366, 768)


def in_all_windows(page, what):
    """Checks windows of all sizes, light and dark."""
    found = []
    for width, height in SIZES:
        for dark in (False, True):
            page.show_as(width, height, dark)
            page.settle()
            bad = page.run(LOOK)
            if bad:
                found.append(f"{what} at {width}{' dark' if dark else ''}: " + "\n  ".join(bad))
    assert found == [], "\n".join(found)
    page.show_as(1366, 768, False)
    page.settle()


def views_fit(page):
    for number, view in enumerate(VIEWS, 1):
        page.key(str(number))
        in_all_windows(page, view)
    assert page.complaints() == [], page.complaints()


@case
def every_view_fits(opener):
    views_fit(opener.open("demo"))


@case
def every_view_of_other_runs_fits(opener):
    for name in ("step", "broken", "stacks"):
        views_fit(opener.open(name))


@case
def names_of_any_length_fit(opener):
    views_fit(opener.open("hostile"))


@case
def details_statistics_and_the_graph_fit(opener):
    page = opener.open("demo")
    page.key("2")
    for kind in ("api", "submit", "job", "command", "stall", "path", "piece", "range"):
        page.run(f"acceltrace().select(acceltrace().placeOf('{kind}', 5), true)")
        in_all_windows(page, "details of " + kind)
    page.run("acceltrace().select(acceltrace().placeOf('command', 300), true)")
    page.key("g")
    in_all_windows(page, "graph")
    page.key("g")
    page.run("acceltrace().selectArea({from: acceltrace().run[0], to: acceltrace().run[1], "
             "top: 0, bottom: acceltrace().total})")
    in_all_windows(page, "statistics")
    assert page.complaints() == [], page.complaints()


@case
def dialogs_fit(opener):
    page = opener.open("demo")
    page.key("2")
    for key in ("?", "t"):
        page.key(key)
        in_all_windows(page, "dialog of " + key)
        page.key("Escape")
    assert page.complaints() == [], page.complaints()


@case
def the_header_wraps_in_a_narrow_window(opener):
    page = opener.open("demo")
    rows = """new Set([...document.querySelectorAll('header > *')].map(
        (each) => each.getBoundingClientRect()).map(
        (box) => Math.round((box.top + box.bottom) / 20))).size"""
    page.show_as(1920, 1080, False)
    page.settle()
    assert page.run(rows) == 1, page.run(rows)
    page.show_as(390, 844, False)
    page.settle()
    assert page.run(rows) >= 3, page.run(rows)
    assert page.run("[...document.querySelectorAll('header button')].every((each) => "
                    "each.getBoundingClientRect().right <= innerWidth)")


if __name__ == "__main__":
    sys.exit(pages.run_cases(case, lambda *given: contextlib.nullcontext(Opener(*given))))
