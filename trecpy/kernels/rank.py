"""Records of a run to rows of judged documents: order, ties, duplicates, the lookup in the judgements."""

import numpy as np

from trecpy.kernels._jit import compiled, inlined
from trecpy.kernels.dtypes import Bytes, Int32s, Integers, Reals, Words
from trecpy.kernels.strings import same

# What a ranked document's level is where the qrels give it none that counts.
OUTSIDE, NEGATIVE = -1, -2

# What a row holds.
RANK, LEVEL, DOCUMENT, FIRST, LAST = range(5)
ROW_SIZE = 5

# How documents of equal score are ordered: by docno, byte by byte, the larger or the smaller first, or as they came.
LARGER_FIRST, SMALLER_FIRST, AS_GIVEN = 1, -1, 0

# What is done with a document that is ranked twice: it is said, one of the two is dropped, or both stay.
REPORT, KEEP_FIRST, KEEP_LAST, KEEP_LARGEST, KEEP_ALL = range(5)

_ONE, _BYTE, _SIGN = np.uint64(1), np.uint64(255), np.uint64(1 << 63)


def table_size(count: int) -> int:
    """Slots of a hash table for `count` keys: a power of two, at most half full, and nearly empty for a few keys."""
    return 1 << max(4, (2 * count - 1).bit_length())


def table_starts(counts: Integers) -> Integers:
    """
    Where the table of each group begins when the tables of many groups lie end to end.

    counts: int64[U] keys of each group. Returns int64[U+1]; each length is table_size() of the count.
    """
    bits = np.frexp(np.maximum(2 * counts - 1, 15))[1].astype(np.int64)  # as int.bit_length()
    return np.concatenate(([0], np.cumsum(1 << bits)))


@inlined
def _compare(a: Bytes, at: int, size: int, b: Bytes, start: int, length: int) -> int:
    """Below, equal to or above 0 as a[at:at+size] sorts before, with or behind b[start:start+length], as C's strcmp."""
    for i in range(min(size, length)):
        if a[at + i] != b[start + i]:
            return 1 if a[at + i] > b[start + i] else -1
    return size - length


@inlined
def _alike(a: Bytes, spans: Integers, i: int | np.int64, b: Bytes, others: Integers, j: int | np.int64) -> bool:
    """Are docno i of one and docno j of the other the same?"""
    return spans[i, 1] == others[j, 1] and same(a, spans[i, 0], b, others[j, 0], spans[i, 1])


@compiled
def index(
    data: Bytes,
    spans: Integers,
    hashes: Words,
    starts: Integers,
    table: Integers,
    slots: Int32s,
    repeated: Integers,
) -> None:
    """
    Make the table by which rank() finds a document in its topic's judgements.

    Reads
        data: uint8[]; spans: int64[N, 2]  place and size of each docno in data; hashes: uint64[N]
        starts: int64[U+1]  judgements of unit u are starts[u]:starts[u+1]
        table: int64[U+1]  slots of unit u are table[u]:table[u+1], from table_starts()
    Writes
        slots: int32[table[U]]  number of a judgement, -1 where free (as given)
        repeated: int64[U, 2]  the first two judgements of the document that the unit judges twice (the first such
            document in byte order), -1 where there is none (as given)
    """
    for u in range(len(starts) - 1):
        base = table[u]
        mask = np.uint64(table[u + 1] - base - 1)
        for j in range(starts[u], starts[u + 1]):
            slot = hashes[j] & mask
            while slots[base + np.int64(slot)] >= 0:
                k = np.int64(slots[base + np.int64(slot)])
                if hashes[k] == hashes[j] and _alike(data, spans, k, data, spans, j):
                    r = repeated[u, 0]
                    if r < 0 or _compare(data, spans[j, 0], spans[j, 1], data, spans[r, 0], spans[r, 1]) < 0:
                        repeated[u, 0], repeated[u, 1] = k, j
                    break
                slot = (slot + _ONE) & mask
            if slots[base + np.int64(slot)] < 0:
                slots[base + np.int64(slot)] = j


@inlined
def _tied_before(a: int, b: int, data: Bytes, spans: Integers, ties: int) -> bool:
    """Is record a ranked before record b, or with it, where their scores are equal?"""
    return ties * _compare(data, spans[a, 0], spans[a, 1], data, spans[b, 0], spans[b, 1]) >= 0


@inlined
def _insert(order: Integers, n: int, data: Bytes, spans: Integers, scores: Reals, ties: int) -> bool:
    """
    Sort order[:n] by insertion, unless that takes more than a few moves for each; then it is left half done.

    Scores are compared in place and only equal ones by a helper: numba counts references to each array that a helper
    takes, which costs 50 ns a call.
    """
    moves = 8 * n
    for placed in range(1, n):
        record = order[placed]
        score = scores[record]
        i = placed
        while i > 0:
            above = order[i - 1]
            if scores[above] > score or (scores[above] == score and _tied_before(above, record, data, spans, ties)):
                break
            order[i] = above
            i -= 1
            moves -= 1
        order[i] = record
        if moves < 0:
            return False
    return True


