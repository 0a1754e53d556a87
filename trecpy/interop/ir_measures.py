"""
A provider for ir_measures: its measures, computed by trecpy with 9.0.8's rules, as its pytrec_eval provider has them.

    import trecpy.interop.ir_measures as trecpy_provider
    trecpy_provider.use()      # first in ir_measures' default pipeline, until restore()

What differs from the providers that it goes before: RR@k, Judged@k, Accuracy, ERR@k and nDCG of exponential gain rank
by score and then docno, larger bytes first, as every other measure does; ERR@k takes grades up to max_grade (4) and any
topic id; Accuracy is 1 where all that is ranked is relevant, and 0 for topics of which nothing relevant is ranked,
which ir_measures leaves out of the mean.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import ir_measures
from ir_measures import measures as irm
from ir_measures import providers
from ir_measures.providers.base import NOT_PROVIDED, Choices
from ir_measures.providers.base import Any as Anything

from trecpy.api import Evaluator
from trecpy.errors import NothingScoredError
from trecpy.names import key_of, parse_name


class Provider(providers.Provider):  # type: ignore[misc]  # ir_measures is not typed
    """
    ir_measures' interface to trecpy.

    max_grade: the largest grade of the scale of ERR; a higher one in the judgements is an error
    """

    NAME = "trecpy"
    SUPPORTED_MEASURES = (
        irm._P(cutoff=Anything(), rel=Anything(), judged_only=Anything()),
        irm._RR(cutoff=Anything(), rel=Anything(), judged_only=Anything()),
        irm._Rprec(rel=Anything(), judged_only=Anything()),
        irm._AP(cutoff=Anything(), rel=Anything(), judged_only=Anything()),
        irm._nDCG(cutoff=Anything(), dcg=Anything(), gains=Anything(), judged_only=Anything()),
        irm._R(cutoff=Anything(), rel=Anything(), judged_only=Anything()),
        irm._Bpref(rel=Anything()),
        irm._NumRet(rel=Anything()),
        irm._NumQ(),
        irm._NumRel(rel=Anything()),
        irm._SetAP(rel=Anything(), judged_only=Anything()),
        irm._SetF(rel=Anything(), beta=Anything(), judged_only=Anything()),
        irm._SetP(rel=Anything(), relative=Anything(), judged_only=Anything()),
        irm._SetR(rel=Anything()),
        irm._Success(cutoff=Anything(), rel=Anything(), judged_only=Anything()),
        irm._IPrec(recall=Anything(), judged_only=Anything()),
        irm._infAP(rel=Anything()),
        irm._Judged(cutoff=Anything()),
        irm._RBP(cutoff=Choices(NOT_PROVIDED), rel=Anything(required=True), p=Anything()),
        irm._Accuracy(cutoff=Anything(), rel=Anything()),
        irm._ERR(cutoff=Anything(required=True)),
    )

    def __init__(self, max_grade: int = 4) -> None:
        super().__init__()
        self.max_grade = max_grade

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> "_Evaluator":
        return _Evaluator(list(measures), qrels, self.max_grade)


class _Evaluator(providers.Evaluator):  # type: ignore[misc]  # as above
    def __init__(self, measures: Sequence[Any], qrels: Any, max_grade: int) -> None:
        asked = {measure: parse_name(measure, "9.0.8") for measure in measures}
        columns = [column for found in asked.values() for column in found]
        per_measure = {"ERR": {"max_grade": max_grade}}
        self._evaluator = Evaluator(qrels, columns, compat="9.0.8", topics="both", per_measure=per_measure)
        place = {key_of(column): c for c, column in enumerate(self._evaluator.columns)}
        self._places = [(measure, place[key_of(column)]) for measure, (column,) in asked.items()]
        super().__init__(measures, set(self._evaluator.qrels.topics))

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        try:
            evaluation = self._evaluator.evaluate(run, witness=False)
        except NothingScoredError:
            return
        for topic, row in zip(evaluation.topics, evaluation.per_query.tolist(), strict=True):
            for measure, c in self._places:
                yield ir_measures.Metric(query_id=topic, measure=measure, value=row[c])


provider = Provider()


def use(max_grade: int = 4) -> None:
    """Put trecpy first in ir_measures' default pipeline. max_grade: as Provider has it."""
    restore()
    ir_measures.DefaultPipeline.providers.insert(0, Provider(max_grade))


def restore() -> None:
    """Take trecpy out of ir_measures' default pipeline."""
    pipeline = ir_measures.DefaultPipeline
    pipeline.providers[:] = [each for each in pipeline.providers if not isinstance(each, Provider)]
