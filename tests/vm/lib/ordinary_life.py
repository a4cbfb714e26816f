# SPDX-License-Identifier: Apache-2.0
"""In a guest with three devices and a monitor port: makes everyday recordings.

ordinary_life.py FOLDER [NAME... | PART/PARTS]: one trace for each recording into FOLDER, and its
name as a line on stdout once it exists. Called by tests/vm/lib/ordinary-life.sh.

No recording waits for a file of the host, which may be busy: the devices would continue meanwhile,
and their rings overflow. Traces are made in the guest's memory, and programs are read beforehand.
In a sealed guest, where even idle time is the guest's own, the monitor is unreachable: a fourth
device has its fault from the start, and is only used for that.
"""
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

REPO = os.environ["REPO"]
sys.dont_write_bytecode = True
sys.path[:0] = [f"{REPO}/daemon/testing", f"{REPO}/tests/driver"]
from recording import DAEMON, Client, Recording  # noqa: E402
import monitor  # noqa: E402

FOLDER = sys.argv[1]
MEMORY = "/dev/shm/ordinary-life"
LIMIT_S = 120
HELLO = ["axl-hello"]
MODEL = ["axl-transformer", "--layers", "1", "--dim", "48", "--heads", "3", "--ffn", "77",
         "--vocab",
         "99", "--prompt", "2", "--tokens", "3"]
STRESS = ["axl-stress", "--processes", "2", "--threads", "2", "--calls", "25"]
recordings = []


def recording(function):
    recordings.append((function.__name__, function))
    return function


def plain(name, *arguments, status=0):
    """A recording that is one command line."""
    recordings.append((name, lambda out: record(out, *arguments, status=status)))


def record(out, *arguments, status=0):
    done = subprocess.run(["acceltrace", "record", "-q", "-o", out, *arguments],
                          stdout=subprocess.DEVNULL, timeout=LIMIT_S, check=False)
    if status is not None and done.returncode != status:
        raise RuntimeError(f"exit status {done.returncode}, not {status}")


@contextlib.contextmanager
def busy(count=1, device=None):
    """Programs that use the devices until the context ends; yields their process ids."""
    only = ["--devices", "3" if device is None else "1"]
    programs = [subprocess.Popen(["axl-stress", "--processes", "1", "--threads", "1", "--calls",
                                  "1000000", "--seed", str(seed), *only],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 start_new_session=True)
                for seed in range(count)]
    time.sleep(0.3)
    try:
        yield [program.pid for program in programs]
    finally:
        for program in programs:
            end(program)


def end(program):
    """Also kills the processes that it has created, which would continue."""
    os.killpg(program.pid, signal.SIGKILL)
    program.wait()


def started(*arguments, out):
    """Starts acceltrace record; it has begun when its trace exists."""
    client = subprocess.Popen(["acceltrace", "record", "-q", "-o", out, *arguments],
                              stdout=subprocess.DEVNULL)
    wait_until(lambda: os.path.exists(out) and os.path.getsize(out) > 0
               or client.poll() is not None)
    return client


def wait_until(true):
    deadline = time.monotonic() + LIMIT_S
    while not true():
        if time.monotonic() > deadline:
            raise RuntimeError("it does not happen")
        time.sleep(0.05)


def daemons():
    found = subprocess.run(["pidof", "acceltraced"], capture_output=True, check=False)
    return found.returncode == 0


# One program, its children, its ways to end.
plain("hello", "--", *HELLO)
plain("model", "--", *MODEL)
plain("rebuilt graphs", "--", *MODEL, "--rebuild-graphs", "--no-stream-weights")
plain("processes and threads", "--", *STRESS)
plain("all devices at once", "--", "axl-transformer", "--devices", "0", *MODEL[1:])
plain("a shell's children", "--", "sh", "-c", "axl-hello & axl-hello; wait; axl-hello")
plain("exec after exec", "--", "sh", "-c", "exec sh -c 'exec axl-hello'")
plain("no use of a device", "--", "true")
plain("a command that fails", "--", "sh", "-c", "axl-hello; exit 7", status=7)
plain("a command that is killed", "--", "sh", "-c", "axl-hello; kill -TERM $$", status=143)
plain("killed in the middle", "--", "timeout", "-s", "KILL", "0.4", "axl-stress", "--calls",
      "100000",
      status=None)
plain("ended while its command goes on", "--duration", "0.3", "--", "sh", "-c",
      "axl-stress --processes 1 --threads 1 --calls 300")

# Options that select the collected data.
plain("no periodic counters", "--counter-period", "0", "--", *MODEL)
plain("rare counters", "--counter-period", "20ms", "--", *MODEL)
plain("frequent counters", "--counter-period", "50us", "--", *HELLO)
plain("calls only", "--no-device", "--", *HELLO)
plain("probes of calls", "--probes", "usdt", "--", *HELLO)
plain("probes of the driver", "--probes", "driver,clock", "--", *HELLO)
plain("probes of devices", "--probes", "device,clock,counters", "--", *HELLO)
plain("one device of three", "--device", "axl1", "--", *STRESS)


