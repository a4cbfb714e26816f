#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Records a program that calls libaxl through shared memory: same result as by probes, none
lost.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from private_test import equal, path, run  # noqa: E402
from recording import (REPO, Recording, calls_of, fired, summary, tap, until,  # noqa: E402
                       until_it_calls)

APP = os.path.join(REPO, "build", "test", "axl-api-app")
LIBRARY = os.path.join(REPO, "build", "lib", "libaxl.so")
HOST_ONLY = ["--no-device", "--libaxl", LIBRARY]
# RINGS_KILLS=100 makes a longer run of the random tests.
KILLS = int(os.environ.get("RINGS_KILLS", "8"))
test = tap.Cases()


def balanced(trace, bad=0):
    for name, hop in trace["hops"].items():
        assert hop["in"] == hop["out"] + hop["lost"] + hop["bad"], (name, hop)
        equal((name, hop["lost"]), (name, 0))
        assert hop["bad"] <= bad, (name, hop)
    given = sum(hop["out"] for hop in trace["hops"].values() if hop["into"] == "session")
    equal(given, trace["hops"]["session"]["in"])


def record(name, *arguments, options=(), app=APP):
    recording = Recording("--output", path(name), *HOST_ONLY, *options)
    equal(recording.first, "ready")
    text, status = recording.run(app, *arguments)
    equal(status, 0)
    done, status, stderr = recording.stop()
    equal((status, done["error"], done["lost"], done["bad"]), (0, "", 0, 0))
    return summary(path(name)), fired(text), stderr


@test
def both_ways_give_the_same_events_names_and_ids():
    by_ring, count, _ = record("ring", "600", "fork")
    by_probe, _, _ = record("probe", "600", "fork", options=["--probes", "usdt"])
    for key in ("api", "ranges", "marks"):
        equal(by_ring["rows"][key], by_probe["rows"][key])
    equal(by_ring["rows"]["api"], count["calls"])
    for key in ("calls", "range_names", "mark_names"):
        equal(by_ring[key], by_probe[key])
    # Compared row by row for each process: names, ids, sizes, streams, results, depths.
    equal(list(by_ring["digests"].values()), list(by_probe["digests"].values()))
    equal(len(by_ring["digests"]), 2)
    equal(by_probe["hops"]["bpf-api"]["in"], by_ring["hops"]["api-ring"]["in"])
    equal(by_ring["hops"]["bpf-api"]["in"], 0)
    balanced(by_ring)
    balanced(by_probe)


@test
def limits_of_the_program_do_not_concern_its_rings():
    for limit in ("-f 0", "-n 4", "-l 0", "-v 200000"):
        # exec, because the shell itself could not continue under the limit.
        trace, count, _ = record("limits", "-c", f"ulimit {limit}; exec {APP} 100 fork",
                                 app="/bin/sh")
        equal((limit, trace["rows"]["api"]), (limit, count["calls"]))
        equal((limit, trace["hops"]["bpf-api"]["in"]), (limit, 0))
        balanced(trace)


@test
def a_program_that_is_recorded_has_no_descriptor_more():
    counter = path("descriptors")
    with subprocess.Popen([APP, "1000", "forever", "pause-us=20", f"count={counter}"]) as child:
        try:
            until_it_calls(counter)
            before = os.listdir(f"/proc/{child.pid}/fd")
            recording = Recording("--output", path("descriptors.trace"), *HOST_ONLY)
            equal(recording.ask(f"pid {child.pid}"), "ok")
            until_it_calls(counter, 100)
            equal(os.listdir(f"/proc/{child.pid}/fd"), before)
            done, status, _ = recording.stop()
        finally:
            child.kill()
    equal((status, done["lost"]), (0, 0))
    trace = summary(path("descriptors.trace"))
    assert trace["hops"]["api-ring"]["out"] > 0, trace["hops"]


def holdings(pid):
    """A process' mappings of shared memory without a file, and its descriptors."""
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        shared = sum(line.endswith("/dev/zero (deleted)\n") for line in maps)
    return shared, sorted(os.listdir(f"/proc/{pid}/fd"))


