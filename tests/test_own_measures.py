"""Measures that a user declares: asked for, summed up, merged and compared like those that come with trecpy."""

import pickle
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import trecpy
from trecpy import registry
from trecpy.errors import MeasureError
from trecpy.judged import Judged

QRELS, RUN = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}, {"q1": ["b", "a"], "q2": ["c"]}


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_MEASURES", dict(registry.catalogue()))
    return iter([None])


def test_a_measure_of_ones_own() -> None:
    @trecpy.measure("halved_P", trecpy.Cutoffs((1, 2)), expected=True)
    def halved(docs: Judged, k: int) -> np.ndarray:
        """Half of the precision."""
        return docs.found(k) / (2 * k)

    both = trecpy.evaluate(QRELS, RUN, ["P_1", "halved_P"])
    assert both.summary == {"P_1": 1 / 2, "halved_P@1": 1 / 4, "halved_P@2": 1 / 4}
    assert both["halved_P@1"] == both["halved_p@1"] == 1 / 4
    assert trecpy.evaluate(QRELS, RUN, "halved_P@7")["halved_P@7"] == 1 / 14
    assert trecpy.evaluate(QRELS, RUN, "halved_P@1", ties="expected")["halved_P@1"] == 1 / 4
    assert registry.catalogue()["halved_P"].title == "Half of the precision."


def _halved(docs: Judged, k: int) -> np.ndarray:
    return docs.found(k) / (2 * k)


def test_an_evaluator_with_a_measure_of_ones_own_is_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = trecpy.measure("halved_P", trecpy.Cutoffs((1, 2)))(_halved)
    monkeypatch.setattr(sys.modules[__name__], "_halved", declared)  # as where it is a decorator
    evaluator = trecpy.Evaluator(QRELS, "halved_P")
    assert pickle.loads(pickle.dumps(evaluator)).evaluate(RUN).summary == evaluator.evaluate(RUN).summary


@pytest.mark.parametrize("name", ["map", "official", "P@5", "", "nDCG.5", 3])
def test_names_that_are_taken_or_none(name: str) -> None:
    with pytest.raises(MeasureError, match="measure: expected a name"):
        trecpy.measure(name)


def test_a_formula_that_gives_something_else() -> None:
    @trecpy.measure("scalar")
    def scalar(docs: Judged) -> float:
        return 1.0

    with pytest.raises(MeasureError, match=r"scalar: expected a formula that gives float64\[2\], found 1.0"):
        trecpy.evaluate(QRELS, RUN, "scalar")
