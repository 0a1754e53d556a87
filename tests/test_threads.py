"""Threads: the same values, notes and errors whatever their number, and however a file is cut into parts."""

import gzip
import io
import threading
from pathlib import Path

import numpy as np
import pytest
from command import score, trec_eval, write
from command import trecpy as command
from hypothesis import given
from hypothesis import strategies as st

import trecpy
from trecpy.errors import InputError, TrecpyError
from trecpy.evaluation import evaluate_blocks
from trecpy.formats.judgements import read_judgements
from trecpy.formats.runs import RunReader
from trecpy.formats.source import Source
from trecpy.formats.trec import MSMARCO_LAYOUT, RUN_LAYOUT, Layout
from trecpy.kernels import parse as kernel
from trecpy.protocol import Compat, Protocol
from trecpy.registry import Request, columns
from trecpy.threads import available, in_order

QRELS = b"".join(b"%d 0 d%d %d\n" % (topic, doc, doc % 3) for topic in range(6) for doc in range(0, 12, 2))

_TOPICS = st.sampled_from([b"0", b"1", b"2", b"3", b"33", b"4", b"9", b"#1"])
_SCORES = st.sampled_from([b"1", b"2.5", b"-3e4", b"1e400", b"0x10", b"x", b"1,5", b"nan"])
_LINES = st.one_of(
    st.builds(lambda topic, doc, value: b"%b Q0 d%d 1 %b tag%d" % (topic, doc, value, doc), _TOPICS, st.integers(0, 9),
              _SCORES),
    st.sampled_from([b"", b"  ", b"# said", b"  # said", b"1 Q0 d1", b"1 Q0 \0 1 1 t", b"\xef\xbb\xbf1 Q0 d1 1 1 t"]),
)  # fmt: skip


def outcome(
    run: bytes, compat: Compat, block: int, threads: int, strict: bool = False, layout: Layout = RUN_LAYOUT
) -> object:
    """Values and notes, or the error and what was noted before it."""
    judgements, _ = read_judgements(Source(io.BytesIO(QRELS), "qrels"), "qrels", compat, strict=True)
    reader = RunReader(Source(io.BytesIO(run), "run"), compat, strict, block, layout)
    asked = columns([Request("official")], compat)
    protocol = Protocol(compat=compat, duplicates="first")
    try:
        scores = evaluate_blocks(judgements, reader, asked, protocol, threads=threads)
    except TrecpyError as error:
        return type(error), str(error), reader.notes
    return scores.per_query.tolist(), scores.topics, scores.unjudged, reader.tag, reader.notes


@given(
    st.lists(_LINES, max_size=40), st.sampled_from(["10.0", "9.0.8"]), st.sampled_from([64, 150, 1000]), st.booleans()
)
def test_the_number_of_threads_changes_nothing(lines: list[bytes], compat: Compat, block: int, strict: bool) -> None:
    run = b"".join(line + b"\n" for line in lines)
    alone = outcome(run, compat, block, 1, strict)
    assert outcome(run, compat, block, 2, strict) == alone
    assert outcome(run, compat, block, 3, strict) == alone


@given(st.lists(_LINES, max_size=40), st.sampled_from(["10.0", "9.0.8"]), st.sampled_from([64, 150, 1000]))
def test_where_the_file_is_cut_changes_nothing(lines: list[bytes], compat: Compat, block: int) -> None:
    run = b"".join(line + b"\n" for line in lines if b"\0" not in line)  # the first NUL in what was read comes first
    whole, cut = outcome(run, compat, 1 << 20, 1), outcome(run, compat, block, 2)
    assert isinstance(whole, tuple)
    assert isinstance(cut, tuple)
    said = [note for note in cut[-1] if "not together" not in note]
    assert (*cut[:-1], said) == whole


@given(st.lists(_LINES, max_size=40), st.sampled_from([64, 150, 1000]), st.booleans())
def test_a_compressed_run_is_cut_as_a_plain_one(lines: list[bytes], block: int, strict: bool) -> None:
    run = b"".join(line + b"\n" for line in lines)
    plain = outcome(run, "10.0", block, 1, strict)
    assert outcome(gzip.compress(run), "10.0", block, 1, strict) == plain
    assert outcome(gzip.compress(run), "10.0", block, 3, strict) == plain


@given(st.lists(st.tuples(_TOPICS, st.integers(0, 9), st.integers(1, 20)), min_size=1, max_size=40))
def test_a_run_of_ranks_is_that_of_their_negatives_whatever_the_threads(rows: list[tuple[bytes, int, int]]) -> None:
    ranks = b"".join(b"%b\td%d\t%d\n" % row for row in rows)
    scores = b"".join(b"%b Q0 d%d 1 -%d t\n" % row for row in rows)
    values = outcome(scores, "9.0.8", 1 << 20, 1)
    alone = outcome(ranks, "9.0.8", 64, 1, layout=MSMARCO_LAYOUT)
    assert outcome(ranks, "9.0.8", 64, 3, layout=MSMARCO_LAYOUT) == alone
    assert isinstance(values, tuple)
    assert isinstance(alone, tuple)
    assert alone[:-2] == values[:-2]  # but for the tag, and that it was read twice


