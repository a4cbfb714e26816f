# SPDX-License-Identifier: Apache-2.0
"""Finds the tests: what the build declares, and scripts by their place and name."""

import glob
import os
import re

from harness import REPO, Job

KINDS = ["lint", "unit", "program", "script", "fuzz", "vm"]

# Default time limits in seconds by kind; a test's head may say `# timeout: N`.
TIMEOUTS_S = {"lint": 300, "unit": 300, "program": 300, "script": 300, "vm": 600}


def manifest():
    """The tests that make builds: {"unit": [...], "program": [...], "fuzz": [...]}."""
    built = {"unit": [], "program": [], "fuzz": []}
    path = os.path.join(REPO, "build", "test", "manifest")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            kind, _, program = line.strip().partition(" ")
            built[kind].append(program)
    return built


def script_job(kind, name, path):
    """A script states in its head how long it may take and whether it must run alone."""
    with open(path, encoding="utf-8", errors="replace") as script:
        head = "".join(script.readline() for _ in range(20))
    limit = re.search(r"^# timeout: (\d+)$", head, re.M)
    return Job(f"{kind}/{name}", kind, [path], float(limit.group(1)) if limit else TIMEOUTS_S[kind],
               serial=bool(re.search(r"^# serial$", head, re.M)))


def scripts():
    """Executable *_test.sh and *_test.py anywhere but in tests/vm."""
    found = []
    for suffix in ("sh", "py"):
        found += glob.glob(f"{REPO}/*/**/*_test.{suffix}", recursive=True)
    skip = (f"{REPO}/build/", f"{REPO}/tests/vm/")
    return sorted(path for path in found if not path.startswith(skip) and os.access(path, os.X_OK))


def corpus(name):
    """The folders of a fuzzer's seeds: corpus/NAME or corpus next to its source."""
    name = name.replace("-", "_")
    for source in glob.glob(f"{REPO}/*/**/{name}_fuzz.c*", recursive=True):
        beside = os.path.join(os.path.dirname(source), "corpus")
        for folder in (os.path.join(beside, name), beside):
            if os.path.isdir(folder):
                return [folder]
    return []


def fuzz_job(program, seconds):
    name = os.path.basename(program)
    found = os.path.join(REPO, "build", "fuzz", "found", name)
    os.makedirs(found, exist_ok=True)
    # New inputs go to build/; the seeds are only read.
    argv = [program, f"-max_total_time={seconds}", "-seed=1", "-rss_limit_mb=2048", "-timeout=60",
            "-print_final_stats=1", f"-artifact_prefix={found}-crash-", found, *corpus(name)]
    return Job(f"fuzz/{name}", "fuzz", argv, seconds + 300)


def find(kinds, fuzz_seconds):
    """Returns the jobs of these kinds, and problems: kinds that should have tests and have none."""
    jobs, problems = [], []
    built = manifest()
    if built is None and {"unit", "program", "fuzz"} & set(kinds):
        problems.append("nothing has been built for tests: run `make tests`")
        built = {"unit": [], "program": [], "fuzz": []}
    if "lint" in kinds:
        jobs.append(Job("lint/all", "lint", [f"{REPO}/scripts/lint", "--tap"], TIMEOUTS_S["lint"]))
    if "unit" in kinds:
        for program in built["unit"]:
            name = os.path.basename(program).removeprefix("unit-")
            jobs.append(Job(f"unit/{name}", "unit", [os.path.join(REPO, program)],
                            TIMEOUTS_S["unit"], reader="catch"))
    if "program" in kinds:
        # Other programs are for the guest: a VM scenario runs them.
        for program in built["program"]:
            name = os.path.basename(program)
            if name.startswith(("host-", "tap-")):
                jobs.append(Job(f"program/{name}", "program", [os.path.join(REPO, program)],
                                TIMEOUTS_S["program"]))
    if "script" in kinds:
        for path in scripts():
            name = os.path.relpath(path, REPO).rsplit("_test.", 1)[0]
            jobs.append(script_job("script", name, path))
    if "fuzz" in kinds:
        jobs += [fuzz_job(os.path.join(REPO, program), fuzz_seconds) for program in built["fuzz"]]
    if "vm" in kinds:
        for path in sorted(glob.glob(f"{REPO}/tests/vm/*.sh")):
            if os.access(path, os.X_OK):
                jobs.append(script_job("vm", os.path.basename(path).removesuffix(".sh"), path))
    for kind in kinds:
        if kind in ("lint", "unit", "vm") and not any(job.kind == kind for job in jobs):
            problems.append(f"no test of kind {kind} was found")
    return jobs, problems
