# SPDX-License-Identifier: Apache-2.0
"""Cases of the analysis suite: programs, properties and results."""

import json
import os
import random
import shutil
import subprocess
import tempfile

import bench

BIN = f"{bench.REPO}/build/bin"
ACCELTRACE = f"{BIN}/acceltrace"
CASES_A_GUEST = 25
STEP = 1.25

# The device's defaults; pcie-bandwidth is that of its link.
DEFAULTS = {"pcie-bandwidth": 15754, "pcie-latency-ns": 600, "pcie-tags": 64,
            "dram-bandwidth": 32000, "dram-latency-ns": 60, "dram-miss-ps": 28000,
            "dram-conflict-ps": 45000, "dram-rrd-ps": 5000, "scratch-bandwidth": 256000,
            "matrix-rate": 1000, "vector-rate": 1000, "dispatch-ns": 120}
# Properties that are F times as large, or 1 / F, if a resource is F times as fast.
MORE = {"pcie.bandwidth": ["pcie-bandwidth"], "pcie.tags": ["pcie-tags"],
        "dram.bandwidth": ["dram-bandwidth"], "scratchpad": ["scratch-bandwidth"],
        "matrix.rate": ["matrix-rate"], "vector.rate": ["vector-rate"]}
LESS = {"pcie.latency": ["pcie-latency-ns"], "dram.latency": ["dram-latency-ns"],
        "dram.rowcost": ["dram-miss-ps", "dram-conflict-ps", "dram-rrd-ps"],
        "dispatch": ["dispatch-ns"]}
RESOURCES = [*MORE, *LESS]
# Runs that measure the host's own costs, besides one with unchanged but measured calls
# (submit_knob.h). Submission cannot be made cheaper, so the time that 1 - 1 / STEP more of its cost
# adds stands for the time that as much less of it saves. Waking cannot either, but a polling
# program does not wake up. A run in which everything else is STEP times as slow stands for a
# cheaper host in time that passes STEP times as fast; submission alone cannot gain more.
HOST_RUNS = {"base": "--submit-cost 1", "submit": f"--submit-cost {2 - 1 / STEP:g}",
             "poll": "--submit-cost 1 --poll"}
PARTS = ["matrix", "vector", "dram", "rows", "scratch", "copy-in", "copy-out", "latency",
         "dispatch", "host", "submit", "sync", "dram-latency"]
OTHER_DEVICES = [{}, {}, {}, {"pcie-tags": 8}, {"pcie-tags": 16, "pcie-latency-ns": 1500},
                 {"pcie-latency-ns": 2500}, {"dram-bandwidth": 8000}, {"scratch-bandwidth": 64000},
                 {"matrix-rate": 300}, {"vector-rate": 300}, {"dispatch-ns": 500},
                 {"pcie-bandwidth": 3938}, {"dram-latency-ns": 300}]
# Limiters that are rare, and devices on which they may occur.
SELDOM = [("dram-latency", {"dram-latency-ns": 400}), ("dispatch", {"dispatch-ns": 500}),
          ("copy-in", {"pcie-tags": 8, "pcie-latency-ns": 1500}), ("sync", {}), ("submit", {}),
          ("dram-latency", {"dram-latency-ns": 1000})]


def plan_line(ident, how, properties, command):
    """A line of the guest's plan."""
    words = " ".join(f"{name}={value}" for name, value in properties.items())
    return f"{ident}|{how}|{words}|{command}\n"


class Change:
    """A run with one property changed."""

    def __init__(self, ident, key, factor):
        self.ident, self.key, self.factor = ident, key, factor
        self.region_ns = 0
        self.predicted = None  # predicted, low, high


