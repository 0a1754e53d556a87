"""Comparisons: tests against scipy and by hand, laws, groups, and the command with its gates."""

import itertools
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from command import trecpy as command
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Collection, collections

import trecpy
from trecpy import registry, significance
from trecpy.cli.gates import Gate
from trecpy.comparison import Comparison
from trecpy.errors import InputError, LibraryError, MeasureError, NothingScoredError
from trecpy.numbers import strtod
from trecpy.significance import TESTS, corrected, interval, paired_test

# A worked example of paired scores.
A = np.array([0.5, 0.6, 0.7, 0.4, 0.9, 0.3])
B = np.array([0.4, 0.55, 0.5, 0.45, 0.7, 0.25])

differences = st.lists(st.sampled_from([-0.5, -0.25, -0.1, 0.0, 0.1, 0.2, 0.25, 0.75]), min_size=2, max_size=12)


def test_worked_example() -> None:
    student = paired_test("t", A - B, 0, 1)
    assert student.statistic == pytest.approx(2.313867, abs=1e-6)
    assert student.p_value == pytest.approx(0.068576, abs=1e-6)
    assert paired_test("wilcoxon", A - B, 0, 1).p_value == pytest.approx(0.125, abs=1e-12)


@settings(max_examples=25)  # of the exact test with ties each takes scipy a fifth of a second
@given(differences)
def test_tests_are_scipys(values: list[float]) -> None:
    found = np.array(values)
    nonzero = found[found != 0]
    if len(set(values)) > 1:
        assert paired_test("t", found, 0, 1).p_value == pytest.approx(
            scipy.stats.ttest_1samp(found, 0).pvalue, rel=1e-12
        )
    if len(nonzero):
        wilcoxon = scipy.stats.wilcoxon(nonzero)
        assert paired_test("wilcoxon", found, 0, 1)[:2] == pytest.approx((wilcoxon.statistic, wilcoxon.pvalue))
        sign = scipy.stats.binomtest(int((nonzero > 0).sum()), len(nonzero))
        assert paired_test("sign", found, 0, 1).p_value == sign.pvalue


@given(differences)
def test_randomisation_counts_all_signs(values: list[float]) -> None:
    observed = abs(math.fsum(values))
    means = [abs(math.fsum(s * v for s, v in zip(signs, values, strict=True)))
             for signs in itertools.product((-1, 1), repeat=len(values))]  # fmt: skip
    expected = sum(mean >= observed - 1e-9 for mean in means) / len(means)
    assert paired_test("randomisation", np.array(values), 0, 1).p_value == pytest.approx(expected, abs=1e-12)


def test_randomisation_draws_where_all_signs_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).normal(0.2, 0.5, 15)
    exact = paired_test("randomisation", values, 7, 20_000)
    monkeypatch.setattr(significance, "_EXACT_UP_TO", 0)
    drawn = paired_test("randomisation", values, 7, 20_000)
    assert (exact.how, drawn.how) == ("exact", "20,000 draws, seed 7")
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.01)
    assert drawn == paired_test("randomisation", values, 7, 20_000)
    assert drawn != paired_test("randomisation", values, 8, 20_000)


@pytest.mark.parametrize("test", TESTS)
def test_degenerate_differences(test: str) -> None:
    assert paired_test(test, np.zeros(5), 0, 100).p_value == 1.0
    for one in (np.zeros(0), np.array([0.5])):
        alone = paired_test(test, one, 0, 100)
        assert (math.isnan(alone.p_value), alone.how) == (True, "undefined: fewer than 2 topics")
    infinite = paired_test(test, np.array([1.0, math.inf]), 0, 100)
    assert (math.isnan(infinite.p_value), infinite.how) == (True, "undefined: values that are not finite")


def test_equal_differences_are_certain_to_the_t_test() -> None:
    """.5 - .4, .6 - .5 and .7 - .6 are equal as numbers, not as doubles."""
    up = paired_test("t", np.array([0.5 - 0.4, 0.6 - 0.5, 0.7 - 0.6]), 0, 1)
    assert (up.p_value, up.statistic) == (0.0, math.inf)
    assert paired_test("t", np.array([-0.25, -0.25]), 0, 1)[:2] == (-math.inf, 0.0)


def test_corrections() -> None:
    p = [0.01, 0.04, 0.03, 0.005]
    assert corrected(p, "holm") == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert corrected(p, "bonferroni") == pytest.approx([0.04, 0.16, 0.12, 0.02])
    assert corrected(p, "bh") == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert corrected([0.01, math.nan, 0.6], "bonferroni") == pytest.approx([0.02, math.nan, 1.0], nan_ok=True)
    assert corrected([], "holm") == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_corrections_agree_with_scipy_and_each_other(p: list[float]) -> None:
    holm, bonferroni, bh = (corrected(p, method) for method in ("holm", "bonferroni", "bh"))
    assert bh == pytest.approx(list(scipy.stats.false_discovery_control(p)))
    assert all(a <= b + 1e-12 <= c + 2e-12 for a, b, c in zip(p, holm, bonferroni, strict=True))
    assert corrected(p, "none") == p


