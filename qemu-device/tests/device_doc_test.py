#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/device*.md agree exactly with the headers and the code.

Everything that has a number has a table row in the documents, whose first cells are computed here
from kmod/uapi and qemu-device/knobs/*.def. Each such row must be there once, and no other of its
kind. `--rows` prints the rows, for editing the documents.
"""

import glob
import os
import re
import sys

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
SIZES = {"__u8": 1, "__u16": 2, "__u32": 4, "__u64": 8, "struct axl_rec_head": 16}


def read(path):
    with open(os.path.join(REPO, path), encoding="utf-8") as text:
        return text.read()


def joined(text):
    return re.sub(r"\\\n\s*", " ", text)


def value(expression, names):
    """Evaluates a constant expression of the header; names are macros seen so far."""
    expression = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]*", r"\1", expression)
    expression = re.sub(r"\b(AXL_\w+)\((\w+(?:, \w+)?)\)", lambda m: call(m[1], m[2], names),
                        expression)
    for _ in range(4):
        expression = re.sub(r"\bAXL_\w+\b", lambda m: str(names[m[0]]), expression)
    if not re.fullmatch(r"[\d\sa-fA-Fx+*<>()|,-]+", expression):
        raise ValueError(expression)
    return eval(expression)  # pylint: disable=eval-used


def call(macro, arguments, names):
    parameters, body = names[macro + "()"]
    for parameter, argument in zip(parameters, arguments.split(", ")):
        body = re.sub(rf"\b{parameter}\b", argument, body)
    return f"({value(body, names)})"


def registers(header):
    """Rows of registers, and of their bits and fields."""
    rows, bits, names = [], [], {}
    pattern = r"^#define( {1,2})(AXL_\w+)(?:\(([\w, ]+)\))?[ \t]+(.+?)(?:\s*/\*\s*(.*?)\s*\*/)?$"
    for space, name, parameters, body, comment in re.findall(pattern, header, re.M):
        if parameters:
            names[name + "()"] = (parameters.split(", "), body)
        if space == "  ":
            bit = re.fullmatch(r"\(1u << (\d+)\)", body)
            if bit:
                bits.append(f"| `{name}` | bit {bit[1]} |")
            elif not parameters:
                bits.append(f"| `{name}` | {body.rstrip('u')} |")
            continue
        if not parameters:
            try:
                names[name] = value(body, names)
            except (ValueError, KeyError, SyntaxError):
                pass
        access = re.match(r"(RO|RW|WO|RW1C)(32|64)\b", comment)
        if not name.startswith("AXL_REG_") or not access:
            continue
        if not parameters:
            rows.append(f"| `{name}` | 0x{names[name]:04x} | {access[0]} |")
            continue
        arguments = parameters.split(", ")

        def at(which, name=name, arguments=arguments):
            given = ", ".join("1" if a == which else "0" for a in arguments)
            return value(f"{name}({given})", names)

        strides = "".join(f" + 0x{at(a) - at(None):x}·{a}" for a in arguments)
        rows.append(f"| `{name}({parameters})` | 0x{at(None):04x}{strides} | {access[0]} |")
    return rows, bits, names


def enums(header):
    cost = {name: f" {step} | {reduction} |" for name, step, reduction in
            re.findall(r"\[(AXL_OP_\w+) - AXL_OP_VEC_FILL\] = \{ (\d+), (\d+) \}",
                       read("qemu-device/timing/cost.c"))}
    rows = []
    for body in re.findall(r"^enum axl_\w+ \{(.*?)^\};", header, re.S | re.M):
        for name, number in re.findall(r"^\s*(AXL_\w+) = (\w+)", body, re.M):
            rows.append(f"| `{name}` | {number} |" + cost.get(name, ""))
    return rows


def flags(header):
    pattern = r"^#define (AXL_(?:DESC|MM|VEC)_F_\w+)\t+\(1u << (\d+)\)"
    return [f"| `{name}` | bit {bit} |" for name, bit in re.findall(pattern, header, re.M)]


def limits(header, names):
    wanted = r"^#define (AXL_(?:MAX_\w+|PCI_\w+|BAR_\w+|SEMS_PER_CONTEXT|SCRATCHPAD_BASE|" \
             r"ID_MAGIC|NUM_MSIX|TRACE_\w+|REC_CLASSES_ALL|REC_COUNTERS_PER|" \
             r"SEM_NONE|REGS_BYTES))[ \t]"
    return [f"| `{name}` | {names[name]} |" if names[name] < 4096 else
            f"| `{name}` | 0x{names[name]:x} |"
            for name in re.findall(wanted, header, re.M) if name in names]