# Other programs, and attaching to running ones.
@recording
def beside_others(out):
    with busy(2):
        record(out, "--", *HELLO)


@recording
def beside_others_of_one_device(out):
    with busy(1, device=0):
        record(out, "--", *MODEL)


@recording
def beside_others_without_periodic_counters(out):
    with busy(1):
        record(out, "--counter-period", "0", "--", *HELLO)


@recording
def beside_others_that_come_and_go(out):
    with busy(1):
        other = subprocess.Popen(["sh", "-c", "for i in 1 2 3; do axl-hello; done"],
                                 stdout=subprocess.DEVNULL)
        record(out, "--", *MODEL)
        other.wait()


@recording
def attached(out):
    with busy(1) as pids:
        record(out, "--pid", str(pids[0]), "--duration", "0.4")


@recording
def attached_again(out):
    with busy(1) as pids:
        record(out, "--pid", str(pids[0]), "--duration", "0.2")
        record(out, "--pid", str(pids[0]), "--duration", "0.3")


@recording
def attached_to_one_of_two(out):
    with busy(2) as pids:
        record(out, "--pid", str(pids[1]), "--duration", "0.4")


@recording
def attached_to_two(out):
    with busy(2) as pids:
        record(out, *[word for pid in pids for word in ("--pid", str(pid))], "--duration", "0.4")


@recording
def attached_to_threads(out):
    program = subprocess.Popen(["axl-stress", "--processes", "1", "--threads", "4", "--calls",
                                "1000000"], stdout=subprocess.DEVNULL, start_new_session=True)
    time.sleep(0.4)
    try:
        record(out, "--pid", str(program.pid), "--duration", "0.4")
    finally:
        end(program)


@recording
def attached_until_it_is_killed(out):
    with busy(2) as pids:
        client = started("--pid", str(pids[0]), out=out)
        os.killpg(pids[0], signal.SIGKILL)
        client.wait(LIMIT_S)


@recording
def interrupted(out):
    with busy(1) as pids:
        client = started("--pid", str(pids[0]), out=out)
        client.send_signal(signal.SIGINT)
        client.wait(LIMIT_S)


@recording
def its_client_killed(out):
    with busy(1) as pids:
        client = started("--pid", str(pids[0]), out=out)
        client.kill()
        client.wait()
        wait_until(lambda: not daemons())


@recording
def the_whole_system(out):
    with busy(2):
        record(out, "--system", "--duration", "0.4")


@recording
def the_whole_system_as_programs_begin(out):
    client = started("--system", out=out)
    subprocess.run(STRESS, stdout=subprocess.DEVNULL, check=True)
    client.send_signal(signal.SIGTERM)
    client.wait(LIMIT_S)


# Flight recorders.
@recording
def a_flight_recorder_that_overflows(out):
    with busy(2) as pids:
        record(out, "--ring", "256K", "--pid", str(pids[0]), "--duration", "1.5")


def snapshots(out, ring, pids, count):
    daemon = Recording("--output", out + ".ring", "--ring", ring)
    assert daemon.first == "ready", daemon.first
    for pid in pids:
        assert daemon.ask(f"pid {pid}") == "ok"
    for number in range(count):
        time.sleep(0.7)
        path = out if number == 0 else f"{out}.{number}"
        answer = daemon.ask(f"snapshot {path}")
        assert answer == "ok", answer
    daemon.stop()


@recording
def a_snapshot(out):
    with busy(1) as pids:
        snapshots(out, "64M", pids, 1)
    os.rename(out + ".ring", out.replace("a_snapshot", "after a snapshot"))
    announce("after a snapshot")


@recording
def a_snapshot_that_has_overflowed(out):
    with busy(2) as pids:
        snapshots(out, "256K", pids[:1], 2)
    os.rename(out + ".1", out.replace("a_snapshot_that", "a second snapshot that"))
    announce("a second snapshot that_has_overflowed")
    os.unlink(out + ".ring")


# The service: recordings at the same time, clients that leave.
@recording
def two_of_the_service(out):
    other = out.replace("two_of", "another of")
    with service() as path, busy(2) as pids:
        client = Client(path)
        first = client.ask(cmd="start", pids=[pids[0]], output=out)["session"]
        second = client.ask(cmd="start", pids=pids, output=other)["session"]
        time.sleep(0.3)
        client.ask(cmd="stop", session=first)
        time.sleep(0.2)
        client.ask(cmd="stop", session=second)
    announce("another of_the_service")


@recording
def of_the_service_whose_client_left(out):
    with service() as path, busy(1) as pids:
        client = Client(path)
        client.ask(cmd="start", pids=pids, output=out)
        time.sleep(0.2)
        client.lines.close()
        client.socket.close()
        other = Client(path)
        wait_until(lambda: not other.ask(cmd="status")["sessions"])


@contextlib.contextmanager
def service():
    os.makedirs("/tmp/service", exist_ok=True)
    path = "/tmp/service/control"
    daemon = subprocess.Popen([DAEMON, "--socket", path], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: connects(path))
        yield path
    finally:
        daemon.terminate()
        daemon.wait(LIMIT_S)


def connects(path):
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(path) == 0


