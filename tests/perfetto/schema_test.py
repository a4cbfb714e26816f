#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Perfetto export conforms to Perfetto's published schema, field by field, as protoc reads
both.

The schema itself is not included: published-fields.txt has its definition of each field that
libtrace/view/timeline/perfetto.proto declares. PERFETTO_PROTO=DIR also compares with the schema:
DIR is a checkout of Perfetto, or contains its perfetto_trace.proto.
"""

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import zlib

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
REPO = os.environ.get("REPO") or os.path.realpath(os.path.join(HERE, "../.."))
BUILD = os.environ.get("BUILD") or os.path.join(REPO, "build")
SCHEMA = os.environ.get("PERFETTO_PROTO", "")
sys.path.insert(0, os.path.join(REPO, "tests"))
from harness import tap  # noqa: E402

loader = importlib.machinery.SourceFileLoader("validator", os.path.join(HERE, "validate-perfetto"))
validator = importlib.util.module_from_spec(importlib.util.spec_from_loader("validator", loader))
loader.exec_module(validator)
collect, fields, one, text = validator.collect, validator.fields, validator.one, validator.text

OURS = "libtrace/view/timeline/perfetto.proto"
TYPES = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 7: "fixed32",
         8: "bool", 9: "string", 12: "bytes", 13: "uint32", 15: "sfixed32", 16: "sfixed64",
         17: "sint32", 18: "sint64"}
REPEATED = 3


def protoc(*arguments, **options):
    done = subprocess.run(["protoc", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, **options)
    assert done.returncode == 0, f"protoc {' '.join(arguments)}: {done.stderr.decode()}"
    return done.stdout


def facts_of(files, folder):
    """{(message, number): "name type"}, {(enum, number): name}, extensions, of .proto files."""
    fields_of, values_of, extensions = {}, {}, set()

    def local(name, package):
        return name.removeprefix(f".{package}.").removeprefix(f"{package}.")

    def field(about, owner, package):
        kind = TYPES.get(one(about, 5)) or local(text(one(about, 6)), package)
        star = "*" if one(about, 4) == REPEATED else ""
        fields_of[owner, one(about, 3)] = f"{text(one(about, 1))} {kind}{star}"

    def enum(about, scope):
        for value in map(collect, about.get(2, [])):
            values_of[scope + text(one(about, 1)), one(value, 2)] = text(one(value, 1))

    def extension(about, package):
        owner = local(text(one(about, 2)), package)
        extensions.add((owner, one(about, 3)))
        field(about, owner, package)

    def message(about, scope, package):
        name = scope + text(one(about, 1))
        for each in map(collect, about.get(2, [])):
            field(each, name, package)
        for each in map(collect, about.get(3, [])):
            message(each, name + ".", package)
        for each in map(collect, about.get(4, [])):
            enum(each, name + ".")
        for each in map(collect, about.get(6, [])):
            extension(each, package)

    with tempfile.NamedTemporaryFile() as out:
        protoc("-I", folder, "--include_imports", "--descriptor_set_out", out.name, *files)
        described = out.read()
    for number, _, data in fields(described):
        assert number == 1, number
        file = collect(data)
        package = text(one(file, 2, b""))
        for about in map(collect, file.get(4, [])):
            message(about, "", package)
        for about in map(collect, file.get(5, [])):
            enum(about, "")
        for about in map(collect, file.get(7, [])):
            extension(about, package)
    return fields_of, values_of, extensions


def noted():
    fields_of, values_of, extensions = {}, {}, set()
    with open(os.path.join(HERE, "published-fields.txt"), encoding="utf-8") as file:
        for line in file:
            if not line.strip() or line.startswith("#"):
                continue
            owner, _, rest = line.strip().partition(": ")
            facts = values_of if owner.startswith("enum ") else fields_of
            owner = owner.removeprefix("enum ")
            for fact in rest.split(", "):
                number, _, what = fact.partition(" ")
                key = owner, int(number)
                assert key not in facts, f"{key} twice"
                facts[key] = what
                if number.startswith("+"):
                    extensions.add(key)
    return fields_of, values_of, extensions


def differences(ours, theirs):
    """Entries of `ours` that are missing or different in `theirs`."""
    return [f"{owner} {number}: {what} here, {have.get((owner, number), 'nothing')} there"
            for mine, have in zip(ours[:2], theirs[:2]) for (owner, number), what in mine.items()
            if have.get((owner, number)) != what]


def published():
    """From PERFETTO_PROTO: the files to read, and the folder that their imports are relative to."""
    root = os.path.join(SCHEMA, "protos/perfetto/trace")
    if os.path.exists(os.path.join(root, "trace.proto")):
        files = [os.path.join(root, name) for name in ("trace.proto", "gpu/gpu_track_event.proto")]
        return [file for file in files if os.path.exists(file)], SCHEMA
    merged = os.path.join(SCHEMA, "perfetto_trace.proto")
    assert os.path.exists(merged), \
        f"PERFETTO_PROTO={SCHEMA}: no protos/perfetto/trace/trace.proto, nor perfetto_trace.proto"
    return [merged], SCHEMA


def exports():
    """Each stored trace as Perfetto's format, its compressed packets opened."""
    folder = os.path.join(REPO, "tests/golden")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".atrace"))
    assert len(names) >= 3, names
    for name in names:
        command = [os.path.join(BUILD, "bin/acceltrace"), "export", os.path.join(folder, name),
                   "--format", "perfetto", "-o", "-"]
        data = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              check=False).stdout
        flat = b""
        for _, _, packet in fields(data):
            packed = one(collect(packet), validator.COMPRESSED)
            flat += zlib.decompress(packed) if packed is not None else \
                b"\x0a" + varint(len(packet)) + packet
        assert flat, name
        yield name, flat


