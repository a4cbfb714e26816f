# SPDX-License-Identifier: Apache-2.0
"""Compares other tracers with this one in the same run: events of a program natively (nanoseconds,
and instructions by callgrind), events of the driver in the guest, and the lower bounds of both.
"""

import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import bench
import collection_runs as runs_of

HERE = f"{bench.REPO}/tests/bench"
PACKAGES = ("lttng-tools", "liblttng-ust-dev", "trace-cmd", "linux-perf", "valgrind")


def install():
    """The other tools, from Debian packages; missing ones are reported and omitted."""
    missing = [name for name in PACKAGES if subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status}", name], capture_output=True, text=True,
        check=False).stdout != "installed"]
    if not missing:
        return
    sudo = [] if os.getuid() == 0 else ["sudo"]
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "--yes", "--no-install-recommends", *missing]):
        done = subprocess.run([*sudo, "apt-get", "-q", *words], env=env, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            print(f"# no {' '.join(missing)}: {done.stderr.strip()[-200:]}", file=sys.stderr)
            return


class Program:
    """tests/bench/user_events, built where the library is found."""

    def __init__(self, folder):
        self.path = f"{folder}/user_events"
        source = f"{HERE}/user_events"
        words = ["gcc", "-O2", "-I", bench.REPO, "-I", source, "-o", self.path,
                 f"{source}/user_events.c", "-L", f"{bench.REPO}/build/lib", "-laxl",
                 f"-Wl,-rpath,{bench.REPO}/build/lib"]
        lttng = ["-DWITH_LTTNG", "-llttng-ust", "-ldl"]
        self.has_lttng = subprocess.run([*words, *lttng], capture_output=True,
                                        check=False).returncode == 0
        if not self.has_lttng:
            subprocess.run(words, check=True)

    def times(self, kind, count, rounds=5, env=None):
        """The best of several runs, because the machine may be busy."""
        best = {}
        for _ in range(rounds):
            done = subprocess.run([self.path, kind, str(count)], check=True, capture_output=True,
                                  text=True, env=env)
            figures = json.loads(done.stdout)
            if not best or figures["ns"] < best["ns"]:
                best = figures
        return best

    def instructions(self, kind, env=None):
        """Instructions per event: the difference that a thousand more events make."""
        counted = []
        for count in (2000, 6000):
            done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                                   self.path, kind, str(count)], check=True, capture_output=True,
                                  text=True, env=env)
            counted.append(int(re.search(r"Collected : (\d+)", done.stderr).group(1)))
        return (counted[1] - counted[0]) / 4000


class LttngSession:
    """A private session daemon, which ends with this process."""

    def __init__(self, folder):
        self.folder = folder
        self.env = {**os.environ, "LTTNG_HOME": folder, "HOME": folder,
                    "LTTNG_UST_REGISTER_TIMEOUT": "10000"}

    def run(self, *words):
        subprocess.run(["lttng", *words], check=True, capture_output=True, env=self.env)

    def __enter__(self):
        subprocess.run(["lttng-sessiond", "--daemonize", "--no-kernel", "--pidfile",
                        f"{self.folder}/pid"], check=True, capture_output=True, env=self.env)
        self.run("create", "bench", f"--output={self.folder}/trace")
        self.run("enable-channel", "-u", "ch", "--num-subbuf=8", "--subbuf-size=4M")
        self.run("enable-event", "-u", "-c", "ch", "acceltrace_bench:*")
        self.run("start")
        return self

    def __exit__(self, *_):
        subprocess.run(["lttng", "destroy", "bench"], check=False, capture_output=True,
                       env=self.env)
        with open(f"{self.folder}/pid", encoding="ascii") as file:
            os.kill(int(file.read()), 15)


def floors(suite, program, count):
    """Lower bounds of any tracer in this run."""
    nothing = program.times("nothing", count)
    for kind, text in (("rdtsc", "bare rdtsc"), ("clock", "vDSO clock_gettime"),
                       ("syscall", "null system call"), ("memcpy", "memcpy of 4 KiB")):
        figures = program.times(kind, count)
        suite.row(f"floor: {text}", figures["ns"] - nothing["ns"], "ns")
    return nothing


def ring_event(suite):
    """This tracer through shared memory, by the program of tests/bench/rings: (ns,
    instructions).
    """
    program = f"{bench.REPO}/build/test/axl-ring-cost"
    ns = min(float(subprocess.run([program, "10000000", "pair"], check=True, capture_output=True,
                                  text=True).stdout.split()[0]) for _ in range(5))
    counted = []
    for count in (102400, 204800):
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                               program, str(count), "pair"], check=True, capture_output=True,
                              text=True)
        counted.append(int(re.search(r"Collected : (\d+)", done.stderr).group(1)))
    instructions = (counted[1] - counted[0]) / 102400
    suite.row("shared-memory event: time", ns, "ns")
    suite.row("shared-memory event: instructions", instructions, "")
    return ns, instructions


