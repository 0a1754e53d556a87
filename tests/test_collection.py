"""Judgements and runs as objects: made from anything, reusable, picklable, the same whatever they were made from."""

import io
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Collection, collections, text
from test_api import QRELS, RUN, arrays, columns, numbers, polars, rows

import trecpy
from trecpy.errors import FormatError, InputError, NothingScoredError

NAMES = ["map", "ndcg", "P_2", "recip_rank"]


def all_qrels(qrels: dict[str, dict[str, int]]) -> list[trecpy.Qrels]:
    lines = Collection(qrels, {}).qrels_lines()
    return [
        trecpy.Qrels.from_dict(qrels),
        trecpy.Qrels.from_dict({t: dict(reversed(docs.items())) for t, docs in reversed(qrels.items())}),
        trecpy.Qrels.from_tuples(iter(rows(qrels))),
        trecpy.Qrels.from_frame(polars(qrels, "relevance")),
        trecpy.Qrels.from_arrays(*arrays(qrels)),
        trecpy.Qrels.read(io.BytesIO(text(lines))),
        trecpy.Qrels.read(io.BytesIO(text(lines)), fractions=True),
    ]


def all_runs(run: dict[str, dict[str, float]]) -> list[trecpy.Run]:
    lines = [f"{t} Q0 {d} 1 {score!r} tag" for t, d, score in rows(run)]
    return [
        trecpy.Run.from_dict(run),
        trecpy.Run.from_dict(dict(reversed(run.items()))),
        trecpy.Run.from_tuples(iter(rows(run))),
        trecpy.Run.from_frame(polars(run, "score")),
        trecpy.Run.from_arrays(*columns(run)),
        trecpy.Run.read(io.BytesIO(text(lines))),
    ]


@given(collections())
def test_the_same_whatever_they_are_made_from(collection: Collection) -> None:
    qrels, runs = all_qrels(collection.qrels), all_runs(numbers(collection))
    assert len({each.fingerprint for each in qrels}) == len({each.fingerprint for each in runs}) == 1
    try:
        expected = trecpy.evaluate(collection.qrels, numbers(collection), NAMES)
    except NothingScoredError:
        return
    assert (expected.fingerprint["qrels"], expected.fingerprint["run"]) == (qrels[0].fingerprint, runs[0].fingerprint)
    for judged in qrels:
        evaluator = trecpy.Evaluator(pickle.loads(pickle.dumps(judged)), NAMES)
        for run in runs:
            assert evaluator.evaluate(pickle.loads(pickle.dumps(run))).to_dict() == expected.to_dict()


@given(collections(), st.data())
def test_anything_that_differs_has_another_fingerprint(collection: Collection, data: st.DataObject) -> None:
    run = numbers(collection)
    topic = data.draw(st.sampled_from(sorted(run)))
    docno = data.draw(st.sampled_from(sorted(run[topic])))
    before = trecpy.Run.from_dict(run).fingerprint
    for other in ({**run[topic], docno: 0.125}, {**run[topic], docno + "x": 1.0}, {}):
        assert trecpy.Run.from_dict({**run, topic: other}).fingerprint != before
    qrels = trecpy.Qrels.from_dict(collection.qrels).fingerprint
    topic, docs = next(iter(collection.qrels.items()))
    docno, level = next(iter(docs.items()))
    for changed in (level + 1, level + 0.5):
        other = trecpy.Qrels.from_dict({**collection.qrels, topic: {**docs, docno: changed}})
        assert other.fingerprint != qrels or level < 0  # of levels below 0 only that they are is kept


def test_fingerprints_say_what_was_scored_and_how() -> None:
    first, again = (trecpy.evaluate(QRELS, RUN, "map") for _ in range(2))
    assert first.fingerprint == again.fingerprint
    assert first.fingerprint["version"] == trecpy.__version__
    assert trecpy.evaluate(QRELS, RUN, "map", depth=1).fingerprint["protocol"] != first.fingerprint["protocol"]
    parts = [trecpy.evaluate({t: QRELS[t]}, {t: RUN[t]}, "map") for t in QRELS]
    assert trecpy.merge(*parts).fingerprint == first.fingerprint
    rankings = trecpy.evaluate(QRELS, {"q1": ["a", "b"]}, "map").fingerprint
    assert rankings != trecpy.evaluate(QRELS, {"q1": ["b", "a"]}, "map").fingerprint


