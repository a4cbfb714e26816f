#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks: each finds its violation and accepts correct files."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

from lint import Tree, circles, documents, includes, packages, text  # noqa: E402

APACHE = "// SPDX-License-Identifier: Apache-2.0\n"
GUARD = "#ifndef A_H_\n#define A_H_\n"


class Fake(Tree):
    """A tree in memory: path to content."""

    def __init__(self, files, executable=()):  # pylint: disable=super-init-not-called
        self.files = {path: content.encode() for path, content in files.items()}
        self.paths = sorted(files)
        self.executable = executable

    def data(self, path):
        return self.files[path]

    def is_executable(self, path):
        return path in self.executable


# (name, check, files, how many findings)
CASES = [
    ("licence missing", text.spdx, {"daemon/a.cc": "int a;\n"}, 1),
    ("licence of another folder", text.spdx, {"kmod/a.c": APACHE}, 1),
    ("licence right", text.spdx, {"daemon/a.cc": APACHE, "docs/a.md":
                                  "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"}, 0),
    ("stranger at the top", text.layout, {"notes/a.txt": ""}, 1),
    ("folder without README", text.layout, {"daemon/a.cc": "", "daemon/b.cc": ""}, 1),
    ("too large", text.size, {"daemon/a.cc": "x" * 20_481}, 1),
    ("a large test", text.size, {"daemon/a_test.cc": "x" * 20_481, "docs/a.md": "x" * 30_000}, 0),
    ("too large a document", text.size, {"docs/a.md": "x" * 30_001}, 1),
    ("large fixture", text.size, {"tests/golden/a.json": "x" * 30_001}, 0),
    ("note to oneself", text.words, {"daemon/a.cc": "// TO" "DO later\n"}, 1),
    ("path of one machine", text.words, {"docs/a.md": "see /wo" "rk/main\n"}, 1),
    ("trailing blank", text.whitespace, {"daemon/a.cc": "int a; \n"}, 1),
    ("no newline at the end", text.whitespace, {"daemon/a.cc": "int a;"}, 1),
    ("tab in C++", text.whitespace, {"daemon/a.cc": "\tint a;\n"}, 1),
    ("tab in the kernel", text.whitespace, {"kmod/a.c": "\tint a;\n"}, 0),
    ("blanks in the kernel", text.kernel_style, {"kmod/a.c": "        int a;\n"}, 1),
    ("wide line", text.columns, {"daemon/a.cc": "x" * 101 + "\n"}, 1),
    ("comments that are fragments", text.comments,
     {"libtrace/ring/a.h": "/* Of each device. */\nint a;\n\n// False: it is damaged.\nbool b;\n",
      "libtrace/ring/a.py": "# Those of\n# a thread.\n", "a.proto": "//\n// Whoever reads.\n",
      "kmod.c": "/*\n * Text.\n *\n * Of all\n * forms: three.\n */\n"}, 5),
    ("comments that are sentences", text.comments,
     {"libtrace/ring/a.cc": "// Of two rows, the last one counts.\n\n// Of course it fails.\n"
                            "int a; // Of each device.\n// Whose is it?\n\n// Rows: two.\n"
                            "// Of each.\nf(\"// Of each.\");\n#if Of\n*b = Of;\n"}, 0),
    ("script that nobody can run", text.mode, {"scripts/a": "#!/bin/sh\n"}, 1),
    ("backwards include", includes.include_direction,
     {"libtrace/clock/a.cc": '#include "libtrace/model/tables/b.h"\n',
      "libtrace/model/tables/b.h": ""}, 1),
    ("forwards include", includes.include_direction,
     {"libtrace/model/tables/a.cc": '#include "libtrace/clock/b.h"\n',
      "libtrace/clock/b.h": ""}, 0),
    ("include of a later part", includes.include_direction,
     {"libtrace/model/tables/a.cc": '#include "libtrace/model/load/b.h"\n',
      "libtrace/model/load/b.h": ""}, 1),
    ("a file beside the parts", includes.include_direction, {"libtrace/model/a.cc": ""}, 1),
    ("a folder that is too large", includes.folders,
     {f"daemon/sink/{number}.cc": "" for number in range(41)}, 1),
    ("the largest folder", includes.folders,
     {f"daemon/sink/{number}.cc": "" for number in range(40)}, 0),
    ("generated include", includes.include_direction,
     {"libtrace/runtime/a.cc": '#include "libtrace/proto/trace.pb.h"\n'}, 1),
    ("the device knows the contract only", includes.include_direction,
     {"qemu-device/a.c": '#include "kmod/uapi/a.h"\n#include "kmod/b.h"\n', "kmod/uapi/a.h": "",
      "kmod/b.h": ""}, 1),
    ("a folder of the device includes those below", includes.include_direction,
     {"qemu-device/frontend/a.c": '#include "qemu-device/timing/b.h"\n',
      "qemu-device/timing/b.h": ""}, 0),
    ("the timing model knows nothing of QEMU", includes.include_direction,
     {"qemu-device/timing/a.c": '#include "qemu-device/host/b.h"\n',
      "qemu-device/host/b.h": ""}, 1),
    ("state of another folder", includes.include_direction,
     {"qemu-device/pci/a.c": '#include "qemu-device/frontend/state.h"\n',
      "qemu-device/frontend/state.h": ""}, 1),
    ("files that call each other", circles.no_circles,
     {"kmod/a.c": "int axl_a(void)\n{\n\treturn axl_b();\n}\n",
      "kmod/b.c": "int axl_b(void)\n{\n\treturn axl_a();\n}\n"}, 1),
    ("a circle of three files", circles.no_circles,
     {"kmod/a.c": "int axl_a(int n,\n\t  int m)\n{\n\treturn axl_b();\n}\n",
      "kmod/b.c": "struct x *axl_b(void)\n{\n\tif (axl_c(1))\n\t\treturn 0;\n}\n",
      "kmod/c.c": "int axl_c(int n)\n{\n\treturn axl_a(n, n);\n}\n"}, 1),
    ("headers that include each other", circles.no_circles,
     {"qemu-device/x/a.h": '#include "qemu-device/x/b.h"\n',
      "qemu-device/x/b.h": '#include "qemu-device/x/a.h"\n'}, 1),
    ("calls one way, back by a table, a comment and a name of its own", circles.no_circles,
     {"kmod/a.c": "static int own(void)\n{\n\treturn 0;\n}\n"
                  "int axl_a(void)\n{\n\taxl_b(own(), \"axl_d()\");\n}\n",
      "kmod/b.c": "/* called by axl_a() */\nint axl_b(struct ops *ops)\n{\n\tops->axl_a();\n"
                  "\treturn own();\n}\nint own(void)\n{\n\treturn 1;\n}\n"}, 0),
    ("a long function", circles.function_length,
     {"kmod/a.c": "int axl_a(void)\n{\n" + "\ta();\n" * 78 + "}\n"}, 1),
    ("a function of 80 lines", circles.function_length,
     {"kmod/a.c": "int axl_a(void)\n{\n" + "\ta();\n" * 77 + "}\n"}, 0),
    ("a table in a switch", circles.function_length,
     {"kmod/a.c": "int axl_a(int n)\n{\n\tswitch (n) {\n" +
                  "\tcase 1:\n\t\treturn 1;\n" * 50 + "\t}\n}\n"}, 0),
    ("a long function of C++, in a namespace", circles.function_length,
     {"libtrace/a.cc": "namespace a {\n\ntemplate <typename T>\nint A::B(T n,\n      int m) {\n" +
                       "  a();\n" * 78 + "}\n\nint C() {\n  a();\n}\n\n}  // namespace a\n"}, 1),
    ("short ones, and a long class", circles.function_length,
     {"libtrace/a.h": "class A {\n" + "  int a();\n" * 90 + "};\n\nint C() {\n  a();\n}\n",
      "libtrace/a_test.cc": "int A() {\n" + "  a();\n" * 90 + "}\n"}, 0),
    ("a long function of Python", circles.function_length,
     {"scripts/a.py": "def short():\n    a()\n\n\ndef long():\n" + "    a()\n" * 80}, 1),
    ("names of code know nothing of the model", includes.include_direction,
     {"libtrace/symbols/a.cc": '#include "libtrace/model/tables/b.h"\n',
      "libtrace/model/tables/b.h": ""}, 1),
    ("the analysis takes names of code, the model does not", includes.include_direction,
     {"libtrace/analysis/rows/a.cc": '#include "libtrace/symbols/b.h"\n',
      "libtrace/symbols/b.h": "",
      "libtrace/model/tables/a.cc": '#include "libtrace/symbols/b.h"\n'}, 1),
    ("product includes a test", includes.include_direction,
     {"daemon/a.cc": '#include "tests/catch.h"\n', "tests/catch.h": ""}, 1),
    ("a test may include anything", includes.include_direction,
     {"daemon/a_test.cc": '#include "tests/catch.h"\n', "tests/catch.h": ""}, 0),
    ("a source includes another kind", includes.include_direction,
     {"daemon/sources/api/a.cc": '#include "daemon/sources/provider/b.h"\n',
      "daemon/sources/provider/b.h": ""}, 1),
    ("what sources share knows none of them", includes.include_direction,
     {"daemon/sources/common/a.cc": '#include "daemon/sources/api/b.h"\n',
      "daemon/sources/api/b.h": ""}, 1),
    ("the session knows no contract of a driver", includes.include_direction,
     {"daemon/session/a.cc": '#include "kmod/uapi/a.h"\n', "kmod/uapi/a.h": ""}, 1),
    ("a test of the daemon's core includes axl's contract", includes.one_chip,
     {"daemon/session/a_test.cc": '#include "kmod/uapi/a.h"\n'}, 1),
    ("... or axl's source", includes.one_chip,
     {"daemon/a.cc": '#include "daemon/sources/axl/axl_device.h"\n'}, 1),
    ("axl's source", includes.one_chip,
     {"daemon/sources/axl/a.h": '#include "kmod/uapi/a.h"\n',
      "daemon/a.cc": '#include "daemon/sources/axl/axl_devices.h"\n'}, 0),
    ("name of one vendor", includes.vendor_neutral,
     {"libtrace/model/tables/a.cc": "int axl_a;\n"}, 1),
    ("word that only looks like it", includes.vendor_neutral,
     {"libtrace/model/tables/a.cc": "int relaxlist;\n"}, 0),
    ("no guard", includes.header_guards, {"daemon/a.h": "int a;\n"}, 1),
    ("guard", includes.header_guards, {"daemon/a.h": APACHE + GUARD}, 0),
    ("dead link", documents.links, {"docs/a.md": "[b](b.md)\n"}, 1),
    ("live link", documents.links, {"docs/a.md": "[b](../README.md)\n", "README.md": ""}, 0),
    ("a file that is not there", documents.names,
     {"docs/a.md": "see `kmod/b.c` and `kmod/{a,c}.c`\n", "kmod/a.c": ""}, 2),
    ("files, folders, patterns and what is no name", documents.names,
     {"docs/a.md": "`kmod/a.c`, `kmod/`, `kmod/*.c`, `kmod/NAME.c`, `b.c`, `build/x.c`, `a/b`\n"
                   "```\n`kmod/b.c`\n```\n", "kmod/a.c": ""}, 0),
    ("a bare name in a README", documents.names,
     {"kmod/README.md": "`a.c`, `*.c`, `.c`, then `b.c`\n", "kmod/a.c": ""}, 1),
    ("unknown make target in a sentence", documents.commands,
     {"docs/a.md": "Run `make no-such`, not `make -C DIR`.\n"}, 1),
    ("unknown make target", documents.commands, {"docs/a.md": "```sh\nmake no-such\n```\n"}, 1),
    ("unknown script", documents.commands, {"docs/a.md": "```sh\n./scripts/no-such\n```\n"}, 1),
    ("known commands", documents.commands,
     {"docs/a.md": "```sh\nmake check\n./scripts/demo  # shows\n```\n", "scripts/demo": ""}, 0),
]

