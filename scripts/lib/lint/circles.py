# SPDX-License-Identifier: Apache-2.0
"""Checks by functions: files of C that include or call each other in a circle, and length."""

import ast
import os
import re

from lint import is_test
from lint.includes import INCLUDE, resolve

# Folders whose files must not depend on each other in a circle.
LAYERED = ("qemu-device/", "kmod/")
# Folders whose functions have at most MAX_FUNCTION lines; so do those of Python files.
SHORT = ("qemu-device/", "kmod/", "daemon/", "libtrace/")
MAX_FUNCTION = 80
# A table in the form of a switch may be longer if each case has a few lines only.
CASE = re.compile(r"^\s*(case\b.*|default\s*):")
LINES_A_CASE = 6

# Comments, strings and characters contain no calls; the rest of their lines keeps its place.
NO_CODE = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
# A function's head begins in the first column and its body with a brace there.
HEAD = re.compile(r"^(?![#\s}])(?!typedef\b|struct\s+\w+\s*\{|enum\b|union\b)"
                  r"[^;{}=#]*?\b(\w+)\s*\([^;{}]*\)[^;{}()]*\n\{", re.M)
# Possibly a function's head: begins in the first column, not a label, brace or directive.
FIRST_COLUMN = re.compile(r"[A-Za-z_](?!\w*:$)")
CALL = re.compile(r"(?<![\w.>])(\w+)\s*\(")


def code_of(tree, path):
    """The file's text with comments and strings blanked, line by line as before."""
    text = "\n".join(tree.lines(path)) + "\n"
    return NO_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def functions(code):
    """(name, is static, body, line of the head, line of the end) of each function of a C file."""
    for head in HEAD.finditer(code):
        end = code.find("\n}", head.end() - 1)
        if end < 0:
            continue
        static = "static" in head.group().split("(")[0].split()
        yield (head.group(1), static, code[head.end():end],
               code.count("\n", 0, head.start()) + 1, code.count("\n", 0, end) + 2)


def sources(tree, folders, *suffixes):
    return [p for p in tree.having(*suffixes) if p.startswith(folders) and not is_test(p)]


def find_circle(edges):
    """The shortest circle of a graph {node: {node: why}} as a list of nodes, or None."""
    best = None
    for start in sorted(edges):
        before, reached = {start: None}, [start]
        for node in reached:  # grows: breadth first
            if start in edges.get(node, {}):
                way = []
                while node is not None:
                    way.append(node)
                    node = before[node]
                if best is None or len(way) < len(best):
                    best = way[::-1]
                break
            for other in sorted(edges.get(node, {})):
                if other not in before:
                    before[other] = node
                    reached.append(other)
    return best


def circles(edges):
    """Yields circles until there are none, each once: its last edge is removed."""
    edges = {node: dict(others) for node, others in edges.items()}
    while (circle := find_circle(edges)) is not None:
        steps = list(zip(circle, circle[1:] + circle[:1]))
        yield [(a, b, edges[a][b]) for a, b in steps]
        del edges[steps[-1][0]][steps[-1][1]]


def include_edges(tree, paths):
    edges = {}
    for path in paths:
        for line in tree.lines(path):
            match = INCLUDE.match(line)
            target = match and resolve(tree, path, match.group(1))
            if target and target != path and target in paths:
                edges.setdefault(path, {})[target] = "includes"
    return edges


def call_edges(tree, paths):
    """The calls between files. Calls by a pointer, in a table of callbacks, do not count."""
    found = {path: list(functions(code_of(tree, path))) for path in paths}
    home, edges = {}, {}
    for path, those in found.items():
        for name, static, *_ in those:
            if not static:
                home.setdefault(name, path)
    for path, those in found.items():
        own = {name for name, *_ in those}
        for _, _, body, *_ in those:
            for name in CALL.findall(body):
                if name not in own and home.get(name, path) != path:
                    edges.setdefault(path, {}).setdefault(home[name], f"calls {name}() of")
    return edges


def no_circles(tree):
    """no files of qemu-device or kmod include or call each other in a circle"""
    for folder in LAYERED:
        every = set(sources(tree, folder, ".c", ".h"))
        for edges in (include_edges(tree, every),
                      call_edges(tree, {p for p in every if p.endswith(".c")})):
            for circle in circles(edges):
                steps = "; ".join(f"{os.path.relpath(a, folder)} {why} {os.path.relpath(b, folder)}"
                                  for a, b, why in circle)
                yield f"{circle[0][0]}:1: a circle: {steps}: split a file, or call back by a table"


def blocks(lines):
    """Yields (head, first line, last line) of blocks that end with a lone brace in the first
    column.
    """
    first = None
    for number, line in enumerate(lines, 1):
        if line == "}":
            if first is not None:
                yield lines[first - 1], first, number
            first = None
        elif FIRST_COLUMN.match(line):
            first = number


def long_c(tree, path):
    lines = code_of(tree, path).splitlines()
    for head, first, last in blocks(lines):
        length = last - first + 1
        cases = sum(1 for line in lines[first:last] if CASE.match(line))
        if length > MAX_FUNCTION and length > cases * LINES_A_CASE:
            yield first, (re.findall(r"(\w+)\s*\(", head) or [head])[0], length


def long_python(tree, path):
    for node in ast.walk(ast.parse("\n".join(tree.lines(path)))):
        if isinstance(node, ast.FunctionDef):
            length = node.end_lineno - node.lineno + 1
            if length > MAX_FUNCTION:
                yield node.lineno, node.name, length


def function_length(tree):
    """no function of the product or of a script is longer than 80 lines, but for tables"""
    for path in sources(tree, SHORT, ".c", ".cc", ".h"):
        for line, name, length in long_c(tree, path):
            yield f"{path}:{line}: {name}() has {length} lines, the limit is {MAX_FUNCTION}"
    for path in tree.having(".py"):
        for line, name, length in long_python(tree, path):
            yield f"{path}:{line}: {name}() has {length} lines, the limit is {MAX_FUNCTION}"


CHECKS = [no_circles, function_length]
