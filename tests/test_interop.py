"""Other people's interfaces: their names, their keys, their doubles, their averages."""

from pathlib import Path
from typing import Any

import ir_measures
import pytest
import pytrec_eval as theirs
from hypothesis import given
from hypothesis import strategies as st
from strategies import Collection, collections
from test_api import numbers

import trecpy.interop.ir_measures as irm
import trecpy.interop.pytrec_eval as pytrec_eval
from trecpy.errors import InputError, TopicError

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


# ir_measures. RR@k, Accuracy and Judged are its own, by other rules for ties: they are compared where there are none.

_BY_RANK = ["RR@1", "RR@3", "RR(rel=2)@3", "Judged@3", "Judged"]
_BY_TREC_EVAL = [
    "AP", "AP@3", "AP(rel=2)", "AP(judged_only=True)", "nDCG", "nDCG@3", "nDCG(judged_only=True)@3", "P@3",
    "nDCG(gains={1: 5, 2: 1})@3", "P(rel=2,judged_only=True)@3", "R@3", "R(rel=2)@3", "RR", "RR(rel=2)", "Rprec",
    "Bpref", "NumRet", "NumRet(rel=2)", "NumRel", "SetAP", "SetF", "SetF(beta=0.5)", "SetP", "SetP(relative=True)",
    "SetR", "Success@1", "Success(rel=2)@3", "IPrec@0.3", "infAP", "NumQ",
]  # fmt: skip


def _calculated(
    pipeline: Any, names: list[str], collection: Collection, distinct: bool
) -> dict[tuple[str, str], float]:
    run = numbers(collection)
    if distinct:
        run = {t: {d: float(place) for place, d in enumerate(docs)} for t, docs in run.items()}
    asked = [ir_measures.parse_measure(name) for name in names]
    return {(m.query_id, str(m.measure)): m.value for m in pipeline.iter_calc(asked, collection.qrels, run)}


@given(collections(lowest=0), st.booleans())
def test_the_values_of_ir_measures(collection: Collection, distinct: bool) -> None:
    names = _BY_TREC_EVAL + _BY_RANK * distinct
    # One by one: of two that one call of pytrec_eval gives the same name (nDCG@3 with gains and without), ir_measures
    # loses the first, and which may share a call depends on the hashes of the process.
    alone = [_calculated(ir_measures.DefaultPipeline, [name], collection, distinct) for name in names]
    expected = {key: value for values in alone for key, value in values.items()}
    assert _calculated(irm.provider, names, collection, distinct) == expected


@given(collections(lowest=0))
def test_accuracy_and_rbp_by_definition(collection: Collection) -> None:
    found = _calculated(irm.provider, ["Accuracy@4", "RBP(rel=1,p=0.5)"], collection, distinct=True)
    for topic in collection.qrels.keys() & collection.run.keys():
        order = list(collection.run[topic])[::-1]
        hits = [collection.qrels[topic].get(docno, 0) >= 1 for docno in order]
        pairs = [(a, b) for b, other in enumerate(hits[:4]) for a, hit in enumerate(hits[:4]) if hit and not other]
        share = sum(a < b for a, b in pairs) / len(pairs) if pairs else float(any(hits[:4]))
        assert found[topic, "Accuracy@4"] == pytest.approx(share, rel=1e-12)
        assert found[topic, "RBP(rel=1,p=0.5)"] == sum(0.5 ** (i + 1) for i, hit in enumerate(hits) if hit)


def test_it_goes_first_until_it_is_taken_out() -> None:
    pipeline, qrels, run = ir_measures.DefaultPipeline, {"q-1": {"a": 5}}, {"q-1": {"a": 1.0}}
    before = list(pipeline.providers)
    irm.use(max_grade=5)
    try:
        assert pipeline.calc_aggregate([ir_measures.ERR @ 10], qrels, run) == {ir_measures.ERR @ 10: 31 / 32}
    finally:
        irm.restore()
    assert pipeline.providers == before
    with pytest.raises(TopicError, match="max_grade=4, found 5"):
        irm.provider.calc_aggregate([ir_measures.ERR @ 10], qrels, run)