# A machine where libhand-dev was installed by hand, which the build used undeclared.
STATUS = """Package: base
Status: install ok installed
Essential: yes

Package: compiler
Status: install ok installed
Depends: gone | headers (>= 2), virtual-libc
Description: two
 lines

Package: headers
Status: install ok installed

Package: libc
Status: install ok installed
Provides: virtual-libc (= 1)

Package: libhand-dev
Status: install ok installed

Package: removed
Status: deinstall ok config-files

Package: tester
Status: install ok installed
"""
LISTED = Fake({"scripts/lib/packages":
               "# set package why\ndemo compiler builds\ntest tester tests\n"})
OWNED = {"/usr/include/a.h": "headers", "/usr/lib/libc.so": "libc",
         "/usr/lib/libhand.so": "libhand-dev", "/usr/include/t.h": "tester", "/bin/sh": "base"}


def brought(tree):
    installed = packages.Installed(STATUS)
    return {command: installed.closure(names)
            for command, names in packages.listed_packages(tree).items()}


def missing(demo=(), test=()):
    files = {"demo": dict.fromkeys(demo, "x"), "test": dict.fromkeys(test, "y")}
    return lambda tree: packages.findings(files, OWNED, brought(tree))


PACKAGE_CASES = [
    ("headers and libraries of what is listed",
     missing(["/usr/include/a.h", "/usr/lib/libc.so", "/bin/sh"]), 0),
    ("a library that was installed by hand", missing(["/usr/lib/libhand.so"]), 1),
    ("... of tests", missing(test=["/usr/lib/libhand.so", "/usr/include/t.h"]), 1),
    ("the demo takes what only tests bring", missing(["/usr/include/t.h"]), 1),
    ("a header of no package", missing(["/usr/local/include/l.h"]), 1),
]


def main():
    failed = 0
    cases = CASES + [(name, check, None, expected) for name, check, expected in PACKAGE_CASES]
    print(f"1..{len(cases)}")
    for number, (name, check, files, expected) in enumerate(cases, 1):
        found = list(check(LISTED if files is None else Fake(files)))
        if len(found) != expected:
            failed += 1
            print(f"not ok {number} - {name}\n# expected {expected} findings, got {found}")
        else:
            print(f"ok {number} - {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
