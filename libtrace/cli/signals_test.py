#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""Signals reach a command that is recorded, at a terminal or not, as without the recorder."""

import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from plain_and_recorded import (LIMIT_S, RECORD, RECORDED, alike_in_shell, ignoring,  # noqa: E402
                                path, python, run, shell, summary, tap, until)

case = tap.Cases()


# ---- signals on the way ----


COUNTS = """
import os, signal, sys, time
seen = []
for name in sys.argv[3:]:
    signal.signal(getattr(signal, "SIG" + name), lambda number, _: seen.append(number))
open(sys.argv[1], "w").close()
while not os.path.exists(sys.argv[2]):
    time.sleep(0.01)
print(seen)
"""


class Counting:
    """A command that counts the signals it gets, until it is told to end."""

    def __init__(self, prefix, names, **how):
        self.ready, self.end = path("ready"), path("end")
        for file in (self.ready, self.end):
            if os.path.exists(file):
                os.unlink(file)
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            [*prefix, *python(COUNTS, self.ready, self.end, *names)], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True, **how)
        until(lambda: os.path.exists(self.ready))

    def finish(self):
        time.sleep(0.2)  # for one too many
        with open(self.end, "w", encoding="ascii"):
            pass
        out, said = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, out, said


@case
def a_signal_arrives_once():
    names = ("HUP", "INT", "TERM", "QUIT", "USR1", "USR2", "ALRM")
    for send in (os.kill, os.killpg):
        got = []
        for prefix in ([], RECORDED):
            counting = Counting(prefix, names)
            for name in names:
                send(counting.process.pid, getattr(signal, "SIG" + name))
                time.sleep(0.1)
            got.append(counting.finish())
        assert got[0] == got[1] and got[0][0] == 0, (send, got)


@case
def who_asks_again_and_again_does_not_kill():
    counting = Counting(RECORDED, ["INT", "TERM"])
    for _ in range(5):
        counting.process.send_signal(signal.SIGINT)
        time.sleep(0.1)
    assert counting.finish() == (0, b"[" + b", ".join([b"2"] * 5) + b"]\n", b"")


@case
def nohup_keeps_a_command_alive():
    unheard = ignoring(signal.SIGHUP)
    for prefix in ([], RECORDED):
        process = subprocess.Popen([*prefix, *shell(f'>"{path("up")}"; sleep 2; exit 4')],
                                   **unheard)
        until(lambda: os.path.exists(path("up")))
        os.unlink(path("up"))
        for _ in range(3):
            process.send_signal(signal.SIGHUP)
            time.sleep(0.1)
        assert process.wait(timeout=LIMIT_S) == 4
    # A command that sets a handler must receive the signal all the same.
    counting = Counting(RECORDED, ["HUP"], **unheard)
    counting.process.send_signal(signal.SIGHUP)
    assert counting.finish()[:2] == (0, b"[1]\n")


@case
def nohup_keeps_a_recording_alive():
    with subprocess.Popen(["sleep", "60"]) as recorded:
        for what in (["--system"], ["--pid", str(recorded.pid)]):
            process = subprocess.Popen(
                [*RECORD[:-1], path("long"), *what], stderr=subprocess.PIPE,
                **ignoring(signal.SIGHUP))
            until(lambda: os.path.exists(path("long")) and os.path.getsize(path("long")) > 0)
            for _ in range(3):
                process.send_signal(signal.SIGHUP)
                time.sleep(0.1)
            assert process.poll() is None, process.stderr.read()
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=LIMIT_S)
            assert (process.returncode, said) == (0, b""), said
            assert summary(path("long"))["footer"]
            os.unlink(path("long"))
        recorded.kill()


@case
def an_interrupt_for_a_scripts_background_recording_ends_it():
    # A shell script starts a background process with the signal ignored, as `acceltrace record
    # --pid N &`.
    with subprocess.Popen(["sleep", "60"]) as recorded:
        script = [*shell('"$@" & echo $!; wait $!', *RECORD[:-1], path("behind"), "--pid"),
                  str(recorded.pid)]
        with subprocess.Popen(script, stdout=subprocess.PIPE, text=True) as behind:
            number = int(behind.stdout.readline())
            until(lambda: os.path.exists(path("behind")) and os.path.getsize(path("behind")) > 0)
            os.kill(number, signal.SIGINT)
            assert behind.wait(timeout=LIMIT_S) == 0
        assert summary(path("behind"))["footer"]
        recorded.kill()


@case
def without_nohup_a_hangup_ends_both():
    for prefix in ([], RECORDED):
        process = subprocess.Popen([*prefix, *shell(f'>"{path("up")}"; exec sleep 60')])
        until(lambda: os.path.exists(path("up")))
        os.unlink(path("up"))
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=LIMIT_S) == -signal.SIGHUP, prefix
    assert summary(path("trace"))["footer"]


@case
def a_shells_background_has_interrupts_ignored():
    alike_in_shell("sh -c '\"$@\" & wait' sh R sed -n /^Sig[^Q]/p /proc/self/status")


@case
def timeout_ends_it():
    assert alike_in_shell("timeout 2 R sleep 60; echo $?")[1] == b"124\n"
    alike_in_shell("timeout -s INT 2 R sleep 60; echo $?")
    alike_in_shell("timeout --preserve-status 2 R "
                   "sh -c 'trap \"exit 9\" TERM; sleep 60 & wait'; echo $?")


