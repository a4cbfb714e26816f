#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each probe script on real work, in the VM: probes_guest.py FOLDER; see tests/vm/probes.sh.

A script's counts are compared with independent ones: the device's own counters (perf stat),
/proc/interrupts, sysfs, a recording of acceltrace, the workload itself. BPFTRACE in the environment
names another bpftrace than the machine's.
"""

import glob
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402

FOLDER = sys.argv[1]
BPFTRACE = shlex.split(os.environ.get("BPFTRACE", "bpftrace"))
LIBRARY = os.path.join(REPO, "build", "lib", "libaxl.so")
TRANSFORMER = os.path.join(REPO, "build", "bin", "axl-transformer")
SYSFS = "/sys/class/axl/axl%d/%s"
COUNTERS = ("jobs", "interrupts", "h2d_bytes", "d2h_bytes", "h2d_commands", "d2h_commands",
            "matrix_commands", "vector_commands", "matrix_busy")
LIMIT_S = 1000
END = re.compile(r"^END\n\{\n(.*?)^\}\n", re.M | re.S)
test = tap.Cases()
seen = {}   # what each script printed
truth = {}  # what others counted meanwhile


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def nearly(got, wanted):
    """For events in interrupts: the kernel skips a program while another one runs on that CPU, more
    often on slow machines.
    """
    assert max(1, wanted // 2 - 2) <= got <= wanted, f"got {got!r}, wanted {wanted!r}"


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


def read(name):
    with open(name, encoding="utf-8") as file:
        return file.read()


def call(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, (argv, done)
    return done.stdout


def program(names):
    """Several scripts joined into one program, each with its own maps: starting bpftrace takes long
    in an emulated machine, running it does not.
    """
    texts, ends = [], []
    for name in names:
        text = read(os.path.join(HERE, name + ".bt")).split("\n", 1)[1]
        text = re.sub(r"@(\w+)", f"@{prefix(name)}\\1", text)
        # A program has one END.
        ends += re.findall(END, text)
        texts.append(re.sub(END, "", text))
    return "".join([*texts, "\nEND\n{\n", *ends, "}\n"])


def prefix(name):
    return name.replace("-", "_") + "__"


class Scripts:
    """Running scripts; stop() notes the maps and lines of each."""

    def __init__(self, *names, arguments=(), gated=True):
        self.names = names
        self.base = os.path.join(FOLDER, names[0])
        write(self.base + ".bt", program(names))
        argv = [*BPFTRACE, "-f", "json", "-o", self.base + ".json"]
        self.gated = gated
        if gated:
            # The child starts when all probes are attached; the scripts end with it.
            os.mkfifo(self.base + ".gate")
            self.held = os.open(self.base + ".gate", os.O_RDWR)
            argv += ["-c", f"/bin/sh {FOLDER}/gate {self.base}.gate"]
        self.errors = open(self.base + ".err", "w+", encoding="utf-8")  # pylint: disable=R1732
        self.process = subprocess.Popen([*argv, self.base + ".bt", *arguments],
                                        stdout=self.errors, stderr=self.errors)

    def attached(self):
        if self.gated:
            return os.path.exists(self.base + ".gate.open")
        mine = [entry for entry in json.loads(call("bpftool", "-j", "perf", "show"))
                if entry["pid"] == self.process.pid]
        return len(mine) >= read(self.base + ".bt").count("\nusdt:")

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def wait(self):
        limit = time.monotonic() + LIMIT_S
        while not self.attached():
            assert self.process.poll() is None, f"{self.names} ended: {self.said()}"
            assert time.monotonic() < limit, f"{self.names} are not attached: {self.said()}"
            time.sleep(0.2)

    def stop(self):
        if self.gated:
            os.close(self.held)
        else:
            self.process.send_signal(signal.SIGINT)
        status = self.process.wait(LIMIT_S)
        equal((self.names, status, self.said().strip()), (self.names, 0, ""))
        maps, lines = {}, []
        for line in read(self.base + ".json").splitlines():
            if not line.strip():
                continue
            entry = json.loads(line)
            if entry["type"] in ("map", "hist", "stats"):
                maps.update(entry["data"])
            elif entry["type"] == "printf":
                lines.append(entry["data"])
            elif entry["type"] == "lost_events":
                raise AssertionError(f"{self.names} lost events: {entry}")
        for name in self.names:
            begin = "@" + prefix(name)
            own = {"@" + key[len(begin):]: value for key, value in maps.items()
                   if key.startswith(begin)}
            seen[name] = own, "".join(lines).splitlines()


def total(histogram):
    """The number of values in a histogram, or in a whole map of them."""
    if isinstance(histogram, dict):
        return sum(total(one) for one in histogram.values())
    return sum(bucket["count"] for bucket in histogram)


def counted(stats):
    return sum(one["count"] for one in stats.values())


def maps_of(name):
    return seen[name][0]


def interrupts(device):
    """By vector, from the kernel's counts."""
    vectors = {irq: vector for vector, irq in enumerate(
        sorted(map(int, os.listdir(SYSFS % (device, "device/msi_irqs")))))}
    counts = {}
    for line in read("/proc/interrupts").splitlines()[1:]:
        number, *words = line.split()
        if number[:-1].isdigit() and int(number[:-1]) in vectors:
            counts[vectors[int(number[:-1])]] = sum(
                int(word) for word in words[:os.cpu_count()])
    return counts


