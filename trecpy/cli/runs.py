"""Runs that a command scores: by path or from standard input, with what is odd in them said on standard error."""

from collections.abc import Callable, Sequence
from typing import IO, Any

from trecpy.api import Evaluation, Evaluator
from trecpy.cli.process import Warn
from trecpy.collection import Folds
from trecpy.errors import FileError, TrecpyError
from trecpy.packed import Block
from trecpy.text import plural, shown

_FATES = {
    "qrels": "they count with what an empty ranking scores",
    "both": "they are left out of the means",
    "run": "they are left out of the means",
    "same": "",
}


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
    folds: Sequence[str] = (),
) -> Evaluation:
    """
    Score a run, '-' being standard input; say what is odd in it and how many topics it lacks.

    folds: the files that it consists of, where it is not the file `path` but only called so

    Raises TrecpyError, whose text names the run.
    """
    try:
        run = Folds([opened(fold, stdin) for fold in folds]) if folds else opened(path, stdin)
        evaluation = evaluator.evaluate(run, seen=seen)
    except TrecpyError as error:
        raise type(error)(_of_run(str(error), path)) from None
    for note in evaluation.notes[len(evaluator.notes) :]:
        warn("warning: " + _of_run(note, path))
    counts = evaluation.counts
    if counts.missing:
        lacks = f"lacks {counts.missing:,} of {plural(counts.judged, 'judged topic')}"
        warn(f"warning: {shown(path)}: {lacks}; {_FATES[evaluation.protocol.topics]}")
    unjudged = counts.run - (counts.judged - counts.missing)
    if unjudged:
        fate = "they count as 0" if evaluation.protocol.topics == "run" else "they are left out"
        warn(f"warning: {shown(path)}: has {plural(unjudged, 'topic')} without judgements; {fate}")
    return evaluation


def opened(path: str, stdin: IO[bytes] | None) -> Any:
    """What the Evaluator takes for a run."""
    if path != "-":
        return path
    if stdin is None:
        raise FileError("standard input: cannot be read: it is closed")
    return stdin


def _of_run(text: str, path: str) -> str:
    """A message that names the run."""
    name = shown(path)
    return text if name in text or path == "-" else f"{name}: {text}"
