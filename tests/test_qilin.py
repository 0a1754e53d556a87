"""Qilin's figures: its evaluator's worked numbers, what it does with odd data, its files, and what is wrong in them."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import trecpy as command
from hypothesis import given
from hypothesis import strategies as st

import trecpy
from trecpy.errors import InputError

FOUR = {1: list("abcd")}  # d is not retrieved
RANKED = {1: list("axbyc")}


@pytest.mark.parametrize(
    ("ap", "values"),
    [
        ("rel", [0.25, 0.25, 0.4167, 0.5667, 0.5667]),
        ("min", [1, 0.5, 0.5556, 0.5667, 0.5667]),
        ("hits", [1, 1, 0.8333, 0.7556, 0.7556]),
    ],
)
def test_what_map_is_divided_by(ap: str, values: list[float]) -> None:
    cutoffs = (1, 2, 3, 5, 10)
    found = trecpy.qilin(FOUR, RANKED, k=cutoffs, ap=ap)
    assert [found[f"MAP@{k}"] for k in cutoffs] == pytest.approx(values, abs=5e-5)
    assert list(found)[:5] == ["MRR@1", "MAP@1", "Recall@1", "Precision@1", "MRR@2"]


def test_the_divisor_of_precision_is_k_for_shorter_lists_too() -> None:
    assert trecpy.qilin(FOUR, RANKED)["Precision@10"] == 0.3


def test_mrr_is_cut() -> None:
    """Recipes' is not."""
    qrels, run = {1: ["a", "b"]}, {1: list("xyab")}
    assert trecpy.qilin(qrels, run, k=2)["MRR@2"] == 0
    uncut = trecpy.qilin(qrels, run, k=2, rr="uncut")
    assert uncut["MRR@2"] == pytest.approx(1 / 3)
    assert uncut.protocol == "qilin, rr=uncut"


def test_topics_of_one_side_do_not_count() -> None:
    qrels, run = {0: ["a"], 1: ["b"], 2: ["c"]}, {0: ["a", "x"], 1: ["x", "y"], 3: ["q"]}
    found = trecpy.qilin(qrels, run)
    assert (found["MRR@10"], found.topics) == (0.5, 2)
    assert found.notes == (
        "lacks 1 of 3 judged topics; they are left out of the means",
        "has 1 topic without judgements; they are left out",
    )
    assert trecpy.qilin(qrels, run, first=2).notes == ()
    assert trecpy.evaluate({t: dict.fromkeys(n, 1) for t, n in qrels.items()}, run, "RR@10")["RR@10"] == (
        pytest.approx(1 / 3)
    )


def test_notes_ranked_or_judged_twice_count_twice() -> None:
    ranked = trecpy.qilin({1: ["a"]}, {1: ["a", "a", "b"]}, k=3)
    assert [ranked["MAP@3"], ranked["Recall@3"]] == [2, 2]
    assert ranked.notes == ("1 document of a topic ranked again and kept: each counts, so that recall may exceed 1",)
    judged = trecpy.qilin({1: ["a", "b", "b"]}, {1: ["a", "x", "b"]}, k=3)
    assert [judged["MAP@3"], judged["Recall@3"]] == pytest.approx([0.5556, 0.6667], abs=5e-5)
    assert judged.notes == ("qrels: names a note again in 1 topic: each counts",)


def test_ties_stay_in_the_order_given() -> None:
    run = {1: {"b": 0.9, "a": 0.5, "x": 0.5}}
    assert trecpy.qilin({1: ["a"]}, run)["MRR@10"] == 0.5
    assert trecpy.evaluate({1: {"a": 1}}, run, "RR")["RR"] == pytest.approx(1 / 3)


def test_ids_are_strings_to_trec_eval() -> None:
    """Of equal scores "9" is before "10" there, whatever came first."""
    run = {1: {10: 0.5, 9: 0.5}}
    assert trecpy.qilin({1: [10]}, run)["MRR@10"] == 1
    assert trecpy.evaluate({1: {10: 1}}, run, "RR")["RR"] == 0.5


