# SPDX-License-Identifier: Apache-2.0
"""Runs the guest, passes its output on, and decides on the exit status."""

import contextlib
import ctypes
import os
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from vm import Failure, closure, dmesg, initramfs, kernel, machine, stale, starved

FAILED, TIMED_OUT = 125, 124
STARVED_MOST = 3  # times the limit that a guest without a CPU may take longer
PR_SET_PDEATHSIG = 1
LOG_LIMIT_BYTES = 64 << 20


def say(text):
    sys.stderr.write(f"vm: {text}\n")
    sys.stderr.flush()


def cache_folder(repo):
    """build/vm, or a folder of the user if the tree is not writable."""
    own = os.path.join(tempfile.gettempdir(), f"acceltrace-vm-{os.getuid()}")
    for folder in (f"{repo}/build/vm", own):
        with contextlib.suppress(OSError):
            os.makedirs(folder, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    raise Failure("neither build/vm nor the temporary folder can be written")


def below(path, folder):
    return os.path.commonpath([path, folder]) == folder


def driver_module(opts, chosen):
    """Path of axl.ko for this kernel; empty if not wanted."""
    if opts.no_module:
        return ""
    module = f"{opts.repo}/build/kmod/{chosen.release}/axl.ko"
    if not os.path.exists(module):
        raise Failure(f"no build/kmod/{chosen.release}/axl.ko: run make, or use --no-module")
    return module


def guest_config(opts, module):
    """The input of guest-init and guest-run: shell assignments."""
    here = os.getcwd()
    if opts.systemd and not os.path.exists("/sbin/init"):
        raise Failure("--systemd needs /sbin/init: apt-get install systemd-sysv")
    own_tmp = not any(below(path, "/tmp") for path in (here, opts.repo))
    depends = " ".join(kernel.module_depends(module)) if module else ""
    held = closure.held(opts) if opts.held else []
    shares = closure.held_shares(opts) if opts.held else []
    for share in opts.share:
        if opts.held and share not in shares:
            say(f"--share {share} is too large for the guest's memory: what COMMAND does there "
                "waits for the host")
    config = {"HELD": "1" if opts.held else "", "HELD_FILES": "\n".join(held),
              "HELD_SHARES": "\n".join(shares), "MODULE": module, "MODULE_DEPENDS": depends,
              "OWN_TMP": "1" if own_tmp else "", "SHARES": "\n".join(opts.share),
              "SYSTEMD": "1" if opts.systemd else "", "SEALED": "1" if opts.sealed else "",
              "SETUP": f"cd {shlex.quote(here)} || exit\n{opts.setup}" if opts.setup else ""}
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in config.items())


def guest_command(opts):
    system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    env = {"PATH": f"{opts.repo}/build/bin:{system}", "HOME": "/root", "USER": "root",
           "LANG": "C.UTF-8", "TERM": "dumb", "REPO": opts.repo}
    env.update({k: v for k, v in os.environ.items() if k.startswith(("ACCELTRACE_", "AXL_"))})
    here = shlex.quote(os.getcwd())
    pairs = " ".join(shlex.quote(f"{name}={value}") for name, value in env.items())
    words = " ".join(map(shlex.quote, opts.command))
    return (f"#!/run/acceltrace-vm/busybox sh\ncd {here} || exit 125\n"
            f"exec env -i {pairs} {words}\n")


def die_with_parent():
    """Runs in the child: QEMU must not outlive this process, even if it is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Guest:
    """One QEMU process and this side of its channels."""

    def __init__(self, opts, chosen, folder, initrd):
        self.console = os.path.join(folder, "console")
        self.errors_path = os.path.join(folder, "qemu-stderr")
        self.received = {"status": bytearray(), "dmesg": bytearray()}
        ports = machine.PORTS + (machine.WATCH,) * machine.is_watched(opts)
        pairs = [socket.socketpair() for _ in ports]
        theirs = [pair[1].fileno() for pair in pairs]
        line = machine.command_line(opts, chosen, initrd, self.console, theirs)
        if opts.verbose:
            say(shlex.join(line))
        with open(self.errors_path, "wb") as errors:
            self.process = subprocess.Popen(
                line, env=machine.environment(opts), stdin=subprocess.DEVNULL, stdout=errors,
                stderr=errors, pass_fds=theirs, preexec_fn=die_with_parent)
        self.ours = {}
        for port, (mine, other) in zip(ports, pairs):
            other.close()
            self.ours[port] = mine
        watched = self.ours.pop(machine.WATCH, None)
        self.watch = stale.Watch(watched) if watched else None
        self.starved = starved.Watch(self.process.pid, self.console)

    def pump(self, seconds):
        """Passes output on until QEMU has exited; returns False on a time-out. Time that a thread
        of QEMU waited for a CPU does not count, up to a limit.
        """
        begin = time.monotonic()

        def left():
            more = min(self.starved.waits_s, STARVED_MOST * seconds)
            return begin + seconds + more - time.monotonic()

        selector = selectors.DefaultSelector()
        for port, mine in self.ours.items():
            selector.register(mine, selectors.EVENT_READ, port)
        while selector.get_map():
            if left() <= 0:
                return False
            self.starved.look(time.monotonic())
            if self.watch and self.watch.look(time.monotonic()):
                say("a CPU was held by a translation that QEMU did not renew: it makes new ones")
            for key, _ in selector.select(max(min(left(), stale.EVERY_S), 0)):
                try:
                    data = key.fileobj.recv(65536)
                except ConnectionResetError:
                    data = b""
                if not data:
                    selector.unregister(key.fileobj)
                elif key.data in self.received:
                    if len(self.received[key.data]) < LOG_LIMIT_BYTES:
                        self.received[key.data] += data
                else:
                    write_all(1 if key.data == "stdout" else 2, data)
        self.starved.look(time.monotonic(), last=True)
        return self.wait(max(left(), 1.0))

    def wait(self, seconds):
        try:
            self.process.wait(seconds)
            return True
        except subprocess.TimeoutExpired:
            return False

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def status(self):
        """The command's exit status, or None if the guest never reported one."""
        text = bytes(self.received["status"]).strip()
        return int(text) & 255 if text.isdigit() else None

    def errors(self):
        return read_text(self.errors_path)

    def met_qemu_bug(self):
        """QEMU 7.2 under TCG: occasionally a write for another region reaches a table of MSI-X
        vectors while the kernel places the devices, and QEMU exits.
        """
        return (self.status() is None and not self.received["dmesg"] and
                "hw/pci/msix.c" in self.errors() and "Assertion" in self.errors())

    def log(self):
        """The kernel log as the guest sent it, followed by messages that only reached the
        console.
        """
        log = bytes(self.received["dmesg"]).decode("utf-8", "replace").replace("\r", "")
        seen = set(log.splitlines())
        rest = [line for line in read_text(self.console).splitlines() if line not in seen]
        return log, log + "".join(line + "\n" for line in rest)


