"""`trecpy check`: what is odd in judgements and runs, what it does to scores, and what to do."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trecpy.cli.choices import add_file_formats, whole_number
from trecpy.cli.colour import painted
from trecpy.errors import FileError, UsageError
from trecpy.text import plural, shown

if TYPE_CHECKING:
    from trecpy.cli.main import Streams
    from trecpy.findings import Finding, Findings
    from trecpy.formats.source import Source

DESCRIPTION = """\
Look for what is wrong or odd in judgements and runs: each finding with its code, count, three examples, what it does to
scores and what to do. Each run is read once, in parts. Exit code: 0 nothing, or notes only; 3 warnings; 2 errors."""
EXAMPLES = """\
  trecpy check qrels.txt run.txt
  trecpy check --depth 1000 qrels.txt *.run
  trecpy check --json qrels.txt run.txt | jq '.[].findings[].code'
  trecpy check --fix clean qrels.txt run.txt
"""
_EXIT_CODES = {"error": 2, "warning": 3, "note": 0, None: 0}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("qrels", metavar="QRELS", help="judgements; '-' is standard input")
    add("runs", metavar="RUN", nargs="*", help="runs; '-' is standard input")
    add("--depth", type=whole_number, metavar="N", help="documents that each topic should have")
    add("--json", action="store_true", help="print a list of files and findings as JSON")
    add("--fix", metavar="DIR", help="write a copy of each file with findings that have one right answer into DIR")
    add_file_formats(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Check, print. Returns the exit code of the worst finding."""
    from trecpy.checking import check_qrels, check_run
    from trecpy.cli.runs import check_stdin

    paths = [options.qrels, *options.runs]
    check_stdin(paths)
    if options.fix is not None and "-" in paths:
        raise UsageError("--fix: expected files, found standard input")
    found, judged = check_qrels(_opened(options.qrels, streams), options.qrels_format)
    reports = [found]
    _report(found, options, streams)
    for path in options.runs:
        found = check_run(_opened(path, streams), options.run_format, judged, options.depth)
        reports.append(found)
        _report(found, options, streams)
    if options.json:
        streams.write(json.dumps(list(map(_record, reports)), indent=1).encode() + b"\n")
    if options.fix is not None:
        for path, found in zip(paths, reports, strict=True):
            _fix(path, found, options.fix, streams)
    codes = [_EXIT_CODES[found.worst] for found in reports]
    return 2 if 2 in codes else max(codes)


def _opened(path: str, streams: Streams) -> Source:
    from trecpy.cli.runs import opened
    from trecpy.formats.source import Source

    given = opened(path, streams.stdin)
    return Source.open(given, twice=True) if given is path else Source(given, "standard input", twice=True)


def _report(found: Findings, options: argparse.Namespace, streams: Streams) -> None:
    if options.json:
        return
    findings = found.sorted()
    noun = "judgement" if found.kind == "qrels" else "document"
    sizes = f"{plural(found.records, noun)} of {plural(found.topics, 'topic')}"
    streams.write(f"{found.name}: {sizes}; {plural(len(findings), 'finding')}\n".encode())
    for finding in findings:
        for line in _lines(finding):
            text = painted(line) if streams.coloured else line
            streams.write(text.encode("utf-8", "surrogateescape") + b"\n")


def _lines(finding: Finding) -> Iterator[str]:
    from trecpy.findings import CODES

    code = CODES[finding.code]
    yield f"  {finding.severity}: {finding.code} ({finding.count:,}): {code.what}"
    for example in finding.examples:
        yield f"      {example}"
    yield f"    effect: {code.effect}" + (f"; here {finding.detail}" if finding.detail else "")
    yield f"    do: {code.remedy}"


def _record(found: Findings) -> dict[str, object]:
    from trecpy.findings import CODES

    findings = [
        {
            "code": each.code,
            "severity": each.severity,
            "count": each.count,
            "what": CODES[each.code].what,
            "examples": each.examples,
            "effect": CODES[each.code].effect,
            "detail": each.detail,
            "remedy": CODES[each.code].remedy,
            "fixable": CODES[each.code].fixable,
        }
        for each in found.sorted()
    ]
    return {
        "file": found.name, "kind": found.kind, "records": found.records, "topics": found.topics, "findings": findings,
    }  # fmt: skip


def _fix(path: str, found: Findings, folder: str, streams: Streams) -> None:
    """Write a cleaned copy where there is something to clean."""
    from trecpy.cli.targets import of_name, target
    from trecpy.findings import CODES
    from trecpy.formats.source import Source, reason
    from trecpy.formats.write import compressing
    from trecpy.mending import mended

    fixed = [each.code for each in found.sorted() if CODES[each.code].fixable]
    if not fixed or not found.lines:
        return
    copy = os.path.join(folder, os.path.basename(path))
    try:
        os.makedirs(folder, exist_ok=True)
        if os.path.exists(copy) and os.path.samefile(path, copy):
            raise UsageError(f"--fix: expected another folder than that of {shown(path)}")
    except OSError as error:
        raise FileError(f"{shown(folder)}: cannot be written: {reason(error)}") from None
    compression = of_name(path)[1]
    with Source.open(path) as source, target(copy, streams) as file:
        packed = file if compression is None else compressing(file, compression)
        for line in mended(source, found):
            packed.write(line)
        if packed is not file:
            packed.close()
    streams.warn(f"{shown(copy)}: written without {', '.join(fixed)}, as far as there is one right answer")
