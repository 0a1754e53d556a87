"""Scoring from Python: whatever it is given as, the same core gives the same doubles; what is wrong is named."""

import io
import itertools
import json
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import by_topic, ours
from strategies import SCORES, Collection, collections, text

import trecpy
from trecpy.errors import (
    FormatError,
    InputError,
    MeasureError,
    NothingScoredError,
    ParameterError,
    TopicError,
)
from trecpy.numbers import strtod
from trecpy.registry import catalogue

NAMES = [name for name, each in catalogue().items() if each.needs == ("qrels",) and each.known_to("10.0")]
NAMES_9 = [name for name in NAMES if catalogue()[name].known_to("9.0.8")]
QRELS = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 1}}
RUN = {"q1": {"a": 1.0, "b": 2.0, "x": 0.5}, "q2": {"x": 3.0, "a": 2.0}}


def numbers(collection: Collection) -> dict[str, dict[str, float]]:
    return {t: {d: strtod(s.encode())[0] for d, s in docs.items()} for t, docs in collection.run.items()}


def rows(nested: dict[str, dict[str, Any]]) -> list[tuple[str, str, Any]]:
    return [(topic, docno, value) for topic, docs in nested.items() for docno, value in docs.items()]


def columns(nested: dict[str, dict[str, Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows(nested), strict=True)]


def frame(nested: dict[str, dict[str, Any]], value: str, **dtypes: str) -> pd.DataFrame:
    topics, docnos, values = columns(nested)
    table = pd.DataFrame({"qid": topics, "docno": docnos, value: values})
    return table.astype(dtypes) if dtypes else table


def arrays(nested: dict[str, dict[str, Any]]) -> tuple[Any, ...]:
    topics, docnos, values = columns(nested)
    return np.array(topics, object), np.array(docnos, object), np.array(values)


def polars(nested: dict[str, dict[str, Any]], value: str) -> pl.DataFrame:
    topics, docnos, values = columns(nested)
    return pl.DataFrame({"query_id": topics, "doc_id": docnos, value: values})


def doubled(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table])


FORMS: dict[str, Callable[[dict[str, dict[str, Any]], str], Any]] = {
    "dict": lambda nested, _: nested,
    "tuples": lambda nested, _: rows(nested),
    "iterator": lambda nested, _: iter(rows(nested)),
    "arrays": lambda nested, _: arrays(nested),
    "pandas": lambda nested, value: frame(nested, value),
    "pandas arrow": lambda nested, value: frame(nested, value, qid="string[pyarrow]", docno="string[pyarrow]"),
    "pandas category": lambda nested, value: frame(nested, value, qid="category", docno="category"),
    "polars": polars,
    "pyarrow": lambda nested, value: polars(nested, value).to_arrow(),
    "pyarrow sliced": lambda nested, value: doubled(polars(nested, value).to_arrow()).slice(len(rows(nested))),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@given(collections())
@settings(max_examples=30)
def test_whatever_it_is_given_as_the_doubles_are_the_same(form: str, collection: Collection) -> None:
    try:
        expected = by_topic(ours(collection, NAMES, trecpy.Protocol()))
    except NothingScoredError:
        return
    values = trecpy.evaluate(
        FORMS[form](collection.qrels, "relevance"), FORMS[form](numbers(collection), "score"), NAMES
    )
    assert repr(values.to_dict()) == repr(
        {t: {n: v for n, v in row.items() if n != "relstring"} for t, row in expected.items()}
    )


@given(collections())
def test_files_in_memory_and_on_disk(collection: Collection) -> None:
    expected = trecpy.evaluate(collection.qrels, numbers(collection), ["map", "ndcg"])
    files = [io.BytesIO(text(lines)) for lines in (collection.qrels_lines(), collection.run_lines())]
    assert trecpy.evaluate(*files, ["map", "ndcg"]).to_dict() == expected.to_dict()


def test_paths(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 2 tag\n")
    assert trecpy.evaluate(str(tmp_path / "qrels"), tmp_path / "run", "map").summary == {"map": 1.0}


@given(st.dictionaries(st.sampled_from("abcdef"), st.permutations("uvwxyz"), min_size=1))
def test_a_ranking_is_taken_in_its_order(rankings: dict[str, list[str]]) -> None:
    qrels = {topic: {docno: level for level, docno in enumerate("uvwxyz")} for topic in rankings}
    scores = {topic: {docno: -rank for rank, docno in enumerate(docnos)} for topic, docnos in rankings.items()}
    names = ["map", "ndcg", "recip_rank", "P_2"]
    assert trecpy.evaluate(qrels, rankings, names).to_dict() == trecpy.evaluate(qrels, scores, names).to_dict()


def test_rankings_stay_in_order_under_float32() -> None:
    many = {"big": ["x"] * (2**24 + 2), "q": ["a", "b", "c"]}
    assert trecpy.evaluate({"q": {"b": 1}}, many, "RR", compat="9.0.8", topics="both")["RR"] == 1 / 2


def test_ids_that_do_not_meet_are_noted() -> None:
    for run in ({"1": ["a"]}, {"1": {"a": 1.0}}, [("1", "a", 1.0)]):
        assert trecpy.evaluate({"01": {"a": 1}}, run, "map").notes == (
            "no topic is both in the run and judged: do ids differ?",
        )


def test_integers_mean_their_decimal_strings() -> None:
    values = trecpy.evaluate({1: {10: 1, 11: 0}}, {"1": {"10": 1.0, "11": 2.0}}, "map").to_dict()
    assert (
        values == trecpy.evaluate({"1": {"10": 1, "11": 0}}, {1: {np.int64(10): 1, np.int32(11): 2}}, "map").to_dict()
    )
    table = pd.DataFrame({"qid": [1, 1], "docno": [10, 11], "score": np.array([1, 2], np.float16)})
    assert values == trecpy.evaluate({"1": {"10": 1, "11": 0}}, table, "map").to_dict()


def test_nothing_that_is_given_is_changed() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 2.0}}
    table = frame(run, "score")
    copy = table.copy()
    trecpy.evaluate(qrels, run)
    trecpy.evaluate(qrels, table)
    assert (qrels, run) == ({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 2.0}})
    pd.testing.assert_frame_equal(table, copy)