def user_events(suite):
    count = 200_000 if bench.QUICK else 1_000_000
    with tempfile.TemporaryDirectory(prefix="collection-") as folder:
        program = Program(folder)
        nothing = floors(suite, program, count)
        empty = program.instructions("nothing")
        off = program.times("mark", count)
        suite.row("event switched off (a mark): time", off["ns"] - nothing["ns"], "ns")
        suite.row("event switched off (a mark): instructions of the whole call",
                  program.instructions("mark") - empty, "")
        if not program.has_lttng:
            suite.row("LTTng-UST event: instructions", float("nan"), "", None)
            return
        with LttngSession(folder) as session:
            on = program.times("lttng", count, env=session.env)
            instructions = program.instructions("lttng", env=session.env) - empty
        suite.row("LTTng-UST event: time", on["ns"] - nothing["ns"], "ns")
        suite.row("LTTng-UST event: instructions", instructions, "")
        ring_ns, ring_instructions = ring_event(suite)
        suite.row("LTTng-UST event, shared-memory event = 1: time",
                  (on["ns"] - nothing["ns"]) / ring_ns, "", ">= 6")
        suite.row("LTTng-UST event, shared-memory event = 1: instructions",
                  instructions / ring_instructions, "", ">= 6")


def tracepoints():
    """The tracepoints that the daemon uses, from the source of its programs."""
    with open(f"{bench.REPO}/daemon/bpf/driver.bpf.h", encoding="ascii") as file:
        names = set(re.findall(r'SEC\("(?:raw_tp|tp_btf|raw_tracepoint)/(axl_\w+)"\)', file.read()))
    events = []
    for path in glob.glob(f"{bench.REPO}/kmod/axl_trace_*.h"):
        with open(path, encoding="ascii") as file:
            events += re.findall(r"(?:DEFINE|TRACE)_EVENT\w*\((?:axl_\w+,\s*)?(axl_\w+)",
                                 file.read())
    return sorted(names & set(events))


WAYS = {"raw_tp": "by a BPF program on a raw tracepoint, as the daemon's are",
        "tp_btf": "... by one with BTF types", "tp": "... by one on a classic tracepoint",
        "ftrace": "... by ftrace", "perf": "... by a sampled event of perf"}


def driver_events(suite):
    # Beginning and ending a recording varies by a million instructions.
    few, many, times = (500, 20500, 3) if bench.QUICK else (500, 40500, 5)
    perf = next(iter(sorted(glob.glob("/usr/bin/perf_*"), reverse=True)), "/usr/bin/perf")
    folder = tempfile.mkdtemp(prefix="collection-")
    try:
        guest = f"{HERE}/collection_tools_guest.sh"
        files = [guest, perf, "/usr/bin/trace-cmd", *(f"{runs_of.BIN}/{name}" for name in (
            "acceltrace", "acceltraced", "axl-observed")),
                 f"{bench.REPO}/build/test/axl-tracepoint-cost"]
        words = [f"{bench.REPO}/scripts/vm", "--sealed", "--icount", "--timeout", "1800",
                 "--share", folder]
        for file in files:
            if os.path.exists(file):
                words += ["--file", file]
        done = subprocess.run([*words, "--", "sh", guest, folder, perf, str(few), str(many),
                               str(times), *tracepoints()], check=False, cwd=bench.REPO,
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"the guest failed ({done.returncode}): {done.stderr[-1500:]}")
        spent = {}
        with open(f"{folder}/times", encoding="ascii") as file:
            for line in file:
                tool, launches, ns, status = line.split()
                if status == "0":
                    spent.setdefault((tool, int(launches)), []).append(int(ns))
        with open(f"{folder}/ways", encoding="ascii") as file:
            ways = dict(line.split() for line in file)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

    for way, name in WAYS.items():
        ns = float(ways.get(way, -1))
        suite.row(f"an event of task_rename, {name}",
                  ns if ns >= 0 else float("nan"), "instr")

    def each(tool):
        if (tool, few) not in spent or (tool, many) not in spent:
            return float("nan")
        more = statistics.median(spent[tool, many]) - statistics.median(spent[tool, few])
        return more / (many - few)

    base = each("plain")
    suite.row("a launch, not recorded", base, "instr")
    cost = {tool: each(tool) - base for tool in ("acceltrace", "acceltrace-bpf", "ftrace",
                                                     "trace-cmd", "perf")}
    suite.row("driver events of a launch, whole path: acceltrace", cost["acceltrace"], "instr")
    suite.row("the same by BPF programs on its tracepoints", cost["acceltrace-bpf"], "instr")
    suite.row("the same tracepoints by ftrace and cat", cost["ftrace"], "instr")
    suite.row("the same tracepoints by trace-cmd", cost["trace-cmd"], "instr")
    suite.row("the same tracepoints by perf record", cost["perf"], "instr")
    for ours, way in (("acceltrace-bpf", "by BPF"), ("acceltrace", "by the driver's ring")):
        suite.row(f"driver event {way}: ours, ftrace and its reader = 1",
                  cost[ours] / cost["ftrace"], "", "<= 0.7")
        suite.row(f"driver event {way}: ours, perf record = 1", cost[ours] / cost["perf"], "",
                  "<= 0.3")
