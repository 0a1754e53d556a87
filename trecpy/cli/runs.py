"""Runs that a command scores: by path or from standard input, with what is odd in them said on standard error."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from trecpy.api import Evaluation, Evaluator
from trecpy.arrays import sizes_of
from trecpy.cli.choices import chosen_protocol
from trecpy.cli.process import Warn
from trecpy.collection import Folds, Watched
from trecpy.errors import ParameterError, TrecpyError, UsageError
from trecpy.formats.source import Source
from trecpy.packed import Block
from trecpy.presets import protocols
from trecpy.protocol import Protocol
from trecpy.text import input_name, plural

if TYPE_CHECKING:
    from trecpy.cli.main import Streams

_FATES = {
    "qrels": "they count with what an empty ranking scores",
    "both": "they are left out of the means",
    "run": "they are left out of the means",
    "same": "",
}


def prepared(options: argparse.Namespace, measures: Sequence[str], runs: Sequence[str], streams: Streams) -> Evaluator:
    """
    The judgements and measures that were asked for. runs: the paths of the runs.

    Raises TrecpyError; UsageError: standard input is to be read twice.
    """
    check_stdin([options.qrels, *runs])
    formats = {"qrels_format": options.qrels_format, "run_format": options.run_format}
    return Evaluator(opened(options.qrels, streams.stdin), measures, protocol=chosen_protocol(options), **formats)


def check_stdin(paths: Sequence[str]) -> None:
    """Refuse '-' where another of the paths is it too. Raises UsageError."""
    if paths.count("-") > 1:
        raise UsageError("expected '-', standard input, once")


def say_notes(evaluator: Evaluator, warn: Warn) -> None:
    """Say what was odd in the judgements."""
    for note in evaluator.notes:
        warn("warning: " + note)


def evaluated(
    evaluator: Evaluator,
    path: str,
    stdin: IO[bytes] | None,
    warn: Warn,
    seen: Callable[[Block], object] | None = None,
    threads: int | None = None,
    folds: Sequence[str] = (),
) -> Evaluation:
    """
    Score a run, '-' being standard input; say what is odd in it and how many topics it lacks.

    seen: as collection.Watched has it; threads: as Evaluator.evaluate() has them
    folds: the files that it consists of, where it is not the file `path` but only called so

    Raises TrecpyError, whose text names the run.
    """
    depths = _Depths(evaluator.protocol, seen)
    with named(path):
        run = Folds([opened(fold, stdin) for fold in folds]) if folds else opened(path, stdin)
        watched = Watched(run, depths.see) if depths.see else run
        evaluation = evaluator.evaluate(watched, threads=threads, witness=False)
    for note in evaluation.notes[len(evaluator.notes) :]:
        warn("warning: " + _of_run(note, path))
    counts = evaluation.counts
    if counts.missing:
        lacks = f"lacks {counts.missing:,} of {plural(counts.judged, 'judged topic')}"
        warn(f"warning: {input_name(path)}: {lacks}; {_FATES[evaluation.protocol.topics]}{_excepted(evaluator)}")
    if short := depths.short:
        warn(f"warning: {input_name(path)}: {short}")
    unjudged = counts.run - (counts.judged - counts.missing)
    if unjudged:
        fate = "they count as 0" if evaluation.protocol.topics == "run" else "they are left out"
        warn(f"warning: {input_name(path)}: has {plural(unjudged, 'topic')} without judgements; {fate}")
    return evaluation


def _excepted(evaluator: Evaluator) -> str:
    """Which measures have topics by a rule of their own."""
    protocol = evaluator.protocol
    own = {column.measure.name: column.under(protocol).topics for column in evaluator.columns}
    found = [f"{name} is over topics={topics}" for name, topics in own.items() if topics != protocol.topics]
    return "".join(f"; {each}" for each in found)


class _Depths:
    """
    Looks for topics with fewer documents than a preset's runs have.

    protocol: may be a preset's; seen: called with each block too
    """

    def __init__(self, protocol: Protocol, seen: Callable[[Block], object] | None) -> None:
        self.expected = protocols[protocol.name].candidates if protocol.name in protocols else 0
        self._seen, self._documents = seen, dict[bytes, int]()

    @property
    def see(self) -> Callable[[Block], object] | None:
        """What an Evaluator is to call with each block; None where nothing has to be seen."""
        return self._see if self.expected else self._seen

    def _see(self, block: Block) -> None:
        self._documents |= zip(block.topics, sizes_of(block.starts).tolist(), strict=True)
        if self._seen is not None:
            self._seen(block)

    @property
    def short(self) -> str:
        """What is said of short rankings; empty where there are none."""
        sizes = [size for size in self._documents.values() if size < self.expected]
        if not sizes:
            return ""
        return (
            f"has fewer than {self.expected:,} documents in {len(sizes):,} of {plural(len(self._documents), 'topic')} "
            f"(the fewest: {min(sizes):,}): runs of other candidates are not comparable"
        )


def opened(path: str, stdin: IO[bytes] | None) -> str | Source:
    """What trecpy takes for a file: its path, or standard input for '-'. Raises FileError: that is closed."""
    return Source.standard_input(stdin) if path == "-" else path


def source_at(path: str, stdin: IO[bytes] | None) -> Source:
    """The same, open for reading. Raises FileError."""
    return Source.standard_input(stdin) if path == "-" else Source.open(path, twice=True)


@contextmanager
def named(path: str) -> Iterator[None]:
    """Let errors name the run. Those of what was asked for do not."""
    try:
        yield
    except (UsageError, ParameterError):
        raise
    except TrecpyError as error:
        raise type(error)(_of_run(str(error), path)) from None


def _of_run(text: str, path: str) -> str:
    """A message that names the run."""
    name = input_name(path)
    return text if name in text else f"{name}: {text}"