@pytest.mark.parametrize("first", [None, 2])
def test_no_topics_are_zeros(first: int | None) -> None:
    found = trecpy.qilin({1: ["a"]}, {2: ["a"]}, k=5, first=first)
    assert found == {"MRR@5": 0, "MAP@5": 0, "Recall@5": 0, "Precision@5": 0}
    assert (found.topics, found.notes) == (0, ("no topic is in both: all is 0",))


def test_first_topics() -> None:
    """By number, not as text."""
    qrels, run = {n: ["a"] for n in range(12)}, {n: ["a"] if n < 3 else ["x"] for n in range(12)}
    assert trecpy.qilin(qrels, run, first=3)["MRR@10"] == 1
    assert trecpy.qilin(qrels, run, first=4)["MRR@10"] == 0.75
    assert trecpy.qilin(qrels, run, first=12).topics == 12
    none = trecpy.qilin({5: ["a"]}, {5: ["a"]}, first=5)
    assert (none["MRR@10"], none.topics) == (0, 0)


NOTES = st.integers(0, 5)


@given(
    st.dictionaries(st.integers(0, 12), st.lists(NOTES, min_size=1, max_size=5), min_size=1, max_size=6),
    st.dictionaries(
        st.integers(0, 12), st.lists(st.tuples(NOTES, st.integers(0, 3)), min_size=1, max_size=8), max_size=6
    ),
    st.integers(1, 6),
)
def test_it_is_the_evaluators_rules(qrels: dict[int, list[int]], run: dict[int, list[tuple[int, int]]], k: int) -> None:
    """Lists, not sets; a stable sort by score."""
    rows = [(topic, note, float(score)) for topic, ranked in run.items() for note, score in ranked]
    totals = np.zeros(4)
    both = sorted(qrels.keys() & run.keys())
    for topic in both:
        ranking = [note for note, _ in sorted(run[topic], key=lambda pair: -pair[1])][:k]
        hits = [note in qrels[topic] for note in ranking]
        precisions = [sum(hits[: i + 1]) / (i + 1) for i in range(len(hits)) if hits[i]]
        first = 1 / (1 + hits.index(True)) if any(hits) else 0
        count = len(qrels[topic])
        totals += [first, sum(precisions) / min(count, k), sum(hits) / count, sum(hits) / k]
    found = trecpy.qilin(qrels, rows, k=k)
    assert list(found.values()) == pytest.approx(list(totals / max(len(both), 1)))


# Rows of the judgements in another order than the run's

_NOTHING = "no ranked document is judged: do ids differ?"


