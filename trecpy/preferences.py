"""What a preference measure's formula is written in: preferences counted group by group by kernels.prefs."""

from functools import cached_property
from typing import Literal

import numpy as np

from trecpy.arrays import sizes_of, starts_of
from trecpy.errors import TopicError
from trecpy.kernels import prefs as kernel
from trecpy.kernels.dtypes import Integers, Reals
from trecpy.packed import Preferences, as_stored
from trecpy.protocol import Protocol
from trecpy.ranked import Ranked
from trecpy.text import quoted

_PAIR_COLUMNS = {"ret": (0, 1), "imp": (2, 3), "all": (2, 4)}


class Preferred:
    """
    Rankings joined with preferences, one a topic.

    unit: int64[Q]; problems: ranking -> why its preferences cannot be counted (its counts are 0 then)
    fulfilled, fulfilled_ret, possible_all, possible_ret, possible_implied: int64[G]  of each group of judgements, all
        rankings' groups end to end: preferences fulfilled, and preferences that count; _ret: both documents ranked;
        _implied: at least one
    rnonrel, rnonrel_ret: (fulfilled, possible)  the same with as many nonrelevant documents as relevant ones
    """

    def __init__(self, ranked: Ranked, prefs: Preferences, protocol: Protocol) -> None:
        self._ranked, self._prefs = ranked.cut(protocol.depth, protocol.judged_only), prefs
        self._level = as_stored(prefs.line_level, protocol.compat)
        self.unit = ranked.unit
        self.problems: dict[int, TopicError] = {}
        rows = []
        for q in range(len(self.unit)):
            counts, _, problem = self._count(q, pairs=False)
            rows.append(counts)
            if problem:
                self.problems[q] = problem
        self._groups = starts_of([len(counts) for counts in rows])
        counts = np.concatenate([np.zeros((0, kernel.NUM_COLUMNS), np.int64), *rows])
        self.fulfilled_ret, self.possible_ret = counts[:, kernel.FUL_RET], counts[:, kernel.POSS_RET]
        self.fulfilled = self.fulfilled_ret + counts[:, kernel.FUL_IMP]
        self.possible_implied = self.possible_ret + counts[:, kernel.POSS_IMP]
        self.possible_all = self.possible_implied + counts[:, kernel.NOT_OCC]
        self.rnonrel = counts[:, kernel.RNONREL_FUL], counts[:, kernel.RNONREL_POSS]
        self.rnonrel_ret = counts[:, kernel.RNONREL_RET_FUL], counts[:, kernel.RNONREL_RET_POSS]

    @property
    def _query(self) -> Integers:
        """int64[G]: the ranking of each group."""
        return np.repeat(np.arange(len(self.unit)), sizes_of(self._groups))

    def total(self, counts: Integers) -> Integers:
        """int64[Q]: counts: int64[G] added up over each ranking's groups."""
        sums = starts_of(counts)
        return sums[self._groups[1:]] - sums[self._groups[:-1]]

    def group_mean(self, fulfilled: Integers, possible: Integers, guarded: bool = True) -> Reals:
        """
        float64[Q]: mean over each ranking's groups of fulfilled/possible: int64[G].

        A group with nothing possible counts 0; unguarded, it makes the topic 0, as the reference's NaN does.
        """
        shares = np.true_divide(fulfilled, possible)
        if guarded:
            shares[possible == 0] = 0.0
        total = np.bincount(self._query, shares, len(self.unit))
        return np.where(total > 0, total / sizes_of(self._groups), 0.0)

    def pair_mean(self, which: Literal["all", "ret", "imp"]) -> Reals:
        """float64[Q]: mean over pairs of documents of the share of the pair's preferences that is fulfilled."""
        part, whole = _PAIR_COLUMNS[which]
        sums = self._pair_sums
        return np.divide(sums[:, part], sums[:, whole], out=np.zeros(len(sums)), where=sums[:, whole] > 0)

    @cached_property
    def _pair_sums(self) -> Reals:
        """float64[Q, 5]: what kernels.prefs.pairs() gives. Takes memory with the square of a topic's documents."""
        sums = np.zeros((len(self.unit), 5))
        for q in range(len(self.unit)):
            if q not in self.problems:
                _, pair_counts, _ = self._count(q, pairs=True)
                sums[q] = kernel.pairs(pair_counts, self._num_ret(q), len(pair_counts))
        return sums

    def _num_ret(self, q: int) -> int:
        return int(self._ranked.row_starts[q + 1] - self._ranked.row_starts[q])

    def _count(self, q: int, pairs: bool) -> tuple[Integers, kernel.Counts, TopicError | None]:
        """Count one topic's preferences by group, and by pair where that is asked for."""
        ranked, prefs, unit = self._ranked, self._prefs, int(self.unit[q])
        first, after = prefs.documents.starts[unit : unit + 2]
        retrieved = ranked.document[ranked.row_starts[q] : ranked.row_starts[q + 1]] - first
        rest = np.ones(after - first, bool)
        rest[retrieved] = False
        names = np.concatenate((retrieved, np.flatnonzero(rest)))  # document of each number
        number = np.empty(len(names), np.int64)
        number[names] = np.arange(len(names))
        lines = slice(*prefs.lines[unit : unit + 2])
        group, subgroup, level = prefs.group[lines], prefs.subgroup[lines], self._level[lines]
        doc = number[prefs.document[lines] - first]
        order = np.lexsort((doc, -level, subgroup, group))
        group = group[order]
        starts = np.concatenate(([0], np.flatnonzero(np.diff(group)) + 1, [len(group)]))
        counts = np.zeros((len(starts) - 1, kernel.NUM_COLUMNS), np.int64)
        pair_counts = np.zeros((len(names), len(names)) if pairs else (0, 0), np.uint16)
        fault = np.zeros(2, np.int64)
        code = kernel.count(
            starts, subgroup[order], doc[order], level[order], len(retrieved), len(names), pairs,
            np.empty(len(retrieved) + 1, np.int64), np.empty(len(names), np.int64), counts, pair_counts, fault,
        )  # fmt: skip
        if code == kernel.OK:
            return counts, pair_counts, None
        a, b = (quoted(prefs.documents.docno(int(first + names[document]))) for document in fault)
        said = {
            kernel.TWO_CLASSES: f"expected one level for a document in a group, found two for {a}",
            kernel.ZERO_AND_POSITIVE: f"expected level 0 or levels above for a document in a group, found both for {a}",
            kernel.INCONSISTENT: f"expected preferences without a circle, found {a} preferred to {b} and {b} to {a}",
        }
        topic = quoted(prefs.topics[unit])
        return np.zeros_like(counts), pair_counts, TopicError(f"{prefs.name}: topic {topic}: {said[code]}")
