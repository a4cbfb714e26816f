# SPDX-License-Identifier: Apache-2.0
"""The input of every check of scripts/lint: the committed files.

A check is a function of the Tree whose first docstring line states the rule; it yields findings
"path:line: what is wrong and what to do", or raises Skip with the reason.
"""

import functools
import os
import subprocess

REPO = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


FIXTURES = (".atrace", ".json", ".jsonl", ".out")


class Skip(Exception):
    """The check cannot run here."""


class Tree:
    """The files of the repository, by their path from its top."""

    def __init__(self):
        git = ["git", "-c", f"safe.directory={REPO}", "-C", REPO, "ls-files", "-z"]
        listed = subprocess.run(git, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if listed.returncode == 0 and listed.stdout:  # nothing: inside of another repository
            paths = os.fsdecode(listed.stdout).split("\0")
        else:  # No git, or an export without its history.
            paths = self._walk()
        self.paths = sorted(p for p in paths if p and os.path.isfile(os.path.join(REPO, p)))

    @staticmethod
    def _walk():
        for folder, folders, names in os.walk(REPO):
            folders[:] = [f for f in folders if f not in (".git", "build")]
            for name in names:
                yield os.path.relpath(os.path.join(folder, name), REPO)

    @functools.lru_cache(maxsize=None)
    def data(self, path):
        with open(os.path.join(REPO, path), "rb") as file:
            return file.read()

    def is_text(self, path):
        return b"\0" not in self.data(path)[:8192] and not is_fixture(path)

    def lines(self, path):
        return self.data(path).decode("utf-8", "replace").splitlines()

    def having(self, *suffixes, under=""):
        """Paths with one of these endings below a folder, without fixtures."""
        return [p for p in self.paths
                if p.startswith(under) and p.endswith(suffixes) and not is_fixture(p)]

    def is_executable(self, path):
        return os.access(os.path.join(REPO, path), os.X_OK)


def is_fixture(path):
    """Stored inputs and expected outputs: data, which is not checked as text."""
    parts = path.split("/")[:-1]
    golden = path.startswith("tests/golden/") and path.endswith(".txt")
    return golden or "corpus" in parts or "data" in parts or path.endswith(FIXTURES)


def is_test(path):
    stem = os.path.basename(path).split(".")[0]
    folders = path.split("/")[:-1]
    return "tests" in folders or "testing" in folders or stem.endswith(("_test", "_fuzz", "_bench"))


def is_kernel_code(path):
    """C that runs in the kernel, including kmod/uapi."""
    return path.startswith(("kmod/", "daemon/bpf/")) and path.endswith((".c", ".h"))


def is_kernel_style(path):
    """C in the kernel's style: kernel code, and its tests, which read like selftests."""
    return is_kernel_code(path) or path.startswith("tests/driver/") and path.endswith((".c", ".h"))


def is_cxx(path):
    return path.endswith((".cc", ".h")) and path.startswith(("libtrace/", "daemon/", "tests/")) \
        and not is_kernel_style(path)
