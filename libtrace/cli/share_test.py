#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Private recordings that share a daemon, on the kernel at hand, without a device."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

REPO = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(REPO, "daemon", "testing"))
from private_test import run  # noqa: E402
from recording import APP, fired, summary, tap  # noqa: E402

ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
FOLDER = tempfile.TemporaryDirectory()
SHARE = os.path.join(FOLDER.name, "place", "socket")
HALF = 500
case = tap.Cases()


def path(name):
    return os.path.join(FOLDER.name, name)


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def until(what):
    for _ in range(3000):
        if what():
            return
        time.sleep(0.02)
    raise AssertionError("it never came to pass")


def daemons():
    """Processes of the daemon that are for this test's place."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().decode(errors="replace").split("\0")
        except OSError:
            continue
        if words[0].endswith("/acceltraced") and SHARE in words:
            found.append(int(pid))
    return found


def arguments(name, *more, share=SHARE, library=APP):
    return [ACCELTRACE, "record", "--private", "--share", share, "-o",
            name if name == "-" else path(name), "--no-device", "--libaxl", library, *more]


class Record:
    """acceltrace record of a program that makes half its calls, waits, and makes the rest."""

    def __init__(self, name, *more):
        self.name = name
        # pylint: disable=consider-using-with
        self.client = subprocess.Popen(
            [*arguments(name, *more), "--", "sh", "-c",
             f'"{APP}" {HALF}; read x; "{APP}" {HALF}; exit 7'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = self.client.stdout.readline()
        assert "calls" in self.said, (self.said, self.client.stderr.read())

    def finish(self):
        """Lets it run to its end, whose pipes nobody else may hold open."""
        text, said = self.client.communicate("x\n", timeout=60)
        equal((self.client.returncode, len(said.splitlines())), (7, 1))
        self.whole(self.said + text, "client")
        return said

    def has_ended(self):
        return (summary(path(self.name)) or {}).get("footer")

    def whole(self, text, reason):
        trace = summary(path(self.name))
        equal((trace["rows"]["api"], trace["footer"], trace["gaps"], trace["stop_reason"]),
              (fired(text)["calls"], True, 0, reason))
        for name, hop in trace["hops"].items():
            equal((name, hop["lost"], hop["bad"]), (name, 0, 0))
        assert trace["accounts"]["cpu_ns"] > 0, trace["accounts"]


def nobody_is_left():
    until(lambda: not daemons())
    assert not os.path.exists(SHARE)


@case
def those_that_join_outlive_the_first():
    first = Record("first")
    equal(len(daemons()), 1)
    second, third = Record("second"), Record("third", "--priority", "-5", "--cpu", "0")
    equal(len(daemons()), 1)
    assert "0 lost" in first.finish()
    equal(len(daemons()), 1)
    # A later recording must be served by the same daemon.
    fourth = Record("fourth", "--overhead", "low")
    equal(len(daemons()), 1)
    for each in (second, third, fourth):
        assert "0 lost" in each.finish()
    nobody_is_left()


@case
def one_that_joins_ends_before_the_first():
    first, second = Record("first"), Record("second")
    second.finish()
    first.finish()
    nobody_is_left()


@case
def the_first_is_killed():
    first, second = Record("first"), Record("second")
    first.client.kill()
    until(first.has_ended)
    first.client.communicate("x\n", timeout=60)  # the daemon holds its pipes no longer
    first.whole(first.said, "client gone")
    second.finish()
    nobody_is_left()


@case
def what_the_daemon_is_sent_ends_all():
    first, second = Record("first"), Record("second")
    first_daemon, = daemons()
    os.kill(first_daemon, signal.SIGTERM)
    until(lambda: first.has_ended() and second.has_ended())
    for each in (first, second):
        _, said = each.client.communicate("x\n", timeout=60)
        equal((each.client.returncode, len(said.splitlines())), (7, 1))
    nobody_is_left()
    first.whole(first.said, "terminated")
    second.whole(second.said, "service stopped")


@case
def a_killed_daemon_leaves_its_place():
    first = Record("first")
    daemon, = daemons()
    os.kill(daemon, signal.SIGKILL)
    first.client.communicate("x\n", timeout=60)
    assert os.path.exists(SHARE)
    Record("second").finish()
    nobody_is_left()


@case
def several_begin_at_the_same_moment():
    for _ in range(2):
        # pylint: disable=consider-using-with
        running = [subprocess.Popen([*arguments(f"at{i}", "-q"), "--", APP, str(100 * (i + 1))],
                                    stdout=subprocess.PIPE, text=True) for i in range(6)]
        for i, process in enumerate(running):
            text, _ = process.communicate(timeout=120)
            equal(process.returncode, 0)
            equal(summary(path(f"at{i}"))["rows"]["api"], fired(text)["calls"])
        nobody_is_left()


@case
def whatever_a_recording_of_its_own_could_do():
    first = Record("first")
    # Covers a pipe, several files, a snapshot, and a library whose path is relative to the client.
    done = subprocess.run([*arguments("-", "-q"), "--", APP, "50"], stdout=subprocess.PIPE,
                          check=True)
    with open(path("piped"), "wb") as file:
        file.write(done.stdout)
    equal(summary(path("piped"))["rows"]["api"], 50)
    subprocess.run([*arguments("turn.atrace", "-q", "--rotate-size", "1M", "--keep", "2"), "--",
                    APP, "120000"], stdout=subprocess.DEVNULL, check=True)
    assert os.path.exists(path("turn.2.atrace"))
    subprocess.run([*arguments("from", "-q", library=os.path.basename(APP)), "--", APP, "50"],
                   stdout=subprocess.DEVNULL, cwd=os.path.dirname(APP), check=True)
    equal(summary(path("from"))["rows"]["api"], 50)
    ring = Record("ring.atrace", "--ring", "1M")
    ring.client.send_signal(signal.SIGUSR1)
    taken = path("ring.snapshot-1.atrace")
    until(lambda: os.path.exists(taken) and (summary(taken) or {}).get("footer"))
    equal(summary(taken)["rows"]["api"], HALF)
    equal(len(daemons()), 1)
    ring.client.communicate("x\n", timeout=60)
    first.finish()
    nobody_is_left()


@case
def what_cannot_be_recorded_is_said_and_harms_nobody():
    first = Record("first")
    done = subprocess.run([*arguments("none", "--libaxl", "/nowhere.so"), "--", APP, "5"],
                          capture_output=True, text=True, check=False)
    equal((done.returncode, len(done.stderr.splitlines()), os.path.exists(path("none"))),
          (1, 1, False))
    assert "/nowhere.so" in done.stderr, done
    first.finish()
    nobody_is_left()


@case
def another_users_socket_is_not_used():
    folder = path("others")
    os.mkdir(folder, 0o777)
    os.chmod(folder, 0o777)
    name = os.path.join(folder, "socket")
    words = [*arguments("none", share=name), "--", APP, "5"]
    other = os.fork()
    if other == 0:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(name)
        os.setuid(65534)
        listener.listen()  # who does that is who is there
        signal.pause()
    until(lambda: socket.socket(socket.AF_UNIX).connect_ex(name) == 0)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    os.kill(other, signal.SIGKILL)
    os.waitpid(other, 0)
    equal((done.returncode, done.stdout, os.path.exists(path("none"))), (1, "", False))
    assert "another user" in done.stderr, done
    # A place where other users could create one is not used, either.
    os.unlink(name)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    equal(done.returncode, 0)
    assert "no folder that only this user can write to" in done.stderr, done
    assert not os.path.exists(name)


@case
def who_is_connected_is_waited_for():
    first = Record("first")
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(SHARE)
        first.finish()
        equal(len(daemons()), 1)
    nobody_is_left()


if __name__ == "__main__":
    sys.exit(run(case, root=True))
