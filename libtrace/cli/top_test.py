#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
"""acceltrace top on recorded streams: files, sockets, a terminal; hostile ones do it no harm."""

import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

sys.dont_write_bytecode = True
REPO = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402

ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
MAKE_TRACE = os.path.join(REPO, "build", "test", "make-page-trace")
STEP = os.path.join(REPO, "tests", "golden", "step.atrace")
WAIT_S = 60
# All escape sequences that the program may send to a terminal.
ESCAPES = re.compile(r"\x1b\[(\?1049[hl]|\?25[hl]|\?7[hl]|2J|H|K|J|0m|1m|2m|31;1m|32m|36m)")

folder = tempfile.TemporaryDirectory()
case = tap.Cases()


def path(name):
    return os.path.join(folder.name, name)


def contents(name):
    with open(name, "rb") as file:
        return file.read()


def environment(**more):
    return {**{key: value for key, value in os.environ.items()
               if key not in ("NO_COLOR", "COLUMNS", "LC_ALL", "LC_CTYPE")},
            "LANG": "C.UTF-8", "TERM": "xterm", **more}


def top(*words, **more):
    return subprocess.run([ACCELTRACE, "top", *words], capture_output=True, text=True,
                          timeout=WAIT_S, check=False, stdin=subprocess.DEVNULL,
                          env=environment(**more))


class Server:
    """Gives whoever connects these bytes, and keeps the connection unless it is to end."""

    def __init__(self, name, data, ends):
        self.path, self.data, self.ends = path(name), data, ends
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.bind(self.path)
        self.socket.listen(4)
        self.kept = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            peer, _ = self.socket.accept()
            try:
                # Send pieces that are not aligned with packets.
                for at in range(0, len(self.data), 777):
                    peer.sendall(self.data[at:at + 777])
            except OSError:
                continue
            if self.ends:
                peer.close()
            else:
                self.kept.append(peer)


class Terminal:
    """The program on a terminal of 80x24."""

    def __init__(self, *words, **more):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave, self.text = slave, b""
        self.process = subprocess.Popen([ACCELTRACE, "top", *words], stdin=slave, stdout=slave,
                                        stderr=slave, env=environment(**more),
                                        start_new_session=True)

    def read_until(self, wanted):
        until = time.monotonic() + WAIT_S
        while wanted not in self.text:
            ready, _, _ = select.select([self.master], [], [], until - time.monotonic())
            assert ready, (wanted, self.text)
            self.text += os.read(self.master, 65536)

    def end(self):
        """Its exit status, once the terminal is as it was."""
        status = self.process.wait(WAIT_S)
        while select.select([self.master], [], [], 0)[0]:
            self.text += os.read(self.master, 65536)
        assert termios.tcgetattr(self.slave) == self.before
        os.close(self.master)
        os.close(self.slave)
        return status

    def screen(self):
        """Text without escapes; there is none but those that belong."""
        text = ESCAPES.sub("", self.text.decode())
        assert all(char.isprintable() or char in "\r\n" for char in text), text
        return text


@case
def a_file_is_one_frame():
    done = top(STEP)
    assert (done.returncode, done.stderr) == (0, ""), done
    for wanted in ("acceltrace top", "ENGINE", "TRANSFERS", "QUEUE", "PROCESS", "matrix",
                   "lost: none", "ended"):
        assert wanted in done.stdout, (wanted, done.stdout)
    assert all(len(line) <= 80 for line in done.stdout.splitlines()), done.stdout
    assert top(STEP, "--once").stdout == done.stdout
    # Frames follow the stream's own time.
    assert top(STEP, "--batch", "2", "--interval", "1ms").stdout.count("acceltrace top") <= 2


@case
def a_socket_is_shown_until_it_ends():
    server = Server("ends.sock", contents(STEP), True)
    done = top(server.path, "--interval", "100ms")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert "matrix" in done.stdout and "ended" in done.stdout, done.stdout
    assert "\x1b" not in done.stdout
    held = Server("held.sock", contents(STEP), False)
    done = top(held.path, "--batch", "3", "--interval", "100ms")
    assert done.returncode == 0 and done.stdout.count("acceltrace top") == 3, done
    done = top(held.path, "--once", "--interval", "100ms")
    assert done.returncode == 0 and done.stdout.count("acceltrace top") == 1, done


@case
def a_terminal_is_left_as_it_was():
    server = Server("terminal.sock", contents(STEP), False)
    for leave in ("q", signal.SIGTERM, signal.SIGINT):
        terminal = Terminal(server.path, "--interval", "100ms")
        terminal.read_until(b"ENGINE")
        terminal.read_until(b"PROCESS")
        if leave == "q":
            os.write(terminal.master, b"q")
        else:
            terminal.process.send_signal(leave)
        assert terminal.end() == 0
        assert "matrix" in terminal.screen()
        assert terminal.text.startswith(b"\x1b[?1049h"), terminal.text[:20]
        assert terminal.text.endswith(b"\x1b[?7h\x1b[?25h\x1b[?1049l"), terminal.text[-40:]


@case
def no_colours_where_none_are_wanted():
    server = Server("plain.sock", contents(STEP), False)
    terminal = Terminal(server.path, "--interval", "100ms", NO_COLOR="1")
    terminal.read_until(b"PROCESS")
    os.write(terminal.master, b"q")
    assert terminal.end() == 0
    assert not re.search(rb"\x1b\[[0-9;]*m", terminal.text), terminal.text
    # A terminal that cannot move its cursor gets successive frames of text.
    terminal = Terminal(server.path, "--interval", "100ms", TERM="dumb")
    terminal.read_until(b"PROCESS")
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.end() == 0
    assert b"\x1b" not in terminal.text, terminal.text
    assert all(byte < 128 for byte in terminal.text), terminal.text
    assert top(STEP, LC_ALL="C").stdout.isascii()


@case
def a_hostile_stream_moves_nothing():
    trace = path("hostile.atrace")
    subprocess.run([MAKE_TRACE, "hostile", trace], check=True, timeout=WAIT_S)
    done = top(trace)
    assert all(char.isprintable() or char == "\n" for char in done.stdout), done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines()), done.stdout
    server = Server("hostile.sock", contents(trace), False)
    terminal = Terminal(server.path, "--interval", "100ms")
    terminal.read_until(b"PROCESS")
    os.write(terminal.master, b"q")
    assert terminal.end() == 0
    text = terminal.screen()
    assert "script>" in text and "\u202e" not in text, text


@case
def damage_and_misuse_are_one_line():
    data = bytearray(contents(STEP))
    for at in range(len(data) // 2, len(data), 400):
        data[at] ^= 0xff
    server = Server("damaged.sock", bytes(data), True)
    done = top(server.path, "--interval", "100ms")
    assert (done.returncode, done.stderr) == (0, ""), done
    # On a busy machine, the first frames show what had arrived until then.
    _, found, last = done.stdout.rpartition("lost: ")
    assert found and not last.startswith("none"), done.stdout
    junk = Server("junk.sock", b"\x1b[2J" * 400_000, True)
    for status, words in ((1, [junk.path]), (1, [path("nowhere")]), (1, [folder.name]),
                          (2, [server.path, "--interval", "1ms"]), (2, ["--interval", "5"]),
                          (2, ["--batch", "0", STEP])):
        done = top(*words)
        assert done.returncode == status, (words, done)
        assert len(done.stderr.splitlines()) == 1 and done.stderr.strip().isprintable(), done


if __name__ == "__main__":
    with folder:
        sys.exit(tap.run(case))
