"""Expectations over all orders of documents of equal score, in closed form."""

import numpy as np

from trecpy.kernels._jit import compiled
from trecpy.kernels.dtypes import Flags, Integers, Reals


@compiled
def expect(
    row_starts: Integers,
    first: Integers,
    last: Integers,
    hit: Flags,
    gain: Reals,
    depth: int,
    cutoffs: Integers,
    discounts: Reals,
    found: Reals,
    any_found: Reals,
    reciprocal: Reals,
    precision_sum: Reals,
    dcg: Reals,
    first_rank: Reals,
) -> None:
    """
    Go down each ranking, one group of documents of equal score after the other, each group in random order.

    Of n such documents, m of them hits, with r hits above them, the i-th one is a hit with probability m/n, and then
    has r + 1 + (i-1)(m-1)/(n-1) hits at or above its rank on average (McSherry & Najork 2008).

    Reads
        row_starts: int64[Q+1]; first, last: int64[M]  ranks of the first and last document of each row's score; hit:
            bool[M], gain: float64[M]  of each row; rows of equal score together. Documents without a row have neither.
        depth: ranks behind it do not count; cutoffs: int64[K], ascending
        discounts: float64[largest last + 1]  log2(rank + 1)
    Writes the expectation of
        found: float64[Q, K]  hits at ranks 1..cutoff; any_found: float64[Q, K]  1 where there is one
        reciprocal: float64[Q, K]  1/rank of the first hit down to the cutoff
        precision_sum: float64[Q, K]  sum of hits/rank over the hits; dcg: float64[Q, K]  sum of gain/discount
        first_rank: float64[Q]  rank of the first hit; infinite where there may be none
    """
    last_cutoff = len(cutoffs)
    for q in range(len(row_starts) - 1):
        hits, precision, gained, inverse, first_hit = 0.0, 0.0, 0.0, 0.0, 0.0
        none = 1.0  # probability that there is no hit so far
        above = 0
        k = 0
        row = row_starts[q]
        while row < row_starts[q + 1] and first[row] <= depth:
            begin, end = first[row], last[row]
            size = end - begin + 1
            members, worth = 0, 0.0
            while row < row_starts[q + 1] and first[row] == begin:
                members += hit[row]
                worth += gain[row]
                row += 1
            if members == 0 and worth == 0.0:
                continue
            share, mean = members / size, worth / size
            together = (members - 1) / (size - 1) if size > 1 else 0.0
            for rank in range(begin, min(end, depth) + 1):
                while k < last_cutoff and cutoffs[k] < rank:
                    found[q, k], any_found[q, k], reciprocal[q, k] = hits, 1.0 - none, inverse
                    precision_sum[q, k], dcg[q, k] = precision, gained
                    k += 1
                passed = rank - begin
                precision += share * ((above + 1 + passed * together) / rank)
                gained += mean / discounts[rank]
                hits = above + members * ((passed + 1) / size)
                if none > 0.0 and members > 0:
                    left = size - passed
                    if members < left:
                        now = none * (members / left)
                        none *= (left - members) / left
                    else:
                        now, none = none, 0.0
                    inverse += now / rank
                    first_hit += now * rank
            above += members
        while k < last_cutoff:
            found[q, k], any_found[q, k], reciprocal[q, k] = hits, 1.0 - none, inverse
            precision_sum[q, k], dcg[q, k] = precision, gained
            k += 1
        first_rank[q] = np.inf if none > 0.0 else first_hit
