#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""What a command that is recorded inherits and gives back is as without the recorder in between."""

import array
import ctypes
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from plain_and_recorded import (ACCELTRACE, FOLDER, LIMIT_S, RECORD, RECORDED,  # noqa: E402
                                SIGNALS, alike, alike_in_shell, before, ignoring, outcome, path,
                                python, run, shell, summary, tap, until)

case = tap.Cases()


# ---- what is inherited ----


@case
def signals_are_as_they_were():
    alike(SIGNALS)
    alike(SIGNALS, restore_signals=False)


@case
def an_ignored_signal_stays_ignored():
    for name in ("PIPE", "HUP", "INT", "QUIT", "TERM", "CHLD", "USR1", "TSTP", "TTOU", "XFSZ"):
        number = getattr(signal, "SIG" + name)
        status, text, _ = alike(SIGNALS, **ignoring(number))
        ignored = int(text.split(b"SigIgn:")[1].split()[0], 16)
        assert (status, ignored >> (number - 1) & 1) == (0, 1), (name, text)


@case
def a_blocked_signal_stays_blocked():
    every = signal.valid_signals()
    for some in ({signal.SIGUSR2}, {signal.SIGINT, signal.SIGCHLD, signal.SIGTERM}, every):
        alike(SIGNALS, **before(lambda some=some: signal.pthread_sigmask(signal.SIG_BLOCK, some)))


@case
def a_command_that_nobody_waits_for_has_its_status():
    assert alike(shell("exit 3"), **ignoring(signal.SIGCHLD))[0] == 3


@case
def limits_are_as_they_were():
    def lower():
        for name, soft, hard in (("NOFILE", 300, 400), ("CORE", 0, 0), ("FSIZE", 1 << 30, 1 << 31),
                                 ("STACK", 4 << 20, 8 << 20), ("MEMLOCK", 1 << 16, 1 << 16),
                                 ("NPROC", 5000, 5000)):
            resource.setrlimit(getattr(resource, "RLIMIT_" + name), (soft, hard))
    assert b"300" in alike(["cat", "/proc/self/limits"], preexec_fn=lower)[1]
    alike(["cat", "/proc/self/limits"])


@case
def few_descriptors_are_enough():
    def few(hard):
        return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, hard))}
    assert alike(shell("ulimit -n"), **few(400))[1] == b"20\n"
    # If the hard limit is too low as well, the message must say so.
    status, out, said = outcome([*RECORDED, *shell("ulimit -n")], **few(20))
    assert (status, out) == (0, b"20\n") or (status == 1 and b"ulimit -n" in said), said
    assert not said or len(said.splitlines()) == 1 and b"root" not in said, said
    status, _, said = outcome([*RECORDED, "true"], preexec_fn=lambda: resource.setrlimit(
        resource.RLIMIT_NOFILE, (4, 4)))
    assert status == 1 and b"ulimit -n" in said, said


@case
def scheduling_and_mask_of_files_are_as_they_were():
    text = """
import ctypes, os, resource
libc = ctypes.CDLL(None)
print(os.nice(0), os.sched_getscheduler(0), sorted(os.sched_getaffinity(0)), os.umask(0))
print(open("/proc/self/oom_score_adj").read(), open("/proc/self/timerslack_ns").read())
print(libc.personality(0xffffffff), os.getcwd())
"""
    alike(python(text), cwd="/")

    def other():
        os.nice(3)
        os.umask(0o137)
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("77")
    assert b"77" in alike(python(text), cwd=FOLDER.name, preexec_fn=other)[1]


@case
def flags_of_the_process_are_as_they_were():
    text = """
import ctypes
libc = ctypes.CDLL(None)
value = ctypes.c_int()
for option in (2, 37):  # PR_GET_PDEATHSIG, PR_GET_CHILD_SUBREAPER
    libc.prctl(option, ctypes.byref(value), 0, 0, 0)
    print(value.value)
for option in (3, 7, 39, 42):  # dumpable, keepcaps, no_new_privs, thp_disable
    print(libc.prctl(option, 0, 0, 0, 0))
for line in open("/proc/self/status"):
    if line.startswith(("Cap", "NoNew", "Seccomp", "Groups", "Uid", "Gid", "Cpus_a", "Mems")):
        print(line)
"""
    alike(python(text))
    alike(python(text), **before(lambda: ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)))


@case
def the_environment_is_as_it_was():
    alike(["env"], env={"A": "1", "PATH": "/usr/bin:/bin", "ODD": "a\nb"})
    alike(["/usr/bin/env"], env={})
    alike([b"/usr/bin/env"], env={b"B\xff": b"\xfe\x01"})


