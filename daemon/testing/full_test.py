#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Recordings to a disk that is full for a while, to one that stays full, and to a file that is
deleted: losses are counted, and the file reports them. Runs on the host's kernel, without a
device.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from recording import APP, REPO, Recording, fired, summary, tap  # noqa: E402
from private_test import equal, run  # noqa: E402

ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
HOST_ONLY = ["--no-device", "--libaxl", APP]
SIZE = 4 << 20
test = tap.Cases()


class SmallDisk:
    """A file system of a few MiB with a file that takes the rest of its space."""

    def __enter__(self):
        # pylint: disable=consider-using-with
        self.folder = tempfile.TemporaryDirectory()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs",
                               self.folder.name], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.folder.cleanup()
            raise tap.Skip("no file system can be mounted here: " + done.stderr.strip())
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "--lazy", self.folder.name], check=True)
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def fill(self):
        with open(self.path("ballast"), "ab", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 4096)
            except OSError:
                pass

    def empty(self):
        os.unlink(self.path("ballast"))


def size(path):
    return os.stat(path).st_size


def until_it_grows(path, recording, count):
    """Fires events until they reach the file; counts them."""
    before = size(path)
    for _ in range(600):
        text, _ = recording.run(APP, "100")
        add(count, fired(text))
        if size(path) > before:
            return
        time.sleep(0.05)
    raise AssertionError("the recording did not go on")


def add(count, more):
    for name, number in more.items():
        count[name] = count.get(name, 0) + number


def loss_of(path):
    """The trace's own rows of losses at the output."""
    done = subprocess.run([ACCELTRACE, "report", "--json", path], capture_output=True, text=True,
                          check=False)
    report = json.loads(done.stdout)
    return [span for span in report["losses"]["spans"] if span["hop"] == "output"]


@test
def a_full_disk_is_waited_for():
    with SmallDisk() as disk:
        file = disk.path("a.atrace")
        recording = Recording("--output", file, "--when-full", "pause", *HOST_ONLY)
        equal(recording.first, "ready")
        count = {}
        add(count, fired(recording.run(APP, "1000")[0]))
        for calls in ("200000", "300000"):
            disk.fill()
            # More than the reserve, for the end and for continuing.
            add(count, fired(recording.run(APP, calls)[0]))
            disk.empty()
            until_it_grows(file, recording, count)
        done, status, _ = recording.stop()
        equal(status, 1)
        assert "full for a while; it holds" in done["error"], done
        trace = summary(file)
        equal((trace["footer"], trace["stop_reason"]), (True, "client"))
        hops = trace["hops"]
        output = hops["output"]
        equal(output["in"], output["out"] + output["lost"])
        assert output["lost"] > 40000, output
        # Nothing else was lost, and each call is in the file or counted.
        for hop, account in hops.items():
            equal((hop, account["lost"] if hop != "output" else 0, account["bad"]), (hop, 0, 0))
        rows = trace["rows"]
        kept = rows["api"] + rows["ranges"] + rows.get("marks", 0)
        total = count["calls"] + count["ranges"] + count["marks"]
        # The other losses there are rows about processes.
        assert 0 <= total - kept <= output["lost"], (total, kept, output)
        assert output["lost"] - (total - kept) <= 1000, (total, kept, output)
        equal(done["lost"], output["lost"])
        spans = loss_of(file)
        equal(sum(span["count"] for span in spans), output["lost"])
        assert len(spans) >= 2, spans
        # The names that later rows use are present.
        equal({"step 0", "step 9"} <= set(trace["range_names"]), True)


@test
def a_disk_that_stays_full():
    with SmallDisk() as disk:
        file = disk.path("b.atrace")
        recording = Recording("--output", file, "--when-full", "pause", *HOST_ONLY)
        equal(recording.first, "ready")
        count = fired(recording.run(APP, "1000")[0])
        disk.fill()
        add(count, fired(recording.run(APP, "100000")[0]))
        done, status, _ = recording.stop()
        equal(status, 1)
        assert "No space left on device" in done["error"], done
        trace = summary(file)
        equal((trace["footer"], trace["stop_reason"]), (True, "client"))
        output = trace["hops"]["output"]
        equal(output["in"], output["out"] + output["lost"])
        assert output["lost"] > 0
        equal(done["lost"], output["lost"])
        assert all(0 < span["first_at_ns"] < span["last_at_ns"] for span in loss_of(file))


@test
def a_file_that_is_removed_or_its_folder():
    with tempfile.TemporaryDirectory() as scratch:
        for whole_folder in (False, True):
            folder = os.path.join(scratch, "folder")
            os.makedirs(folder, exist_ok=True)
            file = os.path.join(folder, "c.atrace")
            recording = Recording("--output", file, *HOST_ONLY)
            equal(recording.first, "ready")
            held = os.open(file, os.O_RDONLY)
            os.unlink(file)
            if whole_folder:
                os.rmdir(folder)
            count = fired(recording.run(APP, "10")[0])
            done, status, _ = recording.stop()
            equal(status, 1)
            assert "was removed while it was written" in done["error"], done
            # A process that has it open sees all of it.
            trace = summary(f"/proc/{os.getpid()}/fd/{held}")
            equal((trace["footer"], trace["rows"]["api"]), (True, count["calls"]))
            os.close(held)


@test
def what_is_too_slow_makes_the_sources_count():
    """The output is not read for a while: rings fill up, and each event is counted once."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = os.path.join(folder, "pipe")
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDWR)
        recording = Recording("--output", pipe, *HOST_ONLY, "--probes", "usdt")
        equal(recording.first, "ready")
        count = fired(recording.run(APP, "600000")[0])
        with open(os.path.join(folder, "out"), "wb") as file:
            child = os.fork()
            if child == 0:
                while data := os.read(reader, 1 << 20):
                    file.write(data)
                    file.flush()
                os._exit(0)
            os.close(reader)
            done, _, _ = recording.stop()
            # Both ends were open there, and nothing follows.
            until = time.monotonic() + 60
            while (summary(file.name) or {}).get("footer") is not True:
                assert time.monotonic() < until, "no footer came"
                time.sleep(0.1)
            os.kill(child, 9)
            os.waitpid(child, 0)
        trace = summary(file.name)
        for hop, account in trace["hops"].items():
            equal((hop, account["in"]), (hop, account["out"] + account["lost"] + account["bad"]))
        lost = trace["hops"]["bpf-api"]["lost"]
        assert lost > 0, trace["hops"]
        # A call is two events, and so is a range; one more is the name of an op.
        equal(trace["hops"]["bpf-api"]["in"], 2 * (count["calls"] + count["ranges"]) +
              count["marks"] + 1)


if __name__ == "__main__":
    sys.exit(run(test))
