"""Two evaluations compared, topic by topic: compare(), and compare_many() where the tests are one family."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from trecpy.api import Evaluation
from trecpy.errors import InputError, MeasureError, NothingScoredError, ParameterError
from trecpy.kernels.dtypes import Reals
from trecpy.names import key_of, parse_name
from trecpy.protocol import Protocol
from trecpy.registry import Aggregate, Column
from trecpy.significance import (
    CORRECTIONS,
    NAMES,
    Result,
    corrected,
    interval,
    paired_test,
    refuse_draws,
    refuse_unknown,
    refuse_unready,
    rounded,
)
from trecpy.text import described, plural, quoted

EDGES = (0.0, 0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Difference:
    """
    Other against baseline over some topics, in one measure.

    topics: how many; baseline, other: their means; difference: other - baseline
    wins, ties, losses: topics where other is better, equal (to 12 decimals), worse, as the measure has it
    """

    topics: int
    baseline: float
    other: float
    difference: float
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True)
class Compared(Difference):
    """
    A measure's comparison.

    p_value, statistic: of the test, two-sided, NaN where it is undefined; how: where they come from, or why not
    p_adjusted: p_value corrected for all tests of its family
    differences: float64[topics]  other - baseline, in the order of Comparison.topics
    """

    measure: str
    higher_is_better: bool
    statistic: float
    p_value: float
    p_adjusted: float
    how: str
    differences: Reals = field(repr=False, compare=False)
    _values: tuple[Reals, Reals] = field(repr=False, compare=False)
    _topics: tuple[str, ...] = field(repr=False, compare=False)

    @property
    def standard_error(self) -> float:
        """Of the mean difference; NaN below 2 topics."""
        return self._spread / math.sqrt(self.topics)

    @property
    def effect_size(self) -> float:
        """Cohen's d for paired values: mean difference / its standard deviation (ddof 1); NaN where that is 0."""
        return self.difference / self._spread if self._spread > 0 else math.nan

    @property
    def _spread(self) -> float:
        if self.topics < 2 or not np.isfinite(self.differences).all():
            return math.nan
        return float(np.std(rounded(self.differences), ddof=1))

    def interval(self, confidence: float = 0.95, seed: int = 0, resamples: int = 10_000) -> tuple[float, float]:
        """
        Bootstrap confidence interval of the difference: percentiles of the means of resampled topics.

        NaN below 2 topics. Raises InputError: a confidence that is not between 0 and 1.
        """
        if not isinstance(confidence, float | int) or not 0 < confidence < 1:
            raise InputError(f"confidence: expected a number between 0 and 1, found {described(confidence)}")
        refuse_draws(seed, resamples)
        return interval(self.differences, confidence, seed, resamples)

    def by(self, groups: Mapping[Any, object]) -> dict[str, Difference]:
        """
        The same for each group of topics.

        groups: topic -> group, whose order stays; topics that it lacks are in the group "(none)", the last
        """
        group_of = {str(topic): str(group) for topic, group in groups.items()}
        places: dict[str, list[int]] = {group: [] for group in (*group_of.values(), "(none)")}
        for place, topic in enumerate(self._topics):
            places[group_of.get(topic, "(none)")].append(place)
        baseline, other = self._values
        return {
            group: _difference(baseline[chosen], other[chosen], self.higher_is_better)
            for group, chosen in places.items()
            if chosen
        }


