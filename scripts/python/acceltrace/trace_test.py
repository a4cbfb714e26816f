#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
"""The Python module: both readers compared with acceltrace export --format csv, ranges in a
recording.
"""

import collections
import csv
import importlib.util
import os
import subprocess
import sys
import tempfile
import warnings

sys.dont_write_bytecode = True
DEBIAN = "/usr/bin/python3"
if importlib.util.find_spec("numpy") is None:
    # Another Python may come first in the PATH, but the packages are Debian's.
    if os.path.realpath(sys.executable) == os.path.realpath(DEBIAN) or "again" in sys.argv or \
            not os.path.exists(DEBIAN):
        print("numpy is not installed: scripts/install-deps test")
        sys.exit(77)
    os.execv(DEBIAN, [DEBIAN, os.path.abspath(__file__), "again"])

HERE = os.path.dirname(os.path.realpath(__file__))
REPO = os.path.realpath(os.path.join(HERE, "..", "..", ".."))
sys.path[:0] = [os.path.join(REPO, "scripts", "python"), os.path.join(REPO, "tests")]
import numpy as np  # noqa: E402
import acceltrace  # noqa: E402
from acceltrace import blocks, wire  # noqa: E402
from harness import tap  # noqa: E402

ACCELTRACE = os.path.join(REPO, "build", "bin", "acceltrace")
MAKE_TRACE = os.path.join(REPO, "build", "test", "make-page-trace")
GOLDEN = os.path.join(REPO, "tests", "golden")
csv.field_size_limit(1 << 20)
folder = tempfile.TemporaryDirectory()
case = tap.Cases()


def path(name):
    return os.path.join(folder.name, name)


def golden(name):
    return os.path.join(GOLDEN, name + ".atrace")


def tables(trace):
    out = path(os.path.basename(trace) + ".csv")
    done = subprocess.run([ACCELTRACE, "export", trace, "--format", "csv", "-o", out],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, 1), done
    found = {}
    for name in os.listdir(out):
        with open(os.path.join(out, name), encoding="utf-8", errors="replace", newline="") as file:
            found[name.removesuffix(".csv")] = list(csv.DictReader(file))
    return found


def same(found, wanted):
    found, wanted = collections.Counter(found), collections.Counter(wanted)
    assert found == wanted, (list((found - wanted).items())[:3], list((wanted - found).items())[:3])


def compare(trace):
    wanted, raw = tables(trace), acceltrace.Trace(trace)
    for table, columns in (("api", ("begin_ns", "end_ns", "pid", "tid", "correlation", "bytes",
                                    "stream", "result", "open", "began_before")),
                           ("ranges", ("begin_ns", "end_ns", "pid", "tid", "depth", "mark",
                                       "open"))):
        rows = raw.table(table)
        same([(raw.string(row["name"]), *(str(row[name]) for name in columns)) for row in rows],
             [(row["name"], *(row[name] for name in columns)) for row in wanted[table]])
    rows = raw.table("commands")
    plain = ("job", "index", "context", "queue", "correlation", "tag", "work", "bytes",
             "memory_bytes", "row_hits", "row_misses")
    ticks = ("fetched", "head", "start", "end")
    device = raw.devices[0]
    stalls = [f"stall_{name}_ticks" for name in device["stalls"]]
    same([(device["units"][int(row["unit"])]["name"], raw.op(row), device["name"],
           *(str(row[name]) for name in plain), *(str(row[name + "_ticks"]) for name in ticks),
           *(str(row[f"stall_{s}"]) for s in range(len(stalls)))) for row in rows],
         [(row["unit"], row["op"] or row["opcode"], row["device"], *(row[name] for name in plain),
           *(row[name + "_raw_ticks"] for name in ticks), *(row[name] for name in stalls))
          for row in wanted["commands"]])
    return raw, wanted


@case
def what_was_recorded_is_that_of_the_csv_export():
    for name in ("step", "demo"):
        raw, _ = compare(golden(name))
        assert len(raw.table("commands")) >= 10 and len(raw.table("clocks")) > 5
        assert raw.info["schema_version"] == 1 and raw.info["start_ns"] > 0


