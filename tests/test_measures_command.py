"""`trecpy measures`: complete, true, and every name that it gives is one."""

import json
import math

import pytest
from command import trecpy

from trecpy.names import parse_name, spellings
from trecpy.registry import Measure, catalogue

MEASURES = list(catalogue().values())


@pytest.mark.parametrize("measure", MEASURES, ids=lambda each: each.name)
def test_each_name_that_is_given_is_one(measure: Measure) -> None:
    names = [name for found in spellings(measure).values() for name in found]
    for name in names:
        assert {column.measure.name for column in parse_name(name, "10.0")} == {measure.name}, name


def test_names_are_those_that_tools_use() -> None:
    assert spellings(catalogue()["ndcg_cut"]) == {
        "trec_eval": ["ndcg_cut.10"],
        "pytrec_eval": ["ndcg_cut_10"],
        "ir_measures": ["nDCG@10"],
        "others": ["ndcg_burges@10"],
    }
    assert spellings(catalogue()["RR"])["others"] == ["mrr@10", "recip_rank@10"]
    assert "precision@10" in spellings(catalogue()["P"])["others"]


def test_the_list_has_every_measure_with_range_and_parameters() -> None:
    records = [json.loads(line) for line in trecpy("measures", "--format", "jsonl").out.splitlines()]
    assert [record["measure"] for record in records] == [each.name for each in MEASURES]
    ranges = {record["measure"]: record["range"] for record in records}
    assert (ranges["map"], ranges["gm_map"], ranges["success"]) == ("[0, 1]", "[0.00001, 1]", "0 or 1")
    assert ranges["first_rel_rank"] == "[1, n], or infinite"
    assert {name for name, found in ranges.items() if found == "-"} == {"runid", "relstring"}
    table = trecpy("measures")
    assert table.code == 0
    assert len(table.out.splitlines()) == len(MEASURES) + 1


@pytest.mark.parametrize("measure", MEASURES, ids=lambda each: each.name)
def test_each_measure_is_explained(measure: Measure) -> None:
    text = trecpy("measures", measure.name).out.decode()
    assert text.startswith(f"{measure.name}\n  {measure.title}")
    assert "Names  " in text
    assert ("Example" in text) == bool(measure.needs)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("map", {"map": (1 / 1 + 2 / 4) / 3}),
        ("P@5", {"P_3": 1 / 3, "P_5": 2 / 5}),
        ("nDCG@10", {"ndcg_cut_5": (1 + 2 / math.log2(5)) / (2 + 1 / math.log2(3) + 1 / 2)}),
        ("mrr", {"recip_rank": 1.0}),
        ("Judged@5", {"Judged@3": 2 / 3, "Judged@5": 4 / 5}),
        ("prefs_simp", {"prefs_simp": 2 / 6}),
    ],
)
def test_examples_are_right(name: str, values: dict[str, float]) -> None:
    lines = trecpy("measures", name).out.decode().splitlines()
    found = dict(line.strip().split(" = ") for line in lines if " = " in line and line.startswith("  "))
    assert {name: found[name] for name in values} == {name: f"{value:.4f}" for name, value in values.items()}


def test_ranks_of_the_example_are_worked_out() -> None:
    text = trecpy("measures", "ndcg").out.decode()
    assert "     4  d4         2                2     0.5000  0.6667    0.4307      1.8614" in text
    assert "relevant in the judgements (R): 3; DCG of the ideal ranking [2, 1, 1, 0, 0]: 3.1309" in text


def test_what_is_no_measure() -> None:
    outcome = trecpy("measures", "ndgc")
    assert outcome.code == 1
    assert outcome.said[0].startswith("error: measures: 'ndgc' is not known; near it are")
    assert trecpy("measures", "set").said[0].startswith("error: 'set' is a set of measures: runid num_q")
