"""What a convention does to a value: what explain() says is what evaluate() gives."""

import json
import math
from typing import Any

import pytest
from command import trecpy as command
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Collection, collections
from test_api import numbers

import trecpy
from trecpy.errors import InputError, MeasureError, NothingScoredError

QRELS = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 1}, "q3": {"d": 1}}
RUN = {"q1": {"a": 1.0, "b": 1.0, "x": 0.5}, "q2": {"x": 3.0, "a": 2.0}, "q9": {"a": 1.0}}


@given(collections(lowest=0), st.sampled_from(["map", "nDCG@3", "RR@2", "bpref", "P(rel=2)@2", "ERR@3"]), st.booleans())
@settings(max_examples=20)
def test_each_choice_has_the_value_of_an_evaluation(collection: Collection, measure: str, both: bool) -> None:
    base: dict[str, Any] = {"topics": "both"} if both else {}
    run = numbers(collection)
    try:
        found = trecpy.explain(collection.qrels, run, measure, **base)
    except NothingScoredError:
        return
    assert repr(found.value) == repr(trecpy.evaluate(collection.qrels, run, measure, **base)[measure])
    for variant in found.choices:
        if "(rel=2)" in measure and variant.choices[0][0] in ("relevance_level", "without_relevant"):
            continue  # the name says it already; and what is relevant to this column decides which topics it drops
        options = {**base, **dict(variant.choices)}
        try:
            single = trecpy.evaluate(collection.qrels, run, measure, **options)[measure]
        except NothingScoredError:
            continue
        # 10.0 scores topics that are missing from the run, 9.0.8 and a column's own topics count them 0.
        assert variant.value == pytest.approx(single, rel=1e-12), variant.label
        assert variant.difference == pytest.approx(variant.value - found.value)


def test_presets_are_those_of_evaluate() -> None:
    found = trecpy.explain(QRELS, RUN, "RR@10")
    values = {name: variant.value for variant in found.presets for name in variant.label.split(", ")}
    for name in ("trec_eval-9.0.8", "beir", "mteb", "qilin", "recbole", "msmarco-passage"):
        assert values[name] == trecpy.evaluate(QRELS, RUN, "RR@10", protocol=name)["RR@10"], name


def test_topics_without_a_relevant_document() -> None:
    qrels, run = {"1": {"a": 2, "b": 0}, "2": {"x": 0}}, {"1": ["b", "a"], "2": ["x"]}
    found = trecpy.explain(qrels, run, "nDCG@10", target="0.63093")
    assert {(v.label, v.matches, v.changed) for v in found.choices if v.matches} == {("without_relevant=drop", True, 1)}
    assert found.choices[0].most == (("2", 0.0, pytest.approx(math.nan, nan_ok=True)),)
    (gdeval,) = [v for v in found.presets if "gdeval" in v.label.split(", ")]
    assert (gdeval.value, gdeval.matches) == (0.63093, True)
    assert {name for v in found.presets for name in v.label.split(", ")} == set(trecpy.protocols)
    base = trecpy.explain(qrels, run, "nDCG@10", protocol="gdeval")
    kept = trecpy.evaluate(qrels, run, "nDCG@10", protocol="gdeval", without_relevant="keep")["nDCG@10"]
    assert (base.value, {v.label: v.value for v in base.choices}["without_relevant=keep"]) == (0.63093, kept)


def test_topics_that_a_choice_brings_in() -> None:
    found = trecpy.explain(QRELS, RUN, "nDCG@10", protocol="beir")
    (every,) = [variant for variant in found.choices if variant.label == "topics=qrels"]
    assert (every.changed, every.most[0][0], every.most[0][2]) == (1, "q3", 0.0)
    assert math.isnan(every.most[0][1])


def test_what_only_rounds_is_no_effect() -> None:
    found = trecpy.explain({"q": {"a": 1}}, {"q": ["x", "y", "a"]}, "RR@10")
    (beir,) = [variant for variant in found.presets if "beir" in variant.label]
    assert (beir.value, beir.difference, beir.changed) == (0.33333, 0.0, 0)


@pytest.mark.filterwarnings("error")
def test_ranks_that_are_infinite() -> None:
    found = trecpy.explain(QRELS, RUN, "first_rel_rank")
    assert (found.value, "ties=best" in found.unchanged) == (math.inf, False)
    assert {"ideal=candidates", "ap=min"} <= set(found.unchanged)
    assert {v.label: v.difference for v in found.choices}["topics=both"] == -math.inf


