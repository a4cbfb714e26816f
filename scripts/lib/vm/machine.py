# SPDX-License-Identifier: Apache-2.0
"""QEMU's command line for one run."""

import os
import re
import shutil

from vm import Failure

# Channels between guest and host, in the order of their file descriptors.
PORTS = ("stdout", "stderr", "status", "dmesg")
# After them: the monitor, which frees a guest from stale translations (stale.py).
WATCH = "watch"


def has_kvm():
    """/dev/kvm may exist but be unable to run a stock kernel; the CPU's flags tell."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as cpuinfo:
            flags = re.search(r"^flags\s*:.*\b(vmx|svm)\b", cpuinfo.read(), re.M)
    except OSError:
        return False
    return bool(flags) and os.access("/dev/kvm", os.R_OK | os.W_OK)


def qemu(repo):
    """The tree's own build of QEMU if there is one (the fallback of qemu-device), else the
    system's.
    """
    own = f"{repo}/build/qemu-device/qemu-system-x86_64"
    found = own if os.path.exists(own) else shutil.which("qemu-system-x86_64")
    if found is None:
        raise Failure("no qemu-system-x86_64: apt-get install qemu-system-x86")
    return found


def environment(opts):
    """QEMU's environment, which preloads the axl device as a shared object."""
    env = dict(os.environ)
    if opts.devices_preloaded:
        env["LD_PRELOAD"] = " ".join(filter(None, [env.get("LD_PRELOAD"), opts.devices_preloaded]))
    return env


def quote(value):
    """A value inside one of QEMU's comma-separated options."""
    return value.replace(",", ",,")


def kernel_arguments(opts):
    args = ["console=ttyS0", "loglevel=5", "log_buf_len=8M", "panic=-1", "tsc=reliable",
            "clocksource=tsc", "mitigations=off", "nokaslr", "norandmaps", "random.trust_cpu=on"]
    # At boot the kernel waits for ten ticks of the timer and panics when they are late, which they
    # may be on a busy host.
    args.append("no_timer_check")
    if opts.icount:
        # One TSC tick is one virtual nanosecond. Without a reference timer (the HPET is omitted,
        # too) the kernel uses this value; measuring would add an error of 1 ppm.
        args += ["tsc_early_khz=1000000", "pmtmr=0"]
        # Makes acceltraced count how often the guest waited for the host.
        args.append("acceltrace.icount")
    if opts.iommu:
        # Strict: unmapped memory is inaccessible immediately, not some time later.
        args += ["intel_iommu=on", "iommu.passthrough=0", "iommu.strict=1"]
    if opts.systemd:
        # The host's own services and mounts are not under test.
        args += ["systemd.unit=acceltrace-vm.target", "fstab=no", "systemd.mask=tmp.mount"]
    if opts.verbose:
        args.append("ignore_loglevel")
    return " ".join(args + opts.append)


def machine_type(opts):
    """KVM cannot deliver interrupts that an IOMMU remaps."""
    return ",".join(["q35"] + ["hpet=off"] * opts.icount + ["kernel-irqchip=split"] * opts.iommu)


def uses_kvm(opts):
    return has_kvm() and not opts.icount and not opts.tcg


def is_watched(opts):
    """Whether each CPU has its own thread that translates."""
    return opts.cpus > 1 and not (uses_kvm(opts) or opts.icount or opts.tcg_one_thread)


def command_line(opts, chosen, initramfs, console, descriptors):
    """The arguments; `descriptors` are QEMU's ends of the socket pairs of PORTS, followed by that
    of WATCH if the guest is watched.
    """
    args = [qemu(opts.repo), "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-machine", machine_type(opts),
            "-m", opts.memory, "-smp", str(opts.cpus)]
    tcg = "tcg,thread=single" if opts.tcg_one_thread else "tcg"
    args += ["-accel", "kvm", "-cpu", "host"] if uses_kvm(opts) else \
        ["-accel", tcg, "-cpu", "max,la57=off"]
    # Native PCIe hotplug: that of ACPI would hide link changes and surprise removal.
    args += ["-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"]
    if opts.icount:
        # Idle time must not be skipped where it may be a wait for the host.
        sleep = "off" if opts.sealed or opts.skip_idle else "on"
        args += ["-icount", f"shift=0,sleep={sleep}", "-seed", "1"]
        args += ["-rtc", "base=2026-01-01,clock=vm"]
    if opts.iommu:
        # Before any other device, since earlier ones would bypass it.
        args += ["-device", "intel-iommu,intremap=on"]
    args += ["-kernel", chosen.image, "-initrd", initramfs, "-append", kernel_arguments(opts)]
    args += ["-chardev", f"file,id=console,path={quote(console)}", "-serial", "chardev:console"]
    # A kernel with the driver built in uses this one before a sealed guest is sealed: without
    # ioeventfd the answers are synchronous, at the same virtual time in each run.
    args += ["-device", "virtio-serial-pci,id=vser,ioeventfd=off"]
    for number, (port, descriptor) in enumerate(zip(PORTS, descriptors), 1):
        args += ["-chardev", f"socket,id={port},fd={descriptor}", "-device",
                 f"virtserialport,bus=vser.0,nr={number},chardev={port},name=acceltrace.{port}"]
    args += ["-virtfs",
             "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"]
    for number, share in enumerate(opts.share):
        args += ["-virtfs", f"local,path={quote(share)},mount_tag=share{number},"
                 "security_model=none,multidevs=remap"]
    for number, device in enumerate(opts.device):
        # A root port for each device, so that link state and hotplug work.
        place = f"chassis={number + 1},slot={number + 1}"
        args += ["-device", f"pcie-root-port,id=axl-rp{number},{place}"]
        name, _, properties = device.partition(",")
        place = f"bus=axl-rp{number}" if "bus=" not in properties else ""
        ident = f"id=axl{number}" if not re.search(r"(^|,)id=", properties) else ""
        args += ["-device", ",".join(filter(None, [name, place, ident, properties]))]
    if len(descriptors) > len(PORTS):
        args += ["-chardev", f"socket,id={WATCH},fd={descriptors[-1]}",
                 "-mon", f"chardev={WATCH},mode=control"]
    if opts.qmp:
        args += ["-qmp", f"unix:{quote(opts.qmp)},server=on,wait=off"]
    return args + opts.qemu_arg
