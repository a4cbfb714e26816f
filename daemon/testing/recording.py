# SPDX-License-Identifier: Apache-2.0
"""Runs acceltraced --private as its client does; for the daemon's tests."""

import json
import os
import socket
import subprocess

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DAEMON = os.path.join(REPO, "build", "bin", "acceltraced")
APP = os.path.join(REPO, "build", "test", "axl-probe-app")
SUMMARY = os.path.join(REPO, "build", "test", "axl-trace-summary")
TIMEOUT_S = 60


def others_reach_daemon():
    """Whether an ordinary user may run the daemon from where it was built (not in /root, say)."""
    done = subprocess.run(["/usr/bin/test", "-x", DAEMON], user=65534, group=65534, cwd="/",
                          check=False)
    if done.returncode != 0:
        print(f"# not tried as an ordinary user, who cannot reach {DAEMON}")
    return done.returncode == 0


def summary(path):
    """What a trace holds; None if it is not one."""
    done = subprocess.run([SUMMARY, path], capture_output=True, text=True, timeout=TIMEOUT_S,
                          check=False)
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
        self.socket.sendall(command.encode() + b"\n")
        return self.line()

    def run(self, *argv):
        """Runs a command from its first instruction on; returns (its output, status)."""
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
        """The summary that the daemon gives, its exit status and what it said on stderr."""
        answer = self.ask(f"stop {status}")
        while answer.startswith("failed: "):
            answer = self.line()
        assert answer.startswith("done "), answer
        return (json.loads(answer[5:]), *self.end())

    def end(self):
        _, stderr = self.daemon.communicate(timeout=TIMEOUT_S)
        self.lines.close()
        self.socket.close()
        return self.daemon.returncode, stderr


def fired(text):
    """The numbers that axl-probe-app prints, summed over its processes."""
    total = {"calls": 0, "ranges": 0, "marks": 0}
    for line in text.splitlines():
        words = line.split()
        for name, number in zip(words[::2], words[1::2]):
            total[name] += int(number)
    return total
