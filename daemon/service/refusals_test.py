#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""A member of the daemon's group tries to access more than his own processes and recordings: each
attempt is refused with a reason and changes nothing. Uses the running kernel, without a device."""

import array
import json
import mmap
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# pylint: disable=wrong-import-position
from running_test import (APP, EMPTY, NOBODY, Service, as_nobody, asked, equal,  # noqa: E402
                          output, run, summary, until)
from recording import tap  # noqa: E402

OTHER = 65533
CONFIG = ("[users]\nrecordings = 4\nring = 4M\nrequests-per-second = 1000\n"
          "starts-per-minute = 10000\nconnections = 32\n")
NONE = "no recording"
test = tap.Cases()


class Host:
    """A service with a recording of root, and processes that do not only belong to one user."""

    def __init__(self):
        self.service = Service(CONFIG)
        self.children = []

    def __enter__(self):
        self.service.__enter__()
        self.root = self.service.client()
        self.pids = {"roots": self.sleeper(user=0, group=0),
                     "others": self.sleeper(user=OTHER, group=OTHER),
                     "own": self.sleeper()}
        # pylint: disable=consider-using-with
        kept = subprocess.Popen([sys.executable, "-c", """import os, time
os.setgroups([]), os.setgid(65534), os.setuid(65534), print(flush=True), time.sleep(600)"""],
                                stdout=subprocess.PIPE, cwd="/")
        kept.stdout.readline()
        self.children.append(kept)
        self.pids["kept"] = kept.pid
        for kind in ("setuid", "setgid", "capable"):
            self.pids[kind] = self.sleeper(self.program(kind, "/bin/sleep"))
        self.session = self.root.ask(output(self.service, "roots"), **EMPTY, ring="1M",
                                     pids=[self.pids["roots"]])["session"]
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.kill()
            child.wait()
        self.service.__exit__()

    def sleeper(self, program="/bin/sleep", user=NOBODY, group=NOBODY):
        # pylint: disable=consider-using-with
        child = subprocess.Popen([program, "600"], user=user, group=group, extra_groups=[], cwd="/")
        self.children.append(child)
        return child.pid

    def program(self, kind, of):
        """Makes a copy of a program that gives additional privileges to the user who runs it."""
        path = self.service.path(f"{os.path.basename(of)}-{kind}")
        shutil.copy(of, path)
        os.chmod(path, {"setuid": 0o4755, "setgid": 0o2755}.get(kind, 0o755))
        if kind == "capable":
            subprocess.run(["setcap", "cap_net_raw+ep", path], check=True)
        if os.statvfs(path).f_flag & (os.ST_NOSUID | os.ST_NOEXEC):
            raise tap.Skip("programs in /tmp get no rights")
        return path


def start(host, file=None, name="n", **command):
    return asked(host.service.client(), output(host.service, name) if file is None else file,
                 **{**EMPTY, "pids": [os.getpid()], **command})


def start_with(*files):
    """Starts a recording with these files attached, opened by the user."""
    def attempt(host):
        client = host.service.client()
        opened = [file(host) if callable(file) else os.open(*file) for file in files]
        text = json.dumps({**EMPTY, "pids": [os.getpid()]}).encode() + b"\n"
        client.socket.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                        array.array("i", opened))] if opened else [])
        return json.loads(client.lines.readline())
    return attempt


def to_session(**command):
    return lambda host: asked(host.service.client(), **{"session": host.session, **command})


def of(kind):
    """Records such a process, from the start and added to a recording of one's own."""
    def at_once(host):
        return start(host, pids=[host.pids[kind]])

    def later(host):
        client = host.service.client()
        client.ask(output(host.service, "n"), **EMPTY, pids=[os.getpid()])
        return asked(client, cmd="pid", pid=host.pids[kind])
    return {f"a process: {kind}": at_once, f"a process, later: {kind}": later}


def with_his_own_among(host):
    return start(host, pids=[os.getpid(), host.pids["own"], host.pids["others"]])


