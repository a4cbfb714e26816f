# SPDX-License-Identifier: Apache-2.0
"""Parses the schema in trace.proto and its imports: messages, their fields by number, enums.

Only supports the parts of the language that these files use.
"""

import os
import re

HERE = os.path.dirname(os.path.realpath(__file__))
PLACES = (os.environ.get("ACCELTRACE_PROTO", ""), os.path.join(HERE, "trace.proto"),
          os.path.join(HERE, "..", "..", "..", "libtrace", "proto", "trace.proto"))
TOKEN = re.compile(r'[\w.]+|"[^"]*"|[{}=;<>,\[\]]')
IMPORT = re.compile(r'^import "(?:[^"]*/)?([^"/]+)";', re.MULTILINE)
FIELD = re.compile(r"(repeated )?([\w.]+) (\w+) = (\d+)(?: \[.*\])?")


class Field:
    """A field of a message: its name, its type, whether it is repeated."""

    def __init__(self, name, kind, repeated):
        self.name, self.kind, self.repeated = name, kind, repeated


class Schema:
    """messages: {name: {number: Field}}; enums: {name: {value name: number}}."""

    def __init__(self, text):
        self.messages, self.enums = {}, {}
        scope, words = [], []
        for token in TOKEN.findall(re.sub(r"//[^\n]*", "", text)):
            if token == "{":
                scope.append((words[0], words[-1]))
                (self.enums if words[0] == "enum" else self.messages).setdefault(words[-1], {})
                words = []
            elif token == "}":
                scope.pop()
                words = []
            elif token == ";":
                self.statement(scope, words)
                words = []
            else:
                words.append(token)
        self.messages.pop("body", None)  # the oneof: its fields are those of its message

    def statement(self, scope, words):
        if not scope:
            return
        kind, name = scope[-1]
        if kind == "enum":
            self.enums[name][words[0]] = int(words[-1])
        elif found := FIELD.fullmatch(" ".join(words)):
            message = scope[-2][1] if kind == "oneof" else name
            repeated, of, field, number = found.groups()
            self.messages[message][int(number)] = Field(field, of.split(".")[-1], bool(repeated))


def load():
    for place in PLACES:
        if place and os.path.exists(place):
            with open(place, encoding="utf-8") as file:
                text = file.read()
            # Imports are in the same folder.
            for name in IMPORT.findall(text):
                with open(os.path.join(os.path.dirname(place), name), encoding="utf-8") as file:
                    text += file.read()
            return Schema(text)
    raise FileNotFoundError("trace.proto is not where acceltrace's sources have it: name it in "
                            "ACCELTRACE_PROTO")


SCHEMA = load()