class Case:
    """One program on one device."""

    def __init__(self, ident, command, parts, own, factors):
        self.ident, self.command, self.parts, self.own = ident, command, parts, own
        self.properties = {**DEFAULTS, **own}
        self.changes = [Change(f"{ident}-{key}-{factor:g}", key, factor)
                        for key in RESOURCES for factor in factors.get(key, [STEP])]
        if "host" in parts:
            self.changes.append(Change(f"{ident}-host.speed-{STEP}", "host.speed", STEP))
        self.host_ns = {}
        self.region_ns = self.others_ns = 0
        self.limiter = None
        self.replay_error = 0
        self.error = ""

    def changed(self, change):
        properties = dict(self.properties)
        for name in MORE.get(change.key, []):
            properties[name] = max(1, round(properties[name] * change.factor))
        for name in LESS.get(change.key, []):
            properties[name] = round(properties[name] / change.factor)
        return properties

    def slowed(self):
        """The properties of a device that takes STEP times as long for everything."""
        properties = dict(self.properties)
        for name in (name for names in MORE.values() for name in names if name != "pcie-tags"):
            properties[name] = max(1, round(properties[name] / STEP))
        for name in (name for names in LESS.values() for name in names):
            properties[name] = round(properties[name] * STEP)
        return properties

    def host_plan(self):
        for name, more in HOST_RUNS.items():
            yield plan_line(f"{self.ident}-host-{name}", "plain", self.properties,
                       f"{self.command} {more}")
        yield plan_line(f"{self.ident}-others", "plain", self.slowed(),
                        f"{self.command} --faster-host {1 / STEP}")

    def plan(self):
        # The first run has cold caches.
        yield plan_line(f"{self.ident}-warm", "plain", self.properties, self.command)
        yield plan_line(f"{self.ident}-plain", "plain", self.properties, self.command)
        yield plan_line(self.ident, "record", self.properties, self.command)
        for change in self.changes:
            more = f" --faster-host {change.factor}" if change.key == "host.speed" else ""
            yield plan_line(change.ident, "plain", self.changed(change), self.command + more)
        yield from self.host_plan()

    def true_gains(self):
        """For each resource at STEP, the share of the run that it saved."""
        gains = {change.key: 1 - change.region_ns / self.region_ns for change in self.changes
                 if change.factor == STEP and change.region_ns}
        base_ns = self.host_ns["base"]
        if all(self.host_ns.values()):
            gains["host.submit"] = self.host_ns["submit"] / base_ns - 1
            if self.others_ns:
                gains["host.submit"] = min(gains["host.submit"],
                                           1 - self.others_ns / STEP / self.region_ns)
            gains["host.wake"] = (1 - 1 / STEP) * (1 - self.host_ns["poll"] / base_ns)
        return gains


class TwinCase:
    """A planted slowness: run, recorded, and run again without it."""

    def __init__(self, name, kind):
        self.ident, self.kind = f"twin-{name}", kind
        self.command = f"axl-synth --twin {name} --rounds 10"
        self.region_ns = self.mended_ns = 0
        self.advice = []
        self.error = ""

    def plan(self):
        words = " ".join(f"{name}={value}" for name, value in DEFAULTS.items())
        for ident, how, more in ((f"{self.ident}-warm", "plain", ""),
                                 (f"{self.ident}-plain", "plain", ""),
                                 (self.ident, "record", ""),
                                 (f"{self.ident}-mended", "plain", " --mended"),
                                 (f"{self.ident}-healthy", "record", " --mended")):
            yield f"{ident}|{how}|{words}|{self.command}{more}\n"

    def read(self, folder):
        self.region_ns = region_of(folder, f"{self.ident}-plain")
        self.mended_ns = region_of(folder, f"{self.ident}-mended")
        report = ask("report", f"{folder}/{self.ident}.atrace")
        if not self.region_ns or not self.mended_ns or "advice" not in report:
            self.error = report.get("error") or "no figures"
            return
        self.advice = report["advice"]


# The part of a healthy run, the resource that does its work, and the range of its speed.
HEALTHY_PARTS = {"matrix": ("matrix.rate", 150, 1000), "vector": ("vector.rate", 150, 1000),
                 "scratch": ("scratchpad", 32000, 256000),
                 "dram": ("dram.bandwidth", 4000, 32000),
                 "copy-in": ("pcie.bandwidth", 1000, 8000),
                 "copy-out": ("pcie.bandwidth", 1000, 8000)}
# All other resources are ample.
PLENTY = {"pcie-bandwidth": 15754, "pcie-latency-ns": 40, "pcie-tags": 1024,
          "dram-bandwidth": 2000000, "dram-latency-ns": 4, "dram-miss-ps": 500,
          "dram-conflict-ps": 800, "dram-rrd-ps": 100, "scratch-bandwidth": 8000000,
          "matrix-rate": 20000, "vector-rate": 20000, "dispatch-ns": 4}