def not_of_this_connection(host):
    """Stops his own recording by another connection, without its number."""
    host.service.client().ask(output(host.service, "d"), **EMPTY, pids=[os.getpid()], detach=True)
    answer = asked(host.service.client(), cmd="stop")
    number = int(re.search(r"name a session: (\d+)", answer["error"])[1])
    host.service.client().ask(cmd="stop", session=number)
    return answer


def forged(host):
    """Sends root's credentials, which the kernel refuses."""
    client = host.service.client()
    try:
        client.socket.sendmsg([b'{"cmd":"status"}\n'],
                              [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS,
                                array.array("i", [1, 0, 0]))])
    except PermissionError as error:
        return {"error": str(error)}
    return json.loads(client.lines.readline())


def left_from_before(host):
    """A file that was attached to a command must not be used for the next one."""
    client = host.service.client()
    client.ask(output(host.service, "a"), cmd="status")
    return asked(client, output(host.service, "b"), **EMPTY, pids=[os.getpid()],
                 rotate_size="1M", keep=2)


def link(host):
    """He cannot open the target of a link of his own, and paths are refused."""
    os.symlink("/etc/passwd", host.service.path("link"))
    return start(host, output=host.service.path("link"))


WHOLE, MINE = "only root may record the whole system", "only root may record it"
PATH, REGULAR = "only root may name a path", "not a regular file"
SELF = "/proc/self/"
# Maps what is attempted to (how, the text of the refusal).
REFUSED = {
    "the whole system": (lambda host: start(host, system=True), WHOLE),
    "libraries of his choice": (lambda host: start(host, libraries=["/etc/shadow"]),
                                "only root may choose the libraries"),
    "a path": (lambda host: start(host, output=host.service.path("created")), PATH),
    "a link": (link, PATH),
    "a path for a snapshot": (to_session(cmd="snapshot", output="/etc/created"), NONE),
    "one of others among his own": (with_his_own_among, MINE),
    "a number beyond all": (lambda host: start(host, pids=[2**31]), "not a process id"),
    "every process by -1": (lambda host: start(host, pids=[-1]), "pids"),
    "no file": (start_with(), "no output"),
    "a file to read": (start_with(("/etc/passwd", os.O_RDONLY)), "not open for writing"),
    "a file by path only": (start_with(("/etc/shadow", os.O_PATH)), "not open for writing"),
    "a folder": (start_with(("/tmp", os.O_RDONLY)), REGULAR),
    "a device": (start_with(("/dev/null", os.O_WRONLY)), REGULAR),
    "a pipe": (start_with(lambda _: os.pipe()[1]), REGULAR),
    "a socket": (start_with(lambda _: socket.socket().detach()), REGULAR),
    "a word with the kernel": (start_with((SELF + "oom_score_adj", os.O_WRONLY)), REGULAR),
    "memory": (start_with((SELF + "mem", os.O_RDWR)), REGULAR),
    "more files than are asked for": (start_with(*[(SELF + "exe", os.O_RDONLY)] * 3), "open files"),
    "a file from before": (left_from_before, "open files"),
    "to stop another's": (to_session(cmd="stop"), NONE),
    "to stop the newest": (to_session(cmd="stop", session=0), NONE),
    "to add to another's": (to_session(cmd="pid", pid=1), NONE),
    "a snapshot of another's": (to_session(cmd="snapshot"), NONE),
    "another's stream": (to_session(cmd="live"), NONE),
    "another's as -1": (to_session(cmd="live", session=-1), "session"),
    "his own without its number": (not_of_this_connection, "name a session"),
    "a higher priority": (lambda host: start(host, priority="-5"), "'priority'"),
    "more memory than is his": (lambda host: start(host, ring="8M"), "more memory"),
    "to be root by credentials": (forged, "not permitted"),
}
for each in ("roots", "others", "setuid", "setgid", "capable", "kept"):
    REFUSED.update({name: (how, MINE) for name, how in of(each).items()})


