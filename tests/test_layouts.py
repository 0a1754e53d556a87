"""Files in every layout: told by their first lines, read as what was written, and refused with the place."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import trecpy as trecpy_command
from hypothesis import example, given
from hypothesis import strategies as st
from test_reader import Pipe

import trecpy
from trecpy.collection import Qrels, as_qrels, as_run
from trecpy.errors import FileError, FormatError, ParameterError, TrecpyError
from trecpy.formats.columns import LAYOUTS, Kind
from trecpy.formats.write import Writer
from trecpy.protocol import Protocol

Table = dict[bytes, dict[bytes, float]]
READABLE = list(LAYOUTS)


def written(table: Table, layout: str, kind: Kind) -> bytes:
    out = io.BytesIO()
    with Writer(out, layout, kind, "out") as writer:
        for topic, documents in table.items():
            writer.write(topic, list(documents), list(documents.values()))
    return out.getvalue()


def run_of(raw: bytes, layout: str | None = None) -> Table:
    found: Table = {}
    with as_run(io.BytesIO(raw), Protocol(), layout) as run:
        for block in run.blocks():
            for b, topic in enumerate(block.topics):
                records = range(block.starts[b], block.starts[b + 1])
                found[topic] = {block.docno(r): float(block.scores[r]) for r in records}
    return found


def qrels_of(raw: bytes, layout: str | None = None) -> Table:
    qrels = Qrels.read(io.BytesIO(raw), layout=layout).judgements
    starts = qrels.documents.starts
    return {
        topic: {qrels.documents.docno(j): int(qrels.level[j]) for j in range(starts[t], starts[t + 1])}
        for t, topic in enumerate(qrels.topics)
    }


# What is written reads back

PLAIN = st.text(st.characters(exclude_characters="\0", exclude_categories=("Z", "C")), min_size=1, max_size=6)
IDS = {
    "trec": PLAIN.filter(lambda text: text[0] != "#").map(str.encode),
    "msmarco": PLAIN.filter(lambda text: text[0] != "#").map(str.encode),
    "parquet": st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=6).map(str.encode),
    "arrow": st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=6).map(str.encode),
}
ANY_ID = st.one_of(st.binary(min_size=1, max_size=6), PLAIN.map(str.encode), st.sampled_from([b'a"b', b"a,b", b"\r\n"]))


def tables(ids: st.SearchStrategy[bytes], values: st.SearchStrategy[float]) -> st.SearchStrategy[Table]:
    return st.dictionaries(ids, st.dictionaries(ids, values, min_size=1, max_size=5), min_size=1, max_size=5)


def bits(table: Table) -> dict[bytes, dict[bytes, str]]:
    return {topic: {docno: float(x).hex() for docno, x in docs.items()} for topic, docs in table.items()}


@pytest.mark.parametrize("layout", [layout for layout in READABLE if layout != "msmarco"])
@given(st.data())
def test_a_run_that_is_written_reads_back(layout: str, data: st.DataObject) -> None:
    table = data.draw(tables(IDS.get(layout, ANY_ID), st.floats(allow_nan=False)))
    assert bits(run_of(written(table, layout, "run"), layout)) == bits(table)


@pytest.mark.parametrize("layout", READABLE)
@given(st.data())
def test_judgements_that_are_written_read_back(layout: str, data: st.DataObject) -> None:
    table = data.draw(tables(IDS.get(layout, ANY_ID), st.integers(-(2**63), 2**63 - 1)))
    assert qrels_of(written(table, layout, "qrels"), layout) == table


@given(tables(IDS["msmarco"], st.floats(allow_nan=False)))
def test_ranks_that_are_written_rank_as_the_scores_do(table: Table) -> None:
    ranked = {t: sorted(docs, key=lambda d: (docs[d], d), reverse=True) for t, docs in table.items()}
    read = run_of(written(table, "msmarco", "run"), "msmarco")
    assert {t: sorted(docs, key=docs.__getitem__, reverse=True) for t, docs in read.items()} == ranked  # type: ignore[arg-type]


RUN: Table = {b"q1": {b"d1": 1.5, b"d2": 2.5, b"d4": 0.1}, b"q2": {b"d1": 7.0}}
QRELS: Table = {b"q1": {b"d1": 1, b"d2": 0, b"d3": 2}, b"q2": {b"d1": 1}}


@pytest.mark.parametrize("layout", READABLE)
@pytest.mark.parametrize("step", [None, 1, 100])
def test_each_layout_is_told_from_a_file_and_from_a_pipe(layout: str, step: int | None) -> None:
    expected = trecpy.evaluate(io.BytesIO(written(QRELS, "trec", "qrels")), io.BytesIO(written(RUN, "trec", "run")))
    streams = [written(QRELS, layout, "qrels"), written(RUN, layout, "run")]
    qrels, run = (io.BytesIO(raw) if step is None else Pipe(raw, step) for raw in streams)
    assert trecpy.evaluate(qrels, run).to_json() == expected.to_json()


@pytest.mark.parametrize("layout", READABLE)
@pytest.mark.parametrize("pipe", [False, True])
def test_topics_that_come_back_are_put_together(layout: str, pipe: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trecpy.formats.tables.ROWS", 3)
    monkeypatch.setattr("trecpy.formats.tables._PIECE", 40)
    raw = written({b"q%d" % t: {b"d%d" % d: -float(d) for d in range(5)} for t in range(4)}, layout, "run")
    if layout in ("json", "parquet", "arrow"):  # in JSON topics cannot come back
        whole = {b"q%d" % t: 5 for t in range(4)}
        assert {t: len(docs) for t, docs in run_of(raw, layout).items()} == whole
        return
    head, *lines = raw.splitlines(keepends=True)
    lines = lines if layout in ("tsv", "csv", "beir") else [head, *lines]
    mixed = (head if layout in ("tsv", "csv", "beir") else b"") + b"".join(lines[::2] + lines[1::2])
    stream = Pipe(mixed, 7) if pipe else io.BytesIO(mixed)
    with as_run(stream, Protocol(), layout) as run:
        last = {t: np.diff(block.starts)[b] for block in run.blocks() for b, t in enumerate(block.topics)}
    assert last == {b"q%d" % t: 5 for t in range(4)}
    assert len(run.notes) == (layout not in ("trec", "msmarco"))  # these were in one block


def test_memory_of_a_table_does_not_grow_with_its_topics() -> None:
    raw = b"qid,docno,score\n" + b"".join(b"%d,d%d,%d\n" % (t, d, -d) for t in range(20_000) for d in range(20))
    with as_run(io.BytesIO(raw), Protocol()) as run:
        sizes = [len(block.scores) for block in run.blocks()]
    assert sum(sizes) == 400_000
    assert max(sizes) <= 70_000


# Names of columns, kinds of values


@pytest.mark.parametrize(
    ("raw", "table"),
    [
        (b"qid,pid,score\n1,7,0.5\n1,8,2\n", {b"1": {b"7": 0.5, b"8": 2.0}}),
        (b"qid,pid,similarity\n1,7,0.5\n", {b"1": {b"7": 0.5}}),
        (b"\xef\xbb\xbfQuery_ID\tdoc_id\trank\r\n1\ta b\t2\r\n\r\n1\tc\t1\r\n", {b"1": {b"a b": -2.0, b"c": -1.0}}),
        (b'qid,docno,score,text\n1,"a,b",1,"two\nlines"\n', {b"1": {b"a,b": 1.0}}),
        (b"1\t7\t1\n1\t8\t2\n2\t7\t1\n", {b"1": {b"7": -1.0, b"8": -2.0}, b"2": {b"7": -1.0}}),
        (b'{"1": ["a", "b"], "2": {"c": 1e3}}', {b"1": {b"a": 2.0, b"b": 1.0}, b"2": {b"c": 1000.0}}),
        (b'{"qid": 1, "docno": 7, "score": 1}\n', {b"1": {b"7": 1.0}}),
        (b'{"qid": "1", "docno": "caf\\u00e9", "score": -Infinity}', {b"1": {"café".encode(): -np.inf}}),
        (b'{"1": {"a": -1%b, "b": 0.5}}' % (b"0" * 400), {b"1": {b"a": -np.inf, b"b": 0.5}}),
        (b'{"qid": "a:b", "docno": "c", "score": 1}', {b"a:b": {b"c": 1.0}}),
        (b'{"qid": "1", "docno": "a", "score": 1, "more": {"docno": 2}}', {b"1": {b"a": 1.0}}),
        (b'qid,docno,score,text\n1,a,1,"' + b"x" * 200_000 + b'"\n', {b"1": {b"a": 1.0}}),
        (b"{}", {}),
        (b'{"0": {}, "1": {"a": 1.0}, "2": {}}', {b"0": {}, b"1": {b"a": 1.0}, b"2": {}}),
    ],
)  # fmt: skip
def test_a_run_is_told_and_read(raw: bytes, table: Table) -> None:
    assert run_of(raw) == table


@pytest.mark.parametrize(
    ("raw", "table"),
    [
        (b"query-id\tcorpus-id\tscore\nq\td 1\t2\n", {b"q": {b"d 1": 2}}),
        (b"qid,pid\n1,7\n1,8\n2,7\n", {b"1": {b"7": 1, b"8": 1}, b"2": {b"7": 1}}),
        (b"1\t0\t7\t1\n", {b"1": {b"7": 1}}),
        (b'{"1": {"a": 1}, "2": {}}', {b"1": {b"a": 1}, b"2": {}}),
        (b'{"query_id": "1", "doc_id": "a", "relevance": 3}\n\n', {b"1": {b"a": 3}}),
        (b"# judged by hand\n1 0 a 1\n", {b"1": {b"a": 1}}),
        (
            b"1 0 a 1.0\n1 0 b -2.\n1 0 c 1e1\n1 0 d 9007199254740993.0\n1 0 e -0.0\n1 0 f 2\n",
            {b"1": {b"a": 1, b"b": -2, b"c": 10, b"d": 2**53 + 1, b"e": 0, b"f": 2}},
        ),
    ],
)
def test_judgements_are_told_and_read(raw: bytes, table: Table) -> None:
    assert qrels_of(raw) == table


def test_pairs_without_levels_that_come_twice_count_once_and_are_told() -> None:
    qrels = as_qrels(io.BytesIO(b"qid,pid\n1,7\n1,8\n1,7\n"), Protocol())
    assert len(qrels.judgements.level) == 2
    assert qrels.notes == ("qrels: names 1 document again, without levels; each counts once",)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"qid,docno,score\n1,a,1\n1,b,x\n", "run:3: expected a score, a number, found 'x'"),
        (b"qid,docno,score\n1,a,1\n1,b,nan\n", "run:3: expected a score, a number, found 'nan'"),
        (b"qid,docno,score\n1,a,1_000\n", "run:2: expected a score, a number, found '1_000'"),
        (b"qid,docno,score\n1,a\n", "run:2: expected 3 columns, found 2"),
        (b'qid,docno,score,text\n1,a,1,"x\ny"\n1,,1,\n', "run:4: expected a docno, found an empty field"),
        (b'qid,docno,score\n1,"a" b,1\n', "run:2: ',' expected after '\"'"),
        (b"qid,docno,label\n1,a,1\n",
         "run:1: expected a column of scores or ranks (score, sim, similarity, rank), found 'qid', 'docno', 'label'"),
        (b"qid,docno,score,score\n1,a,1,1\n", "run:1: expected columns of different names, found 'score' twice"),
        (b"1 a 7\n1 b 5\n", "run:1: expected lines of 'topic iter docno rank score tag', found 3 columns: '1 a 7'; "
         "what are they? A run of topic docno rank is in the layout msmarco (run_format, --run-format); else name them "
         "in a header"),
        (b"1,a,7\n", "run:1: expected lines of 'topic iter docno rank score tag', or a header that names columns "
         "separated by commas or tabs (qid, docno, ...), found '1,a,7'"),
        (b'{"1": {"a": "x"}}', "run:1: topic '1': expected a score, a number, found 'x'"),
        (b'{"1": {"a": true}}', "run:1: topic '1': expected a score, a number, found True"),
        (b'{"0": {"a": 1},\n "1": {"a": NaN}}', "run:2: topic '1': expected a score, a number, found nan"),
        (b'{"1": {"a": 1},\n "1": {"b": 1}}', "run:2: expected each topic once, found '1' again"),
        (b'{"1": {"a": 1},\n "": {"b": 1}}', "run:2: expected a topic, found an empty string"),
        (b'{"1": {"a": 1},\n 2: {"b": 1}}', "run:2: expected a topic, a string, found '2'"),
        (b'{"qid": "1", "docno": "a", "score": 1}\n{"qid": "1", "docno": "b", "score": 1, "score": 2}\n',
         "run:2: expected a JSON object, found '{\"qid\": \"1\", \"docno\": \"b\", \"score\": 1, \"score\": 2}' "
         "('score' is there twice)"),
        (b'qid,docno,score,text\n1,a,1,"x\ny"\n1,b,1,"x\n\n1,c,1,\n', "run:4: expected the end of a field in quotes, "
         "found the end of the file: a quote in this row is left open"),
        (b'{"1": {"a": 1}', "run:1: expected , or }, found the end of the file"),
        (b'{"1": {"a": 1}} x', "run:1: expected the end of the file, found 'x'"),
        (b'{"1": {"a": 1, }}', "run:1: expected JSON, found "),
        (b'{"1": 5}', "run:1: expected a column of topics (qid, "),
        (b'[{"qid": "1"}]', "run:1: expected a JSON object {topic: {docno: x}}, or one object a line, found a list"),
        (b'{"qid": "1", "docno": "a", "score": 1}\n{"qid": "1", "docno": "a"}\n',
         "run:2: expected 'score' as in the first line"),
        (b'{"qid": "1", "docno": null, "score": 1}\n', "run:1: expected a docno, a string or an integer, found None"),
        (b'{"qid": "1", "docno": "a", "score": 1}\n\nx\n', "run:3: expected a JSON object, found 'x"),
        (b"PAR1 and so on", "run: cannot be read as Parquet: "),
        (b"ARROW1\0\0 and so on", "run: cannot be read as Arrow: "),
    ],
)  # fmt: skip
def test_a_bad_run_is_one_clear_line(raw: bytes, message: str) -> None:
    with pytest.raises(FileError) as raised:
        run_of(raw)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"qid,docno,level\n1,a,0.5\n", "qrels:2: expected an integer level, found 0.5"),
        (b"1 0 a 1.0\n1 0 b 0.9\n", "qrels:2: column 4 (level): expected an integer, found '0.9'; gains='float'"),
        (b"1 0 a 1.0x\n", "qrels:1: column 4 (level): expected an integer, found '1.0x'"),
        (b"1 0 a 9223372036854775808.0\n", "qrels:1: column 4 (level): expected an integer, found '922337203685477580"),
        (b"1 0 a 0x10\n", "qrels:1: column 4 (level): expected an integer, found '0x10'"),
        (b"1 a 1\n", "qrels:1: expected lines of 'topic iter docno level', found 3 columns: '1 a 1'; what are"),
        (b'{"1": ["a"]}', "qrels:1: expected documents of topic '1', an object, found"),
        (b"qid,docno,level\n1,a,1\n1,a,1\n", "qrels: topic '1': expected a document once, found 'a' twice"),
        (b"qid,docno,level\n", "qrels: has no records"),
    ],
)  # fmt: skip
def test_bad_judgements_are_one_clear_line(raw: bytes, message: str) -> None:
    with pytest.raises(FormatError) as raised:
        qrels_of(raw)
    assert str(raised.value).startswith(message)


def _table(**columns: Any) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"qid": ["1", "1"], "docno": ["a", None], "score": [1.0, 2.0]}, "run: row 2: expected a docno, found a mis"),
        ({"qid": ["1", ""], "docno": ["a", "b"], "score": [1.0, 2.0]}, "run: row 2: expected a topic, found an empty"),
        ({"qid": ["1"], "docno": [1.5], "score": [1.0]}, "run: row 1: expected a docno, a string or an integer, found"),
        ({"qid": ["1"], "docno": ["a"], "score": ["1.0"]}, "run: row 1: expected a score, a number, found string"),
        ({"qid": ["1"], "docno": ["a"], "score": [float("nan")]}, "run: row 1: expected a score, a number, found nan"),
        ({"docno": ["a"], "score": [1.0]}, "run: expected a column of topics (qid, "),
    ],
)  # fmt: skip
def test_a_bad_parquet_run_is_one_clear_line(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError) as raised:
        run_of(_table(**columns))
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    "kind",
    ["file", "file-dictionary", "file-large", "file-view", "stream", "stream-dictionary", "stream-view", "lz4",
     "parquet", "parquet-dictionary"],
)  # fmt: skip
def test_a_damaged_columnar_file_is_an_answer_or_a_clear_error(kind: str) -> None:
    script = str(Path(__file__).with_name("damaged_columns.py"))
    step = "4" if kind == "file-dictionary" else "17"
    done = subprocess.run([sys.executable, script, kind, step], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stdout[-200:], done.stderr[-500:])
    said = [line.split(" ", 1)[1] for line in done.stdout.splitlines()]
    assert all(line == "read" or line.startswith(("run:", "qrels:")) for line in said)
    assert {line == "read" for line in said} == {True, False}


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
@pytest.mark.parametrize(
    "raw", ['{"1": {"a": 0.5}}', '{"qid": "1", "docno": "a", "score": 1}', "qid,docno,score\n1,a,1\n"]
)
@pytest.mark.parametrize("layout", [None, "json", "jsonl", "csv"])
def test_utf_16_is_named(code: str, raw: str, layout: str | None) -> None:
    with pytest.raises(FormatError, match=r"^run:1: expected text in UTF-8, found UTF-16$"):
        run_of(raw.encode(code), layout)


@pytest.mark.parametrize(
    ("line", "lines", "place"), [(b"1 0 a 1\n", 600_000, "source.bytearray"), (b"qid,docno\n", 1, "tables.csv")]
)
def test_a_file_that_takes_too_much_memory_is_named(
    line: bytes, lines: int, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(size: int) -> bytearray:
        if size > 5 << 20:
            raise MemoryError
        return bytearray(size)

    class NoMemory:
        Error = csv.Error

        @property
        def reader(self) -> None:
            raise MemoryError

    monkeypatch.setattr(f"trecpy.formats.{place}", fails if "byte" in place else NoMemory(), raising=False)
    with pytest.raises(FileError, match=r"^qrels: cannot be read: it needs more memory than there is$"):
        qrels_of(line * lines)


def test_the_limit_of_fields_is_put_back() -> None:
    before = csv.field_size_limit(1000)
    try:
        assert run_of(b'qid,docno,score,text\n1,a,1,"' + b"x" * 5000 + b'"\n') == {b"1": {b"a": 1.0}}
        assert csv.field_size_limit() == 1000
    finally:
        csv.field_size_limit(before)


def test_only_the_needed_columns_of_parquet_are_read() -> None:
    raw = _table(text=["x" * 1000], query_id=[7], doc_id=["a"], rank=[3])
    assert run_of(raw) == {b"7": {b"a": -3.0}}


def test_a_layout_may_be_asked_for() -> None:
    assert run_of(b"1 7 5\n1 8 3\n", "msmarco") == {b"1": {b"7": -5.0, b"8": -3.0}}
    with pytest.raises(ParameterError, match=r"^run_format: expected trec, msmarco, .*, found 'xml'"):
        run_of(b"1 7 5\n", "xml")
    result = trecpy.evaluate(
        io.BytesIO(b"1 0 7 1\n"), io.BytesIO(b"1 7 5\n1 8 3\n"), "recip_rank", qrels_format="trec", run_format="msmarco"
    )
    assert result["recip_rank"] == 0.5


_PIECES = st.sampled_from(
    [b"{", b"}", b"[", b"]", b'"', b":", b",", b"\n", b" ", b"\t", b"1", b"a", b"qid", b"docno", b"score", b"\xff",
     b"nan", b"\\", b"0.5", b"PAR1", b"ARROW1", b"\r", b"-", b"true", b"\0", b"\xff\xff\xff\xff"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=40).map(b"".join), st.sampled_from([None, *READABLE]), st.booleans())
@example(b"qid\tdocno\tscore\n1\ta\t0.5\n\xff", None, True)
@example(b'""{', "beir", False)
@example(b"[" * 100_000, "json", True)
@example(b'{"a":' + b"[" * 100_000, "json", True)
@example(b'{"a":' + b"[" * 100_000, None, True)
@example(b'{"qid": ' + b"9" * 5000 + b"}", "jsonl", True)
def test_any_bytes_are_an_answer_or_a_clear_error(raw: bytes, layout: str | None, run: bool) -> None:
    read: Callable[[bytes, str | None], Table] = run_of if run else qrels_of
    try:
        read(raw, layout)
    except TrecpyError as error:
        assert str(error).startswith(("run:", "qrels:"))  # noqa: PT017  an answer is as good
        assert str(error).isprintable()  # noqa: PT017


# Where from


def test_json_of_an_evaluation_reads_back(tmp_path: Path) -> None:
    (tmp_path / "qrels.json").write_text(json.dumps({"1": {"a": 1}}))
    (tmp_path / "run.json").write_text(json.dumps({"1": {"a": 0.5, "b": 1}}, indent=2))
    result = trecpy.evaluate(tmp_path / "qrels.json", tmp_path / "run.json", "recip_rank")
    assert result["recip_rank"] == 0.5


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1 0 a 1\n")))
    assert trecpy.evaluate("-", {"1": ["b", "a"]}, "recip_rank")["recip_rank"] == 0.5
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(FileError, match="standard input: cannot be read: it is closed"):
        trecpy.evaluate({"1": {"a": 1}}, "-")


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    import ir_datasets
    from ir_datasets.formats import TrecQrels
    from ir_datasets.util import LocalDownload

    path = tmp_path / "qrels"
    path.write_text("1 0 a 1\n1 0 b 0\n")
    for name, parts in (("trecpy-test", [TrecQrels(LocalDownload(path), {1: "relevant"})]), ("trecpy-test/empty", [])):
        monkeypatch.setitem(ir_datasets.registry._registered, name, ir_datasets.Dataset(*parts))
    return "irds:trecpy-test"


def test_judgements_of_a_data_set_by_its_exact_name(dataset: str) -> None:
    assert trecpy.evaluate(dataset, {"1": ["b", "a"]}, "recip_rank")["recip_rank"] == 0.5
    command = trecpy_command("check", dataset, "-", stdin=b"1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n")
    assert command.out == (
        b"irds:trecpy-test: 2 judgements of 1 topic; 0 findings\nstandard input: 2 documents of 1 topic; 0 findings\n"
    )
    assert trecpy_command("check", dataset + "s").code == 2
    with pytest.raises(FileError, match=r"^irds:trecpy-tes: expected the name of a data set in ir_datasets, found no"):
        trecpy.evaluate("irds:trecpy-tes", {"1": ["a"]})
    with pytest.raises(FileError, match=r"^irds:trecpy-test/empty: expected a data set with judgements, found none"):
        trecpy.evaluate("irds:trecpy-test/empty", {"1": ["a"]})
