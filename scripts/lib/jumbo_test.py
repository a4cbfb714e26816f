#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joined sources: which files may share one compilation, and the handling of those that may not."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
LOADER = importlib.machinery.SourceFileLoader("jumbo", os.path.join(HERE, "jumbo"))
JUMBO = importlib.util.module_from_spec(importlib.util.spec_from_loader("jumbo", LOADER))
LOADER.exec_module(JUMBO)

PIECE = ("namespace {\nstruct Piece {\n  int a;\n};\nint Add(Piece p) { return p.a; }\n"
         "}  // namespace\n")
FILES = {
    "a.cc": f'#include "a.h"\n{PIECE}int A() {{ return Add({{1}}); }}\n',
    # Has the same local names.
    "b.cc": f'#include "a.h"\n{PIECE}int B() {{ return Add({{2}}); }}\n',
    # A type of a's as a word with another meaning.
    "c.cc": "int C() {\n  const int Piece = 3;\n  return Piece;\n}\n",
    # Only in a comment and in a string: "Piece".
    "d.cc": '// Piece\nconst char *D() { return "Piece"; }\n',
    "a.h": "#pragma once\nint A();\nint B();\n",
    # Not visible in names: another meaning of a macro that a header sets.
    "e.cc": '#include "e.h"\nint E() { return SIZE; }\n',
    "e.h": "#define SIZE 5\n",
    "f.cc": "enum { SIZE = 6 };\nint F() { return SIZE; }\n",
}
MAIN = "int A(); int B(); int E(); int F();\nint main() { return A() + B() + E() + F() - 14; }\n"


def check(condition, name):
    print(f"{'ok' if condition else 'not ok'} - {name}")
    return bool(condition)


def joins():
    sources = JUMBO.Sources()
    groups = JUMBO.joined(["a.cc", "b.cc", "c.cc", "d.cc"], sources)
    return check(groups == [["a.cc", "d.cc"]], f"what names forbid is not joined: {groups}")


def compiler(name):
    command = ["g++", "-I.", "-Werror", "-MMD", "-MP", "-MF", f"{name}.o.d", "-MT", "x.o",
               "-c", "joined.cc", "-o", f"{name}.o"]
    return subprocess.run([os.path.join(HERE, "jumbo"), "compile", *command],
                          capture_output=True, text=True, check=False)


def compiles(name, parts, apart):
    with open("joined.cc", "w", encoding="utf-8") as file:
        file.writelines(f'#include "{part}"\n' for part in parts)
    done = compiler(name)
    with open(f"{name}.o.d", encoding="utf-8") as file:
        needs = file.read()
    return (check(done.returncode == 0, f"{name}: compiles {done.stderr.strip()}") &
            check(("APART" in done.stderr) == apart, f"{name}: apart only where it must be") &
            check(all(part in needs for part in parts), f"{name}: make learns of each part"))


def fails():
    with open("bad.cc", "w", encoding="utf-8") as file:
        file.write("int G() { return nothing; }\n")
    with open("joined.cc", "w", encoding="utf-8") as file:
        file.write('#include "d.cc"\n#include "bad.cc"\n')
    done = compiler("bad")
    return check(done.returncode != 0 and "bad.cc:1" in done.stderr,
                 "an error names the file of the part")


def runs():
    with open("main.cc", "w", encoding="utf-8") as file:
        file.write(MAIN)
    done = subprocess.run(["g++", "main.cc", "together.o", "own-names.o", "macro.o", "-o", "main"],
                          capture_output=True, text=True, check=False)
    return (check(done.returncode == 0, f"the objects link {done.stderr}") and
            check(subprocess.run(["./main"], check=False).returncode == 0, "and compute right"))


MAKEFILE = """OBJ := build/obj-jumbo
build/bin/x: $(OBJ)/libtrace/x/a.o $(OBJ)/libtrace/x/d.o $(OBJ)/libtrace/x/alone.o
build/bin/y: $(OBJ)/libtrace/x/alone.o
"""


def plans():
    """Objects that stood for other files must not stay when the grouping changes."""
    os.makedirs("libtrace/x")
    os.makedirs("build/obj-jumbo/libtrace/x")
    with open("Makefile", "w", encoding="utf-8") as file:
        file.write(MAKEFILE)
    objects = [f"build/obj-jumbo/libtrace/x/{name}.o" for name in ("a", "d", "alone")]

    def plan(texts):
        for name, text in texts.items():
            with open(f"libtrace/x/{name}.cc", "w", encoding="utf-8") as file:
                file.write(text)
        for name in objects:
            with open(name, "w", encoding="utf-8"):
                pass
        JUMBO.plan("build/jumbo")
        return sorted(JUMBO.former("build/jumbo")), [os.path.exists(name) for name in objects]

    joined = plan({"a": PIECE, "d": "int D() { return 1; }\n", "alone": "int E();\n"})
    same = plan({})
    apart = plan({"d": PIECE})
    again = plan({"d": "int D() { return 2; }\n"})
    return (check(joined == ([objects[1]], [True, False, True]), f"what is joined {joined}") &
            check(same == ([objects[1]], [True, True, True]), f"no change, no work {same}") &
            check(apart == ([], [False, False, True]), f"both are made anew, apart {apart}") &
            check(again == ([objects[1]], [True, False, True]), f"and joined again {again}"))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in FILES.items():
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        good = joins()
        good &= compiles("together", ["c.cc", "d.cc"], False)
        good &= compiles("own-names", ["a.cc", "b.cc"], True)
        good &= compiles("macro", ["e.cc", "f.cc"], True)
        good &= fails()
        good &= runs()
        good &= plans()
        os.chdir("/")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
