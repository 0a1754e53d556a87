"""Every choice of every preset: tiny collections whose score is another one where that choice is another one."""

import io
from dataclasses import dataclass, fields, replace
from math import log2
from typing import Any

import pytest

import trecpy
from trecpy.errors import InputError, NothingScoredError, TopicError
from trecpy.names import parse_names
from trecpy.presets import stated
from trecpy.protocol import Protocol

PRESETS = sorted(trecpy.protocols)
REFUSED = "refused"


@dataclass(frozen=True)
class Case:
    """A collection that one choice decides: what it scores for each value of the choice."""

    qrels: Any
    run: Any
    measure: str
    values: dict[Any, float | str]

    def score(self, protocol: Protocol, measure: str = "", judged: bool = False) -> float | str:
        """judged: judge all ranked documents, those that are not named as level 0"""
        qrels, name = self.qrels, measure or self.measure
        if judged:
            found = {topic: dict.fromkeys(ranked, 0) for topic, ranked in self.rankings.items()}
            qrels = {topic: found.get(topic, {}) | levels for topic, levels in qrels.items()}
        run, how = (io.BytesIO(self.run), "msmarco") if isinstance(self.run, bytes) else (self.run, None)
        try:
            return trecpy.evaluate(qrels, run, name, protocol=protocol, run_format=how)[name]
        except (TopicError, NothingScoredError):
            return REFUSED

    @property
    def rankings(self) -> dict[str, list[str]]:
        if isinstance(self.run, bytes):
            return {"q": [line.split()[1].decode() for line in self.run.splitlines()]}
        if isinstance(self.run, list):
            return {"q": [docno for _, docno, _ in self.run]}
        return {topic: list(ranked) for topic, ranked in self.run.items()}


