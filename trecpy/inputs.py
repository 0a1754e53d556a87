"""
What a user has in memory to packed records: dicts, rankings, tuples, frames, columns.

Ids are strings, bytes, or integers, which mean their decimal strings; they are packed as UTF-8 bytes. Nothing that is
given is changed.
"""

import io
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trecpy.arrays import end_to_end
from trecpy.errors import InputError
from trecpy.formats.columns import DOCNO_NAMES, LEVEL_NAMES, SCORE_NAMES, TOPIC_NAMES
from trecpy.formats.source import ByteStream, Source
from trecpy.kernels import parse as kernel
from trecpy.kernels import rank
from trecpy.kernels.dtypes import Bytes, Integers, Reals
from trecpy.packed import Records, coded
from trecpy.text import called, described, input_name, quoted

# Names of the columns of topics, documents and values that a frame is said to have; None: one of those above.
Names = tuple[str | None, str | None, str | None]
KNOWN: Names = (None, None, None)

_FRAME_LIBRARIES = ("pandas", "polars", "pyarrow")
_LARGEST_ID = 10**100  # far beyond any id, and below what Python refuses to write as a decimal


def source_of(given: Any, what: str) -> Source | None:
    """A file, where one is given: its path, '-' for standard input, or a binary file object."""
    if isinstance(given, Source):
        return given
    if isinstance(given, str) and given == "-":
        return Source.standard_input(getattr(sys.stdin, "buffer", None))
    if isinstance(given, str | bytes | os.PathLike):
        return Source.open(given, twice=True)
    if isinstance(given, io.TextIOBase):
        raise InputError(f"{what}: expected a file opened in binary mode ('rb'), found one in text mode")
    if (name := file_name(given, what)) is not None:
        stream: ByteStream = given
        try:
            return Source(stream, name, twice=True)
        except ValueError as error:  # it was closed
            raise InputError(f"{what}: cannot be read: {error}") from None
    return None


def file_name(given: Any, what: str) -> str | None:
    """What messages call a file; None where none is given. what: the name of one without a name"""
    if isinstance(given, Source):
        return given.name
    if isinstance(given, str):
        return input_name(given)
    if isinstance(given, bytes | os.PathLike):
        return called(given)
    if all(hasattr(given, name) for name in ("readinto", "seekable", "seek", "tell")):
        return str(getattr(given, "name", what))
    return None


def packed_levels(given: Any, names: Names, fractions: bool) -> tuple[Records, Integers, Reals | None]:
    """
    Judgements to packed records and their levels, coded as packed.coded() has them; see trecpy.evaluate.

    names: of columns that have no known name; fractions: may levels be fractions? Raises InputError.
    """
    topics, docnos, values = _columns(given, "qrels", LEVEL_NAMES, names)
    if values is None:
        raise InputError("qrels: expected a level for each document, found documents only")
    records = records_of(topics, docnos, "qrels")
    return records, *_levels(values, records, "qrels", fractions)


def packed_scores(given: Any, names: Names) -> tuple[Records, Reals]:
    """A run to packed records and their scores: float64[N], none NaN; see trecpy.evaluate. Raises InputError."""
    topics, docnos, values = _columns(given, "run", SCORE_NAMES, names)
    records = records_of(topics, docnos, "run")
    if values is not None:
        return records, _scores(values, records, "run")
    # A ranking: each document is above the next of its topic. Counted within topics, since float32 ends at 2^24.
    counts = np.bincount(records.topic, minlength=len(records.topics))
    return records, (np.repeat(np.cumsum(counts) - counts, counts) - np.arange(len(records.topic))).astype(float)


# Columns: topic ids, docnos, values (None: rankings without any), each of one length.
Columns = tuple[Any, Any, Any]


@dataclass(frozen=True)
class ThreeColumns:
    """Topics, docnos and values: arrays, lists or columns of frames, of one length."""

    topics: Any
    docnos: Any
    values: Any

    def checked(self, what: str) -> Columns:
        """Raises InputError: a column that is none, or that differ in length."""
        columns = []
        for part in (self.topics, self.docnos, self.values):
            series = hasattr(part, "to_numpy") and not isinstance(part, np.ndarray)
            column = part.to_numpy() if series else part
            if (
                not isinstance(column, np.ndarray)
                and isinstance(column, Iterable)
                and not isinstance(column, str | bytes)
            ):
                column = list(column)
            if not isinstance(column, list | np.ndarray) or (isinstance(column, np.ndarray) and column.ndim != 1):
                raise InputError(f"{what}: expected three columns, found {described(part)}")
            columns.append(column)
        if len({len(column) for column in columns}) > 1:
            lengths = ", ".join(str(len(column)) for column in columns)
            raise InputError(f"{what}: expected three columns of one length, found lengths {lengths}")
        return columns[0], columns[1], columns[2]


