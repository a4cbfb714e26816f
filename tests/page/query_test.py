#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 280
"""SQL in the page of acceltrace serve: sent, answered, refused, cancelled, kept in the address."""

import contextlib
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
from harness import tap  # noqa: E402
from page.pages import ACCELTRACE, GOLDEN, run_cases  # noqa: E402

DEMO = os.path.join(GOLDEN, "demo.atrace")
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
case = tap.Cases()

STATE = "document.getElementById('sql-state').textContent"
CELLS = """[...document.querySelectorAll('#sql-answer tbody tr')].map(
    (row) => [...row.cells].map((cell) => cell.textContent))"""


def until(page, script, seconds=60):
    end = time.monotonic() + seconds
    while not page.run(script):
        assert time.monotonic() < end, (script, page.run("document.body.innerText")[:500])
        time.sleep(0.1)


def ask(page, sql):
    page.run(f"document.getElementById('sql').value = {sql!r}")
    page.run("document.getElementById('sql-run').click()")
    until(page, "!document.getElementById('sql-run').disabled")


def quiet(page):
    found = [each for each in page.complaints() if "429" not in each]
    assert found == [], found


def csv_of(sql):
    done = subprocess.run([ACCELTRACE, "query", DEMO, sql, "--csv"], capture_output=True, text=True,
                          timeout=60, check=True)
    return done.stdout


class Asked:
    def __init__(self, browser, folder, url):
        self.browser, self.folder, self.url = browser, folder, url

    def open(self, fragment="#query", width=1366, height=768, **more):
        page = self.browser.open(self.url, width, height, fragment=fragment, **more)
        until(page, "document.querySelectorAll('#sql-tables details').length > 10")
        return page


@case
def an_answer_is_what_the_command_gives(asked):
    page = asked.open()
    sql = "SELECT op, unit, count, time_ns FROM ops ORDER BY time_ns DESC"
    ask(page, sql)
    rows = [line.split(",") for line in csv_of(sql).splitlines()[1:]]
    assert len(rows) > 5
    assert page.run(CELLS) == rows, (page.run(CELLS)[:3], rows[:3])
    assert f"{len(rows)} rows" in page.run(STATE)
    quiet(page)


@case
def integers_of_64_bits_lose_no_digit(asked):
    page = asked.open()
    ask(page, "SELECT 9223372036854775807 AS big, 9007199254740993 AS odd, NULL AS n, x'00ff' AS b")
    assert page.run(CELLS) == [["9223372036854775807", "9007199254740993", "", "00ff"]]
    quiet(page)


@case
def what_is_wrong_is_said(asked):
    page = asked.open()
    for sql, text in (("SELEC 1", "syntax error"), ("SELECT nosuch FROM api", "no such column"),
                      ("DELETE FROM api", "may not be modified"),
                      ("SELECT 1; SELECT 2", "one at a time"),
                      ("ATTACH '/tmp/x' AS y", "can only be read"),
                      ("SELECT load_extension('x')", "refused")):
        ask(page, sql)
        assert text in page.run(STATE) and page.run(CELLS) == [], (sql, page.run(STATE))
        assert page.run("document.getElementById('sql-state').dataset.bad") == "true"
    ask(page, "SELECT '<img src=x onerror=alert(1)>' AS \"<b>\"")
    assert page.run(CELLS) == [["<img src=x onerror=alert(1)>"]]
    assert page.run("document.querySelectorAll('#sql-answer img, #sql-answer b').length") == 0
    ask(page, "SELECT count(*) FROM thread_states")
    assert "--sources sched" in page.run("document.getElementById('sql-answer').innerText")
    quiet(page)


@case
def a_query_without_end_is_cancelled_and_the_page_goes_on(asked):
    page = asked.open()
    page.run(f"document.getElementById('sql').value = {ENDLESS!r}")
    page.run("document.getElementById('sql-run').click()")
    until(page, STATE + ".startsWith('running,')")
    # Other requests are answered meanwhile.
    page.key("2")
    assert page.run("acceltrace().groups.length") > 2
    page.key("6")
    page.run("document.getElementById('sql-cancel').click()")
    until(page, STATE + ".startsWith('cancelled')")
    ask(page, "SELECT 1")
    assert page.run(CELLS) == [["1"]]
    quiet(page)


@case
def long_answers_end_where_it_says(asked):
    page = asked.open()
    ask(page, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) "
        "SELECT i, 'x' AS t FROM n")
    assert "the first 10,000 rows" in page.run(STATE), page.run(STATE)
    assert page.run(CELLS + ".length") == 1000
    text = "document.getElementById('sql-answer').innerText"
    assert "the first 1,000 are shown" in page.run(text)
    quiet(page)


