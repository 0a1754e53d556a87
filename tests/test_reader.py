"""The reader: good lines give their values, odd ones a note or an error, and any bytes at all one or the other."""

import gc
import io
import math
import struct
import weakref

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trecpy.errors import FileError, FormatError, TrecpyError
from trecpy.formats import runs
from trecpy.formats.judgements import read_judgements
from trecpy.formats.reader import Reader
from trecpy.formats.runs import RunReader
from trecpy.formats.source import Source
from trecpy.formats.trec import JUDGEMENT_LAYOUTS, RUN_LAYOUT
from trecpy.formats.zscores import read_zscores
from trecpy.kernels.parse import find_edges
from trecpy.numbers import strtod, strtol


def source(raw: bytes) -> Source:
    return Source(io.BytesIO(raw), "file")


def scores(*texts: bytes, strict: bool = False) -> list[float]:
    reader = Reader(
        source(b"".join(b"1 Q0 d%d 1 %b tag\n" % pair for pair in enumerate(texts))), RUN_LAYOUT, "10.0", strict
    )
    reader.read_whole()
    return list(reader.records.score[: reader.count].tolist())


def levels(*texts: bytes, strict: bool = False) -> list[int]:
    reader = Reader(
        source(b"".join(b"1 0 d%d %b\n" % pair for pair in enumerate(texts))),
        JUDGEMENT_LAYOUTS["qrels"],
        "10.0",
        strict,
    )
    reader.read_whole()
    return list(reader.records.level[: reader.count].tolist())


def _clear(error: TrecpyError) -> bool:
    return str(error).startswith("file:") and str(error).isprintable()


def bits(value: float) -> bytes:
    return struct.pack("d", value)


_RUN_COLUMNS = "topic iter docno rank score tag"


# Int32s


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_a_double_written_in_full_is_read_back(values: list[float]) -> None:
    assert [bits(x) for x in scores(*(repr(v).encode() for v in values))] == [bits(v) for v in values]


@given(st.from_regex(rb"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True))
@example(b"9007199254740993")  # half way between two doubles
@example(b"9007199254740993.00000000000000000001")
@example(b"2.2250738585072011e-308")  # subnormal
@example(b"4.9406564584124654e-324")
@example(b"1.7976931348623159e308")  # more than the largest
@example(b"0.000000000000000000000000000000000000000000000000000000000000000000000000000000001")
def test_a_decimal_is_rounded_as_python_rounds_it(text: bytes) -> None:
    assert bits(scores(text)[0]) == bits(float(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"1.5abc", 1.5), (b"1,5", 1.0), (b"abc", 0.0), (b".5", 0.5),
        (b"1.", 1.0), (b"-.5e1", -5.0), (b"1e", 1.0),
        (b"1e+", 1.0), (b"0x1p3", 8.0), (b"-0x.8", -0.5), (b"0x", 0.0), (b"0xg", 0.0), (b"inf", math.inf),
        (b"-Infinity", -math.inf), (b"infinite", math.inf), (b"1e400", math.inf), (b"-1e400", -math.inf),
        (b"1e-400", 0.0), (b".", 0.0),
        (b"+", 0.0), (b"-e5", 0.0), (b"0x1p9999", math.inf),
    ],
)  # fmt: skip
def test_a_score_is_read_as_strtod_does(text: bytes, value: float) -> None:
    assert scores(text) == [value]
    assert strtod(text)[0] == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"1.9", 1), (b"abc", 0), (b"0x10", 0), (b"+2", 2), (b"-3", -3), (b"-", 0), (b"9223372036854775807", 2**63 - 1),
        (b"9223372036854775808", 2**63 - 1), (b"-9223372036854775808", -(2**63)), (b"-99999999999999999999", -(2**63)),
        (b"1" + b"0" * 5000, 2**63 - 1), (b"000007", 7),
    ],
)  # fmt: skip
def test_a_level_is_read_as_strtol_does(text: bytes, value: int) -> None:
    assert levels(text) == [value]
    assert strtol(text)[0] == value


