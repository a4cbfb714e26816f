#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""User stacks of API calls (record --stacks): each call has its place in the program, by name. Runs
on the host's kernel, without a device.
"""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "service"))
from private_test import balanced, equal, path, run  # noqa: E402
from recording import REPO, Recording, summary  # noqa: E402
from running_test import Service, as_nobody, asked, output  # noqa: E402

ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
LIBRARY = os.path.join(REPO, "build", "lib", "libaxl.so")
TEST = os.path.join(REPO, "build", "test")
APP = os.path.join(TEST, "axl-stack-app")
HOST_ONLY = ["--no-device", "--libaxl", LIBRARY]
DEEPEST = 32  # frames of a stack
MOST_FRAMES = 1 << 20  # of all stacks of a recording
tests = []


def test(function):
    tests.append(function)
    return function


def report(trace):
    done = subprocess.run([ACCELTRACE, "report", "--json", trace], capture_output=True, text=True,
                          check=False)
    return json.loads(done.stdout)


def query(trace, sql, lossy=False):
    done = subprocess.run([ACCELTRACE, "query", trace, sql, "--json", "--top", "1000000"],
                          capture_output=True, text=True, check=False)
    assert done.returncode in (0, int(lossy)), done
    return [tuple(row) for row in json.loads(done.stdout)["rows"]]


def record(trace, *options, app=(APP, "30", "20", "5"), also=()):
    """Records one run of the program, which exists until the recording has ended; returns the
    daemon's summary.
    """
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
    # Each stack is complete: in main's own function, in that of its caller, and so on.
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
    equal(done.returncode, 0)  # that no device was recorded is said, and no fault
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
    # Their addresses differ, their places are the same.
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
def what_is_made_of_a_trace_keeps_them():
    trace, packed, chrome = path("made"), path("made.packed"), path("made.json")
    record(trace, "--stacks")
    subprocess.run([ACCELTRACE, "pack", trace, "-o", packed], check=True, stdout=subprocess.PIPE)
    sql = "SELECT correlation, stack, site FROM call_stacks ORDER BY 1"
    equal(query(packed, sql), query(trace, sql))
    equal(report(packed)["call_sites"], report(trace)["call_sites"])
    subprocess.run([ACCELTRACE, "export", trace, "--format", "chrome", "-o", chrome], check=True,
                   stdout=subprocess.PIPE)
    with open(chrome, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    sites_of = [event["args"]["called_from"] for event in events
                if "called_from" in event.get("args", {})]
    equal({site: sites_of.count(site) for site in sites_of},
          {"shop::Order(int)": 30, "shop::Till::Pay(int)": 20, "shop::Descend(int)": 1})


@test
def a_flight_recorder_has_them():
    trace = path("ring")
    record(trace, "--stacks", "--ring", "1M")
    equal(sites(report(trace)["call_sites"]),
          {"shop::Order(int)": (30, 0), "shop::Till::Pay(int)": (20, 20),
           "shop::Descend(int)": (1, 0)})


@test
def the_number_of_a_process_may_be_another_s_later():
    """Two programs in succession with the same pid and the same addresses."""
    other = path("other-app")
    with open(APP, "rb") as file:
        code = file.read()
    build_id = subprocess.run(["file", "-b", APP], capture_output=True, text=True, check=True
                              ).stdout.split("BuildID[sha1]=")[1][:40]
    equal(code.count(bytes.fromhex(build_id)), 1)
    another = "0123" + build_id[4:]
    with open(other, "wb") as file:
        file.write(code.replace(bytes.fromhex(build_id), bytes.fromhex(another)))
    os.chmod(other, 0o755)
    trace = path("again")
    recording = Recording("--output", trace, *HOST_ONLY, "--stacks")
    equal(recording.first, "ready")
    # The parent is recorded, so that its children are recorded from their start.
    gate, pids = os.pipe(), os.pipe()
    parent = os.fork()
    if parent == 0:
        os.read(gate[0], 1)
        number = 0
        for program in (APP, other):
            number = run_as(number, program)
            os.write(pids[1], f"{number}\n".encode())
        os._exit(0)
    equal(recording.ask(f"pid {parent}"), "ok")
    os.write(gate[1], b"x")
    equal(os.waitpid(parent, 0)[1], 0)
    first, second = os.read(pids[0], 100).split()
    equal(first, second)
    recording.stop()
    equal(query(trace, """SELECT build_id, count(*) FROM call_stacks
        JOIN stack_frames USING (stack) WHERE is_site GROUP BY 1 ORDER BY 2"""),
          [(another, 11), (build_id, 11)] if another < build_id else
          [(build_id, 11), (another, 11)])


def run_as(number, program):
    """Runs it without address randomisation, with this pid if it is not 0; returns the pid."""
    for _ in range(1000):
        if number != 0:
            with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
                file.write(str(number - 1))
        child = os.fork()
        if child == 0:
            if number not in (0, os.getpid()):
                os._exit(99)  # another process got the pid
            ctypes.CDLL(None).personality(0x0040000)  # ADDR_NO_RANDOMIZE
            with open("/dev/null", "w", encoding="ascii") as null:
                os.dup2(null.fileno(), 1)
            lines, end = os.pipe()
            os.write(end, b"\n")
            os.close(end)
            os.dup2(lines, 0)
            os.environ["LD_LIBRARY_PATH"] = os.path.dirname(LIBRARY)
            os.execv(program, [program, "10", "0", "0"])
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status != 99:
            return child if status == 0 else 0
    return 0


class Drive:
    """A recording of the program, which repeats its calls on request."""

    def __init__(self, trace, *argv):
        self.trace = trace
        self.recording = Recording("--output", trace, *HOST_ONLY, "--stacks")
        equal(self.recording.first, "ready")
        # pylint: disable=consider-using-with
        self.child = subprocess.Popen((APP, *argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True)
        equal(self.recording.ask(f"pid {self.child.pid}"), "ok")

    def go(self):
        print(file=self.child.stdin, flush=True)
        equal(self.child.stdout.readline(), "done\n")

    def signal(self, number):
        os.kill(self.recording.daemon.pid, number)

    def stop(self):
        """Returns the account of stacks after checking that each call in the trace either has its
        stack or is counted as lost in one of the reported spans.
        """
        done, status, _ = self.recording.stop()
        self.child.communicate()
        equal((self.child.returncode, status, done["error"]), (0, 0, ""))
        held = summary(self.trace)
        hops, losses = held["hops"], held.get("losses", {})
        for name, hop in hops.items():
            equal((name, hop["in"]), (name, hop["out"] + hop["lost"] + hop["bad"]))
            equal((name, losses.get(name, 0)), (name, hop["lost"]))
        hop = hops["bpf-stacks"]
        # A call whose begin was lost does not need a stack; one whose end was lost is open.
        equal((hop["in"], hop["bad"]), (held["rows"]["api"], 0))
        equal(query(self.trace, "SELECT count(*) FROM call_stacks", lossy=True), [(hop["out"],)])
        found = report(self.trace)
        equal(found["call_sites"]["without"], hop["lost"])
        equal(sum(site["calls"] for site in found["call_sites"]["sites"]), hop["out"])
        spans = [each for each in found["losses"]["spans"] if each["hop"] == "bpf-stacks"]
        times = [row[0] for row in query(self.trace, """SELECT begin_ns FROM api WHERE correlation
            NOT IN (SELECT correlation FROM call_stacks)""", lossy=True)]
        equal(len(times), hop["lost"])
        equal(sum(span["count"] for span in spans), hop["lost"])
        within = [[at for at in times if span["first_at_ns"] <= at <= span["last_at_ns"]]
                  for span in spans]
        # Spans may overlap: losses in the kernel are counted before stacks that arrive too late.
        for span, found_there in zip(spans, within):
            assert len(found_there) >= span["count"], (span, len(found_there))
        equal(len(set().union(*within)), hop["lost"])
        verified = subprocess.run([ACCELTRACE, "verify", self.trace], capture_output=True,
                                  text=True, check=False, env={**os.environ, "COLUMNS": "300"})
        assert f"bpf-stacks: {hop['lost']} event" in verified.stdout, verified
        return hop, len(spans)


@test
def stacks_for_which_the_ring_has_no_room_are_counted():
    # The frames of this many new stacks at once exceed the ring, 16 MiB, but all of them are fewer
    # than the limit of numbered ones.
    drive = Drive(path("full"), "10", "0", "0", "13000")
    drive.go()
    for _ in range(2):
        drive.signal(signal.SIGSTOP)
        drive.go()
        drive.signal(signal.SIGCONT)
        equal(drive.recording.ask(f"pid {drive.child.pid}"), "ok")
        drive.recording.drain()  # to free the ring in between
    hop, spans = drive.stop()
    assert hop["lost"] > 0 and spans > 0, hop
    # Stacks that fit are recorded.
    assert hop["out"] > 13_000, hop


@test
def more_stacks_than_have_a_number_are_counted():
    drive = Drive(path("many"), "10", "0", "0", "2000")
    # Until hardly any more is written: a busy machine loses calls with their stacks.
    sizes, full = [], 5 * 50_000
    while len(sizes) < 36 or (sizes[-1] - sizes[-6] > full and len(sizes) < 160):
        drive.go()
        equal(drive.recording.ask(f"pid {drive.child.pid}"), "ok")
        drive.recording.drain()  # the ring has space for 10,000
        sizes.append(os.path.getsize(drive.trace))
    turns = len(sizes)
    hop, _ = drive.stop()
    # Each has more than 20 frames; those of Order and Descend are two.
    most = MOST_FRAMES // 20
    assert hop["in"] > most + turns * 11, hop
    assert hop["lost"] >= hop["in"] - turns * 11 - most, hop
    frames = query(drive.trace, "SELECT count(*) FROM stack_frames", lossy=True)[0][0]
    assert MOST_FRAMES // 2 < frames <= MOST_FRAMES, frames
    # Numbered stacks stay.
    assert sites(report(drive.trace)["call_sites"])["shop::Order(int)"][0] > 4 * turns


@test
def the_service_gives_a_user_his_own_processes_stacks():
    with Service() as service:
        for file in (APP, LIBRARY):
            copy = shutil.copy(file, service.folder.name)
            os.chmod(copy, 0o755)
        os.symlink(service.path("libaxl.so"), service.path("libaxl.so.0"))
        app = [service.path("axl-stack-app"), "30", "20", "5"]
        environment = {"LD_LIBRARY_PATH": service.folder.name}

        def begin():
            # pylint: disable=consider-using-with
            return subprocess.Popen(app, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                    env=environment)

        def use(child):
            print(file=child.stdin, flush=True)
            equal(child.stdout.readline(), "done\n")

        def mapped(child):
            while True:
                with open(f"/proc/{child.pid}/maps", encoding="ascii") as maps:
                    if "libaxl" in maps.read():
                        return
                time.sleep(0.01)

        foreign = begin()
        mapped(foreign)

        def record_own():
            client, child = service.client(), begin()
            mapped(child)
            session = client.ask(output(service, "own"), cmd="start", no_device=True, stacks=True,
                                 pids=[child.pid])["session"]
            refused = asked(client, cmd="pid", session=session, pid=foreign.pid)
            use(child)
            use(foreign)
            done = client.ask(cmd="stop", session=session)["summary"]
            child.communicate()
            return [done["error"], done["lost"], done["bad"], refused.get("error", "")]

        error, lost, bad, refused = as_nobody(record_own)
        equal((error, lost, bad), ("", 0, 0))
        assert "does not run as you" in refused, refused
        foreign.communicate()
        found = report(service.path("own"))["call_sites"]
        equal(sites(found), {"shop::Order(int)": (30, 0), "shop::Till::Pay(int)": (20, 20),
                             "shop::Descend(int)": (1, 0)})
        equal((found["without"], {site["object"] for site in found["sites"]}), (0, {app[0]}))


@test
def it_is_refused_where_no_call_can_have_one():
    recording = Recording("--output", path("refused"), "--no-device", "--probes", "clock",
                          "--stacks")
    assert "--stacks: no API calls are recorded" in recording.first, recording.first
    assert recording.end()[0] != 0


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
    # Each call comes from the program, except those that another function of the library makes,
    # which has no frame pointers here.
    equal(query(trace, f"""SELECT name, count(*) FROM api JOIN call_stacks USING (correlation)
        JOIN stack_frames f USING (stack) WHERE is_site AND f.object != '{calls}' GROUP BY 1"""),
          query(trace, """SELECT 'cuMemcpyHtoDAsync_v2', count(*) FROM api
        WHERE name = 'cuMemcpyHtoD_v2'"""))


if __name__ == "__main__":
    sys.exit(run(tests))
