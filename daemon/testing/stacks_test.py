#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""User stacks of API calls (record --stacks): each call has its place in the program, by name. On
the kernel at hand, without a device."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from private_test import balanced, equal, path, run  # noqa: E402
from recording import REPO, Recording, summary  # noqa: E402

ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
LIBRARY = os.path.join(REPO, "build", "lib", "libaxl.so")
TEST = os.path.join(REPO, "build", "test")
APP = os.path.join(TEST, "axl-stack-app")
HOST_ONLY = ["--no-device", "--libaxl", LIBRARY]
DEEPEST = 48  # frames of a stack
tests = []


def test(function):
    tests.append(function)
    return function


def report(trace):
    done = subprocess.run([ACCELTRACE, "report", "--json", trace], capture_output=True, text=True,
                          check=False)
    return json.loads(done.stdout)


def query(trace, sql):
    done = subprocess.run([ACCELTRACE, "query", trace, sql, "--json", "--top", "1000"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return [tuple(row) for row in json.loads(done.stdout)["rows"]]


def record(trace, *options, app=(APP, "30", "20", "5"), also=()):
    """Records one run of the program, which is there until the recording has ended; returns the
    daemon's summary."""
    recording = Recording("--output", trace, *HOST_ONLY, *options)
    equal(recording.first, "ready")
    children = [subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                for argv in (app, *also)]
    for child in children:
        equal(recording.ask(f"pid {child.pid}"), "ok")
        print(file=child.stdin, flush=True)
        equal(child.stdout.readline(), "done\n")
    done, status, _ = recording.stop()
    for child in children:
        child.communicate()
        equal(child.returncode, 0)
    equal((status, done["error"], done["lost"], done["bad"]), (0, "", 0, 0))
    balanced(summary(trace))
    return done


def sites(found):
    return {site["site"]: (site["calls"], site["failed"]) for site in found["sites"]}


@test
def calls_have_their_sites_by_name_and_number():
    trace = path("sites")
    record(trace, "--stacks")
    found = report(trace)["call_sites"]
    equal(sites(found), {"shop::Order(int)": (30, 0), "shop::Till::Pay(int)": (20, 20),
                         "shop::Descend(int)": (1, 0)})
    equal(found["without"], 0)
    equal({site["object"] for site in found["sites"]}, {APP})
    hops = summary(trace)["hops"]
    equal((hops["bpf-stacks"]["in"], hops["bpf-stacks"]["out"]), (51, 51))
    assert "api-ring" not in hops, hops
    # Each of them whole: in main's own function, in that of its caller, and so on.
    order = [s for s in found["stacks"] if "shop::Order(int)" in s["frames"]]
    equal([s["calls"] for s in order], [30])
    at = order[0]["frames"].index("shop::Order(int)")
    equal(order[0]["frames"][at:at + 3], ["shop::Order(int)", "shop::Open(int, int, int)", "main"])
    descend = [s for s in found["stacks"] if "shop::Descend(int)" in s["frames"]]
    equal([s["frames"].count("shop::Descend(int)") for s in descend], [6])


@test
def tables_and_text():
    trace = path("tables")
    record(trace, "--stacks")
    equal(query(trace, "SELECT site, count(*) FROM call_stacks GROUP BY 1 ORDER BY 2"),
          [("shop::Descend(int)", 1), ("shop::Till::Pay(int)", 20), ("shop::Order(int)", 30)])
    equal(query(trace, """SELECT count(*) FROM api JOIN call_stacks USING (correlation)
        WHERE (name = 'axlSetDevice') = (site = 'shop::Till::Pay(int)')"""), [(51,)])
    equal(query(trace, """SELECT DISTINCT object FROM stack_frames WHERE function = 'main' AND
        length(build_id) = 40"""), [(APP,)])
    done = subprocess.run([ACCELTRACE, "report", "--section", "sites", trace],
                          capture_output=True, text=True, check=False)
    equal(done.returncode, 1)  # no device: the verdict is withheld
    for text in ("CALL SITES", "shop::Order(int)", "CALL STACKS", "main"):
        assert text in done.stdout, done.stdout


@test
def processes_of_one_program_share_stacks():
    trace = path("shared")
    app = (APP, "30", "20", "5")
    record(trace, "--stacks", app=app, also=[app, app])
    equal(sites(report(trace)["call_sites"]),
          {"shop::Order(int)": (90, 0), "shop::Till::Pay(int)": (60, 60),
           "shop::Descend(int)": (3, 0)})
    # Their addresses differ, their places do not.
    equal(query(trace, "SELECT count(DISTINCT stack) FROM stack_frames"), [(3,)])


@test
def a_deep_stack_is_cut_outside():
    trace = path("deep")
    record(trace, "--stacks", app=(APP, "1", "1", "200"))
    found = report(trace)["call_sites"]
    equal(sites(found)["shop::Descend(int)"], (1, 0))
    deep = [s["frames"] for s in found["stacks"] if "shop::Descend(int)" in s["frames"]][0]
    equal((len(deep), deep[-1]), (DEEPEST, "shop::Descend(int)"))


@test
def without_the_option_nothing_changes():
    trace = path("off")
    record(trace)
    assert "call_sites" not in report(trace)
    hops = summary(trace)["hops"]
    assert "bpf-stacks" not in hops and "api-ring" in hops, hops
    equal(query(trace, "SELECT count(*) FROM call_stacks"), [(0,)])


@test
def functions_of_providers_have_their_callers():
    trace = path("provider")
    os.environ["LD_LIBRARY_PATH"] = os.path.join(TEST, "standin")
    calls = os.path.join(TEST, "standin-calls")
    cuda = os.path.join(TEST, "standin", "libcuda.so.1")
    recording = Recording("--output", trace, "--device", "cuda", "--stacks")
    equal(recording.first, "ready")
    with subprocess.Popen([calls, cuda, "2", "50", "wait"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as child:
        while child.stdout.readline() != "text end\n":
            pass
        equal(recording.ask(f"pid {child.pid}"), "ok")
        print(file=child.stdin, flush=True)
        while child.stdout.readline() != "done\n":
            pass
        done, status, _ = recording.stop()
        child.stdin.close()
    equal((status, done["error"], done["lost"], done["bad"]), (0, "", 0, 0))
    count = query(trace, "SELECT count(*) FROM api")[0][0]
    equal(query(trace, "SELECT count(*) FROM call_stacks"), [(count,)])
    # Frame 0 is the function itself.
    equal(query(trace, """SELECT count(*) FROM api JOIN call_stacks USING (correlation)
        JOIN stack_frames f USING (stack) WHERE f.place = 0 AND f.function != name"""), [(0,)])
    # Each comes from the program, but those that another function of the library calls, which has
    # no frame pointers here.
    equal(query(trace, f"""SELECT name, count(*) FROM api JOIN call_stacks USING (correlation)
        JOIN stack_frames f USING (stack) WHERE is_site AND f.object != '{calls}' GROUP BY 1"""),
          query(trace, """SELECT 'cuMemcpyHtoDAsync_v2', count(*) FROM api
        WHERE name = 'cuMemcpyHtoD_v2'"""))


if __name__ == "__main__":
    sys.exit(run(tests))
