#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
"""Ways to name a recording's output: nothing that was there is lost unless a recording took its
place, and where there is none, nothing changes. On the kernel at hand, without a device."""

import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from output_area import ACCELTRACE, REPO, Area, mounted, one_line, tap  # noqa: E402

sys.path.insert(0, os.path.join(REPO, "daemon", "testing"))
from private_test import run  # noqa: E402
from recording import APP, Client  # noqa: E402

case = tap.Cases()


class Recorder(Area):
    """An area whose recordings are begun in it."""

    def record(self, output, *words, options=(), device="--no-device", **more):
        named = ("--output=" + output,) if output else ("-o", "")
        named = () if output is None else named
        return self.run("record", "-q", device, "--libaxl", APP, *named, *options, "--",
                        *(words or ("true",)), **more)

    def trace(self, name, whole=True):
        done = self.run("verify", name)
        assert (done.returncode == 0) == whole, (name, done)

    def recorded(self, done, name):
        assert done.returncode == 0, done
        self.trace(name)


def unstartable(area):
    """A program whose loader there is not, which nobody knows before it is executed."""
    with open(shutil.which("true"), "rb") as program:
        os.chmod(area.write("noload", program.read().replace(b"/ld-", b"/no-")), 0o755)
    return "./noload"


@case
def a_command_that_cannot_start_leaves_everything():
    with Recorder() as area:
        command = unstartable(area)
        area.write("old", b"of before")
        os.symlink("old", area.at("link"))
        os.symlink("nothing", area.at("dangling"))
        os.link(area.at("old"), area.at("hard"))
        ways = [lambda name=name: area.record(name, command)
                for name in ("new", "old", "link", "dangling", "hard", None)]
        ways += [lambda: area.record("old", command, options=("--rotate-size", "1M")),
                 lambda: area.record("old", "./missing")]
        before = area.everything()
        for way in ways:
            done = way()
            assert done.returncode in (126, 127), done
            one_line(done)
            assert area.everything() == before, done


@case
def a_command_that_cannot_start_leaves_devices_and_pipes():
    with Recorder() as area:
        command = unstartable(area)
        kinds = {name: stat.S_IFMT(os.lstat(name).st_mode) for name in ("/dev/stdout", "/dev/null")}
        for name in kinds:
            with open(area.at("out"), "wb") as out:
                done = area.record(name, command, stdout=out, stderr=subprocess.PIPE,
                                   capture_output=False)
            assert done.returncode == 127, done
        assert {name: stat.S_IFMT(os.lstat(name).st_mode) for name in kinds} == kinds


@case
def a_refused_recording_leaves_everything():
    with Recorder() as area:
        area.write("old", b"of before")
        area.write("old.2", b"of before")
        area.unchanged([
            lambda: area.record("old", options=("--probes", "nonsense")),
            lambda: area.record("old", options=("--private", "--cpu", "nonsense")),
            lambda: area.record("new", options=("--counter-period", "1us")),
        ], "", status=2)
        area.unchanged([
            lambda: area.record("old", device="--device=nosuch"),
            lambda: area.record("old", device="--device=nosuch", options=("--rotate-size", "1M")),
            lambda: area.record("new", device="--device=nosuch", options=("--private",)),
        ], "acceltrace: ")


@case
def where_no_trace_can_be():
    with Recorder() as area:
        os.mkdir(area.at("folder"))
        os.symlink("folder", area.at("link"))
        for name, text in (("folder", "that is a folder"), ("link", "that is a folder"),
                           ("folder/", "that is a folder"), ("missing/", "that is a folder"),
                           ("missing/x", "no folder missing"), ("", "empty"),
                           ("t.atrace/x", "Not a directory"), ("n" * 256, "name too long")):
            area.unchanged([lambda name=name: area.record(name, "touch", "ran"),
                            lambda name=name: area.record(name, options=("--private",))], text)
        done = mounted(area, "-o ro", ACCELTRACE, "record", "--no-device", "-o", "m/x", "--",
                       "true")
        area.refused(done, "cannot create m/x", "Read-only file system")


@case
def what_the_command_reads_is_not_written_over():
    with Recorder() as area:
        area.write("script", b"#!/bin/sh\ntouch ran\n")
        os.chmod(area.at("script"), 0o755)
        os.link(area.at("script"), area.at("hard"))
        area.unchanged([lambda: area.record("script", "./script"),
                        lambda: area.record("hard", "sh", "script"),
                        lambda: area.record("t.atrace", ACCELTRACE, "report", "t.atrace")],
                       "same file as", "which is read")