@test
def what_is_not_his_is_refused():
    assert len(REFUSED) >= 20
    with Host() as host:
        def state():
            return {path: os.stat(path).st_size for path in ("/etc/passwd", host.service.path("n"))
                    if os.path.exists(path)}
        before = state()
        for name, (how, said) in REFUSED.items():
            answer = as_nobody(lambda how=how: how(host))
            assert answer.get("ok") is not True and said in answer["error"], (name, answer)
            equal((name, os.path.exists(host.service.path("created"))), (name, False))
            sessions = []

            def quiet():
                sessions[:] = host.root.ask(cmd="status")["sessions"]
                return len(sessions) == 1
            until(quiet)  # one of his ends when he disconnects
            equal((name, sessions[0]["session"], sessions[0]["state"]),
                  (name, host.session, "running"))
        equal(state()["/etc/passwd"], before["/etc/passwd"])
        # In spite of all that, he still gets what he may have.
        assert as_nobody(lambda: start(host, pids=[os.getpid(), host.pids["own"]]))["ok"]


@test
def he_sees_nothing_of_what_is_not_his():
    with Host() as host:
        def look():
            live = socket.socket(socket.AF_UNIX)
            live.connect(host.service.path("live.sock"))
            live.settimeout(60)
            return [host.service.client().ask(cmd="status")["sessions"], len(live.recv(1))]
        equal(as_nobody(look), [[], 0])


@test
def others_than_the_group_get_nothing():
    with Host() as host:
        os.chmod(host.service.socket, 0o666)  # even with wrong permissions
        answer = as_nobody(lambda: json.loads(host.service.client().lines.readline()), user=OTHER)
        assert "not a member of the daemon's group" in answer["error"], answer


def calls_after_exec(host, program, delay_s=None):
    """Returns the recorded API calls of a program that his process executes once its recording has
    begun, or while it begins; None if the recording is refused."""
    def record():
        with open(program, "rb") as file:  # probes are found in mapped files
            mapped = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
        gate_read, gate_write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(gate_write)
            os.read(gate_read, 1)
            null = os.open("/dev/null", os.O_WRONLY)
            os.dup2(null, 1)
            os.execv(program, [program, "300"])
        opener = None
        if delay_s is not None:
            opener = os.fork()
            if opener == 0:
                time.sleep(delay_s)
                os.close(gate_write)
                os._exit(0)
            os.close(gate_write)
        client = host.service.client()
        answer = asked(client, output(host.service, "x"), cmd="start", no_device=True,
                       probes="usdt", pids=[child])
        if opener is None:
            os.close(gate_write)
        else:
            os.waitpid(opener, 0)
        os.waitpid(child, 0)
        if answer.get("ok"):
            client.ask(cmd="stop")
        mapped.close()
        return answer
    return as_nobody(record)


def calls_on_record(host):
    return summary(host.service.path("x"))["rows"].get("api", 0)


@test
def a_program_with_more_rights_is_not_recorded():
    with Host() as host:
        plain = host.program("plain", APP)
        assert calls_after_exec(host, plain)["ok"]
        wanted = calls_on_record(host)
        assert wanted > 0
        for kind in ("setuid", "setgid", "capable"):
            assert calls_after_exec(host, host.program(kind, APP))["ok"], kind
            equal((kind, calls_on_record(host)), (kind, 0))


@test
def not_even_if_it_comes_while_he_asks():
    rng = random.Random(3)
    with Host() as host:
        program = host.program("setuid", APP)
        for turn in range(12):
            answer = calls_after_exec(host, program, rng.random() * 0.2)
            if answer.get("ok"):
                equal((turn, calls_on_record(host)), (turn, 0))
            else:
                assert MINE in answer["error"] or "no process" in answer["error"], answer


if __name__ == "__main__":
    sys.exit(run(test, root=True))
