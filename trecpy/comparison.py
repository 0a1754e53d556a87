"""Two evaluations compared, topic by topic: compare(), and compare_many() where the tests are one family."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from trecpy.api import Evaluation
from trecpy.errors import InputError, MeasureError, ParameterError
from trecpy.joining import Joined, Side, refuse_other_judgements, shared_columns
from trecpy.kernels.dtypes import Reals
from trecpy.names import key_of, parse_name
from trecpy.presets import stated
from trecpy.protocol import Protocol
from trecpy.registry import Column
from trecpy.significance import (
    CORRECTIONS,
    NAMES,
    Result,
    corrected,
    interval,
    p_text,
    paired_test,
    refuse_draws,
    refuse_unknown,
    refuse_unready,
    rounded,
)
from trecpy.text import as_strings, described, plural, quoted

EDGES = (0.0, 0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Difference:
    """
    Other against baseline over some topics, in one measure.

    topics: how many; baseline, other: means over them, rounded where the protocol rounds summaries
    difference: mean of the topics' differences, other - baseline, where equal infinities differ by 0; NaN where there
        is no mean: infinite in both directions, or of values that are NaN
    wins, ties, losses: topics where other is better, equal (to 12 decimals), worse, as the measure has it; a topic with
        a value that is NaN is none of these
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
    topic_ids: of its topics, in byte order: those whose mean both summaries are, by the measure's own rule
    only_baseline, only_other: how many topics count in one of the two alone, and were left out
    differences: float64[topics]  other - baseline
    """

    measure: str
    higher_is_better: bool
    statistic: float
    p_value: float
    p_adjusted: float
    how: str
    only_baseline: int
    only_other: int
    topic_ids: tuple[str, ...] = field(repr=False, compare=False)
    differences: Reals = field(repr=False, compare=False)
    _values: tuple[Reals, Reals] = field(repr=False, compare=False)
    _places: int | None = field(repr=False, compare=False)

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
        if not isinstance(confidence, float | int | np.floating) or not 0 < confidence < 1:
            raise InputError(f"confidence: expected a number between 0 and 1, found {described(confidence)}")
        refuse_draws(seed, resamples)
        return interval(self.differences, float(confidence), seed, resamples)

    def by(self, groups: Mapping[Any, object]) -> dict[str, Difference]:
        """
        The same for each group of topics.

        groups: topic -> group, whose order stays; topics that it lacks are in the group "(none)", the last

        Raises InputError: no dict.
        """
        if not isinstance(groups, Mapping):
            raise InputError(f"groups: expected a dict, topic -> group, found {described(groups)}")
        group_of = {_id(topic): str(group) for topic, group in groups.items()}
        places: dict[str, list[int]] = {group: [] for group in (*group_of.values(), "(none)")}
        for place, topic in enumerate(self.topic_ids):
            places[group_of.get(topic, "(none)")].append(place)
        baseline, other = self._values
        return {
            group: _difference(baseline[chosen], other[chosen], self.higher_is_better, self._places)
            for group, chosen in places.items()
            if chosen
        }


@dataclass(frozen=True)
class Comparison:
    """
    What compare() found.

    measures: one comparison a measure, in trec_eval's order; result["nDCG@10"] finds one by any of its names
    topics: ids of all topics that were compared; a measure that has a rule of its own may have fewer
    test, correction: their names; family: number of p-values that were corrected together
    left_out: columns in one evaluation only, or whose summary is no mean over topics
    protocol: the conventions of both evaluations, but for `batch`: topics are compared one by one
    """

    measures: tuple[Compared, ...]
    topics: tuple[str, ...]
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

    @property
    def only_baseline(self) -> int:
        """Topics of the baseline alone, left out of the measure that lost most."""
        return max(compared.only_baseline for compared in self.measures)

    @property
    def only_other(self) -> int:
        """Topics of the other alone, likewise."""
        return max(compared.only_other for compared in self.measures)

    def __repr__(self) -> str:
        width = max(len(compared.measure) for compared in self.measures)
        lines = [
            f"  {c.measure:<{width}}  {c.baseline:.4f} -> {c.other:.4f}  {c.difference:+.4f}  "
            f"p {p_text(c.p_value, 4)}, adjusted {p_text(c.p_adjusted, 4)}  "
            f"{c.wins} better, {c.ties} equal, {c.losses} worse"
            for c in self.measures
        ]
        about = f"Comparison over {plural(len(self.topics), 'topic')}: {NAMES[self.test]}, {self.corrected_by}"
        return "\n".join([about, *lines])

    def by_difficulty(self, name: object, edges: Sequence[float] = EDGES) -> dict[str, str]:
        """
        Topics grouped by the baseline's value of a measure, for by(): topic -> "0 and below", "up to 0.25", ...

        edges: ascending; a value belongs to the first edge that is not below it; one that is NaN to no group

        Raises InputError: edges that are not ascending numbers. MeasureError: it was not compared.
        """
        numbers = _ascending(edges)
        labels = [f"{numbers[0]:g} and below", *(f"up to {edge:g}" for edge in numbers[1:]), f"above {numbers[-1]:g}"]
        compared = self[name]
        baseline = compared._values[0]
        places = np.searchsorted(numbers, baseline, side="left")
        easier = [t for t in np.argsort(places, kind="stable").tolist() if not math.isnan(baseline[t])]
        return {compared.topic_ids[t]: labels[places[t]] for t in easier}

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

    Topics are joined by id, for each measure those whose mean its two summaries are: with topics="qrels" all judged
    ones, one that the run lacks counting as it does in the summary (0 for nearly all measures). Topics of one
    evaluation only are counted and left out; where there are none, means are the summaries' doubles, but for a `batch`,
    which no single topic has. Whether the two runs ranked the same candidates cannot be seen from evaluations;
    the command `trecpy compare` reads the runs and says so.

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
    """
    Compare several evaluations, by name, with one baseline; the p-values of all are one family. See compare().

    Raises InputError, too: others that are no dict of evaluations.
    """
    if not isinstance(others, Mapping):
        raise InputError(f"others: expected a dict of evaluations by name, found {described(others)}")
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
    if replace(baseline.protocol, name="") != replace(other.protocol, name=""):
        found = f"{stated(baseline.protocol)} and {stated(other.protocol)}"
        raise InputError(f"compare: expected evaluations by the same protocol, found {found}")
    refuse_other_judgements(baseline._scores, other._scores)
    columns, left_out = shared_columns(baseline._scores.columns, other._scores.columns)
    sides = Side(baseline._scores), Side(other._scores)
    counted = [(sides[0].counted(column), sides[1].counted(column)) for column in columns]
    joined = {both: Joined.of(*both, *sides) for both in dict.fromkeys(counted)}
    measures = [
        _measure(column, column.under(baseline.protocol).places, joined[both], sides, test, seed, resamples)
        for column, both in zip(columns, counted, strict=True)
    ]
    return Comparison(
        measures=tuple(measures),
        topics=tuple(as_strings(sorted({topic for each in joined.values() for topic in each.topics}))),
        test=test,
        correction="none",
        family=0,
        left_out=left_out,
        protocol=_of_topics(baseline.protocol),
        _columns=tuple(columns),
    )


def _of_topics(protocol: Protocol) -> Protocol:
    """The same without means of batches."""
    own = {
        measure: {field: None if field == "batch" else value for field, value in choices}
        for measure, choices in protocol.per_measure
    }
    return replace(protocol, batch=None, per_measure=own)


def _measure(
    column: Column,
    places: int | None,
    joined: Joined,
    sides: tuple[Side, Side],
    test: str,
    seed: int,
    resamples: int,
) -> Compared:
    baseline, other = (side.values(column, at) for side, at in zip(sides, joined.places, strict=True))
    higher = column.measure.higher_is_better
    differences = _subtracted(baseline, other)
    result: Result = paired_test(test, differences, seed, resamples)
    about = _difference(baseline, other, higher, places)
    return Compared(
        **vars(about),
        measure=column.name,
        higher_is_better=higher,
        statistic=result.statistic,
        p_value=result.p_value,
        p_adjusted=result.p_value,
        how=result.how,
        only_baseline=joined.only_baseline,
        only_other=joined.only_other,
        topic_ids=joined.names,
        differences=differences,
        _values=(baseline, other),
        _places=places,
    )


def _difference(baseline: Reals, other: Reals, higher_is_better: bool, places: int | None) -> Difference:
    differences = _subtracted(baseline, other)
    gains = rounded(differences)
    up, same, down = (int(np.count_nonzero(found)) for found in (gains > 0, gains == 0, gains < 0))
    wins, losses = (up, down) if higher_is_better else (down, up)
    means = _mean(baseline, places), _mean(other, places), _mean(differences)
    return Difference(len(gains), *means, wins, same, losses)


def _subtracted(baseline: Reals, other: Reals) -> Reals:
    """Other - baseline, 0 where they are equal, which infinite values can be too."""
    with np.errstate(invalid="ignore"):
        return np.where(baseline == other, 0.0, other - baseline)


def _mean(values: Reals, places: int | None = None) -> float:
    """The mean as the summaries have it: one addition after the other."""
    with np.errstate(invalid="ignore"):
        mean = float(np.add.accumulate(np.append(0.0, values))[-1]) / len(values)
    return mean if places is None or not math.isfinite(mean) else round(mean, places)


def _ascending(edges: object) -> list[float]:
    """Edges of groups as numbers. Raises InputError."""
    try:
        if isinstance(edges, str | bytes) or not isinstance(edges, Iterable):
            raise ValueError
        numbers = [float(edge) for edge in edges]
        if not numbers or not all(map(math.isfinite, numbers)) or any(not a < b for a, b in pairwise(numbers)):
            raise ValueError
    except (TypeError, ValueError):
        raise InputError(f"edges: expected ascending numbers, found {described(edges)}") from None
    return numbers


def _id(topic: object) -> str:
    """A topic as ids are given in Python: strings, bytes, integers."""
    return topic.decode("utf-8", "surrogateescape") if isinstance(topic, bytes) else str(topic)
