"""
What a level is worth, and the ideal ranking that follows from it.

A topic's gain table has an entry for each pair of the parameters and for each level 0..top that no pair names, which is
worth itself. trec_eval sorts the entries by gain with a comparison that is the difference cut to a 32-bit integer, so
that gains closer than 1, or further apart than 2**31, are not ordered; its doubles come from that order, so it is kept.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from trecpy.arrays import sizes_of, spread, starts_of, starts_within
from trecpy.errors import ParameterError
from trecpy.kernels.dtypes import Flags, Integers, Reals
from trecpy.kernels.walk import running

Entry = tuple[int, float]

# Up to this level an order that is not by number is worked out entry by entry. trec_eval takes time with the square of
# the level, so that nobody has seen its order of a larger table; those are sorted by number.
_LARGEST_LISTED = 1 << 12

_INT32 = 2**31


@dataclass(frozen=True)
class Gains:
    """
    What levels are worth.

    pairs: (level, gain) in the order given; other levels are worth themselves, or 2^level - 1 where exponential
    binary: levels of at least that are worth 1, others nothing
    sort: order the ideal ranking by gain, also where trec_eval would not
    """

    pairs: tuple[Entry, ...] = ()
    exponential: bool = False
    binary: int | None = None
    sort: bool = False

    @classmethod
    def of(cls, choice: Any, least: int = 1) -> "Gains":
        """As Protocol.gains has it; least: the smallest level that is relevant."""
        if isinstance(choice, tuple):
            return cls(choice, sort=True)
        return cls(exponential=choice == "exp", binary=least if choice == "binary" else None)

    @property
    def named(self) -> frozenset[int]:
        """The levels that have a gain of their own."""
        return frozenset(level for level, _ in self.pairs)

    def worth(self, levels: Reals) -> Reals:
        """
        float64[n]: what levels >= 0 without a pair are worth.

        Raises ParameterError: an exponential gain that is infinite.
        """
        if self.binary is not None:
            return (levels >= self.binary).astype(float)
        if not self.exponential:
            return levels
        if (levels >= 1024).any():
            raise ParameterError(
                f"gains: expected levels below 1024 where gains are 2^level - 1, found {levels.max():g}"
            )
        return np.ldexp(1.0, levels.astype(np.int64)) - 1.0


BY_LEVEL = Gains()


def _compared(a: float, b: float) -> int:
    """The difference a - b cut to a 32-bit integer, as x86-64 does: the smallest where it is NaN or does not fit."""
    difference = a - b
    return int(difference) if -_INT32 - 1 < difference < _INT32 else -_INT32


def _merge_sorted(entries: list[Entry]) -> list[Entry]:
    """Sorted as a merge sort does with that comparison: halves first, the left one taken where it is not greater."""
    if len(entries) < 2:
        return entries
    left, right = _merge_sorted(entries[: len(entries) // 2]), _merge_sorted(entries[len(entries) // 2 :])
    merged: list[Entry] = []
    i = j = 0
    while i < len(left) and j < len(right):
        if _compared(left[i][1], right[j][1]) <= 0:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    return merged + left[i:] + right[j:]


@dataclass(eq=False, repr=False)
class GainTable:
    """
    The entries of topics whose largest level is `top`, -1 where none is judged.

    gain: level -> gain of a ranked document; ideal: level -> (place in order, gain) of the entry that stands for the
        judged documents. A level that is named twice is ranked by its first entry in order, judged by its first pair.
    lowest: the smallest gain of the entries that are listed, which may lack some above 0; highest: the largest
    last: the gain of the last entry; ordered: is the order by number?
    """

    gain: dict[int, float]
    ideal: dict[int, tuple[int, float]]
    lowest: float
    highest: float
    last: float
    ordered: bool

    @classmethod
    def of(cls, gains: Gains, top: int, present: Iterable[int]) -> "GainTable":
        """
        present: the levels that occur. A level 0..top that neither occurs nor is named decides nothing but the order of
        a table that is not sorted by number, and the largest gain: it is listed only where it does.
        """
        plain = all(gain.is_integer() and abs(gain) < _INT32 / 2 for _, gain in gains.pairs) and top < _INT32 / 2
        by_number = plain or gains.sort or top > _LARGEST_LISTED
        if by_number:
            largest = top
            while largest in gains.named:
                largest -= 1
            levels = {level for level in present if level >= 0} | ({largest} if largest >= 0 else set())
        else:
            levels = set(range(top + 1))
        listed = [*gains.pairs, *((level, float(level)) for level in sorted(levels - gains.named))]
        entries = list(enumerate(gain for _, gain in listed))
        entries = sorted(entries, key=lambda entry: entry[1]) if by_number else _merge_sorted(entries)
        gain_of: dict[int, float] = {}
        place_of: dict[int, int] = {}
        for place, (number, gain) in enumerate(entries):
            gain_of.setdefault(listed[number][0], gain)
            place_of[number] = place
        ideal: dict[int, tuple[int, float]] = {}
        for number, (level, gain) in enumerate(listed):
            ideal.setdefault(level, (place_of[number], gain))
        order = [gain for _, gain in entries]
        return cls(
            gain_of,
            ideal,
            min(order, default=0.0),
            max(order, default=0.0),
            order[-1] if order else 0.0,
            order == sorted(order),
        )


@dataclass(eq=False, repr=False)
class Graded:
    """
    What judged documents are worth, and the ideal ranking of each unit of judgements: best first, gains above 0 only.

    worth: what document gains are made from; outside: float64[U]  gain of any other document in a unit's ranking
    lowest, highest: float64[U]  of the unit's gain table
    gain: float64[M], starts: int64[U+1]  the ideal rankings; dcg: float64[M]  sum of gain/log2(rank+1) so far
    term: float64[U]  the gain behind the last of them, 0 where none is
    ordered: are all gain tables sorted by gain?
    """

    worth: "_Worth"
    outside: Reals
    lowest: Reals
    highest: Reals
    gain: Reals
    starts: Integers
    dcg: Reals
    term: Reals
    ordered: bool

    @cached_property
    def document(self) -> Reals:
        """float64[J]: the gain of each judged document."""
        return self.worth.documents()

    @cached_property
    def total(self) -> Reals:
        """float64[U]: the sum of each unit's ideal gains."""
        sums = np.empty(len(self.gain))
        running(self.gain, self.starts, sums)
        return _at(sums, self.starts[1:] - 1, self.starts[1:] > self.starts[:-1])

    def ideal_dcg(self, units: Integers, rank: Integers | int) -> Reals:
        """float64[Q]: the ideal DCG of units: int64[Q] at a rank, or at the last document of a shorter one; or 0."""
        at = np.minimum(rank, self.starts[units + 1] - self.starts[units])
        return _at(self.dcg, self.starts[units] + at - 1, at > 0)


