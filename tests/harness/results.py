# SPDX-License-Identifier: Apache-2.0
"""Parses a test's output: Catch2's XML (both generations), TAP, or its exit status."""

import re
import xml.etree.ElementTree as ET

from harness import FAIL, PASS, SKIP, Case

SKIPPED_STATUS = 77
PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*skip\S*\s*(.*))?\s*$", re.I)
REASON = re.compile(r"^#\s?(.*)$")
REASON_LINES = 30
LINE = re.compile(r"^(not )?ok\b\s*(\d*)\s*(?:-\s*)?(.*)$")
DIRECTIVE = re.compile(r"^(.*?)#\s*(skip)\S*\s*(.*)$", re.I)


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def ending(status):
    """How a process ended, as text."""
    return f"ended by signal {-status}" if status < 0 else f"exit status {status}"


def by_status(status, text):
    if status == 0:
        return [Case("", PASS)]
    if status == SKIPPED_STATUS:
        return [Case("", SKIP, last_line(text) or "no reason given")]
    return [Case("", FAIL, ending(status))]


def tap(status, text):
    """Cases of a TAP output; None when it has no plan and so is none.

    The comments that follow a failure are its reason; of a long one the end tells most.
    """
    planned, cases, reason = None, [], None
    for line in text.splitlines():
        if match := PLAN.match(line):
            if match.group(2) is not None and match.group(1) == "0":
                return [Case("", SKIP, match.group(2) or "no reason given")]
            planned = int(match.group(1)) + (planned or 0)
        elif match := LINE.match(line):
            name, verdict, detail = match.group(3).strip(), PASS, ""
            if directive := DIRECTIVE.match(name):
                name, verdict = directive.group(1).strip(), SKIP
                detail = directive.group(3).strip() or "no reason given"
            if match.group(1):
                verdict, detail = FAIL, ""
            cases.append(Case(name or match.group(2), verdict, detail))
            reason = [] if verdict == FAIL else None
        elif reason is not None and (match := REASON.match(line)):
            reason = (reason + [match.group(1)])[-REASON_LINES:]
            cases[-1].detail = "\n".join(reason)
    if planned is None:
        return None
    if len(cases) != planned:
        cases.append(Case("plan", FAIL, f"{planned} planned, {len(cases)} reported"))
    if status != 0 and not any(case.verdict == FAIL for case in cases):
        cases.append(Case("end", FAIL, ending(status)))
    return cases


def text_cases(status, text):
    if status == SKIPPED_STATUS:
        return by_status(status, text)
    return tap(status, text) or by_status(status, text)


def failure_text(element):
    """The failed assertions below a Catch2 test case, as file:line: text."""
    lines = []
    for item in element.iter():
        where = f"{item.get('filename')}:{item.get('line')}"
        if item.tag == "Expression" and item.get("success") == "false":
            original = (item.findtext("Original") or "").strip()
            expanded = (item.findtext("Expanded") or "").strip()
            lines.append(f"{where}: {item.get('type')}( {original} ) with {expanded}")
        if item.tag in ("Exception", "Failure", "FatalErrorCondition"):
            lines.append(f"{where}: {item.tag}: {(item.text or '').strip()}")
    return "\n".join(lines)


def skip_reason(element):
    """The reason why a Catch2 test case was skipped; None if it was not. v2 only has our own
    warning.
    """
    overall = element.find("OverallResult")
    if overall is not None and overall.get("skips", "0") != "0":
        reason = element.find(".//Skip")
        return (reason.text or "").strip() if reason is not None else ""
    for warning in element.iter("Warning"):
        text = (warning.text or "").strip()
        if text.startswith("skipped: "):
            return text.removeprefix("skipped: ")
    return None


def catch(status, xml_bytes):
    """Cases of Catch2's XML reporter; a report cut short by a crash gives what is complete.

    A run that asserts nothing is known by the exit status: see tests/catch_main.cc.
    """
    cases, parser = [], ET.XMLPullParser(["end"])
    try:
        parser.feed(xml_bytes)
        for _, element in parser.read_events():
            if element.tag != "TestCase":
                continue
            overall = element.find("OverallResult")
            passed = overall is not None and overall.get("success") == "true"
            skipped = skip_reason(element)
            name = element.get("name", "?")
            failure = "" if passed else failure_text(element)
            if not passed:
                cases.append(Case(name, FAIL, failure or "no result"))
            elif skipped is not None:
                cases.append(Case(name, SKIP, skipped or "no reason given"))
            else:
                cases.append(Case(name, PASS))
    except ET.ParseError as error:
        cases.append(Case("report", FAIL, f"unreadable report: {error}"))
    failed = any(case.verdict == FAIL for case in cases)
    if status < 0 or (status != 0 and not failed):
        cases.append(Case("end", FAIL, ending(status)))
    return cases or [Case("", FAIL, "ran no test case")]