@case
def a_column_sorts_the_answer(asked):
    page = asked.open()
    ask(page, "SELECT 10 AS n UNION ALL SELECT 9 UNION ALL SELECT 100 UNION ALL SELECT NULL")
    head = "document.querySelector('#sql-answer th button')"
    page.run(head + ".click()")
    assert page.run(CELLS) == [["100"], ["10"], ["9"], [""]]
    page.run(head + ".click()")
    assert page.run(CELLS) == [["9"], ["10"], ["100"], [""]]
    sort = page.run("document.querySelector('#sql-answer th').getAttribute('aria-sort')")
    assert sort == "ascending", sort
    quiet(page)


@case
def the_file_holds_what_the_answer_holds(asked):
    page = asked.open()
    sql = "SELECT name, count(*) AS n, 'a,\"b\"' AS t FROM api GROUP BY name ORDER BY n, name"
    ask(page, sql)
    # Intercepts the object that the page makes to save the result.
    page.run("""window.saved = null; const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { window.saved = blob; return make.call(URL, blob); };
        HTMLAnchorElement.prototype.click = () => {};
        document.getElementById('sql-save').click()""")
    assert page.run("window.saved.text()") == csv_of(sql)


@case
def the_address_holds_the_query_and_the_way_back(asked):
    page = asked.open()
    ask(page, "SELECT 1 AS first")
    ask(page, "SELECT 2 AS second")
    page.settle()
    fragment = page.run("location.hash")
    assert fragment.startswith("#query&sql=") and "second" in fragment, fragment
    page.run("history.back()")
    until(page, f"JSON.stringify({CELLS}) === '[[\"1\"]]'")
    other = asked.open(fragment=fragment)
    until(other, f"JSON.stringify({CELLS}) === '[[\"2\"]]'")
    assert "SELECT 1 AS first" in page.run("document.getElementById('sql-past').innerText")
    quiet(asked.open(fragment="#query&sql=%E0%A4%A"))
    quiet(other)


@case
def letters_in_the_editor_are_no_keys_of_the_page(asked):
    page = asked.open()
    page.run("document.getElementById('sql').focus()")
    page.run("document.getElementById('sql').select()")
    page.type("select 1234 ? /")
    for key in "1?/":
        page.key(key)
    assert page.run("location.hash").startswith("#query")
    assert page.run("document.getElementById('keys').open") is False
    quiet(page)


@case
def tables_are_listed_with_what_they_hold(asked):
    page = asked.open()
    text = page.run("document.getElementById('sql-tables').textContent")
    for wanted in ("commands", "job_stages", "What the units executed", "stall_", "start_lo_ns"):
        assert wanted in text, wanted
    page.run("""[...document.querySelectorAll('#sql-tables details')].find((each) =>
        each.textContent.startsWith('ops')).querySelector('p button').click()""")
    until(page, CELLS + ".length > 3")
    assert "FROM ops" in page.run("document.getElementById('sql').value")
    quiet(page)


@case
def nothing_overflows_at_any_width(asked):
    for width in (390, 768, 1366, 1920, 2560):
        for dark in (False, True):
            page = asked.open(width=width, height=900, dark=dark)
            ask(page, "SELECT * FROM api LIMIT 50")
            wide = page.run("""[...document.querySelectorAll('#query, #query .sql, .sql-bar,' +
                ' #sql, #sql-tables, .sql-main')].filter((each) =>
                each.getBoundingClientRect().right > innerWidth + 1).map((each) => each.id ||
                each.className)""")
            assert wide == [], (width, wide)
            assert page.run("document.getElementById('query').scrollWidth <= innerWidth")
            quiet(page)


@case
def a_page_that_is_a_file_says_where_to_ask(asked):
    out = os.path.join(asked.folder, "demo.html")
    subprocess.run([ACCELTRACE, "html", DEMO, "-o", out], check=True, timeout=120)
    page = asked.browser.open(out, 1366, 768, fragment="#query")
    text = page.run("document.getElementById('query').innerText")
    assert "acceltrace serve FILE" in text and "acceltrace query FILE SQL" in text, text
    quiet(page)


@contextlib.contextmanager
def served(folder, browser):
    with subprocess.Popen([ACCELTRACE, "serve", "--no-browser", DEMO], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
        try:
            url = process.stdout.readline().strip()
            assert url, process.stderr.read()
            yield Asked(browser, folder, url)
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0, process.stderr.read()


if __name__ == "__main__":
    sys.exit(run_cases(case, served))
