"""The command `trec_eval`: reads options and files as NIST's program does, prints what it prints."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from trecpy import __version__
from trecpy.cli.options import read_options
from trecpy.cli.process import Warn, Write, attempt, process, writer
from trecpy.errors import (
    FileError,
    FormatError,
    MeasureError,
    ParameterError,
    TrecpyError,
    UsageError,
    ZScoreError,
)
from trecpy.protocol import COMPATS, Compat, Protocol
from trecpy.text import plural, quoted

if TYPE_CHECKING:
    from trecpy.formats.source import Source
    from trecpy.scores import ZScores

_LONG = {
    "help": False,
    "version": False,
    "query_eval_wanted": False,
    "measure": True,
    "complete_rel_info_wanted": False,
    "level_for_rel": True,
    "nosummary": False,
    "Debug_level": True,
    "Judged_docs_only": False,
    "Number_docs_in_coll": True,
    "Max_retrieved_per_topic": True,
    "Rel_info_format": True,
    "Results_format": True,
    "Output_old_results_format": True,
    "Zscore": True,
}
_SHORT = {
    "h": "help", "v": "version", "q": "query_eval_wanted", "m": "measure", "c": "complete_rel_info_wanted",
    "l": "level_for_rel", "n": "nosummary", "D": "Debug_level", "J": "Judged_docs_only", "N": "Number_docs_in_coll",
    "M": "Max_retrieved_per_topic", "R": "Rel_info_format", "T": "Results_format", "o": "Output_old_results_format",
    "Z": "Zscore",
}  # fmt: skip
_OWN = ("compat", "threads")
_FORMS = ("qrels", "qrels_jg", "prefs", "qrels_prefs")
_NO_CUT = 2147483647


@dataclass(eq=False, repr=False)
class Options:
    """What the command line asks for."""

    compat: Compat
    help: bool = False
    version: bool = False
    per_topic: bool = False
    summary: bool = True
    complete: bool = False
    judged_only: bool = False
    level: int = 1
    num_docs: int = 0
    depth: int = _NO_CUT
    only: bytes | None = None
    form: str = "qrels"
    run_format: str = "trec_results"
    zscores: str | None = None
    threads: int | None = None
    requests: list[Any] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def protocol(self) -> Protocol:
        """The conventions that were asked for."""
        return Protocol(
            compat=self.compat,
            relevance_level=self.level,
            judged_only=self.judged_only,
            depth=None if self.depth >= _NO_CUT else self.depth,
            topics="qrels" if self.complete else "both",
            duplicates="error-within-depth",
            num_docs=self.num_docs,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with sys.argv, or with `arguments`; return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    gc.disable()  # one evaluation leaves no cycles that matter; to look for them takes a twentieth of a short one
    return process("trec_eval", lambda stdin, stdout, warn: run(given, stdin, stdout, warn))


def run(arguments: Sequence[str], stdin: IO[bytes] | None, stdout: IO[bytes] | None, warn: Warn) -> int:
    """The command on given streams: bytes of results to stdout, lines of text to warn(). Returns the exit code."""
    return attempt(lambda: _run(arguments, stdin, writer(stdout), warn), warn)


def _run(arguments: Sequence[str], stdin: IO[bytes] | None, write: Write, warn: Warn) -> int:
    try:
        options = _read(arguments)
        if not options.version and not options.help and len(options.files) != 2:
            raise UsageError(f"expected 2 files, QRELS and RUN, found {len(options.files)}")
    except UsageError as error:
        warn(str(error))
        if not isinstance(error, MeasureError):
            from trecpy.cli.help import USAGE

            warn(USAGE)
        return error.exit_code
    for warning in options.warnings:
        warn("warning: " + warning)
    if options.version:
        warn(f"trecpy {__version__}, following trec_eval version {options.compat}")
    elif options.help:
        write(_help(options).encode() + b"\n")
    else:
        _evaluate(options, stdin, write, warn)
    return 0


def _read(arguments: Sequence[str]) -> Options:
    """Read the command line, left to right."""
    from trecpy.numbers import strtol

    def number(name: str, value: str) -> int:
        read, rest = strtol(os.fsencode(value))
        if rest or not value:
            options.warnings.append(f"--{name}: expected an integer, found {quoted(value)}; {read} is used")
        return read

    # The generation decides which measures there are, wherever it stands; a wrong one waits its turn.
    spelled = [value for name, value in _quietly(arguments) if name == "compat"]
    if spelled:
        options = Options(next((known for known in COMPATS if known == spelled[-1]), COMPATS[0]))
    else:
        options = Options(_compat(os.environ.get("TRECPY_COMPAT", COMPATS[0]), "TRECPY_COMPAT"))
    for name, value in read_options(arguments, _SHORT, _LONG, _OWN, options.files):
        text = value or ""
        match name:
            case "compat":
                options.compat = _compat(text, "--compat")
            case "threads":
                if not text.isdecimal() or not text.isascii() or int(text[:9]) < 1:
                    raise UsageError(f"--threads: expected a number >= 1, found {quoted(text)}")
                options.threads = int(text[:9])
            case "help":
                options.help = True
            case "version":
                options.version = True
                return options
            case "query_eval_wanted":
                options.per_topic = True
            case "nosummary":
                options.summary = False
            case "complete_rel_info_wanted":
                options.complete = True
            case "Judged_docs_only":
                options.judged_only = True
            case "level_for_rel":
                options.level = number(name, text)
            case "Number_docs_in_coll":
                options.num_docs = number(name, text)
            case "Max_retrieved_per_topic":
                options.depth = number(name, text)
            case "Debug_level":
                _, dot, topic = text.partition(".")
                options.only = os.fsencode(topic) if dot else None
            case "Rel_info_format":
                options.form = text
            case "Results_format":
                options.run_format = text
            case "Zscore":
                options.zscores = text
            case "measure":
                from trecpy.registry import Request

                options.requests.append(Request.parse(text, options.compat))
    return options


def _quietly(arguments: Sequence[str]) -> list[tuple[str, str | None]]:
    """The options up to the first mistake."""
    found: list[tuple[str, str | None]] = []
    try:
        found.extend(read_options(arguments, _SHORT, _LONG, _OWN, []))
    except UsageError:
        pass
    return found


def _compat(value: str, where: str) -> Compat:
    if value not in COMPATS:
        raise UsageError(f"{where}: expected {' or '.join(COMPATS)}, found {quoted(value)}")
    return value


def _help(options: Options) -> str:
    from trecpy.cli.help import help_text
    from trecpy.registry import catalogue, select

    chosen = select(options.requests, options.compat)
    known = [each for each in catalogue().values() if each.known_to(options.compat)]
    return help_text(chosen, bool(options.requests), known, options.compat)


def _evaluate(options: Options, stdin: IO[bytes] | None, write: Write, warn: Warn) -> None:
    """Read, score, print."""
    from trecpy.cli.rehearsal import share_compiling
    from trecpy.evaluation import evaluate_blocks
    from trecpy.formats.judgements import read_judgements
    from trecpy.formats.runs import RunReader
    from trecpy.formats.source import Source
    from trecpy.registry import columns, ignored
    from trecpy.report import trec_lines
    from trecpy.threads import available

    share_compiling()

    def say(notes: Sequence[str]) -> None:
        for note in notes:
            warn("warning: " + note)

    qrels_path, run_path = options.files
    say(ignored(options.requests))
    if options.form not in _FORMS:
        raise ParameterError(f"-R: expected {', '.join(_FORMS[:-1])} or {_FORMS[-1]}, found {quoted(options.form)}")
    with Source.open(qrels_path) as source:
        judgements, notes = read_judgements(source, options.form, options.compat, strict=False)
    say(notes)
    if options.run_format != "trec_results":
        raise ParameterError(f"-T: expected trec_results, found {quoted(options.run_format)}")

    # The reference reads the run before it looks at any of these, and one bad line there is what it reports. The run is
    # scored while it is read here, so these come first and their error waits.
    late: TrecpyError | None = None
    zscores, asked = None, []
    try:
        zscores, notes = _read_zscores(options)
        say(notes)
        asked = columns(options.requests, options.compat)
        if options.depth < 0:
            raise UsageError(f"-M: expected a number >= 0, found {options.depth}")
    except TrecpyError as error:
        late = error

    with _open_run(run_path, options, stdin) as source:
        reader = RunReader(source, options.compat, strict=False)
        try:
            if late:
                for _ in reader.blocks():
                    pass
                raise late
            threads = options.threads or available()
            scores = evaluate_blocks(judgements, reader, asked, options.protocol, options.only, threads)
        finally:
            say(reader.notes)
    say(scores.notes)
    if scores.counts.missing and options.summary:
        fate = "they count as 0" if options.complete else "they are left out of the means (-c counts them as 0)"
        lacks = f"lacks {scores.counts.missing:,} of {plural(scores.counts.judged, 'judged topic')}"
        say([f"{source.name}: {lacks}; {fate}"])
    if zscores is not None:
        scores = scores.standardised(zscores)
    for line in trec_lines(scores, reader.tag, options.per_topic, options.summary, zscores is not None):
        write(line)


def _read_zscores(options: Options) -> tuple[ZScores | None, list[str]]:
    from trecpy.formats.source import Source
    from trecpy.formats.zscores import read_zscores

    if options.zscores is None:
        return None, []
    try:
        with Source.open(options.zscores) as source:
            return read_zscores(source)
    except FormatError:  # a NUL byte: exit 2 in every file
        raise
    except FileError as error:
        raise ZScoreError(str(error)) from None


def _open_run(path: str, options: Options, stdin: IO[bytes] | None) -> Source:
    from trecpy.formats.source import Source

    if options.compat != "10.0" or not path.startswith("-"):
        return Source.open(path, twice=True)
    return Source.standard_input(stdin)


if __name__ == "__main__":
    sys.exit(main())
