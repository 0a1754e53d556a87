"""Runs and judgements to files in every layout that is read; ids and scores read back as they were."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import IO, Any

from trecpy.errors import FileError, FormatError
from trecpy.formats.arrow import import_arrow
from trecpy.formats.columns import DELIMITERS, ROWS, Kind
from trecpy.formats.compressed import zstd
from trecpy.formats.source import BOM
from trecpy.text import quoted

_BLANK = re.compile(rb"[\0\t-\r ]")
_NAMES = {"qrels": ("query_id", "doc_id", "relevance"), "run": ("query_id", "doc_id", "score")}
_BEIR_NAMES = ("query-id", "corpus-id", "score")


class Writer:
    """
    Writes a file topic by topic, a topic once. As a context manager it writes what is left at the end.

    documents, topics: how many were written; lost: topics without documents, which only JSON can hold
    Raises FormatError: what the layout cannot hold. FileError: a library is missing.
    """

    def __init__(self, file: IO[bytes], layout: str, kind: Kind, name: str) -> None:
        """layout: of columns.LAYOUTS; name: of the file, in messages."""
        self.documents = self.topics = 0
        self.lost: list[bytes] = []
        self._holds_none = layout == "json"
        if layout in ("trec", "msmarco"):
            ranks_only = layout == "msmarco" and kind == "run"
            self._steps = _ranks(file, name) if ranks_only else _trec(file, kind, name)
        elif layout in DELIMITERS:
            self._steps = _delimited(file, layout, kind)
        elif layout == "json":
            self._steps = _json(file, name)
        elif layout == "jsonl":
            self._steps = _json_lines(file, kind)
        else:
            import_arrow(name)
            self._steps = _arrow(file, layout, kind, name)

    def write(self, topic: bytes, docnos: Sequence[bytes], values: Sequence[float], tag: bytes = b"") -> None:
        """Write the documents of a topic, with their levels or scores, in this order."""
        if not docnos and not self._holds_none:
            self.lost.append(topic)
            return
        self.topics += 1
        self.documents += len(docnos)
        self._steps[0](topic, docnos, values, tag)

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *_: object) -> None:
        """Write what is left; after an error too, as libraries want it that their files are closed."""
        self._steps[1]()


Steps = tuple[Callable[[bytes, Sequence[bytes], Sequence[float], bytes], None], Callable[[], None]]


def _nothing() -> None:
    pass


def _ranking(docnos: Sequence[bytes], scores: Sequence[float]) -> list[int]:
    """The places of documents in rank order: by score, where equal by docno, the larger first."""
    return sorted(range(len(docnos)), key=lambda place: (scores[place], docnos[place]), reverse=True)


def _refuse_unheld(topic: bytes, docnos: Sequence[bytes], name: str) -> None:
    """Refuse ids that a line of columns cannot hold."""
    for each in (topic, *docnos):
        if _BLANK.search(each):
            raise FormatError(f"{name}: expected ids without blanks, as in every TREC file, found {quoted(each)}")
    if topic.startswith((b"#", BOM)):
        raise FormatError(
            f"{name}: expected topics that do not begin with '#' or a byte order mark, found {quoted(topic)}"
        )


def _trec(file: IO[bytes], kind: Kind, name: str) -> Steps:
    def write(topic: bytes, docnos: Sequence[bytes], values: Sequence[float], tag: bytes) -> None:
        _refuse_unheld(topic, docnos, name)
        if kind == "qrels":
            file.write(b"".join(b"%b 0 %b %b\n" % (topic, docno, _number(value))
                                for docno, value in zip(docnos, values, strict=True)))  # fmt: skip
            return
        ranks = [0] * len(docnos)
        for rank, place in enumerate(_ranking(docnos, values), 1):
            ranks[place] = rank
        if not tag or _BLANK.search(tag):
            tag = b"trecpy"
        file.write(b"".join(b"%b Q0 %b %d %b %b\n" % (topic, docno, rank, _number(value), tag)
                            for docno, rank, value in zip(docnos, ranks, values, strict=True)))  # fmt: skip

    return write, _nothing


def _number(value: float) -> bytes:
    """The shortest decimal that reads back to the same number."""
    return repr(value).encode()


def _ranks(file: IO[bytes], name: str) -> Steps:
    def write(topic: bytes, docnos: Sequence[bytes], values: Sequence[float], tag: bytes) -> None:
        _refuse_unheld(topic, docnos, name)
        for rank, place in enumerate(_ranking(docnos, values), 1):
            file.write(b"%b\t%b\t%d\n" % (topic, docnos[place], rank))

    return write, _nothing


def _str(each: bytes) -> str:
    return each.decode("utf-8", "surrogateescape")


def _delimited(file: IO[bytes], layout: str, kind: Kind) -> Steps:
    text = io.TextIOWrapper(file, "utf-8", "surrogateescape", newline="", write_through=False)
    rows = csv.writer(text, delimiter=DELIMITERS[layout], lineterminator="\n")
    quoting = csv.writer(text, delimiter=DELIMITERS[layout], lineterminator="\n", quoting=csv.QUOTE_ALL)
    rows.writerow(_BEIR_NAMES if layout == "beir" else _NAMES[kind])

    def write(topic: bytes, docnos: Sequence[bytes], values: Sequence[float], tag: bytes) -> None:
        name = _str(topic)
        # What ends lines elsewhere is not quoted unless all is.
        chosen = quoting if b"\r" in topic or any(b"\r" in docno for docno in docnos) else rows
        chosen.writerows((name, _str(docno), repr(value)) for docno, value in zip(docnos, values, strict=True))

    def finish() -> None:
        text.flush()
        text.detach()

    return write, finish


def _json(file: IO[bytes], name: str) -> Steps:
    begin = b"{"

    def write(topic: bytes, docnos: Sequence[bytes], values: Sequence[float], tag: bytes) -> None:
        nonlocal begin
        documents = dict(zip(map(_str, docnos), values, strict=True))
        if len(documents) < len(docnos):
            twice = Counter(docnos).most_common(1)[0][0]
            raise FormatError(
                f"{name}: topic {quoted(topic)}: expected a document once, all that a JSON object holds, found "
                f"{quoted(twice)} twice"
            )
        file.write(begin + f"{json.dumps(_str(topic))}: {json.dumps(documents)}".encode())
        begin = b",\n "

    def finish() -> None:
        file.write(b"{}\n" if begin == b"{" else b"}\n")

    return write, finish


def _json_lines(file: IO[bytes], kind: Kind) -> Steps:
    topic_name, docno_name, value_name = map(json.dumps, _NAMES[kind])

    def write(topic: bytes, docnos: Sequence[bytes], values: Sequence[float], tag: bytes) -> None:
        head = f"{{{topic_name}: {json.dumps(_str(topic))}, {docno_name}: "
        file.write("".join(f"{head}{json.dumps(_str(docno))}, {value_name}: {json.dumps(value)}}}\n"
                           for docno, value in zip(docnos, values, strict=True)).encode())  # fmt: skip

    return write, _nothing


def _arrow(file: IO[bytes], layout: str, kind: Kind, name: str) -> Steps:
    import pyarrow as pa
    from pyarrow import ipc, parquet

    table: Any = None
    schema: Any = None
    columns: tuple[list[Any], list[Any], list[Any]] = ([], [], [])

    def begin(number: Any) -> None:
        nonlocal table, schema
        schema = pa.schema(list(zip(_NAMES[kind], (pa.string(), pa.string(), number), strict=True)))
        table = parquet.ParquetWriter(file, schema) if layout == "parquet" else ipc.new_file(file, schema)

    def write(topic: bytes, docnos: Sequence[bytes], values: Sequence[float], tag: bytes) -> None:
        if table is None and docnos:
            begin(pa.float64() if kind == "run" or isinstance(values[0], float) else pa.int64())
        rows = [_utf8(topic, name)] * len(docnos), [_utf8(docno, name) for docno in docnos], values
        for column, more in zip(columns, rows, strict=True):
            column += more
        if len(columns[0]) >= ROWS:
            put()

    def put() -> None:
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        table.write_batch(pa.record_batch(arrays, schema=schema))
        for column in columns:
            column.clear()

    def finish() -> None:
        if table is None:
            begin(pa.float64() if kind == "run" else pa.int64())
        try:
            put()
        finally:
            table.close()

    return write, finish


def _utf8(each: bytes, name: str) -> str:
    try:
        return each.decode()
    except UnicodeDecodeError:
        raise FormatError(f"{name}: expected ids in UTF-8, all that Arrow's text holds, found {quoted(each)}") from None


def compressing(file: IO[bytes], suffix: str) -> Any:
    """
    A file that compresses what is written into `file`; it must be closed.

    suffix: gz, bz2, xz or zst. Raises FileError: a library is missing.
    """
    try:
        if suffix == "gz":
            import gzip

            return gzip.GzipFile("", "wb", 6, file, mtime=0)  # 9 takes three times as long for a hundredth less
        if suffix == "bz2":
            import bz2

            return bz2.BZ2File(file, "wb")
        if suffix == "xz":
            import lzma

            return lzma.LZMAFile(file, "wb")
        return zstd().ZstdFile(file, "wb", options={zstd().CompressionParameter.checksum_flag: 1})
    except ImportError as error:
        raise FileError(f"this Python was built without it: {error}") from None
