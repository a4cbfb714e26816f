# SPDX-License-Identifier: Apache-2.0
"""Runs jobs, some at a time, each with a time limit, a log and a temporary folder of its own."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from harness import FAIL, LOGS, REPO, Case, results

LOG_READ_BYTES = 16 << 20
GRACE_S = 10
BUSY_MOST = 3  # times its limit that a test may take longer on a busy machine


def waited_s():
    """The total time since boot in which some task was runnable but had no CPU."""
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/pressure/cpu", encoding="ascii") as file:
            return int(file.readline().rpartition("total=")[2]) / 1e6
    return 0.0


class Limit:
    """A time limit that is extended by the time in which tasks wait for a CPU, up to BUSY_MOST."""

    def __init__(self, seconds, now=time.monotonic, waited=waited_s):
        self.seconds, self.now, self.waited = seconds, now, waited
        self.begin, self.before = now(), waited()

    def left_s(self):
        more = min(self.waited() - self.before, BUSY_MOST * self.seconds)
        return self.begin + self.seconds + more - self.now()

    def wait(self, process):
        """Returns the exit status; raises subprocess.TimeoutExpired when the time is over."""
        while True:
            try:
                return process.wait(max(self.left_s(), 0))
            except subprocess.TimeoutExpired:
                if self.left_s() <= 0:
                    raise


# A test only gets these variables of its caller's environment: a user's settings change what other
# programs print, where they search and what they find.
PATH = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")  # what scripts/install-deps brings comes first
KEPT = re.compile(r"ACCELTRACE_\w+|AXL_\w+|\w+_(KILLS|CALLS)|KILLS|EXACT_INTERRUPTS|KEEP|LIMIT|"
                  r"CHECKPATCH|USER|LOGNAME")
LONGEST = 40  # the names of sockets in a temporary folder have to fit into 108 bytes


def environment(folder):
    own = {name: value for name, value in os.environ.items() if KEPT.fullmatch(name)}
    others = os.environ.get("PATH", "").split(":")
    return {**own, "PATH": ":".join(dict.fromkeys([*PATH, *filter(None, others)])),
            "REPO": REPO, "BUILD": os.path.join(REPO, "build"), "TMPDIR": f"{folder}/tmp",
            "HOME": f"{folder}/home", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "dumb",
            # A new file in a folder of sources would make the build plan itself again.
            "PYTHONDONTWRITEBYTECODE": "1"}


def make_folder():
    """A test's own empty temporary folder and home, on a file system where programs can run."""
    fit = (place for place in (tempfile.gettempdir(), "/tmp", "/var/tmp")
           if len(place) <= LONGEST and os.path.isdir(place)
           and not os.statvfs(place).f_flag & os.ST_NOEXEC)
    folder = tempfile.mkdtemp(prefix="acceltrace-test-", dir=next(fit, None))
    for name in ("tmp", "home"):
        os.mkdir(os.path.join(folder, name))
    return folder


def end(process):
    """Ends a whole process group, first by SIGTERM, so that guests can be taken down."""
    for signum, seconds in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signum)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            return


def read(path):
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read(LOG_READ_BYTES)
    return b""


def run_job(job, running):
    """Runs one job to its end; returns its cases."""
    os.makedirs(os.path.dirname(job.log), exist_ok=True)
    folder = make_folder()
    argv, xml = list(job.argv), os.path.join(folder, "catch.xml")
    if job.reader == "catch":
        argv += ["--reporter", "xml", "--out", xml]
    try:
        with open(job.log, "wb") as log:
            try:
                process = subprocess.Popen(argv, cwd=REPO, env=environment(folder), stdout=log,
                                           stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                           start_new_session=True, umask=0o022)
            except OSError as error:
                return [Case("", FAIL, f"cannot be started: {error}")]
            running[job.name] = process
            try:
                status = Limit(job.timeout_s).wait(process)
            except subprocess.TimeoutExpired:
                end(process)
                return [Case("", FAIL, f"not done after {job.timeout_s:g} s")]
            finally:
                # A process that the test leaves running would disturb the next one.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                running.pop(job.name, None)
        if job.reader == "catch":
            return results.catch(status, read(xml))
        return results.text_cases(status, read(job.log).decode("utf-8", "replace"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_all(jobs, workers, tally):
    """Runs the jobs, `workers` at a time and the serial ones alone at the end."""
    os.makedirs(LOGS, exist_ok=True)
    running, lock = {}, threading.Lock()
    tally.expect(len(jobs), running)

    def worker(queue):
        while True:
            with lock:
                if not queue:
                    return
                job = queue.pop(0)
            began = time.monotonic()
            cases = run_job(job, running)
            with lock:
                tally.add(job, cases, time.monotonic() - began)

    try:
        # Long tests first, so that no CPU waits for a long one at the end.
        jobs = sorted(jobs, key=lambda job: -job.timeout_s)
        for queue, count in (([job for job in jobs if not job.serial], workers),
                             ([job for job in jobs if job.serial], 1)):
            threads = [threading.Thread(target=worker, args=(queue,), daemon=True)
                       for _ in range(count)]
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.5)
                    with lock:
                        tally.tick()
    except KeyboardInterrupt:
        for process in list(running.values()):
            end(process)
        tally.interrupted()