@case
def the_commands_output_is_not_mixed_into_the_trace():
    with Recorder() as area:
        for name in ("-", "/dev/stdout", "/proc/self/fd/1"):
            with open(area.at("mixed"), "wb") as out:
                done = area.record(name, "echo", "TEXT", stdout=out, stderr=subprocess.PIPE,
                                   capture_output=False)
            assert done.stderr == b"TEXT\n", done
            area.recorded(done, "mixed")
        os.unlink(area.at("mixed"))

        def both(name):
            with open(area.at("t.atrace"), "ab") as out:
                return area.record(name, "echo", "TEXT", stdout=out, stderr=subprocess.PIPE,
                                   capture_output=False)
        # Existing contents of a file must be kept.
        area.unchanged([lambda: both("-"), lambda: both("/dev/stdout")], "has something in it")
        area.unchanged([lambda: both("t.atrace")], "same file as stdout")


@case
def stderr_is_not_mixed_into_the_trace():
    with Recorder() as area:
        with open(area.at("all"), "wb") as out:
            done = area.record("-", "touch", "ran", stdout=out, stderr=out, capture_output=False)
        assert done.returncode == 1 and not os.path.exists(area.at("ran")), done
        assert b"stderr leads there, too" in area.read("all")


@case
def a_link_stays_and_what_it_leads_to_is_replaced():
    with Recorder() as area:
        area.write("real", b"of before")
        os.link(area.at("real"), area.at("other"))
        os.symlink("real", area.at("one"))
        os.symlink(area.at("one"), area.at("two"))
        os.symlink("new", area.at("dangling"))
        for name, target in (("two", "real"), ("dangling", "new")):
            area.recorded(area.record(name), target)
            assert os.path.islink(area.at(name)), name
        assert os.path.islink(area.at("one")) and area.read("other") == b"of before"
        area.recorded(area.record("two", options=("--pack",)), "real")
        assert os.path.islink(area.at("two"))


@case
def names_that_look_like_something_else():
    with Recorder() as area:
        for name in ("-x.atrace", "line\nbreak", "a b'\"", "n" * 255, "./-"):
            area.recorded(area.record(name), name if name[0] != "-" else "./" + name)
        assert not [name for name in os.listdir(area.name) if name.endswith(".part")]


@case
def what_root_records_is_roots_to_read():
    with Recorder() as area:
        wanted = 0o600 if os.geteuid() == 0 else 0o640
        for options in ((), ("--rotate-size", "1M", "--keep", "2")):
            area.recorded(area.record("new", options=options, umask=0o027), "new")
            assert os.stat(area.at("new")).st_mode & 0o777 == wanted
            os.unlink(area.at("new"))


@case
def a_pipe_gets_the_trace():
    with Recorder() as area:
        os.mkfifo(area.at("fifo"))
        with open(area.at("copy"), "wb") as copy, \
                subprocess.Popen(["cat", area.at("fifo")], stdout=copy) as reader:
            assert area.record("fifo").returncode == 0
            reader.wait(timeout=60)
        area.trace("copy")
        assert area.record("/dev/null").returncode == 0
        done = area.record("/dev/full")
        assert done.returncode == 1, done
        assert stat.S_ISFIFO(os.stat(area.at("fifo")).st_mode)


def at_once(area, words):
    started = [subprocess.Popen([ACCELTRACE, "record", "-q", "--no-device", *words, "--", "sh",
                                 "-c", "until [ -e go ]; do sleep 0.1; done"],
                                stderr=subprocess.PIPE, cwd=area.name) for _ in range(3)]
    return started


@case
def three_at_once_by_one_name():
    with Recorder() as area:
        for old in (False, True):
            if old:
                area.write("out", b"of before")
            started = at_once(area, ("-o", "out"))
            # Two of them must end before the command of the third one does.
            while sum(each.poll() is None for each in started) > 1:
                time.sleep(0.05)
            area.write("go", b"")
            ended = [(each.communicate(timeout=120)[1], each.returncode) for each in started]
            os.unlink(area.at("go"))
            assert sorted(status for _, status in ended) == [0, 1, 1], ended
            for said, status in ended:
                assert status == 0 or b"is writing it: choose another name" in said, ended
            area.trace("out")
            os.unlink(area.at("out"))


@case
def three_at_once_without_a_name():
    with Recorder() as area:
        area.write("go", b"")
        for each in at_once(area, ()):
            each.communicate(timeout=120)
            assert each.returncode == 0
        names = [name for name in os.listdir(area.name) if name.startswith("acceltrace-")]
        assert len(names) == 3, names
        for name in names:
            area.trace(name)


@case
def files_that_are_not_needed_stay():
    with Recorder() as area:
        for name in ("out.2.atrace", "out.3.atrace", "out.trigger-1.atrace"):
            area.write(name, b"of before")
        for options in (("--rotate-size", "1M", "--keep", "4"),
                        ("--ring", "1M", "--trigger", "begin:never", "--keep", "2")):
            area.recorded(area.record("out.atrace", options=options), "out.atrace")
        kept = sorted(name for name in os.listdir(area.name) if name.startswith("out."))
        assert kept == ["out.2.atrace", "out.3.atrace", "out.atrace", "out.trigger-1.atrace"], kept
        assert all(area.read(name) == b"of before" for name in kept if name != "out.atrace")