# Conventions


def test_topics() -> None:
    run = {"q1": {"a": 1.0}, "q9": {"a": 1.0}}
    means = {topics: trecpy.evaluate(QRELS, run, "P_1", topics=topics)["P_1"] for topics in ("qrels", "both", "run")}
    assert means == {"qrels": 1 / 2, "both": 1.0, "run": 1 / 2}
    assert trecpy.evaluate(QRELS, run, "P_1", topics="run").topics == ("q1", "q9")
    with pytest.raises(TopicError, match=r"1 only in the qrels \('q2'\) and 1 only in the run \('q9'\)"):
        trecpy.evaluate(QRELS, run, "P_1", topics="same")
    assert trecpy.evaluate(QRELS, RUN, "P_1", topics="same").counts.missing == 0


def test_topics_that_are_empty() -> None:
    counts = trecpy.evaluate({**QRELS, "q3": {}}, {**RUN, "q2": {}}, NAMES).counts
    assert (counts.judged, counts.scored, counts.missing, counts.without_relevant) == (3, 3, 1, 1)
    assert trecpy.evaluate({"q": {}}, {"q": {"a": 1.0}}, "map").summary == {"map": 0.0}
    assert trecpy.evaluate(QRELS, {}, "map").summary == {"map": 0.0}
    with pytest.raises(NothingScoredError):
        trecpy.evaluate(QRELS, {}, "map", topics="both")
    for name in ("G", "ndcg.-1=2", "all_trec"):
        assert trecpy.evaluate({"q": {}}, {"q": ["a"]}, name, relevance_level=-1).counts.scored == 1


def test_counts_of_documents() -> None:
    run = [("q1", "a", 1.0), ("q1", "b", 1.0), ("q1", "x", 1.0), ("q1", "a", 0.5), ("q2", "y", 1.0), ("q9", "z", 1.0)]
    counts = trecpy.evaluate(QRELS, run, "map", duplicates="first").counts
    assert (counts.run, counts.ranked, counts.ranked_judged, counts.tied_pairs, counts.dropped) == (3, 4, 2, 3, 1)
    cut = trecpy.evaluate(QRELS, run, "map", duplicates="max", depth=1).counts
    assert (cut.ranked, cut.ranked_judged, cut.tied_pairs) == (2, 0, 3)


