#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""acceltrace serve as anybody on the machine may talk to it: who is answered, what is refused, and
that nobody keeps others from being answered."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
REPO = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402

ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
GOLDEN = os.path.join(REPO, "tests", "golden")
case = tap.Cases()


@contextlib.contextmanager
def serving(*words, trace="demo.atrace", end=signal.SIGINT):
    with subprocess.Popen([ACCELTRACE, "serve", os.path.join(GOLDEN, trace), *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL) as process:
        try:
            line = process.stdout.readline()
            found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{40})/\n", line)
            assert found, (line, process.stderr.read())
            yield Server(process, int(found[1]), found[2])
        finally:
            process.send_signal(end)
            assert process.wait(60) == 0, process.stderr.read()


class Server:
    def __init__(self, process, port, token):
        self.process, self.port, self.token = process, port, token

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        return connection

    def ask(self, path, method="GET", body=None, **headers):
        """Status, headers and text of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host="Host" in headers)
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body.encode())))
            connection.endheaders()
            if body:
                with contextlib.suppress(OSError):  # it may be refused before it is read
                    connection.send(body.encode())
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def raw(self, data, silent_s=3):
        """What comes back for bytes, until the other side closes or is silent for so long."""
        with self.connect() as connection:
            connection.settimeout(silent_s)
            got = b""
            try:
                connection.sendall(data)
                while more := connection.recv(1 << 16):
                    got += more
                    if b"\r\n\r\n" in got:
                        break
            except OSError:
                pass
            return got

    def memory_kb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])

    def works(self):
        status, _, text = self.ask(f"/{self.token}/event?s=command.3")
        return status == 200 and json.loads(text)["row"] == 3


@case
def who_has_the_address_is_answered(server):
    status, headers, text = server.ask(f"/{server.token}/")
    assert status == 200 and headers["Content-Type"].startswith("text/html")
    assert "connect-src 'self'" in text and "default-src 'none'" in text
    assert headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert not any(name.lower().startswith("access-control") for name in headers)
    status, headers, text = server.ask(f"/{server.token}/window?from=0&to=90000000&pixels=800")
    assert status == 200 and headers["Content-Type"] == "application/json"
    assert json.loads(text)["tables"]["commands"]["rows"] > 100
    status, _, text = server.ask(f"/{server.token}/", method="HEAD")
    assert (status, text) == (200, "")
    assert server.ask(f"/{server.token}/", Host=f"localhost:{server.port}")[0] == 200


@case
def only_the_loopback_interface_is_listened_on(server):
    with open(f"/proc/{server.process.pid}/net/tcp", encoding="ascii") as file:
        places = [line.split()[1] for line in file.readlines()[1:] if line.split()[3] == "0A"]
    mine = [place for place in places if int(place.split(":")[1], 16) == server.port]
    assert mine == [f"0100007F:{server.port:04X}"], mine
    with open(f"/proc/{server.process.pid}/net/tcp6", encoding="ascii") as file:
        assert f":{server.port:04X} " not in file.read()


@case
def without_the_token_nothing_is_served(server):
    other = "0" if server.token[-1] != "0" else "1"
    for path in ("/", "//", "/favicon.ico", "/window?from=0&to=9&pixels=9", f"/{server.token}",
                 f"/{server.token[:-1]}{other}/", f"/{server.token[:-1]}/", f"/{server.token}x/",
                 f"/x/{server.token}/", f"/?{server.token}/", f"/{server.token.upper()}/"
                 if server.token.upper() != server.token else "/A/", f"/%00{server.token}/"):
        status, _, text = server.ask(path)
        assert status == 403 and server.token not in text, (path, status, text)


@case
def other_sites_are_refused(server):
    page = f"/{server.token}/"
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1",
                 f"127.0.0.1:{server.port}.evil.example", "", f"[::1]:{server.port}"):
        assert server.ask(page, Host=host)[0] == 403, host
    for site in ("cross-site", "same-site"):
        assert server.ask(page + "event?s=command.3", Sec_Fetch_Site=site)[0] == 403
        assert server.ask(page, Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors",
                          Sec_Fetch_Dest="script")[0] == 403
    assert server.ask(page + "event?s=command.3", Sec_Fetch_Site="same-origin")[0] == 200
    assert server.ask(page, Sec_Fetch_Site="none", Sec_Fetch_Mode="navigate",
                      Sec_Fetch_Dest="document")[0] == 200
    # No other site may read it.
    _, headers, _ = server.ask(page, Origin="http://evil.example")
    assert not any(name.lower().startswith("access-control") for name in headers)


@case
def only_reading_and_only_what_there_is(server):
    page = f"/{server.token}/"
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"):
        assert server.ask(page, method=method)[0] in (405, 501), method
    for path in ("../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/", "window/", "page.html",
                 "//etc/passwd", "\\..\\x"):
        status, _, text = server.ask(page + path)
        assert status in (403, 404) and "root:" not in text, (path, status)
    for path in ("window", "window?from=0&to=0&pixels=1", "window?from=5&to=1&pixels=10",
                 "window?from=0&to=1&pixels=0", "window?from=0&to=1&pixels=-3",
                 "window?from=x&to=1&pixels=9", "window?from=0&to=99999999999999999999&pixels=9",
                 "window?from=nan&to=inf&pixels=9", "search?q=&at=0", "search?q=x&at=", "area",
                 "step?s=command.3&by=", "step?by=1"):
        assert server.ask(page + path)[0] == 400, path
    for event in ("command.99999999999999999999", "command.-1", "command", "nonsense.1", "",
                  "command.1.1", "command.1e3"):
        assert server.ask(page + "event?s=" + event)[2] == "null", event
    # The answer is bounded whatever is requested.
    status, _, text = server.ask(page + "window?from=-2000000000000000000&to=2000000000000000000"
                                 "&pixels=2000000000000000000")
    assert status == 200 and len(text) < 2_000_000, (status, len(text))
    assert server.works()


def answer_of(server, sql, side=""):
    """The answer to a query, as the page gets it."""
    page = f"/{server.token}/{side}"
    status, _, text = server.ask(page + "query", method="POST", body=sql)
    assert status == 200, (status, text)
    number, until = json.loads(text)["id"], time.monotonic() + 60
    while True:
        status, _, text = server.ask(f"{page}answer?id={number}")
        assert status == 200, (status, text)
        found = json.loads(text)
        if found["state"] != "running":
            return found
        assert time.monotonic() < until
        time.sleep(0.05)


@case
def queries_are_answered_within_limits(server):
    found = answer_of(server, "SELECT 1 AS one, 'a<b' AS t, 9223372036854775807 AS big, NULL AS n")
    assert found["columns"] == ["one", "t", "big", "n"], found
    assert found["rows"] == [[1, "a<b", "9223372036854775807", None]] and not found["more"], found
    for sql, state in (("SELEC", "bad"), ("DELETE FROM api", "bad"), ("", "bad"), ("x\0y", "bad"),
                       ("SELECT randomblob(9999999)", "bad")):
        assert answer_of(server, sql)["state"] == state, sql
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 50000) "
    found = answer_of(server, numbers + "SELECT i FROM n")
    assert len(found["rows"]) == 10_000 and found["more"], len(found["rows"])
    found = answer_of(server, numbers + "SELECT hex(zeroblob(100000)) FROM n")
    assert found["more"] and len(found["rows"]) < 100, len(found["rows"])
    found = answer_of(server, numbers + "SELECT group_concat(hex(zeroblob(100000))) FROM n")
    assert found["state"] in ("bad", "limit"), found["state"]
    assert server.works()


@case
def a_query_without_end_is_cancelled_and_few_run_at_once(server):
    page = f"/{server.token}/"
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    numbers = []
    for _ in range(2):
        status, _, text = server.ask(page + "query", method="POST", body=endless)
        assert status == 200, text
        numbers.append(json.loads(text)["id"])
    status, _, text = server.ask(page + "query", method="POST", body="SELECT 1")
    assert status == 429 and "running" in text, (status, text)
    assert server.works()
    for number in numbers:
        assert server.ask(f"{page}cancel?id={number}", method="POST", body="")[0] == 200
        until = time.monotonic() + 60
        while json.loads(server.ask(f"{page}answer?id={number}")[2])["state"] == "running":
            assert time.monotonic() < until
            time.sleep(0.05)
        assert server.ask(f"{page}answer?id={number}")[0] == 404
    assert answer_of(server, "SELECT 2")["rows"] == [[2]]
    for path in ("answer", "answer?id=", "answer?id=-1", "answer?id=x"):
        assert server.ask(page + path)[0] == 400, path
    assert server.ask(page + "answer?id=12345")[0] == 404
    # No process may be left over, from cancelled queries or others.
    with open(f"/proc/{server.process.pid}/task/{server.process.pid}/children",
              encoding="ascii") as file:
        assert file.read().split() == []


@case
def a_query_that_takes_too_long_is_ended(_):
    with serving("--no-browser", "--query-time", "1") as server:
        found = answer_of(server, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                          "SELECT max(i) FROM n")
        assert found["state"] == "limit" and "more than 1 s" in found["message"], found
        # The server must also end at once while a query is running.
        page = f"/{server.token}/"
        server.ask(page + "query", method="POST", body="SELECT 1")


@case
def only_the_page_itself_may_ask(server):
    page, sql = f"/{server.token}/", "SELECT 1"
    own = f"http://127.0.0.1:{server.port}"
    ask = server.ask
    assert ask(page + "query", method="POST", body=sql, Origin=own,
               Sec_Fetch_Site="same-origin")[0] == 200
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"},
                    {"Origin": f"https://127.0.0.1:{server.port}"},
                    {"Origin": f"http://127.0.0.1:{server.port}1"},
                    {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"},
                    {"Sec_Fetch_Site": "none"},
                    {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate",
                     "Sec_Fetch_Dest": "document"}, {"Host": "evil.example"}):
        assert ask(page + "query", method="POST", body=sql, **headers)[0] == 403, headers
        assert ask(page + "cancel?id=1", method="POST", body="", **headers)[0] == 403, headers
    for path in ("query", "cancel", "query?q=SELECT+1"):
        status, headers, _ = ask(page + path)
        assert status == 405 and headers["Allow"] == "POST", path
    assert ask("/" + "0" * 40 + "/query", method="POST", body=sql)[0] == 403
    assert ask(page + "query", method="POST", body="x" * 70_000)[0] == 413
    assert ask(page + "event?s=command.3", method="POST", body=sql)[0] == 405
    assert server.works()


@case
def large_and_malformed_requests_end_there(server):
    page, host = f"/{server.token}/", f"Host: 127.0.0.1:{server.port}\r\n"
    before = server.memory_kb()
    for data in (f"GET {page} HTTP/1.1\r\n{host}X: {'a' * 1_000_000}\r\n\r\n",
                 f"GET {page} HTTP/1.1\r\n{host}" + "X: y\r\n" * 100_000 + "\r\n",
                 f"GET {page}{'a' * 1_000_000} HTTP/1.1\r\n{host}\r\n",
                 f"GET {page}?" + "&".join(f"a{i}=1" for i in range(50_000)) +
                 f" HTTP/1.1\r\n{host}\r\n",
                 f"{'G' * 500_000}\r\n\r\n", "\r\n" * 300_000):
        got = server.raw(data.encode())
        assert not got.startswith(b"HTTP/1.1 200"), got[:100]
    for data in (b"\0" * 100, b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n",
                 f"GET {page} HTTP/1.1\r\n\r\n".encode(),
                 f"GET {page} HTTP/1.1\r\n{host}{host}Host: evil\r\n\r\n".encode()[:40]):
        assert b" 200 " not in server.raw(data)[:15], data
    # The announced body must be neither read nor waited for.
    got = server.raw(f"POST {page} HTTP/1.1\r\n{host}Content-Length: 99999999999\r\n\r\nx".encode(),
                     silent_s=60)
    assert got[9:12] in (b"405", b"413", b"400"), got[:100]
    got = server.raw(f"GET {page} HTTP/1.1\r\n{host}Content-Length: -5\r\n\r\n".encode(),
                     silent_s=60)
    assert got == b"" or got[9:12] in (b"400", b"200"), got[:100]
    assert server.works()
    assert server.memory_kb() < before + 20_000, (before, server.memory_kb())


@case
def slow_ones_and_many_do_not_keep_others_waiting(server):
    """Half a request on each of many connections: they are given up, and who comes is answered."""
    with contextlib.ExitStack() as stack:
        slow = []
        for _ in range(60):
            connection = stack.enter_context(server.connect())
            connection.sendall(f"GET /{server.token}/ HTTP/1.1\r\nHost: 127".encode())
            slow.append(connection)
        assert server.works()
        for _ in range(40):  # more than are allowed at all
            more = stack.enter_context(server.connect())
            with contextlib.suppress(OSError):
                more.sendall(b"G")
        # Each connection gets some bytes from time to time, so that none is idle; they must end all
        # the same.
        open_ones, waited = set(slow), 0
        while open_ones and waited < 60:
            time.sleep(0.5)
            waited += 0.5
            for connection in list(open_ones):
                connection.setblocking(False)
                try:
                    connection.send(b"1")
                    if connection.recv(1) == b"":
                        open_ones.discard(connection)
                except BlockingIOError:
                    pass
                except OSError:
                    open_ones.discard(connection)
        assert not open_ones, len(open_ones)
        until = time.monotonic() + 60
        while True:
            try:
                if server.works():
                    break
            except (OSError, http.client.HTTPException):
                assert time.monotonic() < until
                time.sleep(0.2)
    assert server.works()


@case
def one_that_does_not_take_its_answer_does_not_stop_others(server):
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(server.connect())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall((f"GET /{server.token}/ HTTP/1.1\r\n"
                                f"Host: 127.0.0.1:{server.port}\r\n\r\n").encode() * 5)
        assert server.works()


@case
def each_signal_ends_it_and_each_address_is_another(_):
    tokens = set()
    for end in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with serving("--no-browser", end=end) as server:
            tokens.add(server.token)
            connection = server.connect()  # one that is open does not hold it up
        connection.close()
    assert len(tokens) == 3


@case
def ports_and_traces_that_cannot_be_served(server):
    def refused(status, text, *words):
        done = subprocess.run([ACCELTRACE, "serve", *words], capture_output=True, text=True,
                              timeout=60, check=False, stdin=subprocess.DEVNULL)
        lines = done.stderr.splitlines()
        assert (done.returncode, len(lines), done.stdout) == (status, 1, ""), done
        assert text in lines[0], lines
    trace = os.path.join(GOLDEN, "demo.atrace")
    refused(1, f"port {server.port} of 127.0.0.1", trace, "--port", str(server.port))
    refused(2, "65536", trace, "--port", "65536")
    refused(2, "FILE is required", "--no-browser")
    refused(1, "/nowhere/x", "/nowhere/x")
    refused(1, "nothing was recorded", "/dev/null")


@case
def the_browser_is_given_a_file_and_no_token_on_its_command_line(_):
    """Command lines can be read by every user of the machine."""
    with tempfile.TemporaryDirectory() as folder:
        seen = os.path.join(folder, "seen")
        with open(os.path.join(folder, "xdg-open"), "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\n{{ cat "$1"; echo; }} > {seen}.new\n'
                       f'stat -c %a "$(dirname "$1")" >> {seen}.new\n'
                       f'echo "$1" >> {seen}.new\nmv {seen}.new {seen}\n')
        os.chmod(os.path.join(folder, "xdg-open"), 0o755)
        environment = {**os.environ, "PATH": folder + ":" + os.environ["PATH"], "DISPLAY": ":9",
                       "TMPDIR": folder}
        with subprocess.Popen([ACCELTRACE, "serve", os.path.join(GOLDEN, "demo.atrace")],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              env=environment) as process:
            url = process.stdout.readline().strip()
            until = time.monotonic() + 60
            while not os.path.exists(seen):
                assert time.monotonic() < until
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        with open(seen, encoding="ascii") as file:
            page, mode, path = file.read().splitlines()
        assert f"url={url}" in page and mode == "700" and url not in path, (page, mode, path)
        assert not os.path.exists(path), path


def main():
    with serving("--no-browser") as server:
        wanted = [one for one in case if len(sys.argv) < 2 or one.__name__ in sys.argv]

        def bound(function):
            def run():
                function(server)
            run.__name__ = function.__name__
            return run
        return tap.run([bound(each) for each in wanted])


if __name__ == "__main__":
    sys.exit(main())
