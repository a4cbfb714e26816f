#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The installed service under systemd, in the VM: unit_guest.py FOLDER. See tests/vm/systemd.sh."""

import grp
import os
import shutil
import stat
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from recording import Client, REPO, summary, tap  # noqa: E402

UNIT = "acceltraced.service"
SOCKET = "/run/acceltrace/acceltraced.sock"
WORKLOAD = "/usr/bin/axl-transformer"
FOLDER = sys.argv[1]
NOBODY = 65534
tests = []
begun = {}


def test(function):
    tests.append(function)
    return function


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def call(*argv, **more):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False, **more)
    assert done.returncode == 0, (argv, done)
    return done.stdout + done.stderr


def unit(name):
    return call("systemctl", "show", "--value", "-p", name, UNIT).strip()


def begin(name, **command):
    """Starts a recording of the workload, which then runs to its end; returns its client."""
    gate_read, gate_write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(gate_write)
        os.read(gate_read, 1)
        os.dup2(os.open(os.path.join(FOLDER, name + ".out"), os.O_WRONLY | os.O_CREAT), 1)
        os.execv(WORKLOAD, [WORKLOAD])
    os.close(gate_read)
    client = Client(SOCKET)
    file = os.open(os.path.join(FOLDER, name), os.O_RDWR | os.O_CREAT)
    client.ask(file, cmd="start", pids=[child], **command)
    os.close(file)
    os.close(gate_write)
    equal(os.waitpid(child, 0)[1], 0)
    return client


def whole(name):
    """A trace has its footer, no loss, and each job that its workload tells of."""
    trace = summary(os.path.join(FOLDER, name))
    with open(os.path.join(FOLDER, name + ".out"), encoding="utf-8") as output:
        words = next(line for line in output if " jobs, " in line).split()
    equal((trace["rows"]["jobs"], trace["rows"]["commands"]), (int(words[0]), int(words[2])))
    equal((trace["footer"], trace["gaps"], trace["bad_packets"]), (True, 0, 0))
    for hop, books in trace["hops"].items():
        equal((hop, books["lost"], books["bad"]), (hop, 0, 0))
    assert all(trace["probes"].values()), trace["probes"]
    return trace


@test
def it_installs():
    call("scripts/lib/install", "", "/usr", "--no-module", cwd=REPO)
    call("systemd-sysusers")
    begun["group"] = grp.getgrnam("acceltrace").gr_gid
    # Without a word about what it does not know.
    equal(call("systemd-analyze", "verify", "--man=no", "/usr/lib/systemd/system/" + UNIT), "")


@test
def it_starts_and_says_when_it_is_ready():
    call("systemctl", "daemon-reload")
    call("systemctl", "start", UNIT)
    equal((unit("ActiveState"), unit("SubState")), ("active", "running"))
    about = os.stat(SOCKET)
    equal((stat.S_IMODE(about.st_mode), about.st_gid), (0o660, begun["group"]))


@test
def it_records():
    client = begin("one")
    done = client.ask(cmd="stop")["summary"]
    equal((done["error"], done["lost"], done["bad"]), ("", 0, 0))
    equal(whole("one")["stop_reason"], "client")


def member(*argv, **more):
    """Runs a command as an ordinary user of the daemon's group."""
    done = subprocess.run(argv, user=NOBODY, group=NOBODY, extra_groups=[begun["group"]], cwd="/",
                          capture_output=True, text=True, timeout=120, check=False, **more)
    return done.returncode, done.stdout, done.stderr


@test
def members_record_without_privilege_and_side_by_side():
    os.mkdir("/tmp/member")
    os.chown("/tmp/member", NOBODY, NOBODY)
    # Of one device at once: each is as it would be alone.
    # pylint: disable=consider-using-with
    first = subprocess.Popen(["acceltrace", "record", "-q", "-o", os.path.join(FOLDER, "root"),
                              "--", WORKLOAD], stdout=subprocess.PIPE, text=True)
    status, text, said = member("acceltrace", "record", "-o", "/tmp/member/own", "--", WORKLOAD)
    output, _ = first.communicate(timeout=120)
    equal((status, first.returncode), (0, 0))
    assert "0 lost" in said, said
    for name, told, at in (("own", text, "/tmp/member"), ("root", output, FOLDER)):
        with open(os.path.join(FOLDER, name + ".out"), "w", encoding="utf-8") as file:
            file.write(told)
        if at != FOLDER:
            shutil.copy(os.path.join(at, name), FOLDER)
        whole(name)


@test
def members_see_and_end_their_own_only():
    number = call("acceltrace", "start", "--pid", str(os.getpid()), "-o",
                  os.path.join(FOLDER, "roots")).strip()
    equal(member("acceltrace", "status"), (0, "no recording is running\n", ""))
    for verb in (("stop",), ("stop", number), ("snapshot", number, "-o", "/tmp/member/none")):
        status, _, said = member("acceltrace", *verb)
        equal((status, len(said.splitlines())), (1, 1))
    for words in (("--system",), ("--pid", "1")):
        status, _, said = member("acceltrace", "start", *words, "-o", "/tmp/member/none")
        equal((status, len(said.splitlines())), (1, 1))
    assert not os.path.exists("/tmp/member/none")
    assert f"recording {number}" in call("acceltrace", "stop")


@test
def others_than_the_group_are_kept_out():
    code = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    for groups, allowed in (([], False), ([begun["group"]], True)):
        done = subprocess.run([sys.executable, "-c", code, SOCKET], user=NOBODY, group=NOBODY,
                              extra_groups=groups, capture_output=True, check=False, cwd="/")
        equal((groups, done.returncode == 0), (groups, allowed))


@test
def it_stops_with_everything_flushed():
    client = begin("two", detach=True)
    call("systemctl", "stop", UNIT)
    ended = [unit(name) for name in ("ActiveState", "Result", "ExecMainStatus")]
    equal(ended, ["inactive", "success", "0"])
    whole("two")
    assert not os.path.exists(SOCKET)
    client.socket.close()


@test
def it_starts_again_and_ends_a_recording_whose_client_is_gone():
    call("systemctl", "start", UNIT)
    begin("three").socket.close()
    call("systemctl", "restart", UNIT)
    whole("three")
    equal(unit("NRestarts"), "0")
    call("systemctl", "stop", UNIT)


@test
def the_journal_has_no_complaint():
    said = call("journalctl", "-u", UNIT, "--no-pager", "-o", "cat")
    assert "Started acceltraced.service" in said, said
    assert "acceltraced:" not in said, said
    equal(call("journalctl", "-u", UNIT, "--no-pager", "-q", "-o", "cat", "-p", "warning"), "")


if __name__ == "__main__":
    sys.exit(tap.run(tests))