@pytest.mark.parametrize("text", [b"nan", b"-NaN", b"nan(7)", b"NANx"])
def test_a_score_that_is_nan_is_an_error_with_its_place(text: bytes) -> None:
    with pytest.raises(FormatError, match=r"^file:2: column 5 \(score\): expected a number, found '"):
        scores(b"1", text)


# One reader, one switch


@pytest.mark.parametrize("text", [b"abc", b"1,5", b"1.5x", b"0x1p3z"])
def test_strict_refuses_a_score_that_is_no_number(text: bytes) -> None:
    with pytest.raises(FormatError, match=r"^file:1: column 5 \(score\): expected a number, found '"):
        scores(text, strict=True)


@pytest.mark.parametrize("text", [b"0.9", b"abc", b"1x", b"9223372036854775808", b"-99999999999999999999"])
def test_strict_refuses_a_level_that_is_no_integer(text: bytes) -> None:
    with pytest.raises(FormatError, match=r"^file:2: column 4 \(level\): expected an integer, found '"):
        levels(b"1", text, strict=True)


def test_strict_drops_a_byte_order_mark_and_says_so() -> None:
    for strict, topic in ((True, b"1"), (False, b"\xef\xbb\xbf1")):
        judgements, notes = read_judgements(source(b"\xef\xbb\xbf1 0 a 1\n"), "qrels", "10.0", strict)
        assert judgements.topics == [topic]
        assert len(notes) == 1
        assert "byte order mark" in notes[0]


def test_each_kind_of_oddity_is_said_once_with_its_place_and_count() -> None:
    reader = RunReader(source(b"1 Q0 a 1 x r\n1 Q0 b 1 2 r\n1 Q0 c 1 y r\n1 Q0 d 1 1,5 r\n"), "10.0", strict=False)
    list(reader.blocks())
    assert reader.notes == [
        "file:1: column 5 (score): expected a number, found 'x'; it counts as 0 (2 such lines)",
        "file:4: column 5 (score): expected a number, found '1,5'; what follows the number is ignored",
    ]


# Lines


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"1 Q0 a 1 1 r\n1 Q0 b 1 1\n", "file:2: expected 6 or more columns (" + _RUN_COLUMNS + "), found 5"),
        (b"# c\n\n1\n", "file:3: expected 6 or more columns (" + _RUN_COLUMNS + "), found 1"),
        (b"\n\n", "file: has only comments and blank lines: expected lines of '" + _RUN_COLUMNS + "'"),
        (b"# a b c d e f g\n", "file: has only comments and blank lines: expected lines of '" + _RUN_COLUMNS + "'"),
        (b"1 Q0 a 1 1 r\n1 Q0 \0 1 1 r\n", "file:2: byte 6: expected text, found a NUL"),
        (b"", "file: is empty: expected lines of '" + _RUN_COLUMNS + "'"),
    ],
)  # fmt: skip
def test_a_bad_run_is_one_clear_line(raw: bytes, message: str) -> None:
    with pytest.raises(FileError) as raised:
        list(RunReader(source(raw), "10.0", strict=False).blocks())
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("form", "raw", "message"),
    [
        ("qrels", b"1 0 a 1\n\n", "file:2: expected 4 columns (topic iter docno level), found a blank line"),
        ("qrels", b"#\n1 0 a\n", "file:2: expected 4 columns (topic iter docno level), found 3"),
        ("qrels", b"1 0 a 1 1\n", "file:1: expected 4 columns (topic iter docno level), found 5"),
        ("prefs", b"1 0 a 1\n", "file:1: expected 5 columns (topic group subgroup docno level), found 4"),
        ("qrels_prefs", b"1 0 a nan\n", "file:1: column 4 (level): expected a number, found 'nan'"),
        ("qrels_jg", b"1 g a 1\n2 g a 1\n1 g a 2\n",
         "file:3: expected a document once in a group, found 'a' again after line 1"),
        ("qrels", b"1 0 a\0 1\n", "file:1: byte 6: expected text, found a NUL"),
    ],
)  # fmt: skip
def test_bad_judgements_are_one_clear_line(form: str, raw: bytes, message: str) -> None:
    with pytest.raises(FormatError) as raised:
        read_judgements(source(raw), form, "10.0", strict=False)
    assert str(raised.value) == message


