#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""Bad input to acceltrace: one clear line, the right exit status, nothing recorded lost."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
REPO = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402

BIN = os.path.join(REPO, "build", "bin")
ACCELTRACE = os.path.join(BIN, "acceltrace")
APP = os.path.join(REPO, "build", "test", "axl-probe-app")
GOLDEN = os.path.join(REPO, "tests", "golden", "demo.atrace")
HOST_ONLY = ["record", "--no-device", "--libaxl", APP]
VERBS = ["record", "report", "verify", "export", "html", "serve", "top", "check", "query", "diff",
         "devices", "providers"]
NOBODY = 65534

folder = tempfile.TemporaryDirectory()
case = tap.Cases()


def path(name):
    return os.path.join(folder.name, name)


def run(*words, program=ACCELTRACE, **more):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=60,
                          check=False, **more)


def refused(status, text, *words, **more):
    """One line on stderr that holds `text`, nothing on stdout, the exit status."""
    done = run(*words, **more)
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines), done.stdout) == (status, 1, ""), (words, done)
    assert lines[0].startswith("acceltrace") and text in lines[0], (words, lines)
    # Untrusted bytes must not reach a terminal.
    assert lines[0].isprintable(), lines


def write(name, data):
    with open(path(name), "wb") as file:
        file.write(data)
    return path(name)


def golden():
    with open(GOLDEN, "rb") as file:
        return file.read()


def report(name):
    done = run("report", "--json", name)
    assert (done.returncode, done.stderr) == (0, ""), done
    return json.loads(done.stdout)


def report_with_a_word(name, *texts):
    """Of a trace that is not whole: exit status 1 and one line that holds the texts."""
    done = run("report", "--json", name)
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines)) == (1, 1), (name, done.stderr)
    assert all(text in lines[0] for text in texts), lines
    found = json.loads(done.stdout)
    assert not found["verdict"]["certain"] and found["verdict"]["caveats"], found["verdict"]
    return found


@case
def unknown_verbs_options_and_words():
    refused(2, "one of record, start, stop, snapshot, status, report", "dance")
    refused(2, "subcommand")
    for verb in VERBS:
        refused(2, f"unknown option --nonsense; see acceltrace {verb} --help", verb, "--nonsense")
    refused(2, "unexpected word true", "report", GOLDEN, "--", "true")
    for verb in ("report", "verify", "export", "html", "serve", "check", "query"):
        refused(2, "FILE is required", verb)
    refused(2, "extra", "report", GOLDEN, "extra")
    refused(2, "foo", "export", GOLDEN, "--format", "foo", "-o", path("x"))
    refused(2, "--output is required", "export", GOLDEN, "--format", "csv")
    refused(2, "--output is required", "html", GOLDEN)
    refused(2, "300000", "html", GOLDEN, "-o", path("x"), "--max-size", "10kB")


@case
def recordings_that_cannot_begin():
    out = ["-o", path("none")]
    refused(2, "nothing to record", "record", *out)
    # The same as a shell's: 127 = no such command, 126 = it cannot be executed.
    refused(127, "no command nosuchcommand in PATH", "record", *out, "--", "nosuchcommand")
    refused(127, "no command ./nosuchcommand", "record", *out, "--", "./nosuchcommand")
    refused(126, "/etc/passwd is not executable", "record", *out, "--", "/etc/passwd")
    refused(126, "/etc is a folder", "record", *out, "--", "/etc")
    os.chmod(write("script", b"#!/nowhere/python -u\nprint(1)\n"), 0o755)
    refused(126, "its interpreter /nowhere/python: No such file", "record", *out, "--",
            path("script"))
    refused(2, "4194304", "record", *out, "--pid", "4194304")
    refused(2, "abc", "record", *out, "--pid", "abc")
    refused(2, "is no time", "record", *out, "--duration", "soon", "--system")
    # Only the daemon can check these.
    refused(2, "64K", "record", *out, "--no-device", "--ring", "3", "--system")
    refused(2, "'foo'", "record", *out, "--no-device", "--probes", "foo", "--system")
    refused(1, "/nowhere/x", "record", "-o", "/nowhere/x", "--no-device", "--system")
    refused(1, "/nowhere.so", "record", *out, "--no-device", "--libaxl", "/nowhere.so", "--system")
    assert not os.path.exists(path("none"))