def write_all(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]


def read_text(path):
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read(LOG_LIMIT_BYTES).decode("utf-8", "replace").replace("\r", "")
    return ""


def keep(text, path):
    """Writes a file atomically, since concurrent runs use the same path."""
    partial = f"{path}.{os.getpid()}"
    with open(partial, "w", encoding="utf-8") as out:
        out.write(text)
    os.rename(partial, path)


def judge(opts, guest, in_time, cache):
    """The exit status, with one line for each problem."""
    if guest.errors():
        for line in guest.errors().splitlines()[-40:]:
            sys.stderr.write(f"qemu: {line}\n")
    log, everything = guest.log()
    keep(everything, f"{cache}/last-dmesg")
    keep(read_text(guest.console), f"{cache}/last-console")
    if opts.dmesg:
        keep(everything, opts.dmesg)
    for name, count in dmesg.split_known(everything, opts.known)[1].items():
        say(f"the kernel log has the known report {name} {count} times")
    for line, share in guest.starved.excused.items():
        say(f"this host kept the guest waiting for {share:.0%} of the time before, so it is not a "
            f"finding: {line}")
    bad = dmesg.findings(everything, opts.allow, opts.known, guest.starved.excused)
    for line in bad:
        sys.stderr.write(f"dmesg: {line}\n")
    status = guest.status()
    if not in_time:
        say(f"the guest did not end within {opts.timeout:g} s, see {cache}/last-console")
        return TIMED_OUT
    if status is None or not log:
        for line in read_text(guest.console).splitlines()[-5:]:
            sys.stderr.write(f"console: {line}\n")
        say(f"the guest ended without an answer, see {cache}/last-console")
        return FAILED
    if bad:
        say(f"the kernel log has findings, see above and {opts.dmesg or cache + '/last-dmesg'}")
        return status or 1
    return status


def boot(opts, chosen, folder, initrd):
    """A guest that has ended, and whether it did so in time."""
    guest = Guest(opts, chosen, folder, initrd)
    try:
        return guest, guest.pump(opts.timeout)
    finally:
        guest.stop()


def run(opts):
    cache = cache_folder(opts.repo)
    chosen = kernel.choose(opts.kernel, opts.repo, not opts.no_module)
    opts.devices_preloaded = ""
    if opts.device and machine.qemu(opts.repo) == shutil.which("qemu-system-x86_64"):
        opts.devices_preloaded = f"{opts.repo}/build/qemu-device/axl.so"
        if not os.path.exists(opts.devices_preloaded):
            raise Failure("no build/qemu-device/axl.so: run make, or use --no-device")
    module = driver_module(opts, chosen)
    config = guest_config(opts, module).encode(errors="surrogateescape")
    command = guest_command(opts).encode(errors="surrogateescape")
    with tempfile.TemporaryDirectory(prefix="run-", dir=cache) as folder:
        initrd = initramfs.for_run(opts, chosen, cache, folder, config, command, module)
        guest, in_time = boot(opts, chosen, folder, initrd)
        if guest.met_qemu_bug():
            say("QEMU ended itself before the guest was up (hw/pci/msix.c): booted once more")
            guest, in_time = boot(opts, chosen, folder, initrd)
        if opts.verbose:
            sys.stderr.write(read_text(guest.console))
        return judge(opts, guest, in_time, cache)


def main(opts):
    """Returns the exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return run(opts)
    except Failure as failure:
        say(failure)
        return FAILED
    except BrokenPipeError:
        return 141
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        say(f"cannot run the guest: {error}")
        return FAILED
