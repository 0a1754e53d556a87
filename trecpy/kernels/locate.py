"""Ranks of a few documents among sorted scores, without ordering the others."""

from trecpy.kernels._jit import compiled
from trecpy.kernels.dtypes import Integers, Reals

# Columns of a row.
RANK, LEVEL, DOCUMENT, FIRST, LAST = range(5)
ROW_SIZE = 5

NEGATIVE = -2  # level of a document that is judged below 0

# How far apart elements are that are compared, the largest step first (Ciura 2001); one further below 3 times as far.
_GAP_GROWTH = 2.25


@compiled
def locate(
    scores: Reals,
    starts: Integers,
    judged: Integers,
    judged_starts: Integers,
    score: Reals,
    level: Integers,
    row_starts: Integers,
    rows: Integers,
    tied_pairs: Integers,
) -> int:
    """
    Write a row for each judged document that is ranked, the best rank first; return how many of them are tied.

    Reads
        scores: float64[N]; starts: int64[B+1]  scores[starts[b]:starts[b+1]] are topic b's, ascending, none NaN
        judged: int64[B], judged_starts: int64[B+1], score: float64[]  topic b has judged documents from number
            judged[b] on, whose scores are score[judged_starts[b]:judged_starts[b+1]], NaN where one is not ranked
        level: int64[J]  of each judged document
    Writes
        row_starts: int64[B+1], the first 0 (as given); rows: int64[ROW_SIZE, >=M]  RANK is FIRST, and rows of equal
            score are in no order; LEVEL
            is NEGATIVE where it is below 0
        tied_pairs: int64[B]  pairs of documents of equal score
    """
    row, tied = 0, 0
    for b in range(len(starts) - 1):
        begin, end = starts[b], starts[b + 1]
        pairs, same = 0, 0
        for i in range(begin + 1, end):
            same = same + 1 if scores[i] == scores[i - 1] else 0
            pairs += same
        tied_pairs[b] = pairs
        base = row
        for m in range(judged_starts[b], judged_starts[b + 1]):
            wanted = score[m]
            if wanted != wanted:
                continue
            low, high = begin, end
            while low < high:  # to the first score that is not below
                middle = (low + high) // 2
                if scores[middle] < wanted:
                    low = middle + 1
                else:
                    high = middle
            last = end - low
            high = end
            while low < high:  # to the first score that is above
                middle = (low + high) // 2
                if scores[middle] <= wanted:
                    low = middle + 1
                else:
                    high = middle
            j = judged[b] + m - judged_starts[b]
            rows[FIRST, row], rows[LAST, row] = end - low + 1, last
            rows[LEVEL, row], rows[DOCUMENT, row] = level[j] if level[j] >= 0 else NEGATIVE, j
            tied += last > end - low + 1
            row += 1
        gap = 1
        while gap < row - base:
            gap = int(gap * _GAP_GROWTH) + 1
        while gap > 0:  # Shell's sort, by FIRST
            for i in range(base + gap, row):
                first, last = rows[FIRST, i], rows[LAST, i]
                its_level, document = rows[LEVEL, i], rows[DOCUMENT, i]
                k = i
                while k - gap >= base and rows[FIRST, k - gap] > first:
                    for column in range(1, ROW_SIZE):
                        rows[column, k] = rows[column, k - gap]
                    k -= gap
                rows[FIRST, k], rows[LAST, k], rows[LEVEL, k], rows[DOCUMENT, k] = first, last, its_level, document
            gap = 0 if gap == 1 else max(1, int(gap / _GAP_GROWTH))
        for i in range(base, row):
            rows[RANK, i] = rows[FIRST, i]
        row_starts[b + 1] = row
    return tied