def test_levels_too_large_for_a_power_of_two_leave_that_out() -> None:
    found = trecpy.explain({"q": {"a": 9999999, "b": 1}}, {"q": ["b", "a"]}, "nDCG@10")
    assert not [variant for variant in found.choices if "gains=exp" in variant.label]
    assert "gdeval" not in ", ".join(variant.label for variant in found.presets)


def test_duplicates_are_explained_where_they_are_allowed() -> None:
    run = [("q", "a", 3.0), ("q", "x", 2.0), ("q", "y", 1.0), ("q", "a", 0.0)]
    found = trecpy.explain({"q": {"a": 1}}, run, "map", duplicates="first")
    values = {variant.label: variant.value for variant in found.choices}
    assert (values["duplicates=last"], values["duplicates=keep"]) == (1 / 3, 1.5)


def test_where_it_bites() -> None:
    found = trecpy.explain(QRELS, RUN, "RR")
    choices = {variant.label: variant for variant in found.choices}
    assert choices["ties=best"].most == (("q1", 1 / 2, 1.0),)
    left_out, came = choices["topics=both"].most, choices["topics=run"].most
    assert [(topic, math.isnan(after)) for topic, _, after in left_out] == [("q3", True)]
    assert choices["topics=both"].changed == 1
    assert {topic for topic, *_ in came} == {"q3", "q9"}  # one is left out, one comes in
    assert "gains=exp" in found.unchanged
    assert "ties=best: 0.5000 (+0.1667)" in repr(found)


def test_a_number_from_elsewhere() -> None:
    single = trecpy.explain(QRELS, RUN, "RR", target="0.5000")
    matching = {variant.label for variant in single.choices if variant.matches}
    assert matching == {"ties=best", "ties=input", "topics=both", "judged_only=True", "relevance_level=0"}
    pair = trecpy.explain(QRELS, RUN, "RR", target="0.75")
    assert not any(variant.matches for variant in pair.choices)
    assert "ties=best, topics=both" in {variant.label for variant in pair.pairs}
    assert trecpy.explain(QRELS, RUN, "RR", target="0.3333").matches
    with pytest.raises(InputError, match="target: expected a number, found 'much'"):
        trecpy.explain(QRELS, RUN, "RR", target="much")


@pytest.mark.parametrize("measure", ["official", "num_ret", "gm_map", "P"])
def test_one_mean_is_explained(measure: str) -> None:
    with pytest.raises(MeasureError, match="expected one measure that is averaged over topics"):
        trecpy.explain(QRELS, RUN, measure)


def test_the_command(tmp_path: Any) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1 t\n1 Q0 x 1 1 t\n")
    files = [str(tmp_path / "qrels"), str(tmp_path / "run")]
    done = command("explain", *files, "-m", "RR", "--target", "0.50")
    lines = done.out.decode().splitlines()
    assert lines[1].split()[:2] == ["(base)", "0.2500"]
    assert any(line.startswith("ties=best") and line.endswith("<- target") for line in lines)
    assert any(line.startswith("topics=both") and "2: 0.0000 to left out" in line for line in lines)
    assert lines[-1].startswith("base protocol: compat=10.0")
    assert (
        "no choice, pair of choices or preset gives 0.77"
        in command("explain", *files, "-m", "RR", "--target", "0.77").out.decode()
    )
    rows = [json.loads(line) for line in command("explain", *files, "-m", "RR", "--format", "jsonl").out.splitlines()]
    assert rows[0] == {"choice": "(base)", "recip_rank": 0.25, "difference": None, "topics": None, "most": ""}
    assert command("explain", *files, "-m", "official").code == 1
    twice = command("explain", *files, "-m", "map", "-m", "RR")
    assert (twice.code, twice.said) == (1, ["error: expected one -m, found 2"])
    wrong = command("explain", *files, "-m", "RR", "--target", "abc")
    assert (wrong.code, "argument --target: expected a number, found 'abc'" in wrong.said[0]) == (1, True)
    (tmp_path / "run").write_text("1 Q0 a 1 1 t\n1 Q0 a 1 1 t\n")
    same = command("explain", *files, "-m", "RR")
    assert (same.code, same.said[0].startswith(f"error: {files[1]}: topic '1': expected a document once")) == (4, True)


def test_the_command_takes_other_layouts(tmp_path: Any) -> None:
    (tmp_path / "qrels").write_text("qid,docno,level\n1,a,1\n2,b,1\n")
    (tmp_path / "run").write_text("1\tx\t2\n1\ta\t3\n")
    files = [str(tmp_path / "qrels"), str(tmp_path / "run")]
    lines = command("explain", *files, "-m", "RR", "--run-format", "msmarco").out.decode().splitlines()
    assert lines[1].split()[:2] == ["(base)", "0.2500"]
    assert command("explain", "-", "-", "-m", "RR").code == 1