def _at(values: Reals, places: Integers, where: Flags) -> Reals:
    """values[places] where that is asked for, 0 elsewhere."""
    result = np.zeros(len(places))
    result[where] = values[places[where]]
    return result


@dataclass(eq=False, repr=False)
class _Worth:
    """Judged levels: int64[J], the fractions that they stand for or None, and gains without pairs."""

    level: Integers
    grades: Reals | None
    gains: Gains

    def of(self, level: Integers) -> Reals:
        """float64[n]: what levels are worth, 0 where they are below 0."""
        if self.grades is None:
            return np.where(level >= 0, self.gains.worth(np.maximum(level, 0).astype(float)), 0.0)
        return np.where(level >= 0, np.append(self.grades, 0.0)[np.maximum(level, 0)], 0.0)

    def documents(self) -> Reals:
        """float64[J]: the gain of each judged document."""
        return self.of(self.level)

    def ideal(self, starts: Integers) -> tuple[Reals, Integers]:
        """float64[M], int64[U+1]: the gains above 0 of each unit, largest first, and where units begin."""
        nothing = 0 if self.grades is None else int(np.searchsorted(self.grades, 0.0, "right")) - 1
        if self.gains.binary is not None:
            nothing = max(self.gains.binary, 0) - 1
        chosen = self.level > nothing
        bounds = starts_within(chosen, starts)
        unit = np.repeat(np.arange(len(starts) - 1), sizes_of(bounds))
        return self.of(_descending(self.level if chosen.all() else self.level[chosen], unit)), bounds


@dataclass(eq=False, repr=False)
class _Listed(_Worth):
    """The same for gains with pairs. document: float64[J]  worked out already."""

    document: Reals

    def documents(self) -> Reals:
        """float64[J]: the gain of each judged document."""
        return self.document