def test_a_long_line_and_a_long_id_are_lines_like_others() -> None:
    long = b"d" * 3_000_000
    reader = RunReader(source(b"t Q0 %b 1 1 r %b\n" % (long, b"x " * 500_000) * 2), "10.0", strict=True, block=1 << 16)
    (block,) = list(reader.blocks())[-1:]
    assert block.docno(1) == long
    assert block.line(1) == 2


@given(st.binary(max_size=300), st.sampled_from([*JUDGEMENT_LAYOUTS, "run"]), st.booleans(), st.integers(40, 200))
@example(b"1 Q0 a 1 1 r\n2 Q0 a 1 1 r\n1 Q0 b 1 1 r", "run", False, 40)
def test_any_bytes_are_an_answer_or_a_clear_error(raw: bytes, form: str, strict: bool, block: int) -> None:
    try:
        if form == "run":
            for compat in ("10.0", "9.0.8"):
                reader = RunReader(source(raw), compat, strict, block=block)  # type: ignore[arg-type]
                assert all(len(b.topics) == len(b.starts) - 1 for b in reader.blocks())
        else:
            judgements, _ = read_judgements(source(raw), form, "10.0", strict)
            assert judgements.topics == sorted(judgements.topics)
    except TrecpyError as error:
        assert _clear(error)  # noqa: PT017  an answer is as good


_PIECES = st.sampled_from(
    [b" ", b"\t", b"\r", b"\n", b"#", b"1", b"a", b"\xff", b"nan", b"0.5", b"Q0", b"\0", b"-", b"\x0b"]
)


@given(st.lists(_PIECES, max_size=60).map(b"".join), st.sampled_from([*JUDGEMENT_LAYOUTS, "run"]), st.integers(40, 80))
def test_any_lines_are_an_answer_or_a_clear_error(raw: bytes, form: str, block: int) -> None:
    test_any_bytes_are_an_answer_or_a_clear_error.hypothesis.inner_test(raw, form, False, block)  # type: ignore[attr-defined]


@given(st.binary(max_size=200))
def test_zscores_are_an_answer_or_a_clear_error(raw: bytes) -> None:
    try:
        scores, _ = read_zscores(source(raw))
        assert scores
    except TrecpyError as error:
        assert _clear(error)  # noqa: PT017  an answer is as good


# Blocks


class Pipe(io.RawIOBase):
    """A stream that cannot be rewound and gives a few bytes at a time."""

    def __init__(self, raw: bytes, step: int) -> None:
        self._raw, self._step = raw, step

    def readable(self) -> bool:
        return True

    def readinto(self, target: bytearray) -> int:  # type: ignore[override]
        part, self._raw = self._raw[: min(self._step, len(target))], self._raw[min(self._step, len(target)) :]
        target[: len(part)] = part
        return len(part)


def _rankings(reader: RunReader, threads: int = 1) -> dict[bytes, list[tuple[bytes, float]]]:
    found: dict[bytes, list[tuple[bytes, float]]] = {}
    for block, _ in reader.map(lambda block: None, threads):
        for b, topic in enumerate(block.topics):
            records = range(block.starts[b], block.starts[b + 1])
            found[topic] = [(block.docno(r), float(block.scores[r])) for r in records]
    return found


