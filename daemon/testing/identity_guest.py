#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The owner of calls, jobs and commands, in the VM: identity_guest.py FOLDER.

Each recording must contain exactly the work of its own programs, and `verify` must have no
findings. Called by tests/vm/identity.sh.
"""

import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from recording import REPO, tap, until  # noqa: E402

ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
APP = os.path.join(REPO, "build", "test", "axl-identity-app")
FOLDER = sys.argv[1]
IN_NAMESPACE = ["unshare", "-pf", "--mount-proc"]
test = tap.Cases()


def equal(got, want):
    assert got == want, f"got {got}, not {want}"


def query(trace, sql):
    done = subprocess.run([ACCELTRACE, "query", trace, "--json", sql], capture_output=True,
                          text=True, timeout=120, check=False)
    equal((done.returncode, done.stderr), (0, ""))
    return json.loads(done.stdout)["rows"]


class Case:
    """A recording, and the work that its programs noted."""

    def __init__(self, name):
        self.trace = os.path.join(FOLDER, f"{name}.atrace")
        self.noted = os.path.join(FOLDER, f"{name}.noted")
        self.environment = dict(os.environ, AXL_IDENTITY=self.noted)

    def command(self, *options):
        return [ACCELTRACE, "record", "-q", "-o", self.trace, *options]

    def record(self, *command, inside=(), options=()):
        done = subprocess.run([*inside, *self.command(*options), "--", *command],
                              env=self.environment, capture_output=True, text=True, timeout=300,
                              check=False)
        equal((done.returncode, done.stderr), (0, ""))
        return self

    def attach(self, meanwhile=lambda app: None, how="wait"):
        """Records a program that has the device open already; `meanwhile` runs before it
        continues.
        """
        go = self.trace + ".go"
        with subprocess.Popen([APP, how, go], stdout=subprocess.PIPE, text=True,
                              env=self.environment) as app:
            equal(app.stdout.readline(), "open\n")
            os.unlink(self.noted)  # what it did before
            with subprocess.Popen(self.command("--pid", str(app.pid)),
                                  stderr=subprocess.PIPE, text=True) as recorder:
                until(lambda: os.path.exists(self.trace) and os.path.getsize(self.trace) > 0)
                try:
                    meanwhile(app)
                finally:  # they would wait for each other, and this for both
                    with open(go, "w", encoding="ascii"):
                        pass
                equal(app.wait(timeout=120), 0)
                equal((recorder.wait(timeout=120), recorder.stderr.read()), (0, ""))
        return self

    def check(self):
        """The recording contains exactly their work, without findings."""
        with open(self.noted, encoding="utf-8") as file:
            rows = [line.rstrip("\n").split(" ", 2) for line in file]
        calls, commands = sum(int(row[0]) for row in rows), sum(int(row[1]) for row in rows)
        ops = sorted({row[2] for row in rows if row[1] != "0"})
        got = {table: query(self.trace, f"SELECT count(*) FROM {table}")[0][0]
               for table in ("api", "jobs", "commands")}
        equal(got, {"api": calls, "jobs": commands, "commands": commands})
        equal([row[0] for row in query(self.trace, "SELECT DISTINCT op FROM commands ORDER BY 1")],
              ops)
        # Each job belongs to a call of its own process.
        equal(query(self.trace, "SELECT count(*) FROM jobs JOIN api USING (correlation) "
                                "WHERE jobs.pid = api.pid")[0][0], commands)
        done = subprocess.run([ACCELTRACE, "verify", self.trace], capture_output=True, text=True,
                              timeout=120, check=False)
        equal((done.returncode, done.stderr), (0, ""))


@test
def a_program_in_a_pid_namespace():
    Case("namespace").record(*IN_NAMESPACE, APP, "work").check()


@test
def two_programs_with_one_number_each_in_a_namespace_of_its_own():
    program = " ".join([*IN_NAMESPACE, APP, "work"])
    Case("two").record("sh", "-c", f"{program} & {program}; wait").check()


@test
def programs_in_namespaces_in_one_another():
    Case("nested").record(*IN_NAMESPACE, *IN_NAMESPACE, APP, "exec", APP, "work").check()


@test
def a_container_of_an_image_with_its_own_copy_of_the_library():
    folders = {name: os.path.join(FOLDER, "image", name)
               for name in ("lower", "upper", "work", "merged")}
    for folder in folders.values():
        os.makedirs(folder)
    for file in (APP, os.path.join(REPO, "build", "lib", "libaxl.so.0")):
        shutil.copy(file, folders["lower"])
    subprocess.run(["modprobe", "overlay"], check=False)
    options = ",".join(f"{name}dir={folders[name]}" for name in ("lower", "upper", "work"))
    inside = f"mount -t overlay -o {options} overlay {folders['merged']} && cd / && " \
             f"LD_LIBRARY_PATH={folders['merged']} exec {folders['merged']}/axl-identity-app fork"
    # Only the user and root of the container are the machine's. The library is recognised by its
    # layer, which the recorder sees; otherwise calls are recorded from the first job on.
    Case("overlay").record("unshare", "-pfmCiu", "--mount-proc", "sh", "-c", inside, options=(
        "--libaxl", os.path.join(folders["lower"], "libaxl.so.0"))).check()


@test
def all_kinds_of_programs_at_once_in_all_kinds_of_containers():
    kinds = ("work", f"exec {APP} work", f"threadexec {APP} work", "leader", "copies", "fork",
             "fork first", "_Fork", "_Fork first", "clone", "clone first",
             f"exec {APP} threadexec {APP} fork")
    # A user who is not root of the machine is limited to the user's share of contexts.
    script = "set -e; all=; "
    for number, kind in enumerate(kinds, 1):
        script += f'{APP} {kind} & all="$all $!"; '
        if number % 3 == 0:
            script += "for one in $all; do wait $one; done; all=; "
    for number, inside in enumerate(([], ["unshare", "-Ur"], ["unshare", "-Urpf", "--mount-proc"],
                                     ["unshare", "-pfmCiunT", "--mount-proc"],
                                     [*IN_NAMESPACE, "unshare", "-Urpf", "--mount-proc"])):
        Case(f"kinds{number}").record(*inside, "sh", "-c", script).check()


@test
def a_program_that_becomes_another():
    Case("exec").record(APP, "exec", APP, "exec", APP, "work").check()


@test
def a_program_that_becomes_another_by_a_thread_beside_others():
    Case("threadexec").record(APP, "threadexec", APP, "work").check()


@test
def a_process_whose_first_thread_has_ended():
    Case("leader").record(APP, "leader").check()


@test
def children_however_they_are_made():
    for how in ("fork", "_Fork", "clone"):
        Case(how).record(APP, how).check()
        Case(f"{how}.first").record(APP, how, "first").check()


@test
def numbers_of_processes_that_come_again():
    # The kernel allocates the pid after the one that it believes was the last.
    turn = f"echo 20000 >/proc/sys/kernel/ns_last_pid; {APP} work & wait $! && test $! = 20001"
    Case("again").record("sh", "-ec", "for i in 1 2 3 4 5 6; do " + turn + "; done").check()


@test
def two_copies_of_the_library_in_one_process():
    Case("copies").record(APP, "copies").check()
    Case("copies.attached").attach(how="copies").check()


@test
def what_runs_already_is_recorded_from_then_on():
    Case("attached").attach().check()


@test
def ids_that_name_a_recorded_process_are_nobodys_but_their_own():
    # Copies that an ordinary user can run, unlike programs below /root.
    library = shutil.copy(os.path.join(REPO, "build", "lib", "libaxl.so.0"), FOLDER)
    program = shutil.copy(APP, FOLDER)

    def spoof(app):
        # Its process and threads, numbers of events without a driver's client, and clients, which
        # can be guessed.
        named = [app.pid, app.pid + 1, os.getpid(), 0, 1 << 31, 1 << 31 | app.pid, 2**32 - 1,
                 2**31 - 1, *range(1, 17)]
        subprocess.run([program, "spoof", "5", *map(str, named)], timeout=120, check=True,
                       user=65534, group=65534, cwd="/",
                       env={"LD_LIBRARY_PATH": os.path.dirname(library)})
    Case("spoofed").attach(spoof).check()


@test
def a_foreign_program_whose_inner_number_is_that_of_a_recorded_one():
    def same_number(app):
        script = f"echo {app.pid - 1} >/proc/sys/kernel/ns_last_pid; {APP} work & wait; " \
                 f"test $! = {app.pid}"
        subprocess.run([*IN_NAMESPACE, "sh", "-c", script], timeout=120, check=True)
    Case("inner").attach(same_number).check()


@test
def a_recorder_in_a_pid_namespace():
    Case("inside").record(APP, "fork", inside=IN_NAMESPACE).check()
    Case("deeper").record(*IN_NAMESPACE, APP, "work", inside=IN_NAMESPACE).check()
    # Next to a process outside of the container, which it cannot see.
    with subprocess.Popen(["sh", "-c", f"while {APP} work; do :; done"]) as outside:
        try:
            Case("beside").record(APP, "threadexec", APP, "work", inside=IN_NAMESPACE).check()
        finally:
            outside.kill()


@test
def a_recorder_in_a_pid_namespace_without_the_drivers_ring():
    case = Case("points")
    case.record(APP, "work", inside=IN_NAMESPACE,
                options=("--probes", "api,tracepoints,device,clock")).check()


@test
def all_programs_at_once_are_told_apart():
    case = Case("system")
    with subprocess.Popen(case.command("--system"), stderr=subprocess.PIPE, text=True) as recorder:
        until(lambda: os.path.exists(case.trace) and os.path.getsize(case.trace) > 0)
        for argv in ((APP, "work"), (*IN_NAMESPACE, APP, "work"), (APP, "exec", APP, "work"),
                     (APP, "_Fork")):
            subprocess.run(argv, env=case.environment, timeout=120, check=True)
        time.sleep(0.5)
        recorder.terminate()
        equal(recorder.wait(timeout=120), 0)
    case.check()


if __name__ == "__main__":
    sys.exit(tap.run(test))
