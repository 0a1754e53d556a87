"""Small collections whose scores the papers' own code, NIST's programs or the named tools printed."""

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trecpy
from trecpy.errors import InputError, TopicError


def score(qrels: Any, run: Any, measures: list[str], **options: Any) -> list[float]:
    found = trecpy.evaluate(qrels, run, measures, **options)
    return [found[name] for name in measures]


def scores(*values: float, digits: int = 4) -> Any:
    return pytest.approx(list(values), abs=0.5000001 * 10.0**-digits)


# QDER, and trec_eval's flags around it

GRADED = {"q": {"d1": 1, "d2": 0, "d3": 3, "d4": 2, "d5": 0, "d6": 2}}  # d6 is no candidate
RANKED = {"q": ["d1", "d2", "d3", "d4", "d5"]}


@pytest.mark.parametrize(
    ("gains", "ideal", "value"),
    [
        ("level", "judged", 0.590484),
        ("level", "candidates", 0.705891),
        ("exp", "judged", 0.535136),
        ("exp", "candidates", 0.616646),
    ],
)
def test_ndcg_by_gain_and_ideal_ranking(gains: str, ideal: str, value: float) -> None:
    assert score(GRADED, RANKED, ["nDCG@20"], gains=gains, ideal=ideal) == scores(value, digits=6)


def test_qder_and_gdeval_on_one_topic() -> None:
    assert score(GRADED, RANKED, ["nDCG@20", "map", "RR", "P@20"], protocol="qder") == scores(0.5905, 0.6042, 1, 0.15)
    twice = score(GRADED, RANKED, ["nDCG@20", "map", "RR", "P@20"], protocol="qder", relevance_level=2)
    assert twice == scores(0.5905, 0.2778, 0.3333, 0.10)
    assert score(GRADED, RANKED, ["nDCG@20"], protocol="gdeval") == [0.53514]


JUDGED = {"1": {"a": 1, "b": 0}, "2": {"c": 1}, "3": {"d": 1}, "4": {"e": 0}}
FOUND = {"1": ["u", "b", "a"], "2": ["c"], "4": ["e"]}  # u is not judged, topic 3 is missing


@pytest.mark.parametrize(
    ("options", "topics", "expected"),
    [
        ({"protocol": "trec_eval-9.0.8"}, 3, (0.4444, 0.4444, 0.0333, 0.5000)),
        ({"protocol": "qder"}, 4, (0.3333, 0.3333, 0.0250, 0.3750)),
        ({"protocol": "trec_eval-9.0.8", "judged_only": True}, 3, (0.5000, 0.5000, 0.0333, 0.5436)),
        ({"protocol": "qder-codec"}, 4, (0.3750, 0.3750, 0.0250, 0.4077)),
    ],
)
def test_topics_and_judged_only(options: dict[str, Any], topics: int, expected: tuple[float, ...]) -> None:
    found = score(JUDGED, FOUND, ["num_q", "map", "RR", "P@20", "nDCG@20"], **options)
    assert found == scores(topics, *expected)


def test_a_tie_is_not_in_the_order_of_the_file() -> None:
    tied = {"q": {"a": 0.5, "b": 0.5}}
    assert score({"q": {"a": 1}}, tied, ["RR"], protocol="qder") == [0.5]
    assert score({"q": {"a": 1}}, tied, ["RR"], protocol="qder", ties="input") == [1]


def test_scores_beyond_seven_digits() -> None:
    close = {"q": {"a": 0.12345678902, "b": 0.12345678901}}
    assert score({"q": {"a": 1}}, close, ["RR"], protocol="trec_eval-9.0.8") == [0.5]
    assert score({"q": {"a": 1}}, close, ["RR"], protocol="trec_eval-10.0") == [1]


# MS MARCO

REFERENCE = {"1": {"11": 1}, "2": {"22": 1}, "3": {"33": 1}, "4": {"44": 0}}
BY_RANK = {"1": ["90", "11"], "2": ["91", *(f"9{n}" for n in range(2, 11)), "22"], "4": ["44"]}


