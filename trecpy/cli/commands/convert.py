"""`trecpy convert`: judgements and runs from any layout and compression to any other."""

from __future__ import annotations

import argparse
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any

from trecpy.cli.targets import of_name, target
from trecpy.errors import FileError, UsageError
from trecpy.formats.columns import LAYOUTS
from trecpy.text import plural, quoted, shown

if TYPE_CHECKING:
    from trecpy.cli.main import Streams
    from trecpy.formats.columns import Kind
    from trecpy.formats.source import Source
    from trecpy.formats.write import Writer
    from trecpy.packed import Documents

DESCRIPTION = """\
Write the judgements or the run in IN to OUT, in the layout and compression that OUT's name says. Ids and scores are
kept exactly: a score is written as the shortest decimal that reads back to the same double, and refused where it is an
integer that no double holds, as is a level that no double or 64 bit integer holds. A run keeps the order of its
documents; ranks are those by score. Only TREC's layout has run tags, one for a run here. OUT appears when all of it is
written; it cannot be IN."""
EXAMPLES = """\
  trecpy convert run.trec run.parquet
  trecpy convert run.trec.gz run.json.zst
  trecpy convert --to msmarco run.trec run.tsv
  trecpy convert qrels.tsv - > qrels.txt
  trecpy convert irds:msmarco-passage/dev/small qrels.txt
"""
_SUFFIXES = {
    "": "trec", "txt": "trec", "trec": "trec", "run": "trec", "res": "trec", "qrels": "trec", "qrel": "trec",
    "tsv": "tsv", "csv": "csv", "json": "json", "jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet",
    "arrow": "arrow", "feather": "arrow", "ipc": "arrow",
}  # fmt: skip


