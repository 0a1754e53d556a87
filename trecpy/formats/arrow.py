"""Parquet and Arrow IPC, by columns and batches of rows."""

import io
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

import numpy as np

from trecpy.errors import FileError, FormatError
from trecpy.formats.columns import ROWS, Columns, Kind, Places, column_places
from trecpy.formats.faults import Faults
from trecpy.formats.sieve import Sieve, wanted
from trecpy.formats.source import Bytes, Source, reason
from trecpy.text import plain, quoted

_ARROW = b"ARROW1"
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
_MOST_SCHEMA = 1 << 20  # bytes in which the names of columns are looked for
# What pyarrow raises of damaged files: its own errors are these too, and there are some of Python's (sizes, names).
_DAMAGED = (ValueError, TypeError, KeyError, IndexError, OverflowError, MemoryError, NotImplementedError, OSError)


def parquet_columns(source: Source, kind: Kind, faults: Faults | None) -> Iterator[Columns]:
    """As tables.read_columns() has it."""
    import_arrow(source.name)
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(_whole(source, b"PAR1", "Parquet"))
        chosen, places = _chosen(file.schema_arrow.names, kind, source.name)
        batches = file.iter_batches(columns=chosen, batch_size=ROWS)
        yield from _batches(source.name, batches, chosen, places, kind, faults)
    except (pa.ArrowException, *_DAMAGED) as error:
        raise _unread(source.name, "Parquet", error) from None


def arrow_columns(source: Source, kind: Kind, faults: Faults | None) -> Iterator[Columns]:
    """The same of Arrow IPC, file or stream."""
    import_arrow(source.name)
    import pyarrow as pa
    from pyarrow import ipc

    raw = _Ended(source)
    try:
        if source.peek(len(_ARROW)) == _ARROW:
            file = ipc.open_file(_whole(source, _ARROW, "Arrow"))
            chosen, places = _chosen(file.schema.names, kind, source.name)
            batches = (file.get_batch(number) for number in range(file.num_record_batches))
            yield from _batches(source.name, batches, chosen, places, kind, faults)
            return
        text = io.BufferedReader(raw, 1 << 18)
        stream = ipc.open_stream(text)
        chosen, places = _chosen(stream.schema.names, kind, source.name)
        yield from _batches(source.name, iter(stream), chosen, places, kind, faults)
        if text.read(1):
            raise FormatError(f"{source.name}: expected the end of the file behind an Arrow stream, found more")
        raw.check_end()  # where a stream is cut between two batches, nothing else tells
    except (pa.ArrowException, *_DAMAGED) as error:
        if raw.last:
            raw.check_end()
        raise _unread(source.name, "Arrow", error) from None


def _unread(name: str, layout: str, error: Exception) -> FormatError:
    why = (
        "it needs more memory than there is"
        if isinstance(error, MemoryError)
        else plain(" ".join(reason(error).split()))
    )
    return FormatError(f"{name}: cannot be read as {layout}: {why or type(error).__name__}")


class _Ended(Bytes):
    """An Arrow stream of which the last bytes that were read are kept."""

    last = b""

    def readinto(self, target: Any) -> int:
        """As Bytes has it."""
        count = super().readinto(target)
        if count:
            self.last = (self.last + bytes(target[max(0, count - len(_END_OF_STREAM)) : count]))[-len(_END_OF_STREAM) :]
        return count

    def check_end(self) -> None:
        """Read on to the end. Raises FormatError: there is no mark of it."""
        piece = bytearray(1 << 16)
        while self.readinto(piece):
            pass
        if self.last != _END_OF_STREAM:
            name = self._source.name
            raise FormatError(f"{name}: cannot be read as Arrow: it was cut short: expected a mark at its end")


def _whole(source: Source, mark: bytes, layout: str) -> IO[bytes]:
    """A file that can be read at any place. Raises FormatError: it does not end as it begins, with a mark."""
    file = source.seekable()
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - len(mark)))
    if size < 2 * len(mark) or file.read(len(mark)) != mark:
        raise FormatError(
            f"{source.name}: cannot be read as {layout}: it was cut short: expected {quoted(mark)} at its end"
        )
    file.seek(0)
    return file


