# SPDX-License-Identifier: Apache-2.0
"""Builds the guest's initramfs: a cached part (busybox, modules, scripts) and one for each run."""

import hashlib
import os
import shutil
import stat
import tempfile

from vm import Failure, closure, kernel

HERE = os.path.dirname(os.path.realpath(__file__))


class Cpio:
    """An archive in the kernel's "newc" form (Documentation/driver-api/early-userspace)."""

    def __init__(self):
        self.data = bytearray()
        self.count = 0

    def add(self, name, mode, content=b""):
        self.count += 1
        path = name.encode() + b"\0"
        fields = [self.count, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0]
        self.data += b"070701" + b"".join(b"%08X" % field for field in fields) + path
        self._pad()
        self.data += content
        self._pad()

    def folder(self, name):
        self.add(name, stat.S_IFDIR | 0o755)

    def file(self, name, content, mode=0o644):
        self.add(name, stat.S_IFREG | mode, content)

    def finish(self):
        self.add("TRAILER!!!", 0)
        return bytes(self.data)

    def _pad(self):
        self.data += bytes(-len(self.data) % 4)


def busybox():
    """Finds a static busybox, since the initramfs has no libraries."""
    path = shutil.which("busybox", path="/bin:/usr/bin:/sbin:/usr/sbin")
    if path is None:
        raise Failure("no busybox: apt-get install busybox-static")
    with open(path, "rb") as program:
        content = program.read()
    if b"/ld-linux" in content[:4096]:
        raise Failure(f"{path} is not statically linked: apt-get install busybox-static")
    return content


def base(chosen, cache):
    """Path of the part that only depends on the kernel and the scripts, made when stale."""
    scripts = {}
    for name in ("guest-init", "guest-run"):
        with open(os.path.join(HERE, name), "rb") as script:
            scripts[name] = script.read()
    program = busybox()
    modules = chosen.early_modules()
    key = hashlib.sha256(program)
    for part in [*scripts.values(), chosen.release.encode(), *map(os.fsencode, modules)]:
        key.update(part)
    for module in modules:
        key.update(b"%d" % os.stat(module).st_mtime_ns)
    path = os.path.join(cache, f"initramfs-{chosen.release}-{key.hexdigest()[:16]}.cpio")
    if os.path.exists(path):
        return path

    archive = Cpio()
    for folder in ("bin", "dev", "proc", "sys", "lower", "upper", "root", "modules"):
        archive.folder(folder)
    # The console exists before devtmpfs is mounted, for messages of /init itself.
    archive.add("init", stat.S_IFREG | 0o755, scripts["guest-init"])
    archive.file("bin/busybox", program, 0o755)
    archive.add("bin/sh", stat.S_IFLNK | 0o777, b"busybox")
    archive.file("guest-run", scripts["guest-run"], 0o755)
    for number, module in enumerate(modules):
        archive.file(f"modules/{number:02d}-{kernel.module_name(module)}.ko",
                     kernel.module_bytes(module))
    # Written to a temporary file and renamed, so that concurrent runs never see half an archive.
    handle, partial = tempfile.mkstemp(dir=cache)
    with os.fdopen(handle, "wb") as out:
        out.write(archive.finish())
    os.rename(partial, path)
    return path


def seal(archive, opts, chosen, module):
    """Adds what a sealed guest needs: axl.ko and its modules, COMMAND's files and libraries."""
    contents = {}
    modules = chosen.with_dependencies(kernel.module_depends(module)) if module else []
    for number, path in enumerate(modules + [module] * bool(module)):
        name = f"/driver/{number:02d}-{kernel.module_name(path)}.ko"
        contents[name] = (kernel.module_bytes(path), 0o644)
    for path in closure.of(opts):
        with open(path, "rb") as file:
            contents[path] = (file.read(), 0o755 if os.access(path, os.X_OK) else 0o644)
    for folder in sorted(closure.folders([*contents, *(f"{path}/" for path in
                                                       [os.getcwd(), *opts.share])])):
        archive.folder(folder.lstrip("/"))
    for path, (content, mode) in sorted(contents.items()):
        archive.file(path.lstrip("/"), content, mode)


def for_run(opts, chosen, cache, folder, config, command, module):
    """Path of the initramfs of one run: the cached part followed by this run's own."""
    archive = Cpio()
    if opts.sealed:
        seal(archive, opts, chosen, module)
    archive.folder("run-config")
    archive.file("run-config/config", config)
    archive.file("run-config/command", command, 0o755)
    path = os.path.join(folder, "initramfs.cpio")
    with open(path, "wb") as out:
        with open(base(chosen, cache), "rb") as cached:
            shutil.copyfileobj(cached, out)
        out.write(archive.finish())
    return path