# Advice to reduce the resource's work, which the remaining time does not bound.
LESS_WORK = {"rows", "fusion", "link"}


class HealthyCase:
    """One resource does nearly all of the work, so advice that keeps the work the same cannot gain
    much.
    """

    def __init__(self, number, seed):
        source = random.Random(f"healthy/{seed}/{number}")
        part, (self.key, low, high) = list(HEALTHY_PARTS.items())[number % len(HEALTHY_PARTS)]
        self.ident = f"healthy-{number}"
        self.command = (f"axl-synth --rounds {source.randint(4, 12)} --parts "
                        f"{part}:{source.uniform(200, 600):.1f}")
        self.properties = {**PLENTY, **{name: source.randint(low, high) for name in MORE[self.key]}}
        self.region_ns = self.faster_ns = 0
        self.advice, self.limiter, self.error = [], None, ""

    def plan(self):
        faster = dict(self.properties)
        for name in MORE[self.key]:
            faster[name] = round(faster[name] * STEP)
        for ident, how, properties in ((f"{self.ident}-warm", "plain", self.properties),
                                       (f"{self.ident}-plain", "plain", self.properties),
                                       (self.ident, "record", self.properties),
                                       (f"{self.ident}-faster", "plain", faster)):
            words = " ".join(f"{name}={value}" for name, value in properties.items())
            yield f"{ident}|{how}|{words}|{self.command}\n"

    def read(self, folder):
        self.region_ns = region_of(folder, f"{self.ident}-plain")
        self.faster_ns = region_of(folder, f"{self.ident}-faster")
        report = ask("report", f"{folder}/{self.ident}.atrace")
        if not self.region_ns or not self.faster_ns or "advice" not in report:
            self.error = report.get("error") or "no figures"
            return
        self.advice, self.limiter = report["advice"], report["limiter"]

    def rest(self):
        """The share of the run that the resource does not account for."""
        return 1 - (1 - self.faster_ns / self.region_ns) / (1 - 1 / STEP)

    def false_alarms(self):
        """Advice that promises more than all of the rest, without reducing the work."""
        return [row for row in self.advice
                if row["kind"] not in LESS_WORK and row["share"] > self.rest() + 0.01]


def healthy():
    return [HealthyCase(number, os.environ.get("SEED", "1"))
            for number in range(int(os.environ.get("HEALTHY", "36")))]


def twins():
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{bench.REPO}/build/lib"}
    done = subprocess.run([f"{BIN}/axl-synth", "--list-twins"], capture_output=True, text=True,
                          check=True, env=environment)
    return [TwinCase(*line.split()) for line in done.stdout.splitlines()]


def text_of_parts(parts):
    return ",".join(f"{name}:{us:.1f}" for name, us in parts.items())


def command_of(parts, overlap, sync):
    return (f"axl-synth --rounds 10 --parts {text_of_parts(parts)}" +
            (" --overlap" if overlap else "") + (" --sync-every 1" if sync else ""))


def by_part():
    """One case per part: 60 us of it together with 25 us of two others."""
    for number, part in enumerate(PARTS):
        others = [PARTS[(number + 3) % 9], PARTS[(number + 5) % 9]]
        parts = {part: 60, **{other: 25 for other in others if other != part}}
        own = {"copy-in": {"pcie-tags": 8}}.get(part, {}) if number % 2 else {}
        yield (part, command_of(parts, number % 2 == 1, number % 3 == 0), parts, own,
               {key: [0.5, STEP, 2, 4] for key in RESOURCES[number % 3::3]})


def drawn(count, seed):
    """One part has 5 to 50 % more than its even share among others, on some device."""
    for number in range(count):
        source = random.Random(f"{seed}/{number}")
        severity = source.uniform(0.05, 0.5)
        names = source.sample(PARTS, source.randint(2, 4))
        device = source.choice(OTHER_DEVICES)
        if number % 4 == 3:
            most, device = source.choice(SELDOM)
            names = [most, *(name for name in names if name != most)]
        even_us = source.uniform(80, 200) / len(names)
        parts = {name: even_us * (1 - severity) * source.uniform(0.3, 1) for name in names}
        parts[names[0]] = even_us * (1 + severity * (len(names) - 1))
        keys = source.sample(RESOURCES, 3)
        yield (f"s{number}", command_of(parts, source.random() < 0.5, source.random() < 0.3), parts,
               device, {key: [0.5, STEP, 2, 4] for key in keys})