def test_intervals() -> None:
    values = np.random.default_rng(3).normal(0.1, 1.0, 200)
    low, high = interval(values, 0.95, 5, 4000)
    theory = scipy.stats.t.interval(0.95, 199, values.mean(), scipy.stats.sem(values))
    assert (low, high) == pytest.approx(theory, abs=0.02)
    assert (low, high) == interval(values, 0.95, 5, 4000)
    assert interval(values, 0.5, 5, 4000)[0] > low
    assert interval(np.full(4, 0.25), 0.95, 0, 100) == (0.25, 0.25)
    assert all(map(math.isnan, interval(np.array([0.5]), 0.95, 0, 100)))


QRELS = {"1": {"a": 1, "b": 0}, "2": {"a": 1}, "3": {"a": 1, "c": 2}, "4": {"d": 1}}
FIRST = {"1": ["b", "a"], "2": ["a"], "3": ["c", "x", "a"]}
SECOND = {"1": ["a", "b"], "2": ["a", "x"], "3": ["x", "c"], "5": ["a"]}


def evaluated(run: object, measures: object = ("map", "recip_rank", "first_rel_rank"), **options: object) -> object:
    return trecpy.evaluate(QRELS, run, measures, **options)  # type: ignore[arg-type]


def compared(*measures: str, **options: object) -> Comparison:
    names = measures or ("map", "recip_rank", "first_rel_rank")
    return trecpy.compare(evaluated(FIRST, names, **options), evaluated(SECOND, names, **options))  # type: ignore[arg-type]


def test_compare() -> None:
    result = compared(topics="both")
    rr = result["RR"]
    assert (rr.baseline, rr.other, rr.difference) == pytest.approx(((0.5 + 1 + 1) / 3, (1 + 1 + 0.5) / 3, 0.0))
    assert (rr.wins, rr.ties, rr.losses) == (1, 1, 1)
    assert list(rr.differences) == [0.5, 0.0, -0.5]
    assert (result.topics, result.only_baseline, result.only_other, result.family) == (("1", "2", "3"), 0, 0, 3)
    assert rr.p_value == pytest.approx(scipy.stats.ttest_rel([1, 1, 0.5], [0.5, 1, 1]).pvalue)
    assert rr.p_adjusted == 1.0
    assert rr.effect_size == 0.0
    assert rr.standard_error == pytest.approx(0.5 / math.sqrt(3))
    assert result["map"].measure == "map"
    assert "map" in result
    assert "P_5" not in result
    assert "Comparison over 3 topics: paired t-test, Holm over 3 tests" in repr(result)


def test_less_can_be_better() -> None:
    rank = compared(topics="both")["first_rel_rank"]
    assert (rank.difference, rank.higher_is_better) == (0.0, False)
    assert list(rank.differences) == [-1.0, 0.0, 1.0]
    worse = trecpy.compare(
        trecpy.evaluate(QRELS, {"1": ["a"], "2": ["a"]}, "first_rel_rank", topics="both"),
        trecpy.evaluate(QRELS, {"1": ["x", "a"], "2": ["a"]}, "first_rel_rank", topics="both"),
    )["first_rel_rank"]
    assert (worse.difference, worse.wins, worse.ties, worse.losses) == (0.5, 0, 1, 1)


def test_topics_of_one_run_are_left_out() -> None:
    first = trecpy.evaluate(QRELS, {"1": ["a"], "2": ["x", "a"], "3": ["x"]}, "recip_rank", topics="both")
    second = trecpy.evaluate(QRELS, {"2": ["a"], "3": ["x"], "4": ["d"]}, "recip_rank", topics="both")
    result = trecpy.compare(first, second)
    assert (result.topics, result.only_baseline, result.only_other) == (("2", "3"), 1, 1)
    assert (result["RR"].baseline, result["RR"].other) == (0.25, 0.5)
    nothing = trecpy.evaluate(QRELS, {"4": ["d"]}, "recip_rank", topics="both")
    with pytest.raises(NothingScoredError, match="no topic is in both"):
        trecpy.compare(first, nothing)
    alone = trecpy.compare(nothing, nothing)["RR"]
    assert (math.isnan(alone.p_value), alone.how) == (True, "undefined: fewer than 2 topics")
    assert all(map(math.isnan, (alone.standard_error, alone.effect_size, *alone.interval())))


