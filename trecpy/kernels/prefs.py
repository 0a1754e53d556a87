"""
Preferences of one topic: how many of them a ranking fulfils, group by group and pair by pair.

A preference a > b says that document a is better than document b. Documents have numbers: the retrieved ones
0..num_ret-1 in rank order, then the others. So a ranking with both fulfils a > b exactly if a < b; one with
only one of them implies that the other is worse. Preferences come in two kinds of groups:

    class group   one subgroup; each level is a class, every line of it better than every line of a lower one
    matrix group  several subgroups, each ordering its own documents; together they are closed transitively

Both kernels only count and add. Dividing, and adding up groups, is left to the caller.
"""

import numpy as np
from numpy.typing import NDArray

from trecpy.kernels._jit import allocating
from trecpy.kernels.dtypes import Integers, Reals

Counts = NDArray[np.uint16]

# Columns of `counts`. "ret": both documents retrieved; "imp": exactly one.
FUL_RET = 0
POSS_RET = 1
FUL_IMP = 2
POSS_IMP = 3
NOT_OCC = 4  # neither document retrieved
# Documents above level 0 and the others. A class group counts lines, and those below level 0 are among the
# others; a matrix group counts each document once by its last level, and those below 0 are neither.
REL = 5
REL_RET = 6
NONREL = 7
NONREL_RET = 8
# Numerators and denominators of prefs_avgjg_Rnonrel and prefs_avgjg_Rnonrel_ret, which even a group out to as
# many nonrelevant documents as relevant ones. A denominator may be 0; the reference divides all the same.
RNONREL_FUL = 9
RNONREL_POSS = 10
RNONREL_RET_FUL = 11
RNONREL_RET_POSS = 12
NUM_COLUMNS = 13

# What count() returns, and what it then leaves in `fault`.
OK = 0
TWO_CLASSES = 1  # [document, -]: it has two levels in a class group
ZERO_AND_POSITIVE = 2  # [document, -]: a matrix group gives it level 0 and a level above 0
INCONSISTENT = 3  # [a, b]: a matrix group prefers each to the other


@allocating
def count(
    group_starts: Integers,
    subgroup: Integers,
    doc: Integers,
    level: Reals,
    num_ret: int,
    num_docs: int,
    want_pairs: bool,
    tree: Integers,
    slot: Integers,
    counts: Integers,
    pair_counts: Counts,
    fault: Integers,
) -> int:
    """
    Count the preferences of every group of one topic; return OK or the first fault found.

    Reads
        group_starts: int64[G+1]  group g is lines group_starts[g]:group_starts[g+1], at least one
        subgroup: int64[L]  number of the subgroup, ascending within a group
        doc: int64[L]  number of the document; within a subgroup by level, highest first, then ascending
        level: float64[L]  how good the document is; not NaN
    Scratch (may hold anything)
        tree: int64[num_ret+1]  at least
        slot: int64[num_docs]  at least
    Writes (meaningful only if OK is returned)
        counts: int64[G, NUM_COLUMNS]  the columns above, one row a group
        pair_counts: uint16[num_docs, num_docs]  [a, b] is increased by the times a > b occurs, modulo 65536;
            all 0 on entry; not touched, and of any size, unless want_pairs
        fault: int64[2]  document numbers of the fault, if one is returned
    Nothing else is checked here: the caller made and sorted these arrays.
    """
    for d in range(num_ret + 1):
        tree[d] = 0
    for d in range(num_docs):
        slot[d] = -1
    for g in range(len(group_starts) - 1):
        lo = group_starts[g]
        hi = group_starts[g + 1]
        row = counts[g]
        if subgroup[lo] == subgroup[hi - 1]:
            code = _class_group(lo, hi, doc, level, num_ret, want_pairs, tree, slot, row, pair_counts, fault)
        else:
            code = _matrix_group(
                lo, hi, subgroup, doc, level, num_ret, num_docs, want_pairs, slot, row, pair_counts, fault
            )
        if code != OK:
            return code
        # Where nonrelevant documents are missing, Rnonrel counts as if they were there, not retrieved, and
        # every relevant one preferred to each. Where there are too many, some were left out above.
        missing = row[REL] - row[NONREL]
        if missing >= 0:
            row[RNONREL_FUL] = row[FUL_RET] + row[FUL_IMP] + row[REL_RET] * missing
            row[RNONREL_POSS] = row[POSS_RET] + row[POSS_IMP] + row[NOT_OCC] + row[REL] * missing
        missing = row[REL_RET] - row[NONREL_RET]
        if missing >= 0:
            row[RNONREL_RET_FUL] = row[FUL_RET] + row[REL_RET] * missing
            # REL, not REL_RET: as the reference does.
            row[RNONREL_RET_POSS] = row[POSS_RET] + row[REL] * missing
    return OK


