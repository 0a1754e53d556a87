"""What a demanding user tripped over once: values and errors that must stay as they are now."""

import math
from collections.abc import Callable
from typing import Any

import ir_measures
import numpy as np
import pytest
import pytrec_eval as theirs

import trecpy
import trecpy.interop.pytrec_eval as ours
from trecpy.errors import InputError, MeasureError, NothingScoredError, ParameterError
from trecpy.mapped import Mapped

Q = {"q1": {"d1": 1, "d2": 0, "d3": 2}, "q2": {"d1": 1}}
R = {"q1": {"d1": 1.5, "d2": 2.5, "d4": 0.5}}


def test_topics_without_relevant_documents_are_dropped_everywhere() -> None:
    qrels, run = {"0": {"a": 0}, "1": {"a": 1}, "2": {"a": 0}}, {"0": {"a": 1.0}, "1": {"b": 2.0, "a": 1.0}}
    for topics in ("qrels", "both"):
        found = trecpy.evaluate(qrels, run, ["RR", "num_q"], without_relevant="drop", topics=topics)
        assert (found.summary, found.topics) == ({"num_q": 1.0, "recip_rank": 0.5}, ("1",))
        assert found.counts.missing == 0
    dense = trecpy.evaluate_dense([[1.0, 2.0]] * 2, [[0, 0], [1, 0]], "map", protocol="gdeval")
    assert (dense.summary, dense.topics) == ({"map": 0.5}, ("1",))
    with pytest.raises(NothingScoredError):
        trecpy.evaluate_dense([[1.0]], [[0]], "map", without_relevant="drop")


def test_missing_topics_count_in_batches_too() -> None:
    for compat in ("9.0.8", "10.0"):
        assert trecpy.evaluate(Q, R, "map", compat=compat, batch=64)["map"] == 0.125
    judged = {topic: {"d": 1} for topic in "abc"}
    found = trecpy.evaluate(judged, {"c": ["d"]}, "map", compat="9.0.8", batch=2)
    assert found["map"] == (0 / 2 + 1 / 1) / 2


def test_topics_without_a_ranking_count_as_the_worst() -> None:
    judged = {"a": {"d": 1}}
    whole = trecpy.evaluate(judged, {"a": ["x", "d"], "zz": ["d"]}, ["gm_map", "first_rel_rank"], topics="run")
    assert whole["gm_map"] == math.exp((math.log(0.5) + math.log(0.00001)) / 2)
    assert whole["first_rel_rank"] == math.inf
    own = {"gm_map": {"topics": "run"}, "first_rel_rank": {"topics": "run"}}
    alone = trecpy.evaluate(judged, {"a": ["x", "d"], "zz": ["d"]}, ["gm_map", "first_rel_rank"], per_measure=own)
    assert alone.summary == whole.summary
    assert trecpy.evaluate({"a": {"d": 1}, "b": {"d": 1}}, {"a": ["d"]}, "first_rel_rank", compat="9.0.8").summary == {
        "first_rel_rank": math.inf
    }


def test_a_measure_of_the_other_generation_is_not_another_one() -> None:
    with pytest.raises(MeasureError, match=r"'rbp' is not known in trec_eval 9.0.8; it came with 10.0"):
        trecpy.evaluate(Q, R, "rbp", compat="9.0.8")


def test_printed_names_can_be_asked_for() -> None:
    for name in ("set_F_2", "utility_1,2,3,4", "11pt_avg_0,0.5", "relstring_3"):
        assert trecpy.evaluate(Q, R, name).columns == (name,)


@pytest.mark.parametrize("measure", ["set_F.2", "utility.1,2,3,4", "11pt_avg.0,0.5", "set_F"])
def test_keys_of_pytrec_eval(measure: str) -> None:
    values = [module.RelevanceEvaluator(Q, {measure}).evaluate(R) for module in (ours, theirs)]
    assert values[0] == values[1]