def test_infinite_values() -> None:
    """Equal infinities differ by 0; in both directions there is no mean; in one it is infinite."""

    def ranks(*runs: dict[str, list[str]]) -> trecpy.Comparison:
        qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}}
        return trecpy.compare(*(trecpy.evaluate(qrels, run, "first_rel_rank") for run in runs))

    first = {"1": ["a"], "2": ["a"], "3": ["x"]}
    found = ranks(first, {"1": ["x", "a"], "2": ["x", "a"], "3": ["x"]})["first_rel_rank"]
    assert (found.baseline, found.other) == (math.inf, math.inf)
    assert list(found.differences) == [1.0, 1.0, 0.0]
    assert (found.difference, found.wins, found.ties, found.losses) == (2 / 3, 0, 1, 2)
    assert found.p_value == pytest.approx(scipy.stats.ttest_1samp([1.0, 1.0, 0.0], 0).pvalue)
    assert found.effect_size == pytest.approx((2 / 3) / np.std([1, 1, 0], ddof=1))
    opposite = ranks(first, {"1": ["x"], "2": ["a"], "3": ["a"]})["first_rel_rank"]
    undefined = (opposite.difference, opposite.p_value, opposite.effect_size, *opposite.interval())
    assert all(map(math.isnan, undefined))
    assert (opposite.wins, opposite.ties, opposite.losses) == (1, 1, 1)
    groups = opposite.by({"1": "worse", "2": "same"})
    assert {name: each.difference for name, each in groups.items()} == {
        "worse": math.inf, "same": 0.0, "(none)": -math.inf,
    }  # fmt: skip


def test_a_value_that_is_nan_is_no_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_MEASURES", dict(registry.catalogue()))

    @trecpy.measure("share_of_relevant")
    def share(docs: Any) -> Any:
        return docs.num_rel_ret / docs.num_rel

    qrels = {"1": {"a": 1}, "2": {"a": 0}}
    first, second = (trecpy.evaluate(qrels, {"1": [d], "2": ["a"]}, "share_of_relevant") for d in "xa")
    result = trecpy.compare(first, second)
    found = result["share_of_relevant"]
    assert (math.isnan(found.difference), found.wins, found.ties, found.losses) == (True, 1, 0, 0)
    assert result.by_difficulty("share_of_relevant") == {"1": "0 and below"}


PRESET_QRELS = {"q1": {"q1": 0, "a": 1, "b": 2}, "q2": {"c": 1}, "q3": {"z": 1}, "q4": {"d": 0}}
PRESET_RUNS = (
    {"q1": {"q1": 3.0, "x": 2.0, "a": 1.0}, "q2": {"c": 1.0, "e": 1.0}, "q4": {"d": 1.0}, "q9": {"a": 1.0}},
    {"q1": {"a": 3.0, "x": 2.0, "b": 2.0}, "q2": {"e": 1.0, "c": 1.0}, "q4": {"f": 1.0}, "q9": {"x": 1.0}},
)


@pytest.mark.parametrize("name", trecpy.protocols)
def test_means_are_the_summaries_by_every_preset(name: str) -> None:
    """Where runs have the same topics; each measure over the topics of its own rule."""
    measures = trecpy.protocols[name].measures
    evaluations = [trecpy.evaluate(PRESET_QRELS, run, measures, protocol=name) for run in PRESET_RUNS]
    result = trecpy.compare(*evaluations)
    assert (result.only_baseline, result.only_other) == (0, 0)
    assert result.protocol.batch is None
    unbatched = [trecpy.evaluate(PRESET_QRELS, run, measures, protocol=result.protocol).summary for run in PRESET_RUNS]
    for compared, column in zip(result.measures, result._columns, strict=True):
        batched = column.under(evaluations[0].protocol).batch is not None
        for which, evaluation, whole in zip(("baseline", "other"), evaluations, unbatched, strict=True):
            summary = whole if batched else evaluation.summary
            assert getattr(compared, which) == summary[compared.measure]


def test_measures_with_topics_of_their_own() -> None:
    """BEIR's example: MRR is over all judged topics, the others over those of both files."""
    runs = (
        {"q1": {"q1": 3.0, "x": 2.0, "a": 1.0}, "q2": {"c": 1.0}},
        {"q1": {"q1": 3.0, "x": 2.0, "a": 1.0}, "q3": {"z": 1.0}},
    )
    result = trecpy.compare(
        *(trecpy.evaluate(PRESET_QRELS, run, ["nDCG@3", "RR@3"], protocol="beir", gains="binary") for run in runs)
    )
    rr, ndcg = result["RR@3"], result["nDCG@3"]
    assert (rr.topic_ids, ndcg.topic_ids) == (("q1", "q2", "q3", "q4"), ("q1",))
    assert [(each.only_baseline, each.only_other) for each in (rr, ndcg)] == [(0, 0), (1, 1)]
    assert (rr.baseline, rr.other, list(rr.differences)) == (0.33333, 0.33333, [0, -1, 1, 0])
    assert (result.topics, result.only_baseline, result.only_other) == (("q1", "q2", "q3", "q4"), 1, 1)
    assert result.by_difficulty("nDCG@3") == {"q1": "up to 0.5"}
    assert {group: each.topics for group, each in rr.by(result.by_difficulty("nDCG@3")).items()} == {
        "up to 0.5": 1, "(none)": 3,
    }  # fmt: skip
    own = {"per_measure": {"recip_rank": {"topics": "run"}}, "topics": "both"}
    evaluations = [trecpy.evaluate(PRESET_QRELS, run, ["map", "recip_rank"], **own) for run in PRESET_RUNS]  # type: ignore[arg-type]
    compared = trecpy.compare(*evaluations)
    assert [each.topic_ids for each in compared.measures] == [("q1", "q2", "q4"), ("q1", "q2", "q4", "q9")]
    assert [each.baseline for each in compared.measures] == list(evaluations[0].summary.values())