def column_names(source: Source, layout: str) -> list[str]:
    """Names of the columns; the source is read from its beginning later. Raises FileError, FormatError."""
    import_arrow(source.name)
    import pyarrow as pa
    from pyarrow import ipc, parquet

    try:
        if layout == "parquet":
            return list(parquet.ParquetFile(_whole(source, b"PAR1", "Parquet")).schema_arrow.names)
        # A file has the schema at its front too, as a stream has it.
        head = source.peek(_MOST_SCHEMA)
        return list(ipc.open_stream(pa.BufferReader(head[8:] if head.startswith(_ARROW) else head)).schema.names)
    except (pa.ArrowException, *_DAMAGED) as error:
        raise _unread(source.name, layout.title(), error) from None


def _chosen(names: list[str], kind: Kind, name: str) -> tuple[list[str], Places]:
    """Names of the columns of topics, documents and values, and which they are."""
    places = column_places(names, kind, name)
    return [names[place] for place in (places.topic, places.docno, places.value) if place is not None], places


def _batches(
    name: str, batches: Iterable[Any], chosen: list[str], places: Places, kind: Kind, faults: Faults | None
) -> Iterator[Columns]:
    """Pieces of batches. chosen: names of the topics, documents and values."""
    first = 1
    for whole in batches:
        whole.validate(full=True)  # pyarrow trusts offsets and dictionaries, and reads anywhere where they are wrong
        for start in range(0, whole.num_rows, ROWS):
            batch = whole.slice(start, ROWS)
            sieve = Sieve(name, _row_in(name, first), faults, _text_in(batch, chosen))
            topics, docnos, *values = (batch.column(batch.schema.names.index(each)) for each in chosen)
            _check_ids(topics, "topic", sieve)
            _check_ids(docnos, "docno", sieve)
            if values:
                _check_numbers(values[0], kind, sieve)
            where = sieve.where
            if (kept := sieve.rows(batch.num_rows)) is not None:
                topics, docnos, *values = (column.take(kept) for column in (topics, docnos, *values))
                where = _kept_in(where, kept)
            numbers = values[0].to_numpy(zero_copy_only=False) if values else None
            if numbers is not None and places.ranks:
                numbers = -numbers.astype(np.float64)
            yield Columns(topics, docnos, numbers, where)
            first += batch.num_rows


def _row_in(name: str, first: int) -> Callable[[int], str]:
    return lambda row: f"{name}: row {first + row}"


def _kept_in(where: Callable[[int], str], kept: list[int]) -> Callable[[int], str]:
    return lambda row: where(kept[row])


def _text_in(batch: Any, chosen: list[str]) -> Callable[[int], str]:
    return lambda row: ", ".join(str(batch.column(batch.schema.names.index(each))[row].as_py()) for each in chosen)


def _check_ids(ids: Any, role: str, sieve: Sieve) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = ids.type.value_type if pa.types.is_dictionary(ids.type) else ids.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"
    if not is_text and not pa.types.is_integer(kind):
        raise FormatError(f"{sieve.where(0)}: expected a {role}, a string or an integer, found {ids.type}")
    if ids.null_count:
        for row in _places(ids.is_null()):
            sieve.refuse(row, f"a {role}", "a missing value")
    if is_text:
        for row in _places(pc.equal(pc.binary_length(ids.cast(pa.large_string())), 0)):
            sieve.refuse(row, f"a {role}", "an empty string")


def _check_numbers(values: Any, kind: Kind, sieve: Sieve) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_integer(values.type) and not pa.types.is_floating(values.type):
        raise FormatError(f"{sieve.where(0)}: expected {wanted(kind)}, found {values.type}")
    if values.null_count:
        for row in _places(values.is_null()):
            sieve.refuse(row, wanted(kind), "none", 0.0)
    if pa.types.is_floating(values.type):
        for row in _places(pc.is_nan(values)):
            sieve.refuse(row, wanted(kind), "nan", float("nan"))
        if kind == "qrels":
            for row in _places(pc.is_inf(values)):
                sieve.refuse(row, "a finite level", "infinity", 0.0)


def _places(flags: Any) -> list[int]:
    """Where flags, some of which may be missing, are true."""
    import pyarrow.compute as pc

    found: list[int] = pc.indices_nonzero(flags).to_pylist() if flags.true_count else []
    return found


def import_arrow(name: str) -> None:
    """Raises FileError: pyarrow is not there."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise FileError(f"{name}: Parquet and Arrow need an extra: pip install 'trecpy[frames]'") from None