def varint(value):
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def unknown(decoded):
    """Lines of protoc's text that name a field by its number, which means that the schema lacks
    it.
    """
    return re.findall(r"^ *\d+(?::| \{).*", decoded, re.M)


test = tap.Cases()


@test
def each_field_is_the_published_one():
    ours = facts_of([os.path.join(REPO, OURS)], REPO)
    found = differences(ours, noted())
    assert not found, "\n".join(found)


@test
def nothing_is_noted_that_the_export_does_not_declare():
    found = differences(noted(), facts_of([os.path.join(REPO, OURS)], REPO))
    assert not found, "\n".join(found)


@test
def a_wrong_number_type_label_or_value_is_seen():
    with open(os.path.join(REPO, OURS), encoding="utf-8") as file:
        right = file.read()
    for old, new, owner in (
            ("pci_bdf = 7", "pci_bdf = 6", "GpuInfo.Gpu"),
            ("uint64 duration", "int64 duration", "GpuRenderStageEvent"),
            ("repeated fixed64 flow_ids", "repeated uint64 flow_ids", "TrackEvent"),
            ("optional string unit_name", "repeated string unit_name", "CounterDescriptor"),
            ("CounterDescriptor counter", "ThreadDescriptor counter", "TrackDescriptor"),
            ("EXPLICIT = 3", "EXPLICIT = 4", "TrackDescriptor.ChildTracksOrdering")):
        assert right.count(old) == 1, old
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "wrong.proto")
            with open(path, "w", encoding="utf-8") as file:
                file.write(right.replace(old, new))
            found = differences(facts_of([path], folder), noted())
        assert len(found) == 1 and found[0].startswith(owner + " "), (new, found)


@test
def each_export_is_of_declared_fields_only():
    for name, flat in exports():
        decoded = protoc("-I", REPO, "--decode=acceltrace.perfetto.Trace", os.path.join(REPO, OURS),
                         input=flat).decode()
        assert not unknown(decoded), (name, unknown(decoded)[:5])
        assert "packet {" in decoded, name


def what_is_noted_is_in_the_schema_itself():
    files, folder = published()
    theirs, noted_here = facts_of(files, folder), noted()
    if not theirs[2]:  # the merged file is without extensions
        for key in noted_here[2]:
            del noted_here[0][key]
    found = differences(noted_here, theirs)
    assert not found, "\n".join(found)
    assert not theirs[2] or noted_here[2] <= theirs[2], "an extension here is none there"


def each_export_decodes_by_the_schema_itself():
    files, folder = published()
    extended = "|".join(str(number) for _, number in noted()[2])
    for name, flat in exports():
        decoded = protoc("-I", folder, "--decode=perfetto.protos.Trace", *files,
                         input=flat).decode()
        if not facts_of(files, folder)[2]:
            block = rf"^( *)(?:{extended}) \{{\n(?:\1 .*\n)*\1\}}\n"
            decoded = re.sub(block, "", decoded, flags=re.M)
        assert not unknown(decoded), (name, unknown(decoded)[:5])


if SCHEMA:
    test += [what_is_noted_is_in_the_schema_itself, each_export_decodes_by_the_schema_itself]

if __name__ == "__main__":
    sys.exit(tap.run(test))
