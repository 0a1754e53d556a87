"""Ranks of judged documents among scores, without ordering the others."""

import numpy as np

from trecpy.kernels._jit import compiled, inlined
from trecpy.kernels.dtypes import Integers, Reals, Words

# Columns of a row.
RANK, LEVEL, DOCUMENT, FIRST, LAST = range(5)
ROW_SIZE = 5

NEGATIVE = -2  # level of a document that is judged below 0

# How far apart are elements that are compared, each time against the next (Ciura 2001).
_GAP_GROWTH = 2.25

_NOTHING, _ONE, _SIGN = np.uint64(0), np.uint64(1), np.uint64(1 << 63)


@inlined
def _sort(rows: Integers, base: int, end: int, by: int) -> None:
    """Sort the rows base..end-1 by one of their columns: Shell's sort."""
    gap = 1
    while gap < end - base:
        gap = int(gap * _GAP_GROWTH) + 1
    while gap > 0:
        for i in range(base + gap, end):
            rank, level, document = rows[RANK, i], rows[LEVEL, i], rows[DOCUMENT, i]
            first, last, key = rows[FIRST, i], rows[LAST, i], rows[by, i]
            k = i
            while k - gap >= base and rows[by, k - gap] > key:
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


@inlined
def _column_bits(width: int) -> np.uint64:
    """The bits that hold a column's number, all set."""
    low = _NOTHING
    while low + _ONE < np.uint64(width):
        low = low + low + _ONE
    return low


@inlined
def _settle(line: Reals, keys: Words, begin: int, end: int, low: np.uint64) -> None:
    """Sort keys[begin:end] by score, and equal scores by column: Shell's sort, again."""
    gap = 1
    while gap < end - begin:
        gap = int(gap * _GAP_GROWTH) + 1
    while gap > 0:
        for i in range(begin + gap, end):
            key = keys[i]
            score, k = line[np.int64(key & low)], i
            while k - gap >= begin:
                other = line[np.int64(keys[k - gap] & low)]
                if other < score or (other == score and (keys[k - gap] & low) < (key & low)):
                    break
                keys[k] = keys[k - gap]
                k -= gap
            keys[k] = key
        gap = 0 if gap == 1 else max(1, int(gap / _GAP_GROWTH))


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
        _sort(rows, base, row, FIRST)
        row_starts[b + 1] = row
    return tied


@compiled
def count(
    scores: Reals,
    starts: Integers,
    column: Integers,
    level: Integers,
    document: Integers,
    rows: Integers,
    num_ret: Integers,
) -> int:
    """
    Write a row for each judged candidate of a matrix, the best rank first; return a line with a NaN in it, or -1.

    Ranks are counted, which is faster than to sort a line for a few candidates in it.

    Reads
        scores: float64[Q, D]  -inf where there is no candidate
        starts: int64[Q+1]; column, level, document: int64[M]  judged candidates of line q are
            column[starts[q]:starts[q+1]], with their levels and numbers
    Writes
        rows: int64[ROW_SIZE, M]  of equal scores the later column is ranked first
        num_ret: int64[Q]  candidates of each line
    """
    width = scores.shape[1]
    for q in range(len(scores)):
        line = scores[q]
        padding, numbers = 0, 0
        for j in range(width):
            padding += line[j] == -np.inf
            numbers += line[j] == line[j]
        if numbers < width:
            return q
        num_ret[q] = width - padding
        for m in range(starts[q], starts[q + 1]):
            at = column[m]
            wanted = line[at]
            better, same, behind = 0, 0, 0
            for j in range(width):
                better += line[j] > wanted
                same += line[j] == wanted
            if same > 1:
                for j in range(at + 1, width):
                    behind += line[j] == wanted
            rows[RANK, m], rows[LEVEL, m], rows[DOCUMENT, m] = better + 1 + behind, level[m], document[m]
            rows[FIRST, m], rows[LAST, m] = better + 1, better + same
        _sort(rows, starts[q], starts[q + 1], RANK)
    return -1


@compiled
def make_keys(scores: Reals, bits: Words, keys: Words, num_ret: Integers) -> int:
    """
    Make integers that sort nearly as scores do and say which column they are of; return a line with a NaN in it, or -1.

    Reads
        scores, bits: float64[Q, D] and the same memory as uint64[Q, D]  -inf where there is no candidate
    Writes
        keys: uint64[Q, D]  the upper bits grow with the score; the lower ones, as many as it takes, are the column
        num_ret: int64[Q]  candidates of each line
    """
    width = scores.shape[1]
    low = _column_bits(width)
    for q in range(len(scores)):
        line, bits_of, key_of = scores[q], bits[q], keys[q]
        padding, numbers = 0, 0
        for j in range(width):
            padding += line[j] == -np.inf
            numbers += line[j] == line[j]
            word = _NOTHING if bits_of[j] == _SIGN else bits_of[j]  # -0.0 is 0.0
            grown = ~word if word >= _SIGN else word | _SIGN
            key_of[j] = (grown & ~low) | np.uint64(j)
        if numbers < width:
            return q
        num_ret[q] = width - padding
    return -1


@compiled
def read_keys(
    scores: Reals,
    keys: Words,
    starts: Integers,
    column: Integers,
    level: Integers,
    document: Integers,
    number: Integers,
    place: Integers,
    rows: Integers,
    num_ret: Integers,
) -> None:
    """
    Write what count() writes, from sorted keys.

    keys: uint64[Q, D]  as make_keys() makes them, each line ascending; where scores differ in the lower bits alone they
        are put in order here
    number: int64[D], -1 (as given), place: int64[D + 1]  scratch
    """
    width = scores.shape[1]
    low = _column_bits(width)
    for q in range(len(scores)):
        line, key_of = scores[q], keys[q]
        bottom = width - num_ret[q]
        near = 0
        for i in range(bottom + 1, width):
            near += (key_of[i] ^ key_of[i - 1]) <= low
        end = width
        while near > 0 and end > bottom:
            begin = end - 1
            while begin > bottom and (key_of[begin] ^ key_of[begin - 1]) <= low:
                begin -= 1
            _settle(line, key_of, begin, end, low)
            end = begin
        base, row = starts[q], starts[q]
        for m in range(base, starts[q + 1]):
            number[column[m]] = m
        # Which places hold judged candidates, without a jump, which could not be foreseen.
        for i in range(width - 1, bottom - 1, -1):
            place[row - base] = i
            row += number[np.int64(key_of[i] & low)] >= 0
        first, last, tied = 0, 0, np.nan
        for row in range(base, starts[q + 1]):
            i = place[row - base]
            at = np.int64(key_of[i] & low)
            if line[at] != tied:
                first = last = width - i
                if near > 0:
                    tied, above, below = line[at], i + 1, i - 1
                    while above < width and line[np.int64(key_of[above] & low)] == tied:
                        above += 1
                    while below >= bottom and line[np.int64(key_of[below] & low)] == tied:
                        below -= 1
                    first, last = width - above + 1, width - below - 1
            m = number[at]
            rows[RANK, row], rows[LEVEL, row], rows[DOCUMENT, row] = width - i, level[m], document[m]
            rows[FIRST, row], rows[LAST, row] = first, last
            number[at] = -1