@pytest.mark.parametrize("block", [64, 100, 1 << 22])
@pytest.mark.parametrize("step", [1, 7, 1000])
@pytest.mark.parametrize("mixed", [False, True])
def test_a_pipe_gives_what_a_file_gives(block: int, step: int, mixed: bool) -> None:
    lines = [b"%d Q0 d%d %d %d tag%d\n" % (t, d, d, -d, t) for t in range(9) for d in range(11)]
    raw = b"".join(sorted(lines, key=lambda line: line.split()[2]) if mixed else lines)
    with Source(Pipe(raw, step), "pipe", twice=True) as pipe:
        reader = RunReader(pipe, "10.0", strict=True, block=block)
        rankings = _rankings(reader)
    assert {t: sorted(docs) for t, docs in rankings.items()} == {
        b"%d" % t: sorted((b"d%d" % d, float(-d)) for d in range(11)) for t in range(9)
    }
    assert reader.tag == raw.split()[-1]
    assert len(reader.notes) == (mixed and block < len(raw))


def test_memory_of_a_run_does_not_grow_with_its_topics() -> None:
    lines = (b"%d Q0 doc%d 1 %d t\n" % (t, d, -d) for t in range(20_000) for d in range(20))
    largest = 0
    with Source(Pipe(b"".join(lines), 1 << 20), "pipe") as pipe:
        for block in RunReader(pipe, "10.0", strict=True, block=1 << 16).blocks():
            largest = max(largest, len(block.data))
    assert largest == (1 << 16) + 64


def test_a_pipe_that_cannot_be_copied_says_so_when_it_must_be_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    raw = b"".join(b"%d Q0 d%d 1 1 r\n" % (t, d) for d in range(9) for t in range(9))
    with (
        Source(Pipe(raw, 1000), "pipe", twice=True) as pipe,
        pytest.raises(FileError, match="give a file instead of a pipe"),
    ):
        list(RunReader(pipe, "10.0", strict=True, block=64).blocks())


class _FullDisk(io.RawIOBase):
    def readable(self) -> bool:
        return True

    writable = seekable = readable

    def seek(self, *_: int) -> int:
        return 0

    def write(self, _: object) -> int:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("buffering", [1 << 10, 1 << 20])
def test_a_copy_that_finds_no_room_later_is_told_in_the_same_way(
    monkeypatch: pytest.MonkeyPatch, buffering: int
) -> None:
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: io.BufferedRandom(_FullDisk(), buffering))
    raw = b"".join(b"%d Q0 d%d 1 1 r\n" % (t, d) for d in range(99) for t in range(9))
    with (
        pytest.raises(FileError, match="give a file instead of a pipe"),
        Source(Pipe(raw, 1000), "pipe", twice=True) as pipe,
    ):
        list(RunReader(pipe, "10.0", strict=True, block=64).blocks())


@given(st.lists(st.sampled_from(["data", "data", "# c", ""]), min_size=1, max_size=12), st.integers(40, 120))
def test_the_tag_is_that_of_the_last_line_of_data(kinds: list[str], block: int) -> None:
    lines = [f"{n // 3} Q0 d{n} 1 1 tag{n}" if kind == "data" else kind for n, kind in enumerate(kinds)]
    data = [line for line in lines if line.startswith(("0", "1", "2", "3"))]
    reader = RunReader(source("".join(line + "\n" for line in lines).encode()), "10.0", strict=True, block=block)
    if data:
        list(reader.blocks())
        assert reader.tag == data[-1].split()[-1].encode()


def test_a_pipe_that_does_not_wait_is_no_shorter_run() -> None:
    class Impatient(Pipe):
        def readinto(self, target: bytearray) -> int | None:  # type: ignore[override]
            return super().readinto(target) or None

    reader = RunReader(Source(Impatient(b"1 Q0 a 1 1 r\n", 100), "pipe"), "10.0", strict=False)
    with pytest.raises(FileError, match=r"^pipe: cannot be read: nothing has come yet"):
        list(reader.blocks())