_MOST_NAMES = 10  # in a warning


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("source", metavar="IN", help="a file in any layout, irds:NAME, or '-' for standard input")
    add("target", metavar="OUT", help="a file, or '-' for standard output (trec unless --to says otherwise)")
    add("--kind", choices=("qrels", "run"), help="what IN is, where its columns or their names do not tell")
    add("--from", dest="source_layout", choices=tuple(LAYOUTS), metavar="LAYOUT",
        help=f"of IN: {', '.join(LAYOUTS)} (default: what its first lines are)")  # fmt: skip
    add(
        "--to",
        dest="target_layout",
        choices=tuple(LAYOUTS),
        metavar="LAYOUT",
        help=f"of OUT (default: by its suffix: none or {', '.join(filter(None, _SUFFIXES))}, then gz, bz2, xz or zst)",
    )
    add("--tag", help="run tag of a TREC run (default: that of IN's first line, else trecpy)")


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Read, write. Returns 0."""
    from trecpy.cli.runs import source_at
    from trecpy.files import is_dataset

    suffix, compression = of_name(options.target)
    layout = options.target_layout or _SUFFIXES.get(suffix)
    if layout is None:
        raise UsageError(
            f"{shown(options.target)}: expected a name without suffix, or with one of "
            f"{', '.join(filter(None, _SUFFIXES))}, before gz, bz2, xz or zst; found {quoted(suffix)}: say --to LAYOUT"
        )
    if options.tag is not None and not re.fullmatch(r"[^\0\t-\r ]+", options.tag):
        raise UsageError(f"--tag: expected a word without blanks, found {quoted(options.tag)}")
    _refuse_in_place(options.source, options.target, streams)
    name = "standard output" if options.target == "-" else shown(options.target)
    with ExitStack() as opened:
        given, kind = options.source, "qrels"
        if not is_dataset(given):
            given = opened.enter_context(source_at(given, streams.stdin))
            kind = options.kind or _kind(given, options.source_layout)
        file = opened.enter_context(target(options.target, streams))
        convert = _convert_qrels if kind == "qrels" else _convert_run
        count = convert(given, options, layout, compression, file, name, streams)
    streams.warn(f"{name}: {count}")
    return 0


def _refuse_in_place(source: str, target: str, streams: Streams) -> None:
    """Refuse to write over what is read, by whatever name. Raises UsageError."""
    try:
        written = os.stat(target)
        read = os.fstat(streams.stdin.fileno()) if source == "-" and streams.stdin is not None else os.stat(source)
    except (OSError, ValueError):  # one is not there yet, or no file
        return
    if os.path.samestat(read, written) and stat.S_ISREG(written.st_mode):
        raise UsageError(f"{shown(target)}: expected another file than IN, found the same one")


def _kind(source: Source, layout: str | None) -> Kind:
    """Judgements or a run? layout: what was asked for"""
    from trecpy.formats.sniff import kind_of

    kind = kind_of(source, layout)
    if kind is None:
        raise UsageError(f"{source.name}: is it judgements or a run? Say --kind qrels or --kind run")
    return kind


def _convert_qrels(
    given: Any, options: argparse.Namespace, layout: str, compression: str | None, file: IO[bytes], name: str,
    streams: Streams,
) -> str:  # fmt: skip
    documents, topics, levels = _judgements(given, options.source_layout, streams)
    with _writer(file, layout, "qrels", compression, name) as writer:
        for topic, (begin, end) in zip(topics, pairwise(documents.starts.tolist()), strict=True):
            writer.write(topic, [documents.docno(j) for j in range(begin, end)], levels[begin:end].tolist())
    return _written(writer, "judgement", name, streams)


def _judgements(given: Any, layout: str | None, streams: Streams) -> tuple[Documents, list[bytes], Any]:
    """Judged documents, by topic; the topics; levels of the documents, just as they are given."""
    import numpy as np

    from trecpy.collection import Qrels, refuse_twice
    from trecpy.errors import FormatError
    from trecpy.files import read_levels
    from trecpy.packed import Qrels as Leveled

    if isinstance(given, str):
        qrels = Qrels.read(given, fractions=True).judgements
        return qrels.documents, qrels.topics, qrels.given_levels(np.arange(len(qrels.level)))
    with given:
        records, levels, notes = read_levels(given, True, layout)
    _say(notes, streams)
    places = Leveled.of(given.name, records, np.arange(len(levels)))  # where each level stands in the file
    refuse_twice(places, FormatError)
    return places.documents, places.topics, levels[places.level]


def _convert_run(
    given: Any, options: argparse.Namespace, layout: str, compression: str | None, file: IO[bytes], name: str,
    streams: Streams,
) -> str:  # fmt: skip
    from trecpy.files import check_exact, open_run

    with open_run(given, "10.0", options.source_layout, spans=("score", "tag"), exact=True) as read:
        tags: dict[bytes, None] = {} if options.tag is None else {os.fsencode(options.tag): None}
        blocks = read.blocks()
        block = next(blocks, None)
        while True:
            written: set[bytes] = set()
            with _writer(file, layout, "run", compression, name) as writer:
                while block is not None and written.isdisjoint(block.topics):
                    raw, starts = block.data.tobytes(), block.starts.tolist()
                    if block.spans.shape[1] > 2:  # a TREC file's
                        check_exact(block, given.name)
                        if options.tag is None and layout == "trec":
                            tags.update((raw[at : at + size], None) for at, size in block.spans[:, 4:6].tolist())
                    tag = next(iter(tags), b"")
                    docnos = [raw[at : at + size] for at, size in block.spans[:, :2].tolist()]
                    scores = block.scores.tolist()
                    for b, topic in enumerate(block.topics):
                        rows = slice(starts[b], starts[b + 1])
                        writer.write(topic, docnos[rows], scores[rows], tag)
                    written.update(block.topics)
                    block = next(blocks, None)
            if block is None:
                break
            # A topic came back: all are given once more, each whole.
            file.seek(0)
            file.truncate()
        _say(read.notes, streams)
    if len(tags) > 1:
        _say(
            [f"{given.name}: has {plural(len(tags), 'run tag')}; all lines get {quoted(tag)}: {_some(list(tags))}"],
            streams,
        )
    if layout == "msmarco":
        _say([f"{name}: holds ranks; the scores are not kept"], streams)
    return _written(writer, "document", name, streams)


def _some(names: list[bytes]) -> str:
    return ", ".join(map(quoted, names[:_MOST_NAMES])) + (", ..." if len(names) > _MOST_NAMES else "")


def _written(writer: Writer, what: str, name: str, streams: Streams) -> str:
    """How much was written; what was not is said."""
    if lost := writer.lost:
        have = "has no documents and is" if len(lost) == 1 else "have no documents and are"
        _say(
            [f"{name}: {plural(len(lost), 'topic')} {have} not written, which only JSON could: {_some(lost)}"], streams
        )
    return f"{plural(writer.documents, what)} of {plural(writer.topics, 'topic')}"


def _say(notes: Sequence[str], streams: Streams) -> None:
    for note in notes:
        streams.warn("warning: " + note)


@contextmanager
def _writer(file: IO[bytes], layout: str, kind: Kind, compression: str | None, name: str) -> Iterator[Writer]:
    """A writer into `file`, which compresses where that is asked for."""
    from trecpy.formats.source import reason
    from trecpy.formats.write import Writer, compressing

    try:
        packed = file if compression is None else compressing(file, compression)
        with Writer(packed, layout, kind, name) as writer:
            yield writer
        if packed is not file:
            packed.close()
    except OSError as error:
        raise FileError(f"{name}: cannot be written: {reason(error)}") from None