def _columns(given: Any, what: str, value_names: Sequence[str], names: Names) -> Columns:
    if isinstance(given, ThreeColumns):
        return given.checked(what)
    if (columns := _of_frame(given, what, value_names, names)) is not None:
        return columns
    if any(names):
        raise InputError(f"{what}: expected a frame, whose columns have names, found {type(given).__name__}")
    if isinstance(given, Mapping):
        return _of_mapping(given, what)
    if isinstance(given, tuple) and len(given) == 3 and all(isinstance(part, list) for part in given):
        raise InputError(f"{what}: three lists may be columns or rows: give NumPy arrays for columns, a list for rows")
    if isinstance(given, tuple) and len(given) == 3 and all(_is_column(part) for part in given):
        if len({len(part) for part in given}) > 1:
            lengths = ", ".join(str(len(part)) for part in given)
            raise InputError(f"{what}: expected three columns of one length, found lengths {lengths}")
        return given
    if isinstance(given, Iterable) and type(given).__module__.split(".")[0] not in _FRAME_LIBRARIES:
        return _of_tuples(given, what)
    raise InputError(
        f"{what}: expected a path, a binary file, a dict, a frame, three arrays or an iterable of (topic, docno, "
        f"value), found {type(given).__name__}"
    )


def _is_column(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.ndim > 0


def first_twice(values: Sequence[Any]) -> Any:
    """The first value that comes a second time, or None."""
    seen: set[Any] = set()
    if len(set(values)) == len(values):
        return None
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def _of_mapping(given: Mapping[Any, Any], what: str) -> Columns:
    """{topic: {docno: value}}, or {topic: [docno, ...]}, best first."""
    inner = list(given.values())
    if all(isinstance(documents, Mapping) for documents in inner):
        docnos = list(itertools.chain.from_iterable(inner))
        values = list(itertools.chain.from_iterable(documents.values() for documents in inner))
    elif all(isinstance(documents, Sequence) and not isinstance(documents, str | bytes) for documents in inner):
        docnos, values = list(itertools.chain.from_iterable(inner)), None
    else:
        for topic, documents in given.items():
            if not isinstance(documents, Mapping | Sequence) or isinstance(documents, str | bytes):
                raise InputError(
                    f"{what}: topic {described(topic)}: expected a dict of documents or a list of them, found "
                    f"{type(documents).__name__}"
                )
        raise InputError(f"{what}: expected dicts of documents, or lists of them, found both")
    return Repeated(list(given), [len(documents) for documents in inner]), docnos, values


@dataclass(frozen=True)
class Repeated:
    """A column that has each of `values` as often as `counts` says: topics, of which some may have no record."""

    values: list[Any]
    counts: list[int]


def _of_frame(given: Any, what: str, value_names: Sequence[str], chosen: Names) -> Columns | None:
    """The columns of a pandas, polars or pyarrow table: the chosen ones, else those that have a known name."""
    kinds = {(base.__module__.split(".")[0], base.__name__) for base in type(given).__mro__}
    column: Callable[[str], Any]
    if ("pandas", "DataFrame") in kinds:
        names, column = list(given.columns), lambda name: _of_series(given[name])
    elif ("polars", "DataFrame") in kinds:
        names, column = list(given.columns), lambda name: given.get_column(name).to_arrow()
    elif ("pyarrow", "Table") in kinds:
        names, column = list(given.column_names), lambda name: given.column(name)
    else:
        return None
    if twice := first_twice(names):
        raise InputError(f"{what}: expected columns of different names, found {described(twice)} twice")
    found = []
    roles = (("topics", TOPIC_NAMES), ("documents", DOCNO_NAMES), ("values", value_names))
    for (role, known), own in zip(roles, chosen, strict=True):
        known = known if own is None else (own,)
        matches = [name for name in known if name in names]
        if not matches:
            found_names = ", ".join(map(str, names))
            raise InputError(
                f"{what}: expected a column of {role} called {', '.join(map(str, known))}; found {found_names}"
            )
        found.append(column(matches[0]))
    return found[0], found[1], found[2]


def _of_series(series: Any) -> Any:
    """A pandas column: Arrow's memory where it has that, codes and categories, or an array."""
    if type(series.dtype).__name__ == "CategoricalDtype":
        return (
            series.cat.categories.to_numpy()[series.cat.codes.to_numpy()] if not series.hasnans else series.to_numpy()
        )
    if hasattr(series.array, "__arrow_array__") and "pyarrow" in str(getattr(series.dtype, "storage", series.dtype)):
        return series.array.__arrow_array__()
    return series.to_numpy()


def _of_tuples(given: Iterable[Any], what: str) -> Columns:
    """(topic, docno, value) one after another, also from an iterator that can be read once."""
    rows = list(given)
    if not rows and not isinstance(given, Sequence):
        raise InputError(f"{what}: expected (topic, docno, value) tuples, found an iterator that yields nothing")
    for number, row in enumerate(rows):
        named = isinstance(row, tuple) and hasattr(row, "_fields") and len(row) > 3  # ir_measures has a fourth field
        if isinstance(row, str | bytes) or not isinstance(row, Sequence) or not (named or len(row) == 3):
            raise InputError(f"{what}: row {number}: expected (topic, docno, value), found {described(row)}")
    columns = list(zip(*rows, strict=False)) or [(), (), ()]
    return list(columns[0]), list(columns[1]), list(columns[2])


# Columns to arrays


def records_of(topics: Any, docnos: Any, what: str) -> Records:
    """Columns of ids, packed; topics may be Repeated. Raises InputError."""
    data, spans = pack(docnos, what, "docno")
    hashes = np.empty(len(spans), np.uint64)
    kernel.hash_all(data, spans, hashes)
    if isinstance(topics, Repeated):
        ids, places = pack(topics.values, what, "topic")
        names = [ids[at : at + size].tobytes() for at, size in places.tolist()]
        if twice := first_twice(names):
            raise InputError(f"{what}: expected a topic once, found {quoted(twice)} twice (an integer and its string?)")
        return Records(names, np.repeat(np.arange(len(names)), topics.counts), data, spans, hashes)
    ids, places = pack(topics, what, "topic")
    if len(places) != len(spans):
        raise InputError(f"{what}: expected as many topics as documents, found {len(places)} and {len(spans)}")
    known = np.empty((len(places), 3), np.int64)
    slots = np.full(rank.table_size(len(places)), -1, np.int32)
    distinct = kernel.intern(ids, places, 0, slots, known)
    firsts = places[known[:distinct, 0]].tolist()
    return Records([ids[at : at + size].tobytes() for at, size in firsts], known[:, 1].copy(), data, spans, hashes)


def pack(values: Any, what: str, role: str) -> tuple[Bytes, Integers]:
    """
    Ids to bytes end to end: uint8[], and int64[N, 2], place and size of each.

    Raises InputError: an id that is neither a string nor an integer, or is empty.
    """
    if type(values).__module__.split(".")[0] == "pyarrow":
        return _pack_arrow(values, what, role)
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind not in "OUSTiu" or np.ma.isMaskedArray(values):
            raise InputError(f"{what}: expected a column of {role}s, strings or integers, found {_kind(values)}")
        values = values.tolist()
    kinds = set(map(type, values))
    if kinds == {int} and abs(max(values, key=abs)) < _LARGEST_ID:
        values = list(map(str, values))
    elif kinds - {str}:
        values = [_id(value, row, what, role) for row, value in enumerate(values)]
    try:
        raw = "".join(values).encode("utf-8", "surrogateescape")
        sizes = np.fromiter(map(len, values), np.int64, len(values))
        if len(raw) != sizes.sum():
            encoded = (len(value.encode("utf-8", "surrogateescape")) for value in values)
            sizes = np.fromiter(encoded, np.int64, len(values))
    except UnicodeEncodeError:
        raise InputError(f"{what}: expected {role}s that UTF-8 can write, found half of a surrogate pair") from None
    return np.frombuffer(raw, np.uint8), _spans(sizes, what, role)


def _spans(sizes: Integers, what: str, role: str) -> Integers:
    """int64[N, 2]: place and size of strings end to end. Raises InputError: an empty one."""
    if not sizes.all():
        raise InputError(f"{what}: row {int(np.argmin(sizes))}: expected a {role}, found an empty string")
    return end_to_end(sizes)


def _kind(values: Any) -> str:
    """What an array is, in few words."""
    masked = "masked " if np.ma.isMaskedArray(values) else ""
    return f"{masked}{values.dtype} {list(values.shape)}"


def _id(value: Any, row: int, what: str, role: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and abs(int(value)) < _LARGEST_ID:
        return str(int(value))
    raise InputError(f"{what}: row {row}: expected a {role}, a string or an integer, found {described(value)}")


def _pack_arrow(values: Any, what: str, role: str) -> tuple[Bytes, Integers]:
    """Arrow strings are read where they lie; other types are made strings by Arrow."""
    import pyarrow as pa

    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if values.null_count:
        raise InputError(
            f"{what}: row {values.is_null().index(True).as_py()}: expected a {role}, found a missing value"
        )
    if pa.types.is_integer(values.type) or str(values.type) == "string_view":
        values = values.cast(pa.string())
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        raise InputError(f"{what}: expected {role}s, strings or integers, found {values.type}")
    if not len(values):
        return np.zeros(0, np.uint8), np.zeros((0, 2), np.int64)
    _, offsets, data = values.buffers()
    kind = np.int64 if pa.types.is_large_string(values.type) else np.int32
    # Counted, since there may be any number of bytes behind them.
    bounds = np.frombuffer(offsets, kind, values.offset + len(values) + 1)[values.offset :].astype(np.int64)
    raw = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    spans = _spans(np.diff(bounds), what, role)
    spans[:, 0] += bounds[0]
    return raw, spans


def _numbers(values: Any, records: Records, what: str, role: str) -> np.ndarray[Any, Any]:
    """Values as an array of integers or floats. Raises InputError: one that is neither."""
    if type(values).__module__.split(".")[0] == "pyarrow":
        if values.null_count:
            row = values.is_null().to_pylist().index(True)
            raise InputError(f"{what}: {_row(records, row)}: expected {role}, found a missing value")
        values = np.asarray(values.to_numpy(zero_copy_only=False) if hasattr(values, "buffers") else values.to_numpy())
    if isinstance(values, np.ndarray):
        kinds_taken = "Oiuf" if role == "a score" else "Obiuf"
        if values.ndim != 1 or values.dtype.kind not in kinds_taken or np.ma.isMaskedArray(values):
            raise InputError(f"{what}: expected a column of numbers, found {_kind(values)}")
        if values.dtype.kind != "O":
            return values
        values = values.tolist()
    if len(values) != len(records.topic):
        raise InputError(f"{what}: expected as many values as documents, found {len(values)}")
    kinds = set(map(type, values))
    if not kinds <= {int, float}:
        for row, value in enumerate(values):
            plain = isinstance(value, int | float | np.integer | np.floating | np.bool_)
            if not plain or (role == "a score" and isinstance(value, bool | np.bool_)):
                raise InputError(f"{what}: {_row(records, row)}: expected {role}, found {described(value)}")
        values = [value.item() if isinstance(value, np.generic) else value for value in values]
    if role == "an integer level" and float in kinds and any(abs(v) > 2**53 for v in values if isinstance(v, int)):
        values = [int(v) if isinstance(v, int) or v.is_integer() else v for v in values]  # exact, where floats are not
    try:
        array = np.asarray(values)
        return array if array.dtype.kind in "biuf" else array.astype(np.float64)
    except OverflowError:
        row = next(row for row, value in enumerate(values) if abs(value) >= 2**63)
        raise InputError(f"{what}: {_row(records, row)}: expected {role}, found {described(values[row])}") from None


def _row(records: Records, row: int) -> str:
    at, size = records.spans[row]
    topic = quoted(records.topics[records.topic[row]])
    return f"row {row} (topic {topic}, docno {quoted(records.data[at : at + size].tobytes())})"


def _scores(values: Any, records: Records, what: str) -> Reals:
    """float64[N]. Raises InputError: a score that is no number, or NaN."""
    scores = _numbers(values, records, what, "a score").astype(np.float64)
    if np.isnan(scores).any():
        row = int(np.flatnonzero(np.isnan(scores))[0])
        raise InputError(f"{what}: {_row(records, row)}: expected a score, found nan")
    return scores


def _levels(values: Any, records: Records, what: str, fractions: bool) -> tuple[Integers, Reals | None]:
    """int64[N], as packed.coded() has it. Raises InputError: a level that is no integer, where fractions may not be."""
    array = _numbers(values, records, what, "a level" if fractions else "an integer level")
    if array.dtype.kind == "f":
        array = array.astype(np.float64)  # float16 ends at 65504
        whole = (array == np.trunc(array)) & (np.abs(array) < 2.0**63)
        wrong = np.flatnonzero(~(np.isfinite(array) if fractions else whole))
    else:
        wrong = np.flatnonzero(array > 2**63 - 1) if array.dtype.kind == "u" else np.zeros(0, np.int64)
    if len(wrong):
        kind = "a finite level" if fractions else "an integer level"
        found = array[wrong[0]]
        fraction = not fractions and np.isfinite(found) and found != np.trunc(found)
        how = "; gains='float' takes fractions as they are" if fraction else ""
        raise InputError(f"{what}: {_row(records, int(wrong[0]))}: expected {kind}, found {found}{how}")
    return coded(array)
