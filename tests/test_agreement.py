"""Every value of every measure that pytrec_eval-terrier offers is its double, on random collections."""

import math

import pytrec_eval
from hypothesis import given, note
from hypothesis import strategies as st
from oracles import NOT_NUMBERS, by_topic, offered_by_both, ours, terrier
from strategies import Collection, collections

from trecpy.errors import NothingScoredError
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
