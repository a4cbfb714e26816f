# SPDX-License-Identifier: Apache-2.0
"""Finds the kernel to boot and the modules that it needs before it has a root file system."""

import lzma
import gzip
import os
import re
import subprocess

from vm import Failure

# Modules that the guest needs to reach its root; built-in ones are skipped.
EARLY = ["virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay"]


def version_key(release):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", release)]


def installed():
    """Releases with an image in /boot and modules beside it, oldest first."""
    found = []
    for name in os.listdir("/boot") if os.path.isdir("/boot") else []:
        release = name.removeprefix("vmlinuz-")
        if release != name and os.path.exists(f"/lib/modules/{release}/modules.dep"):
            found.append(release)
    return sorted(found, key=version_key)


def image_release(path):
    """The release that a bzImage states in its setup header (Documentation/arch/x86/boot.rst)."""
    with open(path, "rb") as image:
        head = image.read(0x8000)
    if len(head) < 0x210 or head[0x202:0x206] != b"HdrS":
        raise Failure(f"{path} is no x86 kernel image")
    at = int.from_bytes(head[0x20E:0x210], "little") + 0x200
    return head[at:].split(b"\0")[0].split(b" ")[0].decode("ascii", "replace")


class Kernel:
    """An image, its release, and the folder of its modules (None: everything needed is built
    in).
    """

    def __init__(self, image, release):
        self.image = image
        self.release = release
        folder = f"/lib/modules/{release}"
        self.modules = folder if os.path.exists(f"{folder}/modules.dep") else None
        if not os.access(image, os.R_OK):
            raise Failure(f"{image} is not readable for you: chmod a+r it, or run as root")

    def early_modules(self):
        """Paths of EARLY and their dependencies, in load order."""
        return self.with_dependencies(EARLY)

    def with_dependencies(self, names):
        """Paths of these modules and their dependencies, in load order; built-in ones have none."""
        if self.modules is None:
            return []
        depends = {}
        with open(f"{self.modules}/modules.dep", encoding="utf-8") as table:
            for line in table:
                path, _, rest = line.partition(":")
                depends[path] = rest.split()
        by_name = {module_name(path): path for path in depends}
        order = []

        def visit(path):
            for dependency in reversed(depends.get(path, [])):
                if dependency not in order:
                    visit(dependency)
            if path not in order:
                order.append(path)

        for name in names:
            if name in by_name:
                visit(by_name[name])
        return [os.path.join(self.modules, path) for path in order]


def module_name(path):
    return os.path.basename(path).split(".")[0].replace("-", "_")


def module_bytes(path):
    """A module as insmod takes it, decompressed."""
    if path.endswith(".xz"):
        return lzma.open(path).read()
    if path.endswith(".gz"):
        return gzip.open(path).read()
    if path.endswith(".zst"):
        return subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout
    with open(path, "rb") as module:
        return module.read()


def module_depends(path):
    """The dependencies that a module declares in its .modinfo section."""
    match = re.search(rb"\0depends=([\w,-]*)\0", module_bytes(path))
    return [name for name in match.group(1).decode().split(",") if name] if match else []


def choose(wanted, repo, with_module):
    """The requested kernel; else the newest, preferably one that axl.ko has been built for."""
    if wanted and "/" in wanted:
        return Kernel(os.path.abspath(wanted), image_release(wanted))
    have = installed()
    if wanted:
        if wanted not in have:
            raise Failure(f"no kernel {wanted} in /boot with modules; installed: "
                          f"{' '.join(have) or 'none'}")
        return Kernel(f"/boot/vmlinuz-{wanted}", wanted)
    if not have:
        raise Failure("no kernel in /boot with modules: apt-get install linux-image-amd64")
    built = [r for r in have if os.path.exists(f"{repo}/build/kmod/{r}/axl.ko")]
    release = (built if with_module and built else have)[-1]
    return Kernel(f"/boot/vmlinuz-{release}", release)
