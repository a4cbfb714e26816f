# SPDX-License-Identifier: Apache-2.0
"""The command line of scripts/vm."""

import argparse
import os

from vm import dmesg

REPO = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))

EPILOG = """\
exit status: that of COMMAND. Besides: 1 when COMMAND passed but the kernel complained, 2 for
misuse, 124 when --timeout ended the guest, 125 when the guest could not run or never answered.
The guest's environment holds PATH (with build/bin first), HOME, LANG, REPO and every ACCELTRACE_*
and AXL_* variable of the caller. /tmp is the guest's own unless the working directory is below it.
A sealed guest's shell and system programs are busybox; its output comes when COMMAND has ended,
under --icount as well.
The kernel log of the last run is in build/vm/last-dmesg, the console in build/vm/last-console."""


def joined(argv):
    """Joins free-form values with their options, since argparse takes `--qemu-arg -trace` for
    two.
    """
    result, argv = [], list(argv)
    while argv and argv[0] != "--":
        word = argv.pop(0)
        if word in ("--qemu-arg", "--append", "--allow") and argv and argv[0] != "--":
            word += "=" + argv.pop(0)
        result.append(word)
    return result + argv


def check(parser, opts):
    """Exits with status 2 if options are incomplete or contradict each other."""
    if not opts.command:
        parser.error("no COMMAND given: scripts/vm [options] -- COMMAND [ARG...]")
    if opts.icount and opts.cpus not in (None, 1):
        parser.error("--icount counts the instructions of one CPU: leave --cpus out")
    if opts.unsealed and (opts.sealed or not opts.icount):
        parser.error("--unsealed is for --icount, and --sealed its opposite")
    if opts.skip_idle and not opts.icount:
        parser.error("--skip-idle is for --icount")
    if opts.cpus is not None and not 1 <= opts.cpus <= 64:
        parser.error("--cpus takes 1 to 64")
    if opts.timeout <= 0:
        parser.error("--timeout takes a positive number of seconds")
    if opts.no_device and opts.device:
        parser.error("--no-device and --device exclude each other")
    if opts.sealed and opts.systemd:
        parser.error("--sealed and --systemd exclude each other")
    if opts.setup and not opts.systemd:
        parser.error("--setup is for --systemd; any other guest begins with COMMAND")
    if opts.file and not (opts.sealed or opts.held):
        parser.error("--file is for --sealed and --icount; any other guest sees the host's files")
    for file in opts.file:
        if not os.path.exists(file):
            parser.error(f"--file {file}: no such file")
    for share in opts.share:
        if not os.path.isdir(share):
            parser.error(f"--share {share}: no such directory")
    for device in opts.device or []:
        if device.split(",")[0] != "axl":
            parser.error(f"--device {device}: only axl goes here, use --qemu-arg for others")


def parse(argv):
    """Returns the options; exits with status 2 on misuse."""
    parser = argparse.ArgumentParser(
        prog="vm", usage="scripts/vm [options] -- COMMAND [ARG...]", epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
        description="Boot a guest on this machine's own root, load axl.ko, run COMMAND there.")
    add = parser.add_argument
    add("--icount", action="store_true",
        help="virtual time counts instructions: figures independent of the host's load; one CPU. "
        "What COMMAND names, each --file, their libraries and --share lie in the guest's memory; "
        "its output and what it left in --share come when it has ended; when it waited for other "
        "files of the host that is said, for such a wait takes as long as the host makes it")
    add("--unsealed", action="store_true",
        help="under --icount: output and --share are live, every file is the host's own")
    add("--skip-idle", action="store_true",
        help="under --icount: time in which the guest is idle takes none of the host's; a wait for "
        "the host's files is idle time too, and limits in the guest may pass in it; --sealed, "
        "which waits for nobody, implies it")
    add("--cpus", type=int, metavar="N", help="number of CPUs (default 2; 1 under --icount)")
    add("--memory", default="2G", metavar="SIZE", help="guest memory (default 2G)")
    add("--kernel", metavar="RELEASE",
        help="installed kernel to boot, or the path of an image (default: the newest in /boot)")
    add("--timeout", type=float, default=900, metavar="S",
        help="end the guest and fail after this many seconds (default 900); in which it waits for "
        "a CPU of the host they do not run, three times over at most")
    add("--device", action="append", metavar="axl,KEY=VAL...",
        help="add a device with these properties; repeatable; default one plain axl")
    add("--no-module", action="store_true", help="do not load axl.ko")
    add("--no-device", action="store_true", help="no axl device")
    add("--iommu", action="store_true",
        help="the devices' DMA goes through an IOMMU, which the kernel uses strictly")
    add("--qemu-arg", action="append", default=[], metavar="ARG", help="passed through; repeatable")
    add("--append", action="append", default=[], metavar="ARG",
        help="further kernel command line arguments; repeatable")
    add("--qmp", metavar="SOCKET", help="a QMP socket for changing device properties at run time")
    add("--share", action="append", default=[], metavar="HOSTDIR",
        help="a writable directory, mounted at the same path; repeatable")
    add("--systemd", action="store_true",
        help="the guest's init is systemd, COMMAND runs when it is up")
    add("--setup", metavar="SHELL", default="",
        help="with --systemd: run in the guest's root before systemd starts")
    add("--sealed", action="store_true",
        help="no tie to the host while COMMAND runs: it, each --file and the libraries they need "
        "lie in the guest's first memory, --share is copied out at the end; under --icount two "
        "runs are then alike to the nanosecond")
    add("--file", action="append", default=[], metavar="PATH",
        help="a program, file or folder that COMMAND needs in a sealed guest, or under --icount; "
        "repeatable")
    add("--dmesg", metavar="FILE", help="also keep the kernel log of this run in FILE")
    add("--allow", action="append", default=[], metavar="REGEX",
        help="kernel log lines that are expected here; repeatable")
    add("--known", action="append", default=[], metavar="FILE",
        help="a report of the kernel that is known word by word and does not count; repeatable")
    add("--tcg", action="store_true", help="do not use KVM even where the host has it")
    add("--tcg-one-thread", action="store_true",
        help="all CPUs on one thread: their cycle counter does not leap (docs/clocks.md)")
    add("--verbose", action="store_true", help="show QEMU's command line and the kernel's console")
    add("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    opts = parser.parse_args(joined(argv))
    if opts.command[:1] == ["--"]:
        opts.command = opts.command[1:]
    # Partially sealed: the host's other files are still accessible.
    opts.held = opts.icount and not (opts.sealed or opts.unsealed or opts.systemd)
    check(parser, opts)
    if opts.cpus is None:
        opts.cpus = 1 if opts.icount else 2
    opts.share = [os.path.abspath(share) for share in opts.share]
    try:
        opts.known = [dmesg.Known(path) for path in opts.known]
    except (OSError, ValueError) as error:
        parser.error(f"--known: {error}")
    opts.device = [] if opts.no_device else (opts.device or ["axl"])
    opts.repo = REPO
    return opts
