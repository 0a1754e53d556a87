"""What levels are worth: fractions, powers of two, a table; and ERR, which has its own scale."""

import io
import math
import shutil
from typing import Any

import ir_measures
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st
from strategies import Collection, collections
from test_api import numbers

import trecpy
from trecpy.errors import FormatError, InputError, NothingScoredError, ParameterError, TopicError

GRADED = ["ndcg", "ndcg_cut_3", "dcg", "DCG@2", "ideal_dcg", "ndcg_rel"]
BINARY = ["map", "P_2", "recip_rank", "bpref", "num_rel", "num_rel_ret", "11pt_avg", "infAP"]


def scaled(collection: Collection, factor: float) -> dict[str, dict[str, float]]:
    return {t: {d: level * factor for d, level in docs.items()} for t, docs in collection.qrels.items()}


@given(collections(lowest=0), st.integers(1, 4), st.sampled_from([1.0, 0.25, 2.0**-20]))
def test_fractions_are_levels_on_another_scale(collection: Collection, level: int, factor: float) -> None:
    """A power of two scales every sum exactly, so that nDCG stays the same double."""
    run = numbers(collection)
    whole = trecpy.evaluate(collection.qrels, run, GRADED + BINARY, relevance_level=level)
    qrels = scaled(collection, factor)
    parts = trecpy.evaluate(qrels, run, GRADED + BINARY, relevance_level=level * factor, gains="float")
    for name in whole.columns:
        grows = factor if name in ("dcg", "DCG@2", "ideal_dcg") else 1.0
        assert [row[name] for row in parts.to_dict().values()] == [
            row[name] * grows for row in whole.to_dict().values()
        ], name


@given(collections(lowest=0))
def test_fractions_by_definition(collection: Collection) -> None:
    gain = {0: 0.0, 1: 0.3, 2: 0.35, 3: 0.9, 4: 7.25}
    qrels = {t: {d: gain[level] for d, level in docs.items()} for t, docs in collection.qrels.items()}
    run = {t: sorted(docs) for t, docs in collection.run.items()}
    found = trecpy.evaluate(
        qrels, run, ["ndcg_cut_3", "ERR@3"], gains="float", max_grade=8, relevance_level=0.5
    ).to_dict()
    for topic in found.keys() & run.keys():
        graded = [qrels[topic].get(docno, 0.0) for docno in run[topic][:3]]
        ideal = sorted(qrels[topic].values(), reverse=True)[:3]
        sums = [sum(g / math.log2(i + 2) for i, g in enumerate(gains)) for gains in (graded, ideal)]
        assert found[topic]["ndcg_cut_3"] == pytest.approx(sums[0] / sums[1] if sums[1] else 0.0, rel=1e-12)
        going, err = 1.0, 0.0
        for i, g in enumerate(graded):
            stops = (2**g - 1) / 2**8
            err, going = err + going * stops / (i + 1), going * (1 - stops)
        assert found[topic]["ERR@3"] == pytest.approx(err, rel=1e-12)


@given(collections(lowest=0), st.sampled_from(["exp", {1: 3, 2: 1, 4: 9}, {0: 2}]))
def test_gains_are_those_of_judgements_that_say_them(collection: Collection, gains: Any) -> None:
    def gain(level: int) -> int:
        return 2**level - 1 if gains == "exp" else gains.get(level, level)

    run = numbers(collection)
    said = {t: {d: gain(level) for d, level in docs.items()} for t, docs in collection.qrels.items()}
    theirs = pytrec_eval.RelevanceEvaluator(said, {"ndcg", "ndcg_cut.1,3"}).evaluate(run)
    try:
        ours = trecpy.evaluate(
            collection.qrels, run, ["ndcg", "ndcg_cut.1,3"], gains=gains, compat="9.0.8", topics="both"
        ).to_dict()
    except NothingScoredError:
        ours = {}
    assert ours == theirs


def test_a_table_of_gains_is_sorted_by_gain() -> None:
    qrels, run = {"q": {"a": 1, "b": 2, "c": 3}}, {"q": ["c", "a", "b"]}
    gains = {1: 0.2, 2: 0.1, 3: 0.9}  # closer than 1: trec_eval would not sort them
    assert trecpy.evaluate(qrels, run, "ndcg", gains=gains)["ndcg"] == 1.0


