#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Library functions that providers declare are API calls of the trace: each call, bytes, stream.

FUNCTIONS_CALLS=250000 sets the number of calls of each of four threads.
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from private_test import equal, path, run  # noqa: E402
from recording import REPO, Recording, summary, tap  # noqa: E402

TEST = os.path.join(REPO, "build", "test")
CALLS = os.path.join(TEST, "standin-calls")
CUDA, HIP, ZE = (os.path.join(TEST, "standin", name)
                 for name in ("libcuda.so.1", "libamdhip64.so.6", "libze_loader.so.1"))
# Few enough to fit into the ring, so that no call is lost however late the daemon runs.
COUNT = int(os.environ.get("FUNCTIONS_CALLS", "10000"))
test = tap.Cases()


def printed(text):
    """The calls {function: (calls, bytes)} that the program reports."""
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("text")]
    return {name: (int(calls), int(size)) for name, calls, size in rows[:-1]}


def query(trace, sql):
    program = os.path.join(REPO, "build/bin/acceltrace")
    done = subprocess.run([program, "query", trace, sql, "--json", "--top", "1000"],
                          capture_output=True, text=True, check=False)
    return [tuple(row) for row in json.loads(done.stdout)["rows"]]


def in_trace(trace, where="1"):
    return {name: (calls, size) for name, calls, size in
            query(trace, f"SELECT name, count(*), sum(bytes) FROM api WHERE {where} GROUP BY 1")}


def finish(recording, trace):
    done, status, stderr = recording.stop()
    equal((status, done["error"], done["lost"], done["bad"]), (0, "", 0, 0))
    for name, hop in summary(trace)["hops"].items():
        assert hop["in"] == hop["out"] and hop["lost"] == 0, (name, hop)
    return stderr


@test
def calls_and_bytes_of_four_threads_are_exact():
    trace = path("cuda")
    recording = Recording("--output", trace, "--device", "cuda")
    equal(recording.first, "ready")
    text, status = recording.run(CALLS, CUDA, "4", str(COUNT))
    equal(status, 0)
    stderr = finish(recording, trace)
    calls = printed(text)
    # One function calls another one: both are recorded.
    equal(sum(count for count, _ in calls.values()), 4 * COUNT + calls["cuMemcpyHtoD_v2"][0])
    equal(in_trace(trace), calls)
    equal(query(trace, "SELECT count(*) FROM api WHERE open OR result != 0"), [(0,)])
    # Nested in its caller, on the same thread.
    equal(query(trace, """SELECT count(*) FROM api a JOIN api b ON a.tid = b.tid
        AND a.name = 'cuMemcpyHtoD_v2' AND b.name = 'cuMemcpyHtoDAsync_v2' AND b.stream = 7
        AND b.begin_ns >= a.begin_ns AND b.end_ns <= a.end_ns AND b.bytes = a.bytes
        WHERE a.begin_ns < (SELECT min(begin_ns) FROM api) + 20000000""")[0][0] > 0, True)
    # One argument on the stack, one in a register.
    for name in ("cuLaunchKernel", "cuStreamSynchronize"):
        equal(sorted(row[0] for row in query(
            trace, f"SELECT DISTINCT stream FROM api WHERE name = '{name}'")), [1, 2, 3, 4])
    assert "no cuGraphLaunch in" in stderr, stderr


@test
def other_vendors_by_theirs_two_in_one_recording():
    trace = path("others")
    recording = Recording("--output", trace, "--device", "hip", "--device", "level-zero")
    equal(recording.first, "ready")
    wanted = {}
    for library in (HIP, ZE):
        text, status = recording.run(CALLS, library, "2", "1000")
        equal(status, 0)
        wanted |= printed(text)
    finish(recording, trace)
    equal(in_trace(trace), wanted)


def text_of(child):
    lines = []
    while (line := child.stdout.readline()) != "text end\n":
        lines.append(line)
    return [line for line in lines if line.startswith("text")]


@test
def detaching_leaves_the_text_as_it_was_and_others_are_not_recorded():
    trace = path("text")
    argv = [CALLS, CUDA, "2", "500", "wait"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        before = text_of(child)
        equal(len(before), 5)
        recording = Recording("--output", trace, "--device", "cuda")
        equal(recording.first, "ready")
        equal(recording.ask(f"pid {child.pid}"), "ok")
        # Runs without being recorded:
        subprocess.run([CALLS, CUDA, "2", "500"], stdout=subprocess.DEVNULL, check=True)
        print(file=child.stdin, flush=True)
        lines = []
        while (line := child.stdout.readline()) != "done\n":
            lines.append(line)
        during = text_of_now(child)
        finish(recording, trace)
        after = text_of_now(child)
        child.stdin.close()
    assert all(a != b for a, b in zip(before, during)), "something is attached meanwhile"
    equal(after, before)
    equal(in_trace(trace), printed("".join(lines) + "done\n"))


def text_of_now(child):
    print(file=child.stdin, flush=True)
    return text_of(child)


@test
def what_cannot_be_had_is_said():
    os.environ["LD_LIBRARY_PATH"] = path("nowhere")
    recording = Recording("--output", path("none"), "--device", "cuda")
    _, stderr = recording.end()
    equal(recording.daemon.returncode, 1)
    said = recording.first + stderr
    assert "provider cuda cannot be recorded: no libcuda.so.1 on this machine" in said, said


if __name__ == "__main__":
    os.environ["LD_LIBRARY_PATH"] = os.path.join(TEST, "standin")
    sys.exit(run(test))