@case
def arguments_arrive_as_they_are():
    show = python("import sys; print([a.encode('utf-8', 'surrogateescape') for a in sys.argv[1:]])")
    alike([*show, "", " ", "--", "-q", "-o", "--help", "a\nb", "*", "$HOME", "'\""])
    alike([*(word.encode() for word in show), b"\xff\xfe", b"\x1b[31m", "שלום".encode()])
    alike([*show, *["x" * 50_000] * 12])
    alike([*show, *[""] * 60_000])


@case
def descriptors_are_as_they_were():
    text = "import os; print({n: os.readlink(f'/proc/self/fd/{n}').split(':')[0] for n in " \
           "os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{n}')})"
    with open(os.devnull, "rb") as file:
        def more():
            os.dup2(file.fileno(), 9)
            os.dup2(file.fileno(), 3)
        alike(python(text), close_fds=False, preexec_fn=more)
    alike(python(text))


@case
def closed_descriptors_stay_closed():
    for closed in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        said = []
        for prefix in ([], RECORDED):
            show = shell('for n in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$n ] && '
                         'echo $n >>"$1"; done; exit 5', path("open"))
            with open(path("open"), "w", encoding="ascii"):
                pass
            ends = " ".join(f"{fd}>&-" for fd in closed)
            done = subprocess.run(shell(f'exec "$@" {ends}', *prefix, *show), check=False,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S)
            with open(path("open"), encoding="ascii") as file:
                said.append((done, file.read().split()))
            os.unlink(path("open"))
        (plain, had), (recorded, has) = said
        assert (had, plain.returncode) == (has, recorded.returncode), (closed, said)
        assert summary(path("trace"))["footer"], closed  # nothing was said into it


@case
def the_input_is_the_commands_alone():
    for text in ("R sh -c 'read a; echo got $a'; cat", "R true; cat", "R cat; cat"):
        alike_in_shell(text, stdin=None, input=b"one\ntwo\nthree\n")


@case
def the_process_group_is_the_callers():
    alike(python("import os; print(os.getpgrp() == os.getpgid(os.getppid()), os.getsid(0))"))


@case
def a_timer_that_runs_ends_the_command():
    alarm = before(lambda: signal.setitimer(signal.ITIMER_REAL, 2))
    assert alike(["sleep", "30"], **alarm)[0] == -signal.SIGALRM


# ---- what comes back ----


@case
def exit_statuses_come_back():
    for status in (0, 1, 2, 77, 126, 127, 128, 130, 137, 255):
        assert alike(shell(f"exit {status}"))[0] == status


@case
def deaths_come_back():
    for name in ("TERM", "INT", "HUP", "QUIT", "KILL", "SEGV", "ABRT", "PIPE", "USR1", "ALRM",
                 "FPE", "XFSZ", "SYS", "TRAP"):
        number = getattr(signal, "SIG" + name)
        def quiet():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        assert alike(shell(f"kill -{name} $$"), preexec_fn=quiet)[0] == -number, name
        assert summary(path("trace"))["command_status"] == 128 + number


@case
def pipes_end_as_ever():
    assert alike_in_shell("R seq 100000 | head -1; echo ${PIPESTATUS[*]}")[1] == b"1\n141 0\n"
    alike_in_shell("trap '' PIPE; R seq 100000 2>/dev/null | head -1; echo ${PIPESTATUS[*]}")
    alike_in_shell("R seq 9 >/dev/full; echo $?")
    alike_in_shell("(R sh -c 'echo out; echo err >&2') 2>&1 | sort")


@case
def what_cannot_be_run_says_so_as_a_shell_does():
    os.mkdir(path("folder"))
    for name, mode, text in (("plain", 0o644, "exit 4\n"), ("noise", 0o755, "\x7fELF noise"),
                             ("lost", 0o755, "#!/no/such/thing\n")):
        with open(path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path(name), mode)
    for command in ("/no/such/command", "no-such-command", path("plain"), path("folder"),
                    path("noise"), "/etc/passwd/x"):
        plain = outcome(shell('exec "$@"', command))
        status, out, said = outcome([*RECORDED, command])
        assert (status, out) == (plain[0], b""), (command, plain, status, said)
        assert len(said.splitlines()) == 1 and said.startswith(b"acceltrace: "), said
    # A missing interpreter is a fault of the script, which itself exists (as in bash).
    assert outcome([*RECORDED, path("lost")])[0] == 126
    assert outcome([*RECORDED, ""])[0] == 127  # as bash
    found = {**os.environ, "PATH": f"{FOLDER.name}:/usr/bin:/bin"}
    plain = outcome(shell('exec "$@"', "plain"), env=found)
    assert outcome([*RECORDED, "plain"], env=found)[0] == plain[0] == 126


