# SPDX-License-Identifier: Apache-2.0
"""Checks of documents: links, commands and named files exist."""

import fnmatch
import os
import re
import subprocess

from lint import REPO, Skip

LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
FENCE = re.compile(r"^```(sh|console|shell)?\s*$")
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
INLINE = re.compile(r"((\./)?scripts/\S+|tests/run|make|acceltrace) [a-z-]")
PATH = re.compile(r"[\w./*{},-]*[\w*}/]")
SOURCE = (".c", ".cc", ".h", ".py", ".sh", ".mk", ".js", ".css", ".def", ".proto", ".bt", ".md")


def links(tree):
    """relative links in documents lead to files of the repository"""
    folders = {os.path.dirname(path) for path in tree.paths}
    for path in tree.having(".md"):
        for number, line in enumerate(tree.lines(path), 1):
            for match in LINK.finditer(line):
                target = match.group(1)
                if "://" in target or target.startswith("mailto:"):
                    continue
                resolved = os.path.normpath(os.path.join(os.path.dirname(path), target))
                if resolved not in tree.paths and resolved not in folders and resolved != ".":
                    yield f"{path}:{number}: link to {target}, which is not there"


def spans(tree, path):
    """(line number, text) of each code span of a document, outside of code blocks."""
    inside = False
    for number, line in enumerate(tree.lines(path), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            for match in SPAN.finditer(line):
                yield number, match.group(1)


def alternatives(pattern):
    """a/{b,c}/d as a/b/d and a/c/d."""
    match = re.search(r"\{([^{}]*)\}", pattern)
    if not match:
        return [pattern]
    return [name for choice in match.group(1).split(",")
            for name in alternatives(pattern[:match.start()] + choice + pattern[match.end():])]


def names(tree):
    """files and folders that documents name as code exist; bare names only in README.md"""
    folders = {path[:at] for path in tree.paths for at in range(len(path)) if path[at] == "/"}
    every = [*tree.paths, *folders]
    tops = {path.split("/")[0] for path in folders}
    basenames = {os.path.basename(path) for path in tree.paths}
    for document in tree.having(".md"):
        for number, text in spans(tree, document):
            if not PATH.fullmatch(text) or "NAME" in text:
                continue
            for name in alternatives(text.removeprefix("./").rstrip("/")):
                if name.split("/")[0] in tops and "/" in name:
                    found = name in every or fnmatch.filter(every, name)
                else:
                    bare = (os.path.basename(document) == "README.md" and
                            re.fullmatch(r"[\w*-][\w.*-]*", name) and name.endswith(SOURCE))
                    found = not bare or fnmatch.filter(basenames, name)
                if not found:
                    yield f"{document}:{number}: names {name}, which is not there"


def commands_of(tree, path):
    """(line number, words) of each command in a document's ```sh blocks and code spans."""
    inside = False
    for number, line in enumerate(tree.lines(path), 1):
        if line.startswith("```"):
            inside = not inside and bool(FENCE.match(line)) and line.strip() != "```"
            continue
        if inside:
            words = line.split("#")[0].removeprefix("$ ").split()
            while words and "=" in words[0]:
                words.pop(0)
            if words:
                yield number, words
    for number, text in spans(tree, path):
        if INLINE.match(text):
            yield number, text.split()


def make_targets():
    """All targets of the Makefile."""
    listed = subprocess.run(["make", "-C", REPO, "-pRrq", "help"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=False)
    return set(re.findall(r"^([\w./-]+):", listed.stdout, re.M))


def commands(tree):
    """the commands that documents show exist: scripts, make targets, verbs and their options"""
    cli = os.path.join(REPO, "build", "bin", "acceltrace")
    targets, helps, missing_cli = make_targets(), {}, False

    def help_of(*words):
        if words not in helps:
            run = subprocess.run([cli, *words, "--help"], stdout=subprocess.PIPE, text=True,
                                 stderr=subprocess.STDOUT, check=False, timeout=120)
            helps[words] = run.stdout if run.returncode == 0 else None
        return helps[words]

    for path in tree.having(".md"):
        for number, words in commands_of(tree, path):
            where, name = f"{path}:{number}", words[0]
            if name.startswith(("./scripts/", "scripts/", "tests/run", "./tests/")):
                script = os.path.normpath(name)
                if script not in tree.paths:
                    yield f"{where}: {name} is not there"
            elif name == "make":
                for word in words[1:]:
                    if (word not in targets and "=" not in word and not word.startswith("-") and
                            not word.isupper()):
                        yield f"{where}: make has no target {word}"
            elif name in ("acceltrace", "build/bin/acceltrace") and len(words) > 1:
                if not os.path.exists(cli):
                    missing_cli = True
                    continue
                verb = words[1]
                shown = help_of(verb)
                if shown is None or not re.search(rf"^ +{re.escape(verb)} ", help_of() or "", re.M):
                    yield f"{where}: acceltrace has no verb {verb}"
                    continue
                for word in words[2:]:
                    if word == "--":
                        break
                    if word.startswith("--") and word.split("=")[0] not in shown:
                        yield f"{where}: acceltrace {verb} has no option {word}"
    if missing_cli:
        raise Skip("build/bin/acceltrace is not built: verbs cannot be compared")


CHECKS = [links, names, commands]