def stats_of(device):
    folder = SYSFS % (device, "stats")
    return {name: int(read(os.path.join(folder, name))) for name in os.listdir(folder)}


def work_in_two_groups():
    """Two inferences at once, each in its own cgroup, surrounded by readings of all counters."""
    runs = []
    for group, tokens in (("one", 5), ("two", 9)):
        folder = f"/sys/fs/cgroup/probes-{group}"
        os.mkdir(folder)
        runs.append(f"(echo 0 >{folder}/cgroup.procs; exec {TRANSFORMER} --layers 2 "
                    f"--tokens {tokens}) >{FOLDER}/{group}.out & p{group}=$!")
        truth["group " + group] = os.stat(folder).st_ino
    before = interrupts(0)
    events = [f"axl_0/{name}/" for name in COUNTERS] + ["axl:axl_wake"]
    call("perf", "stat", "-x,", "-a", "-e", ",".join(events), "-o", FOLDER + "/stat", "--", "sh",
         "-e", "-c", "\n".join([*runs, "wait $pone", "wait $ptwo"]))
    truth["vectors"] = {vector: count - before.get(vector, 0)
                           for vector, count in interrupts(0).items()
                           if count != before.get(vector, 0)}
    for line in read(FOLDER + "/stat").splitlines():
        words = line.split(",")
        if len(words) > 2:
            truth[words[2].removeprefix("axl_0/").rstrip("/")] = int(words[0])
    for group in ("one", "two"):
        found = re.search(r"(\d+) jobs, (\d+) commands", read(f"{FOLDER}/{group}.out"))
        truth["jobs of " + group], truth["commands of " + group] = map(int, found.groups())


def everything():
    write(FOLDER + "/gate", ": >$1.open\nread -r line <$1\n:\n")
    write(SYSFS % (0, "trace_commands"), "1")
    one = Scripts(*(name for name in scripts()
                    if name not in ("api-time", "clock-residual", "trouble")), arguments=["1"])
    one.wait()
    work_in_two_groups()
    time.sleep(0.1)  # the driver reads the records of commands every 10 ms
    one.stop()
    write(SYSFS % (0, "trace_commands"), "0")

    two = Scripts("trouble", "clock-residual")
    calls = Scripts("api-time", arguments=[LIBRARY], gated=False)
    two.wait()
    calls.wait()
    call("acceltrace", "record", "-q", "-o", FOLDER + "/recorded", "--", TRANSFORMER,
         "--layers", "1", "--tokens", "3")
    calls.stop()
    write("/sys/module/axl/parameters/job_timeout_ms", "500")
    before = stats_of(1)
    done = subprocess.run([TRANSFORMER, "--device", "1"], capture_output=True, timeout=LIMIT_S,
                          check=False)
    equal(done.returncode, 1)
    two.stop()
    truth["trouble"] = {name: count - before[name] for name, count in stats_of(1).items()}


