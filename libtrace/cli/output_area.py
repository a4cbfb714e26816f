# SPDX-License-Identifier: Apache-2.0
"""A folder with a trace, for the tests of outputs: what was there and what is there now."""

import hashlib
import os
import stat
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
REPO = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402

ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
GOLDEN = os.path.join(REPO, "tests", "golden", "demo.atrace")
# Each verb writes one file: words before and after the trace; the output's name is the last word.
VERBS = {
    "perfetto": (["export"], ["--format", "perfetto", "-o"]),
    "chrome": (["export"], ["--format", "chrome", "-o"]),
    "sqlite": (["export"], ["--format", "sqlite", "-o"]),
    "html": (["html"], ["-o"]),
    "junit": (["check"], ["losses >= 0", "--junit"]),
    "pack": (["pack"], ["-o"]),
}


class Area(tempfile.TemporaryDirectory):
    """A folder with a trace in it, and what is there."""

    def __enter__(self):
        super().__enter__()
        with open(GOLDEN, "rb") as golden:
            self.write("t.atrace", golden.read())
        return self

    def at(self, name):
        return os.path.join(self.name, name)

    def write(self, name, data):
        with open(self.at(name), "wb") as file:
            file.write(data)
        return self.at(name)

    def read(self, name):
        with open(self.at(name), "rb") as file:
            return file.read()

    def everything(self):
        """Of each name: what it is, of files also which one, the mode and the contents."""
        found = {}
        for folder, folders, files in os.walk(self.name):
            for name in folders + files:
                path = os.path.join(folder, name)
                about = os.lstat(path)
                what = b""
                if stat.S_ISLNK(about.st_mode):
                    what = os.readlink(path).encode()
                elif stat.S_ISREG(about.st_mode):
                    with open(path, "rb") as file:
                        what = hashlib.sha256(file.read()).digest()
                found[os.path.relpath(path, self.name)] = (about.st_mode, about.st_ino, what)
        return found

    def run(self, *words, **more):
        return subprocess.run([ACCELTRACE, *words], timeout=120, check=False, cwd=self.name,
                              **{"capture_output": True, **more})

    def write_by(self, verb, output, trace="t.atrace", **more):
        """The verb's output into a file of that name."""
        before, after = VERBS[verb]
        # This form lets a word that begins with a dash belong to its option.
        last = [joined(after[-1], output)] if output else [after[-1], ""]
        return self.run(*before, trace, *after[:-1], *last, **more)

    def refused(self, done, *texts, status=1):
        one_line(done, *texts)
        assert done.returncode == status, done

    def unchanged(self, ways, *texts, status=1):
        """Each way is refused in one line with these texts, and everything stays as it is."""
        before = self.everything()
        for way in ways:
            self.refused(way(), *texts, status=status)
            assert self.everything() == before, (way, texts)


def joined(option, value):
    return ("--output" if option == "-o" else option) + "=" + value


def one_line(done, *texts):
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1 and lines[0].startswith("acceltrace"), done
    assert all(text in lines[0] for text in texts), (texts, lines)
    assert lines[0].isprintable(), lines


def needs_root():
    if os.geteuid() != 0:
        raise tap.Skip("needs root")


def mounted(area, options, *script, **more):
    """Runs a script where `m` is a file system in memory, which nobody else sees."""
    needs_root()
    os.makedirs(area.at("m"), exist_ok=True)
    mount = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs {options} tmpfs m && "$@"', "sh"]
    if subprocess.run([*mount, "true"], cwd=area.name, capture_output=True,
                      check=False).returncode != 0:
        raise tap.Skip("nothing can be mounted here")
    return subprocess.run([*mount, *script], cwd=area.name, capture_output=True, timeout=120,
                          check=False, **more)