@dataclass(frozen=True)
class Comparison:
    """
    What compare() found.

    measures: one comparison a measure, in trec_eval's order; result["nDCG@10"] finds one by any of its names
    topics: ids of the topics in both; only_baseline, only_other: how many were in one only, and left out
    test, correction: their names; family: number of p-values that were corrected together
    left_out: columns in one evaluation only, or whose summary is no mean over topics
    """

    measures: tuple[Compared, ...]
    topics: tuple[str, ...]
    only_baseline: int
    only_other: int
    test: str
    correction: str
    family: int
    left_out: tuple[str, ...]
    protocol: Protocol
    _columns: tuple[Column, ...] = field(repr=False)

    def __getitem__(self, name: object) -> Compared:
        """A measure's comparison, by any of its names. Raises MeasureError: it was not compared."""
        for compared in self.measures:
            if compared.measure == name:
                return compared
        wanted = {key_of(column) for column in parse_name(name, self.protocol.compat)}
        found = [place for place, column in enumerate(self._columns) if key_of(column) in wanted]
        if len(found) != 1 or len(wanted) != 1:
            known = ", ".join(compared.measure for compared in self.measures)
            raise MeasureError(f"{quoted(str(name))}: expected one of {known}")
        return self.measures[found[0]]

    def __contains__(self, name: object) -> bool:
        try:
            self[name]
        except (MeasureError, ParameterError):
            return False
        return True

    __iter__ = None  # of measures: .measures has them

    def __repr__(self) -> str:
        width = max(len(compared.measure) for compared in self.measures)
        lines = [
            f"  {c.measure:<{width}}  {c.baseline:.4f} -> {c.other:.4f}  {c.difference:+.4f}  p {c.p_value:.4f}, "
            f"adjusted {c.p_adjusted:.4f}  {c.wins} better, {c.ties} equal, {c.losses} worse"
            for c in self.measures
        ]
        about = f"Comparison over {plural(len(self.topics), 'topic')}: {NAMES[self.test]}, {self.corrected_by}"
        return "\n".join([about, *lines])

    def by_difficulty(self, name: object, edges: Sequence[float] = EDGES) -> dict[str, str]:
        """
        Topics grouped by the baseline's value of a measure, for by(): topic -> "0 and below", "up to 0.25", ...

        edges: ascending; a value belongs to the first edge that is not below it. Raises InputError: not ascending.
        """
        if not edges or any(not a < b for a, b in pairwise(edges)):
            raise InputError(f"edges: expected ascending numbers, found {described(edges)}")
        labels = [f"{edges[0]:g} and below", *(f"up to {edge:g}" for edge in edges[1:]), f"above {edges[-1]:g}"]
        places = np.searchsorted(edges, self[name]._values[0], side="left")
        return {self.topics[t]: labels[places[t]] for t in np.argsort(places, kind="stable").tolist()}

    @property
    def corrected_by(self) -> str:
        """The correction and the size of its family, in words."""
        return f"{CORRECTIONS[self.correction]} over {plural(self.family, 'test')}"


def compare(
    baseline: Evaluation,
    other: Evaluation,
    test: str = "t",
    *,
    correction: str = "holm",
    seed: int = 0,
    resamples: int = 100_000,
) -> Comparison:
    """
    Compare two evaluations by the same protocol, topic by topic.

    test        "t" (paired t-test), "wilcoxon", "sign" or "randomisation" (Fisher's), all two-sided
    correction  of the measures' p-values: "holm", "bonferroni", "bh" (Benjamini and Hochberg) or "none"
    seed, resamples
                of the randomisation test, where it is not exact

    Topics are joined by id; those in one evaluation only are counted and left out. Where the protocol averages over all
    judged topics (topics="qrels"), these are the topics, and one without values has 0. Whether the two runs ranked the
    same candidates cannot be seen from evaluations; the command `trecpy compare` reads the runs and says so.

    Raises InputError: other protocols or judgements, no such test. MeasureError: no measure in both.
    NothingScoredError: no topic in both. LibraryError: scipy is missing (the extra trecpy[stats]).
    """
    return compare_many(baseline, {"other": other}, test, correction=correction, seed=seed, resamples=resamples)[
        "other"
    ]


def compare_many(
    baseline: Evaluation,
    others: Mapping[str, Evaluation],
    test: str = "t",
    *,
    correction: str = "holm",
    seed: int = 0,
    resamples: int = 100_000,
) -> dict[str, Comparison]:
    """Compare several evaluations, by name, with one baseline; the p-values of all are one family. See compare()."""
    refuse_unknown("test", test, list(NAMES))
    refuse_unknown("correction", correction, list(CORRECTIONS))
    refuse_draws(seed, resamples)
    refuse_unready(test)
    for evaluation in (baseline, *others.values()):
        if not isinstance(evaluation, Evaluation):
            raise InputError(f"compare: expected evaluations, found {described(evaluation)}")
    found = {name: _compared(baseline, other, test, seed, resamples) for name, other in others.items()}
    p_values = [compared.p_value for comparison in found.values() for compared in comparison.measures]
    adjusted = iter(corrected(p_values, correction))
    family = sum(not math.isnan(p) for p in p_values)
    return {
        name: replace(
            comparison,
            correction=correction,
            family=family,
            measures=tuple(replace(compared, p_adjusted=next(adjusted)) for compared in comparison.measures),
        )
        for name, comparison in found.items()
    }


