"""Laws that hold for every collection: order of lines, names, bounds, block boundaries, generations."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import by_topic, ours
from strategies import Collection, collections

import trecpy
from trecpy.errors import NothingScoredError
from trecpy.numbers import strtod
from trecpy.protocol import Compat, Protocol
from trecpy.registry import catalogue

# Log odds, a weighted count, logarithms, sums of gains, and what is no value.
_UNBOUNDED = {"yaap", "utility", "gm_map", "gm_bpref", "runid", "relstring", "num_q", "dcg", "ideal_dcg"}
_ON_QRELS = [
    name for name, each in catalogue().items() if each.needs == ("qrels",) and each.known_to("10.0") and not each.text
]


def scored(collection: Collection, compat: Compat = "10.0", block: int = 1 << 22, **options: object) -> object:
    protocol = Protocol(compat=compat, **options)  # type: ignore[arg-type]
    known = [name for name in _ON_QRELS if catalogue()[name].known_to(compat)]
    try:
        evaluation = ours(collection, known, protocol, block)
    except NothingScoredError:
        return None
    return repr((by_topic(evaluation), evaluation.summary()))


class Shuffled(Collection):
    """The same lines in another order."""

    def run_lines(self) -> list[str]:
        lines = super().run_lines()
        random.Random(1).shuffle(lines)
        return lines

    def qrels_lines(self) -> list[str]:
        lines = super().qrels_lines()
        random.Random(2).shuffle(lines)
        return lines


@given(collections(), st.sampled_from(["10.0", "9.0.8"]))
def test_order_of_lines_does_not_matter(collection: Collection, compat: Compat) -> None:
    assert scored(Shuffled(collection.qrels, collection.run), compat) == scored(collection, compat)


@given(collections(), st.integers(64, 400))
def test_where_blocks_end_does_not_matter(collection: Collection, block: int) -> None:
    assert scored(collection, block=block) == scored(collection)


@given(collections(), st.integers(64, 200))
def test_topics_that_come_back_in_a_later_block_are_whole(collection: Collection, block: int) -> None:
    assert scored(Shuffled(collection.qrels, collection.run), block=block) == scored(collection)


@given(collections())
def test_renaming_documents_without_ties_does_not_matter(collection: Collection) -> None:
    def distinct(docs: dict[str, str]) -> dict[str, str]:
        return {docno: str(place) for place, docno in enumerate(sorted(docs))}

    run = {topic: distinct(docs) for topic, docs in collection.run.items()}

    def renamed(collection: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
        return {t: {docno[::-1] + "~": value for docno, value in docs.items()} for t, docs in collection.items()}

    assert scored(Collection(renamed(collection.qrels), renamed(run))) == scored(Collection(collection.qrels, run))  # type: ignore[arg-type]


@given(collections(), st.integers(1, 3), st.booleans(), st.sampled_from(["qrels", "both"]))
def test_values_are_in_their_range(collection: Collection, level: int, judged_only: bool, topics: str) -> None:
    protocol = Protocol(relevance_level=level, judged_only=judged_only, topics=topics)  # type: ignore[arg-type]
    try:
        evaluation = ours(collection, _ON_QRELS, protocol)
    except NothingScoredError:
        return
    for c, column in enumerate(evaluation.columns):
        values = evaluation.per_query[:, c]
        if column.measure.name in _UNBOUNDED or (
            judged_only and column.measure.name in ("iprec_at_recall", "11pt_avg")
        ):
            continue  # with -J a ranking can be empty, where these are 0/0 as in the reference
        assert (values >= 0).all(), column.name
        if not column.measure.integer:
            assert (values <= 1 + 1e-4).all(), column.name


@given(collections())
def test_missing_topics_count_as_zero_with_c(collection: Collection) -> None:
    both = Protocol(topics="both")
    every = Protocol(topics="qrels")
    names = ["map", "P", "ndcg", "ndcg_cut", "recip_rank", "recall", "bpref"]
    try:
        some = ours(collection, names, both)
    except NothingScoredError:
        return
    full = ours(collection, names, every)
    assert full.counts.missing == some.counts.missing == len(collection.qrels) - len(some.topics)
    for column, a, b in zip(some.columns, some.summary(), full.summary(), strict=True):
        assert a * len(some.topics) == pytest.approx(b * len(collection.qrels), rel=1e-12), column.name


@given(collections(), st.integers(1, 3))
def test_documents_judged_not_relevant_matter_where_that_is_declared(collection: Collection, level: int) -> None:
    """Matrices leave such documents out for the other measures."""
    positive = {t: {d: v for d, v in docs.items() if v > 0} for t, docs in collection.qrels.items()}
    run = {t: {d: strtod(s.encode())[0] for d, s in docs.items()} for t, docs in collection.run.items()}
    names = [name for name, each in catalogue().items() if each.needs == ("qrels",) and not each.nonrelevant]
    for gains in ("level", "exp"):
        whole, part = (
            trecpy.evaluate(qrels, run, [*names, "RR@2", "ERR@3"], relevance_level=level, gains=gains)
            for qrels in (collection.qrels, positive)
        )
        assert repr(whole.to_dict()) == repr(part.to_dict())


@given(collections(lowest=0))
def test_judged_only_drops_what_is_not_judged(collection: Collection) -> None:
    judged = {
        topic: {d: score for d, score in docs.items() if d in collection.qrels.get(topic, {})}
        for topic, docs in collection.run.items()
    }
    some = [topic for topic, docs in judged.items() if docs]  # a ranking that loses all its documents stays, empty
    if some:
        whole = Collection(collection.qrels, {topic: collection.run[topic] for topic in some})
        dropped = Collection(collection.qrels, {topic: judged[topic] for topic in some})
        assert scored(whole, judged_only=True, topics="both") == scored(dropped, topics="both")


@given(collections(), st.integers(1, 5))
def test_a_cut_ranking_has_the_values_of_its_cutoff(collection: Collection, k: int) -> None:
    names = [f"P.{k}", f"recall.{k}", f"ndcg_cut.{k}", f"map_cut.{k}", f"success.{k}"]
    try:
        whole = ours(collection, names, Protocol())
    except NothingScoredError:
        return
    cut = ours(collection, names, Protocol(depth=k))
    assert by_topic(cut) == by_topic(whole)
