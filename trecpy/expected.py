"""What formulas are written in where ties="expected": the same words, each its mean over all orders of ties."""

from functools import cached_property

import numpy as np

from trecpy.gains import BY_LEVEL, Gains
from trecpy.judged import EVERY, Judged, gain_of_rows
from trecpy.kernels import expected as kernel
from trecpy.kernels.dtypes import Integers, Reals
from trecpy.ranked import Ranked
from trecpy.tables import discounts


class Expected(Judged):
    """
    Rankings in which documents of equal score stand in random order.

    Only measures declared with expected=True are computed from it: they are linear in these words, so that the value of
    the means is the mean of the values.
    """

    def _arranged(self, ranked: Ranked) -> Ranked:
        """Groups stay whole where depth cuts through one: which of its documents are kept is random."""
        return ranked.cut(None, self.protocol.judged_only)

    def _walk(self) -> None:
        self.discounts = discounts(int(self.num_ret.max(initial=0)))
        self._depth = EVERY if self.protocol.depth is None else self.protocol.depth
        self.num_ret = np.minimum(self.num_ret, self._depth)
        self._by_gains: dict[Gains, Reals] = {}
        self._means(self.gains)
        self.hits = self.num_rel_ret = self.found()

    def _means(self, gains: Gains) -> None:
        shape = len(self.unit), len(self._column)
        found, self._any, self._reciprocal, self._precision_sum, dcg = np.empty((5, *shape))
        self._first_rank = np.empty(len(self.unit))
        kernel.expect(
            self.row_starts,
            self.ranked.first,
            self.ranked.last,
            self.is_hit,
            gain_of_rows(self.ranked, self.qrels.graded(gains)),
            self._depth,
            self.reading.cutoffs,
            self.discounts,
            found,
            self._any,
            self._reciprocal,
            self._precision_sum,
            dcg,
            self._first_rank,
        )
        self._found, self._by_gains[gains] = found, dcg  # type: ignore[assignment]

    def any_found(self, k: int) -> Reals:
        """float64[Q]: the probability of a hit at ranks 1..k."""
        return self._any[:, self._column[k]]

    def reciprocal_rank(self, k: int = EVERY) -> Reals:
        """float64[Q]: as Judged has it, on average."""
        return self._reciprocal[:, self._column[k]]

    @cached_property
    def first_hit_rank(self) -> Reals:
        """float64[Q]: as Judged has it, on average; infinite where depth may leave no hit."""
        return self._first_rank

    def dcg(self, k: int = EVERY, gains: Gains = BY_LEVEL) -> Reals:
        """float64[Q]: as Judged has it, on average."""
        gains = self._chosen(gains)
        if gains not in self._by_gains:
            self._means(gains)
        return self._by_gains[gains][:, self._column[k]]

    def found_at(self, rank: Integers) -> Integers:
        """float64[Q]: hits down to a rank of each ranking's own, on average."""
        first, size = self.ranked.first, self.ranked.last - self.ranked.first + 1
        within = np.clip(rank[self.query] - first + 1, 0, size) / size
        return self.sum(np.where(self.is_hit, within, 0.0))  # type: ignore[return-value]
