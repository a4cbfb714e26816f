# SPDX-License-Identifier: Apache-2.0
"""Checks by other programs: clang-format, shellcheck, pyflakes, checkpatch, sparse."""

import glob
import os
import re
import shutil
import subprocess
import tempfile

from lint import REPO, Skip, is_cxx, is_fixture, is_kernel_code

# The layout is defined by this version; others differ in details.
CLANG_FORMAT = 14


# Messages that are wrong for a single file ("": any file), by a part of its path.
CHECKPATCH_IGNORED = {
    "": ["FILE_PATH_CHANGES", "SPDX_LICENSE_TAG", "LINUX_VERSION_CODE", "NEW_TYPEDEFS"],
    "uapi/": ["BIT_MACRO", "COMPLEX_MACRO", "MACRO_ARG_REUSE", "CAMELCASE",  # no kernel headers
              "PREFER_DEFINED_ATTRIBUTE_MACRO"],
    "trace": ["OPEN_ENDED_LINE", "PARENTHESIS_ALIGNMENT", "COMPLEX_MACRO",  # TRACE_EVENT's layout
              "MULTISTATEMENT_MACRO_USE_DO_WHILE"],
    "bpf/": ["GLOBAL_INITIALISERS", "VOLATILE", "CONST_STRUCT"],  # constants set at load
}


def output(argv, folder=REPO):
    """Standard output and error of a program, whatever its exit status."""
    run = subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         stdin=subprocess.DEVNULL, check=False)
    return run.stdout.decode("utf-8", "replace")


def clang_format(tree):
    """C++ is laid out as .clang-format says"""
    program = shutil.which(f"clang-format-{CLANG_FORMAT}") or shutil.which("clang-format")
    if not program:
        raise Skip("no clang-format: apt-get install clang-format")
    version = re.search(r"version (\d+)", output([program, "--version"]))
    if not version or int(version.group(1)) != CLANG_FORMAT:
        raise Skip(f"clang-format {CLANG_FORMAT} defines the layout, here is {version.group(1)}")
    paths = [path for path in tree.paths if is_cxx(path) and not is_fixture(path)]
    for start in range(0, len(paths), 50):
        shown = output([program, "--dry-run", "--ferror-limit=3", *paths[start:start + 50]])
        for line in shown.splitlines():
            if "clang-format-violations" in line:
                advice = f": layout: {os.path.basename(program)} -i it"
                yield re.sub(r": (warning|error):.*", advice, line)


def shell(tree):
    """shellcheck finds nothing in shell scripts"""
    if not shutil.which("shellcheck"):
        raise Skip("no shellcheck: apt-get install shellcheck")
    paths = [path for path in tree.paths
             if re.match(rb"#!.*\b(sh|bash|dash)\n", tree.data(path)[:80]) and not is_fixture(path)]
    yield from output(["shellcheck", "-f", "gcc", "-e", "SC1091,SC2016", *paths]).splitlines()


def python(tree):
    """Python parses, and pyflakes finds nothing where it is installed"""
    paths = [path for path in tree.paths if path.endswith(".py") or
             re.match(rb"#!.*\bpython3\n", tree.data(path)[:80])]
    for path in paths:
        try:
            compile(tree.data(path), path, "exec", dont_inherit=True)
        except SyntaxError as error:
            yield f"{path}:{error.lineno}: {error.msg}"
    if shutil.which("pyflakes3"):
        yield from output(["pyflakes3", *paths]).splitlines()


def checkpatch(tree):
    """the kernel's own checkpatch --strict finds nothing in kernel C"""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    places = [os.environ.get("CHECKPATCH", ""),
              *glob.glob(f"{cache}/acceltrace/debug-linux-*/source/scripts/checkpatch.pl"),
              *glob.glob("/usr/src/linux-*/scripts/checkpatch.pl"),
              *glob.glob("/usr/lib/linux-kbuild-*/scripts/checkpatch.pl")]
    script = next((place for place in places if place and os.path.exists(place)), None)
    if not script:
        raise Skip("no checkpatch.pl: set CHECKPATCH to that of a kernel source")
    for path in filter(is_kernel_code, tree.paths):
        # It leaves a cache file in its working directory.
        with tempfile.TemporaryDirectory() as folder:
            shown = output(["perl", script, *checkpatch_options(path), "-f",
                            os.path.join(REPO, path)], folder)
        # Outside of a kernel tree it also prints warnings about that.
        yield from (line.removeprefix(REPO + "/") for line in shown.splitlines()
                    if line.startswith(REPO))


def checkpatch_options(path):
    ignored = [kind for part, kinds in CHECKPATCH_IGNORED.items() if part in path for kind in kinds]
    return ["--no-tree", "--strict", "--terse", "--no-summary", "--quiet", "--max-line-length=100",
            f"--ignore={','.join(ignored)}"]


def sparse(tree):
    """sparse finds nothing in the module"""
    if not shutil.which("sparse"):
        raise Skip("no sparse: apt-get install sparse")
    rules = "kmod/build.mk"
    if rules not in tree.paths or "kmod-sparse:" not in "\n".join(tree.lines(rules)):
        raise Skip("kmod/build.mk has no target kmod-sparse")
    run = subprocess.run(["make", "-s", "kmod-sparse"], cwd=REPO, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    yield from (line for line in run.stdout.splitlines() if re.search(r"(warning|error):", line))
    if run.returncode:
        yield f"kmod: make kmod-sparse failed: {run.stdout.strip().splitlines()[-1:]}"


CHECKS = [clang_format, shell, python, checkpatch, sparse]