def test_duplicates() -> None:
    qrels, run = {"q": {"a": 1}}, [("q", "b", 1.0), ("q", "b", 3.0), ("q", "a", 2.0)]
    assert trecpy.evaluate(qrels, run, "map", duplicates="first")["map"] == 1.0
    assert trecpy.evaluate(qrels, run, "map", duplicates="max")["map"] == 1 / 2
    for depth in (None, 1):
        with pytest.raises(TopicError, match="topic 'q': expected a document once in the ranking, found 'b' twice"):
            trecpy.evaluate(qrels, run, "map", depth=depth)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 5)), min_size=1), st.sampled_from(["first", "max"]))
def test_duplicates_by_definition(pairs: list[tuple[str, int]], rule: str) -> None:
    kept: dict[str, int] = {}
    for docno, score in pairs:
        kept[docno] = max(kept.get(docno, score), score) if rule == "max" else kept.get(docno, score)
    qrels = {"q": {"a": 1, "b": 2, "c": 0}}
    given_twice = trecpy.evaluate(qrels, [("q", *pair) for pair in pairs], NAMES, duplicates=rule)
    assert repr(given_twice.to_dict()) == repr(trecpy.evaluate(qrels, {"q": kept}, NAMES).to_dict())


def test_ties_by_input_order() -> None:
    run = {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}
    assert trecpy.evaluate({"q": {"a": 1}}, run, "recip_rank")["RR"] == 1 / 3
    assert trecpy.evaluate({"q": {"a": 1}}, run, "recip_rank", ties="input")["RR"] == 1.0


def test_documents_that_are_their_own_topic_can_be_ignored() -> None:
    qrels, run = {"a": {"b": 1}}, {"a": {"a": 9.0, "b": 1.0}, "c": {"a": 1.0}}
    assert trecpy.evaluate(qrels, run, "recip_rank")["recip_rank"] == 1 / 2
    assert trecpy.evaluate(qrels, run, "recip_rank", ignore_self=True)["recip_rank"] == 1.0


def test_a_protocol_can_be_passed_whole_and_overridden() -> None:
    protocol = trecpy.Protocol(relevance_level=2, compat="9.0.8")
    assert trecpy.evaluate(QRELS, RUN, "num_rel_ret", protocol=protocol)["num_rel_ret"] == 0
    assert trecpy.evaluate(QRELS, RUN, "num_rel_ret", protocol=protocol, relevance_level=1)["num_rel_ret"] == 2


# Names


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("map", "map"), ("AP", "map"), ("MAP", "map"), ("ndcg_cut_10", "ndcg_cut_10"), ("ndcg_cut.10", "ndcg_cut_10"),
        ("nDCG@10", "ndcg_cut_10"), ("ndcg@10", "ndcg_cut_10"), ("P_5", "P_5"), ("P@5", "P_5"),
        ("precision@10", "P_10"),
        ("RR", "recip_rank"), ("mrr", "recip_rank"), ("RR@10", "RR@10"), ("mrr@10", "RR@10"), ("R@1000", "recall_1000"),
        ("hit_rate@5", "success_5"), ("P(rel=2)@5", "P(rel=2)@5"), ("AP(rel=2)", "AP(rel=2)"), ("AP@7", "map_cut_7"),
        ("Rprec", "Rprec"), ("iprec_at_recall_0.30", "iprec_at_recall_0.30"), ("IPrec@0.3", "iprec_at_recall_0.30"),
        ("first_rel_rank", "first_rel_rank"), ("NDCG", "ndcg"), ("Bpref", "bpref"), ("p_5", "P_5"),
        ("ndcg.1=2", "ndcg_1=2"), ("r_precision", "Rprec"), ("R-Precision", "Rprec"), ("hits@3", "hits@3"),
        ("Judged@10", "Judged@10"), ("judged", "Judged"), ("SetF(beta=0.5)", "set_F_0.5"), ("SetF", "set_F"),
        ("NumRet(rel=2)", "NumRet(rel=2)"), ("precision-l2@5", "P(rel=2)@5"), ("precision@5-l2", "P(rel=2)@5"),
        ("dcg@10", "DCG@10"), ("f1@10", "F1@10"), ("f1", "set_F"), ("rbp.95", "RBP(p=0.95)"),
        ("RBP(p=0.5)", "RBP(p=0.5)"),
        ("ndcg_burges@5", "nDCG(dcg='exp-log2')@5"), ("nDCG(dcg='log2')@5", "ndcg_cut_5"), ("err@20", "ERR@20"),
        ("nDCG(gains={1: 5})", "nDCG(gains={1: 5})"), ("AP(judged_only=True)@5", "AP(judged_only=True)@5"),
        ("SetP(relative=True)", "set_relative_P"), ("Accuracy@5", "Accuracy@5"), ("num_nonrel_judged_ret",) * 2,
    ],
)  # fmt: skip
def test_names_of_every_dialect(name: str, column: str) -> None:
    evaluation = trecpy.evaluate(QRELS, RUN, name)
    assert evaluation.columns == (column,)
    assert evaluation[name] == evaluation[column] == evaluation.summary[column]


