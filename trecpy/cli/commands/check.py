"""`trecpy check`: what is odd in judgements and runs, what it does to scores, and what to do."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trecpy.cli.choices import add_file_formats, whole_number
from trecpy.cli.colour import painted
from trecpy.errors import FileError, FormatError, UsageError
from trecpy.text import input_name, plural, shown

if TYPE_CHECKING:
    from trecpy.checks.findings import Finding, Findings
    from trecpy.cli.main import Streams
    from trecpy.formats.source import Source

DESCRIPTION = """\
Look for what is wrong or odd in judgements and runs: each finding with its code, count, three examples, what it does to
scores and what to do. Each run is read once, in parts; several are compared with each other too. Exit code: 0 nothing,
or notes only; 3 warnings; 2 errors. A single file that is a run, as its columns tell, is checked as one, without
judgements; --no-qrels says that several are."""
EXAMPLES = """\
  trecpy check qrels.txt run.txt
  trecpy check --no-qrels *.run
  trecpy check --depth 1000 qrels.txt *.run
  trecpy check --json qrels.txt run.txt | jq '.[].findings[].code'
  trecpy check --fix clean qrels.txt run.txt
"""
_EXIT_CODES = {"error": 2, "warning": 3, "note": 0, None: 0}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("qrels", metavar="QRELS", help="judgements: a file, irds:NAME, or '-' for standard input")
    add("runs", metavar="RUN", nargs="*", help="runs; '-' is standard input")
    add("--depth", type=whole_number, metavar="N", help="documents that each topic should have")
    add("--no-qrels", action="store_true", help="there are no judgements: QRELS is a run too")
    add("--json", action="store_true", help="print a list of files and findings as JSON")
    add("--fix", metavar="DIR", help="write a copy of each TREC file in which something has one right answer into DIR")
    add_file_formats(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Check, print. Returns the exit code of the worst finding."""
    from trecpy.checks.depths import Depths
    from trecpy.checks.findings import Findings
    from trecpy.checks.qrels import check_dataset, check_qrels
    from trecpy.checks.runs import Sizes, check_run
    from trecpy.cli.runs import check_stdin, source_at
    from trecpy.files import is_dataset

    paths = [options.qrels, *options.runs]
    check_stdin(paths)
    if options.fix is not None:
        _check_copies(paths, options.fix)
    reports, ranked, depths, judged = list[Findings](), list[Findings](), Depths(), None
    for number, path in enumerate(paths):
        kind, sizes = "run" if number or options.no_qrels else "qrels", Sizes()
        try:
            if kind == "qrels" and is_dataset(path):
                found, judged = check_dataset(path)
            else:
                source = source_at(path, streams.stdin)
                if kind == "qrels" and len(paths) == 1 and options.qrels_format is None and _is_run(source):
                    kind = "run"
                    streams.warn(f"{source.name}: taken for a run, and checked without judgements")
                if kind == "qrels":
                    found, judged = check_qrels(source, options.qrels_format)
                else:
                    found, sizes = check_run(source, options.run_format, judged, options.depth)
        except FileError as error:
            found = Findings.of_unreadable(input_name(path), kind, error)
        reports.append(found)
        if kind == "run":
            ranked.append(found)
            depths.add(sizes)
    depths.conclude(ranked)
    if options.json:
        streams.write(json.dumps(list(map(_record, reports)), indent=1).encode() + b"\n")
    else:
        for found in reports:
            _report(found, streams)
    if options.fix is not None:
        for path, found in zip(paths, reports, strict=True):
            _fix(path, found, options.fix, streams)
    codes = [_EXIT_CODES[found.worst] for found in reports]
    return 2 if 2 in codes else max(codes)


def _is_run(source: Source) -> bool:
    """Is it a run beyond doubt?"""
    from trecpy.checks.rows import is_swapped

    try:
        return is_swapped(source, "qrels", None)
    except FileError:  # which is said when it is read
        return False