@case
def no_device():
    if any(name.startswith("axl") for name in os.listdir("/dev")):
        raise tap.Skip("there is a device: see tests/vm/first-light.sh")
    refused(1, "no accelerator", "record", "-o", path("none"), "--", "true")
    refused(1, "no accelerator", "devices")
    assert not os.path.exists(path("none"))


@case
def provider_files_and_names():
    refused(2, "no provider nvem: a file, or one of axl, ", "providers", "--check", "nvem")
    refused(1, "cannot be read", "providers", "--check", path("absent.provider"))
    refused(1, "cannot be read", "providers", "--check", "/")
    write("x.provider", b"[provider]\nformat = 1\nname = x\nabuot = y\n")
    refused(1, "x.provider:4: no key 'abuot' in [provider]: one of format, name, about",
            "providers", "--check", path("x.provider"))
    write("y.provider", b"[provider]\nformat = \x1b[31m1\n")
    refused(1, "y.provider:2: has a control character", "providers", "--check", path("y.provider"))
    # A wrong provider must not hide the others.
    home = {**os.environ, "XDG_CONFIG_HOME": path("config")}
    os.makedirs(path("config/acceltrace"))
    write("config/acceltrace/z.provider", b"[provider]\n")
    done = run("providers", "--json", env=home)
    assert done.returncode == 1 and "z.provider:1: [provider] lacks format" in done.stderr, done
    listed = json.loads(done.stdout)
    assert len(listed["errors"]) == 1 and len(listed["providers"]) >= 8, listed
    # A user's own provider replaces the shipped one.
    write("config/acceltrace/z.provider", b"[provider]\nformat = 1\nname = nvme\nabout = mine\n"
          b"[match]\ndriver = nosuchdriver\n")
    done = run("providers", "--json", env=home)
    assert (done.returncode, done.stderr) == (0, ""), done
    nvme = [one for one in json.loads(done.stdout)["providers"] if one["name"] == "nvme"]
    assert [one["about"] for one in nvme] == ["mine"] and not nvme[0]["available"], nvme
    assert nvme[0]["why"] == "no such device here with driver nosuchdriver", nvme


@case
def no_permission_for_bpf():
    if os.getuid() != 0:
        raise tap.Skip("only root can try it as another user")
    with tempfile.TemporaryDirectory(dir="/tmp") as top:
        os.chmod(top, 0o755)
        shutil.copytree(BIN, f"{top}/bin")
        shutil.copytree(os.path.join(REPO, "build", "lib"), f"{top}/lib")
        subprocess.run(["chmod", "-R", "a+rX", top], check=True)
        os.mkdir(f"{top}/out", 0o777)
        os.chmod(f"{top}/out", 0o777)
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/"}
        program = f"{top}/bin/acceltrace"
        if subprocess.run(["test", "-x", program], check=False, **user).returncode != 0:
            raise tap.Skip(f"an ordinary user cannot run a program in {top}")
        refused(1, "no permission to load BPF programs; run as root", "record", "--no-device", "-o",
                f"{top}/out/x", "--", "true", program=program, **user)
        assert os.listdir(f"{top}/out") == []
        # A trace that existed before must still exist.
        shutil.copy(GOLDEN, f"{top}/out/x")
        os.chmod(f"{top}/out/x", 0o666)
        refused(1, "no permission", "record", "--no-device", "-o", f"{top}/out/x", "--", "true",
                program=program, **user)
        with open(f"{top}/out/x", "rb") as file:
            assert file.read() == golden(), "the earlier trace is lost"


@case
def files_that_are_no_traces():
    write("empty", b"")
    write("noise", bytes((i * 7919 >> 3) & 255 for i in range(20000)))
    write("text\033[31m", b"hello\n" * 100)
    for verb in (["report"], ["verify"], ["export", "--format", "perfetto", "-o", path("out")]):
        refused(1, "is empty: nothing was recorded", *verb, path("empty"))
        refused(1, "is not a trace", *verb, path("noise"))
        refused(1, "is not a trace", *verb, path("text\033[31m"))
        refused(1, "cannot open", *verb, path("absent"))
        refused(1, "Is a directory", *verb, folder.name)
    assert not os.path.exists(path("out"))