@given(st.lists(_LINES, min_size=1, max_size=12), st.sampled_from(range(kernel.HASH_INDENTED + 1)))
def test_the_last_topic_begins_where_its_first_line_does(lines: list[bytes], comments: int) -> None:
    raw = b"".join(line + b"\n" for line in lines)
    place = kernel.last_topic(np.frombuffer(raw, np.uint8), 0, len(raw), comments)

    def topic(line: bytes) -> bytes | None:
        words = line.split()
        if not words:
            return None
        marked = words[0].startswith(b"#") if comments == kernel.HASH_INDENTED else line.startswith(b"#")
        return None if marked and comments != kernel.NO_COMMENTS else words[0]

    first, last = len(lines), None
    for number in reversed(range(len(lines))):
        found = topic(lines[number])
        if found is not None and last not in (None, found):
            break
        if found is not None:
            first, last = number, found
    assert place == sum(len(line) + 1 for line in lines[:first])


@given(st.binary(max_size=600))
def test_lines_are_counted(raw: bytes) -> None:
    data = np.frombuffer(raw.replace(b"\1", b"\n"), np.uint8)
    assert kernel.count_lines(data, 0, len(data)) == data.tobytes().count(b"\n")


def test_a_long_file_on_several_threads(tmp_path: Path) -> None:
    qrels = "".join(f"{topic} 0 d{topic % 7} 1\n" for topic in range(3000)).encode()
    lines = [f"{topic} Q0 d{doc} 1 {(doc * 7919 + topic) % 1000}.{doc} a-long-run-tag-{'x' * 90}\n"
             for topic in range(3000) for doc in range(30)]  # fmt: skip
    run = "".join(lines).encode()
    assert len(run) > 2 * 2**22
    paths = write(tmp_path, qrels, run)
    alone, *others = (trec_eval("--threads", n, "-q", "-c", *paths) for n in ("1", "2", "5"))
    assert alone.code == 0
    assert [(each.code, each.out, each.said) for each in others] == [(0, alone.out, alone.said)] * 2
    broken = run + b"1 Q0 again 1 1 r\n"  # a topic that comes back, in the last part
    paths = write(tmp_path, qrels, broken)
    alone, *others = (trec_eval("--threads", n, "-q", "-c", *paths) for n in ("1", "2", "5"))
    assert "are not together" in alone.said[0]
    assert f"run:{len(lines) + 1}: " in alone.said[0]
    assert [(each.code, each.out, each.said) for each in others] == [(0, alone.out, alone.said)] * 2


@pytest.mark.parametrize("value", ["0", "-1", "x", "", "1.5", "٣"])
def test_a_number_of_threads_that_is_none_is_an_error(tmp_path: Path, value: str) -> None:
    outcome = score(tmp_path, ["--threads", value], "1 0 a 1", "1 Q0 a 1 2 r")
    assert outcome.code == 1
    assert outcome.said[0].startswith("--threads: expected a number >= 1")


def test_threads_are_not_a_beginning_of_other_options(tmp_path: Path) -> None:
    assert score(tmp_path, ["--thread", "1"], "1 0 a 1", "1 Q0 a 1 2 r").code == 1
    assert score(tmp_path, ["--threads=1"], "1 0 a 1", "1 Q0 a 1 2 r").code == 0
    assert available() >= 1


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 10])
def test_results_come_in_order(threads: int, count: int) -> None:
    given_back, taken = [0], [0]

    def items() -> object:
        for item in range(count):
            assert taken[0] - given_back[0] <= threads
            taken[0] += 1
            yield item

    for number, (item, result) in enumerate(in_order(lambda item: item * item, items(), threads)):  # type: ignore[arg-type]
        assert (item, result) == (number, number * number)
        given_back[0] += 1
    assert given_back[0] == count


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("at", [0, 1, 2, 5])
@pytest.mark.parametrize("where", ["work", "items"])
def test_an_error_comes_at_its_turn(threads: int, at: int, where: str) -> None:
    def items() -> object:
        for item in range(10):
            if where == "items" and item == at:
                raise KeyError(item)
            yield item

    def work(item: int) -> int:
        if where == "work" and item >= at:
            raise KeyError(item)
        return item

    found = []
    with pytest.raises(KeyError, match=str(at)):
        found.extend(item for item, _ in in_order(work, items(), threads))  # type: ignore[arg-type]
    assert found == list(range(at))


def test_threads_end_when_the_results_are_no_longer_wanted() -> None:
    before = threading.active_count()
    results = in_order(lambda item: item, range(100), 3)
    assert next(results) == (0, 0)
    results.close()
    assert threading.active_count() == before


def test_python_and_the_command_take_a_number_of_threads(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1 t\n2 Q0 b 1 2 t\n2 Q0 a 2 1 t\n")
    evaluator = trecpy.Evaluator(tmp_path / "qrels", ["map", "RR"])
    values = [evaluator.evaluate(tmp_path / "run", threads=threads) for threads in (None, 1, 3)]
    assert {each.to_json() for each in values} == {values[0].to_json()}
    assert len({each.fingerprint["run"] for each in values}) == 1
    with pytest.raises(InputError, match="threads: expected an integer >= 1 or None, found 0"):
        evaluator.evaluate(tmp_path / "run", threads=0)
    outputs = [command("eval", *threads, str(tmp_path / "qrels"), str(tmp_path / "run")).out
               for threads in ([], ["--threads", "2"])]  # fmt: skip
    assert outputs[0] == outputs[1]
    assert command("eval", "--threads", "0", str(tmp_path / "qrels"), str(tmp_path / "run")).code == 1
