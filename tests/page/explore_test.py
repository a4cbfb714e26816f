#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Exploring the page of acceltrace html: tooltips of charts, tracks that are pinned, hidden and
moved; and the meaning of its colours.
"""

import contextlib
import os
import struct
import subprocess
import sys
import zlib

sys.dont_write_bytecode = True
REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402
from page import pages, png  # noqa: E402

case = tap.Cases()
TIP = "(document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent)"
CHART = "document.querySelectorAll('#charts canvas')[{}]"
SAID = "document.getElementById('announce').textContent"
ROWS = """acceltrace().rows.filter((row) => row.track).map((row) => [row.track.id, row.pinned,
    acceltrace().onScreen(row.y)])"""


class Opener:
    def __init__(self, folder, browser):
        self.folder, self.browser = folder, browser

    def open(self, name, fragment, dark=False, width=1366, height=1000):
        trace = os.path.join(pages.GOLDEN, name + ".atrace")
        out = os.path.join(self.folder, name + ".html")
        if not os.path.exists(out):
            done = subprocess.run([pages.ACCELTRACE, "html", trace, "-o", out],
                                  capture_output=True, timeout=120, check=False)
            assert done.returncode == (name == "broken"), done
        return self.browser.open(out, width, height, dark, fragment)


def quiet(page):
    assert page.complaints() == [], page.complaints()


def middle(page, element):
    return page.run(f"""(() => {{
        const element = {element};
        element.scrollIntoView({{block: 'center'}});
        const {{left, top, width, height}} = element.getBoundingClientRect();
        return [left, top, width, height]; }})()""")


@case
def charts_say_what_is_under_the_mouse(opener):
    for name in ("demo", "step"):
        page = opener.open(name, "#charts")
        titles = page.run("[...document.querySelectorAll('#charts canvas')].map("
                          "(e) => e.getAttribute('aria-label'))")
        assert len(titles) >= 6, titles
        for number, title in enumerate(titles):
            left, top, wide, high = middle(page, CHART.format(number))
            seen = set()
            for step in range(1, 25):
                for part in (0.3, 0.8) if step % 2 else (0.5, 0.65):
                    page.mouse("mouseMoved", left + wide * step / 25, top + high * part)
                    seen.add(page.run(TIP))
            seen.discard("")
            assert any(any(c.isdigit() for c in text) for text in seen), (name, title, seen)
            page.mouse("mouseMoved", 2, 2)
            assert page.run(TIP) == "", title
        quiet(page)


@case
def charts_are_read_by_keys(opener):
    page = opener.open("demo", "#charts")
    for number in range(page.run("document.querySelectorAll('#charts canvas').length")):
        page.run(CHART.format(number) + ".focus({focusVisible: true})")
        page.key("Home")
        first = page.run(TIP)
        assert first != "" and page.run(SAID) == first, (first, page.run(SAID))
        page.key("End")
        assert page.run(TIP) != ""
        page.key("ArrowLeft")
        page.key("Escape")
        assert page.run(TIP) == ""
    page.key("1")
    for element in (".stack", ".gain-bar", ".glance"):
        page.run(f"document.querySelector('{element}').focus({{focusVisible: true}})")
        page.key("Home")
        assert "%" in page.run(TIP) or "ns" in page.run(TIP), (element, page.run(TIP))
        page.key("Escape")
    quiet(page)


@case
def a_finger_shows_a_tooltip(opener):
    page = opener.open("demo", "#charts")
    left, top, wide, high = middle(page, "document.querySelector('#charts canvas')")
    page.call("Emulation.setTouchEmulationEnabled", enabled=True)
    where = [{"x": left + wide / 2, "y": top + high / 2}]
    page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=where)
    assert "/s" in page.run(TIP), page.run(TIP)
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    quiet(page)


@case
def tracks_are_pinned_hidden_and_moved_in_their_list(opener):
    page = opener.open("demo", "#timeline")
    before = [row[0] for row in page.run(ROWS)]
    page.key("t")

    def act(track, what):
        page.run(f"document.querySelector('#arrange-list [data-id=\"{track}\"] "
                 f"[data-do={what}]').focus()")
        page.key("Enter")

    act("u0.2", "pin")
    act("i0", "hide")
    act("u0.3", "up")
    rows = page.run(ROWS)
    ids = [row[0] for row in rows]
    assert ids[0] == "u0.2" and rows[0][1] and "i0" not in ids, rows
    assert ids.index("u0.3") < before.index("u0.3"), ids
    assert sorted([*ids, "i0"]) == sorted(before), (ids, before)
    # The key that was pressed keeps the focus.
    assert page.run("document.activeElement.dataset.do") == "up"
    page.key("Escape")
    page.settle()
    # Pinned tracks stay where they are when the rest scrolls.
    page.show_as(1366, 420, False)
    page.settle()
    y = page.run(ROWS)[0][2]
    page.run("document.getElementById('scroll').scrollTop = 150")
    page.settle()
    rows = page.run(ROWS)
    assert rows[0][2] == y and rows[1][2] < y + 60, rows[:3]
    address = page.run("location.hash")
    assert "p=u0.2" in address and "h=i0" in address and "o=" in address, address
    other = opener.open("demo", address)
    assert [row[0] for row in other.run(ROWS)] == ids
    # A link to another view leaves the tracks as they are.
    other.run("location.hash = '#trust'")
    other.key("2")
    assert [row[0] for row in other.run(ROWS)] == ids
    # A hidden track is shown again when one of its events is selected.
    other.run("acceltrace().select(acceltrace().placeOf('irq', 3))")
    other.settle()
    assert "i0" in [row[0] for row in other.run(ROWS)]
    other.key("t")
    other.run("document.getElementById('arrange-reset').click()")
    other.settle()
    assert [row[0] for row in other.run(ROWS)] == before
    other.key("Escape")
    other.settle()
    assert "p=" not in other.run("location.hash") and "o=" not in other.run("location.hash")
    for bad in ("#timeline&p=,,x&h=%00&o=@nothing", "#timeline&p=" + "a," * 5000):
        quiet(opener.open("demo", bad))
    quiet(page)
    quiet(other)


def label_of(page, track):
    """The position of a track's name on the screen."""
    return page.run(f"""(() => {{
        const row = acceltrace().rows.find((each) => each.track && each.track.id === '{track}');
        const box = document.getElementById('scroll').getBoundingClientRect();
        return [box.left + 30, box.top + acceltrace().onScreen(row.y) + 8]; }})()""")


