#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""acceltrace start, stop, snapshot, status, and record by the service, on the kernel at hand,
without a device."""

import grp
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

REPO = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(REPO, "daemon", "testing"))
from private_test import run  # noqa: E402
from recording import APP, fired, summary, tap  # noqa: E402

BIN = os.path.join(REPO, "build", "bin")
ACCELTRACE = os.path.join(BIN, "acceltrace")
FOLDER = tempfile.TemporaryDirectory()
SOCKET = os.path.join(FOLDER.name, "acceltraced.sock")
NO_DEVICE = ["--no-device", "--libaxl", APP]
case = tap.Cases()


def path(name):
    return os.path.join(FOLDER.name, name)


def verb(*words, status=0, **more):
    """`acceltrace VERB --socket SOCKET ...`: what it printed, or said on stderr if it fails."""
    done = subprocess.run([ACCELTRACE, words[0], "--socket", SOCKET, *words[1:]],
                          capture_output=True, text=True, timeout=120, check=False, **more)
    assert done.returncode == status, (words, done)
    assert status == 0 or len(done.stderr.splitlines()) == 1, done
    return done.stdout if status == 0 else done.stderr


def sessions():
    return json.loads(verb("status", "--json"))


def until(what):
    for _ in range(3000):
        if what():
            return
        time.sleep(0.02)
    raise AssertionError("it never came to pass")


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


class Service:
    def __enter__(self):
        # pylint: disable=consider-using-with
        self.daemon = subprocess.Popen(
            [os.path.join(BIN, "acceltraced"), "--socket", SOCKET,
             "--group", grp.getgrgid(0).gr_name],
            stderr=subprocess.PIPE, text=True)
        until(lambda: os.path.exists(SOCKET) or self.daemon.poll() is not None)
        return self

    def __exit__(self, *_):
        self.daemon.terminate()
        self.daemon.communicate(timeout=60)


@case
def without_a_service():
    for words in (("start", "--system"), ("stop",), ("snapshot",), ("status",)):
        said = verb(*words, status=1)
        assert "no capture service at " + SOCKET in said and "acceltrace record" in said, said
    said = verb("record", "-o", path("none"), *NO_DEVICE, "--", APP, "5", status=1)
    equal(said, f"acceltrace: no capture service at {SOCKET}\n")
    assert not os.path.exists(path("none"))
    verb("start", status=2)
    verb("stop", "no-number", status=2)


@case
def record_by_the_service():
    with Service():
        text = verb("record", "-q", "-o", path("one"), *NO_DEVICE, "--", APP, "2000")
        trace = summary(path("one"))
        equal((trace["footer"], trace["rows"]["api"], trace["losses"] if "losses" in trace else {}),
              (True, fired(text)["calls"], {}))
        equal(sessions(), [])
        # Covers the end of a command, impossible requests, and stdout as a file.
        done = subprocess.run([ACCELTRACE, "record", "--socket", SOCKET, "-q", "-o", path("seven"),
                               *NO_DEVICE, "--", "sh", "-c", "exit 7"], check=False)
        equal(done.returncode, 7)
        said = verb("record", "-q", "-o", path("two"), "--device", "nosuch", "--", APP, "5",
                    status=1)
        assert "nosuch" in said or "no accelerator" in said, said
        assert not os.path.exists(path("two"))
        said = verb("record", "-o", path("three"), "--priority", "idle", "--", APP, "5", status=1)
        assert "--priority" in said, said
        with open(path("stdout"), "w+b") as out:
            done = subprocess.run([ACCELTRACE, "record", "--socket", SOCKET, "-q",
                                   "-o", "-", *NO_DEVICE, "--", APP, "50"], stdout=out, check=False)
            equal(done.returncode, 0)
        equal(summary(path("stdout"))["rows"]["api"], 50)


@case
def several_at_once_each_as_if_alone():
    with Service():
        running = [subprocess.Popen([ACCELTRACE, "record", "--socket", SOCKET, "-q",
                                     "-o", path(f"at{i}"), *NO_DEVICE, "--", APP,
                                     str(500 * (i + 1)), "pause-ms=300"],
                                    stdout=subprocess.PIPE, text=True)
                   for i in range(3)]
        for i, process in enumerate(running):
            text, _ = process.communicate(timeout=120)
            equal(process.returncode, 0)
            equal(summary(path(f"at{i}"))["rows"]["api"], fired(text)["calls"])


@case
def start_status_snapshot_stop():
    with Service():
        # pylint: disable=consider-using-with
        app = subprocess.Popen([APP, "20000", "pause-ms=600000"], stdout=subprocess.PIPE, text=True)
        number = verb("start", "--pid", str(app.pid), "--ring", "1M", "-o", path("detached"),
                      *NO_DEVICE).strip()
        other = verb("start", "--pid", str(app.pid), "-o", path("other"), *NO_DEVICE).strip()
        assert number.isdigit() and other.isdigit() and number != other
        found = sessions()
        equal([(str(each["session"]), each["state"], each["user"]) for each in found],
              [(number, "running", 0), (other, "running", 0)])
        equal(len(verb("status").splitlines()), 2)
        # It must not guess which session is meant.
        said = verb("stop", status=1)
        assert number in said and other in said, said
        said = verb("snapshot", other, "-o", path("none"), status=1)
        assert not os.path.exists(path("none")), said
        verb("snapshot", number, "-o", path("snapshot"))
        assert summary(path("snapshot"))["footer"]
        equal(json.loads(verb("stop", "--json", other))["error"], "")
        assert "recording " + number in verb("stop")
        for name in ("detached", "other"):
            trace = summary(path(name))
            equal((trace["footer"], trace["stop_reason"]), (True, "client"))
        verb("stop", status=1)
        verb("stop", number, status=1)
        app.kill()
        app.communicate()


@case
def several_files_by_the_service():
    with Service():
        text = verb("record", "-q", "-o", path("turn.atrace"), "--rotate-size", "1M", "--keep",
                    "16", *NO_DEVICE, "--", APP, "120000")
        parts = sorted(name for name in os.listdir(FOLDER.name) if name.startswith("turn."))
        assert 2 <= len(parts) < 16, parts
        traces = [summary(path(name)) for name in parts]
        equal((sum(trace["rows"].get("api", 0) - trace["rows"].get("api_open", 0)
                   for trace in traces), {trace["footer"] for trace in traces}),
              (fired(text)["calls"], {True}))
        verb("record", "-q", "-o", path("hit.atrace"), "--ring", "1M", "--trigger", "begin:step 3",
             "--keep", "2", *NO_DEVICE, "--", APP, "20")
        equal(sorted(name for name in os.listdir(FOLDER.name) if name.startswith("hit.")),
              ["hit.atrace", "hit.trigger-1.atrace"])
        equal(summary(path("hit.trigger-1.atrace"))["stop_reason"], "trigger begin:step 3")
        # A recording that fails to start leaves nothing.
        said = verb("start", "-o", path("never.atrace"), "--pid", str(os.getpid()), "--device",
                    "nosuch", "--rotate-time", "2s", status=1)
        assert "nosuch" in said or "no accelerator" in said, said
        equal([name for name in os.listdir(FOLDER.name) if name.startswith("never")], [])
        said = verb("start", "-o", path("never.atrace"), "--system", "--keep", "3", status=2)
        assert "--rotate-size" in said, said


@case
def a_signal_takes_a_snapshot():
    with Service():
        for words in (["--socket", SOCKET], ["--private"]):
            name = path("signal" + words[0] + ".atrace")
            # pylint: disable=consider-using-with
            client = subprocess.Popen([ACCELTRACE, "record", *words, "--ring", "1M",
                                       "-o", name, *NO_DEVICE, "--", "sh", "-c",
                                       f'"{APP}" 200; touch "{path("ran")}"; exec sleep 1000'],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            until(lambda: os.path.exists(path("ran")))
            os.unlink(path("ran"))
            client.send_signal(signal.SIGUSR1)
            taken = name.replace(".atrace", ".snapshot-1.atrace")
            until(lambda: os.path.exists(taken) and (summary(taken) or {}).get("footer"))
            equal(summary(taken)["rows"]["api"], 200)
            client.send_signal(signal.SIGTERM)
            _, said = client.communicate(timeout=60)
            assert f"{taken}: snapshot" in said, said
            equal(summary(name)["rows"]["api"], 200)


@case
def a_service_that_goes_away():
    with Service() as service:
        # pylint: disable=consider-using-with
        client = subprocess.Popen([ACCELTRACE, "record", "--socket", SOCKET, "-o",
                                   path("gone"), *NO_DEVICE, "--", "sh", "-c",
                                   f'"{APP}" 100; touch "{path("ran")}"; read -r line'],
                                  stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
        # Before its command runs, it could still end without leaving a file.
        until(lambda: os.path.exists(path("ran")))
        service.daemon.terminate()
        _, said = client.communicate(timeout=120)
        equal(client.returncode, 1)
        equal(len(said.splitlines()), 1)
    assert summary(path("gone"))["footer"]  # once the service has ended


if __name__ == "__main__":
    sys.exit(run(case))