def _descending(level: Integers, unit: Integers) -> Integers:
    """int64[J]: levels >= 0, the largest of each unit first. unit: int64[J], ascending."""
    largest, units = int(level.max(initial=0)), int(unit.max(initial=0)) + 1
    if (largest + 1) * units <= 2 * len(level):  # count how often each level comes
        counts = np.bincount(unit * (largest + 1) + (largest - level), minlength=units * (largest + 1))
        return np.repeat(np.tile(np.arange(largest, -1, -1), units), counts)
    bits = largest.bit_length()
    if bits + units.bit_length() > 62:
        return level[np.lexsort((-level, unit))]
    key = np.sort((unit << bits) | (largest - level))  # values alone are sorted several times as fast as places
    descending: Integers = largest - (key & ((1 << bits) - 1))
    return descending


def grade(level: Integers, grades: Reals | None, starts: Integers, gains: Gains, discounts: Reals) -> Graded:
    """
    Work out gains and ideal rankings.

    level: int64[J], starts: int64[U+1]  judged levels by unit
    grades: float64[n]  where levels stand for fractions: which
    discounts: float64[longest unit + 1]  log2(rank + 1)
    """
    worth = _Worth(level, grades, gains)
    if gains.pairs:
        return _listed(level, starts, gains, discounts)
    gain, ideal_starts = worth.ideal(starts)
    none = np.zeros(len(starts) - 1)
    highest = _at(gain, ideal_starts[:-1], ideal_starts[1:] > ideal_starts[:-1])
    dcg = _dcg(gain, ideal_starts, discounts)
    return Graded(worth, none, none, highest, gain, ideal_starts, dcg, none, ordered=True)


def _dcg(gain: Reals, starts: Integers, discounts: Reals) -> Reals:
    """float64[M]: the DCG of rankings down to each of their documents."""
    dcg = np.empty(len(gain))
    running(gain / discounts[spread(np.ones(len(starts) - 1, np.int64), sizes_of(starts))], starts, dcg)
    return dcg


def _listed(level: Integers, starts: Integers, gains: Gains, discounts: Reals) -> Graded:
    """As grade() has it, for gains with pairs."""
    top = np.full(len(starts) - 1, -1)  # the largest level of each unit
    unit = np.repeat(np.arange(len(top)), sizes_of(starts))
    np.maximum.at(top, unit, level)
    document, lowest = np.zeros(len(level)), np.zeros(len(top))
    highest, outside, empty = lowest.copy(), lowest.copy(), np.zeros(len(top), bool)
    ideal_gain, place, ordered = document.copy(), level.copy(), True
    # Units of one largest level share a table.
    by_top = np.argsort(top, kind="stable")
    lines = np.argsort(top[unit], kind="stable")
    tops, first_unit = np.unique(top[by_top], return_index=True)
    unit_bounds = np.append(first_unit, len(top))
    line_bounds = np.searchsorted(top[unit][lines], np.append(tops, np.iinfo(np.int64).max))
    line_bounds[-1] = len(lines)
    for i, largest in enumerate(tops.tolist()):
        units = by_top[unit_bounds[i] : unit_bounds[i + 1]]
        chosen = lines[line_bounds[i] : line_bounds[i + 1]]
        present, kind = np.unique(np.maximum(level[chosen], -2), return_inverse=True)
        table = GainTable.of(gains, largest, present.tolist())
        document[chosen] = np.array([table.gain.get(v if v >= 0 else -2, 0.0) for v in present.tolist()])[kind]
        ideal = [table.ideal.get(v, (-1, 0.0)) if v >= 0 else (-1, 0.0) for v in present.tolist()]
        place[chosen] = np.array([p for p, _ in ideal], np.int64)[kind]
        ideal_gain[chosen] = np.array([g for _, g in ideal])[kind]
        lowest[units], highest[units] = table.lowest, table.highest
        outside[units] = table.gain.get(-1, 0.0)
        empty[units] = table.last <= 0
        ordered = ordered and table.ordered
    judged = np.flatnonzero(level >= 0)
    lines = unit[judged]
    gain = ideal_gain[judged[np.lexsort((-place[judged], lines))]]
    # An ideal ranking ends before the first gain that is not above 0; that one is its term.
    bounds = np.searchsorted(lines, np.arange(len(top) + 1))
    stops = np.append(np.flatnonzero(gain <= 0), len(gain))
    end = np.minimum(stops[np.searchsorted(stops, bounds[:-1])], bounds[1:])
    term = _at(gain, end, end < bounds[1:])
    end = np.where(empty, bounds[:-1], end)
    gain, ideal_starts = gain[np.arange(len(gain)) < end[lines]], starts_of(end - bounds[:-1])
    dcg = _dcg(gain, ideal_starts, discounts)
    worth = _Listed(level, None, gains, document)
    return Graded(worth, outside, lowest, highest, gain, ideal_starts, dcg, term, ordered)