@pytest.mark.parametrize("compat", ["10.0", "9.0.8"])
def test_means_are_the_summaries_over_all_judged_topics(compat: str) -> None:
    """9.0.8 counts judged topics that the run lacks with 0, without listing them."""
    result = compared("map", "recip_rank", topics="qrels", compat=compat)
    assert len(result.topics) == 4
    for which, run in (("baseline", FIRST), ("other", SECOND)):
        summary = trecpy.evaluate(QRELS, run, ["map", "recip_rank"], topics="qrels", compat=compat).summary
        assert {each.measure: getattr(each, which) for each in result.measures} == summary


@given(collections(lowest=0))
def test_the_other_way_round(collection: Collection) -> None:
    texts = (collection.run, {t: dict.fromkeys(docs, "0") for t, docs in collection.run.items()})
    runs = [{t: {d: strtod(s.encode())[0] for d, s in docs.items()} for t, docs in run.items()} for run in texts]
    measures = ["map", "ndcg", "P_5"]
    first, second = (trecpy.evaluate(collection.qrels, run, measures) for run in runs)
    there, back = trecpy.compare(first, second), trecpy.compare(second, first)
    for one, two in zip(there.measures, back.measures, strict=True):
        assert one.difference == -two.difference
        assert (one.wins, one.ties, one.losses) == (two.losses, two.ties, two.wins)
        assert one.p_value == pytest.approx(two.p_value, nan_ok=True)
        assert (one.baseline, one.other) == (first.summary[one.measure], second.summary[one.measure])


def test_several_runs_are_one_family() -> None:
    baseline = evaluated(FIRST)
    alone = trecpy.compare(baseline, evaluated(SECOND), correction="bonferroni")  # type: ignore[arg-type]
    both = trecpy.compare_many(
        baseline,  # type: ignore[arg-type]
        {"a": evaluated(SECOND), "b": evaluated(FIRST)},  # type: ignore[dict-item]
        correction="bonferroni",
    )
    assert alone.family < both["a"].family == both["b"].family
    p = both["a"]["map"].p_value
    assert both["a"]["map"].p_adjusted == min(1.0, p * both["a"].family)


def test_groups() -> None:
    groups = compared(topics="both")["recip_rank"].by({"1": "new", "3": "old", 9: "other"})
    assert {name: (each.topics, each.difference, each.wins) for name, each in groups.items()} == {
        "(none)": (1, 0.0, 0), "new": (1, 0.5, 1), "old": (1, -0.5, 0),
    }  # fmt: skip


def test_groups_by_difficulty(paths: list[str]) -> None:
    result = compared("recip_rank", topics="qrels")
    groups = result.by_difficulty("RR")
    assert list(groups.items()) == [("4", "0 and below"), ("1", "up to 0.5"), ("2", "above 0.75"), ("3", "above 0.75")]
    assert set(result.by_difficulty("RR", (0.5,)).values()) == {"0.5 and below", "above 0.5"}
    assert list(result["RR"].by(groups)) == ["0 and below", "up to 0.5", "above 0.75"]
    assert result.by_difficulty("RR", np.array([0.5])) == result.by_difficulty("RR", (0.5,))  # type: ignore[arg-type]
    for edges in ((), (0.5, 0.5), (1, 0), "ab", "12", (math.nan,), (0, math.inf), ("x",), (None,), 0.5, None):
        with pytest.raises(InputError, match="edges: expected ascending numbers"):
            result.by_difficulty("RR", edges)  # type: ignore[arg-type]
    qrels, first, better, *_ = paths
    rows = records(qrels, first, better, "-m", "map", "--by-baseline", "RR")
    assert [(row["group"], row["topics"]) for row in rows if row["measure"] == "map"] == [
        ("all", 4), ("0 and below", 2), ("up to 0.5", 1), ("above 0.75", 1),
    ]  # fmt: skip
    assert command("compare", qrels, first, better, "--by-baseline", "P").said == [
        "error: --by-baseline: P: expected one measure that is averaged over topics, found 9 columns"
    ]


