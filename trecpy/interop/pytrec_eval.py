"""
pytrec_eval's interface, with its keys and its doubles: those of trec_eval 9 (`compat="9.0.8"`), float32 scores too.

    import trecpy.interop.pytrec_eval as pytrec_eval

is the only change that a script needs. What differs: topics whose judgements are all negative are topics without
relevant documents, and what is wrong raises a trecpy.TrecpyError that names it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from trecpy.api import Evaluator
from trecpy.errors import InputError, NothingScoredError
from trecpy.names import parse_names
from trecpy.registry import LevelGains, RealList, catalogue, nicknames

T = TypeVar("T", int, float)

supported_measures = frozenset(
    name
    for name, each in catalogue().items()
    if each.known_to("9.0.8") and each.needs in ((), ("qrels",)) and name != "yaap"  # which pytrec_eval lacks
)
supported_nicknames = {name: frozenset(members) for name, members in nicknames("9.0.8").items()}


class RelevanceEvaluator:
    """
    Judgements and measures, for many runs.

    query_relevance: {topic: {docno: level}}; measures: names or nicknames
    relevance_level: documents of at least this level are relevant; judged_docs_only_flag: drop those without a level
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        if not isinstance(query_relevance, Mapping):
            raise InputError(f"query_relevance: expected a dict of dicts, found {type(query_relevance).__name__}")
        judged = {topic: documents for topic, documents in query_relevance.items() if documents != {}}
        columns = parse_names(measures, "9.0.8")
        # Cutoffs that are named replace the default ones, which a nickname may ask for too.
        named = {column.measure.name for column in columns if column.given}
        self._evaluator = Evaluator(
            judged,
            [column for column in columns if column.given or column.measure.name not in named],
            compat="9.0.8",
            topics="both",
            relevance_level=relevance_level,
            judged_only=judged_docs_only_flag,
        )

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """{topic: {column: value}} of the topics that both have; runid and relstring, which are text, have 0."""
        try:
            evaluation = self._evaluator.evaluate(scores, witness=False)
        except NothingScoredError:
            return {}
        # A measure that has one value has one key, whatever its parameters are.
        whole = [isinstance(column.measure.parameters, RealList | LevelGains) for column in self._evaluator.columns]
        names = zip(self._evaluator.columns, whole, strict=True)
        columns = [column.measure.name if alone else column.name for column, alone in names]
        rows = evaluation.per_query.tolist()
        return {topic: dict(zip(columns, row, strict=True)) for topic, row in zip(evaluation.topics, rows, strict=True)}


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """{topic: {docno: score}} from lines of `topic iter docno rank score tag`."""
    return _parse(f_run, "run", 6, 4, float)


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """{topic: {docno: level}} from lines of `topic iter docno level`."""
    return _parse(f_qrel, "qrels", 4, 3, int)


def _parse(lines: Iterable[str], what: str, wanted: int, column: int, kind: type[T]) -> dict[str, dict[str, T]]:
    found: dict[str, dict[str, T]] = defaultdict(dict)
    for number, line in enumerate(lines, 1):
        columns = line.split()
        if len(columns) != wanted:
            raise InputError(f"{what}:{number}: expected {wanted} columns, found {len(columns)}")
        try:
            value = kind(columns[column])
        except ValueError:
            text = columns[column]
            raise InputError(f"{what}:{number}: column {column + 1}: expected a number, found {text!r}") from None
        if columns[2] in found[columns[0]]:
            raise InputError(f"{what}:{number}: expected a document once in a topic, found {columns[2]!r} again")
        found[columns[0]][columns[2]] = value
    return found


def compute_aggregated_measure(measure: str, values: Sequence[float]) -> float:
    """A measure's values over topics as one, as pytrec_eval sums: sum, geometric or arithmetic mean, by NumPy."""
    if measure.startswith("num_"):
        return float(np.sum(values))
    if measure.startswith("gm_"):
        return float(np.exp(np.sum(values) / len(values)))
    return float(np.mean(values))
