"""Ranks of a few documents among sorted scores, without ordering the documents."""

from trecpy.kernels._jit import compiled
from trecpy.kernels.dtypes import Integers, Reals


@compiled
def locate(
    scores: Reals,
    starts: Integers,
    row_starts: Integers,
    score: Reals,
    first: Integers,
    last: Integers,
    tied_pairs: Integers,
) -> None:
    """
    Find the ranks that documents of given scores have.

    Reads
        scores: float64[N], none NaN; starts: int64[B+1]  scores[starts[b]:starts[b+1]] are topic b's, ascending
        row_starts: int64[B+1], score: float64[M]  the scores looked for in topic b are score[row_starts[b]:...]
    Writes
        first, last: int64[M]  ranks, from 1, of the first and the last document of that score
        tied_pairs: int64[B]  pairs of documents of equal score
    """
    for b in range(len(starts) - 1):
        begin, end = starts[b], starts[b + 1]
        pairs, same = 0, 0
        for i in range(begin + 1, end):
            same = same + 1 if scores[i] == scores[i - 1] else 0
            pairs += same
        tied_pairs[b] = pairs
        for m in range(row_starts[b], row_starts[b + 1]):
            wanted = score[m]
            low, high = begin, end
            while low < high:  # to the first score that is not below
                middle = (low + high) // 2
                if scores[middle] < wanted:
                    low = middle + 1
                else:
                    high = middle
            last[m] = end - low
            high = end
            while low < high:  # to the first score that is above
                middle = (low + high) // 2
                if scores[middle] <= wanted:
                    low = middle + 1
                else:
                    high = middle
            first[m] = end - low + 1