# Levels are 3 where they are not what it is about: relevant under every preset.
MANY = {f"{n:02}": {"a": 3} for n in range(65)}
CASES = {
    "compat": Case({"q": {"b": 3}}, {"q": {"b": 0.12345678901, "a": 0.12345678902}}, "P_1", {"10.0": 0, "9.0.8": 1}),
    "relevance_level": Case(
        {"q": {"a": 0, "b": 1, "c": 2}}, {"q": ["a", "b", "c"]}, "P_3", {0: 1, 1: 2 / 3, 2: 1 / 3, 3: 0}
    ),
    "judged_only": Case({"q": {"a": 3}}, {"q": ["x", "a"]}, "P_1", {False: 0, True: 1}),
    "depth": Case(
        {"q": {"a": 3}}, {"q": [f"d{n}" for n in range(1200)]}, "num_ret", {None: 1200, 10: 10, 100: 100, 1000: 1000}
    ),
    "topics": Case(
        {topic: {"a": 3} for topic in "123"}, {"1": ["a"], "9": ["a"]}, "P_1",
        {"qrels": 1 / 3, "both": 1, "run": 1 / 2, "same": REFUSED},
    ),
    "ties": Case(
        {"q": {"y": 3}}, b"q a 1\nq z 1\nq y 1\nq b 1\n", "recip_rank",
        {"trec": 1 / 2, "input": 1 / 3, "best": 1, "worst": 1 / 4, "expected": (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4,
         "rank": 0},
    ),
    "gains": Case(
        {"q": {"a": 1, "b": 3}}, {"q": ["a", "b"]}, "ndcg_cut_10",
        {"level": (1 + 3 / log2(3)) / (3 + 1 / log2(3)), "exp": (1 + 7 / log2(3)) / (7 + 1 / log2(3)), "binary": 1},
    ),
    "ideal": Case(
        {"q": {"a": 3, "b": 3}}, {"q": ["a"]}, "ndcg_cut_10", {"judged": 1 / (1 + 1 / log2(3)), "candidates": 1}
    ),
    "ap": Case(
        {"q": dict.fromkeys("abcd", 3)}, {"q": ["a", "x"]}, "map_cut_2", {"rel": 1 / 4, "min": 1 / 2, "hits": 1}
    ),
    "duplicates": Case(
        {"q": {"a": 3}}, [("q", "a", 3.0), ("q", "x", 2.0), ("q", "y", 1.0), ("q", "a", 0.0)], "map",
        {"error": REFUSED, "first": 1, "last": 1 / 3, "keep": 1 + 2 / 4},
    ),
    "ignore_self": Case({"q": {"a": 3}}, {"q": ["q", "a"]}, "P_1", {False: 0, True: 1}),
    "num_docs": Case({"q": {"a": 3}}, {"q": ["a"]}, "utility.0,0,0,1", {0: -1, 10: 9}),
    "max_grade": Case({"q": {"a": 5}}, {"q": ["a"]}, "P_1", {None: 1, 4: REFUSED}),
    "without_relevant": Case(
        {"1": {"a": 3}, "2": {"b": -1}}, {"1": ["a"], "2": ["b"]}, "P_1", {"keep": 1 / 2, "drop": 1}
    ),
    "batch": Case(
        MANY, {topic: ["a" if topic != "64" else "x"] for topic in MANY}, "P_1", {None: 64 / 65, 64: 1 / 2, 32: 2 / 3}
    ),
    "places": Case(
        {"q": {"a": 3}}, {"q": ["a"]}, "P_7", {None: 1 / 7, 5: 0.14286, 4: 0.1429, 3: 0.143}
    ),
}  # fmt: skip

# What each case scores under presets that differ from Protocol(), and so from trec_eval -c.
BOTH, OLD, EXP = 1, 1, (1 + 7 / log2(3)) / (7 + 1 / log2(3))
SCORES: dict[str, dict[str, float | str]] = {
    "trec_eval-10.0": {"topics": BOTH},
    "trec_eval-9.0.8": {"compat": OLD, "topics": BOTH},
    "quoter": {"ties": 1},
    "quoter-as-published": {"ties": 1, "batch": 1 / 2},
    "qilin": {"topics": BOTH, "ties": 1 / 3, "ap": 1 / 2, "duplicates": 3 / 2},
    "qder": {"compat": OLD},
    "qder-codec": {"compat": OLD, "judged_only": 1},
    "msmarco-passage": {"relevance_level": 1, "ties": 0, "duplicates": 3 / 2},
    "msmarco-document": {"relevance_level": 1, "ties": 0, "duplicates": 3 / 2},
    "beir": {"compat": OLD, "topics": BOTH, "ignore_self": 1, "places": 0.14286},
    "mteb": {"compat": OLD, "topics": 1 / 2, "places": 0.14286},
    "trec-dl-passage": {"compat": OLD, "relevance_level": 1 / 3},
    "trec-dl-document": {"compat": OLD},
    "trec-car": {"compat": OLD},
    "codec": {"compat": OLD},
    "recbole": {"ties": 1 / 3, "ap": 1 / 2, "gains": 1, "places": 0.1429},
    "gdeval": {"topics": BOTH, "gains": EXP, "max_grade": REFUSED, "without_relevant": 1, "places": 0.14286},
}
# The same of measures that a preset gives choices of their own: (preset, measure, choice) -> measure asked for, score.
OWN: dict[tuple[str, str, str], list[tuple[str, float]]] = {
    ("beir", "RR", "compat"): [("RR@10", 0.5)],
    ("beir", "RR", "ties"): [("RR@10", 0.33333)],
    ("beir", "RR", "topics"): [("RR@10", 0.33333)],
    ("beir", "RR", "ignore_self"): [("RR@10", 0.5)],
    ("mteb", "RR", "compat"): [("RR@10", 0.5)],
    ("mteb", "RR", "ties"): [("RR@10", 1 / 3)],
    ("mteb", "RR", "places"): [("RR@10", 1)],
    ("quoter-as-published", "recall", "ties"): [("R@2", 0), ("R@3", 1)],
    ("quoter-as-published", "recall", "batch"): [("R@1", 64 / 65)],
    ("quoter-as-published", "first_rel_rank", "batch"): [("first_rel_rank", 66 / 65)],
}
OWN_CASES = {
    ("mteb", "RR", "places"): Case({"q": {"a": 3}}, {"q": [*"bcdefg", "a"]}, "", {}),
    ("quoter-as-published", "first_rel_rank", "batch"): Case(
        MANY, {topic: ["a"] if topic != "64" else ["x", "a"] for topic in MANY}, "", {}
    ),
}
OWN[("mteb", "RR", "places")] = [("RR@10", 1 / 7)]


def expected(preset: str, choice: str) -> float | str:
    default = getattr(Protocol(), choice)
    return SCORES[preset].get(choice, CASES[choice].values[default])


def test_every_choice_has_a_case() -> None:
    assert set(CASES) == {field.name for field in fields(Protocol)} - {"per_measure", "name"}
    assert set(SCORES) == set(PRESETS)


@pytest.mark.parametrize("choice", CASES)
def test_a_case_has_one_score_for_each_value_of_its_choice(choice: str) -> None:
    case = CASES[choice]
    assert len(set(case.values.values())) == len(case.values)
    for value, score in case.values.items():
        assert case.score(replace(Protocol(), **{choice: value})) == pytest.approx(score, abs=1e-15)


@pytest.mark.parametrize("choice", CASES)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_choice_of_a_preset_is_what_its_source_says(preset: str, choice: str) -> None:
    """And no other value of it gives the same."""
    case, protocol, wanted = CASES[choice], trecpy.protocols[preset].protocol, expected(preset, choice)
    judged = protocol.judged_only and choice != "judged_only"
    rounded = 1e-15 if choice == "places" or protocol.places is None else 10.0**-protocol.places
    assert case.score(protocol, judged=judged) == pytest.approx(wanted, abs=rounded)
    for value in case.values:
        if value != getattr(protocol, choice):
            other = replace(protocol, **{choice: value})
            assert case.score(other, judged=judged) != pytest.approx(wanted, abs=rounded)


@pytest.mark.parametrize("preset", PRESETS)
def test_choices_of_single_measures(preset: str) -> None:
    """Each is what its source says, and without it the score is another one."""
    protocol = trecpy.protocols[preset].protocol
    found = {measure: dict(pairs) for measure, pairs in protocol.per_measure}
    assert {(preset, measure, choice) for measure, own in found.items() for choice in own} == {
        key for key in OWN if key[0] == preset
    }
    for key in (key for key in OWN if key[0] == preset):
        _, measure, choice = key
        case = OWN_CASES.get(key, CASES[choice])
        for asked, score in OWN[key]:
            assert case.score(protocol, asked) == pytest.approx(score, abs=1e-15)
        others = {name: {c: v for c, v in own.items() if (name, c) != (measure, choice)} for name, own in found.items()}
        without = replace(protocol, per_measure=others)
        assert [case.score(without, asked) for asked, _ in OWN[key]] != [
            pytest.approx(score, abs=1e-15) for _, score in OWN[key]
        ]


def test_batches_are_in_the_order_of_numbers() -> None:
    qrels = {str(context): {"a": 1} for context in range(70)}
    run = {str(context): ["x"] * (context % 3 > 0) + ["y"] * (context % 3 > 1) + ["a"] for context in range(70)}
    reciprocal = [1 / (1 + context % 3) for context in range(70)]
    means = [sum(reciprocal[:64]) / 64, sum(reciprocal[64:]) / 6]
    found = trecpy.evaluate(qrels, run, "RR", protocol="quoter-as-published")["RR"]
    assert found == pytest.approx(sum(means) / 2, abs=1e-15)
    assert trecpy.quoter(gold=qrels, run=run, as_published=True)["MRR"] == round(found, 3)


@pytest.mark.parametrize("preset", PRESETS)
def test_levels_are_never_cut_in_silence(preset: str) -> None:
    with pytest.raises(InputError, match=r"expected an integer level, found 0\.5"):
        trecpy.evaluate({"q": {"a": 0.5}}, {"q": ["a"]}, "P_1", protocol=preset)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_says_what_it_is(preset: str) -> None:
    record = trecpy.protocols[preset]
    assert record.name == record.protocol.name == preset
    assert record.source
    assert stated(record.protocol) == preset
    changed = replace(record.protocol, depth=7)
    assert stated(changed) == f"{preset}, depth=7"
    assert parse_names(record.measures, record.protocol.compat)


# The cutoffs and measures that papers and boards report.
REPORTED = {
    "qilin": "RR_10 RR_100 map_cut_10 map_cut_100 recall_10 recall_100 P_10 P_100",
    "qder": "map recip_rank P_20 ndcg_cut_20",
    "qder-codec": "map recip_rank P_20 ndcg_cut_20",
    "msmarco-passage": "RR_10",
    "msmarco-document": "RR_100",
    "trec-dl-passage": "map recip_rank recall_1000 ndcg_cut_10",
    "trec-dl-document": "map recip_rank recall_100 ndcg_cut_10",
    "trec-car": "map Rprec recip_rank ndcg_cut_20",
    "codec": "map recall_1000 ndcg_cut_10",
    "recbole": "RR_10 recall_10 P_10 ndcg_cut_10 map_cut_10 success_10",
    "gdeval": "ndcg_cut_10 ndcg_cut_20 ERR_10 ERR_20",
}


@pytest.mark.parametrize("preset", REPORTED)
def test_measures_of_a_preset(preset: str) -> None:
    record = trecpy.protocols[preset]
    columns = parse_names(record.measures, record.protocol.compat)
    names = {
        column.measure.name if column.parameter is None else f"{column.measure.name}_{column.parameter}"
        for column in columns
    }
    assert names == set(REPORTED[preset].split())


@pytest.mark.parametrize("preset", ["beir", "mteb"])
def test_cutoffs_of_boards(preset: str) -> None:
    record = trecpy.protocols[preset]
    found = {column.parameter for column in parse_names(record.measures, record.protocol.compat)}
    assert found == {1, 3, 5, 10, 100, 1000}
