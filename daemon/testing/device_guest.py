#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon with a device, in the VM: device_guest.py FOLDER. Called by tests/vm/daemon.sh."""

import errno
import glob
import json
import os
import subprocess
import sys
import time

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), "tests/driver"]
import private_test  # noqa: E402
from monitor import inject, monitor_port  # noqa: E402
from private_test import balanced, equal  # noqa: E402
from recording import Client, DAEMON, REPO, Recording, daemon_for_others, summary, tap  # noqa: E402

ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
WORKLOAD = os.path.join(REPO, "build", "bin", "axl-transformer")
FOLDER = sys.argv[1]
test = tap.Cases()


def path(name):
    return os.path.join(FOLDER, name)


def refused(*options, daemon=DAEMON, **popen):
    """Returns the output of a daemon that must fail to start."""
    done = subprocess.run([daemon, "--private", "--system", "--output", "/tmp/none", *options],
                          capture_output=True, text=True, timeout=60, check=False, **popen)
    equal((done.returncode, len(done.stderr.splitlines())), (1, 1))
    assert not os.path.exists("/tmp/none")
    return done.stderr


def device_folder():
    return os.path.realpath(glob.glob("/sys/bus/pci/drivers/axl/0000:*")[0])


@test
def a_workload_is_recorded_whole():
    recording = Recording("--output", path("whole"), "--", "axl-transformer")
    equal(recording.first, "ready")
    text, status = recording.run(WORKLOAD)
    equal(status, 0)
    done, status, _ = recording.stop(0)
    equal((status, done["error"], done["lost"], done["bad"]), (0, "", 0, 0))
    trace = summary(path("whole"))
    words = next(line for line in text.splitlines() if " jobs, " in line).split()
    equal((trace["rows"]["jobs"], trace["rows"]["commands"]), (int(words[0]), int(words[2])))
    for kind in ("KIND_SUBMIT", "KIND_DOORBELL", "KIND_SUBMIT_END", "KIND_COMPLETE"):
        equal((kind, trace["host"][kind]), (kind, trace["rows"]["jobs"]))
    assert all(trace["probes"].values()), trace["probes"]
    assert trace["rows"]["clocks"] >= 64 and trace["rows"]["counters"] >= 2
    equal((trace["footer"], trace["gaps"], trace["devices"]), (True, 0, ["axl0"]))
    assert trace["probes"]["driver:axl0"] and "tp:axl_job" not in trace["probes"]
    balanced(trace)


@test
def the_drivers_ring_and_its_tracepoints_say_the_same():
    traces = []
    for name, probes in (("ring", "driver"), ("points", "tracepoints")):
        recording = Recording("--output", path(name), "--probes", f"api,{probes},device,clock",
                              "--", "axl-transformer")
        equal(recording.first, "ready")
        equal(recording.run(WORKLOAD)[1], 0)
        done, status, _ = recording.stop(0)
        equal((status, done["error"], done["lost"], done["bad"]), (0, "", 0, 0))
        traces.append(summary(path(name)))
        balanced(traces[-1])
    ring, points = traces
    assert ring["probes"]["driver:axl0"] and points["probes"]["tp:axl_job"]
    for trace in traces:  # interrupts are what the timing made them
        assert 0 < trace["host"].pop("KIND_IRQ") <= trace["rows"]["jobs"], trace["host"]
    equal(ring["host"], points["host"])
    equal(ring["rows"]["jobs"], points["rows"]["jobs"])


@test
def calls_that_were_not_asked_for_are_not_missed():
    # Short recordings, whose submissions are read at their end.
    for number in range(6):
        name = path(f"driver{number}")
        subprocess.run([ACCELTRACE, "record", "-q", "-o", name, "--probes", "driver,clock", "--",
                        "axl-hello"], stdout=subprocess.DEVNULL, timeout=120, check=True)
        done = subprocess.run([ACCELTRACE, "verify", name], capture_output=True, text=True,
                              timeout=120, check=False)
        equal((done.returncode, done.stderr), (0, ""))
        assert summary(name)["host"]["KIND_SUBMIT"] > 0