def structs(header, names):
    """Rows `| struct.field | offset | bytes |` of all structures in memory."""
    rows = []
    for struct, body in re.findall(r"^struct (axl_\w+) \{(.*?)^\};", header, re.S | re.M):
        offset, body = 0, re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        union = re.search(r"union \{.*\};", body, re.S)
        body = body.replace(union[0], "__u64 operands[9];") if union else body
        for kind, listed in re.findall(r"(struct \w+|__u\d+) ([^;]+);", body):
            size = SIZES[kind]
            for field in listed.split(","):
                name, count = re.match(r"\s*(\w+)(?:\[(\w+)\])?", field).groups()
                count = names.get(count) or int(count or 1)
                offset = -(-offset // min(size, 8)) * min(size, 8)
                rows.append(f"| `{struct}.{name}` | {offset} | {size * count} |")
                offset += size * count
    return rows


def counters(header):
    header = joined(header)
    number, rows = 0, []
    block = re.search(r"#define AXL_ENGINE_COUNTERS\(.*?\) (.*?)\n\n", header, re.S)[1]
    table = re.search(r"#define AXL_COUNTERS\(X\) (.*?)\n\n", header, re.S)[1]
    expanded = ""
    pattern = r'AXL_ENGINE_COUNTERS\(X, \w+, (\w+), "([^"]*)"\)|X\(\w+, \w+, \w+, \w+,\s+"[^"]*"\)'
    for match in re.finditer(pattern, table):
        text = match[0]
        if match[1]:
            text = block.replace("eng##_", match[1] + "_").replace('text "', f'"{match[2]}')
        expanded += text + " "
    for name, unit, scope, text in re.findall(r'X\([\w#]+, (\w+), (\w+), (\w+),\s+"([^"]*)"\)',
                                              expanded):
        rows.append(f"| {number} | `{name}` | {unit} | {scope} | {text} |")
        number += 1
    return rows


def properties():
    rows = []
    pattern = r'^AXL_KNOB\(\w+, "([\w-]+)", ([^,]+), ([^,]+), ([^,]+), (\w+), "(.*)"\)$'
    knobs = re.findall(pattern, read("qemu-device/knobs/knobs.def"), re.M)
    for name, default, low, high, when, _ in knobs:
        rows.append(f"| `{name}` | {units(default)} | {units(low)} to {units(high)} "
                    f"| {when.lower()} |")
    faults = re.sub(r"\n\s+", " ", read("qemu-device/knobs/faults.def"))
    pattern = r'^AXL_FAULT\(\w+, "([\w-]+)", [^,]+, ([^,]+), ([^,]+), "'
    for name, low, high in re.findall(pattern, faults, re.M):
        rows.append(f"| `{name}` | {units(low)} to {units(high)} |")
    return rows


def units(number):
    for name, shown in (("AXL_MAX_QUEUES", "16"), ("AXL_MAX_CONTEXTS", "8"),
                        ("AXL_MAX_BANKS", "64"), ("AXL_NUM_ENGINES - 1", "3"),
                        ("INT64_MAX", "2^63 - 1")):
        number = number.replace(name, shown)
    return number.replace(" * ", " ")


def expected():
    header = read("kmod/uapi/axl_hw.h") + read("kmod/uapi/axl_records.h")
    regs, bits, names = registers(header)
    names["AXL_NUM_STALLS"] = 6
    return [("registers", regs), ("bits", bits), ("enumerations", enums(header)),
            ("flags", flags(header)), ("limits", limits(header, names)),
            ("structures", structs(header, names)),
            ("counters", counters(read("kmod/uapi/axl_counters.h"))), ("properties", properties())]


def main():
    groups = expected()
    if sys.argv[1:] == ["--rows"]:
        print("\n".join(row for _, rows in groups for row in rows))
        return 0
    lines = []
    for path in sorted(glob.glob(f"{REPO}/docs/device*.md")):
        lines += read(path).splitlines()
    known = [row for _, rows in groups for row in rows]
    print(f"1..{len(groups) + 1}")
    failed = False
    for number, (name, rows) in enumerate(groups, 1):
        wrong = [row for row in rows if sum(line.startswith(row) for line in lines) != 1]
        failed |= not rows or bool(wrong)
        print(f"{'ok' if rows and not wrong else 'not ok'} {number} - docs/device*.md: {name}, "
              f"{len(rows)} rows")
        for row in wrong:
            print(f"# not there exactly once: {row}")
    kinds = r"^\| `(AXL_|axl_\w+\.|fault-)|^\| \d+ \| `"
    strange = [line for line in lines if re.match(kinds, line) and
               not any(line.startswith(row) for row in known)]
    failed |= bool(strange)
    print(f"{'not ok' if strange else 'ok'} {len(groups) + 1} - docs/device*.md: nothing else")
    for line in strange:
        print(f"# the code does not know: {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