def _shown(topics: int, order: list[int]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Each topic's shown notes are its own; row `order[t]` of the judgements is topic t's."""
    shown = {topic: [10 * topic + n for n in range(10)] for topic in range(topics)}
    return {order[topic]: notes[:2] for topic, notes in shown.items()}, shown


def test_rows_in_another_order_are_suspected() -> None:
    rotated = [(topic + 7) % 30 for topic in range(30)]
    found = trecpy.qilin(*_shown(30, rotated))
    assert found.notes == (
        _NOTHING,
        "ranks 0 of 60 relevant notes for their own topic, and 60 only for others: are the rows of the judgements in "
        "the order that the run was made with?",
    )


def test_rows_in_order_are_not_suspected() -> None:
    assert trecpy.qilin(*_shown(30, list(range(30)))).notes == ()
    one_in_ten = [topic + (8 if topic % 10 == 1 else -1 if topic % 10 else 0) for topic in range(30)]
    assert trecpy.qilin(*_shown(30, one_in_ten)).notes == ()
    few = [(topic + 1) % 5 for topic in range(5)]
    assert trecpy.qilin(*_shown(5, few)).notes == (_NOTHING,)
    poor = {topic: [10**6 + topic] for topic in range(30)}  # no relevant note anywhere
    assert trecpy.qilin(_shown(30, list(range(30)))[0], poor).notes == (_NOTHING,)


# Forms and files

GOLD = "qid,pid\n0,5\n0,6\n10,7\n"
RUN = "qid,pid,score\n0,1,0.5\n0,5,.5\n10,9,2\n10,7,1e0\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold.csv").write_text(GOLD)
    (tmp_path / "run.csv").write_text(RUN)
    return tmp_path


def test_all_forms_give_the_same(folder: Path) -> None:
    expected = trecpy.qilin({0: [5, 6], 10: [7]}, {0: {1: 0.5, 5: 0.5}, 10: {9: 2.0, 7: 1.0}})
    assert (expected["MRR@10"], expected["Recall@10"]) == (0.5, 0.75)
    (folder / "sorted.csv").write_text(RUN.replace("score", "similarity").replace("\n", "\r\n"))
    (folder / "gold.qrels").write_text("0 0 5 1\n0 0 6 1\n10 0 7 1\n")
    (folder / "trec.run").write_text("0 Q0 1 1 .5 t\n0 Q0 5 2 .5 t\n10 Q0 9 1 2 t\n10 Q0 7 2 1 t\n")
    frame, ranked = pd.read_csv("gold.csv"), pd.read_csv("run.csv")
    golds: list[Any] = ["gold.csv", folder / "gold.csv", "gold.qrels", frame, pl.from_pandas(frame)]
    golds += [pa.Table.from_pandas(frame), frame.assign(label=1), {"0": {"5": 1, "6": 1}, "10": {"7": 1}}]
    for gold in golds:
        assert trecpy.qilin(gold, "run.csv") == expected
    similar = ranked.rename(columns={"score": "similarity"})
    for run in ["sorted.csv", "trec.run", ranked, similar, pl.from_pandas(similar)]:
        assert trecpy.qilin("gold.csv", run) == expected


def test_command(folder: Path) -> None:
    outcome = command("qilin", "gold.csv", "run.csv", "run.csv", "-k", "1", "-k", "10", "--first", "10", "--ap", "rel")
    header, *rows, protocol = outcome.out.decode().splitlines()
    assert header.split() == ["run", "topics", *(f"{m}@{k}" for k in (1, 10) for m in QILIN)]
    assert [row.split() for row in rows] == [
        ["run.csv", "1", *["0.0000"] * 4, "0.5000", "0.2500", "0.5000", "0.1000"]
    ] * 2
    assert (protocol, outcome.said, outcome.code) == ("protocol: qilin, ap=rel, first=10", [], 0)
    (record,) = map(json.loads, command("qilin", "gold.csv", "run.csv", "--format", "jsonl").out.splitlines())
    assert record == {"run": "run.csv", "topics": 2, **trecpy.qilin("gold.csv", "run.csv")}


QILIN = ("MRR", "MAP", "Recall", "Precision")


def test_oddities_are_said(folder: Path) -> None:
    (folder / "run.csv").write_text(RUN + "10,7,0\n")
    outcome = command("qilin", "gold.csv", "run.csv")
    again = "1 document of a topic ranked again and kept: each counts, so that recall may exceed 1"
    assert (outcome.code, outcome.said) == (0, [f"warning: run.csv: {again}"])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("run.csv", "qid,pid\n0,1\n", "run.csv:1: expected a column of scores or ranks"),
        ("gold.csv", "0,1\n0,2\n", "gold.csv:1: expected lines of"),
        ("gold.csv", "qid,pid\n0,1\n0,a\n", "gold.csv:3: expected an integer as pid, found 'a'"),
        ("gold.csv", "qid,pid\n0,a\n0,b\n", "gold.csv:2: expected an integer as pid, found 'a'"),
        ("gold.csv", "qid,pid\n0,1.0\n0,2.0\n", "gold.csv:2: expected an integer as pid, found '1.0'"),
        ("gold.csv", "qid,pid\n0,1\n0,02\n", "gold.csv:3: expected an integer as pid, found '02'"),
        ("gold.csv", "qid,pid\nx,1\n", "gold.csv:2: expected an integer as qid, found 'x'"),
        ("gold.csv", "qid,pid\n0,1\n\n00,1\n", "gold.csv:4: expected an integer as qid, found '00'"),
        ("gold.csv", "0 0 1 1\n0 0 a 1\n", "gold.csv:2: expected an integer as pid, found 'a'"),
        ("gold.csv", '{"0": {"5": 1},\n "1": {"5": 1, "-5": 1}}', "gold.csv:2: topic '1': expected an integer as pid"),
        ("gold.csv", "qid,pid\n", "gold.csv: has no records"),
        ("run.csv", "qid,pid,score\n", "run.csv: has no records: expected a run"),
        ("run.csv", "qid,pid,score\n0,5,9\nx,5,9\n", "run.csv:3: expected an integer as qid, found 'x'"),
        ("run.csv", "qid,pid,score\n00,5,9\n", "run.csv:2: expected an integer as qid, found '00'"),
        ("run.csv", "0 Q0 5 1 9 t\n0 Q0 x 2 8 t\n", "run.csv:2: expected an integer as pid, found 'x'"),
        (
            "run.csv",
            '{"qid": 0, "pid": 5, "score": 1}\n{"qid": 0, "pid": "x", "score": 1}',
            "run.csv:2: expected an int",
        ),
        ("gold.csv", "qid,pid\n0,1\n0\n", "gold.csv:3: expected 2 columns, found 1"),
        (
            "run.csv",
            "qid,pid,score\n0,5,9\n10,1,9\n10,7.0,8\n",
            "run.csv:4: expected an integer as pid, found '7.0'",
        ),
        ("run.csv", "qid,pid,score\n0,1,x\n", "run.csv:2: expected a score, a number, found 'x'"),
        ("run.csv", "qid,pid,score\n0,1,1\n0,2,nan\n", "run.csv:3: expected a score, a number, found 'nan'"),
        (
            "run.csv",
            'qid,pid,score\n0,"1\n',
            "run.csv:2: expected the end of a field in quotes, found the end of the file",
        ),
        ("run.csv", b"qid,pid,score\n0,\xff,1\n", "run.csv:2: expected an integer as pid, found '"),
        ("run.csv", "", "run.csv: "),
        ("gold.csv", "", "gold.csv: "),
    ],
)
def test_files_that_cannot_be_read(folder: Path, name: str, content: str | bytes, said: str) -> None:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    outcome = command("qilin", "gold.csv", "run.csv")
    assert (outcome.code, outcome.out, len(outcome.said)) == (2, b"", 1)
    assert outcome.said[0].startswith("error: " + said)


def test_what_cannot_be_read_again_is_named_too(folder: Path) -> None:
    """A pipe has no lines any more; a frame may have a column 'name'."""
    reading, writing = os.pipe()
    os.write(writing, b"0 Q0 5 1 9 t\n0 Q0 x 2 8 t\n")
    os.close(writing)
    outcome = command("qilin", "gold.csv", f"/dev/fd/{reading}")
    os.close(reading)
    assert outcome.said == [f"error: a pipe (/dev/fd/{reading}): topic '0': expected an integer as pid, found 'x'"]
    outcome = command("qilin", "gold.csv", "-", stdin=b"0 Q0 x 2 8 t\n")
    assert outcome.said == ["error: standard input: topic '0': expected an integer as pid, found 'x'"]
    frame = pd.DataFrame({"qid": ["1", "q"], "pid": ["1", "2"], "name": ["a", "b"]})
    with pytest.raises(InputError, match=r"^qrels: expected an integer as qid, found 'q'"):
        trecpy.qilin(frame, {"1": ["1"]})


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["gold.csv"], 1, "expected QRELS RUN..., found no RUN"),
        (["gold.csv", "nowhere"], 2, "nowhere: cannot be read"),
        (["nowhere", "run.csv"], 2, "nowhere: cannot be read"),
        (
            ["gold.csv", "run.csv", "-k", "0"],
            1,
            "argument -k: expected an integer >= 1 of at most 18 digits, found '0'",
        ),
        (["gold.csv", "run.csv", "-k", "-1"], 1, "argument -k: expected"),
        (["gold.csv", "run.csv", "-k", "9" * 19], 1, "argument -k: expected an integer >= 1 of at most 18 digits"),
        (["gold.csv", "run.csv", "--first", "0"], 1, "argument --first: expected an integer >= 1"),
        (["gold.csv", "other.csv"], 7, "other.csv: no topic is both judged and ranked"),
        (["-", "-"], 1, "expected '-', standard input, once"),
        (["--make-qrels", "one.parquet", "--ap", "rel"], 1, "expected no --ap with --make-qrels"),
        (["--make-qrels", "one.parquet", "-k", "3"], 1, "expected no -k with --make-qrels"),
        (["--make-qrels", "one.parquet", "--format", "table"], 1, "expected no --format with --make-qrels"),
        (["gold.csv", "run.csv", "--ap", "all"], 1, "argument --ap: invalid choice"),
        (["--make-qrels", "gold.csv"], 2, "gold.csv: expected a Parquet file"),
        (["--make-qrels", "nowhere"], 2, "nowhere: cannot be read"),
    ],
)
def test_mistakes_are_one_line(folder: Path, arguments: list[str], code: int, said: str) -> None:
    (folder / "other.csv").write_text("qid,pid,score\n7,5,1\n")
    outcome = command("qilin", *arguments)
    assert (outcome.code, outcome.out, len(outcome.said)) == (code, b"", 1)
    assert outcome.said[0].startswith("error: " + said)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"ap": "all"}, "ap: expected 'rel', 'min', 'hits'"),
        ({"rr": "both"}, "rr: expected 'cut', 'uncut'"),
        ({"k": ()}, "k: expected integers >= 1"),
        ({"k": "10"}, "k: expected integers >= 1"),
        ({"first": True}, "first: expected an integer >= 1"),
        ({"first": 3}, "first: expected topics that are row numbers, found 'q'"),
        ({"k": 10**18}, "k: expected integers >= 1 and below"),
        ({"qrels": {"q": ["a"], "1": ["a"]}}, "qrels: expected an integer as qid, found 'q'"),
        ({"qrels": {"q": ["a", "5"]}}, "qrels: topic 'q': expected an integer as pid, found 'a'"),
        ({"qrels": {"00": ["a"]}}, "qrels: expected an integer as qid, found '00'"),
        ({"qrels": {"q": ["1.0"]}}, "qrels: topic 'q': expected an integer as pid, found '1.0'"),
        ({"qrels": {1: ["a"]}}, "run: expected an integer as qid, found 'q'"),
        ({"qrels": {"q": 5}}, "qrels: topic 'q': expected a list of notes, found 5"),
        ({"qrels": {"q": "23"}}, "qrels: topic 'q': expected a list of notes, found '23'"),
        ({"qrels": {"q": [1]}}, "run: topic 'q': expected an integer as pid, found 'a'"),
    ],
)
def test_arguments_that_cannot_be(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        trecpy.qilin(**{"qrels": {"q": ["a"]}, "run": {"q": ["a"]}, **arguments})


@pytest.mark.parametrize("column", ["search_result_details_with_idx", "rec_result_details_with_idx"])
@pytest.mark.parametrize("kind", [float, int])
def test_judgements_from_parquet(folder: Path, column: str, kind: type) -> None:
    """Clicked notes; a row is a topic, counted through all parts; rows without a click have none."""

    def notes(*pairs: tuple[int, int]) -> list[dict[str, Any]]:
        return [{"note_idx": kind(note), "position": 0, "click": kind(click)} for note, click in pairs]

    rows = [notes((5, 1), (6, 0), (4, 1)), [], None, notes((7, 1), (7, 1))]
    pq.write_table(pa.table({"query": list("abcd"), column: rows}), "one.parquet", row_group_size=2)
    pq.write_table(pa.table({column: [notes((8, 1))] * 1500}), "two.parquet")
    outcome = command("qilin", "--make-qrels", "one.parquet", "two.parquet")
    first = "qid,pid\n0,5\n0,4\n3,7\n3,7\n"
    assert outcome.out.decode() == first + "".join(f"{row},8\n" for row in range(4, 1504))
    (folder / "made.csv").write_bytes(outcome.out)
    assert trecpy.qilin("made.csv", {0: [4, 5]})["Recall@10"] == 1


def test_judgements_from_parquet_of_some_rows_and_from_standard_input(folder: Path) -> None:
    rows = [[{"note_idx": row, "click": 1}] for row in range(3000)]
    pq.write_table(pa.table({"search_result_details_with_idx": rows}), "one.parquet")
    raw = (folder / "one.parquet").read_bytes()
    outcome = command("qilin", "--make-qrels", "-", "--first", "1500", stdin=raw)
    assert outcome.out.decode() == "qid,pid\n" + "".join(f"{row},{row}\n" for row in range(1500))


def test_a_split_is_of_one_kind(folder: Path) -> None:
    shown = [[{"note_idx": 1, "click": 1}]]
    kinds = ["search_result_details_with_idx", "rec_result_details_with_idx"]
    pq.write_table(pa.table({kinds[0]: shown}), "search.parquet")
    pq.write_table(pa.table({kinds[1]: shown}), "rec.parquet")
    pq.write_table(pa.table(dict.fromkeys(kinds, shown)), "both.parquet")
    outcome = command("qilin", "--make-qrels", "search.parquet", "rec.parquet")
    assert (outcome.code, outcome.said) == (
        2, [f"error: rec.parquet: expected {kinds[0]} as in the file before, found {kinds[1]}"]
    )  # fmt: skip
    outcome = command("qilin", "--make-qrels", "both.parquet")
    assert (outcome.code, outcome.out) == (2, b"")
    assert outcome.said == [f"error: both.parquet: expected a column {' or '.join(kinds)}, found both"]


def test_what_is_said_of_judgements_and_runs(folder: Path) -> None:
    """Of the judgements once, whatever the runs; of a run which topics are left out."""
    (folder / "gold.csv").write_text(GOLD + "0,6\n12,1\n")
    (folder / "more.csv").write_text(RUN + "11,1,1\n")
    outcome = command("qilin", "gold.csv", "run.csv", "more.csv")
    lacks = "lacks 1 of 3 judged topics; they are left out of the means"
    assert (outcome.code, outcome.said) == (0, [
        "warning: gold.csv: names a note again in 1 topic: each counts", f"warning: run.csv: {lacks}",
        f"warning: more.csv: {lacks}", "warning: more.csv: has 1 topic without judgements; they are left out",
    ])  # fmt: skip
    assert command("qilin", "gold.csv", "more.csv", "--first", "11").said == outcome.said[:1]


def test_parquet_of_something_else(folder: Path) -> None:
    pq.write_table(pa.table({"query": ["a"]}), "other.parquet")
    outcome = command("qilin", "--make-qrels", "other.parquet")
    assert outcome.said == [
        "error: other.parquet: expected a column search_result_details_with_idx or rec_result_details_with_idx, found "
        "query"
    ]
    pq.write_table(pa.table({"rec_result_details_with_idx": ["[]"]}), "toy.parquet")
    outcome = command("qilin", "--make-qrels", "toy.parquet")
    assert (outcome.code, outcome.out) == (2, b"")
    assert "expected lists of records with note_idx and click" in outcome.said[0]
    pq.write_table(pa.table({"rec_result_details_with_idx": [[{"note_idx": 1.5, "click": 1}]]}), "half.parquet")
    assert command("qilin", "--make-qrels", "half.parquet").said == [
        "error: half.parquet: row 0: note_idx: expected an integer, found 1.5"
    ]
