# SPDX-License-Identifier: Apache-2.0
"""Checks that the packages listed in scripts/lib/packages bring all files that the build read.

A package that was installed by hand hides a missing line there, and the build fails on every clean
machine. Compilers and linkers log the files that they read: headers in the `.d` file of each
object, libraries in that of each program (build/obj*/links).
"""

import glob
import os
import re

from lint import REPO, Skip

STATUS = "/var/lib/dpkg/status"
INFO = "/var/lib/dpkg/info"
# Programs and libraries that `scripts/demo` builds are in these folders; all others are for tests.
DEMO_PRODUCTS = ("build-bin-", "build-lib-", "build-qemu-device-")


def needs(path):
    """The prerequisites of the first rule of a file written by -MD or --dependency-file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return []
    rule = text.replace("\\\n", " ").split("\n", maxsplit=1)[0]
    return rule.partition(":")[2].split()


def is_system(path):
    return path.startswith(("/usr/", "/lib", "/opt/"))


def tidy(path):
    """A system file as dpkg lists it: with resolved folders, though it may still be a link
    itself.
    """
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


def taken(build):
    """{"demo" or "test": {system file: its first user}} of everything in `build`."""
    found = {"demo": {}, "test": {}}

    def note(command, user, paths):
        for path in filter(is_system, paths):
            found[command].setdefault(tidy(path), user)

    links = glob.glob(f"{glob.escape(build)}/obj*/links/*.d")
    for link in sorted(links):
        command = "demo" if os.path.basename(link).startswith(DEMO_PRODUCTS) else "test"
        inputs = needs(link)
        note(command, os.path.basename(link)[:-2].replace("build-", "build/", 1), inputs)
        for item in inputs:
            if item.endswith(".o"):
                listed = os.path.join(os.path.dirname(build), item[:-2] + ".d")
                note(command, item, needs(listed))
    for listed in glob.glob(f"{glob.escape(build)}/obj*/daemon/bpf/*.d"):
        note("demo", os.path.relpath(listed, build), needs(listed))
    for listed in glob.glob(f"{glob.escape(build)}/pch/*/*.d"):
        note("demo", os.path.relpath(listed, build), needs(listed))
    for listed in glob.glob(f"{glob.escape(build)}/pch/*.d"):
        note("test", os.path.relpath(listed, build), needs(listed))
    return found if links else None


def owners(paths):
    """{path: package} of the installed packages' lists; /lib and /usr/lib are one folder."""
    wanted = {}
    for path in paths:
        wanted[path] = path
        if path.startswith("/usr/lib"):
            wanted[path[4:]] = path
    owned = {}
    for name in os.listdir(INFO):
        if name.endswith(".list"):
            package = name[:-5].split(":")[0]
            with open(os.path.join(INFO, name), encoding="utf-8", errors="replace") as file:
                for line in file:
                    path = wanted.get(line[:-1])
                    if path:
                        owned.setdefault(path, package)
    return owned


class Installed:
    """Installed packages with their dependencies and what they provide."""

    def __init__(self, text):
        self.depends, self.providers, self.minimal = {}, {}, set()
        for stanza in text.split("\n\n"):
            fields = dict(re.findall(r"^([\w-]+): *(.*)$", re.sub(r"\n ", " ", stanza), re.M))
            if not fields.get("Status", "").endswith(" installed"):
                continue
            name = fields["Package"]
            self.depends.setdefault(name, []).extend(
                self.alternatives(fields.get("Pre-Depends", "") + "," + fields.get("Depends", "")))
            for provided in self.alternatives(fields.get("Provides", "")):
                self.providers.setdefault(provided[0], set()).add(name)
            if fields.get("Essential") == "yes" or fields.get("Priority") == "required":
                self.minimal.add(name)

    @staticmethod
    def alternatives(text):
        """[[first choice, second choice...]] of a field."""
        return [[re.sub(r"[ (:\[].*", "", choice.strip()) for choice in item.split("|")]
                for item in text.split(",") if item.strip()]

    def closure(self, names):
        """All packages that come with these on a machine that has the minimal ones."""
        reached, queue = set(), [*names, *self.minimal]
        while queue:
            name = queue.pop()
            if name in reached or name not in self.depends:
                continue
            reached.add(name)
            for choices in self.depends[name]:
                for choice in choices:
                    # A package manager takes the first choice that is available.
                    here = [choice] if choice in self.depends else self.providers.get(choice)
                    if here:
                        queue.extend(here)
                        break
        return reached


def listed_packages(tree):
    """{command: packages} of scripts/lib/packages; what `test` installs contains `demo`."""
    sets = {}
    for line in tree.lines("scripts/lib/packages"):
        if line and not line.startswith("#"):
            command, package = line.split()[:2]
            sets.setdefault(command, set()).add(package)
    # The guest's kernel and its headers, which scripts/install-deps adds if there are none.
    demo = sets["demo"] | {"linux-image-amd64", "linux-headers-amd64"}
    return {"demo": demo, "test": demo | sets.get("package", set()) | sets["test"]}


def findings(files, owned, brought):
    """One line for each package that is needed but not brought, and for each file without a
    package.
    """
    reported = set()
    for command in ("demo", "test"):
        for path, user in sorted(files[command].items()):
            package = owned.get(path)
            if package in brought[command] or (package or path) in reported:
                continue
            reported.add(package or path)
            if package:
                yield (f"scripts/lib/packages: `{command}` needs {package}, which no package of "
                       f"its list brings: {user} takes {path}")
            else:
                yield (f"{path} belongs to no package, and {user} takes it: "
                       "on a clean machine it is missing")


def packages(tree):
    """packages of scripts/lib/packages bring every header and library that the build read"""
    if not os.path.exists(STATUS):
        raise Skip("no dpkg: it says which package a file is from")
    files = taken(os.path.join(REPO, "build"))
    if not files:
        raise Skip("nothing is built here, so that no compiler has said what it reads")
    with open(STATUS, encoding="utf-8", errors="replace") as file:
        installed = Installed(file.read())
    brought = {command: installed.closure(names)
               for command, names in listed_packages(tree).items()}
    yield from findings(files, owners({**files["demo"], **files["test"]}), brought)


CHECKS = [packages]
