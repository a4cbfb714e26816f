# SPDX-License-Identifier: Apache-2.0
"""Runs commands plain and recorded, for tests that they behave alike."""

import os
import signal
import subprocess
import sys
import tempfile
import time

REPO = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(REPO, "daemon", "testing"))
from private_test import run  # noqa: E402
from recording import summary, tap  # noqa: E402

__all__ = ["run", "summary", "tap"]
ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
FOLDER = tempfile.TemporaryDirectory()
LIMIT_S = 60


def path(name):
    return os.path.join(FOLDER.name, name)


RECORD = [ACCELTRACE, "record", "-q", "--private", "--no-device", "-o", path("trace")]
RECORDED = [*RECORD, "--"]
SIGNALS = ["sed", "-n", "/^Sig[^Q]/p", "/proc/self/status"]


def shell(text, *words):
    return ["sh", "-c", text, "sh", *words]


def python(text, *words):
    return [sys.executable, "-c", text, *words]


def outcome(command, **how):
    done = subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=False, **how)
    return done.returncode, done.stdout, done.stderr


def alike(command, **how):
    """The outcome, which is the same with and without the recorder."""
    how.setdefault("stdin", subprocess.DEVNULL)
    plain, recorded = outcome(command, **how), outcome([*RECORDED, *command], **how)
    assert plain == recorded, f"plain {plain}, recorded {recorded}"
    return plain


def alike_in_shell(text, **how):
    """The same of a text for bash in which R stands before each command."""
    how.setdefault("stdin", subprocess.DEVNULL)
    outcomes = []
    for prefix in ([], RECORDED):
        words = ["bash", "-c", 'R=("$@"); ' + text.replace("R ", '"${R[@]}" '), "bash", *prefix]
        outcomes.append(outcome(words, **how))
    assert outcomes[0] == outcomes[1], f"plain {outcomes[0]}, recorded {outcomes[1]}"
    return outcomes[0]


def until(what):
    for _ in range(LIMIT_S * 50):
        if what():
            return
        time.sleep(0.02)
    raise AssertionError("it never came to pass")


def before(function):
    """For Popen: what the process does before it executes the command."""
    return {"preexec_fn": function, "restore_signals": False}


def ignoring(number):
    """... that the signal is ignored."""
    return before(lambda: signal.signal(number, signal.SIG_IGN))
