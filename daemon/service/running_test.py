#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""The running service: limits of users, configuration, metrics, sleep, and what remains of a
recording when it is killed. Uses the running kernel, without a device."""

import contextlib
import ctypes
import glob
import grp
import json
import os
import random
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

REPO = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(REPO, "daemon", "testing"))
from private_test import equal, run  # noqa: E402
from recording import APP, Client, DAEMON, summary, tap  # noqa: E402

NOBODY = 65534
GROUP = grp.getgrgid(NOBODY).gr_name
EMPTY = {"cmd": "start", "no_device": True, "probes": "clock"}
KILLS = int(os.environ.get("KILLS", "10"))
case = tap.Cases()


def until(what):
    for _ in range(3000):
        if what():
            return
        time.sleep(0.02)
    raise AssertionError("it never came to pass")


class Service:
    """A service with a configuration; its folder is writable for all users."""

    def __init__(self, config="", *options):
        # pylint: disable=consider-using-with
        self.folder = tempfile.TemporaryDirectory(dir="/tmp")
        os.chmod(self.folder.name, 0o777)
        self.socket = self.path("control.sock")
        self.config(config)
        self.daemon = subprocess.Popen(
            [DAEMON, "--socket", self.socket, "--group", GROUP, "--config", self.path("conf"),
             *options], stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        until(lambda: os.path.exists(self.socket) or self.daemon.poll() is not None)
        assert self.daemon.poll() is None, self.daemon.communicate()
        return self

    def __exit__(self, *_):
        self.daemon.terminate()
        self.daemon.communicate(timeout=60)
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def config(self, text):
        with open(self.path("conf"), "w", encoding="utf-8") as file:
            file.write(text)

    def client(self):
        return Client(self.socket)


def as_nobody(function, user=NOBODY):
    """Returns the result of a function called as an ordinary user, in the group or not."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(read_end)
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            # This has the same effect as execve: until then, the kernel assumes that it may know
            # what root knew.
            assert ctypes.CDLL(None).prctl(4, 1) == 0
            os.write(write_end, json.dumps(function()).encode())
            status = 0
        except BaseException:  # pylint: disable=broad-exception-caught
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        text = pipe.read()
    equal(os.waitpid(child, 0)[1], 0)
    return json.loads(text)


def asked(client, file=None, **command):
    """Returns the answer, or the error of a refusal."""
    try:
        return client.ask(file, **command)
    except AssertionError as refusal:
        return {"error": str(refusal)}
    except OSError:  # it was refused before it could send its command
        return json.loads(client.lines.readline())


def output(service, name):
    return os.open(service.path(name), os.O_RDWR | os.O_CREAT, 0o644)


def starts(service, count, **more):
    """Tries to start recordings as an ordinary user: returns how many started, and the refusals."""
    def run():
        client = service.client()
        answers = [asked(client, output(service, f"n{i}"), **EMPTY, pids=[os.getpid()], **more)
                   for i in range(count)]
        for answer in answers:
            if "session" in answer:
                asked(client, cmd="stop", session=answer["session"])
        return [answer.get("error", "") for answer in answers]
    answers = as_nobody(run)
    return answers.count(""), " ".join(answers)


@case
def recordings_of_a_user_are_bounded():
    with Service("[users]\nrecordings = 3\n") as service:
        got, said = starts(service, 5)
        equal(got, 3)
        assert "too many recordings at once; stop one first" in said, said
        # Stopped recordings do not count any more; root has limits of its own.
        equal(starts(service, 3)[0], 3)
        client = service.client()
        for i in range(5):
            client.ask(output(service, f"r{i}"), **EMPTY, system=True)


@case
def starts_in_a_minute_are_bounded():
    with Service("[users]\nrecordings = 8\nstarts-per-minute = 4\n") as service:
        got, said = starts(service, 7)
        equal(got, 4)
        assert "4 starts in a minute" in said, said


@case
def flight_recorders_of_a_user_are_bounded():
    with Service("max-ring = 16M\n[users]\nrecordings = 8\nring = 4M\n") as service:
        got, said = starts(service, 5, ring="1500K")
        equal(got, 2)
        assert "more memory than acceltraced.conf allows" in said, said
        client = service.client()
        client.ask(output(service, "a"), **EMPTY, system=True, ring="15M")
        assert "memory" in asked(client, output(service, "b"), **EMPTY, system=True,
                                 ring="2M")["error"]


