"""Ranks of judged documents among scores, without ordering the others."""

import numpy as np

from trecpy.kernels._jit import compiled, inlined
from trecpy.kernels.dtypes import Integers, Reals

# Columns of a row.
RANK, LEVEL, DOCUMENT, FIRST, LAST = range(5)
ROW_SIZE = 5

NEGATIVE = -2  # level of a document that is judged below 0

# How far apart are elements that are compared, each time against the next (Ciura 2001).
_GAP_GROWTH = 2.25

_ONE = np.uint64(1)


@inlined
def _sort(rows: Integers, base: int, end: int) -> None:
    """Sort the rows base..end-1 by FIRST: Shell's sort."""
    gap = 1
    while gap < end - base:
        gap = int(gap * _GAP_GROWTH) + 1
    while gap > 0:
        for i in range(base + gap, end):
            rank, level, document = rows[RANK, i], rows[LEVEL, i], rows[DOCUMENT, i]
            first, last = rows[FIRST, i], rows[LAST, i]
            k = i
            while k - gap >= base and rows[FIRST, k - gap] > first:
                for column in range(ROW_SIZE):
                    rows[column, k] = rows[column, k - gap]
                k -= gap
            rows[RANK, k], rows[LEVEL, k], rows[DOCUMENT, k] = rank, level, document
            rows[FIRST, k], rows[LAST, k] = first, last
        gap = 0 if gap == 1 else max(1, int(gap / _GAP_GROWTH))


@inlined
def _below(scores: Reals, begin: int, end: int, wanted: float) -> int:
    """The first place of ascending scores[begin:end] that is not below a score; end where all are."""
    # Unsigned, so that no index can count from the end; and a choice without a jump, which could not be foreseen.
    low, left = np.uint64(begin), np.uint64(end - begin)
    while left > _ONE:
        half = left >> _ONE
        low = low + half if scores[low + half - _ONE] < wanted else low
        left -= half
    place = np.int64(low)
    return place + 1 if end > begin and scores[low] < wanted else place  # type: ignore[return-value]


@inlined
def _same(scores: Reals, begin: int, end: int, wanted: float) -> int:
    """How many of scores[begin:end] are equal to a score, from the first on."""
    i = begin
    while i < end and scores[i] == wanted:
        i += 1
    return i - begin


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
            low = _below(scores, begin, end, wanted)
            first, last = end - low - _same(scores, low, end, wanted) + 1, end - low
            j = judged[b] + m - judged_starts[b]
            rows[RANK, row], rows[FIRST, row], rows[LAST, row] = first, first, last
            rows[LEVEL, row], rows[DOCUMENT, row] = level[j] if level[j] >= 0 else NEGATIVE, j
            tied += last > first
            row += 1
        _sort(rows, base, row)
        row_starts[b + 1] = row
    return tied


@compiled
def place(
    scores: Reals,
    ascending: Reals,
    starts: Integers,
    column: Integers,
    level: Integers,
    document: Integers,
    at_rank: Integers,
    spare: Integers,
    rows: Integers,
    num_ret: Integers,
) -> int:
    """
    Write a row for each judged candidate of a matrix, the best rank first; return a line with a NaN in it, or -1.

    Reads
        scores: float64[Q, D]  -inf where there is no candidate
        ascending: float64[Q, D]  each line sorted, or float64[Q, 0]: ranks are counted, which is faster for a few
        starts: int64[Q+1]; column, level, document: int64[M]  judged candidates of line q are
            column[starts[q]:starts[q+1]], with their levels and numbers
    Scratch
        at_rank: int64[D+1], -1 (as given); spare: int64[4, most judged candidates of a line + 1]
    Writes
        rows: int64[ROW_SIZE, M]  of equal scores the later column is ranked first
        num_ret: int64[Q]  candidates of each line
    """
    width, ordered = scores.shape[1], ascending.shape[1] > 0
    for q in range(len(scores)):
        line = scores[q]
        padding = 0
        if ordered:
            sorted_line = ascending[q]
            if width > 0 and sorted_line[width - 1] != sorted_line[width - 1]:
                return q
            padding = _same(sorted_line, 0, width, -np.inf)
        else:
            numbers = 0
            for j in range(width):
                padding += line[j] == -np.inf
                numbers += line[j] == line[j]
            if numbers < width:
                return q
        num_ret[q] = width - padding
        begin = starts[q]
        best, worst = width, 1
        for m in range(begin, starts[q + 1]):
            at = column[m]
            wanted = line[at]
            better, same, behind = 0, 0, 0
            if ordered:
                low = _below(sorted_line, 0, width, wanted)
                same = _same(sorted_line, low, width, wanted)
                better = width - low - same
            else:
                for j in range(width):
                    better += line[j] > wanted
                    same += line[j] == wanted
            if same > 1:
                for j in range(at + 1, width):
                    behind += line[j] == wanted
            rank = better + 1 + behind
            spare[0, m - begin], spare[1, m - begin] = better + 1, better + same
            at_rank[rank] = m - begin
            best, worst = min(best, rank), max(worst, rank)
        # No two candidates have one rank, so that they are in order there. Again without a jump.
        count = 0
        for rank in range(best, worst + 1):
            spare[2, count] = at_rank[rank]
            spare[3, count] = rank
            count += at_rank[rank] >= 0
            at_rank[rank] = -1
        for i in range(starts[q + 1] - begin):
            m = spare[2, i]
            rows[RANK, begin + i], rows[LEVEL, begin + i] = spare[3, i], level[begin + m]
            rows[DOCUMENT, begin + i] = document[begin + m]
            rows[FIRST, begin + i], rows[LAST, begin + i] = spare[0, m], spare[1, m]
    return -1
