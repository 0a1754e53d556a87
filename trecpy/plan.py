"""What is asked of judgements: measures and conventions, worked out once for many runs."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from trecpy.arrays import sizes_of, starts_of
from trecpy.errors import ParameterError, TopicError
from trecpy.expected import Expected
from trecpy.gains import Gains
from trecpy.judged import Judged, Reading
from trecpy.kernels.dtypes import Flags, Integers
from trecpy.packed import Judgements, Qrels
from trecpy.protocol import Protocol
from trecpy.ranked import Ranked
from trecpy.registry import Column, Cutoffs, LevelGains, catalogue
from trecpy.text import quoted, shown


@dataclass(eq=False, repr=False)
class Plan:
    """What is asked of which judgements, worked out once for many runs."""

    judgements: Judgements
    columns: Sequence[Column]
    protocol: Protocol

    def __post_init__(self) -> None:
        """
        Raises ParameterError: a measure that has no expectation over ties where one is asked for, or conventions of a
        measure that does not exist.
        """
        for name, _ in self.protocol.per_measure:
            if name not in catalogue():
                raise ParameterError(f"per_measure: expected names of measures, found {quoted(name)}")
        lacking = [
            column.measure.name
            for column, protocol in zip(self.columns, self.protocols, strict=True)
            if not column.has_values(protocol)
        ]
        if lacking:
            raise ParameterError(
                f"ties: expected measures whose mean over orders of ties is known, found {', '.join(lacking)}; "
                "ties='best' and ties='worst' bound any measure"
            )

    @cached_property
    def protocols(self) -> list[Protocol]:
        """The conventions of each column."""
        return [column.under(self.protocol) for column in self.columns]

    @cached_property
    def rankings(self) -> list[Protocol]:
        """The different ways in which runs are ranked, that of the protocol first."""
        return list(dict.fromkeys([self.protocol.ranking, *(protocol.ranking for protocol in self.protocols)]))

    @cached_property
    def readings(self) -> list[list[tuple[Reading, list[int]]]]:
        """For each ranking: how it is read, and the numbers of the columns that are."""
        assert isinstance(self.judgements, Qrels)
        found: list[dict[Protocol, list[int]]] = [{} for _ in self.rankings]
        for c, (column, protocol) in enumerate(zip(self.columns, self.protocols, strict=True)):
            if column.measure.needs:
                found[self.rankings.index(protocol.ranking)].setdefault(protocol, []).append(c)
        return [
            [(Reading(self.judgements, protocol, self.cutoffs), chosen) for protocol, chosen in each.items()]
            for each in found
        ]

    @cached_property
    def steps(self) -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
        """Formula and arguments of each column."""
        return [(c.measure.formula, () if c.parameter is None else (c.parameter,)) for c in self.columns]

    @cached_property
    def unfit(self) -> TopicError | None:
        """The error of the first measure that these judgements are not for."""
        form = self.judgements.form
        for column in self.columns:
            needed = column.measure.needs
            if needed and form not in needed:
                return TopicError(
                    f"{column.measure.name}: expected judgements of -R {' or '.join(needed)}, found -R {form}"
                )
        return None

    @cached_property
    def looks(self) -> bool:
        """Does any measure look at documents?"""
        return self.unfit is None and any(column.measure.needs for column in self.columns)

    @cached_property
    def sizes(self) -> Integers | None:
        """int64[T]: units of each topic, None where each has one."""
        sizes = sizes_of(self.judgements.units)
        return None if (sizes == 1).all() else sizes

    @cached_property
    def wanted(self) -> Flags:
        """bool[T+1]: the judged topics that count, and False for those that are not judged, whose place is -1."""
        wanted = np.ones(len(self.judgements.topics) + 1, bool)
        if self.protocol.without_relevant == "drop":
            wanted[:-1] = self.relevant > 0
        wanted[-1] = False
        return wanted

    @cached_property
    def dropped(self) -> dict[int, frozenset[bytes]]:
        """Number of each column that alone drops topics without a relevant document -> these."""
        if self.protocol.without_relevant == "drop" or not isinstance(self.judgements, Qrels):
            return {}
        found = {}
        for c, protocol in enumerate(self.protocols):
            if protocol.without_relevant == "drop":
                relevant = self._count(lambda qrels, least=protocol.relevance_level: qrels.count(qrels.code(least)))
                found[c] = frozenset(itertools.compress(self.judgements.topics, (relevant == 0).tolist()))
        return found

    @cached_property
    def topics(self) -> frozenset[bytes]:
        """The judged topics."""
        return frozenset(self.judgements.topics)

    @cached_property
    def with_documents(self) -> list[int]:
        """Numbers of the columns that look at documents."""
        return [c for c, column in enumerate(self.columns) if column.measure.needs]

    @cached_property
    def without_documents(self) -> list[int]:
        """Numbers of the other columns."""
        return [c for c, column in enumerate(self.columns) if not column.measure.needs]

    @cached_property
    def judged_twice(self) -> Integers:
        """int64[n]: places of the topics that judge a document twice in their first unit."""
        if not isinstance(self.judgements, Qrels) or self.protocol.duplicates == "keep":
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.judgements.documents.repeated[self.judgements.units[:-1], 0] >= 0)

    @cached_property
    def cutoffs(self) -> list[int]:
        """All that columns ask for."""
        return sorted({c.parameter for c in self.columns if isinstance(c.measure.parameters, Cutoffs) and c.parameter})

    @cached_property
    def gains(self) -> list[tuple[str, Gains]]:
        """The gains of each column that has a parameter for them, by its name."""
        return [(c.name, c.parameter[0]) for c in self.columns if isinstance(c.measure.parameters, LevelGains)]

    @cached_property
    def unsorted(self) -> list[str]:
        """What is said of columns whose ideal rankings trec_eval does not sort."""
        if not isinstance(self.judgements, Qrels):
            return []
        return [
            f"{shown(name)}: gains closer together than 1 (or further apart than 2^31) are not sorted in the ideal "
            "ranking, as in trec_eval"
            for name, gains in self.gains
            if not self.judgements.graded(gains).ordered
        ]

    @cached_property
    def every(self) -> bool:
        """Do documents outside the judgements matter one by one, because they can be hits or have a gain?"""
        return isinstance(self.judgements, Qrels) and (
            any(protocol.relevance_level < 0 for protocol in self.protocols)
            or any(-1 in gains.named for _, gains in self.gains)
        )

    @cached_property
    def positive(self) -> Integers:
        """int64[T]: judgements of each topic with a level above 0."""
        return self._count(lambda qrels: qrels.count(qrels.code(np.nextafter(0, 1))))

    @cached_property
    def relevant(self) -> Integers:
        """int64[T]: relevant documents of each topic."""
        return self._count(lambda qrels: qrels.count(qrels.code(self.protocol.relevance_level)))

    @cached_property
    def without_relevant(self) -> int:
        """Topics without a relevant document."""
        return int(np.count_nonzero(self.relevant == 0))

    @cached_property
    def judged(self) -> dict[bytes, int]:
        """Each judged topic -> its judgements with a level above 0."""
        return dict(zip(self.judgements.topics, self.positive.tolist(), strict=True))

    def _count(self, count: Any) -> Integers:
        if not isinstance(self.judgements, Qrels):
            return np.zeros(len(self.judgements.topics), np.int64)
        return sizes_of(starts_of(count(self.judgements))[self.judgements.units])

    def values(self, number: int, ranked: Ranked, ties: Any = None) -> Iterator[tuple[int, Any]]:
        """
        Yield the number of each column that is read from the ranking of this number, and its values, a topic each.

        ties: instead of those of the protocol
        """
        with np.errstate(all="ignore"):
            for reading, chosen in self.readings[number]:
                if ties is not None:
                    reading = Reading(reading.qrels, replace(reading.protocol, ties=ties), self.cutoffs)
                view = Expected(ranked, reading) if reading.protocol.ties == "expected" else Judged(ranked, reading)
                yield from self.columns_of(view, chosen)

    def columns_of(self, view: Any, chosen: Iterable[int]) -> Iterator[tuple[int, Any]]:
        """Yield the numbers of columns, and their values: what formulas make of a view."""
        for c in chosen:
            formula, arguments = self.steps[c]
            values = formula(view, *arguments)
            if self.judgements.form == "qrels_jg":
                topic = np.searchsorted(self.judgements.units, view.unit, "right")
                place = np.cumsum(np.diff(topic, prepend=topic[:1]) != 0)
                values = np.bincount(place, values) / np.bincount(place)
            yield c, values


def reads_nonrelevant(columns: Sequence[Column], protocol: Protocol) -> bool:
    """Does any value depend on which documents are judged not relevant, instead of not at all?"""
    for column in columns:
        own = column.under(protocol)
        gains = [Gains.of(own.gains)]
        if isinstance(column.measure.parameters, LevelGains):
            gains.append(column.parameter[0])
        if column.measure.nonrelevant or own.relevance_level <= 0 or own.judged_only:
            return True
        if any(level <= 0 for each in gains for level in each.named):
            return True
    return False