def chosen(quick):
    count = int(os.environ.get("CASES", "0" if quick else "60"))
    cases = [Case(*case) for case in by_part()]
    return cases + [Case(*case) for case in drawn(count, os.environ.get("SEED", "1"))]


def ask(*words):
    done = subprocess.run([ACCELTRACE, *words, "--json"], capture_output=True, text=True,
                          check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": done.stderr.strip()}


def region_of(folder, ident):
    try:
        with open(f"{folder}/{ident}.out", encoding="utf-8") as file:
            return json.loads(file.readline())["region_ns"]
    except (OSError, ValueError, KeyError):
        return 0


def read_case(folder, case):
    if not isinstance(case, Case):
        case.read(folder)
        return
    trace = f"{folder}/{case.ident}.atrace"
    case.region_ns = region_of(folder, f"{case.ident}-plain")
    if not case.region_ns or not os.path.exists(trace):
        try:
            with open(f"{folder}/{case.ident}.err", encoding="utf-8", errors="replace") as file:
                case.error = file.read()[-300:] or "no figures"
        except OSError:
            case.error = "not run"
        return
    case.host_ns = {name: region_of(folder, f"{case.ident}-host-{name}") for name in HOST_RUNS}
    case.others_ns = region_of(folder, f"{case.ident}-others")
    answer = ask("whatif", trace)
    if "limiter" not in answer:
        case.error = answer.get("error", "no answer")
        return
    case.limiter = answer["limiter"]
    case.replay_error = case.limiter["replay_error"]
    # A run begins with the first call that submits: earlier computations of the program are in its
    # own time, but in no prediction.
    # time, and in no prediction.
    outside_ns = region_of(folder, case.ident) - answer["recorded_ns"]
    for change in case.changes:
        change.region_ns = region_of(folder, change.ident)
        answer = ask("whatif", trace, "--without-tracer", "--set", f"{change.key}=x{change.factor}")
        if "predicted" in answer:
            change.predicted = tuple(answer["predicted"][name] + outside_ns
                                     for name in ("ns", "lo_ns", "hi_ns"))


def run_guest(cases, keep=None):
    """Runs all cases in one guest, or takes the results that KEEP left in FROM."""
    if os.environ.get("FROM"):
        for case in cases:
            read_case(f"{os.environ['FROM']}/out", case)
        return
    folder = tempfile.mkdtemp(prefix="analysis-")
    try:
        out = f"{folder}/out"
        os.mkdir(out)
        with open(f"{folder}/plan", "w", encoding="ascii") as plan:
            for case in cases:
                plan.writelines(case.plan())
        qmp = f"{folder}/qmp"
        words = [f"{bench.REPO}/scripts/vm", "--icount", "--unsealed", "--skip-idle",
                 "--timeout", "3000",
                 "--share", folder, "--device", "axl"]
        for word in ("-chardev", f"socket,id=qmpguest,path={qmp},server=on,wait=off",
                     "-device", "virtserialport,bus=vser.0,chardev=qmpguest,name=axl.qmp",
                     "-chardev", f"socket,id=qmpmon,path={qmp}", "-mon",
                     "chardev=qmpmon,mode=control"):
            words.append(f"--qemu-arg={word}")
        done = subprocess.run([*words, "--", "sh", f"{bench.REPO}/tests/bench/analysis_guest.sh",
                               f"{folder}/plan", out], check=False, cwd=bench.REPO,
                              capture_output=True, text=True)
        for case in cases:
            read_case(out, case)
            if case.error and done.returncode != 0:
                case.error += f"; the guest: {done.stderr[-500:]}"
        if keep:
            # Several guests in sequence: all of their outputs, and the plan of the last one.
            shutil.copytree(folder, keep, dirs_exist_ok=True, ignore=shutil.ignore_patterns("qmp"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
