#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Private recordings of a program with probes, on the host's kernel, without a device."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from recording import (APP, DAEMON, REPO, Recording, TIMEOUT_S,  # noqa: E402
                       daemon_for_others, fired, summary, tap, until)

FOLDER = tempfile.TemporaryDirectory()
ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
HOST_ONLY = ["--no-device", "--libaxl", APP]
test = tap.Cases()


def path(name):
    return os.path.join(FOLDER.name, name)


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def balanced(trace):
    for name, hop in trace["hops"].items():
        assert hop["in"] == hop["out"] + hop["lost"] + hop["bad"], (name, hop)
        equal((name, hop["lost"], hop["bad"]), (name, 0, 0))
    given = sum(hop["out"] for hop in trace["hops"].values() if hop["into"] == "session")
    equal(given, trace["hops"]["session"]["in"])


@test
def every_event_of_threads_children_and_exec_is_recorded_once():
    recording = Recording("--output", path("all"), *HOST_ONLY, "--", "app", "2000")
    equal(recording.first, "ready")
    text, _ = recording.run(APP, "2000", "threads=3", "fork")
    done, status, _ = recording.stop(3)
    equal((status, done["error"], done["lost"], done["bad"]), (0, "", 0, 0))
    trace, count = summary(path("all")), fired(text)
    # Three threads, then the child, then the program that the child executes.
    equal(count, {"calls": 10000, "ranges": 10000, "marks": 5})
    equal(trace["rows"]["api"], count["calls"])
    equal(trace["rows"]["ranges"], count["ranges"])
    equal(trace["rows"]["marks"], count["marks"])
    equal(sum(trace["range_names"].values()), count["ranges"])
    equal(len(trace["range_names"]), 10)
    equal(set(trace["calls"]), {"axlMalloc", "axlMemcpyAsync", "axlLaunchMatmul"})
    equal(set(trace["rows"]) & {"api_unexpected", "api_out_of_order", "api_open"}, set())
    equal((trace["footer"], trace["gaps"], trace["bad_packets"]), (True, 0, 0))
    equal((trace["command_status"], trace["stop_reason"]), (3, "client"))
    equal(len(trace["api_by_pid"]), 2)
    for pid in trace["api_by_pid"]:
        assert any(name.startswith("axl-probe-app") for name in trace["processes"][pid]), trace
    balanced(trace)


@test
def others_are_not_recorded():
    recording = Recording("--output", path("own"), *HOST_ONLY)
    other = subprocess.run([APP, "500"], stdout=subprocess.PIPE, text=True, check=True)
    assert fired(other.stdout)["calls"] == 500, "its probes were on"
    text, _ = recording.run(APP, "100")
    recording.stop()
    equal(summary(path("own"))["rows"]["api"], fired(text)["calls"])


@test
def a_call_that_never_ends_is_open():
    recording = Recording("--output", path("open"), *HOST_ONLY)
    recording.run(APP, "10", "open")
    recording.stop()
    trace = summary(path("open"))
    equal((trace["rows"]["api"], trace["rows"]["api_open"]), (10, 1))
    balanced(trace)


@test
def a_flood_is_recorded_without_loss():
    recording = Recording("--output", path("flood"), *HOST_ONLY)
    text, _ = recording.run(APP, "100000", "threads=2")
    done, _, _ = recording.stop()
    trace = summary(path("flood"))
    equal((done["lost"], trace["rows"]["api"]), (0, fired(text)["calls"]))
    equal(trace["rows"].get("api_out_of_order", 0), 0)
    balanced(trace)


def alone(*options, **popen):
    return subprocess.Popen([DAEMON, "--private", *options], stderr=subprocess.PIPE, text=True,
                            **popen)


@test
def signals_end_a_recording_in_order():
    for number in (signal.SIGTERM, signal.SIGINT):
        recording = Recording("--output", path("signal"), *HOST_ONLY)
        recording.run(APP, "50")
        recording.daemon.send_signal(number)
        assert recording.line().startswith("done "), "an unasked done"
        equal(recording.end()[0], 0)
        trace = summary(path("signal"))
        equal((trace["footer"], trace["rows"]["api"]), (True, 50))


@test
def a_client_that_dies_leaves_a_whole_trace():
    recording = Recording("--output", path("gone"), *HOST_ONLY)
    recording.run(APP, "50")
    recording.socket.shutdown(socket.SHUT_RDWR)
    equal(recording.end()[0], 0)
    trace = summary(path("gone"))
    equal((trace["footer"], trace["rows"]["api"], trace["stop_reason"]),
          (True, 50, "client gone"))


