#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The installed service under systemd, in the VM: unit_guest.py FOLDER MODULE. See
tests/vm/systemd.sh."""

import grp
import json
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from recording import Client, summary, tap  # noqa: E402

UNIT = "acceltraced.service"
SOCKET = "/run/acceltrace/acceltraced.sock"
WORKLOAD = "/usr/bin/axl-transformer"
FOLDER, MODULE = sys.argv[1:3]
NOBODY = 65534
test = tap.Cases()
begun = {}


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def call(*argv, **more):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False, **more)
    assert done.returncode == 0, (argv, done)
    return done.stdout + done.stderr


def unit(name):
    return call("systemctl", "show", "--value", "-p", name, UNIT).strip()


def begin(name, **command):
    """Starts a recording of the workload, waits for its end, and returns its client."""
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
    """A trace has its footer, no loss, and each job that its workload reports."""
    trace = summary(os.path.join(FOLDER, name))
    with open(os.path.join(FOLDER, name + ".out"), encoding="utf-8") as output:
        words = next(line for line in output if " jobs, " in line).split()
    equal((trace["rows"]["jobs"], trace["rows"]["commands"]), (int(words[0]), int(words[2])))
    equal((trace["footer"], trace["gaps"], trace["bad_packets"]), (True, 0, 0))
    for hop, account in trace["hops"].items():
        equal((hop, account["lost"], account["bad"]), (hop, 0, 0))
    assert all(trace["probes"].values()), trace["probes"]
    return trace


@test
def it_is_installed():
    begun["group"] = grp.getgrnam("acceltrace").gr_gid
    # Without warnings about unknown settings.
    for name in (UNIT, "acceltraced.socket", "acceltraced-metrics.socket"):
        equal(call("systemd-analyze", "verify", "--man=no", "/usr/lib/systemd/system/" + name), "")


@test
def it_starts_at_boot_and_says_when_it_is_ready():
    # The driver is loaded at some time meanwhile.
    for _ in range(600):
        if unit("ActiveState") not in ("inactive", "activating"):
            break
        time.sleep(0.1)
    equal(call("systemctl", "is-enabled", UNIT).strip(), "enabled")
    equal((unit("ActiveState"), unit("SubState")), ("active", "running"))
    about = os.stat(SOCKET)
    equal((stat.S_IMODE(about.st_mode), about.st_gid), (0o660, begun["group"]))


def capabilities(path):
    with open(path, encoding="utf-8") as file:
        lines = dict(line.split(":\t") for line in file.read().splitlines() if ":\t" in line)
    return lines


@test
def it_has_no_more_rights_than_it_needs():
    pid = int(unit("MainPID"))
    status = capabilities(f"/proc/{pid}/status")
    user = pwd.getpwnam("acceltrace").pw_uid
    equal(status["Uid"].split(), [str(user)] * 4)
    equal((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
    # Effective capabilities: none, while it waits.
    bits = {"dac_read_search": 2, "sys_ptrace": 19, "sys_admin": 21, "perfmon": 38, "bpf": 39,
            "checkpoint_restore": 40}
    kept = sum(1 << bit for bit in bits.values())
    equal((int(status["CapBnd"], 16), int(status["CapPrm"], 16)), (kept, kept))
    equal((int(status["CapEff"], 16), int(status["CapAmb"], 16)), (0, 0))
    # The file system is read-only, and disks cannot be opened.
    mounts = [line.split() for line in open(f"/proc/{pid}/mountinfo", encoding="utf-8")]
    equal([words[4] for words in mounts if words[4] == "/" and "ro" not in words[5].split(",")], [])
    score = call("systemd-analyze", "security", "--no-pager", UNIT).splitlines()[-1]
    begun["score"] = float(score.split(": ")[1].split()[0])
    print(f"# {score}")
    assert begun["score"] <= 2.0, score


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
    # Both record one device at the same time; each is as it would be alone.
    # pylint: disable=consider-using-with
    first = subprocess.Popen(["acceltrace", "record", "-q", "-o", os.path.join(FOLDER, "root"),
                              "--", WORKLOAD], stdout=subprocess.PIPE, text=True)
    status, text, said = member("acceltrace", "record", "-o", "/tmp/member/own", "--", WORKLOAD)
    output, _ = first.communicate(timeout=120)
    equal((status, first.returncode), (0, 0))
    assert "0 lost" in said, said
    for name, report, at in (("own", text, "/tmp/member"), ("root", output, FOLDER)):
        with open(os.path.join(FOLDER, name + ".out"), "w", encoding="utf-8") as file:
            file.write(report)
        if at != FOLDER:
            shutil.copy(os.path.join(at, name), FOLDER)
        whole(name)


@test
def members_have_the_places_of_their_calls():
    trace = "/tmp/member/stacks"
    status, _, said = member("acceltrace", "record", "--stacks", "-o", trace, "--", WORKLOAD)
    equal(status, 0)
    assert "0 lost" in said, said
    # The service may look into its clients' programs, and each call has a stack.
    found = json.loads(call("acceltrace", "report", "--json", trace))["call_sites"]
    equal(found["without"], 0)
    equal({site["object"] for site in found["sites"]}, {WORKLOAD})
    assert sum(site["calls"] for site in found["sites"]) > 100, found
    assert any("Layer" in site["site"] or site["site"] == "main" for site in found["sites"]), found
    hop = summary(trace)["hops"]["bpf-stacks"]
    equal((hop["in"], hop["lost"], hop["bad"]), (hop["out"], 0, 0))


@test
def members_record_a_disk_by_its_provider():
    call("modprobe", "nvme")
    for _ in range(600):
        if os.path.exists("/dev/nvme0n1"):
            break
        time.sleep(0.1)
    os.chmod("/dev/nvme0n1", 0o666)
    reads = ("dd", "if=/dev/nvme0n1", "of=/dev/null", "bs=4k", "count=300", "iflag=direct")
    # pylint: disable=consider-using-with
    first = subprocess.Popen(["acceltrace", "record", "-q", "--device", "nvme0", "-o",
                              os.path.join(FOLDER, "disk.root"), "--", *reads])
    status, _, said = member("acceltrace", "record", "--device", "nvme0", "-o",
                             "/tmp/member/disk.own", "--", *reads)
    equal((status, first.wait(timeout=120)), (0, 0))
    assert "0 lost" in said, said
    for name in ("/tmp/member/disk.own", os.path.join(FOLDER, "disk.root")):
        equal(call("acceltrace", "query", name, "--csv", "SELECT count(*) FROM jobs WHERE "
                   "copy_bytes = 4096 AND consumed_ns > submit_ns").split()[-1], "300")


@test
def its_module_is_replaced_under_it():
    pid = unit("MainPID")
    # Without a recording it has nothing open that would block unloading.
    call("rmmod", "axl")
    assert not os.path.exists("/dev/axl0")
    status, _, said = member("acceltrace", "record", "-o", "/tmp/member/without", "--", WORKLOAD)
    assert status != 0 and "axl" in said, (status, said)
    call("insmod", MODULE)
    client = begin("replaced")
    # The device of a recording cannot be removed.
    done = subprocess.run(["rmmod", "axl"], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "in use" in done.stderr, done
    equal(client.ask(cmd="stop")["summary"]["lost"], 0)
    whole("replaced")
    equal((unit("MainPID"), unit("NRestarts")), (pid, "0"))


MODELS = {"a": [WORKLOAD, "--tokens", "24", "--no-check"],
          "b": [WORKLOAD, "--tokens", "40", "--seed", "2", "--rebuild-graphs", "--no-check"]}


def gated(*argv):
    # pylint: disable=consider-using-with
    return subprocess.Popen(["sh", "-c", 'read x; exec "$@"', "sh", *argv], stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL, text=True)


def content(name, pids):
    """The programs' recorded work, without times: a list for each of them."""
    columns = {"api": "name, bytes, result", "ranges": "name, depth, mark",
               "jobs": "queue IS NULL, commands_submitted, copy_bytes, on_host, on_device",
               "commands": "opcode, op, bytes, work, memory_bytes"}
    found = []
    for pid in pids:
        rows = []
        for table, select in columns.items():
            of_it = f"pid = {pid}"
            if table == "commands":
                of_it = f"correlation IN (SELECT correlation FROM jobs WHERE {of_it})"
            rows.append(call("acceltrace", "query", os.path.join(FOLDER, name), "--csv",
                             f"SELECT {select}, count(*) FROM {table} WHERE {of_it} "
                             f"GROUP BY {select}"))
        found.append(rows)
    return found