@case
def commands_are_found_as_a_shell_finds_them():
    with open(path("bare"), "w", encoding="utf-8") as file:
        file.write("echo bare $1; exit 6\n")  # no #!
    os.chmod(path("bare"), 0o755)
    for search in (FOLDER.name, f"/usr/bin:{FOLDER.name}", "/usr/bin:", ":/usr/bin",
                   "/usr/bin::/bin", "/no/such:."):
        how = {"env": {"PATH": search}, "cwd": FOLDER.name}
        plain = outcome(["/bin/sh", "-c", "bare 1"], **how)
        assert outcome([*RECORDED, "bare", "1"], **how) == plain == (6, b"bare 1\n", b""), search
    assert outcome([*RECORDED, "true"], env={})[0] == 0


@case
def a_daemon_goes_on_when_its_command_has_ended():
    flag = path("still")
    begin = time.monotonic()
    alike(shell('setsid sh -c \'sleep 1; echo yes >>"$1"\' sh "$1" >/dev/null 2>&1 & exit 0', flag))
    assert time.monotonic() - begin < LIMIT_S
    until(lambda: os.path.exists(flag) and os.path.getsize(flag) == 8)


# ---- what the recorder says ----


@case
def names_that_are_no_utf8_are_recorded():
    odd = b"./odd\xff\xfe\x1b[31m"
    shutil.copy("/bin/sleep", os.path.join(FOLDER.name.encode(), odd))
    for more in ([], ["--ring", "1M"], ["--rotate-size", "1M"], ["--sources", "sched"]):
        status, out, said = outcome([*RECORD, *more, "--", odd, "0.1"], cwd=FOLDER.name)
        assert (status, out) == (0, b"") and b"libprotobuf" not in said, (more, said)
        told = outcome([ACCELTRACE, "report", path("trace")])[1]
        assert b"./odd???[31m 0.1" in told, (more, told)
    for name in (b"out\xff\x1b[31m", "out\u202e".encode()):
        output = os.path.join(FOLDER.name.encode(), name)
        done = outcome([*RECORD[:2], *RECORD[3:-1], output, "--", "true"])
        assert done[:2] == (0, b"") and b"\xff" not in done[2] and b"\x1b" not in done[2], done
        assert "\u202e" not in done[2].decode(), done


@case
def root_is_not_told_to_be_root():
    less = ["setpriv", "--bounding-set", "-all,+dac_override", "--inh-caps", "-all"]
    if subprocess.run([*less, "true"], capture_output=True, check=False).returncode != 0:
        raise tap.Skip("capabilities cannot be dropped here")
    status, _, said = outcome([*less, *RECORDED, "true"])
    assert status == 1 and b"run as root" not in said and b"CAP_BPF" in said, said
    assert len(said.splitlines()) == 1, said


@case
def a_long_command_is_told_to_the_service_by_its_beginning():
    lines = []
    address = path("service")
    server = socket.socket(socket.AF_UNIX)
    server.bind(address)
    server.listen()

    def serve():
        client, _ = server.accept()
        text = b""
        while True:
            part, rights, _, _ = client.recvmsg(1 << 20, 1024)
            for _, _, data in rights:
                for fd in array.array("i", data):
                    os.close(fd)
            if not part:
                return
            text += part
            while b"\n" in text:
                line, text = text.split(b"\n", 1)
                lines.append(line)
                about = json.loads(line)
                client.sendall(json.dumps({"id": about["id"], "ok": True, "session": 1,
                                           "summary": {"error": ""}}).encode() + b"\n")
    for words in (["x" * 100_000], ["\x01" * 30_000] * 3, [""] * 50_000, ["é\n"] * 30_000):
        lines.clear()
        thread = threading.Thread(target=serve)
        thread.start()
        command = shell('echo $#; exit 8', *words)
        done = outcome([ACCELTRACE, "record", "-q", "--no-device", "--socket", address, "-o",
                        path("told"), "--", *command])
        thread.join()
        assert done == (8, f"{len(words)}\n".encode(), b""), done
        start = json.loads(lines[0])
        assert len(lines[0]) < 60_000 and start["command"][:2] == ["sh", "-c"], len(lines[0])
        assert start["command"][-1].endswith("…"), start["command"][-1][-20:]
    server.close()


if __name__ == "__main__":
    sys.exit(run(case, root=True))