@compiled
def _sort_roughly(order: Integers, n: int, bits: Words, spare: Integers, counts: Integers) -> None:
    """
    Sort order[:n] by the upper half of the scores' bits, largest first, without comparisons: 4 passes of 8 bits.

    bits: uint64[N]  the scores' memory; spare: int64[n], counts: int64[257]  scratch
    """
    source, target = order, spare
    for shift in (32, 40, 48, 56):
        for j in range(257):
            counts[j] = 0
        for i in range(n):
            counts[_descending(bits[source[i]], shift) + 1] += 1
        for j in range(256):
            counts[j + 1] += counts[j]
        for i in range(n):
            digit = _descending(bits[source[i]], shift)
            target[counts[digit]] = source[i]
            counts[digit] += 1
        source, target = target, source


@inlined
def _descending(bits: np.uint64, shift: int) -> int:
    """8 bits, from `shift` on, of an integer that grows as the double with these bits falls."""
    key = bits if bits >= _SIGN else ~bits ^ _SIGN
    return int((key >> np.uint64(shift)) & _BYTE)


@compiled
def _sort(
    begin: int,
    end: int,
    data: Bytes,
    spans: Integers,
    scores: Reals,
    bits: Words,
    ties: int,
    order: Integers,
    spare: Integers,
    starts: Integers,
    counts: Integers,
) -> None:
    """
    Put the records begin..end-1 in rank order into order[:end-begin].

    Runs come sorted nearly always, but for the docnos of equal scores: insertion is linear then. Others are sorted
    roughly first, which is linear too, and only where that does not do (many equal scores) what is in order is merged.
    spare, starts: int64[end - begin + 1], counts: int64[257]  scratch
    """
    n = end - begin
    for i in range(n):
        order[i] = begin + i
    if _insert(order, n, data, spans, scores, ties):
        return
    if ties == AS_GIVEN:
        for i in range(n):  # equal scores must stand as they came
            order[i] = begin + i
    _sort_roughly(order, n, bits, spare, counts)
    if _insert(order, n, data, spans, scores, ties):
        return
    runs = 0
    for i in range(n):
        above, score = order[max(i - 1, 0)], scores[order[i]]
        if i > 0 and (
            scores[above] > score or (scores[above] == score and _tied_before(above, order[i], data, spans, ties))
        ):
            continue
        starts[runs] = i
        runs += 1
    starts[runs] = n
    while runs > 1:
        kept = 0
        for r in range(0, runs, 2):
            low, middle = starts[r], starts[r + 1]
            high = starts[r + 2] if r + 1 < runs else middle
            i, j = low, middle
            for out in range(low, high):
                left = j >= high
                if i < middle and not left:
                    a, b = order[i], order[j]
                    left = scores[a] > scores[b] or (scores[a] == scores[b] and _tied_before(a, b, data, spans, ties))
                spare[out] = order[i] if left else order[j]
                i += left
                j += not left
            starts[kept] = low
            kept += 1
        starts[kept] = n
        for i in range(n):
            order[i] = spare[i]
        runs = kept


@compiled
def _find_repeated(
    begin: int,
    end: int,
    depth: int,
    duplicates: int,
    data: Bytes,
    spans: Integers,
    hashes: Words,
    order: Integers,
    place: Integers,
    seen: Int32s,
    repeated: Integers,
) -> int:
    """
    Look for documents that are ranked twice, as rank() says; return how many documents are left.

    order[:end-begin] is the ranking of records begin.., which dropped ones leave; place: int64[end - begin]  scratch
    """
    size = 2
    while size < 4 * (end - begin):
        size *= 2
    mask = np.uint64(size - 1)
    for j in range(size):
        seen[j] = -1
    repeated[0], repeated[1], repeated[2] = -1, -1, 0
    dropped, kept = 0, 0
    for i in range(end - begin):
        r = order[i]
        place[r - begin] = i
        slot = hashes[r] & mask
        while seen[slot] >= 0:
            s = begin + np.int64(seen[slot])
            if hashes[s] == hashes[r] and _alike(data, spans, s, data, spans, r):
                if duplicates == KEEP_ALL:
                    kept += 1
                elif duplicates == REPORT:
                    first = repeated[0]
                    hidden = i >= depth
                    if first < 0 or (
                        hidden == (repeated[2] == 1)
                        and _compare(data, spans[r, 0], spans[r, 1], data, spans[first, 0], spans[first, 1]) < 0
                    ):
                        repeated[0], repeated[1], repeated[2] = s, r, hidden
                elif (duplicates == KEEP_FIRST and r < s) or (duplicates == KEEP_LAST and r > s):
                    order[place[s - begin]] = -1
                    seen[slot] = r - begin
                    dropped += 1
                else:
                    order[i] = -1
                    dropped += 1
                break
            slot = (slot + _ONE) & mask
        if seen[slot] < 0:
            seen[slot] = r - begin
    if dropped > 0:
        left = 0
        for i in range(end - begin):
            if order[i] >= 0:
                order[left] = order[i]
                left += 1
    if dropped + kept > 0:
        repeated[2] = dropped + kept
    return end - begin - dropped