@case
def requests_of_a_user_are_bounded():
    with Service("[users]\nrequests-per-second = 5\n") as service:
        def run():
            client = service.client()
            return [asked(client, cmd="status").get("error", "") for _ in range(50)]
        answers = as_nobody(run)
        assert 5 <= answers.count("") < 50, answers
        assert any("too many requests a second" in answer for answer in answers), answers


@case
def a_user_who_may_not_is_kept_out_and_a_reload_lets_in():
    with Service("[user nobody]\nallowed = no\n") as service:
        def run():
            return asked(service.client(), cmd="status")
        assert "acceltraced.conf says so" in as_nobody(run)["error"]
        # A configuration with mistakes changes nothing.
        service.config("[user nobody]\nallowed = perhaps\n")
        service.daemon.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        assert "acceltraced.conf says so" in as_nobody(run)["error"]
        service.config("[user nobody]\nallowed = yes\n")
        service.daemon.send_signal(signal.SIGHUP)
        until(lambda: "sessions" in as_nobody(run))


@case
def bytes_of_a_user_are_bounded():
    with Service("[users]\nbytes-per-hour = 1M\n") as service:
        def record():
            # It runs already: its probes are found in its mapped files.
            child = subprocess.Popen([app, "1000000000"], stdout=subprocess.DEVNULL)
            client = service.client()
            started = client.ask(output(service, "q"), cmd="start", no_device=True,
                                 pids=[child.pid])
            event = json.loads(client.lines.readline())
            child.kill()
            child.wait()
            again = asked(client, output(service, "q2"), cmd="start", no_device=True,
                          pids=[os.getpid()])
            return [started["ok"], event, again]
        # An ordinary user may execute it there.
        app = service.path("app")
        subprocess.run(["cp", APP, app], check=True)
        os.chmod(app, 0o755)
        started, event, again = as_nobody(record)
        equal(started, True)
        assert event["event"] == "failed" and "bytes-per-hour" in event["error"], event
        assert "bytes-per-hour" in again["error"], again
        until(lambda: (summary(service.path("q")) or {}).get("footer"))
        trace = summary(service.path("q"))
        equal(trace["stop_reason"], "quota")
        assert os.path.getsize(service.path("q")) >= 1 << 20


# A parser of the text format that only relies on its description.
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(.*)\})? (-?[0-9.e+-]+|NaN|[+-]Inf)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')