@pytest.mark.parametrize(
    "name",
    ["P@0", "ndcg@-1", "nDCG@10.5", "P_0", "P@x", "nDCG(rel=2)@5", "P(foo=1)@5", "P(rel='x')@5", "RBP(p=2.0)",
     "ERR(rel=2)@5", "P(rel=2", "P(2)@5", "ndcg-l2@5", "ERR@x"],
)  # fmt: skip
def test_cutoffs_that_are_none(name: str) -> None:
    with pytest.raises((ParameterError, MeasureError)):
        trecpy.evaluate(QRELS, RUN, name)


def test_an_unknown_name_gets_the_nearest_ones() -> None:
    with pytest.raises(MeasureError, match=r"'ndgc@10' is not known; near it are .*ndcg"):
        trecpy.evaluate(QRELS, RUN, "ndgc@10")
    with pytest.raises(MeasureError, match="'bpref': expected one of map"):
        trecpy.evaluate(QRELS, RUN, "map")["bpref"]


def test_columns_with_conventions_of_their_own_stand_beside_the_others() -> None:
    names = [
        "nDCG@2",
        "nDCG(dcg='exp-log2')@2",
        "AP",
        "AP(judged_only=True)",
        "AP(rel=2)",
        "ERR(max_grade=2)@2",
        "ERR@2",
    ]
    found = trecpy.evaluate(QRELS, RUN, names)
    alone = [
        trecpy.evaluate(QRELS, RUN, "nDCG@2", gains="exp"),
        trecpy.evaluate(QRELS, RUN, "AP", judged_only=True),
        trecpy.evaluate(QRELS, RUN, "AP", relevance_level=2),
        trecpy.evaluate(QRELS, RUN, "ERR@2", max_grade=2),
    ]
    for name, other in zip((names[1], *names[3:6]), alone, strict=True):
        assert found[name] == other.per_query.mean()
    assert [found[name] for name in (names[0], "map", "ERR@2")] == [
        trecpy.evaluate(QRELS, RUN, name)[name] for name in (names[0], "map", "ERR@2")
    ]


def test_a_relevance_level_of_its_own() -> None:
    both = trecpy.evaluate(QRELS, RUN, ["P_2", "P(rel=2)@2", "num_rel"])
    assert both["P(rel=2)@2"] == trecpy.evaluate(QRELS, RUN, "P_2", relevance_level=2)["P_2"]
    assert both["P_2"] == trecpy.evaluate(QRELS, RUN, "P_2")["P_2"]


def test_measures_of_ir_measures_are_taken() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    evaluation = trecpy.evaluate(QRELS, RUN, [ir_measures.nDCG @ 10, ir_measures.AP(rel=2), ir_measures.RR])
    assert evaluation.columns == ("AP(rel=2)", "recip_rank", "ndcg_cut_10")


def test_reciprocal_rank_with_a_cutoff() -> None:
    qrels, run = {"q": {"c": 1}}, {"q": ["a", "b", "c"]}
    assert trecpy.evaluate(qrels, run, ["RR@2", "RR@3", "first_rel_rank"]).summary == {
        "RR@2": 0.0, "RR@3": 1 / 3, "first_rel_rank": 3.0,
    }  # fmt: skip


# Results