def _compared(baseline: Evaluation, other: Evaluation, test: str, seed: int, resamples: int) -> Comparison:
    """The comparison before any correction."""
    if baseline.protocol != other.protocol:
        raise InputError("compare: expected evaluations by the same protocol")
    _refuse_other_judgements(baseline, other)
    columns, left_out = _shared(baseline._scores.columns, other._scores.columns)
    first, second = _Table(baseline, columns), _Table(other, columns)
    topics = sorted(first.places.keys() & second.places.keys())
    if not topics:
        raise NothingScoredError("compare: no topic is in both evaluations")
    a, b = first.values(topics), second.values(topics)
    names = tuple(topic.decode("utf-8", "surrogateescape") for topic in topics)
    return Comparison(
        measures=tuple(
            _measure(column, a[:, c], b[:, c], names, test, seed, resamples) for c, column in enumerate(columns)
        ),
        topics=names,
        only_baseline=len(first.places) - len(topics),
        only_other=len(second.places) - len(topics),
        test=test,
        correction="none",
        family=0,
        left_out=left_out,
        protocol=baseline.protocol,
        _columns=tuple(columns),
    )


def _refuse_other_judgements(baseline: Evaluation, other: Evaluation) -> None:
    """Raise InputError: a topic has more relevant documents in one evaluation than in the other."""
    first, second = baseline._scores.judged, other._scores.judged
    for topic in first.keys() & second.keys():
        if first[topic] != second[topic]:
            raise InputError(
                f"compare: expected evaluations by the same judgements, found topic {quoted(topic)} with "
                f"{first[topic]} and {second[topic]} documents above level 0"
            )


def _shared(first: Sequence[Column], second: Sequence[Column]) -> tuple[list[Column], tuple[str, ...]]:
    """Columns in both whose summary is a mean over topics, and the names of the others."""
    both = {key_of(column) for column in first} & {key_of(column) for column in second}
    means = {key_of(c) for c in first if c.measure.aggregate is Aggregate.MEAN and not c.measure.text} & both
    left_out = dict.fromkeys(column.name for column in (*first, *second) if key_of(column) not in means)
    if not means:
        raise MeasureError(
            f"compare: expected a measure in both evaluations whose summary is a mean over topics, found "
            f"{', '.join(left_out)}"
        )
    return [column for column in first if key_of(column) in means], tuple(left_out)


class _Table:
    """Values by topic of some columns of an evaluation."""

    def __init__(self, evaluation: Evaluation, columns: Sequence[Column]) -> None:
        scores = evaluation._scores
        place = {key_of(column): c for c, column in enumerate(scores.columns)}
        known = scores.per_query[:, [place[key_of(column)] for column in columns]]
        topics = list(scores.topics)
        if scores.protocol.topics == "qrels":  # 9.0.8 counts judged topics that the run lacks without listing them
            lacking = sorted(scores.judged.keys() - set(topics))
            worst = [0.0 if column.measure.higher_is_better else math.inf for column in columns]
            known = np.vstack((known, np.tile(worst, (len(lacking), 1))))
            topics += lacking
        self.places = {topic: t for t, topic in enumerate(topics)}
        self._known = known

    def values(self, topics: Sequence[bytes]) -> Reals:
        """float64[topics, columns]"""
        chosen: Reals = self._known[[self.places[topic] for topic in topics]]
        return chosen


def _measure(
    column: Column, baseline: Reals, other: Reals, topics: tuple[str, ...], test: str, seed: int, resamples: int
) -> Compared:
    higher = column.measure.higher_is_better
    differences = _subtracted(baseline, other)
    result: Result = paired_test(test, differences, seed, resamples)
    about = _difference(baseline, other, higher)
    return Compared(
        **vars(about),
        measure=column.name,
        higher_is_better=higher,
        statistic=result.statistic,
        p_value=result.p_value,
        p_adjusted=result.p_value,
        how=result.how,
        differences=differences,
        _values=(baseline, other),
        _topics=topics,
    )


def _difference(baseline: Reals, other: Reals, higher_is_better: bool) -> Difference:
    gains = rounded(_subtracted(baseline, other))
    up, down = int(np.count_nonzero(gains > 0)), int(np.count_nonzero(gains < 0))
    wins, losses = (up, down) if higher_is_better else (down, up)
    a, b = _mean(baseline), _mean(other)
    difference = 0.0 if a == b else b - a
    return Difference(len(gains), a, b, difference, wins, len(gains) - up - down, losses)


def _subtracted(baseline: Reals, other: Reals) -> Reals:
    """Other - baseline, 0 where they are equal, which infinite values can be too."""
    with np.errstate(invalid="ignore"):
        return np.where(baseline == other, 0.0, other - baseline)


def _mean(values: Reals) -> float:
    """The mean as the summaries have it: one addition after the other."""
    return float(np.add.accumulate(np.append(0.0, values))[-1]) / len(values)