@compiled
def rank(
    data: Bytes,
    spans: Integers,
    hashes: Words,
    scores: Reals,
    bits: Words,
    starts: Integers,
    units: Integers,
    judged_data: Bytes,
    judged_spans: Integers,
    judged_hashes: Words,
    judged_level: Integers,
    table: Integers,
    slots: Int32s,
    ties: int,
    duplicates: int,
    depth: int,
    every: bool,
    order: Integers,
    spare: Integers,
    runs: Integers,
    counts: Integers,
    seen: Int32s,
    num_ret: Integers,
    row_starts: Integers,
    rows: Integers,
    tied_pairs: Integers,
    repeated: Integers,
) -> None:
    """
    Rank each topic of a block, and write a row for each document that the topic's judgements name, best rank first.

    Reads
        data: uint8[]; spans: int64[N, >=2]; hashes: uint64[N]; scores, bits: float64[N] and the same memory
            as uint64[N]  the run's records, topics together
        starts: int64[B+1]  records of topic b are starts[b]:starts[b+1]
        units: int64[B, 2]  first and last + 1 of the topic's units; a unit is one topic of the qrels, or one group
        judged_*, table, slots  as index() has them; judged_level: int64[J]
        ties: LARGER_FIRST, SMALLER_FIRST or AS_GIVEN; duplicates: one of the above
        depth: a document that is ranked for the second time behind it is not missed; rankings are not cut here
        every: bool  a row for every document
    Scratch
        order, spare, runs: int64[longest topic + 1]; counts: int64[257]; seen: int32[table_size(2 * longest topic)]
    Writes, for Q rankings, one of each unit of each topic
        num_ret: int64[Q]  documents ranked; row_starts: int64[Q+1]  rows of ranking q, the first 0 (as given)
        rows: int64[ROW_SIZE, >=M]  of each row: RANK from 1; LEVEL, or OUTSIDE or NEGATIVE; DOCUMENT, the number of the
            judged one, or -1; FIRST and LAST rank of the documents that have its score
        tied_pairs: int64[B]  pairs of documents of equal score
        repeated: int64[B, 3]  two records of the document that is ranked twice (the first in byte order) or -1, and
            whether it is only ranked twice behind depth; where duplicates are dropped or kept -1, -1, how many
    Nothing is checked here.
    """
    row = 0
    q = 0
    for b in range(len(starts) - 1):
        begin, end = starts[b], starts[b + 1]
        _sort(begin, end, data, spans, scores, bits, ties, order, spare, runs, counts)
        left = _find_repeated(begin, end, depth, duplicates, data, spans, hashes, order, spare, seen, repeated[b])
        # From here on `spare` and `runs` hold the first and the last rank of each place's ties.
        pairs = 0
        i = 0
        while i < left:
            after = i + 1
            while after < left and scores[order[after]] == scores[order[i]]:
                after += 1
            pairs += (after - i) * (after - i - 1) // 2
            for j in range(i, after):
                spare[j], runs[j] = i + 1, after
            i = after
        tied_pairs[b] = pairs
        for u in range(units[b, 0], units[b, 1]):
            base = table[u]
            mask = np.uint64(table[u + 1] - base - 1)
            for i in range(left):
                r = order[i]
                slot = hashes[r] & mask
                found = np.int64(slots[base + np.int64(slot)])
                while found >= 0:
                    if judged_hashes[found] == hashes[r] and _alike(judged_data, judged_spans, found, data, spans, r):
                        break
                    slot = (slot + _ONE) & mask
                    found = np.int64(slots[base + np.int64(slot)])
                if found >= 0 or every:
                    level = OUTSIDE
                    if found >= 0:
                        level = judged_level[found] if judged_level[found] >= 0 else NEGATIVE
                    rows[RANK, row], rows[LEVEL, row], rows[DOCUMENT, row] = i + 1, level, found
                    rows[FIRST, row], rows[LAST, row] = spare[i], runs[i]
                    row += 1
            num_ret[q] = left
            row_starts[q + 1] = row
            q += 1