_STRETCHES = st.lists(st.tuples(st.sampled_from(b" \t\n\r\v\f\x08\x0e\x1f!a\xa0"), st.integers(1, 70)), max_size=8)


def _edges(data: bytes, start: int, stop: int) -> list[int]:
    edges = np.full(stop // 64 + 1, -1, np.int64).view(np.uint64)
    find_edges(np.frombuffer(data, np.uint8), start, stop, np.empty(64, np.uint8), edges)
    bits = np.unpackbits(edges[start // 64 :].view(np.uint8), bitorder="little")
    return (np.flatnonzero(bits) + start // 64 * 64).tolist()


@given(_STRETCHES, st.integers(0, 150), st.binary(min_size=64, max_size=64))
def test_columns_begin_and_end_where_blanks_do(stretches: list[tuple[int, int]], start: int, behind: bytes) -> None:
    raw = b"".join(bytes([byte]) * count for byte, count in stretches)
    start, stop = min(start, len(raw)), len(raw)
    blank = [True] * start + [byte in b" \t\n\v\f\r" for byte in raw[start:]] + [False]
    expected = [i for i in range(start, stop + 1) if blank[i] != (i == start or blank[i - 1])]
    assert _edges(raw + behind, start, stop) == expected


@pytest.mark.parametrize("stop", [0, 1, 2, 62, 63, 64, 65, 126, 127, 128, 129, 191, 192])
def test_the_last_edge_is_behind_the_last_newline(stop: int) -> None:
    raw = b"x" * (stop - 1) + b"\n" * (stop > 0)
    for behind in (b" ", b"x", b"\n"):
        assert _edges(raw + behind * 64, 0, stop) == ([0, stop - 1, stop] if stop > 1 else [stop])


def _big(topics: range) -> bytes:
    return b"".join(b"%d Q0 doc%d 1 %d tag%d\n" % (t, d, -d, t) for t in topics for d in range(1000))


def _read(raw: bytes, threads: int = 1) -> tuple[dict[bytes, list[tuple[bytes, float]]], bytes]:
    with RunReader(source(raw), "10.0", strict=True) as run:
        return _rankings(run, threads), run.tag


def test_a_reader_that_was_used_before_reads_as_a_new_one_does() -> None:
    small = b"\xef\xbb\xbf7 Q0 a 1 2 t\r\n7 Q0 b 2 1 t\r\n\r\n9 Q0 c 1 1e5 u"
    mixed = b"1 Q0 a 1 2 t\n2 Q0 a 1 2 t\n1 Q0 b 1 3 t\n"
    raws = [_big(range(200)), small, _big(range(100, 260)), mixed, small, _big(range(5)), b"x" * 70 + b" Q0 a 1 1 t\n"]
    expected = []
    for raw in raws:
        runs._spare.clear()
        expected.append(_read(raw))
    assert [_read(raw) for raw in raws] == expected
    assert [_read(raw, threads=3) for raw in raws] == expected
    assert 0 < len(runs._spare) <= (runs._spare.maxlen or 0)


def test_a_reader_is_left_only_when_all_was_read() -> None:
    runs._spare.clear()
    raw = _big(range(400))
    blocks = RunReader(source(raw), "10.0", strict=True).blocks()
    next(blocks)
    blocks.close()
    assert not runs._spare
    with pytest.raises(FormatError):
        list(RunReader(source(raw + b"wrong\n"), "10.0", strict=True).blocks())
    assert not runs._spare
    list(RunReader(source(raw), "10.0", strict=True).blocks())
    assert runs._spare


def test_a_reader_that_is_left_does_not_keep_the_file() -> None:
    stream = io.BytesIO(_big(range(400)))
    list(RunReader(Source(stream, "file"), "10.0", strict=True).blocks())
    assert runs._spare
    seen = weakref.ref(stream)
    del stream
    gc.collect()
    assert seen() is None