@allocating
def pairs(pair_counts: Counts, num_ret: int, num_docs: int) -> tuple[float, int, float, int, int]:
    """
    Add up, over unordered pairs of documents with a preference, the part of their preferences fulfilled.

    Reads
        pair_counts: uint16[num_docs, num_docs]  as count() leaves it
    Returns sum_ret, num_pairs_ret, sum_imp, num_pairs_imp, num_pairs, for
        prefs_pair_ret  sum_ret / num_pairs_ret, pairs with both retrieved
        prefs_pair_imp  sum_imp / num_pairs_imp, pairs with at least one retrieved
        prefs_pair      sum_imp / num_pairs, all pairs: those with none retrieved have nothing fulfilled
    """
    total = 0.0
    num_pairs_ret = 0
    for i in range(num_ret):
        for j in range(i + 1, num_ret):
            # Added as int64: the sum of two counts may exceed 65535.
            both = np.int64(pair_counts[i, j]) + np.int64(pair_counts[j, i])
            if both > 0:
                total += pair_counts[i, j] / both
                num_pairs_ret += 1
    sum_ret = total
    num_pairs_imp = num_pairs_ret
    for i in range(num_ret):
        for j in range(num_ret, num_docs):
            both = np.int64(pair_counts[i, j]) + np.int64(pair_counts[j, i])
            if both > 0:
                total += pair_counts[i, j] / both
                num_pairs_imp += 1
    num_pairs = num_pairs_imp
    for i in range(num_ret, num_docs):
        for j in range(i + 1, num_docs):
            if pair_counts[i, j] > 0 or pair_counts[j, i] > 0:
                num_pairs += 1
    return sum_ret, num_pairs_ret, total, num_pairs_imp, num_pairs


@allocating
def _class_group(
    lo: int,
    hi: int,
    doc: Integers,
    level: Reals,
    num_ret: int,
    want_pairs: bool,
    tree: Integers,
    class_of: Integers,
    row: Integers,
    pair_counts: Counts,
    fault: Integers,
) -> int:
    """
    Fill one row of `counts` from lines lo:hi; RNONREL_* for too many nonrelevant documents.

    Scratch, left as found
        tree: int64[num_ret+1]  Fenwick tree of the retrieved lines above, by document number; all 0
        class_of: int64[num_docs]  first line of the document's class; all -1
    """
    for column in range(NUM_COLUMNS):
        row[column] = 0
    above = 0
    above_ret = 0
    start = lo
    last = lo
    while start < hi:
        last = start
        end = start + 1
        while end < hi and level[end] == level[start]:
            end += 1
        # Overwritten class after class: what stays is the preferences among the classes above the lowest one.
        row[RNONREL_FUL] = row[FUL_RET] + row[FUL_IMP]
        row[RNONREL_POSS] = row[POSS_RET] + row[POSS_IMP] + row[NOT_OCC]
        row[RNONREL_RET_FUL] = row[FUL_RET]
        row[RNONREL_RET_POSS] = row[POSS_RET]
        for line in range(start, end):
            b = doc[line]
            if class_of[b] >= 0 and class_of[b] != start:
                fault[0] = b
                return TWO_CLASSES
            class_of[b] = start
            if b < num_ret:
                row[FUL_RET] += _entered_below(tree, b)
                row[POSS_RET] += above_ret
                row[POSS_IMP] += above - above_ret
            else:
                row[FUL_IMP] += above_ret
                row[POSS_IMP] += above_ret
                row[NOT_OCC] += above - above_ret
        for line in range(start, end):  # only now: the lines of a class are not above each other
            if doc[line] < num_ret:
                _enter(tree, doc[line], 1, num_ret)
                above_ret += 1
        above = end - lo
        if level[start] > 0:
            row[REL] = above
            row[REL_RET] = above_ret
        if want_pairs:
            for line in range(start, end):
                for lower in range(end, hi):
                    _add_pair(pair_counts, doc[line], doc[lower])
        start = end
    row[NONREL] = above - row[REL]
    row[NONREL_RET] = above_ret - row[REL_RET]

    # Of the lowest class only as many lines count as there are relevant ones, and against every line of the
    # group, themselves included: as the reference does.
    for line in range(last, min(last + row[REL], hi)):
        if doc[line] < num_ret:
            row[RNONREL_FUL] += _entered_below(tree, doc[line])
        else:
            row[RNONREL_FUL] += above_ret
        row[RNONREL_POSS] += above
    for line in range(last, min(last + row[REL_RET], hi)):
        if doc[line] < num_ret:
            row[RNONREL_RET_FUL] += _entered_below(tree, doc[line])
            row[RNONREL_RET_POSS] += above_ret

    for line in range(lo, hi):
        class_of[doc[line]] = -1
        if doc[line] < num_ret:
            _enter(tree, doc[line], -1, num_ret)
    return OK