@case
def converted_tables_are_those_of_the_csv_export():
    for name in ("step", "demo"):
        wanted, found = tables(golden(name)), acceltrace.load(golden(name))
        assert set(found) == set(wanted)
        for table, rows in wanted.items():
            array = found[table]
            assert len(array) == len(rows), table
            for column in array.dtype.names if rows else ():
                for value, text in zip(array[column], (row[column] for row in rows)):
                    if text == "":
                        # Missing: -1, or all bits, or nan; for names the empty one.
                        assert value in ("", -1, (1 << 64) - 1) or value != value, (table, column)
                    elif isinstance(value, str):
                        assert value == text, (table, column, text)
                    else:
                        assert (value == float(text) if isinstance(value, np.floating) else
                                int(value) == int(text)), (table, column, text)
    assert acceltrace.load(golden("step"), "commands")["start_ns"].dtype == np.int64


@case
def names_from_anywhere_and_losses():
    hostile, large = path("hostile.atrace"), path("large.atrace")
    subprocess.run([MAKE_TRACE, "hostile", hostile], check=True, timeout=60)
    raw = acceltrace.Trace(hostile)
    names = {raw.string(row["name"]) for row in raw.table("ranges")}
    assert "</script><script>window.hostile = 1</script>" in names and "\u202egnp.exe" in names
    subprocess.run([MAKE_TRACE, "large", "3000", large], check=True, timeout=60)
    raw, wanted = compare(large)
    same([(str(row["count"]), raw.string(row["hop"])) for row in raw.table("losses")],
         [(row["count"], row["hop"]) for row in wanted["losses"]])


def packed(trace):
    out = path("packed." + os.path.basename(trace))
    subprocess.run([ACCELTRACE, "pack", trace, "-o", out], check=True, timeout=60,
                   capture_output=True)
    assert os.path.getsize(out) < os.path.getsize(trace)
    return out


@case
def packed_traces_say_the_same():
    large = path("large.atrace")
    subprocess.run([MAKE_TRACE, "large", "5000", large], check=True, timeout=60)
    for trace in (golden("step"), golden("demo"), large):
        raw, _ = compare(packed(trace))
        before = acceltrace.Trace(trace)
        for table in ("api", "ranges", "commands", "clocks", "losses"):
            same(raw.table(table).tolist(), before.table(table).tolist())


@case
def ops_are_named_whatever_number_a_client_has():
    raw = acceltrace.Trace(golden("step"))

    def ops():
        raw.__dict__.pop("clients", None)
        return [raw.op(row) for row in raw.table("commands")]

    def give(client, *names):
        for part in (part for name in names for part in raw.parts[name]):
            part["correlation"] = part["correlation"] & np.uint64(0xffffffff) | np.uint64(
                client << 32)

    calls, names = raw.parts["api"], ops()
    process = int(calls[0]["pid"][0])
    assert set(names) & set(map(raw.string, raw.op_names.values()))
    give(7, "api", "commands")
    assert ops() == names
    # Without its calls a client may be from an older trace, in which clients were processes, but
    # not if calls of that process have another client.
    raw.parts["api"] = []
    assert not set(ops()) & set(map(raw.string, raw.op_names.values()))
    give(process, "commands")
    assert ops() == names
    raw.parts["api"] = calls
    plain = ops()
    assert not set(plain) & set(map(raw.string, raw.op_names.values()))
    # Two processes with the same client: it belongs to neither.
    give(7, "commands")
    calls[0]["pid"][0] += 1
    assert ops() == plain


@case
def damage_is_an_error_that_says_so():
    for trace in (golden("step"), packed(golden("step"))):
        with open(trace, "rb") as file:
            damage(file.read())


def damage(data):
    for bad in (data[:-5], b"junk" + data, data[:1000] + b"\xff" * 40 + data[1040:]):
        with open(path("bad"), "wb") as file:
            file.write(bad)
        try:
            acceltrace.Trace(path("bad"))
        except wire.Malformed as error:
            assert "acceltrace verify" in str(error), error
        else:
            # Only bytes within a packet: framing is intact, checksums are verify's task.
            assert len(bad) == len(data)
    # A single flipped bit may only raise errors of one kind.
    for at in range(0, len(data), 7):
        with open(path("bad"), "wb") as file:
            file.write(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1:])
        try:
            acceltrace.Trace(path("bad"))
        except wire.Malformed:
            pass
    try:
        acceltrace.load(path("nowhere"))
        raise AssertionError("no error")
    except ValueError as error:
        assert "nowhere" in str(error), error
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert len(acceltrace.load(golden("broken"), "jobs")) > 3
    assert len(found) == 1 and "lost" in str(found[0].message), found