# Clocks: wraps (the second and third device's), announced jumps and changes of rate.
plain("wraps", "--device", "axl1", "--device", "axl2", "--", "sh", "-c",
      "for i in 1 2 3 4 5; do axl-transformer --device 1 --layers 1 --tokens 1 --no-check; "
      "sleep 1; done")


def changing(out, *changes, device=0):
    """Records a program during which properties of a device are set."""
    port = monitor.monitor_port()
    client = started("--", "axl-stress", "--processes", "2", "--threads", "1", "--calls", "150",
                     out=out)
    for name, value in changes:
        time.sleep(0.15)
        knob(port, device, name, value)
    client.wait(LIMIT_S)
    time.sleep(0.1)
    port.close()


def knob(port, device, name, value):
    reply = monitor.ask(port, "qom-set", path=f"/machine/peripheral/axl{device}", property=name,
                        value=value)
    assert "return" in reply, reply


@recording
def a_jump_ahead(out):
    changing(out, ("fault-clock-step", 12345678))


@recording
def jumps_back_and_a_change_of_rate(out):
    changing(out, ("fault-clock-step", -777), ("fault-clock-step", -123456789), ("clock-ppm", 90))


@recording
def changes_of_rate(out):
    changing(out, ("clock-hz", 800_000_000), ("clock-ramp-ns", 50_000_000),
             ("clock-hz", 1_000_000_000))


# Devices with faults that they report.
@recording
def lost_interrupts(out):
    faulty(out, ("fault-lose-irqs", 3))


@recording
def late_interrupts(out):
    if os.path.exists("/dev/axl3"):
        record(out, "--", "axl-transformer", "--device", "3", *MODEL[1:], "--no-check", status=None)
    else:
        faulty(out, ("fault-late-irq-ns", 3_000_000), ("fault-late-irqs", 3))


@recording
def poisoned_data(out):
    faulty(out, ("fault-poison", 1))


@recording
def failed_copies(out):
    faulty(out, ("fault-fail-dmas", 1))


@recording
def a_hung_engine(out):
    faulty(out, ("fault-hang-engine", 2))


@recording
def memory_errors_and_a_narrow_link(out):
    faulty(out, ("fault-ecc", 2), ("link-width", 2), ("link-width", 0))


def faulty(out, *changes):
    port = monitor.monitor_port()
    for name, value in changes:
        knob(port, 0, name, value)
    port.close()
    record(out, "--", "axl-transformer", *MODEL[1:], "--no-check", status=None)


# Last: the driver is unloaded and loaded again.
@recording
def after_a_reload_of_the_driver(out):
    module = subprocess.run("modprobe -R axl || true; "
                            "ls " + REPO + "/build/kmod/$(uname -r)/axl.ko",
                            shell=True, capture_output=True, text=True, check=False)
    path = module.stdout.split()[-1]
    subprocess.run(["rmmod", "axl"], check=True)
    subprocess.run(["insmod", path], check=True)
    wait_until(lambda: os.path.exists("/dev/axl0"))
    record(out, "--", *HELLO)


def announce(name):
    shutil.move(f"{MEMORY}/{name}.atrace", FOLDER)
    print(name, flush=True)


def read_programs():
    """Reads everything that the recordings execute from the host now, and runs it once. A sealed
    guest has it in its memory.
    """
    with open("/proc/mounts", encoding="utf-8") as mounts:
        if " 9p " not in mounts.read():
            return
    programs = glob.glob(f"{REPO}/build/bin/*")
    said = subprocess.run(["ldd", *programs], stdout=subprocess.PIPE, text=True, check=False)
    for path in {*programs, *re.findall(r"(/.*) \(0x", said.stdout)}:
        with open(path, "rb") as file:
            while file.read(1 << 20):
                pass
    subprocess.run(["acceltrace", "record", "-q", "-o", f"{MEMORY}/first", "--", *HELLO],
                   stdout=subprocess.DEVNULL, check=False)
    with contextlib.suppress(OSError):
        os.unlink(f"{MEMORY}/first")


def chosen(arguments):
    """The named recordings, or a part "I/N" of all."""
    if len(arguments) == 1 and "/" in arguments[0]:
        part, parts = map(int, arguments[0].split("/"))
        # The last one leaves another driver loaded; parts are consecutive.
        begin, end_ = (len(recordings) * at // parts for at in (part - 1, part))
        return recordings[begin:end_]
    return [(name, function) for name, function in recordings if not arguments or name in arguments]


def main():
    made = failed = 0
    with open("/sys/module/axl/parameters/job_timeout_ms", "w", encoding="ascii") as file:
        file.write("300")
    os.makedirs(MEMORY)
    read_programs()
    for name, function in chosen(sys.argv[2:]):
        begin = time.monotonic()
        try:
            function(f"{MEMORY}/{name}.atrace")
            announce(name)
            made += 1
        except Exception as error:  # the others go on
            failed += 1
            print(f"{name}: {error!r}", file=sys.stderr, flush=True)
        print(f"{name}: {time.monotonic() - begin:.1f} s", file=sys.stderr, flush=True)
    print(json.dumps({"recordings": made, "failed": failed}), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