@test
def a_program_that_is_not_recorded_makes_nothing():
    counter = path("bystander")
    # The first call is before, and after, the begin of the recording.
    for early in (True, False):
        recording = None if early else Recording("--output", path("others"), *HOST_ONLY)
        with subprocess.Popen(["/bin/sh", "-c", f"ulimit -f 1; exec {APP} 1000 forever pause-us=20 "
                               f"count={counter}"]) as child:
            try:
                until_it_calls(counter)
                if early:
                    recording = Recording("--output", path("others"), *HOST_ONLY)
                text, _ = recording.run(APP, "100")
                until_it_calls(counter, 1000)
                equal(holdings(child.pid), (0, ["0", "1", "2"]))
                # Its calls are recorded as soon as the process is.
                equal(recording.ask(f"pid {child.pid}"), "ok")
                until(lambda pid=child.pid: holdings(pid)[0] == 1)
                until_it_calls(counter, 100)
            finally:
                child.kill()
        done, status, _ = recording.stop()
        equal((status, done["lost"], done["bad"]), (0, 0, 0))
        trace = summary(path("others"))
        assert trace["rows"]["api"] >= fired(text)["calls"] + 100, trace["rows"]
        equal(trace["hops"]["bpf-api"]["in"], 0)
        assert str(child.pid) in trace["api_by_pid"], trace["api_by_pid"]


@test
def threads_that_come_and_go_are_recorded_once():
    trace, count, _ = record("threads", "50", "threads=20", "rounds=6")
    equal(trace["rows"]["api"], count["calls"])
    equal(trace["rows"]["ranges"], count["ranges"])
    equal(trace["rows"]["marks"], count["marks"])
    equal(trace["rows"].get("api_out_of_order", 0), 0)
    equal(trace["last_call"], trace["api_by_pid"])  # no id is missing
    balanced(trace)


@test
def what_signal_handlers_write_is_whole_or_counted():
    recording = Recording("--output", path("handlers"), *HOST_ONLY)
    text, status = recording.run(APP, "5000", "threads=2", "handler")
    done, _, _ = recording.stop()
    equal((status, done["error"]), (0, ""))
    trace, count = summary(path("handlers")), fired(text)
    assert count["marks"] > 2, "no signal came"
    wanted = 2 * count["calls"] + 2 * count["ranges"] + count["marks"]
    equal(trace["hops"]["api-ring"]["in"], wanted)
    equal(trace["hops"]["api-ring"]["lost"], done["lost"])
    names = {name for name in trace["range_names"] if not name.startswith("step ")}
    assert names <= {"handler"}, names
    assert set(trace["mark_names"]) <= {"handler", "thread done"}, trace["mark_names"]


@test
def a_flood_is_recorded_or_counted():
    recording = Recording("--output", path("flood"), *HOST_ONLY)
    text, _ = recording.run(APP, "20000", "threads=2")
    done, _, _ = recording.stop()
    trace = summary(path("flood"))
    wanted = 2 * fired(text)["calls"] + 2 * fired(text)["ranges"] + fired(text)["marks"]
    equal(trace["hops"]["api-ring"]["in"], wanted)
    equal(trace["hops"]["api-ring"]["lost"], done["lost"])
    equal(sum(trace.get("losses", {}).values()), done["lost"])


@test
def what_a_killed_process_wrote_is_there():
    for number in range(KILLS):
        counter = path(f"count{number}")
        recording = Recording("--output", path("kill"), *HOST_ONLY)
        gate_read, gate_write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(gate_write)
            os.read(gate_read, 1)
            os.execv(APP, [APP, "1000", "threads=3", "forever", "pause-us=20", f"count={counter}"])
        os.close(gate_read)
        equal(recording.ask(f"pid {child}"), "ok")
        os.close(gate_write)
        until_it_calls(counter)
        time.sleep(random.random() * 0.2)
        os.kill(child, signal.SIGKILL if number % 4 else signal.SIGABRT)
        os.waitpid(child, 0)
        done, status, _ = recording.stop()
        equal((status, done["lost"], done["bad"]), (0, 0, 0))
        trace = summary(path("kill"))
        returned = calls_of(counter)
        rows = trace["rows"].get("api", 0)
        ended = rows - trace["rows"].get("api_open", 0)
        # Each of the three threads may be between a call's last event and the count.
        assert returned <= ended <= returned + 3, (returned, ended, rows)
        last = trace.get("last_call", {}).get(str(child), 0)
        assert last - 3 <= rows <= last, (rows, last)
        balanced(trace)