def test_columns_by_keyword() -> None:
    qrels = pd.DataFrame({"who": ["q1"], "what": ["a"], "how much": [1]})
    run = pd.DataFrame({"who": ["q1"], "what": ["a"], "how much": [0.5], "score": [9.0]})
    judged = trecpy.Qrels.from_frame(qrels, topic="who", docno="what", level="how much")
    ranked = trecpy.Run.from_frame(run, topic="who", docno="what")
    assert trecpy.evaluate(judged, ranked, "map")["map"] == 1.0
    with pytest.raises(InputError, match=r"run: expected a column of values called sore; found who, what"):
        trecpy.Run.from_frame(run, topic="who", docno="what", score="sore")
    with pytest.raises(InputError, match="run: expected a frame, whose columns have names, found dict"):
        trecpy.Run.from_frame(RUN, topic="who")


def test_what_they_say() -> None:
    judged, ranked = trecpy.Qrels.from_dict(QRELS), trecpy.Run.read(io.BytesIO(b"b Q0 x 1 1 t\na Q0 x 1 1 mine\n"))
    assert (judged.topics, len(judged), repr(judged)) == (("q1", "q2"), 2, "<Qrels: 2 topics, 4 documents>")
    assert (ranked.topics, len(ranked), repr(ranked)) == (("b", "a"), 2, "<Run: 2 topics, 2 documents>")
    assert ranked.tag == b"mine"


@pytest.mark.parametrize(
    ("form", "lines", "measure", "value"),
    [
        ("qrels_jg", "1 g a 1\n1 h a 0\n1 h b 1\n", "map_avgjg", 3 / 4),
        ("prefs", "1 g 1 a 2\n1 g 1 b 1\n", "prefs_simp", 1.0),
        ("qrels_prefs", "1 g a 2\n1 g b 1\n", "prefs_simp", 1.0),
    ],
)
def test_other_forms_of_judgements(tmp_path: Path, form: str, lines: str, measure: str, value: float) -> None:
    (tmp_path / "judged").write_text(lines)
    judged = trecpy.Qrels.read(tmp_path / "judged", form=form)
    assert trecpy.evaluate(judged, {"1": ["a", "b"]}, measure)[measure] == value
    assert len(judged.fingerprint) == 64
    assert judged.fingerprint == trecpy.Qrels.read(io.BytesIO(lines.encode()), form=form).fingerprint


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: trecpy.Qrels.read("/nowhere/qrels"), "cannot be"),
        (lambda: trecpy.Qrels.read({}), "qrels: expected a path or a binary file, found dict"),
        (lambda: trecpy.Qrels.read(io.BytesIO(b"1 0 a 1\n"), form="beir"), "form: expected 'qrels', .* found 'beir'"),
        (
            lambda: trecpy.Qrels.read(io.BytesIO(b"1 0 a 1\n"), compat="8"),
            "compat: expected '10.0', '9.0.8', found '8'",
        ),
        (lambda: trecpy.Qrels.read(io.BytesIO(b"1 0 a 1\n1 0 a 0\n")), "expected a document once, found 'a' twice"),
        (lambda: trecpy.Qrels.from_dict([]), "qrels: expected a mapping, found list"),
        (lambda: trecpy.Run.from_dict([]), "run: expected a mapping, found list"),
        (lambda: trecpy.Run.read(3), "run: expected a path or a binary file, found int"),
        (lambda: trecpy.Run.from_tuples([("q", "a")]), "row 0: expected .topic, docno, value."),
    ],
)
def test_what_is_wrong_is_named(make: Any, said: str) -> None:
    with pytest.raises((InputError, FormatError, trecpy.FileError), match=said):
        make()
