"""Ties: their best, worst and expected values are those of enumerating every order of tied documents."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trecpy
from trecpy.errors import InputError, ParameterError
from trecpy.registry import catalogue

# Measures that have an expectation, with a cutoff that falls between and into groups.
EXPECTED = [
    name if each.parameters.text in ("none", "each level is worth itself", "1,-1,0,0") else f"{name}@2"
    for name, each in catalogue().items()
    if each.expected and each.needs and name not in ("ndcg_cut", "map_cut", "recall", "success", "P", "relative_P")
] + [f"{name}_{k}" for name in ("ndcg_cut", "map_cut", "recall", "success", "P", "relative_P") for k in (1, 3, 4)]
EXPECTED += ["P(rel=2)@3", "nDCG(dcg='exp-log2')@3"]
# What no order can raise above the best one and lower below the worst one.
BOUNDED = [*EXPECTED, "bpref", "ERR@3", "F1@3", "RBP", "gm_map", "binG", "iprec_at_recall", "11pt_avg", "map(rel=2)"]

_DOCNOS = "abcde"
_QRELS = st.dictionaries(st.sampled_from(_DOCNOS + "xyz"), st.integers(-1, 3), min_size=1)
_RUN = st.dictionaries(st.sampled_from(_DOCNOS), st.sampled_from([1.0, 2.0, 3.0]), min_size=1)
_OPTIONS = st.fixed_dictionaries(
    {"relevance_level": st.integers(1, 2)},
    optional={"gains": st.sampled_from(["level", "exp", {1: 0.5, 3: 7}])},
)
_CUT = st.one_of(
    st.just({}), st.builds(lambda depth: {"depth": depth}, st.integers(1, 7)), st.just({"judged_only": True})
)


def orders(run: dict[str, float]) -> Iterator[list[str]]:
    groups: dict[float, list[str]] = {}
    for docno, score in sorted(run.items(), key=lambda item: -item[1]):
        groups.setdefault(score, []).append(docno)
    for chosen in itertools.product(*(itertools.permutations(group) for group in groups.values())):
        yield [docno for group in chosen for docno in group]


def every_order(qrels: dict[str, int], run: dict[str, float], names: list[str], options: Any) -> np.ndarray[Any, Any]:
    """float64[orders, columns]: one topic an order."""
    ranked = {f"{n:04d}": order for n, order in enumerate(orders(run))}
    return trecpy.evaluate(dict.fromkeys(ranked, qrels), ranked, names, **options).per_query


@given(_QRELS, _RUN, _OPTIONS, _CUT)
@settings(max_examples=50)
def test_expected_values_are_the_means_over_all_orders(
    qrels: dict[str, int], run: dict[str, float], options: dict[str, Any], cut: dict[str, Any]
) -> None:
    values = every_order(qrels, run, EXPECTED, {**options, **cut})
    found = trecpy.evaluate({"q": qrels}, {"q": run}, EXPECTED, ties="expected", **options, **cut)
    for column, mean, value in zip(found.columns, values.mean(axis=0), found.per_query[0], strict=True):
        assert value == pytest.approx(mean, rel=1e-12, abs=1e-14), column


@given(_QRELS, _RUN, _OPTIONS, _CUT)
@settings(max_examples=50)
def test_no_order_is_beyond_the_best_and_the_worst(
    qrels: dict[str, int], run: dict[str, float], options: dict[str, Any], cut: dict[str, Any]
) -> None:
    values = every_order(qrels, run, BOUNDED, {**options, **cut})
    evaluator = trecpy.Evaluator({"q": qrels}, BOUNDED, **options, **cut)
    ties = evaluator.evaluate({"q": run}).tie_range()
    best, worst = (
        trecpy.evaluate({"q": qrels}, {"q": run}, BOUNDED, ties=ties, **options, **cut) for ties in ("best", "worst")
    )
    for c, column in enumerate(best.columns):
        bounds = worst.per_query[0, c], best.per_query[0, c]
        low, high = values[:, c].min(), values[:, c].max()
        lower_is_better = column == "first_rel_rank"
        assert repr(bounds) == repr((high, low) if lower_is_better else (low, high)), column
        assert repr(ties[column]) == repr((worst.summary[column], best.summary[column]))


@given(st.lists(_QRELS, min_size=2, max_size=4), st.lists(_RUN, min_size=2, max_size=4))
def test_ranges_of_parts_are_those_of_the_whole(judged: list[dict[str, int]], runs: list[dict[str, float]]) -> None:
    qrels = {str(topic): documents for topic, documents in enumerate(judged)}
    run = {str(topic): documents for topic, documents in enumerate(runs) if str(topic) in qrels}
    whole = trecpy.evaluate(qrels, run, BOUNDED, topics="both")
    parts = [trecpy.evaluate(qrels, {topic: documents}, BOUNDED, topics="both") for topic, documents in run.items()]
    assert repr(trecpy.merge(*parts).tie_range()) == repr(whole.tie_range())


@given(_QRELS, st.permutations(_DOCNOS))
def test_without_ties_all_rules_agree_to_the_last_bit(qrels: dict[str, int], ranking: list[str]) -> None:
    values = {
        ties: repr(trecpy.evaluate({"q": qrels}, {"q": ranking}, EXPECTED, ties=ties).to_dict())
        for ties in ("trec", "input", "best", "worst", "expected")
    }
    assert len(set(values.values())) == 1


def test_a_constant_scorer() -> None:
    qrels, run = {"q": {"d": 1}}, {"q": dict.fromkeys("abcd", 1.0)}
    result = trecpy.evaluate(qrels, run, ["recip_rank", "P_1", "first_rel_rank"])
    assert result.tie_range() == {"recip_rank": (1 / 4, 1.0), "P_1": (0.0, 1.0), "first_rel_rank": (4.0, 1.0)}
    assert result.counts.tied_pairs == 6
    means = trecpy.evaluate(qrels, run, ["recip_rank", "P_1", "first_rel_rank"], ties="expected").summary
    assert means["recip_rank"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4, rel=1e-15)
    assert (means["P_1"], means["first_rel_rank"]) == (1 / 4, 2.5)


def test_matrices_have_ties_too() -> None:
    scores, labels = np.ones((2, 4), np.float16), np.array([[1, 0, -1, 0], [0, 0, 2, -1]])
    for ties in ("best", "worst", "expected"):
        dense = trecpy.evaluate_dense(scores, labels, EXPECTED, ties=ties)
        docnos = [f"{column}" for column in range(4)]
        qrels = {
            f"{q}": {d: int(v) for d, v in zip(docnos, row, strict=True) if v >= 0} for q, row in enumerate(labels)
        }
        run = {f"{q}": dict.fromkeys(docnos, 1.0) for q in range(2)}
        assert dense.to_dict() == trecpy.evaluate(qrels, run, EXPECTED, ties=ties).to_dict()
    assert trecpy.evaluate_dense(scores, labels, "RR").tie_range()["recip_rank"] == (1 / 4, 1.0)


def test_where_depth_may_leave_no_hit_its_rank_is_infinite() -> None:
    found = trecpy.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, "first_rel_rank", ties="expected", depth=1)
    assert found.summary == {"first_rel_rank": math.inf}


def test_what_has_no_expectation_is_said() -> None:
    with pytest.raises(ParameterError, match=r"ties: expected measures whose mean .* is known, found gm_map, bpref;"):
        trecpy.Evaluator({"q": {"a": 1}}, ["map", "gm_map", "bpref"], ties="expected")
    with pytest.raises(InputError, match="ties: expected no depth with judged_only"):
        trecpy.Protocol(ties="expected", depth=5, judged_only=True)
    with pytest.raises(InputError, match=r"ties: expected 'trec', 'input', .*, 'rank', found 'random'"):
        trecpy.Protocol(ties="random")  # type: ignore[arg-type]