@pytest.mark.skipif(shutil.which("perl") is None, reason="ir_measures runs gdeval in Perl")
def test_err_and_exponential_ndcg_are_those_of_gdeval() -> None:
    qrels = {"1": {"a": 4, "b": 0, "c": 2, "d": 1}, "2": {"a": 3, "e": 3}, "3": {"a": 1}}
    run = {"1": {"b": 9.0, "c": 8.0, "x": 7.0, "a": 6.0}, "2": {"e": 2.0, "x": 1.0}, "3": {"x": 1.0, "a": 0.5}}
    asked = [ir_measures.ERR @ 2, ir_measures.ERR @ 20, ir_measures.nDCG(dcg="exp-log2") @ 3]
    theirs = {(m.query_id, m.measure): m.value for m in ir_measures.gdeval.iter_calc(asked, qrels, run)}
    for measure in asked:
        ours = trecpy.evaluate(qrels, run, measure)
        for topic, row in ours.to_dict().items():
            assert row[ours.columns[0]] == pytest.approx(theirs[topic, measure], abs=5e-6)  # it prints 5 decimals


def test_a_grade_above_the_scale_is_an_error() -> None:
    with pytest.raises(
        TopicError,
        match=r"qrels: topic 'q': document 'a': expected grades up to max_grade=4 \(ERR needs the scale\), found 5",
    ):
        trecpy.evaluate({"q": {"a": 5}}, {"q": ["a"]}, "ERR@10")
    assert trecpy.evaluate({"q": {"a": 5}}, {"q": ["a"]}, "ERR@10", max_grade=5)["ERR@10"] == 31 / 32
    assert trecpy.evaluate({"q": {"a": 5}}, {"q": ["a"]}, "ERR(max_grade=5)@10").summary == {
        "ERR(max_grade=5)@10": 31 / 32
    }


def test_fractions_are_never_cut_in_silence() -> None:
    qrels = {"q": {"a": 1, "b": 0.5}}
    said = r"row 1 \(topic 'q', docno 'b'\): expected an integer level, found 0.5; gains='float' takes fractions"
    with pytest.raises(InputError, match=said):
        trecpy.evaluate(qrels, {"q": ["a"]}, "map")
    with pytest.raises(InputError, match=r"topic 'q', docno 'b': expected an integer level, found 0.5; gains='float'"):
        trecpy.evaluate(trecpy.Qrels.from_dict(qrels), {"q": ["a"]}, "map")
    with pytest.raises(FormatError, match=r"qrels:1: column 4 .*found '0.5'; gains='float' takes fractions"):
        trecpy.evaluate(io.BytesIO(b"q 0 a 0.5\n"), {"q": ["a"]}, "map")
    for judged in (qrels, trecpy.Qrels.from_dict(qrels), io.BytesIO(b"q 0 a 1\nq 0 b 0.5\n")):
        found = trecpy.evaluate(judged, {"q": ["b"]}, ["P_1", "DCG@1", "relstring"], gains="float", relevance_level=0.5)
        assert (found.summary, found.texts) == ({"P_1": 1.0, "DCG@1": 0.5}, {"relstring": ["0"]})
    assert trecpy.evaluate({"q": {"a": 2.0}}, {"q": ["a"]}, "map")["map"] == 1.0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gains": "exponential"}, "gains: expected 'level', 'float', 'exp', 'binary' or {level >= 0: finite gain}"),
        ({"gains": {-1: 2}}, "gains: expected"),
        ({"gains": {1: math.nan}}, "gains: expected"),
        ({"gains": {}}, "gains: expected"),
        ({"relevance_level": 0.5}, "relevance_level: expected an integer of 64 bits, found 0.5"),
    ],
)
def test_gains_that_are_none(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        trecpy.Protocol(**options)


def test_gains_that_do_not_fit() -> None:
    with pytest.raises(ParameterError, match="expected levels below 1024 where gains are 2\\^level - 1, found 2000"):
        trecpy.evaluate({"q": {"a": 2000}}, {"q": ["a"]}, "ndcg", gains="exp")
    with pytest.raises(ParameterError, match="no level=gain parameters where levels are fractions"):
        trecpy.evaluate({"q": {"a": 0.5}}, {"q": ["a"]}, "ndcg.1=2", gains="float")
    with pytest.raises(InputError, match="expected a finite level, found inf"):
        trecpy.evaluate({"q": {"a": math.inf}}, {"q": ["a"]}, "ndcg", gains="float")
