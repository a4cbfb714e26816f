# SPDX-License-Identifier: Apache-2.0
"""Runs jobs, some at a time, each with a time limit, a log and a temporary folder of its own."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from harness import FAIL, LOGS, REPO, Case, results

LOG_READ_BYTES = 16 << 20
GRACE_S = 10


def environment(folder):
    env = dict(os.environ)
    env.update({"REPO": REPO, "BUILD": os.path.join(REPO, "build"), "TMPDIR": folder,
                "LC_ALL": "C.UTF-8"})
    env.pop("MAKEFLAGS", None)
    env.pop("MAKELEVEL", None)
    return env


def end(process):
    """Ends a whole process group: asks first, so that guests can be taken down."""
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
    folder = tempfile.mkdtemp(prefix="acceltrace-test-")
    argv, xml = list(job.argv), os.path.join(folder, "catch.xml")
    if job.reader == "catch":
        argv += ["--reporter", "xml", "--out", xml]
    try:
        with open(job.log, "wb") as log:
            try:
                process = subprocess.Popen(argv, cwd=REPO, env=environment(folder), stdout=log,
                                           stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                           start_new_session=True)
            except OSError as error:
                return [Case("", FAIL, f"cannot be started: {error}")]
            running[job.name] = process
            try:
                status = process.wait(job.timeout_s)
            except subprocess.TimeoutExpired:
                end(process)
                return [Case("", FAIL, f"not done after {job.timeout_s:g} s")]
            finally:
                # What a test leaves running would disturb the next.
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
        # Those that may take long first, so that no CPU waits for a long one at the end.
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