def test_tied_dicts_take_no_quadratic_time() -> None:
    """As 50,000 documents of one score would: minutes where each is looked for among all."""
    names = [f"d{n}" for n in range(50_000)]
    tied = trecpy.evaluate({"q": dict.fromkeys(names, 1)}, {"q": dict.fromkeys(names, 1.0)}, ["map", "num_ret"])
    assert tied.summary == {"num_ret": 50_000, "map": 1.0}


def test_ids_that_stand_for_bytes_are_these_bytes() -> None:
    escaped = "\udcc3\udca9"
    assert trecpy.evaluate({"q": {"é": 1}}, {"q": {escaped: 1.0}}, "map")["map"] == 1.0
    with pytest.raises(trecpy.TopicError, match="twice"):
        trecpy.evaluate({"q": {"é": 1}}, {"q": {escaped: 1.0, "é": 2.0}}, "map")


def test_hashes_tell_ids_with_line_ends_apart() -> None:
    scores = {"a\nb": 1.0, "c": 1.0}, {"a": 1.0, "b\nc": 1.0}
    assert len({trecpy.Run.from_dict({"q": docs}).fingerprint for docs in scores}) == 2
    assert len({trecpy.Qrels.from_dict({"q": docs}).fingerprint for docs in scores}) == 2
    for docs in scores:
        found = trecpy.evaluate({"q": {"c": 1}}, {"q": docs}, "map").fingerprint["run"]
        assert found == trecpy.Run.from_dict({"q": docs}).fingerprint


def test_records_of_dicts_have_docnos() -> None:
    mapped = Mapped.of({"q": {"a": 1.0, "b": 2.0}, "r": {}, "s": {"é": 1.0}})
    assert mapped is not None
    assert [mapped.docno(record) for record in range(3)] == [b"a", b"b", "é".encode()]


def test_a_result_is_no_protocol() -> None:
    with pytest.raises(InputError, match=r"expected a trecpy.Protocol or a preset's name"):
        trecpy.evaluate(Q, R, "map", protocol=trecpy.evaluate(Q, R, "map"))  # type: ignore[arg-type]


def test_lists_are_columns_and_what_they_hold_is_not_changed() -> None:
    qrels = trecpy.Qrels.from_arrays(["q", "q"], ["d1\0", "d2"], [1, 0])
    assert trecpy.evaluate(qrels, {"q": ["d1\0"]}, "map")["map"] == 1.0


