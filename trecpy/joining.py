"""Two evaluations side by side: the measures of both, and the topics that count in both."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from trecpy.errors import InputError, MeasureError, NothingScoredError
from trecpy.kernels.dtypes import Integers, Reals
from trecpy.names import key_of
from trecpy.registry import Aggregate, Column
from trecpy.scores import Scores
from trecpy.text import as_strings, plural, quoted


def refuse_other_judgements(baseline: Scores, other: Scores) -> None:
    """Raise InputError: a topic has more relevant documents in one evaluation than in the other."""
    first, second = baseline.judged, other.judged
    for topic in first.keys() & second.keys():
        if first[topic] != second[topic]:
            raise InputError(
                f"compare: expected evaluations by the same judgements, found topic {quoted(topic)} with "
                f"{first[topic]} and {second[topic]} documents above level 0"
            )


def shared_columns(first: Sequence[Column], second: Sequence[Column]) -> tuple[list[Column], tuple[str, ...]]:
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


class Side:
    """Values by topic of an evaluation."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores
        self._place = {topic: t for t, topic in enumerate(scores.topics)}
        self._column = {key_of(column): c for c, column in enumerate(scores.columns)}

    def counted(self, column: Column) -> frozenset[bytes]:
        """The topics whose mean the summary of a column is."""
        return self._scores.counted_by(self._column[key_of(column)])

    def places(self, topics: Iterable[bytes]) -> Integers:
        """Of topics: int64[topics], -1 for those that were counted without being scored."""
        return np.array([self._place.get(topic, -1) for topic in topics], np.int64)

    def values(self, column: Column, places: Integers) -> Reals:
        """float64[topics]: what these topics count."""
        scored = self._scores.per_query[:, self._column[key_of(column)]]
        chosen: Reals = np.append(scored, column.measure.absent)[places]
        return chosen


@dataclass(frozen=True, eq=False)
class Joined:
    """
    The topics that count in both evaluations, in byte order.

    places: of them in each evaluation; only_baseline, only_other: as Compared has them
    """

    topics: Sequence[bytes]
    names: tuple[str, ...]
    places: tuple[Integers, Integers]
    only_baseline: int
    only_other: int

    @classmethod
    def of(cls, a: frozenset[bytes], b: frozenset[bytes], first: Side, second: Side) -> "Joined":
        """a, b: topics that count in the first and in the second. Raises NothingScoredError: none is in both."""
        topics = sorted(a & b)
        if not topics:
            raise NothingScoredError(
                f"compare: no topic is in both evaluations, of {plural(len(a), 'topic')} and {plural(len(b), 'topic')}"
            )
        places = first.places(topics), second.places(topics)
        return cls(topics, tuple(as_strings(topics)), places, len(a) - len(topics), len(b) - len(topics))