def test_what_is_refused() -> None:
    first = evaluated(FIRST)
    with pytest.raises(InputError, match=r"same protocol, found .* topics=qrels, .* and .* topics=both, "):
        trecpy.compare(first, evaluated(FIRST, topics="both"))  # type: ignore[arg-type]
    others = {**QRELS, "1": {"a": 1, "b": 1}}
    with pytest.raises(InputError, match="same judgements, found topic '1' with 1 and 2 documents above level 0"):
        trecpy.compare(first, trecpy.evaluate(others, FIRST, "map"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="test: expected one of t, wilcoxon"):
        trecpy.compare(first, first, "anova")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="correction: expected one of holm"):
        trecpy.compare(first, first, correction="x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="seed: expected an integer >= 0, found -1"):
        trecpy.compare(first, first, seed=-1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected evaluations, found"):
        trecpy.compare(first, {"map": 1.0})  # type: ignore[arg-type]
    with pytest.raises(MeasureError, match="num_ret, gm_map"):
        trecpy.compare(*[evaluated(FIRST, ["num_ret", "gm_map"])] * 2)  # type: ignore[arg-type]
    with pytest.raises(MeasureError, match="expected one of map"):
        trecpy.compare(first, first)["P_5"]  # type: ignore[arg-type]
    with pytest.raises(InputError, match="confidence: expected a number between 0 and 1"):
        trecpy.compare(first, first)["map"].interval(95)  # type: ignore[arg-type]


def test_what_else_is_refused() -> None:
    first = trecpy.evaluate(QRELS, FIRST, "map")
    compared = trecpy.compare(first, first)["map"]
    for groups in (None, [1], "ab", {"1"}):
        with pytest.raises(InputError, match="groups: expected a dict, topic -> group, found"):
            compared.by(groups)  # type: ignore[arg-type]
    for others in ([first], first, None):
        with pytest.raises(InputError, match="others: expected a dict of evaluations by name, found"):
            trecpy.compare_many(first, others)  # type: ignore[arg-type]
    for resamples in (0, -1, 1_000_001, 0.5, True):
        with pytest.raises(InputError, match="resamples: expected an integer from 1 to 1,000,000, found"):
            compared.interval(resamples=resamples)  # type: ignore[arg-type]


def test_numbers_of_numpy_and_names_of_protocols_make_no_difference() -> None:
    first, second = (trecpy.evaluate(QRELS, run, "map", topics="both") for run in (FIRST, SECOND))
    named = trecpy.evaluate(QRELS, SECOND, "map", protocol="trec_eval-10.0")
    plain, other = trecpy.compare(first, second)["map"], trecpy.compare(first, named)["map"]
    assert plain == other
    assert plain.interval(np.float64(0.5), np.int64(3), np.int64(100)) == plain.interval(0.5, 3, 100)  # type: ignore[arg-type]
    assert plain.interval(np.float32(0.5)) == plain.interval(0.5)  # type: ignore[arg-type]


def test_topics_of_groups_are_ids_as_elsewhere() -> None:
    first = trecpy.evaluate(QRELS, FIRST, "map")
    groups = trecpy.compare(first, first)["map"].by({1: "integer", b"2": "bytes", "3": "text"})
    assert {group: each.topics for group, each in groups.items()} == {"integer": 1, "bytes": 1, "text": 1, "(none)": 1}


def test_repr_says_what_p_is_below() -> None:
    qrels = {str(t): {"a": 1} for t in range(40)}
    first, second = (trecpy.evaluate(qrels, dict.fromkeys(qrels, docs), "map") for docs in (["x", "a"], ["a", "x"]))
    assert "p <0.0001, adjusted <0.0001" in repr(trecpy.compare(first, second, "sign"))
    assert "p 0.0000, adjusted 0.0000" in repr(trecpy.compare(first, second))  # it is 0: all differences are equal
    alone = trecpy.evaluate({"1": {"a": 1}}, {"1": ["a"]}, "map")
    assert "p -, adjusted -" in repr(trecpy.compare(alone, alone))


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    first = evaluated(FIRST)
    with pytest.raises(LibraryError, match=r"pip install 'trecpy\[stats\]'"):
        trecpy.compare(first, first)  # type: ignore[arg-type]
    assert trecpy.compare(first, first, "randomisation")["map"].p_value == 1.0  # type: ignore[arg-type]


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    """qrels, two runs of the same candidates, one of others."""
    lines = {
        "qrels": [f"{t} 0 {d} {level}" for t, docs in QRELS.items() for d, level in docs.items()],
        "first": ["1 Q0 b 1 2 t", "1 Q0 a 1 1 t", "2 Q0 a 1 2 t", "2 Q0 x 1 1 t"],
        "better": ["1 Q0 b 1 1 t", "1 Q0 a 1 2 t", "2 Q0 a 1 2 t", "2 Q0 x 1 1 t"],
        "shorter": ["1 Q0 a 1 2 t", "2 Q0 x 1 1 t", "2 Q0 a 1 2 t"],
        "types": ["1 short", "2 very long", "", "3 short"],
    }
    for name, content in lines.items():
        (tmp_path / name).write_text("\n".join(content) + "\n")
    return [str(tmp_path / name) for name in lines]


def records(*arguments: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in command("compare", *arguments, "--format", "jsonl").out.splitlines()]


def test_command_prints_what_compare_finds(paths: list[str]) -> None:
    qrels, first, better, *_ = paths
    [record] = records(qrels, first, better, "-m", "map")
    expected = trecpy.compare(*(trecpy.evaluate(qrels, run, "map") for run in (first, better)))["map"]
    low, high = expected.interval()
    assert record == {
        "run": better, "measure": "map", "topics": 4, "baseline": expected.baseline, "value": expected.other,
        "difference": expected.difference, "low": low, "high": high, "p": expected.p_value,
        "adjusted": expected.p_adjusted, "mark": "", "effect": expected.effect_size,
        "better": 1, "equal": 3, "worse": 0,
    }  # fmt: skip


def test_groups_of_a_file(paths: list[str], tmp_path: Path) -> None:
    qrels, first, better, _, types = paths
    rows = records(qrels, first, better, "-m", "recip_rank", "--by", types)
    assert [(row["group"], row["topics"], row["difference"]) for row in rows] == [
        ("all", 4, 0.125), ("short", 2, 0.25), ("very long", 1, 0.0), ("(none)", 1, 0.0),
    ]  # fmt: skip
    (tmp_path / "bad").write_text("1 a\n2\n")
    (tmp_path / "twice").write_text("1 a\n1 b\n")
    assert command("compare", qrels, first, better, "--by", str(tmp_path / "bad")).said == [
        f"error: {tmp_path / 'bad'}:2: expected 2 columns (topic group), found 1: '2'"
    ]
    assert command("compare", qrels, first, better, "--by", str(tmp_path / "twice")).code == 2


def test_topics_that_groups_and_runs_do_not_share(paths: list[str], tmp_path: Path) -> None:
    qrels, first, better, *_ = paths
    file = tmp_path / "groups"
    file.write_text("1 a\n9 b\n2 a\n8 b\n")
    outcome = command("compare", qrels, first, better, "-m", "map", "--by", str(file))
    assert [line for line in outcome.said if str(file) in line] == [
        f"warning: {file}: 2 of its 4 topics not among those that are compared: '9', '8'",
        f"warning: {file}: lacks 2 of 4 topics, which are in the group (none): '3', '4'",
    ]
    file.write_text("".join(f"q{n} a\n" for n in range(9)))
    nothing = command("compare", qrels, first, better, "-m", "map", "--by", str(file))
    assert (nothing.code, nothing.out) == (2, b"")
    assert nothing.said[-1] == (
        f"error: {file}: expected groups of the topics that are compared ('1', '2', '3', '4'), "
        "found 'q0', 'q1', 'q2', 'q3', 'q4', ..."
    )
    file.write_text("\n")
    assert command("compare", qrels, first, better, "--by", str(file)).said == [
        f"error: {file}: expected lines of 2 columns (topic group), found none"
    ]


@pytest.fixture
def folds(tmp_path: Path) -> list[str]:
    """qrels of 5 topics; a run; the same topics in two folds, ranked better but for topic 5."""
    lines = {
        "q": [f"{t} 0 a 1" for t in range(1, 6)],
        "whole": [f"{t} Q0 {d} 0 {s} t" for t in range(1, 6) for d, s in (("x", 2), ("a", 1))],
        "one": [f"{t} Q0 {d} 0 {s} t" for t in (1, 2) for d, s in (("a", 2), ("x", 1))],
        "two": [f"{t} Q0 {d} 0 {s} t" for t in (3, 4, 5) for d, s in (("a", 3 if t < 5 else 1), ("x", 2))],
    }
    for name, content in lines.items():
        (tmp_path / name).write_text("\n".join(content) + "\n")
    return [str(tmp_path / name) for name in lines]


def test_folds_are_one_run(folds: list[str]) -> None:
    qrels, whole, one, two = folds
    joined = f"{one} + {two}"
    expected = trecpy.compare(
        trecpy.evaluate(qrels, whole, "map"), trecpy.evaluate(qrels, trecpy.Folds([one, two]), "map")
    )["map"]
    [record] = records("--folds", qrels, whole, one, two, "-m", "map")
    assert (record["run"], record["topics"], record["value"], record["p"]) == (joined, 5, 0.9, expected.p_value)
    assert (record["better"], record["equal"], record["worse"]) == (4, 1, 0)
    assert records("--folds", qrels, whole, "vs", one, two, "-m", "map") == [record]
    back = records("--folds", qrels, one, two, "vs", whole, "vs", one, two, "-m", "map", "--correction", "none")
    assert [(row["run"], row["baseline"], row["value"]) for row in back] == [(whole, 0.9, 0.5), (joined, 0.9, 0.9)]
    twice = command("compare", "--folds", qrels, whole, one, two, one, "-m", "map")
    assert (twice.code, twice.out, len(twice.said)) == (4, b"", 1)
    for wrong in (["vs", one], [whole, "vs"], [whole, "vs", "vs", one]):
        assert command("compare", "--folds", qrels, *wrong).said == [
            "error: --folds: expected runs on both sides of 'vs'"
        ]
    forgotten = command("compare", qrels, one, two, "vs", whole)
    assert (forgotten.code, forgotten.said) == (
        1, ["error: expected --folds beside 'vs', found none; a file of that name is './vs'"],
    )  # fmt: skip


def test_runs_without_a_common_topic_are_said(folds: list[str]) -> None:
    qrels, whole, one, two = folds
    apart = (
        f"warning: {two}: has no topic in common with {one}: do they belong together? --folds joins the folds of a run"
    )
    assert apart in command("compare", qrels, whole, one, two, "-m", "map").said
    assert apart in command("compare", qrels, one, two, "-m", "map").said
    both = command("compare", "--topics", "both", qrels, one, two, "-m", "map")
    assert (both.code, both.said[-2:]) == (
        7, [apart, "error: compare: no topic is in both evaluations, of 2 topics and 3 topics"],
    )  # fmt: skip
    for runs in ([whole, one], ["--folds", whole, one, two]):
        assert not any("in common" in line for line in command("compare", qrels, *runs, "-m", "map").said)


def test_presets_of_which_a_comparison_is_not_the_summary(paths: list[str]) -> None:
    qrels, first, better, *_ = paths
    for name, means, changed in (
        ("quoter-as-published", ["means: of single topics, as they are tested, not of batches of 64"], ", batch=None"),
        ("beir", [], ""),
        ("qder", [], ""),
    ):
        lines = command("compare", "--protocol", name, "-m", "RR", "-m", "P_5", qrels, first, better).out.decode()
        assert f"protocol: {name}{changed}\n" in lines
        assert [line.partition(";")[0] for line in lines.splitlines() if line.startswith("means: ")] == means


def test_topics_left_out_of_some_measures(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n2 0 a 1\n")
    (tmp_path / "two").write_text("1 Q0 a 0 1 t\n2 Q0 a 0 1 t\n")
    (tmp_path / "one").write_text("1 Q0 a 0 1 t\n")
    qrels, two, one = (str(tmp_path / name) for name in ("q", "two", "one"))
    outcome = command("compare", "--protocol", "beir", "-m", "RR@3", "-m", "nDCG@3", qrels, two, one)
    assert f"warning: {one}: 1 topic only in {two}; left out of ndcg_cut_3" in outcome.said
    whole = command("compare", "--topics", "both", "-m", "map", "-m", "RR", qrels, two, one)
    assert f"warning: {one}: 1 topic only in {two}; left out" in whole.said


def test_other_candidates_are_warned_of(paths: list[str]) -> None:
    qrels, first, better, shorter, _ = paths
    outcome = command("compare", qrels, first, better, shorter, "-m", "map")
    warnings = [line for line in outcome.said if "from the candidates" in line]
    assert len(warnings) == 1
    assert f"{shorter}: ranked other documents than {first} in 1 of 2 topics" in warnings[0]
    stated = [line for line in outcome.out.decode().splitlines() if line.startswith("candidates of")]
    assert [line.partition(": ")[2] for line in stated] == [
        "2.0 documents a topic (baseline 2.0), overlap 1.0000 (shared / all of both)",
        "1.5 documents a topic (baseline 2.0), overlap 0.7500 (shared / all of both)",
    ]


def test_table_says_what_it_shows(paths: list[str]) -> None:
    qrels, first, better, *_ = paths
    options = ["-m", "map", "-m", "num_ret", "--test", "sign", "--correction", "bh", "--confidence", "0.9"]
    outcome = command("compare", *options, "--topics", "both", qrels, first, better)
    text = outcome.out.decode()
    assert "p: sign test, two-sided (exact)\n" in text
    assert "adjusted: Benjamini-Hochberg over 1 test; mark: * below 0.05\n" in text
    assert "low, high: 90% bootstrap interval of the difference (10,000 draws, seed 0)\n" in text
    assert "warning: not compared, since they are not averaged over topics: num_ret" in outcome.said


def test_marks_and_small_p_values(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("".join(f"{t} 0 a 1\n" for t in range(40)))
    (tmp_path / "first").write_text("".join(f"{t} Q0 x 1 2 t\n{t} Q0 a 1 1 t\n" for t in range(40)))
    (tmp_path / "second").write_text("".join(f"{t} Q0 x 1 1 t\n{t} Q0 a 1 2 t\n" for t in range(40)))
    names = [str(tmp_path / name) for name in ("qrels", "first", "second")]
    line = command("compare", *names, "-m", "map", "--test", "sign").out.decode().splitlines()[1]
    assert line.split()[8:11] == ["<0.0001", "<0.0001", "*"]


@pytest.mark.parametrize(
    ("condition", "code"),
    [("RR < -0.005", 0), ("RR>0.1", 3), ("recip_rank >= 0.125", 3), ("nDCG@10 < 0", 0), ("P(rel=2)@5 <= 0", 3)],
)
def test_gates(paths: list[str], condition: str, code: int) -> None:
    outcome = command("compare", "--fail-if", condition, *paths[:3], "-m", "map")
    assert outcome.code == code
    assert [line for line in outcome.said if line.startswith("failed: ")] == [
        line for line in outcome.said if condition.split()[0].split(">")[0] in line and "--fail-if" in line
    ]
    assert (code == 3) == any(line.startswith(f"failed: {paths[2]}: ") for line in outcome.said)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("RR", "argument --fail-if: expected MEASURE < NUMBER"),
        ("RR < x", "argument --fail-if: expected MEASURE < NUMBER"),
        ("RR < nan", "(or <=, >, >=), the number finite, found 'RR < nan'"),
        ("RR < -1e400", "(or <=, >, >=), the number finite, found 'RR < -1e400'"),
        ("RR > inf", "(or <=, >, >=), the number finite, found 'RR > inf'"),
        ("P < 0", "expected one measure that is averaged over topics, found 9 columns"),
        ("num_ret < 0", "expected one measure that is averaged over topics, found its sum"),
        ("nonsense < 0", "'nonsense' is not known"),
    ],
)
def test_gates_that_cannot_be_read(paths: list[str], condition: str, said: str) -> None:
    outcome = command("compare", "--fail-if", condition, *paths[:3])
    assert (outcome.code, outcome.out, len(outcome.said)) == (1, b"", 1)
    assert said in outcome.said[0]


def test_gates_on_infinite_values(tmp_path: Path) -> None:
    """What is undefined fails, and a mean difference that is 0 but for rounding is 0."""
    lines = {
        "q": [f"{t} 0 a 1" for t in range(1, 4)],
        "base": ["1 Q0 a 0 1 t", "2 Q0 a 0 1 t", "3 Q0 x 0 1 t"],
        "opposite": ["1 Q0 x 0 1 t", "2 Q0 a 0 1 t", "3 Q0 a 0 1 t"],
        "lower": ["1 Q0 x 0 2 t", "1 Q0 a 0 1 t", "2 Q0 x 0 2 t", "2 Q0 a 0 1 t", "3 Q0 x 0 1 t"],
    }
    for name, content in lines.items():
        (tmp_path / name).write_text("\n".join(content) + "\n")
    qrels, base, opposite, lower = (str(tmp_path / name) for name in lines)
    for run, found in ((opposite, "difference undefined"), (lower, "difference 0.666667")):
        outcome = command("compare", qrels, base, run, "-m", "map", "--fail-if", "first_rel_rank > 0.1")
        said = f"failed: {run}: first_rel_rank: {found} (--fail-if 'first_rel_rank > 0.1')"
        assert (outcome.code, outcome.said[-1]) == (3, said)
    table = command("compare", qrels, base, opposite, "-m", "first_rel_rank").out.decode().splitlines()
    assert table[1].split()[2:] == ["3", "inf", "inf", *["-"] * 5, "-", "1", "1", "1"]
    assert (
        f"difference of {opposite}: undefined for first_rel_rank: topics differ infinitely both ways, or have no value"
        in (table)
    )
    [record] = records(qrels, base, opposite, "-m", "first_rel_rank")
    assert record["difference"] is None
    assert not Gate.parse("map < 0").met(0.1 + 0.2 - 0.3 - 2**-53)
    assert Gate.parse("map <= 0").met(0.1 + 0.2 - 0.3)


@pytest.mark.parametrize("draws", ["0", "1000001", "99999999999", "-1", "x"])
def test_draws_are_checked_before_anything_is_read(draws: str) -> None:
    outcome = command("compare", "nowhere", "nowhere", "nowhere", "--resamples", draws)
    assert (outcome.code, len(outcome.said)) == (1, 1)
    assert outcome.said[0].startswith("error: argument --resamples: expected an integer ")


def test_a_run_that_fails_does_not_stop_the_others(paths: list[str]) -> None:
    qrels, first, better, *_ = paths
    outcome = command("compare", qrels, first, "nowhere", better, "-m", "map", "--fail-if", "map > 0")
    assert outcome.code == 2
    assert len(outcome.out.splitlines()) == 7
    assert command("compare", qrels, "nowhere", better).out == b""
