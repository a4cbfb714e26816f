#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Tables of the page of acceltrace html: sorted by any column, and names that lead to events."""

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
UNITS = {"": 1, "%": 1, "ppm": 1, "ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1,
         "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
PREFIXES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
# Returns the names of the columns and the texts of the rows of each visible table.
TABLES = """[...document.querySelectorAll('section:not([hidden]) table')].map((table) => ({
    head: [...table.tHead.rows[0].cells].map((cell) => [
        cell.textContent, cell.className === 'n', cell.getAttribute('aria-sort')]),
    rows: [...table.tBodies[0].rows].map((row) => [...row.cells].map(
        (cell) => cell.textContent))}))"""


def value_of(text):
    """The value of '3.752 ±0.002 ms', '< 0.1 %', '12.9 GB/s' or '1,234'; None: unknown."""
    words = text.replace(",", "").replace("≤ ", "").split(" ")
    if text in ("", "-") or words[0] == "unknown":
        return None
    if words[0] == "<":
        return float(words[1]) / 2
    words = [words[0].lstrip("±")] + [word for word in words[1:] if not word.startswith("±")]
    unit = words[1] if len(words) > 1 else ""
    if unit.endswith("/s"):
        return float(words[0]) * PREFIXES.get(unit[0], 1)
    return float(words[0]) * UNITS[unit]


def close_to_sorted(values, direction):
    """Whether values ascend or descend within their four digits; those without a value are last."""
    known = [value for value in values if value is not None]
    if values[:len(known)] != known:
        return False
    return all(direction * (b - a) >= -2e-3 * max(abs(a), abs(b))
               for a, b in zip(known, known[1:]))


class Opener:
    def __init__(self, folder, browser):
        self.folder, self.browser = folder, browser

    def open(self, name, view, width=1366):
        trace = os.path.join(pages.GOLDEN, name + ".atrace")
        if name in ("hostile", "stacks"):
            trace = os.path.join(self.folder, name + ".atrace")
            subprocess.run([pages.MAKE_TRACE, name, trace], check=True, timeout=60)
        out = os.path.join(self.folder, name + ".html")
        if not os.path.exists(out):
            done = subprocess.run([pages.ACCELTRACE, "html", trace, "-o", out],
                                  capture_output=True, timeout=120, check=False)
            assert done.returncode in (0, 1), done
        return self.browser.open(out, width, 1000, fragment="#" + view)


def click(page, table, column):
    page.run(f"document.querySelectorAll('section:not([hidden]) table')[{table}].tHead.rows[0]"
             f".cells[{column}].querySelector('button').click()")
    return page.run(TABLES)[table]


@case
def every_column_sorts_by_what_its_cells_are_worth(opener):
    for view in ("overview", "tables", "trust"):
        page = opener.open("demo", view)
        for number, table in enumerate(page.run(TABLES)):
            for column, (name, is_number, sort) in enumerate(table["head"]):
                if name == "" or len(table["rows"]) < 2:
                    assert sort is None, (view, name)
                    continue
                assert sort == "none", (view, name, sort)
                seen = []
                for _ in range(2):
                    now = click(page, number, column)
                    state = now["head"][column][2]
                    states = [each[2] for each in now["head"]]
                    assert [each for each in states if each not in (None, "none")] == [state]
                    direction = {"ascending": 1, "descending": -1}[state]
                    texts = [row[column] for row in now["rows"]]
                    if is_number:
                        values = [value_of(text) for text in texts]
                        assert close_to_sorted(values, direction), (view, name, state, texts)
                    assert sorted(now["rows"]) == sorted(table["rows"]), (view, name)
                    seen.append(state)
                assert sorted(seen) == ["ascending", "descending"], (name, seen)
                assert seen[0] == ("descending" if is_number else "ascending"), (name, seen)
                # The third click restores the original order.
                now = click(page, number, column)
                assert now["rows"] == table["rows"], (view, name)
                assert now["head"][column][2] == "none", (view, name)
        assert page.complaints() == [], page.complaints()


@case
def equal_rows_stay_as_they_were(opener):
    page = opener.open("demo", "tables")
    before = page.run(TABLES)[0]
    column = [name for name, _, _ in before["head"]].index("unit")
    after = click(page, 0, column)
    for unit in {row[column] for row in before["rows"]}:
        assert [row for row in after["rows"] if row[column] == unit] == [
            row for row in before["rows"] if row[column] == unit], unit


@case
def keys_sort_and_the_order_stays(opener):
    page = opener.open("demo", "tables")
    page.run("document.querySelector('#tables th:nth-child(3) button').focus()")
    page.key("Enter")
    assert page.run(TABLES)[0]["head"][2][2] == "descending"
    page.key("Enter")
    assert page.run(TABLES)[0]["head"][2][2] == "ascending"
    assert page.run("document.activeElement.textContent") == "count"
    rows = page.run(TABLES)[0]["rows"]
    page.key("1")
    page.key("4")
    assert page.run(TABLES)[0]["rows"] == rows
    # In a narrow window rows are lists, and can be sorted as well.
    page.show_as(390, 844, False)
    page.settle()
    assert page.run("document.querySelector('#tables table').classList.contains('stacked')")
    assert click(page, 0, 0)["head"][0][2] == "ascending"


@case
def names_lead_to_events_or_nowhere(opener):
    tried = 0
    for name in ("demo", "step", "broken", "hostile"):
        page = opener.open(name, "overview", 2560)  # a wide window shows more of them
        count = page.run("document.querySelectorAll('#overview td button.link').length")
        for number in range(count):
            page.key("1")
            link = f"document.querySelectorAll('#overview td button.link')[{number}]"
            text = page.run(link + ".textContent")
            page.run(link + ".click()")
            page.settle()
            hits = page.run("document.getElementById('search-count').textContent")
            assert hits.split(" of ")[-1].rstrip("+") not in ("", "0"), (name, text, hits)
            assert page.run("acceltrace().selected") is not None, (name, text)
            tried += 1
        assert page.complaints() == [], page.complaints()
    assert tried > 10, tried


@case
def a_folded_name_finds_what_it_stands_for(opener):
    page = opener.open("demo", "timeline")
    names = page.run("""(() => {
        const {groups, nameOf} = acceltrace(), names = new Set();
        for (const track of groups.flatMap((group) => group.tracks)) {
            (track.kinds || []).forEach((kind, i) => names.add(nameOf(kind, track.rows[i])));
        }
        return [...names]; })()""")
    assert "layer3.load_qkv" in names, names

    def hits(text):
        page.key("/")
        page.run("document.getElementById('search').value = ''")
        page.type(text)
        found = page.run("document.getElementById('search-count').textContent")
        page.key("Escape")
        return int(found.replace(",", ""))

    each = [hits(f"layer{number}.load_qkv") for number in range(4)]
    assert min(each) > 0 and hits("layer[0-3].load_qkv") == sum(each), each
    assert hits("layer[1-2].load_qkv") == each[1] + each[2], each
    assert hits("layer[4-9].load_qkv") == 0
    for text in ("layer[0-", "[", "layer[0-3](", "a[0-3]b[1-2]+*?\\"):
        assert hits(text) == 0, text
    assert page.complaints() == [], page.complaints()


if __name__ == "__main__":
    sys.exit(pages.run_cases(case, lambda *given: contextlib.nullcontext(Opener(*given))))