@case
def a_tracks_name_has_a_menu_and_can_be_dragged(opener):
    page = opener.open("demo", "#timeline")
    before = [row[0] for row in page.run(ROWS)]
    page.click(*label_of(page, "u0.2"))
    assert page.run("document.getElementById('track-menu').hidden") is False
    page.key("Enter")  # the first of it pins
    rows = page.run(ROWS)
    assert rows[0][:2] == ["u0.2", True], rows[0]
    page.click(*label_of(page, "u0.2"))
    page.key("ArrowDown")
    page.key("Enter")  # hides
    assert "u0.2" not in [row[0] for row in page.run(ROWS)]
    page.click(*label_of(page, "u0.1"))
    page.key("Escape")
    assert page.run("document.getElementById('track-menu').hidden") is True
    # Drag it over the track above and a little further.
    ids = [row[0] for row in page.run(ROWS)]
    above = ids[ids.index("u0.3") - 1]
    page.drag(*label_of(page, "u0.3"), *label_of(page, above))
    after = [row[0] for row in page.run(ROWS)]
    assert after.index("u0.3") == ids.index("u0.3") - 1, after
    assert after.index(above) == ids.index(above) + 1, after
    assert page.run("acceltrace().area") is None and len(before) == len(after) + 1
    quiet(page)