@case
def numbers_of_every_width():
    values = [0, 1, 127, 128, 1 << 35, (1 << 63) + 5, (1 << 64) - 1]
    data = b"".join(bytes([v >> 7 * i & 127 | 128 for i in range(max(0, (v.bit_length() - 1) // 7))]
                          + [v >> 7 * max(0, (v.bit_length() - 1) // 7)]) for v in values)
    assert [int(v) for v in wire.varints(data)] == values
    assert [int(v) for v in wire.unzigzag(np.array([0, 1, 2, 3, (1 << 64) - 1], np.uint64))] == [
        0, -1, 1, -2, -1 << 63]
    # Lanes, encoded here as docs/stream.md specifies.
    for width in (1, 7, 31, 32):
        some = [(i * 2654435761) & (1 << width) - 1 for i in range(37)]
        lanes = [sum(v << width * k for k, v in enumerate(some[lane::8])) for lane in range(8)]
        size = blocks.lane_bytes(len(some), width) // 32
        packed = b"".join((lanes[lane] >> 32 * word & 0xffffffff).to_bytes(4, "little")
                          for word in range(size) for lane in range(8))
        found, end = blocks.numbers(packed, 0, len(some), width)
        assert [int(v) for v in found] == some and end == len(packed), width


@case
def ranges_of_a_program_are_in_its_trace():
    # Loading libaxl late fails if its thread-local storage does not fit; without it there is a
    # reason.
    axl = os.path.join(REPO, "build", "lib", "libaxl.so")
    done = subprocess.run([sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv[1])\n"
                           "import acceltrace\nwith acceltrace.range('x'): acceltrace.mark('y')\n"
                           "print(acceltrace.available() or acceltrace.ranges.WHY_NOT)",
                           os.path.join(REPO, "scripts", "python")], capture_output=True,
                          text=True, timeout=60, check=True,
                          env={**os.environ, "ACCELTRACE_LIBAXL": axl, "GLIBC_TUNABLES": ""})
    assert done.stdout.strip() == "True", done
    out = path("python.atrace")
    program = ("import sys; sys.path.insert(0, sys.argv[1])\nimport acceltrace\n"
               "for i in range(3):\n    with acceltrace.range('step %d' % i):\n"
               "        with acceltrace.range('inner'):\n            acceltrace.mark('here')\n")
    done = subprocess.run([ACCELTRACE, "record", "--no-device", "--libaxl", axl, "-o", out, "--",
                           sys.executable, "-c", program, os.path.join(REPO, "scripts", "python")],
                          capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "ACCELTRACE_LIBAXL": axl})
    if not os.path.exists(out):
        raise tap.Skip("cannot record here: " + done.stderr.strip()[:200])
    raw = acceltrace.Trace(out)
    names = [raw.string(row["name"]) for row in raw.table("ranges")]
    assert collections.Counter(names) == {"step 0": 1, "step 1": 1, "step 2": 1, "inner": 3,
                                          "here": 3}, (names, done)


@case
def a_frame_where_pandas_is():
    if importlib.util.find_spec("pandas") is None:
        raise tap.Skip("python3-pandas is not installed")
    table = acceltrace.load(golden("step"), "commands")
    frame = acceltrace.frame(table)
    assert len(frame) == len(table) and int(frame["bytes"].sum()) == int(table["bytes"].sum())


@case
def a_plot_where_matplotlib_is():
    if importlib.util.find_spec("matplotlib") is None:
        raise tap.Skip("python3-matplotlib is not installed")
    example = os.path.join(HERE, "examples", "utilisation.py")
    subprocess.run([sys.executable, example, golden("demo"), path("plot.png")], check=True,
                   timeout=120, env={**os.environ, "MPLCONFIGDIR": folder.name})
    with open(path("plot.png"), "rb") as file:
        assert file.read(4) == b"\x89PNG"


if __name__ == "__main__":
    with folder:
        sys.exit(tap.run(case))