def test_what_an_evaluation_holds() -> None:
    evaluation = trecpy.evaluate(QRELS, RUN, ["map", "P_2", "relstring"])
    assert evaluation.topics == ("q1", "q2")
    assert evaluation.columns == ("map", "P_2", "relstring")
    assert evaluation.per_query.tolist() == [[1 / 4, 1 / 2, 0.0], [1 / 2, 1 / 2, 0.0]]
    assert evaluation.texts == {"relstring": ["01-", "-1"]}
    assert evaluation.summary == {"map": 3 / 8, "P_2": 1 / 2}
    assert evaluation.to_dict() == {"q1": {"map": 1 / 4, "P_2": 1 / 2}, "q2": {"map": 1 / 2, "P_2": 1 / 2}}
    assert json.loads(evaluation.to_json())["topics"]["q1"] == {"map": 1 / 4, "P_2": 1 / 2}
    assert "map  0.3750" in repr(evaluation)
    assert "<td>map</td><td>0.3750</td>" in evaluation._repr_html_()
    with pytest.raises(ValueError, match="read-only"):
        evaluation.per_query[0, 0] = 1.0
    evaluation.summary["map"] = 9.0
    assert evaluation["map"] == 3 / 8
    assert "AP" in evaluation
    assert "bpref" not in evaluation
    with pytest.raises(TypeError):
        list(evaluation)  # type: ignore[call-overload]


def test_ids_that_are_no_text_are_escaped_in_frames() -> None:
    evaluation = trecpy.evaluate({b"\xff": {"a": 1}}, {b"\xff": ["a"]}, "map")
    assert evaluation.topics == ("\udcff",)
    assert evaluation.to_pandas()["map"].to_dict() == {r"\xff": 1.0}
    assert evaluation.to_arrow().to_pydict() == {"topic": [r"\xff"], "map": [1.0]}


def test_frames() -> None:
    evaluation = trecpy.evaluate(QRELS, RUN, ["map", "relstring"])
    assert evaluation.to_pandas()["map"].to_dict() == {"q1": 1 / 4, "q2": 1 / 2}
    assert evaluation.to_polars().rows() == [("q1", 1 / 4), ("q2", 1 / 2)]
    assert evaluation.to_arrow().to_pydict() == {"topic": ["q1", "q2"], "map": [1 / 4, 1 / 2]}


@given(collections(), st.integers(0, 6), st.sampled_from(["qrels", "both"]))
def test_parts_merge_into_the_doubles_of_the_whole(collection: Collection, cut: int, topics: str) -> None:
    names = sorted(collection.qrels)
    parts = [{t: collection.qrels[t] for t in part} for part in (names[:cut], names[cut:]) if part]
    runs = numbers(collection)
    try:
        whole = trecpy.evaluate(collection.qrels, runs, [*NAMES, "num_q"], topics=topics)
        scored = [trecpy.evaluate(part, runs, [*NAMES, "num_q"], topics=topics) for part in parts]
    except NothingScoredError:
        return
    merged = trecpy.merge(*scored)
    assert repr(merged.summary) == repr(whole.summary)
    assert repr(merged.to_dict()) == repr(whole.to_dict())
    assert merged.texts == whole.texts


@pytest.mark.parametrize("topics", ["qrels", "both", "run"])
def test_runs_of_one_evaluator_merge(topics: str) -> None:
    evaluator = trecpy.Evaluator(QRELS, [*NAMES_9, "num_q"], compat="9.0.8", topics=topics)
    merged = evaluator.evaluate({"q1": RUN["q1"]}) + evaluator.evaluate({"q2": RUN["q2"]})
    whole = evaluator.evaluate(RUN)
    assert (repr(merged.summary), merged.counts) == (repr(whole.summary), whole.counts)


def test_without_a_witness() -> None:
    evaluator = trecpy.Evaluator({"q": {"a": 1}}, "map")
    run = {"q": {"a": 1.0, "b": 1.0}}
    known, bare = evaluator.evaluate(run), evaluator.evaluate(run, witness=False)
    assert (bare.summary, bare.counts) == (known.summary, known.counts)
    for evaluation in (bare, trecpy.merge(trecpy.evaluate({"r": {"a": 1}}, {"r": ["a"]}, "map"), bare)):
        with pytest.raises(InputError, match="fingerprint: expected an evaluation made with witness=True"):
            _ = evaluation.fingerprint
        with pytest.raises(InputError, match="tie_range: expected an evaluation made with witness=True"):
            evaluation.tie_range()


def test_what_does_not_merge() -> None:
    for wrong in ((), (1,), ([],)):
        with pytest.raises(InputError, match="merge: expected"):
            trecpy.merge(*wrong)
    a, b = trecpy.evaluate(QRELS, RUN, "map"), trecpy.evaluate({"q3": {"a": 1}}, RUN, "P_5")
    with pytest.raises(InputError, match="found 'q1' in two"):
        a + a
    with pytest.raises(InputError, match="the same measures"):
        a + b
    with pytest.raises(InputError, match="the same protocol"):
        a + trecpy.evaluate({"q3": {"a": 1}}, RUN, "map", relevance_level=2)