@pytest.mark.parametrize(
    ("measure", "options", "value"),
    [
        ("RR@10", {"protocol": "msmarco-passage"}, 0.375),
        ("RR@100", {"protocol": "msmarco-document"}, (1 / 2 + 1 / 11 + 1) / 4),
        ("RR", {"protocol": "trec_eval-9.0.8", "topics": "qrels", "depth": 10}, 0.1250),
        ("RR", {"protocol": "trec_eval-9.0.8", "depth": 10}, 0.1667),
        ("RR", {"protocol": "trec_eval-9.0.8", "topics": "qrels"}, 0.1477),
    ],
)
def test_msmarco(measure: str, options: dict[str, Any], value: float) -> None:
    """A grade of 0 is relevant to the official script, not to trec_eval; topics that the run lacks count."""
    assert score(REFERENCE, BY_RANK, [measure], **options) == scores(value)


def by_rank(lines: str, measure: str = "RR@10", qrels: Any = REFERENCE, **options: Any) -> float:
    run = io.BytesIO(lines.replace(", ", "\n").encode() + b"\n")
    options = {"protocol": "msmarco-passage", "run_format": "msmarco", **options}
    return trecpy.evaluate(qrels, run, measure, **options)[measure]


def test_msmarco_takes_documents_at_the_ranks_that_are_stated() -> None:
    gaps = "1 90 1, 1 11 2, 2 91 1, 2 22 11, 4 44 1"
    assert by_rank(gaps) == 0.375
    assert by_rank(gaps, "RR@100", protocol="msmarco-document") == (1 / 2 + 1 / 11 + 1) / 4
    assert by_rank(gaps, ties="trec") == (1 / 2 + 1 / 2 + 1) / 4  # gaps are closed
    assert by_rank("1 11 5", qrels={"1": {"11": 1}}) == 1 / 5
    assert by_rank("1 11 7, 1 90 7, 1 91 8", qrels={"1": {"11": 1}}) == 0  # the later one at a rank counts
    assert by_rank("1 90 3, 1 11 3, 1 11 9", qrels={"1": {"11": 1}}) == 1 / 3  # and a document may come twice
    in_memory = trecpy.Run.read(io.BytesIO(b"1 11 5\n"), layout="msmarco")
    assert trecpy.evaluate({"1": {"11": 1}}, in_memory, "RR@10", protocol="msmarco-passage")["RR@10"] == 1 / 5


@pytest.mark.parametrize(("rank", "shown"), [("0", "0"), ("1.5", "1.5"), ("-3", "-3")])
def test_msmarco_ranks_are_counted_from_1(rank: str, shown: str) -> None:
    with pytest.raises(TopicError, match=rf"topic '4': expected ranks that are integers >= 1, found {shown} in line 2"):
        by_rank(f"1 11 2, 4 44 {rank}")


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 12)), min_size=1, max_size=8), st.data())
def test_msmarco_is_the_official_script(lines: list[tuple[str, int]], data: st.DataObject) -> None:
    """Slots of ranks that are overwritten, and the first relevant one down to 10."""
    slots = [""] * 13
    for docno, rank in lines:
        slots[rank] = docno
    relevant = data.draw(st.sets(st.sampled_from("abcd"), min_size=1))
    first = next((rank for rank in range(1, 11) if slots[rank] in relevant), None)
    text = ", ".join(f"q {docno} {rank}" for docno, rank in lines)
    assert by_rank(text, qrels={"q": dict.fromkeys(relevant, 0)}) == (1 / first if first else 0)


# BEIR

BEIR_QRELS = {"q1": {"q1": 0, "a": 1, "b": 1}, "q2": {"c": 1}, "q3": {"z": 1}}
BEIR_RUN = {"q1": {"q1": 0.9, "x": 0.8, "a": 0.7}, "q2": {"c": 1.0}}


def test_beir() -> None:
    """Documents that are their own topic are dropped, but not for MRR, whose mean is over all judged topics."""
    assert score(BEIR_QRELS, BEIR_RUN, ["nDCG@3", "AP@3"], protocol="beir") == [0.69343, 0.625]
    kept = score(BEIR_QRELS, BEIR_RUN, ["nDCG@3", "AP@3"], protocol="beir", ignore_self=False)
    assert kept == [0.65329, 0.58333]
    assert score(BEIR_QRELS, BEIR_RUN, ["RR@3"], protocol="beir") == [0.44444]