@test
def recordings_of_the_service_share_a_device_and_keep_apart():
    os.mkdir("/tmp/service")
    service = subprocess.Popen([DAEMON, "--socket", "/tmp/service/control"],
                               stderr=subprocess.DEVNULL)
    while not os.path.exists("/tmp/service/live.sock"):
        time.sleep(0.05)
    client = Client("/tmp/service/control")
    gates, children = [], []
    for number in range(2):
        gate_read, gate_write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(gate_write)
            os.read(gate_read, 1)
            os.dup2(os.open(path(f"out{number}"), os.O_WRONLY | os.O_CREAT), 1)
            os.execv(WORKLOAD, [WORKLOAD])
        os.close(gate_read)
        gates.append(gate_write)
        children.append(child)
        file = os.open(path(f"share{number}"), os.O_RDWR | os.O_CREAT)
        equal(client.ask(file, cmd="start", pids=[child])["session"], number + 1)
    for gate in gates:
        os.close(gate)
    for child in children:
        equal(os.waitpid(child, 0)[1], 0)
    for number in range(2):
        done = client.ask(cmd="stop", session=number + 1)["summary"]
        equal((done["error"], done["lost"], done["bad"]), ("", 0, 0))
        trace = summary(path(f"share{number}"))
        with open(path(f"out{number}"), encoding="utf-8") as output:
            words = next(line for line in output if " jobs, " in line).split()
        equal((trace["rows"]["jobs"], trace["rows"]["commands"]), (int(words[0]), int(words[2])))
        equal(list(trace["api_by_pid"]), [str(children[number])])
        balanced(trace)
    service.terminate()
    equal(service.wait(timeout=60), 0)


def answer(*argv):
    """Returns the JSON output of acceltrace for a trace without findings."""
    done = subprocess.run([ACCELTRACE, *argv, "--json"],
                          capture_output=True, text=True, timeout=120, check=False)
    equal((argv, done.returncode, done.stderr), (argv, 0, ""))
    return json.loads(done.stdout)


