"""Every value of every measure that pytrec_eval-terrier offers is its double, on random collections."""

import math

import ir_measures
import pytrec_eval
from hypothesis import given, note
from hypothesis import strategies as st
from oracles import NOT_NUMBERS, by_topic, offered_by_both, ours, terrier
from strategies import Collection, collections

import trecpy
from trecpy.errors import NothingScoredError
from trecpy.numbers import strtod
from trecpy.protocol import Protocol
from trecpy.registry import Aggregate, catalogue


def same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


@given(collections(), st.integers(1, 4), st.booleans())
def test_every_value_is_the_same_double(collection: Collection, level: int, judged_only: bool) -> None:
    expected = terrier(collection, level, judged_only)
    protocol = Protocol(compat="9.0.8", relevance_level=level, judged_only=judged_only, topics="both")
    try:
        values = by_topic(ours(collection, offered_by_both(), protocol))
    except NothingScoredError:
        values = {}
    assert values.keys() == expected.keys()
    for topic, row in expected.items():
        assert values[topic].keys() == row.keys()
        wrong = {
            name: (values[topic][name], value) for name, value in row.items() if not same(values[topic][name], value)
        }
        note(f"{topic}: ours, theirs: {wrong}")
        assert not wrong


def test_all_it_offers_is_compared() -> None:
    assert set(offered_by_both()) == pytrec_eval.supported_measures - set(NOT_NUMBERS)


@given(collections())
def test_means_are_sequential_sums_in_byte_order(collection: Collection) -> None:
    protocol = Protocol(compat="9.0.8", topics="both")
    try:
        evaluation = ours(collection, offered_by_both(), protocol)
    except NothingScoredError:
        return
    values = by_topic(evaluation)
    assert list(values) == sorted(values, key=lambda topic: topic.encode())
    for column, value in zip(evaluation.columns, evaluation.summary(), strict=True):
        total = 0.0
        for row in values.values():
            total += row[column.name]
        match catalogue()[column.measure.name].aggregate:
            case Aggregate.MEAN:
                assert same(value, total / len(values))
            case Aggregate.SUM:
                assert value == total
            case Aggregate.GEOMETRIC:
                assert value == math.exp(total / len(values))


# By name, as ir_measures writes them. Its pytrec_eval provider computes these; RR@k is its own, by another ranking of
# ties (input order), so that it is compared on runs without ties only.
_IR_NAMES = ["AP", "AP@5", "AP(rel=2)", "nDCG", "nDCG@5", "P@3", "P(rel=2)@3", "R@5", "RR", "Rprec", "Bpref",
             "Success@2", "SetP", "infAP", "IPrec@0.3", "NumRet", "NumRel"]  # fmt: skip


@given(collections(lowest=0))
def test_values_are_those_of_ir_measures(collection: Collection) -> None:
    scores = {t: {d: strtod(s.encode())[0] for d, s in docs.items()} for t, docs in collection.run.items()}
    both = [t for t in collection.qrels if t in scores]
    asked = [ir_measures.parse_measure(name) for name in _IR_NAMES]
    theirs = {
        (metric.query_id, str(metric.measure)): metric.value
        for metric in ir_measures.pytrec_eval.iter_calc(asked, collection.qrels, scores)
        if metric.query_id in both
    }
    if both:
        for measure in asked:
            ours = trecpy.evaluate(collection.qrels, scores, measure, compat="9.0.8", topics="both")
            (column,) = ours.columns
            for topic in both:
                assert ours.to_dict()[topic][column] == theirs[topic, str(measure)], (topic, measure)


@given(collections(lowest=0), st.integers(1, 4))
def test_reciprocal_rank_with_a_cutoff_is_that_of_ir_measures(collection: Collection, k: int) -> None:
    distinct = {t: {d: float(place) for place, d in enumerate(docs)} for t, docs in collection.run.items()}
    both = [t for t in collection.qrels if t in distinct]
    theirs = {
        metric.query_id: metric.value
        for metric in ir_measures.iter_calc([ir_measures.RR @ k], collection.qrels, distinct)
    }
    if both:
        ours = trecpy.evaluate(collection.qrels, distinct, f"RR@{k}", topics="both").to_dict()
        assert {t: ours[t][f"RR@{k}"] for t in both} == {t: theirs[t] for t in both}