# RecBole


def test_recbole() -> None:
    qrels, run = {"u": dict.fromkeys("abcd", 1)}, {"u": list("axbyc")}
    found = score(qrels, run, [f"AP@{k}" for k in range(1, 6)], protocol="recbole", places=None)
    assert found == scores(1, 0.5, 0.555556, 0.416667, 0.566667, digits=6)
    assert score(qrels, run, ["nDCG@5", "R@5"], protocol="recbole", places=None) == scores(0.73659, 0.75, digits=5)
    assert score(qrels, run, ["AP@3", "nDCG@5"], protocol="recbole") == [0.5556, 0.7366]


def test_divisors_of_average_precision() -> None:
    """torchmetrics divides by the hits, trec_eval by all relevant documents."""
    qrels, run = {"u": dict.fromkeys("abcd", 1)}, {"u": list("axbyc")}
    assert score(qrels, run, ["AP@3"], ap="hits") == scores(0.833333, digits=6)
    assert score(qrels, run, ["AP@3"]) == scores(0.4167)


# Ties on average


def test_ndcg_over_all_orders_of_ties() -> None:
    """scikit-learn's ndcg_score, with and without ignore_ties; torchmetrics' is the first."""
    given = [[0.5, 0.5, 0.1]], [[1, 0, 0]]
    assert trecpy.evaluate_dense(*given, "nDCG", ties="expected")["ndcg"] == pytest.approx(0.815465, abs=5e-7)
    assert trecpy.evaluate_dense(*given, "nDCG")["ndcg"] == pytest.approx(0.630930, abs=5e-7)


# Means of folds, and documents twice


def test_the_mean_over_folds_is_that_of_topics() -> None:
    """.46, where the mean of the folds' means is .525."""
    ranks = {"1": 10, "2": 5, "3": 4, "4": 1, "5": 2}
    qrels = {topic: {"a": 1} for topic in ranks}
    run = {topic: [*(f"x{n}" for n in range(rank - 1)), "a"] for topic, rank in ranks.items()}
    folds = [{topic: run[topic] for topic in part} for part in ("12", "345")]
    means = [score(qrels, fold, ["RR"], protocol="qder", topics="both")[0] for fold in folds]
    pooled = score(qrels, trecpy.Folds(folds), ["RR"], protocol="qder")[0]
    assert pooled == pytest.approx(np.mean([1 / rank for rank in ranks.values()]))
    assert pooled != pytest.approx(np.mean(means))


@pytest.mark.parametrize(("duplicates", "value"), [("first", 1), ("last", 1 / 3), ("max", 1)])
def test_documents_ranked_twice(duplicates: str, value: float) -> None:
    twice = [("q", "a", 3.0), ("q", "b", 2.0), ("q", "c", 1.5), ("q", "a", 1.0)]
    assert score({"q": {"a": 1}}, twice, ["RR"], protocol="qder", duplicates=duplicates) == [pytest.approx(value)]
    with pytest.raises(TopicError, match="expected a document once in the ranking, found 'a' twice"):
        score({"q": {"a": 1}}, twice, ["RR"], protocol="qder")


def test_runs_that_state_no_ranks_are_said() -> None:
    found = trecpy.evaluate({"1": {"11": 1}}, {"1": {"90": 2.0, "11": 1.0}}, "RR@10", protocol="msmarco-passage")
    assert (found["RR@10"], [note.partition(",")[0] for note in found.notes]) == (0.5, ["the run states scores"])
    file = io.BytesIO(b"1 11 5\n")
    assert not trecpy.evaluate({"1": {"11": 1}}, file, "RR@10", protocol="msmarco-passage", run_format="msmarco").notes
    with pytest.raises(InputError, match=r"ties: expected 'best', .*, found 'rank'"):
        trecpy.quoter([[1.0, 2.0]], [0], ties="rank")
    with pytest.raises(InputError, match="evaluate_dense: expected ties by score"):
        trecpy.evaluate_dense([[1.0, 2.0]], [[1, 0]], "RR", protocol="msmarco-passage")