@allocating
def _matrix_group(
    lo: int,
    hi: int,
    subgroup: Integers,
    doc: Integers,
    level: Reals,
    num_ret: int,
    num_docs: int,
    want_pairs: bool,
    member_of: Integers,
    row: Integers,
    pair_counts: Counts,
    fault: Integers,
) -> int:
    """
    Fill one row of `counts` from lines lo:hi; RNONREL_* for too many nonrelevant documents.

    Members are the group's documents, numbered 0..size-1 in ascending document number: the matrix has the
    size of the group, not of the topic, and comparing members is comparing documents.

    Scratch, left as found
        member_of: int64[num_docs]  the document's member number; all -1
    """
    for line in range(lo, hi):
        member_of[doc[line]] = 0
    members = np.empty(hi - lo, np.int64)
    size = 0
    size_ret = 0
    for d in range(num_docs):
        if member_of[d] == 0:
            member_of[d] = size
            members[size] = d
            size += 1
            if d < num_ret:
                size_ret = size
    member_level = np.empty(size, np.float64)
    for i in range(size):
        member_level[i] = np.nan  # none seen yet: neither 0 nor above
    better = np.zeros((size, size), np.uint8)

    start = lo
    for line in range(lo, hi):
        if subgroup[line] != subgroup[start]:
            start = line
        b = member_of[doc[line]]
        if (member_level[b] > 0 and level[line] == 0) or (member_level[b] == 0 and level[line] > 0):
            fault[0] = doc[line]
            return ZERO_AND_POSITIVE
        member_level[b] = level[line]
        for above in range(start, line):
            if level[above] > level[line]:
                better[member_of[doc[above]], b] = 1
    for i in range(size):
        member_of[members[i]] = -1

    for via in range(size):
        for i in range(size):
            if better[i, via]:
                for j in range(size):
                    better[i, j] |= better[via, j]
    for i in range(size):
        better[i, i] = 0  # a document with two levels in one subgroup is not preferred to itself
    for i in range(size):
        for j in range(i + 1, size):
            if better[i, j] and better[j, i]:
                fault[0] = members[i]
                fault[1] = members[j]
                return INCONSISTENT

    for column in range(NUM_COLUMNS):
        row[column] = 0
    for i in range(size):
        if member_level[i] > 0:
            row[REL] += 1
            if i < size_ret:
                row[REL_RET] += 1
    # Rnonrel keeps as many documents of level 0 as are relevant, the first in order; `kept` is the next one.
    # REL also for the _ret variant, as the reference does.
    kept = size
    for i in range(size):
        if member_level[i] == 0:
            if row[NONREL] == row[REL]:
                kept = i
            row[NONREL] += 1
            if i < size_ret:
                row[NONREL_RET] += 1

    for i in range(size):
        for j in range(size):
            if better[i, j]:
                fulfilled = i < j and i < size_ret
                dropped = (member_level[i] == 0 and i >= kept) or (member_level[j] == 0 and j >= kept)
                if i < size_ret and j < size_ret:
                    row[FUL_RET] += fulfilled
                    row[POSS_RET] += 1
                    if not dropped:
                        row[RNONREL_RET_FUL] += fulfilled
                        row[RNONREL_RET_POSS] += 1
                elif i < size_ret or j < size_ret:
                    row[FUL_IMP] += fulfilled
                    row[POSS_IMP] += 1
                else:
                    row[NOT_OCC] += 1
                if not dropped:
                    row[RNONREL_FUL] += fulfilled
                    row[RNONREL_POSS] += 1
                if want_pairs:
                    _add_pair(pair_counts, members[i], members[j])
    return OK


@allocating
def _entered_below(tree: Integers, doc: int) -> int:
    """Return how many documents with a number below `doc` are in the Fenwick tree."""
    total = 0
    while doc > 0:
        total += tree[doc]
        doc -= doc & -doc
    return total


@allocating
def _enter(tree: Integers, doc: int, times: int, num_ret: int) -> None:
    """Put `doc` < num_ret into the Fenwick tree `times` times; -1 takes it out."""
    node = doc + 1
    while node <= num_ret:
        tree[node] += times
        node += node & -node


@allocating
def _add_pair(pair_counts: Counts, a: int, b: int) -> None:
    """Count a > b once more, modulo 65536 as the reference does."""
    pair_counts[a, b] = (np.int64(pair_counts[a, b]) + 1) & 0xFFFF