def test_presets_and_their_records() -> None:
    values = [trecpy.evaluate(Q, R, "map", protocol=each)["map"] for each in ("beir", trecpy.protocols["beir"])]
    assert values[0] == values[1]
    own = trecpy.evaluate(Q, R, "ndcg", per_measure={"ndcg": {"gains": {1: 5}}})["ndcg"]
    assert own == trecpy.evaluate(Q, R, "ndcg", gains={1: 5})["ndcg"]
    assert trecpy.explain(Q, {"q1": ["d1", "d1"]}, "map", duplicates="first").value == 0.25


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: trecpy.evaluate({}, R, "map"), NothingScoredError, "no topic has both"),
        (lambda: trecpy.evaluate([], {}, "map", batch=64), NothingScoredError, "no topic has both"),
        (lambda: trecpy.explain({}, {}, "map"), NothingScoredError, "no topic has both"),
        (lambda: trecpy.evaluate(Q, R, "map", per_measure={"map": {"topics": "same"}}), InputError, "found 'same'"),
        (lambda: trecpy.evaluate(Q, R, "P@99999999999999999999"), ParameterError, "expected a number behind the @"),
        (lambda: trecpy.Protocol(gains={1: 10**400}), InputError, "gains: expected"),
        (lambda: trecpy.Qrels(Q), InputError, "Qrels: expected to be made by from_dict"),
        (lambda: trecpy.Run(R), InputError, "Run: expected to be made by from_dict"),
        (lambda: trecpy.Qrels.from_arrays(["q"], ["d", "e"], [1]), InputError, "three columns of one length"),
        (lambda: trecpy.Qrels.from_arrays(["q"], [1.5], [1]), InputError, "row 0: expected a docno"),
        (lambda: trecpy.Qrels.from_arrays(["q"], ["d"], np.ma.array([1], mask=[1])), InputError, "masked"),
        (lambda: trecpy.Qrels.from_arrays("q", ["d"], [1]), InputError, "expected three columns, found 'q'"),
        (lambda: list(trecpy.Evaluator(Q, "map").evaluate_many({1: R})), InputError, "names that are strings, found 1"),
        (lambda: trecpy.evaluate_dense([[1.0]], [[1]], "map", outside=3), InputError, "outside: expected levels"),
        (lambda: trecpy.evaluate_dense([[1.0]], [[1]], "map", topics="a"), InputError, "ids in the order of rows"),
        (lambda: trecpy.evaluate_dense([[1.0]], [[1]], "map", topics={"a"}), InputError, "ids in the order of rows"),
        (
            lambda: trecpy.evaluate_dense([[1.0]], [[1]], "map", num_rel=[10**15]),
            InputError,
            "num_rel: expected at",
        ),
        (lambda: trecpy.explain(Q, R, "map", target="nan"), InputError, "target: expected a number"),
        (lambda: trecpy.explain(Q, R, "map", target=10**5000), InputError, "target: expected a number"),
        (lambda: trecpy.Cutoffs(5), ParameterError, "Cutoffs: expected a tuple"),  # type: ignore[arg-type]
        (lambda: trecpy.Cutoffs((0,)), ParameterError, "Cutoffs: expected a tuple"),
        (lambda: trecpy.measure("x", 3), MeasureError, "x: expected trecpy.Cutoffs"),  # type: ignore[arg-type]
        (lambda: trecpy.measure("x", aggregate="sum"), MeasureError, "Aggregate"),  # type: ignore[arg-type]
        (lambda: ours.RelevanceEvaluator(None, {"map"}), InputError, "query_relevance: expected a dict"),  # type: ignore[arg-type]
    ],
)
def test_one_clear_line(call: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        call()


def test_small_floats_give_no_warning() -> None:
    labels = np.array([[1, 0]], np.float16)
    assert trecpy.evaluate_dense([[1.0, 2.0]], labels, "RR")["RR"] == 0.5
    levels = np.array([1, 0], np.float16)
    judged = trecpy.Qrels.from_arrays(np.array(["q", "q"]), np.array(["a", "b"]), levels)
    assert trecpy.evaluate(judged, {"q": ["a"]}, "map")["map"] == 1.0
    assert trecpy.evaluate({"q": {"a": 1e300, "b": 0.5}}, {"q": ["a"]}, "nDCG@1", gains="float")["nDCG@1"] == 1.0


def test_levels_far_below_zero_beside_fractions() -> None:
    judged = {"q": {"a": -(2.0**62), "b": 0.5, "c": 2.0, "d": -7.5}}
    found = trecpy.evaluate(judged, {"q": ["a", "c", "b"]}, ["DCG@3", "RR"], gains="float", ties="best")
    assert found.summary == {"DCG@3": 2 / math.log2(3) + 0.5 / 2, "recip_rank": 0.5}
    assert len(trecpy.Qrels.from_dict(judged).fingerprint) == 64


def test_accuracy_differs_from_ir_measures_where_nothing_relevant_is_ranked() -> None:
    qrels, run = {"1": {"a": 1, "b": 0}, "2": {"a": 1}}, {"1": {"a": 2.0, "b": 1.0}, "2": {"c": 1.0}}
    assert trecpy.evaluate(qrels, run, ir_measures.Accuracy).per_query[:, 0].tolist() == [1.0, 0.0]