# Evaluators


@given(collections(), collections())
def test_an_evaluator_does_not_change(first: Collection, second: Collection) -> None:
    evaluator = trecpy.Evaluator(first.qrels, NAMES)
    fresh = [trecpy.Evaluator(first.qrels, NAMES).evaluate(numbers(run)).to_dict() for run in (first, second)]
    again = [evaluator.evaluate(numbers(run)).to_dict() for run in (first, second, first)]
    assert repr(again) == repr([*fresh, fresh[0]])


def test_many_runs(tmp_path: Path) -> None:
    evaluator = trecpy.Evaluator(QRELS, "map")
    assert {name: ev["map"] for name, ev in evaluator.evaluate_many({"one": RUN, "none": {}})} == {
        "one": 3 / 8,
        "none": 0,
    }
    path = tmp_path / "run"
    path.write_text("q1 Q0 a 1 1 r\n")
    assert [(name, ev["map"]) for name, ev in evaluator.evaluate_many([path])] == [(str(path), 1 / 4)]
    with pytest.raises(InputError, match="found nan") as caught:
        list(evaluator.evaluate_many({"one": RUN, "bad": {"q1": {"a": float("nan")}}}))
    assert caught.value.__notes__ == ["in the run 'bad'"]


def test_an_evaluator_survives_pickling() -> None:
    evaluator = pickle.loads(pickle.dumps(trecpy.Evaluator(QRELS, NAMES)))
    assert evaluator.evaluate(RUN).to_dict() == trecpy.evaluate(QRELS, RUN, NAMES).to_dict()
    evaluation = trecpy.evaluate(QRELS, RUN, NAMES)
    assert pickle.loads(pickle.dumps(evaluation)).to_dict() == evaluation.to_dict()


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_an_evaluator_in_many_processes(method: str) -> None:
    import multiprocessing

    evaluator = trecpy.Evaluator(QRELS, ["map", "ndcg", "bpref"])
    expected = evaluator.evaluate(RUN).to_json()
    context = multiprocessing.get_context(method)
    with warnings.catch_warnings(), context.Pool(2) as pool:
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12's, of forking beside threads
        assert {each.to_json() for each in pool.map(evaluator.evaluate, [RUN] * 4)} == {expected}


def test_an_evaluator_in_many_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    evaluator = trecpy.Evaluator(QRELS, NAMES)
    expected = repr(evaluator.evaluate(RUN).to_dict())
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: repr(evaluator.evaluate(RUN).to_dict()), range(200)))
    assert set(found) == {expected}


# Errors


