#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 280
"""The page of acceltrace html in headless Chromium: contents, navigation, no network."""

import contextlib
import json
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402
from page.pages import ACCELTRACE, GOLDEN, MAKE_TRACE, STATE, run_cases  # noqa: E402

case = tap.Cases()


class Pages:
    """Pages of traces, written on first use, and the browser that shows them."""

    def __init__(self, folder, browser):
        self.folder, self.browser = folder, browser

    def write(self, trace, status=0):
        out = os.path.join(self.folder, os.path.basename(trace) + ".html")
        if not os.path.exists(out):
            done = subprocess.run([ACCELTRACE, "html", trace, "-o", out], capture_output=True,
                                  text=True, timeout=120, check=False)
            assert done.returncode == status, done
            assert len(done.stderr.splitlines()) == status, done
        return out

    def open(self, name="demo", fragment="", width=1366, height=768, **more):
        path = self.write(os.path.join(GOLDEN, name + ".atrace"), 1 if name == "broken" else 0)
        return self.browser.open(path, width, height, fragment=fragment, **more)


def window(page):
    return page.run(STATE + ".window")


def width(page):
    begin, end = window(page)
    return end - begin


def selected(page):
    return page.run(STATE + ".selected")


def answer_of(command, name):
    """A command's answer for a golden trace."""
    done = subprocess.run([ACCELTRACE, command, "--json", os.path.join(GOLDEN, name + ".atrace")],
                          capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def quiet(page):
    assert page.complaints() == [], page.complaints()


@case
def first_screen_answers_without_scrolling(pages):
    page = pages.open()
    text = page.run("document.getElementById('overview').innerText")
    for wanted in ("% of the run", "Certain", "Where the time went", "What would help",
                   "1.25x", "host submission", "Lost\nnone", "Tracer", "Critical path", "by cause",
                   "by API call"):
        assert wanted in text, (wanted, text)
    assert page.run("(() => { const e = document.getElementById('overview'); "
                    "return e.scrollHeight <= e.clientHeight; })()")
    # A browser's own bars take some of such a screen.
    assert page.run("document.querySelector('.path').getBoundingClientRect().bottom") < 640
    # Shares of the path and gains equal those that the other commands print.
    for each in answer_of("critical-path", "demo")["causes"][:4]:
        shown = rf"{each['name']}\t{each['where']}\s+{each['share'] * 100:.1f} %"
        assert re.search(shown, text), (shown, text)
    for each in answer_of("whatif", "demo")["limiter"]["gains"][:3]:
        lo, share, hi = (f"{each[key] * 100:.1f}" for key in ("share_lo", "share", "share_hi"))
        assert f"{each['name']}\n{share} %\n{lo} to {hi} %" in text, (each, text)
    quiet(page)


@case
def what_to_change_comes_first(pages):
    page = pages.open("step")
    advice = answer_of("report", "step")["advice"]
    assert len(advice) >= 3, advice
    shown = page.run("[...document.querySelectorAll('.ranked li')].map((e) => e.innerText)")
    for each, item in zip(advice[:3], shown):
        keys = ("share_lo", "share", "share_hi")
        lo, share, hi = (f"{max(0, each[key]) * 100:.1f}" for key in keys)
        assert f"{share} %\n{lo} to {hi} %" in item, (each, item)
    for each, item in zip(advice[:2], shown):
        assert each["change"] in item, (each, item)
    quiet(page)


@case
def the_critical_path_is_lit(pages):
    page = pages.open("step", fragment="#timeline")
    on_path = """(() => { const s = acceltrace(); let n = 0;
        for (const group of s.groups) for (const track of group.tracks)
            for (let i = 0; i < (track.n || 0); ++i)
                n += track.kinds[i] === 'command' && s.isOnPath('command', track.rows[i]);
        return n; })()"""
    slack = answer_of("critical-path", "step")["slack"]
    assert page.run(on_path) == sum(op["on_path"] for op in slack) > 5
    assert page.run(STATE + ".lit") is False
    page.key("c")
    assert page.run(STATE + ".lit") is True
    assert page.run("document.getElementById('lit').getAttribute('aria-pressed')") == "true"
    assert "c=1" in page.run("location.hash"), page.run("location.hash")
    lit = page.run("location.hash")
    # A step of the path leads to the event that it is part of.
    page.run("acceltrace().select(acceltrace().placeOf('path', 20), true)")
    page.settle()
    page.run("document.querySelector('#details button.link').click()")
    page.settle()
    to = selected(page)
    assert to["kind"] in ("command", "api", "job", "submit", "wake"), to
    assert page.run(f"acceltrace().isOnPath('{to['kind']}', {to['row']})")
    assert "lies on it" in page.run("document.getElementById('details').innerText")
    page.key("c")
    assert page.run(STATE + ".lit") is False
    # From the first screen.
    page.key("1")
    page.run("[...document.querySelectorAll('#overview button')].find("
             "(each) => each.textContent.startsWith('light')).click()")
    page.settle()
    assert page.run(STATE + ".lit") is True and page.run("location.hash").startswith("#timeline")
    quiet(page)
    assert pages.open("step", fragment=lit).run(STATE + ".lit") is True
    # A trace that withholds its verdict has no path to highlight.
    page = pages.open("broken", fragment="#timeline&c=1")
    assert page.run(STATE + ".lit") is False
    assert page.run("document.getElementById('lit').hidden")
    quiet(page)


@case
def every_view_opens_in_both_themes(pages):
    for dark in (False, True):
        page = pages.open(dark=dark)
        for number, view in enumerate(("overview", "timeline", "charts", "tables", "trust"), 1):
            page.key(str(number))
            assert page.run("location.hash").startswith("#" + view), page.run("location.hash")
            assert page.run(f"document.getElementById('{view}').hidden") is False
            assert page.run(f"document.getElementById('{view}').innerText.length") > 100
        before = page.run("getComputedStyle(document.body).backgroundColor")
        page.run("document.getElementById('theme').click()")
        assert page.run("getComputedStyle(document.body).backgroundColor") != before
        quiet(page)


@case
def every_event_is_on_a_track(pages):
    page = pages.open()
    counts = page.run("""(() => {
        const all = {};
        for (const group of acceltrace().groups) for (const track of group.tracks)
            for (const kind of track.kinds || []) all[kind] = (all[kind] || 0) + 1;
        return all; })()""")
    report = page.run("JSON.parse(document.getElementById('data').textContent).report.counts")
    assert counts["api"] == report["api_calls"], counts
    assert counts["command"] == report["commands"], counts
    assert counts["job"] == counts["submit"] == report["jobs"], counts
    assert counts["range"] == report["ranges"] + report["marks"], counts


def until(page, what):
    """The browser delivers turns of the wheel when it draws next, which is much later on a busy
    machine.
    """
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, "it never came to pass"
        page.settle()


@case
def zoom_and_pan(pages):
    page = pages.open(fragment="#timeline")
    first = width(page)
    page.key("w")
    assert width(page) < first
    page.key("s")
    page.key("s")
    assert width(page) > first * 0.99
    begin = window(page)[0]
    page.key("d")
    assert window(page)[0] > begin
    page.wheel(700, 300, -100, modifiers=2)
    until(page, lambda: width(page) < first)
    begin = window(page)[0]
    page.drag(700, 300, 500, 300, modifiers=8)
    until(page, lambda: window(page)[0] > begin)
    page.key("0")
    assert width(page) > first * 2  # the whole recording
    page.key("r")
    assert abs(width(page) - first) < first / 100
    quiet(page)


def middle_of(page, kind, row):
    """The position of an event on the screen."""
    return page.run(f"""(() => {{
        const s = acceltrace(), {{track, i}} = s.placeOf('{kind}', {row});
        const box = document.getElementById('scroll').getBoundingClientRect();
        const top = document.getElementById('scroll').scrollTop;
        return [box.left + s.xOf((track.begin[i] + track.end[i]) / 2),
                box.top + track.y - top + (track.lane[i] + 0.5) * track.laneHeight]; }})()""")


@case
def click_shows_ticks_times_bounds_and_the_way_of_the_job(pages):
    page = pages.open(fragment="#timeline")
    page.run("acceltrace().select(acceltrace().placeOf('command', 400), true)")
    page.settle()
    place = middle_of(page, "command", 400)
    page.run("acceltrace().select(null)")
    page.settle()
    assert selected(page) is None
    place = middle_of(page, "command", 400)
    page.click(*place)
    assert selected(page) == {"kind": "command", "row": 400}, selected(page)
    text = page.run("document.getElementById('details').innerText")
    for wanted in ("raw ticks", "fetched", "The way of job", "API call begins", "±",
                   "completion written"):
        assert wanted in text, (wanted, text)
    assert page.run(STATE + ".arrows") >= 4
    assert "command" in page.run("document.getElementById('announce').textContent")
    quiet(page)


@case
def what_a_command_waited_for(pages):
    page = pages.open("step", fragment="#timeline")
    found = page.run("""(() => {
        const s = acceltrace();
        for (let row = 0; row < 10; ++row) {
            if (s.waitedFor(row) >= 0) return [row, s.waitedFor(row)];
        }
        return null; })()""")
    assert found is not None
    row, before = found
    page.run(f"acceltrace().select(acceltrace().placeOf('command', {row}))")
    page.settle()
    assert "waited last for" in page.run("document.getElementById('details').innerText")
    page.run("document.querySelector('#details button.link').click()")
    page.settle()
    assert selected(page) == {"kind": "command", "row": before}
    quiet(page)


NODES = "[...document.querySelectorAll('.graph .node')]"


@case
def the_dependency_graph_of_a_selection(pages):
    page = pages.open("step", fragment="#timeline")
    row, before = page.run("""(() => {
        const s = acceltrace();
        for (let row = 0; row < 10; ++row) {
            if (s.waitedFor(row) >= 0) return [row, s.waitedFor(row)];
        }
        return null; })()""")
    page.run(f"acceltrace().select(acceltrace().placeOf('command', {row}))")
    page.settle()
    page.key("g")
    graph = page.run(STATE + ".graph")
    nodes = {node["n"]: node for node in graph["nodes"]}
    middle = nodes[graph["middle"]]
    assert middle["event"] == {"kind": "command", "row": row}, middle
    assert len(nodes) >= 4 and page.run(NODES + ".length") == len(nodes)
    assert page.run("document.querySelectorAll('.graph path').length") == len(graph["edges"])
    # The same edges according to the commands' table.
    last = [edge for edge in graph["edges"] if edge["to"] == graph["middle"] and edge["binding"]]
    assert [nodes[edge["from"]]["event"] for edge in last] == [{"kind": "command", "row": before}]
    # Layers follow time; every node is to the right of what it waited for.
    for edge in graph["edges"]:
        a, b = nodes[edge["from"]], nodes[edge["to"]]
        assert a["layer"] < b["layer"] and a["begin"] <= b["begin"] + 1, (a, b)
    # By keys: to the previous one, and to what selecting it shows.
    page.run("document.querySelector('.graph .here').focus()")
    page.key("ArrowLeft")
    name = page.run("document.activeElement.getAttribute('aria-label')")
    assert "waited for by" in name and middle["name"] in name, name
    page.key("Enter")
    page.settle()
    assert selected(page) == {"kind": "command", "row": before}, selected(page)
    assert page.run("document.activeElement.classList.contains('here')")
    assert "g=1" in page.run("location.hash"), page.run("location.hash")
    linked = page.run("location.hash")
    page.key("g")
    assert page.run(NODES + ".length") == 0
    page.run("acceltrace().select(acceltrace().placeOf('piece', 1))")
    page.settle()
    page.key("g")
    assert "not part of" in page.run("document.getElementById('details').innerText")
    quiet(page)
    other = pages.open("step", fragment=linked)
    assert other.run(NODES + ".length") >= 3
    quiet(other)


@case
def tables_fit_their_cards(pages):
    # Also where bounds are as long as the value itself.
    too_wide = """['tables', 'trust'].flatMap((id) => [...document.querySelectorAll(`#${id} .card`)]
        .filter((card) => card.scrollWidth > card.clientWidth)
        .map((card) => card.querySelector('h3').innerText))"""
    for name in ("demo", "step", "broken"):
        for fragment in ("#tables", "#trust"):
            page = pages.open(name, fragment=fragment)
            assert page.run(too_wide) == [], (name, fragment, page.run(too_wide))
            quiet(page)


@case
def every_chart_is_drawn(pages):
    page = pages.open(fragment="#charts")
    titles = page.run("[...document.querySelectorAll('#charts h3')].map((e) => e.textContent)")
    for wanted in ("PCIe throughput", "Utilisation", "Latency of each stage", "by percentile",
                   "Transfer sizes", "Roofline", "Memory efficiency", "Clock: residuals",
                   "Bounds of device times"):
        assert any(wanted in title for title in titles), (wanted, titles)
    # More than an empty frame: each has several colours.
    colours = page.run("""[...document.querySelectorAll('#charts canvas')].map((canvas) => {
        const g = canvas.getContext('2d');
        const image = g.getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(image.data.buffer)).size; })""")
    assert len(colours) == len(titles) and min(colours) > 8, list(zip(titles, colours))
    quiet(page)


@case
def keys_step_and_follow_arrows(pages):
    page = pages.open(fragment="#timeline")
    page.key("ArrowRight")
    first = selected(page)
    assert first is not None
    page.key("ArrowRight")
    assert selected(page) != first
    page.key("ArrowLeft")
    assert selected(page) == first
    page.key("ArrowDown")
    assert selected(page)["kind"] != first["kind"]
    page.run("acceltrace().select(acceltrace().placeOf('submit', 20))")
    page.settle()
    page.key("]")
    assert selected(page) == {"kind": "job", "row": 20}
    page.key("]")
    assert selected(page)["kind"] == "command"
    page.key("[")
    assert selected(page) == {"kind": "job", "row": 20}
    page.key("Escape")
    assert selected(page) is None
    quiet(page)


@case
def search_finds_and_goes_on(pages):
    page = pages.open(fragment="#timeline")
    page.key("/")
    page.type("GraphLaunch")
    count = page.run("document.getElementById('search-count').textContent")
    assert int(count) > 50, count
    page.key("Enter")
    page.key("Escape")
    first = selected(page)
    assert first["kind"] == "api"
    page.key("n")
    assert selected(page) != first
    page.key("p")
    assert selected(page) == first
    page.key("/")
    page.run("document.getElementById('search').value = ''")
    page.type("no such thing")
    assert page.run("document.getElementById('search-count').textContent") == "0"
    quiet(page)


@case
def a_dragged_area_has_statistics(pages):
    page = pages.open(fragment="#timeline")
    page.drag(600, 130, 900, 520)
    area = page.run(STATE + ".area")
    assert area["from"] < area["to"], area
    text = page.run("document.getElementById('details').innerText")
    assert "selected" in text and "By name" in text, text
    # Compared with a sum over the page's own columns.
    events = page.run("""(() => {
        let n = 0;
        const area = acceltrace().area;
        for (const group of acceltrace().groups) for (const track of group.tracks) {
            if (group.closed || !track.n || track.y + track.height < area.top ||
                track.y > area.bottom) continue;
            for (let i = 0; i < track.n; ++i)
                n += track.begin[i] <= area.to && track.end[i] >= area.from;
        }
        return n; })()""")
    assert f"{events:,} events" in text, (events, text[:100])
    quiet(page)


@case
def the_address_is_a_link(pages):
    page = pages.open(fragment="#timeline")
    page.run("acceltrace().select(acceltrace().placeOf('command', 900), true)")
    page.settle()
    seen, fragment = window(page), page.run("location.hash")
    other = pages.open(fragment=fragment)
    assert selected(other) == {"kind": "command", "row": 900}, fragment
    assert all(abs(a - b) < 1 for a, b in zip(window(other), seen)), (window(other), seen)
    for bad in ("#timeline&t=x,y&s=command.99999999", "#nonsense", "#timeline&s=.1&q=%zz",
                "#timeline&t=5,1", "#timeline&t=-1e300,1e300"):
        quiet(pages.open(fragment=bad))


@case
def what_is_wrong_with_a_trace_is_on_the_first_screen(pages):
    page = pages.open("broken")
    text = page.run("document.getElementById('overview').innerText")
    for wanted in ("Withheld", "2 events lost", "doorbell", "Lost\n2", "broken"):
        assert wanted in text, (wanted, text)
    page.key("2")
    labels = page.run(STATE + ".groups.flatMap((g) => g.tracks.map((t) => t.label))")
    assert any(label.startswith("losses") for label in labels), labels
    quiet(page)


@case
def a_thinned_page_says_so_and_shows_every_loss(pages):
    trace, out = (os.path.join(pages.folder, name) for name in ("large.atrace", "large.html"))
    subprocess.run([MAKE_TRACE, "large", "4000", trace], check=True, timeout=60)
    done = subprocess.run([ACCELTRACE, "html", trace, "--max-size", "400kB", "-o", out],
                          capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done  # losses
    assert os.path.getsize(out) <= 400_000, os.path.getsize(out)
    page = pages.browser.open(out, 1366, 768, fragment="#timeline")
    text = page.run("document.getElementById('notice').innerText")
    assert "Thinned" in text and "of 16,000" in text, text
    assert page.run(STATE + ".groups[0].tracks.find((t) => t.id === 'losses').n") == 4
    for key in "wwwwwwww0":
        page.key(key)
    quiet(page)


@case
def hostile_names_are_text(pages):
    trace = os.path.join(pages.folder, "hostile.atrace")
    subprocess.run([MAKE_TRACE, "hostile", trace], check=True, timeout=60)
    page = pages.browser.open(pages.write(trace, 1), 1366, 768)
    for number in "123456":
        page.key(number)
        assert page.run("document.scripts.length") == 2
        assert page.run("document.querySelectorAll('img, iframe, object, svg, b > i').length") == 0
    assert page.run("window.hostile") is None
    text = page.run("document.getElementById('tables').textContent")
    assert "</script>" in text and "⟨202E⟩" in text and "⟨1B⟩" in text, text[:400]
    assert "\u202e" not in text and "\x1b" not in text
    # A wide name does not take more space than a narrow one.
    page.key("1")
    assert page.run("document.documentElement.scrollWidth") <= 1366
    page.key("2")
    page.key("g")
    for kind in ("api", "command"):  # its verdict is withheld for what its names say: no graph
        page.run(f"acceltrace().select(acceltrace().placeOf('{kind}', 0))")
        page.settle()
        assert "device-ring" in page.run("document.getElementById('details').innerText")
        assert page.run("document.querySelectorAll('#details img, #details script').length") == 0
    assert page.run("window.hostile") is None
    page.key("/")
    page.type("<img")
    page.key("Enter")
    assert selected(page) is not None
    quiet(page)


if __name__ == "__main__":
    sys.exit(run_cases(case, lambda *given: contextlib.nullcontext(Pages(*given))))