def scripts():
    return sorted(os.path.basename(name)[:-3] for name in glob.glob(HERE + "/*.bt"))


def sql(text):
    answer = json.loads(call("acceltrace", "query", "--json", FOLDER + "/recorded", text))
    return [tuple(row) for row in answer["rows"]]


@test
def each_script_is_tried_and_says_what_it_is_for():
    named = {function.__name__.replace("_", "-") for function in test}
    equal([name for name in scripts() if name not in named], [])
    assert len(scripts()) >= 10
    for name in scripts():
        text = read(f"{HERE}/{name}.bt")
        for word in ("Question: ", "Usage:    ", "Sample:\n *  "):
            assert "\n * " + word in text, (name, word)
        # The sample in the documentation of this script.
        sample = text[text.index("Sample:"):text.index("*/")]
        shown = set(re.findall(r"^ \*\s+(@\w+)", sample, re.M))
        assert shown and shown <= set(re.findall(r"@\w+", text[text.index("*/"):])), (name, shown)


@test
def submit_latency():
    maps = maps_of("submit-latency")
    equal(total(maps["@to_doorbell_us"]), counted(maps["@call_ns"]))
    jobs = sorted([truth["jobs of one"], truth["jobs of two"]])
    equal(len(maps["@call_ns"]), len(jobs))
    for got, wanted in zip(sorted(one["count"] for one in maps["@call_ns"].values()), jobs):
        nearly(got, wanted)


@test
def queue_depth():
    maps = maps_of("queue-depth")
    equal(total(maps["@depth"]), truth["jobs"])
    assert all(1 <= deepest <= 2048 for deepest in maps["@deepest"].values()), maps


@test
def dma_sizes():
    maps = maps_of("dma-sizes")
    equal(sum(maps["@copied_total"].values()), truth["h2d_bytes"] + truth["d2h_bytes"])
    equal(total(maps["@mapped_bytes"]), sum(maps["@mappings"].values()))
    assert total(maps["@mapped_bytes"]) > 0


@test
def waits():
    maps = maps_of("waits")
    equal((counted(maps["@waited_ns"]), total(maps["@waited_us"])),
          (truth["axl:axl_wake"], truth["axl:axl_wake"]))
    assert not maps.get("@waiting_since_ns") and not maps.get("@gave_up"), maps
    equal({name.split(",")[0] for name in maps["@waited_ns"]}, {"axl-transformer"})


@test
def interrupts_():
    maps = maps_of("interrupts")
    found = {tuple(map(int, key.split(","))): count for key, count in maps["@total"].items()}
    assert set(found) <= {(0, vector) for vector in truth["vectors"]}, (found, truth)
    assert 0 < sum(found.values()) <= sum(truth["vectors"].values()), (found, truth)
    nearly(sum(bucket["min"] * bucket["count"] for bucket in maps["@completions"]), truth["jobs"])


@test
def job_stages():
    maps = maps_of("job-stages")
    jobs = total(maps["@total_us"])
    nearly(jobs, truth["jobs"])
    stages = [maps.get(name, {"count": 0})["count"] for name in (
        "@submit_to_doorbell_ns", "@doorbell_to_interrupt_ns", "@interrupt_to_completion_ns")]
    equal(stages, [jobs] + [jobs - maps.get("@polled", 0)] * 2)


