"""Runs and judgements in files of any layout, tables put together from some rows at a time; data sets by name."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

import numpy as np

from trecpy.errors import FileError, FormatError
from trecpy.formats.columns import Columns, Kind
from trecpy.formats.faults import Faults
from trecpy.formats.judgements import read_judgements, read_trec_levels
from trecpy.formats.oddities import Oddities
from trecpy.formats.runs import RunReader
from trecpy.formats.sniff import layout_of
from trecpy.formats.source import Source, byte_lines, no_memory
from trecpy.formats.tables import read_columns
from trecpy.formats.trec import MSMARCO_LAYOUT, RUN_LAYOUT
from trecpy.inputs import Repeated, file_name, records_of
from trecpy.kernels.dtypes import Integers, Reals
from trecpy.numbers import exact_integer, is_double, unheld, unheld_score
from trecpy.packed import Block, Judgements, Qrels, Records, coded
from trecpy.protocol import Compat
from trecpy.text import plural, quoted, shown

_IRDS = "irds:"

Part = tuple[Records, Any]


_NOTHING: Part = (
    Records([], np.zeros(0, np.int64), np.zeros(0, np.uint8), np.zeros((0, 2), np.int64), np.zeros(0, np.uint64)),
    np.zeros(0),
)


def joined(a: Records, b: Records) -> Records:
    """Two parts of one table."""
    known = {topic: number for number, topic in enumerate(a.topics)}
    numbers = np.fromiter((known.setdefault(topic, len(known)) for topic in b.topics), np.int64, len(b.topics))
    spans = b.spans[:, :2] + np.array([len(a.data), 0])
    return Records(
        list(known),
        np.concatenate((a.topic, numbers[b.topic])),
        np.concatenate((a.data, b.data)),
        np.concatenate((a.spans[:, :2], spans)),
        np.concatenate((a.hashes, b.hashes)),
    )


def all_joined(parts: Iterable[tuple[Records, Any]]) -> tuple[Records, Any]:
    """All parts of a table, and their values."""
    whole = list(parts)
    while len(whole) > 1:  # in pairs, so that each row is copied few times
        pairs = [whole[at : at + 2] for at in range(0, len(whole), 2)]
        whole = [
            pair[0] if len(pair) == 1 else (joined(pair[0][0], pair[1][0]), np.concatenate((pair[0][1], pair[1][1])))
            for pair in pairs
        ]
    return whole[0]


def read_qrels(
    source: Source, form: str, compat: Compat, fractions: bool, asked: str | None, twice: bool = False
) -> tuple[Judgements, list[str]]:
    """
    Read judgements in any layout, strictly; and what was odd.

    form, fractions: as formats.judgements.read_judgements() has them; asked, twice: as read_levels() has them
    Raises FileError, FormatError; ParameterError: no such layout.
    """
    if form != "qrels" or layout_of(source, "qrels", asked) in ("trec", "msmarco"):
        return read_judgements(source, form, compat, strict=True, fractions=fractions)
    records, levels, notes = read_levels(source, fractions, asked, twice)
    level, grades = coded(levels)
    return Qrels.of(source.name, records, level, grades=grades), notes


def read_levels(
    source: Source, fractions: bool, asked: str | None, twice: bool = False
) -> tuple[Records, Any, list[str]]:
    """
    Read judgements in any layout, strictly: records, levels just as they are given, int64[N] or float64[N], and notes.

    fractions: may levels be fractions? asked: a layout, or None
    twice: a document that is judged again, without levels, counts again
    Raises FileError, FormatError: also a level that 64 bits, or a double where there are fractions, cannot hold.
    ParameterError: no such layout.
    """
    layout = layout_of(source, "qrels", asked)
    if layout in ("trec", "msmarco"):
        return read_trec_levels(source, "10.0", fractions)
    parts = list(read_parts(source, layout, "qrels", fractions))
    if not parts:
        raise FormatError(f"{source.name}: has no records: expected judgements")
    records, levels = all_joined(parts)
    notes = []
    if levels.dtype == bool:
        kept = np.arange(len(levels)) if twice else first_of_each(records)
        if repeated := len(levels) - len(kept):
            notes.append(f"{source.name}: names {plural(repeated, 'document')} again, without levels; each counts once")
            records = replace(
                records, topic=records.topic[kept], spans=records.spans[kept], hashes=records.hashes[kept]
            )
        levels = levels[kept].astype(np.int64)
    return records, levels, notes


def _packed(columns: Columns, name: str) -> Records:
    topics = Repeated(*columns.topics) if isinstance(columns.topics, tuple) else columns.topics
    return records_of(topics, columns.docnos, name)


def _levels(columns: Columns, fractions: bool) -> Any:
    """
    Levels as they are: int64[N] where all are integers, else float64[N]; bool[N] where there are none.

    Raises FormatError: not an integer, or one that no double holds beside fractions or behind 64 bits.
    """
    if columns.values is None:
        return np.ones(len(columns.docnos), bool)
    given = columns.values
    if isinstance(given, np.ndarray) and given.dtype.kind != "O":
        if given.dtype.kind == "i" or (given.dtype.kind == "u" and not np.any(given > 2**63 - 1)):
            return given.astype(np.int64)
        given = given.tolist()
    elif set(map(type, given)) == {int} and -(2**63) <= min(given) <= max(given) < 2**63:
        return np.asarray(given, np.int64)
    wide = [row for row, value in enumerate(given) if not (value == int(value) and -(2**63) <= value < 2**63)]
    if not wide:
        return np.array(list(map(int, given)), np.int64)
    if not fractions:
        how = "; gains='float' takes fractions as they are"
        raise FormatError(f"{columns.where(wide[0])}: expected an integer level, found {given[wide[0]]}{how}")
    for row, value in enumerate(given):
        if not is_double(value):
            raise FormatError(f"{columns.where(row)}: {unheld(value)}")
    return np.asarray(given, np.float64)


def _scores(columns: Columns, exact: bool) -> Reals:
    """
    float64[N]; integers too large for a double are infinite, as text is that says as much.

    exact: raise FormatError for an integer that no double holds
    """
    if exact:
        for row in _large_integers(columns.values):
            if not is_double(value := int(columns.values[row])):
                raise FormatError(f"{columns.where(row)}: {unheld_score(value)}")
    try:
        return np.asarray(columns.values, np.float64)
    except OverflowError:
        return np.array([value if is_double(value) else float(str(value)) for value in columns.values])


def _large_integers(values: Any) -> list[int]:
    """Where integers are of which a double may hold none."""
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        large = (values > 2**53) | (values < -(2**53)) if values.dtype.kind in "iu" else np.zeros(0, bool)
        return [int(row) for row in np.flatnonzero(large)]
    return [row for row, value in enumerate(values) if isinstance(value, int) and abs(value) > 2**53]


def check_exact(block: Block, name: str) -> None:
    """
    Raise FormatError where a score of a TREC file is an integer that no double holds.

    block: of open_run() with the spans of the score first
    """
    for record in np.flatnonzero(~(np.abs(block.scores) < 2.0**53)).tolist():
        at, size = block.spans[record, 2:4]
        text = block.data[at : at + size].tobytes()
        if text.lstrip(b"+-").replace(b".", b"", 1).isdigit():
            integer = exact_integer(text)
            if np.isinf(block.scores[record]) or (integer is not None and not is_double(integer)):
                raise FormatError(f"{name}:{block.line(record)}: {unheld_score(text.decode())}")


def open_run(
    source: Source,
    compat: Compat,
    asked: str | None,
    faults: Faults | None = None,
    spans: tuple[str, ...] = (),
    exact: bool = False,
) -> "RunReader | TableRun":
    """
    Open a run in any layout, to be read strictly when its blocks are asked for.

    asked: a layout, or None; faults: is told of what cannot be read, which is dropped then instead of refused
    spans: columns of a TREC file whose places are kept, as formats.trec.Layout has them
    exact: refuse integers in a table that no double holds; of a TREC file, see check_exact()
    Raises FileError, FormatError: the layout cannot be told. ParameterError: no such layout.
    """
    layout = layout_of(source, "run", asked)
    if layout in ("trec", "msmarco"):
        columns = replace(RUN_LAYOUT, spans=spans) if layout == "trec" else MSMARCO_LAYOUT
        return RunReader(source, compat, strict=True, layout=columns, faults=faults)
    return TableRun(source, lambda: read_parts(source, layout, "run", faults=faults, exact=exact), faults)


def read_parts(
    source: Source,
    layout: str,
    kind: Kind,
    fractions: bool = False,
    faults: Faults | None = None,
    exact: bool = False,
) -> Iterator[Part]:
    """
    Yield the rows of a table, packed, with their scores, or levels as packed.coded() takes them.

    faults: is told of rows that cannot be read, which are dropped; exact: as open_run() has it
    """
    beyond, fraction = "", False  # the first level that no double holds; is there one that only a double holds?
    try:
        for columns in read_columns(source, layout, kind, faults):
            values = _levels(columns, fractions) if kind == "qrels" else _scores(columns, exact)
            if kind == "qrels":
                fraction = fraction or values.dtype.kind == "f"
                if values.dtype.kind == "i" and not beyond:
                    row = next((row for row in _large_integers(values) if not is_double(int(values[row]))), None)
                    beyond = "" if row is None else f"{columns.where(row)}: {unheld(int(values[row]))}"
                if beyond and fraction:
                    raise FormatError(beyond)
            yield _packed(columns, source.name), values
    except MemoryError:
        raise no_memory(source.name) from None


class TableRun:
    """
    A run that is read as parts of a table; it yields what formats.runs.RunReader does.

    odd: what is odd in it; tag: empty; stated: as Block has it
    """

    def __init__(self, source: Source, read: Callable[[], Iterator[Part]], faults: Faults | None = None) -> None:
        """read: begins to read the source, which is at its beginning; faults: is told when it is read once more."""
        self.odd = Oddities()
        self.tag, self.stated = b"", False
        self._source, self._read, self._faults = source, read, faults

    def __enter__(self) -> "TableRun":
        return self

    def __exit__(self, *_: object) -> None:
        """Close the source, where it opened it itself."""
        self._source.__exit__()

    @property
    def notes(self) -> list[str]:
        """What was odd, one line each."""
        return list(self.odd.notes(self._source.name, strict=True))

    def whole(self) -> Part:
        """All records and their scores, held in memory."""
        return all_joined([_NOTHING, *self._read()])

    def blocks(self) -> Iterator[Block]:
        """Yield the rankings of some topics at a time, each topic whole, as RunReader.blocks() does."""
        held: Part | None = None  # of the last topic, of which more may come
        done: set[bytes] = set()
        for part in self._read():
            records, scores = part if held is None else all_joined([held, part])
            if back := _came_back(records, done):
                self.odd = Oddities(apart=(None, back), again=True)
                self._source.rewind()
                if self._faults is not None:
                    self._faults.again()
                yield Block.of(*all_joined(self._read()))
                return
            cut = int(np.searchsorted(records.topic, len(records.topics) - 1))
            done.update(records.topics[:-1])
            if len(records.topics) > 1:
                yield Block.of(_sliced(records, slice(0, cut), records.topics[:-1], 0), scores[:cut])
            last = slice(cut, len(records.topic))
            held = _sliced(records, last, records.topics[-1:], len(records.topics) - 1), scores[cut:]
        if held is not None:
            yield Block.of(*held)


def _sliced(records: Records, rows: slice, topics: list[bytes], first: int) -> Records:
    return Records(topics, records.topic[rows] - first, records.data, records.spans[rows], records.hashes[rows])


def _came_back(records: Records, done: set[bytes]) -> bytes | None:
    """A topic whose records are not together, if there is one."""
    falls = np.flatnonzero(np.diff(records.topic) < 0)
    if len(falls):
        return records.topics[int(records.topic[falls[0] + 1])]
    return next((topic for topic in records.topics if topic in done), None)


def first_of_each(records: Records) -> Integers:
    """int64[]: the records without those whose topic and document came before."""
    order = np.lexsort((records.hashes, records.topic))
    alike = (np.diff(records.topic[order]) == 0) & (np.diff(records.hashes[order]) == 0)
    if not alike.any():
        return np.arange(len(order))
    seen: set[tuple[int, bytes]] = set()
    kept = []
    for row, (topic, (at, size)) in enumerate(zip(records.topic.tolist(), records.spans.tolist(), strict=True)):
        pair = topic, records.data[at : at + size].tobytes()
        if pair not in seen:
            kept.append(row)
            seen.add(pair)
    return np.array(kept)


def named_input(given: Any, kind: Kind) -> tuple[str, bool]:
    """What messages call judgements or a run, whatever they are given as, and whether they are in a file."""
    if is_dataset(given):
        return shown(given), False
    name = file_name(given, kind)
    return name or kind, name is not None


def place_of(given: Any, kind: Kind, topic: bytes, docno: bytes | None) -> str:
    """
    Where judgements or a run, which were read before, first name a topic, or a document of it: their name, and line or
    row of a regular file; of what cannot be read again the topic of a document.
    """
    name, in_file = named_input(given, kind)
    if in_file and isinstance(given, str | bytes | os.PathLike) and given != "-" and os.path.isfile(given):
        with Source.open(given, twice=True) as source:
            layout = layout_of(source, kind, None)
            if layout in ("trec", "msmarco"):
                for number, line in enumerate(byte_lines(source), 1):
                    fields = line.split()
                    if fields[:1] == [topic] and (docno is None or docno in fields[1:3]):
                        return f"{name}:{number}"
            else:
                for columns in read_columns(source, layout, kind):
                    for row, ids in enumerate(_pairs(columns)):
                        if ids[0] == topic and docno in (None, ids[1]):
                            return columns.where(row)
    return name if docno is None else f"{name}: topic {quoted(topic)}"


def _pairs(columns: Columns) -> Iterator[tuple[bytes, bytes]]:
    """Yield topic and docno of each row."""
    topics = columns.topics
    if isinstance(topics, tuple):
        topics = chain.from_iterable(map(repeat, *topics))
    for pair in zip(topics, columns.docnos, strict=True):
        first, second = (str(each).encode("utf-8", "surrogateescape") for each in pair)
        yield first, second


def is_dataset(given: Any) -> bool:
    """Does this name a data set?"""
    return isinstance(given, str) and given.startswith(_IRDS)


def dataset_qrels(name: str) -> list[Any]:
    """
    The judgements of a data set that ir_datasets knows, by its exact name: tuples of its own kind.

    name: "irds:NAME". Raises FileError: no such data set, or it has none, or it cannot be had.
    """
    try:
        import ir_datasets
    except ImportError:
        raise FileError(f"{shown(name)}: needs an extra: pip install 'trecpy[ir-datasets]'") from None
    try:
        dataset = ir_datasets.load(name.removeprefix(_IRDS))
    except KeyError:
        raise FileError(f"{shown(name)}: expected the name of a data set in ir_datasets, found no such one") from None
    if not dataset.has_qrels():
        raise FileError(f"{shown(name)}: expected a data set with judgements, found none in it")
    try:
        return list(dataset.qrels_iter())
    except Exception as error:  # of downloading, of what it downloads, each with its own kind
        raise FileError(f"{shown(name)}: ir_datasets cannot read it: {' '.join(str(error).split())}") from None