def _report(found: Findings, streams: Streams) -> None:
    findings = found.sorted()
    noun = "judgement" if found.kind == "qrels" else "document"
    sizes = f"{plural(found.records, noun)} of {plural(found.topics, 'topic')}"
    sizes += " before it breaks off" if "unreadable" in found and found.records else ""
    streams.write(f"{found.name}: {sizes}; {plural(len(findings), 'finding')}\n".encode())
    for finding in findings:
        for line in _lines(finding):
            text = painted(line) if streams.coloured else line
            streams.write(text.encode("utf-8", "surrogateescape") + b"\n")


def _lines(finding: Finding) -> Iterator[str]:
    from trecpy.checks.findings import CODES

    code = CODES[finding.code]
    yield f"  {finding.severity}: {finding.code} ({finding.count:,}): {code.what}"
    for example in finding.examples:
        yield f"      {example}"
    yield f"    effect: {code.effect}" + (f"; here {finding.detail}" if finding.detail else "")
    yield f"    do: {code.remedy}"


def _record(found: Findings) -> dict[str, object]:
    from trecpy.checks.findings import CODES

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
            "fixable": each.fixable,
        }
        for each in found.sorted()
    ]
    return {
        "file": found.name, "kind": found.kind, "records": found.records, "topics": found.topics, "findings": findings,
    }  # fmt: skip


def _check_copies(paths: Sequence[str], folder: str) -> None:
    """Refuse to write copies over each other or over what is read. Raises UsageError."""
    copies: dict[str, str] = {}
    for path in paths:
        if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
            raise UsageError(f"--fix: expected files, which can be read twice, found {input_name(path)}")
        copy = _copy_of(path, folder)
        if copy in copies:
            raise UsageError(
                f"--fix: expected files of different names, as their copies have them, found {shown(copies[copy])} and "
                f"{shown(path)}"
            )
        copies[copy] = path
        for each in paths:
            if os.path.exists(copy) and os.path.exists(each) and os.path.samefile(each, copy):
                raise UsageError(f"--fix: expected another folder than that of {shown(each)}")


def _copy_of(path: str, folder: str) -> str:
    return os.path.join(folder, os.path.basename(path))


class _Unchanged(Exception):
    """Nothing was mended, so that no copy is wanted."""


def _fix(path: str, found: Findings, folder: str, streams: Streams) -> None:
    """Write a cleaned copy where something can be mended, and say what was."""
    from trecpy.checks.mending import Mending, in_utf8
    from trecpy.cli.targets import of_name, target
    from trecpy.formats.source import Source, reason
    from trecpy.formats.write import compressing

    left = [each.code for each in found.sorted() if each.severity != "note"]
    if not any(each.fixable for each in found.sorted()):
        if left:
            streams.warn(f"{found.name}: not copied: nothing in it has one right answer ({', '.join(left)})")
        return
    if not found.is_trec and "utf-16" not in found:
        streams.warn(f"{found.name}: not copied: expected a TREC file, which 'trecpy convert' makes of others")
        return
    copy = _copy_of(path, folder)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise FileError(f"{shown(folder)}: cannot be written: {reason(error)}") from None
    compression = of_name(path)[1]
    try:
        with Source.open(path) as source, target(copy, streams) as file:
            packed = file if compression is None else compressing(file, compression)
            mending = Mending(source, found)
            if "utf-16" in found:
                mending.mended["utf-16"] = 1
            for line in in_utf8(source) if "utf-16" in found else mending.lines():
                packed.write(line)
            if not mending.mended.total():
                raise _Unchanged
            if packed is not file:
                packed.close()
    except FormatError as error:
        streams.warn(f"{found.name}: not copied: {error}")
        return
    except _Unchanged:
        streams.warn(f"{found.name}: not copied: nothing in it has one right answer ({', '.join(left)})")
        return
    mended = {code: count for code, count in mending.mended.items() if count}
    said = f"{shown(copy)}: mended {', '.join(f'{code} ({count:,})' for code, count in mended.items())}"
    stays = [code for code in left if mended.get(code, 0) < found.count(code)]
    unseen = "; nothing else was looked for: check the copy" if "utf-16" in mended else ""
    streams.warn(said + (f"; has still {', '.join(stays)}" if stays else unseen))