@test
def a_stopped_process_is_there_up_to_its_stop():
    counter = path("stopped")
    recording = Recording("--output", path("stop"), *HOST_ONLY)
    with subprocess.Popen([APP, "1000", "forever", "pause-us=20", f"count={counter}"]) as child:
        try:
            # Attached while it runs: earlier calls are not recorded.
            until_it_calls(counter)
            equal(recording.ask(f"pid {child.pid}"), "ok")
            until_it_calls(counter, 100)
            os.kill(child.pid, signal.SIGSTOP)
            recording.drain()
            done, status, _ = recording.stop()
            equal((status, done["lost"]), (0, 0))
            trace = summary(path("stop"))
            assert trace["rows"]["api"] > 0, trace["rows"]
            # No call between the first and the last is missing.
            returned = calls_of(counter)
            assert trace["last_call"][str(child.pid)] >= returned, (trace["last_call"], returned)
        finally:
            child.kill()


@test
def the_next_recording_takes_the_same_rings():
    counter = path("twice")
    with subprocess.Popen([APP, "1000", "forever", "pause-us=50", f"count={counter}"]) as child:
        try:
            until_it_calls(counter)
            for number in range(3):
                recording = Recording("--output", path(f"twice{number}"), *HOST_ONLY)
                equal(recording.ask(f"pid {child.pid}"), "ok")
                until_it_calls(counter, 100)
                if number == 1:  # the daemon dies; the next one must not find its lock
                    recording.daemon.kill()
                    recording.end()
                    continue
                done, status, _ = recording.stop()
                equal((status, done["lost"]), (0, 0))
                trace = summary(path(f"twice{number}"))
                assert trace["hops"]["api-ring"]["out"] > 0, trace["hops"]
                equal(trace["hops"]["bpf-api"]["in"], 0)
        finally:
            child.kill()


@test
def a_second_recording_of_a_process_gets_its_events_by_probes():
    first = Recording("--output", path("one"), *HOST_ONLY)
    second = Recording("--output", path("two"), *HOST_ONLY)
    counter = path("shared")
    with subprocess.Popen([APP, "1000", "forever", "pause-us=50", f"count={counter}"]) as child:
        try:
            until_it_calls(counter)
            equal(first.ask(f"pid {child.pid}"), "ok")
            until_it_calls(counter, 100)
            equal(second.ask(f"pid {child.pid}"), "ok")
            until_it_calls(counter, 100)
        finally:
            child.kill()
    second.stop()
    first.stop()
    one, two = summary(path("one")), summary(path("two"))
    assert one["hops"]["api-ring"]["out"] > 0, one["hops"]
    equal(one["hops"]["bpf-api"]["in"], 0)
    assert two["hops"]["bpf-api"]["out"] > 0, two["hops"]


@test
def another_copy_of_the_library_is_found_where_it_is():
    folder = path("copy")
    os.mkdir(folder)
    copy = shutil.copy(LIBRARY, os.path.join(folder, "libaxl.so.0"))
    environment = {**os.environ, "LD_LIBRARY_PATH": folder}
    for deleted in (False, True):
        # A path that the program's own search path does not override.
        app = shutil.copy(APP, os.path.join(folder, "app"))
        counter = path(f"copied{deleted}")
        with subprocess.Popen([app, "1000", "forever", "pause-us=200", f"count={counter}"],
                              env=environment) as child:
            try:
                until_it_calls(counter)
                with open(f"/proc/{child.pid}/maps", encoding="ascii") as maps:
                    assert copy in maps.read(), "it runs the copy"
                if deleted:
                    os.unlink(copy)
                recording = Recording("--output", path("copied"), *HOST_ONLY)
                equal(recording.ask(f"pid {child.pid}"), "ok")
                until_it_calls(counter, 100)
                done, status, _ = recording.stop()
            finally:
                child.kill()
        equal((status, done["lost"]), (0, 0))
        assert summary(path("copied"))["rows"].get("api", 0) > 0, deleted


if __name__ == "__main__":
    sys.exit(run(test))