@case
def a_damaged_trace_is_read_around_its_damage():
    whole, data = report(GOLDEN), golden()
    hole = write("hole", data[:40000] + bytes(3000) + data[43000:])
    holed = report_with_a_word(hole, "are missing")
    assert holed["losses"]["damaged_stretches"] == 1, holed["losses"]
    # Everything outside of the damaged packet must be there.
    assert holed["counts"]["jobs"] == whole["counts"]["jobs"]
    assert holed["counts"]["commands"] == whole["counts"]["commands"]
    done = run("verify", hole)
    assert done.returncode == 1 and "1 damaged stretch," in done.stdout, done
    cut = write("cut", data[:60000])
    done = run("verify", cut)
    assert done.returncode == 1 and "footer MISSING" in done.stdout, done
    assert report_with_a_word(cut)["counts"]["jobs"] == whole["counts"]["jobs"]


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


@case
def an_index_that_says_other_times_is_found():
    assert run("pack", GOLDEN, "-o", path("packed")).returncode == 0
    with open(path("packed"), "rb") as file:
        data = bytearray(file.read())
    assert run("verify", path("packed")).returncode == 0
    # The last packet is the footer, and its `times` (field 10) is the last field before the
    # checksum.
    last = data.rindex(b"\x09ACCATRC1")
    end = len(data) - 9
    at = next(at for at in range(end - 2, last, -1)
              if data[at] == 0x52 and sum(varint(data, at + 1)) == end)
    at = varint(data, at + 1)[1]
    while data[at] == 0:
        at += 1
    at = varint(data, at)[1]
    data[at] ^= 2  # of the first packet whose time is known the first one
    data[-4:] = crc32c(data[last:end]).to_bytes(4, "little")
    done = run("verify", write("liar", data))
    assert done.returncode == 1, done
    assert "the index says of" in done.stderr, done


@case
def what_is_missing_withholds_the_verdict_or_cannot_change_it():
    # Most of the golden trace's packets, 89 KB, are API calls and commands.
    data = golden()
    certain = report(GOLDEN)["verdict"]
    assert (certain["standing"], certain["class"]) == ("certain", "runtime"), certain
    # Only the end can be missing.
    for cut in (1, 20):
        found = report_with_a_word(write("footer", data[:-cut]), "no footer", "the verdict holds")
        assert found["verdict"]["standing"] == "holds", found["verdict"]
        assert found["verdict"]["class"] == "runtime", found["verdict"]
    for cut in (len(data) // 2, len(data) - 8000):
        found = report_with_a_word(write("half", data[:cut]), "the verdict is withheld")
        assert found["verdict"]["standing"] == "inconclusive", found["verdict"]
        assert found["verdict"]["class"] is None, found["verdict"]
        assert found["breakdown"]["verdict"].startswith("inconclusive: "), found["breakdown"]
    half = path("half")
    for words in (["verify", half], ["verify", "--json", half],
                  ["export", half, "--format", "perfetto", "-o", path("out")],
                  ["export", half, "--format", "csv", "-o", path("tables")]):
        done = run(*words)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), (words, done.stderr)
        assert "half" in done.stderr and "damage" in done.stderr, done.stderr
    # In the text, the caveat is part of the sentence.
    text = run("report", half).stdout.split("VERDICT\n")[1].split("\n\n")[0]
    assert text.strip().startswith("Inconclusive: "), text


@case
def outputs_that_are_not_for_this():
    os.chdir(folder.name)
    refused(2, "csv is a folder", "export", GOLDEN, "--format", "csv", "-o", "-")
    assert not os.path.exists("-")
    leader, follower = os.openpty()
    with os.fdopen(follower, "wb") as terminal:
        done = subprocess.run([ACCELTRACE, "export", GOLDEN, "--format", "perfetto", "-o", "-"],
                              stdout=terminal, stderr=subprocess.PIPE, text=True, timeout=60,
                              check=False)
    os.close(leader)
    assert done.returncode == 2 and "is binary" in done.stderr, done
    piped = subprocess.run([ACCELTRACE, "export", GOLDEN, "--format", "perfetto", "-o", "-"],
                           capture_output=True, timeout=60, check=False)
    assert piped.returncode == 0 and len(piped.stdout) > 100_000, piped.stderr
    os.chdir(REPO)