@pytest.mark.parametrize(
    ("qrels", "run", "said"),
    [
        (QRELS, {"q1": {"a": float("nan")}}, r"run: row 0 \(topic 'q1', docno 'a'\): expected a score, found nan"),
        (QRELS, {"q1": {"a": "1.0"}}, r"run: row 0 \(topic 'q1', docno 'a'\): expected a score, found '1.0'"),
        (QRELS, {"q1": {"a": None}}, r"run: row 0 \(topic 'q1', docno 'a'\): expected a score, found None"),
        (QRELS, {"q1": {1.5: 1}}, "run: row 0: expected a docno, a string or an integer, found 1.5"),
        (QRELS, {"q1": {"": 1}}, "run: row 0: expected a docno, found an empty string"),
        (QRELS, {"q1": "abc"}, "run: topic 'q1': expected a dict of documents or a list of them, found str"),
        (QRELS, {1: {"a": 1}, "1": {"a": 1}}, "run: expected a topic once, found '1' twice"),
        (QRELS, 5, "run: expected a path, a binary file, a dict, a frame"),
        (QRELS, [("a", "b")], r"run: row 0: expected \(topic, docno, value\)"),
        (QRELS, iter(()), "run: expected .* tuples, found an iterator that yields nothing"),
        (QRELS, pd.DataFrame({"qid": ["1"], "score": [1.0]}), "run: expected a column of documents called docno"),
        (QRELS, pd.DataFrame({"qid": [None], "docno": ["a"], "score": [1.0]}), "run: row 0: expected a topic"),
        (QRELS, io.StringIO("1"), "run: expected a file opened in binary mode"),
        ({"q": {"a": 0.5}}, RUN, r"qrels: row 0 \(topic 'q', docno 'a'\): expected an integer level, found 0.5"),
        ({"q": {"a": "1"}}, RUN, "expected an integer level, found '1'"),
        ({"q": {"a": 2**63}}, RUN, "expected an integer level"),
        ({"q": ["a"]}, RUN, "qrels: expected a level for each document"),
        ([(1, 0, 5, 1)], RUN, r"qrels: row 0: expected \(topic, docno, value\), found \(1, 0, 5, 1\)"),
        (QRELS, (["q1"] * 3, ["a", "b", "c"], [3, 2, 1]), "run: three lists may be columns or rows"),
        (QRELS, (np.array(["q1"]), np.array(["a"]), np.ma.array([1.0], mask=[1])), "run: expected .* masked float64"),
        (QRELS, (np.array(["q1"]), np.array(["a"]), np.array([[1.0]])), "run: expected a column of numbers"),
        (QRELS, (np.array(1), np.array(2), np.array(3)), "run: row 0: expected"),
        (QRELS, pl.DataFrame({"qid": ["q1"], "docno": [1.5], "score": [1.0]}), "run: expected docnos, strings or "),
        (QRELS, pl.DataFrame({"qid": ["q1"], "docno": [""], "score": [1.0]}), "run: row 0: expected a docno, found an"),
        (QRELS, pl.DataFrame({"qid": ["q1"], "docno": ["a"], "score": [None]}, schema_overrides={"score": pl.Float64}),
         "run: row 0 .* found a missing value"),
        (QRELS, pd.DataFrame({"qid": ["q1"], "docno": pd.to_datetime(["2020-01-01"]), "score": [1.0]}),
         "run: expected a column of docnos"),
        (QRELS, pd.Series([1.0]), "run: expected a path"),
        (QRELS, pd.DataFrame([["q1", "a", 1.0]], columns=["qid", "score", "score"]), "found 'score' twice"),
        (QRELS, {"q1": {"\ud800": 1}}, "run: expected docnos that UTF-8 can write"),
        (QRELS, {"q1": {"a": [1.0], "b": [2.0]}}, r"run: row 0 .*: expected a score, found \[1.0\]"),
        (QRELS, {"q1": {"a": 1.5, "b": "x"}}, r"run: row 1 \(topic 'q1', docno 'b'\): expected a score, found 'x'"),
        (QRELS, {"q1": {"a": 10**400}}, "run: row 0 .*: expected a score"),
        (QRELS, {"q1": {10**5000: 1}}, "run: row 0: expected a docno"),
        ({"q": {"a": 10**5000}}, RUN, "qrels: row 0 .*: expected an integer level"),
        ({"q": {"a": 1, "b": 0}, "r": ["c"]}, RUN, "qrels: expected dicts of documents, or lists of them, found both"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(qrels: Any, run: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        trecpy.evaluate(qrels, run, "map")


def test_numbers_of_numpy_are_numbers() -> None:
    scores = np.array([np.float32(1), np.int64(2)], object)
    run = (np.array(["q1", "q1"], object), np.array(["a", "b"], object), scores)
    assert trecpy.evaluate(QRELS, run, "RR", topics="both")["RR"] == 1 / 2
    assert trecpy.evaluate(QRELS, {"q1": {"a": np.float16(1)}}, "RR", topics="both")["RR"] == 1.0


def test_large_levels_stay_exact_beside_floats() -> None:
    qrels = {"q": {"a": 2**53 + 1, "b": 2**53, "c": 1.0}}
    assert trecpy.evaluate(qrels, {"q": ["a"]}, "map", relevance_level=2**53 + 1)["map"] == 1.0


def test_qrels_frames_of_beir() -> None:
    qrels = pd.DataFrame({"query-id": ["q1"], "corpus-id": ["a"], "score": [1]})
    assert trecpy.evaluate(qrels, RUN, "RR")["RR"] == 1 / 2


def test_parameters_that_have_no_effect_are_errors() -> None:
    for name in (
        "recip_rank.10",
        "map.5",
        "MAP.5",
        "p.5 10",
        "official.5",
        "P(rel=" + "9" * 5000 + ")@5",
        "P.5.5",
        "IPrec@x",
        "ndcg_cut.5 10",
        "ndcg.1=",
    ):
        with pytest.raises((ParameterError, MeasureError)):
            trecpy.evaluate(QRELS, RUN, name)


def test_points_that_are_printed_alike_stay_apart() -> None:
    qrels = {"q": {f"d{i}": 1 for i in range(200)}}
    run = {"q": [*(f"d{i}" for i in range(60)), *(f"y{i}" for i in range(500)), "d60", "d61"]}
    both = trecpy.evaluate(qrels, run, ["IPrec@0.30", "IPrec@0.304"])
    assert both.columns == ("iprec_at_recall_0.3", "iprec_at_recall_0.304")
    for name in ("IPrec@0.30", "IPrec@0.304"):
        assert both[name] == trecpy.evaluate(qrels, run, name)[name]
    assert both["IPrec@0.30"] > both["IPrec@0.304"]
    with pytest.raises(MeasureError):
        trecpy.evaluate(qrels, run, "IPrec@0.30")["IPrec@0.304"]


def test_exceptions_can_be_named() -> None:
    for name in ("InputError", "MeasureError", "NothingScoredError", "TopicError", "FormatError"):
        assert issubclass(getattr(trecpy, name), trecpy.TrecpyError)
    assert issubclass(trecpy.InputError, ValueError)


def test_whole_floats_are_levels() -> None:
    assert trecpy.evaluate({"q": {"a": 1.0, "b": True}}, {"q": ["a", "b"]}, "map")["map"] == 1.0


def test_judgements_given_twice() -> None:
    with pytest.raises(InputError, match="qrels: topic 'q': expected a document once, found 'a' twice"):
        trecpy.evaluate([("q", "a", 1), ("q", "a", 0)], RUN, "map")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"topic": "both"}, "expected options called .*topics.*, found topic"),
        ({"topics": "all"}, "topics: expected 'qrels', 'both', 'run', 'same', found 'all'"),
        ({"depth": -1}, "depth: expected a number >= 0 or None, found -1"),
        ({"relevance_level": 1.5}, "relevance_level: expected an integer of 64 bits, found 1.5"),
        ({"compat": "9"}, "compat: expected '10.0', '9.0.8', found '9'"),
        ({"relevance_level": 2**63}, "relevance_level: expected an integer of 64 bits, found 9223372036854775808"),
        ({"judged_only": "False"}, "judged_only: expected True or False, found 'False'"),
        ({"ignore_self": []}, r"ignore_self: expected True or False, found \[\]"),
        ({"protocol": {"depth": 1}}, "protocol: expected a trecpy.Protocol or a preset's name, found {'depth': 1}"),
    ],
)
def test_options_that_are_wrong(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        trecpy.evaluate(QRELS, RUN, "map", **options)


def test_a_file_is_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("q1 Q0 a 1 abc r\n")
    with pytest.raises(FormatError, match=r"run:1: column 5 \(score\): expected a number, found 'abc'"):
        trecpy.evaluate(QRELS, path, "map")


def test_infinite_scores_rank_as_they_are() -> None:
    run = {"q1": {"b": -np.inf, "a": 1.0, "x": np.inf}}
    assert trecpy.evaluate(QRELS, run, "relstring", topics="both").texts == {"relstring": ["-10"]}


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import trecpy", ("numpy", "numba", "pandas", "polars", "pyarrow")),
        ("import trecpy; trecpy.evaluate({'q': {'a': 1}}, {'q': ['a']}, 'map')", ("pandas", "polars", "pyarrow")),
    ],
)
def test_nothing_is_loaded_that_is_not_used(code: str, absent: tuple[str, ...]) -> None:
    code += f"; import sys; print([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == "[]"


def test_scores_are_the_strings_of_the_strategies() -> None:
    assert all(strtod(score.encode())[1] == b"" for score in itertools.chain(SCORES))


def test_dicts_are_scored_some_topics_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    qrels = {f"q{t}": {"a": 1, "b": 2} for t in range(20)}
    run = {f"q{t}": {d: float((t + n) % 3) for n, d in enumerate("abcde"[: t % 5 + 1])} for t in range(25)}
    whole = trecpy.evaluate(qrels, run, ["map", "num_ret", "num_q"])
    for together in (1, 4, 11, 12):
        monkeypatch.setattr("trecpy.mapped._TOGETHER", together)
        parts = trecpy.evaluate(qrels, run, ["map", "num_ret", "num_q"])
        assert (parts.to_dict(), parts.summary, parts.counts) == (whole.to_dict(), whole.summary, whole.counts)
        assert (parts.fingerprint, parts.tie_range()) == (whole.fingerprint, whole.tie_range())
