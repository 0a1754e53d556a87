"""pytrec_eval's interface: its names, its keys, its doubles, its averages."""

from pathlib import Path

import pytest
import pytrec_eval as theirs
from hypothesis import given
from hypothesis import strategies as st
from strategies import Collection, collections
from test_api import numbers

import trecpy.interop.pytrec_eval as pytrec_eval
from trecpy.errors import InputError

FIXTURES = Path(__file__).parent.parent / "data_fixtures"


def test_it_supports_what_pytrec_eval_supports() -> None:
    assert pytrec_eval.supported_measures == theirs.supported_measures
    assert pytrec_eval.supported_nicknames == theirs.supported_nicknames


@given(collections(), st.integers(1, 3), st.booleans())
def test_the_same_keys_and_doubles(collection: Collection, level: int, judged_only: bool) -> None:
    for measures in (pytrec_eval.supported_measures, {"official", "ndcg_cut_3", "ndcg_cut.10", "success_2"}):
        ours, other = (
            module.RelevanceEvaluator(
                collection.qrels, measures, relevance_level=level, judged_docs_only_flag=judged_only
            ).evaluate(numbers(collection))
            for module in (pytrec_eval, theirs)
        )
        assert repr(sorted((t, sorted(row.items())) for t, row in ours.items())) == repr(
            sorted((t, sorted(row.items())) for t, row in other.items())
        )


def test_named_cutoffs_replace_the_default_ones() -> None:
    # pytrec_eval means that too, but loses one of the cutoffs in some orders of a set.
    evaluator = pytrec_eval.RelevanceEvaluator({"q": {"a": 1}}, ["official", "P_5,7", "P.9"])
    values = evaluator.evaluate({"q": {"a": 1.0}})["q"]
    assert [name for name in values if name.startswith("P_")] == ["P_5", "P_7", "P_9"]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.sampled_from(["map", "num_ret", "gm_map"]))
def test_the_same_averages(values: list[float], measure: str) -> None:
    ours = pytrec_eval.compute_aggregated_measure(measure, values)
    assert ours == theirs.compute_aggregated_measure(measure, values)


def test_the_same_files() -> None:
    qrels, run = (FIXTURES / f"example.{kind}" for kind in ("qrels", "run"))
    lines = {path: path.read_text().splitlines() for path in (qrels, run)}
    assert pytrec_eval.parse_qrel(lines[qrels]) == theirs.parse_qrel(lines[qrels])
    assert pytrec_eval.parse_run(lines[run]) == theirs.parse_run(lines[run])


def test_an_empty_run_has_no_values() -> None:
    assert pytrec_eval.RelevanceEvaluator({"q": {"a": 1}}, {"map"}).evaluate({}) == {}
    assert pytrec_eval.RelevanceEvaluator({"q": {"a": 1}, "r": {}}, {"map"}).evaluate({"x": {"a": 1.0}}) == {}


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(ValueError, match="'nonsense' is not known"):
        pytrec_eval.RelevanceEvaluator({"q": {"a": 1}}, {"nonsense"})
    for lines, said in ((["1 0 a"], "qrels:1: expected 4 columns, found 3"), (["1 0 a x"], "qrels:1: column 4"),
                        (["1 0 a 1", "1 0 a 0"], "qrels:2: expected a document once")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            pytrec_eval.parse_qrel(lines)