def children(parent):
    """The processes that this one has started."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == parent:
                    found.append(int(name))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


@case
def a_recorder_that_is_killed_leaves_what_it_had_under_its_name():
    with Recorder() as area:
        area.write("out", b"of before")
        with subprocess.Popen([ACCELTRACE, "record", "-q", "--no-device", "-o", "out", "--", "sh",
                               "-c", "touch ran; exec sleep 1000"], cwd=area.name,
                              start_new_session=True) as client:
            while not os.path.exists(area.at("ran")) or area.read("out") in (b"", b"of before"):
                time.sleep(0.05)
            for pid in (client.pid, *children(client.pid)):
                os.kill(pid, signal.SIGKILL)
        done = area.run("report", "--json", "out")
        assert done.returncode == 1 and done.stdout.startswith(b"{"), done
        # It does not block later recordings, once the kernel has closed the files of the killed
        # processes.
        while b"is writing it" in (again := area.record("out")).stderr:
            time.sleep(0.1)
        area.recorded(again, "out")


@case
def a_file_that_may_not_grow():
    with Recorder() as area:
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        done = area.record("out", "sleep", "0.1", preexec_fn=limit)
        assert done.returncode == 1 and b"file size limit" in done.stderr, done
        # A command gets the signal's original action.
        text = area.record("two", "grep", "SigIgn", "/proc/self/status", preexec_fn=lambda:
                           signal.signal(signal.SIGXFSZ, signal.SIG_DFL)).stdout
        plain = subprocess.run(["grep", "SigIgn", "/proc/self/status"], capture_output=True,
                               check=True, preexec_fn=lambda:
                               signal.signal(signal.SIGXFSZ, signal.SIG_DFL)).stdout
        bit = 1 << (signal.SIGXFSZ - 1)
        assert int(text.split()[1], 16) & bit == int(plain.split()[1], 16) & bit == 0, text


@case
def by_the_service_as_alone():
    with Recorder() as area:
        socket = area.at("socket")
        # pylint: disable=consider-using-with
        daemon = subprocess.Popen([os.path.join(REPO, "build", "bin", "acceltraced"), "--socket",
                                   socket, "--group", "root"], stderr=subprocess.DEVNULL)
        try:
            while not os.path.exists(socket):
                assert daemon.poll() is None
                time.sleep(0.05)
            by_the_service(area, ("--socket", socket), Client(socket))
        finally:
            daemon.terminate()
            daemon.wait(timeout=60)


def refuses(area, client, name, text, **start):
    with open(area.at(name), "r+b") as file:
        try:
            client.ask(file=file.fileno(), id=1, cmd="start", **start)
        except AssertionError as refused:
            assert text in str(refused), refused
            return
    raise AssertionError("it was taken")


def by_the_service(area, service, client):
    area.write("old", b"of before")
    area.write("old.2", b"of before")
    pid = ("--pid", str(os.getpid()))
    area.unchanged([
        lambda: area.record("old", device="--device=nosuch", options=service),
        lambda: area.run("start", *service, *pid, "-o", "old", "--device", "nosuch"),
        lambda: area.run("start", *service, *pid, "-o", "new", "--device", "nosuch"),
    ], "acceltrace: ")
    # Also try a client that passes the open file itself.
    before = area.everything()
    for more in ({"pids": [2**22 - 1], "no_device": True}, {"pids": [1], "devices": ["nosuch"]}):
        refuses(area, client, "old", "", **more)
        assert area.everything() == before, more
    done = area.record("old", unstartable(area), options=service)
    assert done.returncode == 127 and area.read("old") == b"of before", done
    area.recorded(area.record("old", options=(*service, "--rotate-size", "1M")), "old")
    assert area.read("old.2") == b"of before"
    done = area.run("start", *service, *pid, "--no-device", "--ring", "1M", "-o", "old")
    assert done.returncode == 0, done
    # During the recording, nothing else can write to the file by any means.
    trace = area.everything()["old"][:2]
    area.refused(area.record("old"), "is writing it")
    area.refused(area.record("old", options=service), "is writing it")
    area.refused(area.run("snapshot", *service, "-o", "old"), "is writing it")
    area.refused(area.run("export", "t.atrace", "--format", "chrome", "-o", "old"), "is writing it")
    refuses(area, client, "old", "writes to this file", pids=[os.getpid()], no_device=True)
    assert area.everything()["old"][:2] == trace
    done = area.run("snapshot", *service)
    assert done.returncode == 0 and b"snapshot-" in done.stderr, done
    assert area.run("stop", *service).returncode == 0
    area.trace("old")
    assert not [name for name in os.listdir(area.name) if name.endswith(".part")]


if __name__ == "__main__":
    sys.exit(run(case))
