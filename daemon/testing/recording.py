# SPDX-License-Identifier: Apache-2.0
"""Runs acceltraced --private as its client does; for the daemon's tests."""

import array
import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests"))
from harness import tap  # noqa: E402

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DAEMON = os.path.join(REPO, "build", "bin", "acceltraced")
APP = os.path.join(REPO, "build", "test", "axl-probe-app")
SUMMARY = os.path.join(REPO, "build", "test", "axl-trace-summary")
TIMEOUT_S = 180


@contextlib.contextmanager
def daemon_for_others():
    """A copy of the daemon that an ordinary user can run, unlike one in a checkout below /root."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        copy = shutil.copy(DAEMON, folder)
        os.chmod(copy, 0o755)
        done = subprocess.run(["/usr/bin/test", "-x", copy], user=65534, group=65534, cwd="/",
                              check=False)
        if done.returncode != 0:
            raise tap.Skip(f"an ordinary user cannot run a program in {folder}")
        yield copy


def until(what):
    """Waits for a condition that must become true, however slow the machine is."""
    deadline = time.monotonic() + TIMEOUT_S
    while not what():
        assert time.monotonic() < deadline, "it never came to pass"
        time.sleep(0.02)


def until_it_sleeps(pid):
    """Waits until a process sleeps."""
    def sleeps():
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "S"
    until(sleeps)


def calls_of(counter):
    """The number of calls that axl-api-app has counted in a file, 0 if it does not exist yet."""
    with contextlib.suppress(OSError), open(counter, "rb") as file:
        text = file.read(8)
        return struct.unpack("Q", text)[0] if len(text) == 8 else 0
    return 0


def until_it_calls(counter, calls=1):
    """Waits until the program has made that many more calls."""
    before = calls_of(counter)
    until(lambda: calls_of(counter) >= before + calls)


def summary(path):
    """The summary of a trace; None if it is not one."""
    done = subprocess.run([SUMMARY, path], capture_output=True, text=True, timeout=TIMEOUT_S,
                          check=False)
    assert done.returncode in (0, 1), done
    return json.loads(done.stdout) if done.returncode == 0 else None


class Recording:
    """A private daemon and the client's end of its control socket."""

    def __init__(self, *options, **popen):
        ours, theirs = socket.socketpair()
        theirs.set_inheritable(True)
        self.daemon = subprocess.Popen(
            [DAEMON, "--private", "--control-fd", str(theirs.fileno()), *options],
            pass_fds=[theirs.fileno()], stderr=subprocess.PIPE, text=True, **popen)
        theirs.close()
        ours.settimeout(TIMEOUT_S)
        self.socket = ours
        self.lines = ours.makefile("r")
        self.first = self.line()

    def line(self):
        return self.lines.readline().rstrip("\n")

    def ask(self, command):
        """Returns the answer to a command; a failure of the output may arrive at any time before
        it.
        """
        self.socket.sendall(command.encode() + b"\n")
        while (answer := self.line()).startswith("failed: "):
            pass
        return answer

    def drain(self):
        """Returns when the daemon has drained its rings and done the work that was due."""
        for _ in range(20):  # of each it empties some between two answers
            self.ask("no command")

    def run(self, *argv):
        """Runs a command and records it from its first instruction; returns (its output,
        status).
        """
        gate_read, gate_write = os.pipe()
        out_read, out_write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(gate_write)
            os.dup2(out_write, 1)
            os.read(gate_read, 1)
            os.execvp(argv[0], argv)
        os.close(gate_read)
        os.close(out_write)
        answer = self.ask(f"pid {child}")
        os.close(gate_write)
        assert answer == "ok", answer
        with os.fdopen(out_read) as output:
            text = output.read()
        return text, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def stop(self, status=0):
        """Returns the daemon's summary, its exit status and its stderr."""
        answer = self.ask(f"stop {status}")
        assert answer.startswith("done "), answer
        return (json.loads(answer[5:]), *self.end())

    def end(self):
        _, stderr = self.daemon.communicate(timeout=TIMEOUT_S)
        self.lines.close()
        self.socket.close()
        return self.daemon.returncode, stderr


class Client:
    """A client of the service."""

    def __init__(self, socket_path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(socket_path)
        self.lines = self.socket.makefile("r")

    def ask(self, file=None, **command):
        text = json.dumps(command).encode() + b"\n"
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))] if file else []
        self.socket.sendmsg([text], rights)
        answer = json.loads(self.lines.readline())
        assert answer["ok"], answer
        return answer


def fired(text):
    """The numbers that axl-probe-app prints, summed over its processes."""
    total = {"calls": 0, "ranges": 0, "marks": 0}
    for line in text.splitlines():
        words = line.split()
        for name, number in zip(words[::2], words[1::2]):
            total[name] += int(number)
    return total