@test
def slow_jobs():
    maps, lines = seen["slow-jobs"]
    nearly(maps["@jobs"], truth["jobs"])
    equal(maps["@slow"], maps["@jobs"])
    rows = [line.split() for line in lines[1:]]
    equal((len(rows), {len(row) for row in rows}), (maps["@slow"], {10}))
    for row in rows:
        # Each stage is rounded down.
        assert 0 <= int(row[6]) - sum(map(int, row[7:])) <= 2, row


@test
def wake_latency():
    maps = maps_of("wake-latency")
    # On a slow guest with a fast device, everything is done before the wait begins.
    equal(total(maps.get("@latency_us") or {}) + sum((maps.get("@no_sleep") or {}).values()),
          truth["axl:axl_wake"])


@test
def queue_gaps():
    maps = maps_of("queue-gaps")
    empty = maps.get("@empty_us") or {}
    found = total(empty) + sum((maps.get("@not_empty") or {}).values())
    # All but the first job of each queue of each program.
    first = truth["jobs"] - found
    assert 2 <= first <= 32, first
    equal(counted(maps.get("@empty_ns") or {}), total(empty))


@test
def cgroup_share():
    maps = maps_of("cgroup-share")
    equal(set(map(int, maps["@jobs"])), {truth["group " + name] for name in ("one", "two")})
    for name in ("one", "two"):
        nearly(maps["@jobs"][str(truth["group " + name])], truth["jobs of " + name])
    assert 0 < sum(maps["@copied_bytes"].values()) <= truth["h2d_bytes"] + truth["d2h_bytes"]
    assert all(busy > 0 for busy in maps["@busy_ns"].values())


@test
def engine_time():
    maps = maps_of("engine-time")
    by_engine = [0] * 4
    ticks = [0] * 4
    for key, stats in maps["@ticks"].items():
        engine = int(key.split(",")[1])
        by_engine[engine] += stats["count"]
        ticks[engine] += stats["total"]
    equal(by_engine, [truth[f"{name}_commands"] for name in ("h2d", "d2h", "matrix", "vector")])
    assert ticks[2] >= truth["matrix_busy"] > 0, (ticks, truth)
    assert not maps.get("@failed") and not maps.get("@lost_records"), maps


@test
def api_time():
    maps = maps_of("api-time")
    equal({name: stats["count"] for name, stats in maps["@time_ns"].items()},
          dict(sql("SELECT name, COUNT(*) FROM api GROUP BY name")))
    equal(sum((maps.get("@failed") or {}).values()),
          sql("SELECT COUNT(*) FROM api WHERE result != 0")[0][0])


@test
def clock_residual():
    maps = maps_of("clock-residual")
    recorded = sql("SELECT samples + samples_rejected FROM clocks WHERE device = 'axl0'")[0][0]
    # The trace omits samples taken while it was set up.
    assert recorded <= maps["@samples"]["0"] <= recorded + 4, (maps["@samples"], recorded)
    equal(total(maps["@bracket_ns"]["0"]), maps["@samples"]["0"])
    hz = maps["@ticks"]["0"] * 1e9 / maps["@host_ns"]["0"]
    nominal = int(read(SYSFS % (0, "clock_hz")))
    assert abs(hz / nominal - 1) < 0.5, (hz, nominal)


@test
def trouble():
    maps, lines = seen["trouble"]
    counts = truth["trouble"]
    assert counts["job_timeouts"] > 0 and counts["context_resets"] > 0, counts
    equal((maps["@timeouts"]["1"], maps["@context_resets"]["1"]),
          (counts["job_timeouts"], counts["context_resets"]))
    nearly(sum(maps["@failed_jobs"].values()), counts["failed_jobs"] + counts["canceled_jobs"])
    # axl0 was healthy, and each event has its line.
    equal([line for line in lines if not line.startswith("axl1: ")], [])
    equal(len(lines), sum(sum((counts or {}).values()) for counts in maps.values()))


if __name__ == "__main__":
    interrupts_.__name__ = "interrupts"
    everything()
    sys.exit(tap.run(test))