def parse_metrics(text):
    """Returns {name: {labels: value}}; asserts that the format is valid."""
    assert text.endswith("\n")
    kinds, helps, samples, current = {}, set(), {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            assert name not in helps, line
            helps.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in kinds and kind in ("counter", "gauge"), line
            assert (kind == "counter") == name.endswith("_total"), line
            kinds[name], current = kind, name
        else:
            match = SAMPLE.match(line)
            assert match, line
            name, labels = match[1], match[3] or ""
            equal(name, current)  # all lines of a family are adjacent
            at, found = 0, []
            while at < len(labels):
                label = LABEL.match(labels, at)
                assert label, line
                found.append((label[1], label[2]))
                at = label.end()
            key = tuple(sorted(found))
            assert len(dict(key)) == len(key) and key not in samples.setdefault(name, {}), line
            samples[name][key] = float(match[4])
    assert set(samples) <= set(kinds) and set(kinds) == helps
    return samples


def listens(connection, address):
    """Connects, unless the service is not ready, or the socket is that of an earlier one."""
    try:
        connection.connect(address)
        return True
    except (ConnectionRefusedError, FileNotFoundError):
        return False


def request(address, text, wait=True):
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as connection:
        connection.settimeout(60)
        until(lambda: listens(connection, address))
        connection.sendall(text)
        data = b""
        while wait and (more := connection.recv(65536)):
            data += more
        return data


def scrape(address):
    head, _, body = request(address, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").partition(
        b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    equal(lines[0], "HTTP/1.1 200 OK")
    assert "Content-Type: text/plain; version=0.0.4; charset=utf-8" in lines, lines
    assert f"Content-Length: {len(body)}" in lines, lines
    return parse_metrics(body.decode())


@case
def figures_for_prometheus():
    with Service("metrics = off\n", "--metrics", "/tmp/metrics-test.sock") as service:
        address = "/tmp/metrics-test.sock"
        before = scrape(address)
        equal((before["acceltrace_sessions"][()], before["acceltrace_written_bytes_total"][()]),
              (0, 0))
        client = service.client()
        client.ask(output(service, "m"), **EMPTY, system=True, ring="1M")
        until(lambda: scrape(address).get("acceltrace_session_processes"))
        now = scrape(address)
        key = (("session", "1"), ("user", "0"))
        equal((now["acceltrace_sessions"][()], now["acceltrace_sessions_started_total"][()]),
              (1, 1))
        assert now["acceltrace_session_age_seconds"][key] >= 0
        equal(now["acceltrace_session_paused"][key], 0)
        asked(client, cmd="start", output="/dev/null")
        done = client.ask(cmd="stop", session=1)["summary"]
        after = scrape(address)
        equal(after["acceltrace_written_bytes_total"][()], done["bytes"])
        equal((after["acceltrace_sessions"][()], after["acceltrace_refused_total"][()]), (0, 1))
        # Counters must never decrease.
        for name, samples in now.items():
            for labels, value in samples.items():
                if name.endswith("_total"):
                    assert after[name][labels] >= value, (name, labels)
        for name in ("process_cpu_seconds_total", "process_resident_memory_bytes"):
            assert after[name][()] > 0, name


@case
def hostile_requests_for_figures():
    port = 20000 + os.getpid() % 20000
    with Service("", "--metrics", f"127.0.0.1:{port}") as service:
        address = ("127.0.0.1", port)
        equal(request(address, b"GET / HTTP/1.1\r\n\r\n")[:12], b"HTTP/1.1 404")
        equal(request(address, b"POST /metrics HTTP/1.1\r\n\r\n")[:12], b"HTTP/1.1 405")
        equal(request(address, b"hello\r\n\r\n")[:12], b"HTTP/1.1 400")
        equal(request(address, b"GET /metrics" + b"x" * 5000)[:12], b"HTTP/1.1 431")
        # No client may delay the next one for longer than two seconds: one that sends nothing, one
        # that sends a part, and one that does not read.
        silent = [socket.create_connection(address) for _ in range(2)]
        silent[1].sendall(b"GET /met")
        assert scrape(address)
        for one in silent:
            one.close()
        rng = random.Random(7)
        pieces = [b"GET", b"/metrics", b" ", b"\r\n", b"\n", b"HTTP/1.", b"\0", b"?", b"\xff"]
        for _ in range(300):
            text = b"".join(rng.choice(pieces) for _ in range(rng.randrange(12)))
            answer = request(address, text + b"\r\n\r\n")
            assert answer[:9] == b"HTTP/1.1 ", (text, answer)
            request(address, text, wait=False)
        assert scrape(address)
        equal(asked(service.client(), cmd="status")["sessions"], [])


def switches(pid):
    """Returns the number of context switches of each thread of a process."""
    counts = {}
    for path in glob.glob(f"/proc/{pid}/task/*/status"):
        try:
            with open(path, encoding="utf-8") as file:
                counts[path] = sum(int(line.split()[1]) for line in file
                                   if "ctxt_switches" in line)
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended meanwhile
    return counts


@case
def without_recordings_it_sleeps():
    os.environ["WATCHDOG_USEC"] = "300000"
    try:
        with Service("", "--metrics", "/tmp/metrics-idle.sock") as service:
            client = service.client()
            client.ask(output(service, "s"), **EMPTY, system=True)
            client.ask(cmd="stop")
            # What still ends on a busy machine may take its time; repeated wake-ups leave no three
            # seconds without any.
            for _ in range(10):
                before = switches(service.daemon.pid)
                time.sleep(3)
                after = switches(service.daemon.pid)
                if after == before:
                    break
            assert before, "the service has threads"
            equal(after, before)
    finally:
        del os.environ["WATCHDOG_USEC"]


def capabilities(pid):
    """Returns {thread: effective capabilities}."""
    found = {}
    for path in glob.glob(f"/proc/{pid}/task/*/status"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
                open(path, encoding="utf-8") as file:
            lines = dict(line.split(":\t") for line in file.read().splitlines() if ":\t" in line)
            found[path] = int(lines["CapEff"], 16)
    return found


@case
def no_capability_is_in_effect_while_it_waits():
    with Service() as service:
        app = subprocess.Popen([APP, "100000000"], stdout=subprocess.DEVNULL)
        client = service.client()
        client.ask(output(service, "c"), cmd="start", no_device=True, libraries=[APP],
                   pids=[app.pid])
        app.send_signal(signal.SIGSTOP)
        # Each thread is seen without capabilities, and none ever with CAP_SYS_ADMIN.
        idle = set()
        until(lambda: not idle.update(path for path, held in capabilities(
            service.daemon.pid).items() if held == 0) and idle >= set(
                capabilities(service.daemon.pid)))
        assert len(idle) > 1, idle
        for _ in range(100):
            for path, held in capabilities(service.daemon.pid).items():
                assert held & 1 << 21 == 0, (path, hex(held))
        app.kill()
        app.wait()


def fuse_file(path, gate):
    """A file in a file system served by a process that answers the opening, but nothing else,
    until the gate's other end is closed."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x20000) != 0:
        return None
    libc.mount(b"none", b"/", None, 0x44000, None)  # recursively private
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError:
        return None
    how = f"fd={device},rootmode=100666,user_id=0,group_id=0,allow_other"
    if libc.mount(b"test", path.encode(), b"fuse", 0, how.encode()) != 0:
        return None

    if os.fork() == 0:
        # A separate process: one that is killed with open files of its own file system waits for
        # itself.
        attributes = struct.pack("<QIIQQQQQQIIIIIIIIII", 1 << 30, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
                                 0o100666, 1, 0, 0, 0, 4096, 0)
        answers = {26: struct.pack("<IIIIHHIIHHI28x", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, 0),
                   14: struct.pack("<QII", 1, 0, 0), 3: attributes}
        while gate not in select.select([device, gate], [], [])[0]:
            asked_for = os.read(device, 1 << 20)
            _, code, unique = struct.unpack_from("<IIQ", asked_for)
            if code in answers:
                answer = answers[code]
                os.write(device, struct.pack("<IiQ", 16 + len(answer), 0, unique) + answer)
        os._exit(0)
    os.close(device)
    return os.open(path, os.O_RDWR)


@case
def a_file_system_that_does_not_answer_holds_up_its_client_only():
    with Service() as service:
        with open(service.path("mounted"), "wb"):
            pass
        other = service.client()
        other.ask(output(service, "o"), **EMPTY, system=True)
        read_end, write_end = os.pipe()
        gate, closed_gate = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(closed_gate)
                file = fuse_file(service.path("mounted"), gate)
                said = None if file is None else asked(service.client(), file, **EMPTY,
                                                       system=True)
                os.write(write_end, json.dumps(said).encode())
                os.read(gate, 1)
            finally:
                os._exit(0)
        os.close(write_end)
        answered = 0
        while not select.select([read_end], [], [], 0.05)[0]:
            equal(len(other.ask(cmd="status")["sessions"]), 1)
            answered += 1
        said = json.loads(os.read(read_end, 65536) or b'{"error": "no answer"}')
        done = other.ask(cmd="stop")["summary"]
        os.close(closed_gate)
        os.waitpid(child, 0)
        os.close(gate)
        os.close(read_end)
        if said is None:
            raise tap.Skip("no right to serve a file system here")
        assert "keep the daemon waiting" in said["error"], said
        assert answered > 10, answered
        equal((done["lost"], done["error"]), (0, ""))


@case
def what_is_killed_leaves_a_file_that_can_be_read():
    rng = random.Random(11)
    for turn in range(KILLS):
        with Service() as service:
            app = subprocess.Popen([APP, "100000000"], stdout=subprocess.DEVNULL)
            client = service.client()
            client.ask(output(service, "k"), cmd="start", no_device=True, libraries=[APP],
                       pids=[app.pid])
            time.sleep(rng.random() * 0.8)
            service.daemon.kill()
            service.daemon.wait()
            app.kill()
            app.wait()
            trace = summary(service.path("k"))
            assert trace is not None, turn
            # The packet that was being written may be incomplete.
            equal((trace["footer"], trace["gaps"] <= 1, trace["bad_packets"]), (False, True, 0))
            done = subprocess.run([os.path.join(REPO, "build/bin/acceltrace"), "verify",
                                   service.path("k")], capture_output=True, text=True, check=False,
                                  env={**os.environ, "COLUMNS": "300"})
            equal(done.returncode, 1)
            assert ", 0 packets missing, 0 invalid" in done.stdout, done
            assert "what came in its last 150 ms at most is missing" in done.stdout, done


if __name__ == "__main__":
    sys.exit(run(case, root=True))