def record_at_once(programs, recordings):
    """Runs programs during these recordings [(name, which of them, more)]; returns their pids."""
    children = [gated(*MODELS[program]) for program in programs]
    pids = [child.pid for child in children]
    clients = []
    for name, which, more in recordings:
        clients.append(Client(SOCKET))
        of_them = {} if which is None else {"pids": [pids[i] for i in which]}
        with open(os.path.join(FOLDER, name), "w+b") as file:
            clients[-1].ask(file.fileno(), cmd="start", **of_them, **more)
    stopped = socket.socket(socket.AF_UNIX)
    stopped.connect("/run/acceltrace/live.sock")  # and reads nothing
    for child in children:
        child.stdin.write("x\n")
        child.stdin.flush()
    equal([child.wait(timeout=300) for child in children], [0] * len(children))
    for client in clients:
        done = client.ask(cmd="stop")["summary"]
        equal((done["error"], done["lost"], done["bad"]), ("", 0, 0))
    stopped.close()
    return pids


@test
def four_recordings_of_one_device_are_each_as_alone():
    alone = []
    for program in MODELS:
        pids = record_at_once([program], [("alone." + program, [0], {})])
        alone += content("alone." + program, pids)
    assert alone[0] != alone[1], alone
    assert all(len(rows.splitlines()) > 1 for each in alone for rows in each), alone
    pids = record_at_once(MODELS, [("four.a", [0], {}), ("four.b", [1], {"overhead": "low"}),
                                   ("four.both", [0, 1], {"ring": "64M"}),
                                   ("four.all", None, {"system": True})])
    equal(content("four.a", pids[:1]), alone[:1])
    equal(content("four.both", pids), alone)
    equal(content("four.all", pids), alone)
    # Lighter recordings lack calls and ranges.
    equal([rows[2:] for rows in content("four.b", pids[1:])], [alone[1][2:]])
    for name, other in (("four.a", pids[1]), ("four.b", pids[0])):
        assert all(len(rows.splitlines()) == 1 for rows in content(name, [other])[0]), name


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
def it_reads_its_configuration_again():
    os.makedirs("/etc/acceltrace", exist_ok=True)
    config = "/etc/acceltrace/acceltraced.conf"
    user = pwd.getpwuid(NOBODY).pw_name
    for text, status in ((f"[user {user}]\nallowed = no\n", 1), ("nonsense\n", 1),
                         (f"[user {user}]\nallowed = yes\n", 0)):
        with open(config, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(config, 0o644)
        call("systemctl", "reload", UNIT)
        got, _, said = member("acceltrace", "status")
        equal((text, got), (text, status))
    os.unlink(config)
    call("systemctl", "reload", UNIT)
    equal(unit("NRestarts"), "0")


@test
def its_life_is_in_the_journal():
    def entries(last):
        lines = call("journalctl", "-u", UNIT, "-o", "json",
                     f"MESSAGE_ID=8f4f6d7e2b7c4f0c9a51d2f0c1e8a3{last}").splitlines()
        return [json.loads(line) for line in lines]
    started, ended = entries("01"), entries("02")
    assert len(started) >= 2 and len(ended) >= 2, (started, ended)
    equal({entry["ACCELTRACE_USER"] for entry in started}, {"0", str(NOBODY)})
    assert all(entry["ACCELTRACE_LOST"] == "0" for entry in ended), ended
    assert entries("07") and entries("08") and entries("09")


@test
def its_memory_stays_below_its_limit():
    # The kernel's accounting of the service during this run's recordings.
    folder = "/sys/fs/cgroup" + unit("ControlGroup")

    def read(name):
        with open(os.path.join(folder, name), encoding="ascii") as file:
            return file.read()
    limit, peak = int(unit("MemoryMax")), int(read("memory.peak"))
    print(f"# {peak >> 20} of {limit >> 20} MiB")
    equal(int(read("memory.max")), limit)
    assert 0 < peak < limit // 2, (peak, limit)
    events = dict(line.split() for line in read("memory.events").splitlines())
    equal({name: events[name] for name in ("max", "oom", "oom_kill")},
          {"max": "0", "oom": "0", "oom_kill": "0"})


@test
def figures_come_from_its_own_socket():
    call("systemctl", "stop", UNIT)
    call("systemctl", "start", "acceltraced-metrics.socket")
    with urllib.request.urlopen("http://127.0.0.1:9469/metrics", timeout=60) as answer:
        text = answer.read().decode()
    assert "\nacceltrace_devices 1\n" in text and "\nacceltrace_sessions 0\n" in text, text
    call("systemctl", "stop", "acceltraced-metrics.socket")
    call("systemctl", "restart", UNIT)


@test
def it_starts_when_somebody_comes():
    call("systemctl", "stop", UNIT)
    equal(unit("ActiveState"), "inactive")
    equal(call("acceltrace", "status"), "no recording is running\n")
    equal(unit("ActiveState"), "active")


@test
def one_that_hangs_is_killed_and_started_again():
    folder = f"/run/systemd/system/{UNIT}.d"
    os.makedirs(folder)
    with open(folder + "/fast.conf", "w", encoding="utf-8") as file:
        file.write("[Service]\nWatchdogSec=3\n")
    call("systemctl", "daemon-reload")
    call("systemctl", "restart", UNIT)
    pid = int(unit("MainPID"))
    # Without a recording no watchdog signal is expected.
    time.sleep(5)
    equal((int(unit("MainPID")), unit("NRestarts")), (pid, "0"))
    client = begin("hangs", detach=True)
    os.kill(pid, signal.SIGSTOP)
    for _ in range(600):
        if unit("NRestarts") == "1" and unit("SubState") == "running":
            break
        time.sleep(0.2)
    equal((unit("NRestarts"), unit("SubState")), ("1", "running"))
    assert int(unit("MainPID")) != pid
    client.socket.close()
    # Its recording up to then is readable.
    trace = summary(os.path.join(FOLDER, "hangs"))
    equal((trace["footer"], trace["gaps"], trace["bad_packets"]), (False, 0, 0))
    begun["journal"] = call("date", "+%Y-%m-%d %H:%M:%S").strip()
    shutil.rmtree(folder)
    call("systemctl", "daemon-reload")
    call("systemctl", "restart", UNIT)


@test
def it_stops_with_everything_flushed():
    client = begin("two", detach=True)
    call("systemctl", "stop", UNIT, "acceltraced.socket")
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
    call("systemctl", "stop", UNIT, "acceltraced.socket")


@test
def the_journal_has_no_complaint():
    # Since it was made to hang.
    journal = ("journalctl", "-u", UNIT, "--no-pager", "-o", "cat", "--since", begun["journal"])
    said = call(*journal)
    assert "Started acceltraced.service" in said, said
    assert "acceltraced:" not in said, said
    equal(call(*journal, "-q", "-p", "warning"), "")


if __name__ == "__main__":
    sys.exit(tap.run(test))