# ---- at a terminal ----


class Terminal:
    """bash with job control at a terminal of its own."""

    def __init__(self):
        self.pid, self.fd = os.forkpty()
        if self.pid == 0:
            environment = {"PATH": os.environ["PATH"], "PS1": "$ ", "TERM": "dumb",
                           "HISTFILE": "/dev/null"}
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], environment)
        os.set_blocking(self.fd, False)
        self.text = ""
        self.expect("$ ")
        self.type("stty -echo\n")
        self.expect("$ ")

    def expect(self, text):
        def there():
            try:
                self.text += os.read(self.fd, 65536).decode(errors="replace")
            except BlockingIOError:
                pass
            return text in self.text
        try:
            until(there)
        except AssertionError as error:
            raise AssertionError(f"{text!r} is not in {self.text!r}") from error
        seen, self.text = self.text.split(text, 1)
        return seen

    def type(self, text):
        os.write(self.fd, text.encode())

    def ask(self, command):
        self.type(command + "; echo [$?] end\n")
        return self.expect("] end\r\n").split("[")[-1]

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def at_terminals(talk):
    """What is said in a talk at a terminal with a command, plain and recorded."""
    said = []
    # A recorder whose terminal is gone may still be ending when the next one begins.
    at_terminals.number += 1
    recorded = [*RECORD[:-1], path(f"trace-{at_terminals.number}"), "--", ""]
    for prefix in ("", " ".join(recorded)):
        terminal = Terminal()
        try:
            said.append(talk(terminal, prefix))
        finally:
            terminal.close()
    assert said[0] == said[1], said
    return said[0]


at_terminals.number = 0


@case
def an_interrupt_of_the_terminal_arrives_once_and_ends_it():
    def talk(terminal, prefix):
        terminal.type(f"{prefix}sh -c 'echo up; exec sleep 60'; echo status $?.\n")
        terminal.expect("up")
        terminal.type("\x03")
        terminal.expect("$ ")
        return terminal.ask("echo")
    # bash skips the rest of the line, since the command was killed by the signal.
    at_terminals(talk)

    def count(terminal, prefix):
        for file in ("ready", "end"):
            if os.path.exists(path(file)):
                os.unlink(path(file))
        with open(path("counts.py"), "w", encoding="utf-8") as file:
            file.write(COUNTS)
        terminal.type(f"{prefix}python3 {path('counts.py')} {path('ready')} {path('end')} "
                      "INT QUIT\n")
        until(lambda: os.path.exists(path("ready")))
        for key in "\x03\x03\x1c\x03":
            terminal.type(key)
            time.sleep(0.2)
        with open(path("end"), "w", encoding="ascii"):
            pass
        return terminal.expect("]").split("[")[1]
    assert at_terminals(count) == "2, 2, 3, 2"


@case
def a_quit_of_the_terminal_ends_it():
    def talk(terminal, prefix):
        terminal.ask("ulimit -c 0")
        terminal.type(f"{prefix}sh -c 'echo up; exec sleep 60'\n")
        terminal.expect("up")
        terminal.type("\x1c")
        terminal.expect("$ ")
        return terminal.ask("(exit $?)")
    assert at_terminals(talk) == "131"


@case
def it_is_stopped_and_goes_on():
    def talk(terminal, prefix):
        terminal.type(f"{prefix}sh -c 'echo up; read a; echo got $a; exit 7'\n")
        terminal.expect("up")
        terminal.type("\x1a")
        terminal.expect("Stopped")
        terminal.expect("$ ")
        stopped = terminal.ask("jobs -s >/dev/null")
        terminal.type("bg\n")  # reads from the terminal, and is stopped again
        terminal.expect("$ ")
        time.sleep(0.3)
        terminal.type("jobs\n")
        terminal.expect("Stopped")
        terminal.type("fg\n")
        time.sleep(0.3)
        terminal.type("text\n")
        terminal.expect("got text")
        terminal.expect("$ ")
        return stopped, terminal.ask("(exit $?)")
    assert at_terminals(talk) == ("0", "7")


@case
def a_command_that_stops_itself_is_a_stopped_job():
    def talk(terminal, prefix):
        terminal.type(f"{prefix}sh -c 'echo up; kill -TSTP $$; echo on; exit 3'\n")
        terminal.expect("Stopped")
        terminal.expect("$ ")
        terminal.type("fg\n")
        terminal.expect("on")
        terminal.expect("$ ")
        return terminal.ask("(exit $?)")
    assert at_terminals(talk) == "3"


@case
def job_control_signals_arrive_once():
    def talk(terminal, prefix):
        terminal.type(f"{prefix}sh -c 'trap \"echo caught\" USR1; echo up; "
                      "for i in 1 2 3 4 5 6; do sleep 0.3; done; echo over' &\n")
        terminal.expect("up")
        terminal.type("kill -USR1 %1\n")
        return terminal.expect("over").count("caught")
    assert at_terminals(talk) == 1


@case
def the_terminal_is_the_commands():
    def talk(terminal, prefix):
        terminal.type(f"{prefix}python3 -c 'import os; print(os.ttyname(0) == os.ttyname(2), "
                      f"os.tcgetpgrp(0) == os.getpgrp(), os.isatty(1), \"end\")'\n")
        return terminal.expect("end")[-20:]
    assert "True True True" in at_terminals(talk)


if __name__ == "__main__":
    sys.exit(run(case, root=True))
