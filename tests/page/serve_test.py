#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 280
"""The page of acceltrace serve in headless Chromium: a whole trace by windows."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402
from page.pages import ACCELTRACE, GOLDEN, MAKE_TRACE, STATE, run_cases  # noqa: E402

JOBS = 20_000
case = tap.Cases()


@contextlib.contextmanager
def serving(trace, *words):
    """Serves a trace and yields its address. Ctrl-C ends it."""
    command = [ACCELTRACE, "serve", "--no-browser", trace, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
        try:
            url = process.stdout.readline().strip()
            assert url, process.stderr.read()
            yield url
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0, process.stderr.read()


def ask(url, what, **about):
    address = url + what + "?" + urllib.parse.urlencode(about)
    with urllib.request.urlopen(address, timeout=60) as got:
        return json.load(got)


def quiet(page):
    assert page.complaints() == [], page.complaints()


def rows(trace, sql):
    """Rows of a query, each as {column: value}."""
    done = subprocess.run([ACCELTRACE, "query", trace, sql, "--json"], check=False,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1) and done.stdout, done
    answer = json.loads(done.stdout)
    return [dict(zip(answer["columns"], row)) for row in answer["rows"]]


class Served:
    def __init__(self, folder, browser, large, large_url, demo_url):
        self.folder, self.browser, self.large = folder, browser, large
        self.large_url, self.demo_url = large_url, demo_url

    def open(self, url=None, fragment="#timeline", **more):
        return self.browser.open(url or self.large_url, 1366, 768, fragment=fragment, **more)


LANES = STATE + ".groups.flatMap((g) => g.tracks.map((t) => [t.id, t.lanes]))"
COUNT = """(() => {
    const all = {};
    for (const group of acceltrace().groups) for (const track of group.tracks)
        for (const kind of track.kinds || []) all[kind] = (all[kind] || 0) + 1;
    return all; })()"""


@case
def it_opens_and_every_view_works_in_both_themes(served):
    for dark in (False, True):
        for url in (served.demo_url, served.large_url):
            page = served.open(url, "", dark=dark)
            views = ("overview", "timeline", "charts", "tables", "trust", "query")
            for number, view in enumerate(views, 1):
                page.key(str(number))
                assert page.run("location.hash").startswith("#" + view), page.run("location.hash")
                assert page.run(f"document.getElementById('{view}').innerText.length") > 100
            quiet(page)


@case
def a_small_trace_is_whole_and_the_same_as_its_file(served):
    page = served.open(served.demo_url)
    page.key("0")
    report = page.run("JSON.parse(document.getElementById('data').textContent).report.counts")
    counts = page.run(COUNT)
    assert counts["api"] == report["api_calls"], counts
    assert counts["job"] == counts["submit"] == report["jobs"], counts
    assert counts["range"] == report["ranges"] + report["marks"], counts
    quiet(page)


GRAPH = """(() => { const {middle, nodes, edges} = acceltrace().graph;
    const of = new Map(nodes.map((node) => [node.n, `${node.name} ${node.what} ${node.begin}`]));
    return [of.get(middle), nodes.map(({n, layer}) => of.get(n) + ' ' + layer).sort(),
            edges.map((e) => `${of.get(e.from)} > ${of.get(e.to)} ${e.reason} ${e.gap} ${
                e.slack} ${e.binding}`).sort()]; })()"""


@case
def the_dependency_graph_is_that_of_the_file(served):
    out = os.path.join(served.folder, "demo.html")
    subprocess.run([ACCELTRACE, "html", os.path.join(GOLDEN, "demo.atrace"), "-o", out],
                   check=True, timeout=120)
    for event in ("command.700", "api.1500", "job.50", "submit.70"):
        fragment = f"#timeline&s={event}&g=1"
        of_file = served.browser.open(out, 1366, 768, fragment=fragment)
        page = served.open(served.demo_url, fragment)
        page.settle()
        assert page.run(GRAPH) == of_file.run(GRAPH), event
        assert len(page.run(GRAPH)[1]) > 3
        quiet(page)
    # A trace of which the page has only a part.
    page = served.open(fragment="#timeline&s=command.60000&g=1")
    page.settle()
    assert len(page.run(GRAPH)[1]) > 5
    quiet(page)


def until(page, script, seconds=60):
    """Waits for a condition in a page."""
    end = time.monotonic() + seconds
    while not page.run(script):
        assert time.monotonic() < end, (script, page.run("document.body.innerText")[:300])
        time.sleep(0.2)


LAST = """(() => { let last = 0;
    for (const g of acceltrace().groups) for (const t of g.tracks)
        for (let i = 0; i < (t.n || 0); ++i) last = Math.max(last, t.end[i]);
    return last; })()"""
ROWS = """(() => { if (!window.acceltrace) return 0; const of = acceltrace().reportCounts();
    return of.api_calls + of.jobs + of.commands; })()"""
LIVE = "document.getElementById('live')"


@case
def a_file_that_grows_is_followed(served):
    growing = os.path.join(served.folder, "growing.atrace")
    with open(served.large, "rb") as file:
        whole = file.read()
    half = len(whole) // 2
    with open(growing, "wb") as file:
        file.write(whole[:half])
        file.flush()
        with serving(growing, "--live") as url:
            page = served.open(url)
            first = page.run(ROWS)
            assert 0 < first < 5 * JOBS and "live" in page.run(LIVE + ".textContent")
            file.write(whole[half:])
            file.flush()
            until(page, f"{ROWS} > {first} * 1.5")
            # The view follows the end until the user looks at something.
            begin, end = page.run(STATE + ".window")
            assert begin < page.run(LAST) < end
            page.run(LIVE + ".click()")
            assert page.run(LIVE + ".getAttribute('aria-pressed')") == "false"
            counts = page.run("acceltrace().reportCounts()")
            assert counts["commands"] == 4 * JOBS and counts["api_calls"] == JOBS, counts
            for key in "13456":
                page.key(key)
            quiet(page)


@case
def a_live_socket_is_followed_to_its_end(served):
    path = os.path.join(served.folder, "live.sock")
    with open(served.large, "rb") as file:
        whole = file.read()
    going = threading.Event()

    def send(listener):
        connection, _ = listener.accept()
        with connection:
            connection.sendall(whole[:len(whole) // 3])
            going.wait(60)
            connection.sendall(whole[len(whole) // 3:])

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(1)
        sender = threading.Thread(target=send, args=(listener,))
        sender.start()
        with serving(path, "--live") as url:
            page = served.open(url)
            until(page, f"{ROWS} > 0")  # there may be nothing yet when it is opened
            assert page.run(ROWS) < 5 * JOBS
            state = ask(url, "state")
            assert state["going"] and state["generation"] >= 1, state
            going.set()
            until(page, f"{LIVE} !== null && {LIVE}.textContent.startsWith('ended')")
            assert page.run("acceltrace().reportCounts().commands") == 4 * JOBS
            quiet(page)
        sender.join()


@case
def zoom_and_pan_bring_what_is_there(served):
    page = served.open()
    few = page.run(STATE + ".rowsLoaded")
    assert few < JOBS, few  # of 90,000 and more
    tracks = page.run(LANES)
    # The longest command of all is there from the start, wherever it is.
    found = page.run("""(() => { let most = 0;
        for (const g of acceltrace().groups) for (const t of g.tracks)
            for (let i = 0; i < (t.n || 0); ++i)
                if (t.kinds[i] === 'command') most = Math.max(most, t.end[i] - t.begin[i]);
        return most; })()""")
    longest = ask(served.large_url, "area", tracks="u0.0,u0.1,u0.2,u0.3",
                  to=10**12, **{"from": 0})
    assert found == max(name["longest"] for name in longest["names"]), (found, longest)
    for _ in range(22):
        page.key("w")
    begin, end = page.run(STATE + ".window")
    assert end - begin < 4_000_000, (begin, end)
    # All that is visible is loaded now: 12 us for each job.
    jobs = page.run("""(() => { const s = acceltrace(), [from, to] = s.window; let n = 0;
        for (const g of s.groups) for (const t of g.tracks)
            for (let i = 0; i < (t.n || 0); ++i)
                n += t.kinds[i] === 'api' && t.begin[i] >= from && t.end[i] <= to;
        return n; })()""")
    assert abs(jobs - (end - begin) / 12_000) <= 2, (jobs, end - begin)
    # Nothing moves: tracks and lanes are unchanged.
    assert tracks == page.run(LANES)
    for _ in range(14):
        page.key("d")
    other = page.run(STATE + ".window")
    assert other[0] > end, (begin, end, other)
    assert page.run("""(() => { const s = acceltrace(), [from, to] = s.window;
        return s.groups.some((g) => g.tracks.some((t) => t.n && t.begin[0] < to &&
            t.begin[t.n - 1] > from && t.kinds[0] === 'command')); })()""")
    page.key("0")
    assert page.run(STATE + ".rowsLoaded") < JOBS
    quiet(page)


@case
def selecting_brings_the_way_of_the_job(served):
    page = served.open()
    page.run("acceltrace().selectById('command', 30000)")
    page.settle()
    assert page.run(STATE + ".selected.kind") == "command"
    assert page.run(STATE + ".selectedId") == 30000
    text = page.run("document.getElementById('details').innerText")
    for wanted in ("raw ticks", "The way of job 7501", "API call begins", "completion written"):
        assert wanted in text, (wanted, text)
    assert page.run(STATE + ".arrows") >= 4
    # Steps to its neighbours, although most are not in the window.
    page.key("ArrowRight")
    assert page.run(STATE + ".selectedId") == 30004
    page.key("ArrowLeft")
    page.key("ArrowLeft")
    assert page.run(STATE + ".selectedId") == 29996
    # The address leads there again.
    fragment = page.run("location.hash")
    assert "s=command.29996" in fragment, fragment
    other = served.open(fragment=fragment)
    assert other.run(STATE + ".selectedId") == 29996
    seen, window = page.run(STATE + ".window"), other.run(STATE + ".window")
    assert all(abs(a - b) < 1 for a, b in zip(window, seen)), (window, seen)
    for bad in ("#timeline&s=command.99999999", "#timeline&s=nonsense.1",
                "#timeline&t=-1e300,1e300"):
        quiet(served.open(fragment=bad))
    quiet(page)


@case
def details_agree_with_the_model(served):
    page = served.open()
    for row in (5, 41_111, 79_998):
        page.run(f"acceltrace().selectById('command', {row})")
        page.settle()
        assert page.run(STATE + ".selectedId") == row
        details = page.run("document.getElementById('details').innerText").replace(",", "")
        [values] = rows(served.large, "select job, start_raw_ticks, start_ns, end_raw_ticks, "
                        f"end_ns from commands limit 1 offset {row}")
        assert len(values) == 5
        for name, value in values.items():
            assert str(value) in details, (name, value, details)
    quiet(page)


@case
def search_finds_what_is_not_in_the_window(served):
    page = served.open()
    page.key("/")
    page.type("launch")
    page.settle()
    assert page.run("document.getElementById('search-count').textContent") == \
        f"{(JOBS + 2) // 3:,}"
    page.key("Enter")
    page.settle()
    page.key("Escape")
    assert page.run(STATE + ".selected.kind") == "api"
    first = page.run(STATE + ".selectedId")
    page.key("n")
    page.settle()
    assert page.run(STATE + ".selectedId") == first + 3
    page.key("p")
    page.settle()
    assert page.run(STATE + ".selectedId") == first
    quiet(page)


@case
def an_areas_statistics_are_of_all_events(served):
    page = served.open()
    page.drag(600, 130, 900, 520)
    area = page.run(STATE + ".area")
    text = page.run("document.getElementById('details').innerText")
    assert "selected" in text and "By name" in text, text
    # 12 us for each job: the API calls of the area, counted by the model.
    base = ask(served.large_url, "event", s="api.0")["begin"]
    calls = sum(area["from"] <= base + i * 12_000 + 1_200 and base + i * 12_000 <= area["to"]
                for i in range(JOBS))
    assert f"{calls:,}" in text, (calls, text)
    quiet(page)


@case
def it_says_when_the_server_has_ended(served):
    with serving(os.path.join(GOLDEN, "demo.atrace")) as url:
        page = served.open(url)
    page.run("acceltrace().selectById('command', 5)")
    page.settle()
    for _ in range(12):
        page.key("d")
    assert page.run("document.getElementById('timeline').innerText.length") > 10


@contextlib.contextmanager
def both_served(folder, browser):
    large = os.path.join(folder, "large.atrace")
    subprocess.run([MAKE_TRACE, "large", str(JOBS), large], check=True, timeout=60)
    demo = os.path.join(GOLDEN, "demo.atrace")
    with serving(large) as first, serving(demo) as second:
        yield Served(folder, browser, large, first, second)


if __name__ == "__main__":
    sys.exit(run_cases(case, both_served))
