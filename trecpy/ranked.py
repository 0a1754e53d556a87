"""Rankings joined with judgements, as rows; how rows are cut, and how ties among them are resolved."""

from dataclasses import dataclass, replace

import numpy as np

from trecpy.arrays import sizes_of, spread, starts_of, starts_within
from trecpy.kernels.dtypes import Flags, Integers, Reals

ONCE: Integers = np.zeros((0, 3), np.int64)  # Ranked.repeated where no document is ranked twice


@dataclass(eq=False, repr=False)
class Ranked:
    """
    Some topics' rankings joined with the judgements: Q rankings, one for each unit of each topic.

    unit, num_ret: int64[Q]  unit of each ranking, and its documents
    row_starts: int64[Q+1]  rows of ranking q, best rank first, are row_starts[q]:row_starts[q+1]
    rank, level, document: int64[M]  of each row: rank from 1; level, -1 outside the judgements, -2 judged negative;
        number of the judged document, -1 where there is none. What has no row is outside the judgements.
    first, last: int64[M]  ranks of the first and the last document that have the row's score
    tied_pairs: int64[B]  of each topic, pairs of documents of equal score
    repeated: int64[B, 3]  of each topic, as kernels.rank has it: what is ranked twice; or [0, 3] where nothing is
    """

    unit: Integers
    num_ret: Integers
    row_starts: Integers
    rank: Integers
    level: Integers
    document: Integers
    first: Integers
    last: Integers
    tied_pairs: Integers
    repeated: Integers

    @classmethod
    def outside(cls, units: Integers, with_rows: bool) -> "Ranked":
        """A ranking for each of units: int64[Q] that holds one document outside the judgements."""
        rows = len(units) * with_rows
        one, none = np.ones(rows, np.int64), np.full(rows, -1)
        starts = np.arange(len(units) + 1) * int(with_rows)
        return cls(units, np.ones(len(units), np.int64), starts, one, none, none, one, one, np.zeros(0, np.int64), ONCE)

    @property
    def query(self) -> Integers:
        """int64[M]: the ranking of each row."""
        return np.repeat(np.arange(len(self.unit)), sizes_of(self.row_starts))

    @property
    def num_judged(self) -> Integers:
        """int64[Q]: documents ranked that have a level >= 0."""
        return sizes_of(starts_within(self.level >= 0, self.row_starts))

    def tied(self) -> Integers:
        """int64[n]: the rankings in which a document with a row has the score of another document."""
        tied = self.first < self.last
        return np.unique(self.query[tied]) if np.count_nonzero(tied) else np.zeros(0, np.int64)

    def some(self, chosen: Integers) -> "Ranked":
        """The rankings `chosen`: int64[n]; without tied_pairs and repeated, which are of topics."""
        sizes = sizes_of(self.row_starts)[chosen]
        starts, rows = starts_of(sizes), spread(self.row_starts[chosen], sizes)
        unit, num_ret, pairs = self.unit[chosen], self.num_ret[chosen], np.zeros(0, np.int64)
        return replace(
            self.in_order(rows), unit=unit, num_ret=num_ret, row_starts=starts, tied_pairs=pairs, repeated=ONCE
        )

    def cut(self, depth: int | None, judged_only: bool) -> "Ranked":
        """The first `depth` documents of each ranking, of those the ones with a level >= 0 where judged_only."""
        if depth is None and not judged_only:
            return self
        depth = 2**62 if depth is None else depth
        kept = self.rank <= depth
        if judged_only:
            kept &= self.level >= 0
        starts = starts_within(kept, self.row_starts)
        ranked = replace(self.in_order(kept), num_ret=np.minimum(self.num_ret, depth), row_starts=starts)
        if not judged_only:
            return ranked
        # What is left moves up, ties with it.
        query = ranked.query
        rank = np.arange(1, len(query) + 1) - starts[query]
        begins = np.flatnonzero(_changes(query) | _changes(ranked.first))
        sizes = np.diff(np.append(begins, len(query)))
        first, last = np.repeat(rank[begins], sizes), np.repeat(rank[begins] + sizes - 1, sizes)
        return replace(ranked, num_ret=sizes_of(starts), rank=rank, first=first, last=last)

    def resolved(self, best: bool, hit: Flags, gain: Reals) -> "Ranked":
        """
        The same with documents of equal score in the order that is best, or worst, for the ranking.

        hit: bool[M], gain: float64[M]  of each row. First stand hits and documents with a gain, by gain; then documents
        outside the judgements, those judged below 0, and those judged not relevant, which bpref counts against it.
        """
        query, upper = self.query, hit | (gain > 0)
        kind = np.where(upper, 3, np.where(self.level == -1, 2, self.level < 0)).astype(np.int64)
        sign = -1 if best else 1
        order = np.lexsort((sign * kind, sign * gain, sign * hit.astype(np.int64), self.first, query))
        query, first, last = query[order], self.first[order], self.last[order]
        begins = np.flatnonzero(_changes(query) | _changes(first))
        sizes = np.diff(np.append(begins, len(query)))
        place = np.arange(len(query)) - np.repeat(begins, sizes)
        # Documents without a row, which are outside the judgements, stand between the upper and the lower ones.
        rank = np.where(upper[order] == best, first + place, last - np.repeat(sizes, sizes) + 1 + place)
        return replace(self.in_order(order), rank=rank, first=rank, last=rank)

    def in_order(self, rows: Integers | Flags) -> "Ranked":
        """The same with some of its rows, or rows in another order."""
        return replace(
            self,
            rank=self.rank[rows],
            level=self.level[rows],
            document=self.document[rows],
            first=self.first[rows],
            last=self.last[rows],
        )


def _changes(values: Integers) -> Flags:
    """bool[M]: is the value another than the one before? True at the first."""
    changes: Flags = np.diff(values, prepend=np.iinfo(np.int64).min) != 0
    return changes