def size_of(name):
    return os.path.getsize(name) if os.path.exists(name) else 0


@test
def without_a_client_it_ends_with_its_processes():
    app = subprocess.Popen([APP, "1", "attach"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    equal(app.stdout.readline(), b"in a call\n")
    daemon = alone("--output", path("pid"), *HOST_ONLY, "--pid", str(app.pid))
    # It may only end then: a process that exited cannot be recorded, however late the daemon
    # starts.
    until(lambda: size_of(path("pid")) or daemon.poll() is not None)
    app.communicate(b"x")
    equal(daemon.wait(timeout=TIMEOUT_S), 0)
    equal(summary(path("pid"))["stop_reason"], "processes exited")


@test
def a_full_file_keeps_what_was_written():
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    recording = Recording("--output", path("full"), *HOST_ONLY, preexec_fn=limit)
    text, _ = recording.run(APP, "60000")
    done, status, _ = recording.stop()
    equal(status, 1)
    assert "file size limit" in done["error"], done
    trace = summary(path("full"))
    equal((trace["footer"], trace["bad_packets"], trace["stop_reason"]),
          (True, 0, "output failed"))
    assert 0 < trace["rows"]["api"] < fired(text)["calls"], trace["rows"]
    lost = trace["hops"]["output"]["lost"]
    assert lost > 0 and trace["losses"]["output"] == lost, trace


@test
def the_flight_recorder_keeps_the_end():
    recording = Recording("--output", path("ring"), "--ring", "256K", *HOST_ONLY)
    text, _ = recording.run(APP, "60000")
    equal(recording.ask(f"snapshot {path('snapshot')}"), "ok")
    done, _, _ = recording.stop()
    for name in ("ring", "snapshot"):
        trace = summary(path(name))
        assert 0 < trace["rows"]["api"] < fired(text)["calls"], trace["rows"]
        equal((trace["footer"], trace["gaps"]), (True, 0))
        assert os.path.getsize(path(name)) < 400_000
        # Each is a complete trace with its duration, the time since which it is complete, and its
        # cost.
        accounts = trace["accounts"]
        assert trace["start_ns"] < accounts["whole_since_ns"] <= accounts["stop_ns"], accounts
        assert accounts["cpu_ns"] > 0 and accounts["overwritten_rows"] > 0, accounts
        assert 0 < os.path.getsize(path(name)) - accounts["bytes_written"] < 20_000, accounts
        for hop, account in trace["hops"].items():
            equal((hop, account["in"]),
                  (hop, account["out"] + account["lost"] + account["bad"] + account["waiting"]))
        equal(trace["hops"]["output"]["out"], trace["rows"]["all"])
    # The summary counts what the file contains.
    held = sum(summary(path("ring"))["rows"].get(kind, 0) for kind in ("api", "ranges", "marks"))
    equal((done["events"], done["overwritten"]), (held, accounts_of("ring")["overwritten_rows"]))
    assert done["overwritten"] + done["events"] > fired(text)["calls"]


def accounts_of(name):
    return summary(path(name))["accounts"]


@test
def a_snapshot_holds_what_is_open_as_open():
    recording = Recording("--output", path("ring"), "--ring", "1M", *HOST_ONLY)
    app = subprocess.Popen(["sh", "-c", 'read -r line; exec "$0" 20 open pause-ms=60000', APP],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    equal(recording.ask(f"pid {app.pid}"), "ok")
    app.stdin.write(b"go\n")
    app.stdin.flush()
    app.stdout.readline()
    equal(recording.ask(f"snapshot {path('snapshot')}"), "ok")
    app.kill()
    app.communicate()
    recording.stop()
    for name in ("snapshot", "ring"):
        trace = summary(path(name))
        equal((trace["rows"]["api"], trace["rows"]["api_open"]), (20, 1))
        balanced(trace)


@test
def what_a_process_was_in_the_middle_of_is_known():
    recording = Recording("--output", path("attached"), *HOST_ONLY)
    app = subprocess.Popen([APP, "1", "attach"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    equal(app.stdout.readline(), b"in a call\n")
    equal(recording.ask(f"pid {app.pid}"), "ok")
    app.communicate(b"x")
    done, _, _ = recording.stop()
    equal((done["lost"], done["bad"]), (0, 0))
    trace = summary(path("attached"))
    equal((trace["rows"]["api"], trace["rows"]["api_began_before"]), (3, 1))
    equal((trace["rows"]["ranges"], trace["rows"]["ranges_began_before"]), (3, 2))
    balanced(trace)


def ran_s(pid):
    """The CPU time of a process."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


@test
def a_running_process_is_recorded_from_its_first_call_on_without_a_hole():
    for _ in range(6):
        with subprocess.Popen([APP, "1000000000"], stdout=subprocess.DEVNULL) as app:
            recording = Recording("--output", path("running"), *HOST_ONLY)
            equal(recording.ask(f"pid {app.pid}"), "ok")
            before = ran_s(app.pid)
            until(lambda: ran_s(app.pid) > before + 0.1)  # pylint: disable=cell-var-from-loop
            recording.stop()
            app.kill()
        done = subprocess.run([ACCELTRACE, "query", path("running"), "--json", "--top", "500",
                               "SELECT correlation FROM api ORDER BY 1"], capture_output=True,
                              text=True, check=False)
        numbers = [row[0] for row in json.loads(done.stdout)["rows"]]
        equal(len(numbers), 500)
        equal(numbers[-1] - numbers[0], 499)


@test
def a_live_reader_gets_a_whole_stream():
    recording = Recording("--output", path("live"), "--live-socket", path("socket"), *HOST_ONLY)
    reader = socket.socket(socket.AF_UNIX)
    reader.connect(path("socket"))
    recording.run(APP, "3000")
    recording.stop()
    with open(path("copy"), "wb") as copy:
        while data := reader.recv(1 << 16):
            copy.write(data)
    trace = summary(path("copy"))
    equal((trace["rows"]["api"], trace["footer"], trace["gaps"]), (3000, True, 0))
    assert not os.path.exists(path("socket"))


@test
def bad_lines_are_answered():
    recording = Recording("--output", path("lines"), *HOST_ONLY)
    for line in ("pid", "pid x", "pid -1", "pid 0", "pid 4194304", "dance", "", "snapshot /x"):
        answer = recording.ask(line)
        assert answer.startswith("error: "), (line, answer)
    equal(recording.stop()[1], 0)


@test
def errors_are_one_line_and_leave_nothing():
    def run(*options, **popen):
        done = subprocess.run([DAEMON, *options], capture_output=True, text=True, timeout=60,
                              check=False, **popen)
        equal((len(done.stderr.splitlines()), done.stdout), (1, ""))
        return done.returncode, done.stderr
    out = ["--output", path("none")]
    if not any(name.startswith("axl") for name in os.listdir("/dev")):
        status, text = run("--private", *out, "--system")
        assert status == 1 and "no accelerator" in text and "--no-device" in text, text
    status, text = run("--private", *out, "--no-device", "--system", "--libaxl", "/nowhere.so")
    assert status == 1 and "/nowhere.so" in text, text
    status, text = run("--private", *out, "--no-device", "--pid", "4194304")
    assert status == 1 and "no process 4194304" in text, text
    status, text = run("--private", "--no-device", "--system", "--output", "/nowhere/x")
    assert status == 1 and "/nowhere/x" in text, text
    status, text = run("--private", "--nonsense")
    assert status == 2 and "--nonsense" in text, text
    assert not os.path.exists(path("none"))


@test
def an_ordinary_user_learns_what_permission_is_missing():
    if os.getuid() != 0:
        raise tap.Skip("only root can try it as another user")
    with daemon_for_others() as daemon:
        done = subprocess.run([daemon, "--private", "--no-device", "--system", "--output",
                               "/dev/null"], capture_output=True, text=True, timeout=60,
                              check=False, user=65534, group=65534, cwd="/")
    equal((done.returncode, len(done.stderr.splitlines()), done.stdout), (1, 1, ""))
    assert "no permission to load BPF" in done.stderr, done.stderr


def bpf_refused():
    """The reason why BPF cannot be used here, or None."""
    recording = Recording("--output", path("try"), *HOST_ONLY)
    if recording.first == "ready":
        attached = all(value for name, value in (recording.stop() and
                                                 summary(path("try")))["probes"].items()
                       if name.startswith("usdt:"))
        return None if attached else "USDT probes cannot be attached on this kernel"
    recording.end()
    return recording.first


def run(cases, root=False):
    """The exit status of a test program that needs BPF, and perhaps root."""
    reason = bpf_refused()
    if reason is None and root and os.getuid() != 0:
        reason = "needs root"
    if reason:
        print(f"1..0 # skip {reason}")
        return 0
    return tap.run(cases)


if __name__ == "__main__":
    sys.exit(run(test))