@case
def a_reader_that_goes_away_is_no_error():
    for words in (["report", GOLDEN], ["report", "--json", GOLDEN], ["verify", GOLDEN],
                  ["export", GOLDEN, "--format", "perfetto", "-o", "-"]):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            done = subprocess.run([ACCELTRACE, *words], stdout=pipe, stderr=subprocess.PIPE,
                                  text=True, timeout=60, check=False,
                                  preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
        # Like any other tool, it must end by the signal without a message.
        assert (done.returncode, done.stderr) == (-signal.SIGPIPE, ""), (words, done)


@case
def one_version():
    versions = {run("--version").stdout.split()[-1],
            run("--version", program=os.path.join(BIN, "acceltraced")).stdout.split()[-1]}
    assert len(versions) == 1, versions


@case
def no_room_for_results():
    refused(1, "No space left on device: free some space", "export", GOLDEN, "--format",
            "perfetto", "-o", "/dev/full")
    refused(1, "choose another place", "export", GOLDEN, "--format", "perfetto", "-o", "/nowhere/x")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([ACCELTRACE, "report", GOLDEN], stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=60, check=False)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done
    write("kept", b"what was there before")
    refused(1, "File too large", "export", GOLDEN, "--format", "perfetto", "-o", path("kept"),
            preexec_fn=lambda: limit(10_000))
    with open(path("kept"), "rb") as file:
        assert file.read() == b"what was there before"
    assert sorted(name for name in os.listdir(folder.name) if "part" in name) == []


def limit(bytes_):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, resource.RLIM_INFINITY))


def needs_bpf():
    done = run(*HOST_ONLY, "-o", path("try"), "--", APP, "10")
    if done.returncode != 0:
        raise tap.Skip(done.stderr.strip())


@case
def a_full_file_keeps_what_was_recorded():
    needs_bpf()
    # This is less than one block of the writer.
    name = path("full")
    done = run(*HOST_ONLY, "-o", name, "--", APP, "40000", preexec_fn=lambda: limit(300_000))
    assert done.returncode == 1, done
    lines = done.stderr.splitlines()
    assert lines[0].startswith("acceltrace: ") and "file size limit is reached" in lines[0], done
    # The message comes at once; the amount is reported at the end.
    assert len(lines) == 1 and " it holds " in lines[0] or \
        len(lines) == 2 and " kept, " in lines[1], done
    found = report_with_a_word(name)
    assert found["counts"]["api_calls"] > 0 and found["trace"]["stop_reason"] == "output failed"
    assert os.path.getsize(name) > 50_000


@case
def too_little_memory_is_said():
    name = path("large")
    make = os.path.join(REPO, "build", "test", "make-page-trace")
    subprocess.run([make, "large", "100000", name], check=True)

    def less():
        resource.setrlimit(resource.RLIMIT_AS, (130 << 20, resource.RLIM_INFINITY))

    refused(1, "memory", "report", "--all", name, preexec_fn=less)
    refused(1, "memory", "export", "--format", "sqlite", "-o", path("large.db"), name,
            preexec_fn=less)
    assert not os.path.exists(path("large.db"))


@case
def the_command_s_own_end_comes_through():
    needs_bpf()
    out = [*HOST_ONLY, "-q", "-o", path("status"), "--"]
    done = run(*out, "sh", "-c", "exit 7")
    assert (done.returncode, done.stderr) == (7, ""), done
    # Nothing was recorded of a device, which is reported but is no fault.
    done = run("report", "--json", path("status"))
    assert (done.returncode, done.stderr) == (0, ""), done
    found = json.loads(done.stdout)
    assert "devices were not recorded" in found["verdict"]["text"], found["verdict"]
    assert found["trace"]["command_status"] == 7
    assert run(*out, "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM


if __name__ == "__main__":
    sys.exit(tap.run(case))
