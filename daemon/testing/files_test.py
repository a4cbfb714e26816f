#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""Recordings of several files: parts of a rotation, a flight recorder saved by triggers. Runs on
the host's kernel, without a device.
"""

import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from recording import APP, DAEMON, REPO, Recording, fired, summary, tap  # noqa: E402
from private_test import HOST_ONLY, equal, path, run  # noqa: E402

ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
test = tap.Cases()


def files(name):
    """The existing files among run.atrace, run.2.atrace, ..."""
    return sorted(os.path.basename(file) for file in glob.glob(path(name + ".*")))


def record(name, *options, app=("20000",)):
    """Makes a private recording of the app; returns what it fired, and the daemon's summary."""
    recording = Recording("--output", path(name + ".atrace"), *HOST_ONLY, *options)
    equal(recording.first, "ready")
    text, _ = recording.run(APP, *app)
    done, status, _ = recording.stop()
    equal((status, done["error"], done["lost"], done["bad"]), (0, "", 0, 0))
    return fired(text), done


def whole(name, reason):
    """A file is complete in itself and verify has no findings."""
    trace = summary(path(name))
    equal((name, trace["footer"], trace["gaps"], trace["bad_packets"], trace["stop_reason"]),
          (name, True, 0, 0, reason))
    for hop, account in trace["hops"].items():
        equal((hop, account["lost"], account["bad"]), (hop, 0, 0))
        # Records in flight when a part was completed are in the next one.
        equal((hop, account["in"]), (hop, account["out"] + account["waiting"]))
        assert reason != "client" or account["waiting"] == 0, (hop, account)
    done = subprocess.run([ACCELTRACE, "verify", path(name)], capture_output=True, text=True,
                          check=False)
    equal((name, done.returncode), (name, 0))
    return trace


def ended(trace):
    return trace["rows"].get("api", 0) - trace["rows"].get("api_open", 0)


@test
def parts_of_a_rotation_hold_each_call_once():
    count, done = record("all", "--rotate-size", "1M", "--keep", "16", app=("120000",))
    assert 2 <= done["parts"] <= 16, done
    names = ["all.atrace"] + [f"all.{i}.atrace" for i in range(2, done["parts"] + 1)]
    # Files that were not needed are deleted.
    equal(files("all"), sorted(names))
    traces = [whole(name, "client" if name == names[-1] else "rotated") for name in names]
    equal(sum(ended(trace) for trace in traces), count["calls"])
    equal(sum(os.path.getsize(path(name)) for name in names), done["bytes"])
    equal((done["overwritten"], done["triggered"], done["saved"]), (0, 0, 0))
    # Each file says since when it is complete, and contains the names that it uses.
    begins = [trace["accounts"]["whole_since_ns"] for trace in traces]
    equal((begins[0], begins), (0, sorted(begins)))
    for before, trace in zip(traces, traces[1:]):
        assert trace["accounts"]["whole_since_ns"] >= before["accounts"]["stop_ns"]
        assert set(trace["range_names"]) <= {f"step {i}" for i in range(10)}, trace
        equal(set(trace["processes"]), set(traces[0]["processes"]))


@test
def the_oldest_part_is_overwritten():
    count, done = record("two", "--rotate-size", "1M", "--keep", "2", app=("200000",))
    assert done["parts"] >= 3, done
    equal(files("two"), ["two.2.atrace", "two.atrace"])
    newest = "two.atrace" if done["parts"] % 2 else "two.2.atrace"
    traces = [whole(name, "client" if name == newest else "rotated") for name in files("two")]
    # The newest one may have begun when all was written.
    kept = sum(trace["rows"].get(table, 0) for trace in traces
               for table in ("api", "ranges", "marks"))
    # The older one repeats the call and the range that were open.
    equal(done["events"], sum(count.values()))
    assert 0 <= kept - (done["events"] - done["overwritten"]) <= 2, (kept, done)


@test
def a_rotation_by_time():
    recording = Recording("--output", path("time.atrace"), *HOST_ONLY, "--rotate-time", "1s",
                          "--keep", "2")
    equal(recording.first, "ready")
    # Runs until a second part has begun.
    while os.path.getsize(path("time.2.atrace")) == 0:
        recording.run(APP, "100", "pause-ms=50")
    done, _, _ = recording.stop()
    assert done["parts"] >= 2, done
    for name in files("time"):
        assert summary(path(name))["footer"], name


@test
def a_trigger_saves_the_flight_recorder():
    count, done = record("fired", "--ring", "64M", "--trigger", "range:step 9", "--trigger",
                         "range:no such", "--keep", "2", app=("2000",))
    equal((done["triggered"], done["saved"]), (count["ranges"] // 10, 1))
    equal(files("fired"), ["fired.atrace", "fired.trigger-1.atrace"])
    saved = summary(path("fired.trigger-1.atrace"))
    assert saved["stop_reason"].startswith("trigger range:step 9 ("), saved
    whole("fired.trigger-1.atrace", saved["stop_reason"])
    assert saved["range_names"]["step 9"] >= 1, saved
    equal(ended(whole("fired.atrace", "client")), count["calls"])


@test
def a_range_that_begins_is_a_trigger_and_short_ones_are_none():
    _, done = record("begin", "--ring", "1M", "--trigger", "begin:step 3", app=("20",))
    equal((done["triggered"], done["saved"]), (2, 1))
    assert summary(path("begin.trigger-1.atrace"))["stop_reason"] == "trigger begin:step 3"
    _, done = record("short", "--ring", "1M", "--trigger", "range:step 3>59m", app=("20",))
    equal((done["triggered"], done["saved"], files("short")), (0, 0, ["short.atrace"]))


@test
def what_does_not_go_together_is_misuse():
    for words, said in ((("--rotate-size", "1M", "--ring", "1M"), "--ring"),
                        (("--rotate-size", "1K"), "1M"), (("--rotate-time", "10ms"), "1s"),
                        (("--trigger", "job>1ms"), "--ring"), (("--keep", "3"), "--rotate-size"),
                        (("--keep", "17", "--rotate-size", "1M"), "16"),
                        (("--keep", "1", "--rotate-size", "1M"), "two files"),
                        (("--ring", "1M", "--trigger", "speed"), "job>10ms")):
        for argv in ([DAEMON, "--private", "--system", "--output", path("none"), *words],
                     [ACCELTRACE, "record", "--private", "-o", path("none"), *words, "--",
                      "/bin/true"]):
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            assert done.returncode in (1, 2) and said in done.stderr, (argv, done)
            assert not glob.glob(path("none*")), argv


if __name__ == "__main__":
    sys.exit(run(test))