def ran_in(group, times):
    """Runs the workload that many times, gated, in its own control group."""
    os.mkdir(group)
    # pylint: disable=consider-using-with
    child = subprocess.Popen(
        ["sh", "-c", 'echo $$ >"$1/cgroup.procs"; echo; read x; shift; n=$1; shift; '
         'while [ $n -gt 0 ]; do "$@" >/dev/null || exit 1; n=$((n - 1)); done', "sh", group,
         str(times), WORKLOAD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    equal(child.stdout.readline(), "\n")
    return child


@test
def time_of_a_device_is_of_the_control_group_that_used_it():
    root = "/tmp/groups"
    os.mkdir(root)
    subprocess.run(["mount", "-t", "cgroup2", "none", root], check=True)
    children = [ran_in(f"{root}/{name}", times) for name, times in (("one", 1), ("three", 3))]
    recording = Recording("--output", path("groups"), "--sources", "cgroup,pcie,numa")
    for child in children:
        equal(recording.ask(f"pid {child.pid}"), "ok")
    for child in children:
        child.communicate("x\n", timeout=300)
        equal(child.returncode, 0)
    done, status, _ = recording.stop()
    equal((status, done["error"], done["lost"], done["bad"]), (0, "", 0, 0))
    found = answer("report", path("groups"))["system"]
    groups = {each["group"]: each for each in found["groups"]}
    equal(sorted(groups), ["/one", "/three"])
    equal({name: each["processes"] for name, each in groups.items()}, {"/one": 2, "/three": 4})
    for name, wanted in groups.items():
        rows = answer("query", path("groups"), f"""SELECT count(DISTINCT job), count(*),
            sum(end_ns - start_ns) FROM commands WHERE correlation IN (SELECT correlation
            FROM jobs WHERE pid IN
            (SELECT pid FROM process_groups WHERE control_group = '{name}'))""")["rows"][0]
        equal((name, *rows[:2]), (name, wanted["jobs"], wanted["commands"]))
        # Ends are rounded individually there.
        assert abs(rows[2] - wanted["device_ns"]) <= rows[1], (rows, wanted)
    equal(groups["/three"]["commands"], 3 * groups["/one"]["commands"])
    # The link of the device and of the port above it, according to the kernel.
    device = device_folder()
    counters = {(each["source"], each["object"], each["name"]): each["last"]
                for each in found["counters"]}
    for folder in (device, os.path.dirname(device)):
        width = os.path.join(folder, "current_link_width")
        if os.path.exists(width):
            with open(width, encoding="ascii") as file:
                equal(counters.get(("pcie", os.path.basename(folder), "link width"), 0),
                      int(file.read()))
    with open(os.path.join(device, "numa_node"), encoding="ascii") as file:
        node = int(file.read())
    equal(counters.get(("numa", os.path.basename(device), "node")), node if node >= 0 else None)


def kernel_errors(folders):
    """Bus errors {(function, name): count} according to the kernel."""
    found = {}
    for folder in folders:
        for kind in ("correctable", "nonfatal", "fatal"):
            with open(f"{folder}/aer_dev_{kind}", encoding="ascii") as file:
                counts = dict(line.split() for line in file)
            for name, count in counts.items():
                name = "errors" if name.startswith("TOTAL_ERR") else name
                if name == "errors" or int(count) > 0:
                    found[os.path.basename(folder), f"{kind} {name}"] = int(count)
    return found


@test
def errors_of_a_link_are_those_that_the_kernel_counts():
    device = device_folder()
    folders = (device, os.path.dirname(device))
    before = kernel_errors(folders)
    injected = 0
    recording = Recording("--output", path("errors"), "--sources", "pcie")
    equal(recording.first, "ready")
    with monitor_port() as port:
        # This emulator delivers no correctable errors, and the kernel does not examine a device
        # after a fatal one. Each is counted before the next one is injected, and repeated if it is
        # not: an error before the device has recovered from the last one is lost with its status.
        for error, name, times in ((0x4000, "nonfatal CmpltTO", 2),
                                   (0x10000, "nonfatal UnxCmplt", 1)):
            key = (os.path.basename(device), name)
            wanted = before.get(key, 0)
            for _ in range(times):
                wanted += 1
                for attempt in range(600):
                    if attempt % 100 == 0:
                        said = inject(port, f"axl0 {error:#x} 0 0 0 0")
                        injected += 1
                    if kernel_errors(folders).get(key, 0) >= wanted:
                        break
                    time.sleep(0.05)
                else:
                    assert False, (key, wanted, said, kernel_errors(folders))
    after = kernel_errors(folders)
    recording.stop()
    # Samples that the device did not answer in between are bad, so the report is not clean.
    done = subprocess.run([ACCELTRACE, "report", path("errors"), "--json"], stdout=subprocess.PIPE,
                          text=True, check=False)
    counters = {(each["object"], each["name"]): each
                for each in json.loads(done.stdout)["system"]["counters"]
                if each["unit"] == "count"}
    equal({key: each["last"] for key, each in counters.items()}, after)
    grown = {key: counters[key]["grown"] for key in before}
    equal(grown, {key: after[key] - before[key] for key in before})
    assert 3 <= grown[os.path.basename(device), "nonfatal errors"] <= injected, (grown, injected)


MODELS = [["--layers", "1", "--prompt", "4", "--no-check", "--tokens", tokens]
          for tokens in ("2", "3")]


class Private:
    """Runs acceltrace record without the service: the workload once, a line that the test waits
    for, and the workload again.
    """

    def __init__(self, name, model, *more):
        self.name = path(name)
        # pylint: disable=consider-using-with
        self.client = subprocess.Popen(
            [ACCELTRACE, "record", "-o", self.name, "--counter-period", "0", *more, "--",
             "sh", "-c", '"$@" >/dev/null && echo && read x && "$@" >/dev/null', "sh", WORKLOAD,
             *MODELS[model]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        line = self.client.stdout.readline()
        assert line == "\n", (line, self.client.stderr.read())

    def finish(self):
        _, said = self.client.communicate("x\n", timeout=300)
        equal((self.client.returncode, len(said.splitlines())), (0, 1))
        assert ", 0 lost," in said, said
        balanced(summary(self.name))
        return self.content()

    def content(self):
        """The content of the trace without times."""
        columns = {"api": "name, bytes, result", "ranges": "name, depth, mark",
                   "jobs": "queue IS NULL, commands_submitted, copy_bytes, on_host, on_device",
                   "commands": "opcode, op, bytes, work, memory_bytes"}
        # A single query, since each reads the whole recording.
        wide = max(select.count(",") for select in columns.values())
        rows = answer("query", self.name, " UNION ALL ".join(
            f"SELECT '{table}', {select}{', NULL' * (wide - select.count(','))}, count(*) "
            f"FROM {table} GROUP BY {select}" for table, select in columns.items()))["rows"]
        found = [sorted(map(str, (row for row in rows if row[0] == table))) for table in columns]
        assert all(found), rows
        return found


def private_daemons():
    done = subprocess.run(["pgrep", "-c", "-x", "acceltraced"], stdout=subprocess.PIPE, text=True,
                          check=False)
    return int(done.stdout)


def until_no_daemon_is_left():
    for _ in range(600):
        if private_daemons() == 0:
            return
        time.sleep(0.05)
    assert False, "a daemon stays"


@test
def private_recordings_of_one_device_are_each_as_alone():
    alone = []
    for model in range(2):
        alone.append(Private(f"alone{model}", model).finish())
        until_no_daemon_is_left()
    assert alone[0] != alone[1]
    first, second = Private("first", 0), Private("second", 1)
    third = Private("third", 0, "--overhead", "low", "--sources", "all", "--priority", "5")
    equal(private_daemons(), 1)
    equal(first.finish(), alone[0])
    # The first has ended, and the daemon that it started continues.
    equal(private_daemons(), 1)
    equal(second.finish(), alone[1])
    equal(third.finish()[2:], alone[0][2:])
    until_no_daemon_is_left()
    # Killing the first does not affect the second either.
    first, second = Private("killed", 0), Private("outlives", 1)
    first.client.kill()
    first.client.communicate()
    equal(second.finish(), alone[1])
    equal(summary(first.name)["stop_reason"], "client gone")
    until_no_daemon_is_left()


@test
def private_recordings_of_one_device_may_begin_at_once():
    # pylint: disable=consider-using-with
    running = [subprocess.Popen([ACCELTRACE, "record", "-q", "-o", path(f"once{i}"), "--",
                                 WORKLOAD, *MODELS[0]], stdout=subprocess.DEVNULL)
               for i in range(3)]
    equal([each.wait(timeout=300) for each in running], [0] * 3)
    jobs = [summary(path(f"once{i}"))["rows"]["jobs"] for i in range(3)]
    equal(jobs, jobs[:1] * 3)
    until_no_daemon_is_left()


@test
def a_slow_job_is_a_trigger():
    for rule, fires in (("job>1us", True), ("job>59m", False)):
        name = path(f"slow.{int(fires)}.atrace")
        recording = Recording("--output", name, "--ring", "16M", "--trigger", rule, "--keep", "1")
        equal(recording.first, "ready")
        equal(recording.run(WORKLOAD)[1], 0)
        done, status, _ = recording.stop()
        equal((status, done["error"], done["lost"]), (0, "", 0))
        saved = name.replace(".atrace", ".trigger-1.atrace")
        equal((done["triggered"] > 0, done["saved"], os.path.exists(saved)),
              (fires, int(fires), fires))
        if fires:
            equal(done["triggered"], summary(name)["rows"]["jobs"])
            trace = summary(saved)
            assert trace["stop_reason"].startswith(f"trigger {rule} ("), trace["stop_reason"]
            assert trace["footer"] and trace["rows"]["jobs"] >= 1, trace


@test
def a_held_ring_an_absent_device_and_no_permission_are_reported():
    holder = Recording("--output", path("holder"))
    equal(holder.first, "ready")
    text = refused()
    assert f"held by acceltraced, process {holder.daemon.pid}" in text, text
    text = refused("--device", "axl7")
    assert "no accelerator 'axl7'" in text and "axl0" in text, text
    with daemon_for_others() as daemon:
        text = refused(daemon=daemon, user=65534, group=65534, cwd="/")
        assert "permission" in text and "root" in text, text
    holder.run(WORKLOAD)
    equal(holder.stop()[1], 0)
    balanced(summary(path("holder")))


@test
def a_ring_that_the_driver_holds_for_its_tracepoints_is_reported():
    setting = "/sys/class/axl/axl0/trace_commands"

    def write(value):
        with open(setting, "w", encoding="ascii") as file:
            file.write(value)

    write("1")
    try:
        text = refused()
        assert "held by the driver" in text and f"write 0 to {setting}" in text, text
    finally:
        write("0")
    # In the other order the driver refuses, so the message names the daemon.
    holder = Recording("--output", path("holder2"))
    equal(holder.first, "ready")
    try:
        write("1")
        assert False, "the driver took a ring that is held"
    except OSError as error:
        equal(error.errno, errno.EBUSY)
    text = refused()
    assert f"held by acceltraced, process {holder.daemon.pid}" in text, text
    equal(holder.stop()[1], 0)


@test
def a_full_disk_keeps_what_was_written():
    os.mkdir("/tmp/small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160k", "none", "/tmp/small"], check=True)
    recording = Recording("--output", "/tmp/small/x")
    recording.run(WORKLOAD)
    recording.run(WORKLOAD)
    done, status, _ = recording.stop()
    equal(status, 1)
    assert "No space left on device" in done["error"], done
    trace = summary("/tmp/small/x")
    equal((trace["footer"], trace["bad_packets"], trace["stop_reason"]),
          (True, 0, "output failed"))
    assert trace["hops"]["output"]["lost"] == trace["losses"]["output"] > 0, trace


@test
def a_device_that_goes_away_ends_nothing():
    recording = Recording("--output", path("unplug"))
    recording.run(WORKLOAD)
    device = device_folder()
    with open(os.path.join(device, "remove"), "w", encoding="utf-8") as file:
        file.write("1")
    time.sleep(0.5)
    done, status, _ = recording.stop()
    equal((status, done["error"]), (0, ""))
    trace = summary(path("unplug"))
    equal((trace["footer"], trace["gaps"]), (True, 0))
    assert trace["rows"]["commands"] > 0
    for name, hop in trace["hops"].items():
        assert hop["in"] == hop["out"] + hop["lost"] + hop["bad"], (name, hop)
    # Samples that a removed device does not answer are bad, and reported.
    assert trace["hops"]["samples/axl0"]["bad"] > 0
    text = refused()
    assert "no accelerator" in text, text
    with open("/sys/bus/pci/rescan", "w", encoding="utf-8") as file:
        file.write("1")


if __name__ == "__main__":
    sys.exit(tap.run(test + private_test.test))