@case
def counters_of_the_timeline_say_their_value(opener):
    page = opener.open("demo", "#timeline")
    page.run("acceltrace().select(acceltrace().placeOf('job', 2), true)")
    page.settle()
    page.run("document.getElementById('scroll').scrollTop = 1e5")
    page.settle()
    y = page.run("""(() => {
        const {rows, onScreen} = acceltrace();
        const row = rows.find((each) => each.track && each.track.shape === 'counter');
        return document.getElementById('scroll').getBoundingClientRect().top + onScreen(row.y) + 15;
    })()""")
    seen = set()
    for step in range(20):
        page.mouse("mouseMoved", 300 + step * 50, y)
        seen.add(page.run(TIP))
    assert any(text.startswith("jobs in flight: 1 jobs at ") for text in seen), seen
    quiet(page)


@case
def a_cut_name_is_whole_in_its_tooltip(opener):
    page = opener.open("demo", "#timeline", width=390)
    label = page.run("acceltrace().labels().find((each) => each.of === 'tracks').list.find("
                     "(each) => each.text !== each.full && each.x < 60)")
    assert label["text"].endswith("…"), label
    left, top, _, _ = middle(page, "document.getElementById('scroll')")
    page.mouse("mouseMoved", left + 20, top + label["y"] + 5)
    page.settle()
    assert page.run(TIP) == label["full"], (page.run(TIP), label)
    quiet(page)


def picture(page, folder, left=0, top=0, width=1366, height=1000, scale=1):
    """Rows of (red, green, blue) of the visible page."""
    path = os.path.join(folder, "shot.png")
    page.screenshot(path, clip={"x": left, "y": top, "width": width, "height": height,
                                "scale": scale})
    with open(path, "rb") as file:
        parts = list(png.chunks(file.read()))
    head = next(body for kind, body in parts if kind == b"IHDR")
    width, _, _, colour = struct.unpack_from(">IIBB", head)
    each = {2: 3, 6: 4}[colour]
    data = zlib.decompress(b"".join(body for kind, body in parts if kind == b"IDAT"))
    return [[tuple(row[i:i + 3]) for i in range(0, width * each, each)]
            for row in map(bytes, png.unfiltered(data, width, each))]


def reds(rows):
    """The number of points in a warning red: no orange, no purple, no tint."""
    return sum(1 for row in rows for r, g, b in row
               if r > 150 and r - max(g, b) > 90 and abs(g - b) < 45)


@case
def red_is_what_is_lost_or_broken(opener):
    for dark in (False, True):
        for view in ("overview", "timeline", "charts"):
            page = opener.open("demo", "#" + view, dark)
            assert reds(picture(page, opener.folder, scale=0.5)) == 0, (view, dark)
        page = opener.open("broken", "#overview", dark)
        assert reds(picture(page, opener.folder, height=400, scale=0.5)) > 50, dark


def ink(rows, ground):
    """The average distance of points from their background, out of 255."""
    points = [max(abs(a - b) for a, b in zip(point, ground)) for row in rows for point in row]
    return sum(points) / len(points)


@case
def interrupts_are_not_the_heaviest_ink(opener):
    for dark, ground in ((False, (255, 255, 255)), (True, (0x1d, 0x21, 0x26))):
        page = opener.open("demo", "#timeline", dark)
        above = page.run("document.getElementById('scroll').getBoundingClientRect().top")
        heavy = {}
        for track in ("i0", "run", "path"):
            y, lane = page.run(f"""(() => {{
                const {{rows, onScreen}} = acceltrace();
                const row = rows.find((each) => each.track && each.track.id === '{track}');
                return [onScreen(row.y), row.track.laneHeight]; }})()""")
            top = int(above + y)
            heavy[track] = ink(picture(page, opener.folder, 260, top + 1, 1000, lane - 3), ground)
        assert heavy["i0"] < 40 and heavy["i0"] < heavy["run"] / 2, heavy


if __name__ == "__main__":
    sys.exit(pages.run_cases(case, lambda *given: contextlib.nullcontext(Opener(*given))))
