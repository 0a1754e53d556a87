"""
kernels/prefs.py against pictures worked out by hand, and against its definitions written with lists of pairs.

A picture is a ranking and some groups: `count_picture("ba", "a2 b1 | b1 c0")` is a topic that retrieves b,
then a, and has one matrix group of two subgroups, both of which give b level 1. Documents are letters; those
that are not in the ranking are numbered after it, in alphabetical order.
"""

from collections import Counter
from itertools import combinations, groupby
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from trecpy.kernels import prefs


class Line(NamedTuple):
    subgroup: int
    doc: int
    level: float


class Counted(NamedTuple):
    code: int
    fault: list
    rows: list
    pair_counts: np.ndarray

    def columns(self, names, group=0):
        return [self.rows[group][getattr(prefs, name)] for name in names.split()]


def in_order(lines):
    return sorted(lines, key=lambda line: (line.subgroup, -line.level, line.doc))


def count_lines(groups, num_ret, num_docs, want_pairs=True):
    """Run count() on groups of Lines. Everything it only writes or may use as scratch starts as rubbish."""
    lines = [line for group in groups for line in in_order(group)]
    starts = np.cumsum([0] + [len(group) for group in groups])
    counts = np.full((len(groups), prefs.NUM_COLUMNS), -9, np.int64)
    pair_counts = np.zeros((num_docs, num_docs) if want_pairs else (0, 0), np.uint16)
    fault = np.full(2, -9, np.int64)
    code = prefs.count(
        starts.astype(np.int64),
        np.array([line.subgroup for line in lines], np.int64),
        np.array([line.doc for line in lines], np.int64),
        np.array([line.level for line in lines], np.float64),
        num_ret,
        num_docs,
        want_pairs,
        np.full(num_ret + 1, 7, np.int64),
        np.full(num_docs, 7, np.int64),
        counts,
        pair_counts,
        fault,
    )
    return Counted(code, fault.tolist(), counts.tolist(), pair_counts)


def count_picture(ranking, *groups):
    letters = {token[0] for group in groups for token in group.replace("|", " ").split()}
    number = {letter: d for d, letter in enumerate(list(ranking) + sorted(letters - set(ranking)))}
    return count_lines(
        [
            [
                Line(s, number[token[0]], float(token[1:]))
                for s, subgroup in enumerate(group.split("|"))
                for token in subgroup.split()
            ]
            for group in groups
        ],
        len(ranking),
        len(number),
    )


COUNTS = "FUL_RET POSS_RET FUL_IMP POSS_IMP NOT_OCC"
RELEVANT = "REL REL_RET NONREL NONREL_RET"
RNONREL = "RNONREL_FUL RNONREL_POSS"
RNONREL_RET = "RNONREL_RET_FUL RNONREL_RET_POSS"


# --- class groups -------------------------------------------------------------------------------------------


def test_class_group():
    # a > b failed, a > c fulfilled; a > d implied and fulfilled.
    counted = count_picture("bac", "a1 b0 c0 d0")
    assert counted.code == prefs.OK
    assert counted.columns(COUNTS) == [1, 2, 1, 1, 0]
    assert counted.columns(RELEVANT) == [1, 1, 3, 2]


def test_class_group_with_three_classes():
    # Retrieved: b. b > d, b > e fulfilled, a > b and c > b failed; a > d, a > e, c > d, c > e do not occur.
    counted = count_picture("b", "a3 c3 b2 d-1 e-1")
    assert counted.columns(COUNTS) == [0, 0, 2, 4, 4]
    assert counted.columns(RELEVANT) == [3, 1, 2, 0]


def test_repeated_lines_count_repeatedly():
    counted = count_picture("ab", "a1 a1 b0 b0 b0")
    assert counted.columns(COUNTS) == [6, 6, 0, 0, 0]
    assert counted.columns(RELEVANT) == [2, 2, 3, 3]
    assert counted.pair_counts.tolist() == [[0, 6], [0, 0]]


def test_two_classes():
    assert count_picture("ab", "a1 b1 b0")[:2] == (prefs.TWO_CLASSES, [1, -9])


def test_a_document_may_have_another_class_in_another_group():
    counted = count_picture("ab", "a1 b0", "b1 a0")
    assert counted.code == prefs.OK
    assert [counted.columns(COUNTS, g) for g in (0, 1)] == [[1, 1, 0, 0, 0], [0, 1, 0, 0, 0]]
    assert counted.pair_counts.tolist() == [[0, 1], [1, 0]]


# --- matrix groups ------------------------------------------------------------------------------------------


def test_matrix_group_is_closed_transitively():
    # Said: a > b, b > c, c > d. Following: a > c, a > d, b > d. Ranking c a, then b and d unretrieved.
    counted = count_picture("ca", "a3 b2 | b2 c1 | c1 d0")
    assert counted.pair_counts.tolist() == [  # c a b d
        [0, 0, 0, 1],
        [1, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 0, 0, 0],
    ]
    # a > c failed; c > d, a > b, a > d fulfilled, b > c failed; b > d does not occur.
    assert counted.columns(COUNTS) == [0, 1, 3, 4, 1]
    assert counted.columns(RELEVANT) == [3, 2, 1, 0]


def test_repeated_lines_of_a_matrix_group_count_once():
    counted = count_picture("ab", "a1 a1 b0 | a1 b0")
    assert counted.columns(COUNTS) == [1, 1, 0, 0, 0]
    assert counted.columns(RELEVANT) == [1, 1, 1, 1]


def test_equal_here_and_better_there_is_consistent():
    assert count_picture("ab", "a1 b1 | a2 b1").columns(COUNTS) == [1, 1, 0, 0, 0]


def test_a_document_is_not_preferred_to_itself():
    counted = count_picture("a", "a2 a1 | a1")
    assert counted.code == prefs.OK
    assert counted.columns(COUNTS) == [0, 0, 0, 0, 0]
    assert counted.columns(RELEVANT) == [1, 1, 0, 0]  # its last level counts


def test_inconsistent_names_the_first_pair_of_the_closure():
    # a > b > c > a: every pair is preferred both ways. Int32s: b 0, c 1, a 2.
    assert count_picture("bc", "a2 b1 | b2 c1 | c2 a1")[:2] == (prefs.INCONSISTENT, [0, 1])
    # d stands above the cycle of the others and so in front of it: number 0.
    assert count_picture("dacb", "d3 a2 | a2 b1 | b2 a1")[:2] == (prefs.INCONSISTENT, [1, 3])


@pytest.mark.parametrize("group", ["b1 a0 | c1 a1", "b1 a1 | c1 a0", "b1 a2 a0 | c1"])
def test_zero_and_positive(group):
    assert count_picture("bac", group)[:2] == (prefs.ZERO_AND_POSITIVE, [1, -9])


def test_below_zero_fits_with_everything():
    assert count_picture("ab", "a0 | a-1 | a1 b0").code == prefs.OK
    assert count_picture("ab", "a0 | a-1 | a1 b0").columns(RELEVANT) == [1, 1, 1, 1]
    assert count_picture("ab", "a-1 | b-2").columns(RELEVANT) == [0, 0, 0, 0]


def test_the_first_fault_ends_it():
    assert count_picture("ab", "a1 b0", "b1 b0", "a1 | a0").code == prefs.TWO_CLASSES


# --- Rnonrel ------------------------------------------------------------------------------------------------


def test_rnonrel_with_more_relevant_than_nonrelevant():
    # a > c fulfilled, b > c implied and failed. REL 2, NONREL 1: one more, not retrieved, below a and b.
    counted = count_picture("ac", "a1 b1 c0")
    assert counted.columns(COUNTS) == [1, 1, 0, 1, 0]
    assert counted.columns(RNONREL) == [1 + 0 + 1 * 1, 1 + 1 + 0 + 2 * 1]
    # Among the retrieved REL_RET 1, NONREL_RET 1: none missing.
    assert counted.columns(RNONREL_RET) == [1, 1]


def test_rnonrel_ret_multiplies_by_all_relevant():
    # Only a is retrieved: one document missing, and 0 + 1 * 1 of 0 + 3 * 1.
    assert count_picture("a", "a1 b1 c1 d0").columns(RNONREL_RET) == [1, 3]


def test_rnonrel_of_a_class_group_counts_the_first_of_the_lowest_class():
    # REL 2, NONREL 3. Above the lowest class: a > b fulfilled. Of c, d, e at level 0 the first two, c and d,
    # against all five: a and b before c; a, b, c before d.
    counted = count_picture("abcde", "a2 b1 c0 d0 e0")
    assert counted.columns(RNONREL) == [1 + 2 + 3, 1 + 2 * 5]
    assert counted.columns(RNONREL_RET) == [1 + 2 + 3, 1 + 2 * 5]


def test_rnonrel_ret_of_a_class_group():
    # Ranking c a; d, b not retrieved. REL 1, NONREL 3: c is the first at level 0, and no one is above it.
    counted = count_picture("ca", "a1 b0 c0 d0")
    assert counted.columns(RELEVANT) == [1, 1, 3, 1]
    assert counted.columns(RNONREL) == [0, 4]
    # REL_RET 1, NONREL_RET 1: none missing, a > c failed.
    assert counted.columns(RNONREL_RET) == [0, 1]


def test_rnonrel_takes_a_short_lowest_class_alone():
    # REL 2, NONREL 3, but the lowest class has d only. Above it: a > e, b > e, a > c, b > c; c = e = 0.
    counted = count_picture("abced", "a1 b1 c0 e0 d-1")
    assert counted.columns(RNONREL) == [4 + 4, 4 + 5]


def test_rnonrel_without_relevant_documents_divides_by_zero():
    assert count_picture("ab", "a0 b0").columns(RNONREL) == [0, 0]
    assert count_picture("b", "a1 b0").columns(RNONREL_RET) == [0, 0]


def test_rnonrel_of_a_matrix_group_drops_later_documents_of_level_0():
    # REL 1 and five of level 0: b stays, c to f are dropped. Left: a > b.
    counted = count_picture("abcdef", "a1 b0 c0 d0 | a1 e0 f0")
    assert counted.columns(COUNTS) == [5, 5, 0, 0, 0]
    assert counted.columns(RNONREL) == [1, 1]
    assert counted.columns(RNONREL_RET) == [1, 1]


def test_rnonrel_ret_of_a_matrix_group_keeps_as_many_as_all_relevant():
    # REL 2 (a not retrieved), REL_RET 1, NONREL_RET 3. Int32s b c x d: b and c stay, not only b.
    counted = count_picture("bcxd", "x1 b0 c0 d0 | a1 e0")
    assert counted.columns(RELEVANT) == [2, 1, 4, 3]
    assert counted.columns(RNONREL_RET) == [0, 2]  # x > b, x > c
    assert counted.columns(RNONREL) == [0, 2]


# --- pairs --------------------------------------------------------------------------------------------------


def test_pairs():
    pair_counts = np.array(
        [  # 0 and 1 are retrieved, 2 to 4 are not
            [0, 1, 3, 0, 0],
            [2, 0, 0, 0, 0],
            [1, 0, 0, 0, 5],
            [0, 0, 0, 0, 0],
            [0, 4, 0, 1, 0],
        ],
        np.uint16,
    )
    # {0, 1} 1/3, then {0, 2} 3/4 and {1, 4} 0/4, then {2, 4} and {3, 4}, which only count as pairs.
    assert prefs.pairs(pair_counts, 2, 5) == (1 / 3, 1, 1 / 3 + 3 / 4 + 0 / 4, 3, 5)


def test_no_pairs():
    assert prefs.pairs(np.zeros((3, 3), np.uint16), 2, 3) == (0.0, 0, 0.0, 0, 0)
    assert prefs.pairs(np.zeros((0, 0), np.uint16), 0, 0) == (0.0, 0, 0.0, 0, 0)


def test_pair_counts_wrap_and_their_sum_does_not():
    group = [Line(0, 0, 1.0)] * 300 + [Line(0, 1, 0.0)] * 300
    assert count_lines([group], 2, 2).pair_counts.tolist() == [[0, 300 * 300 - 65536], [0, 0]]
    assert prefs.pairs(np.array([[0, 60000], [20000, 0]], np.uint16), 2, 2)[0] == 60000 / 80000


def test_pairs_are_only_filled_where_wanted():
    groups = [[Line(0, 0, 1.0), Line(0, 1, 0.0)], [Line(0, 0, 1.0), Line(1, 1, 1.0), Line(1, 2, 0.0)]]
    with_pairs = count_lines(groups, 1, 3)
    without = count_lines(groups, 1, 3, want_pairs=False)
    assert without.rows == with_pairs.rows
    assert with_pairs.pair_counts.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]


# --- the definitions, with lists of pairs -------------------------------------------------------------------


class Fault(Exception):
    pass


def define_class_group(lines):
    """
    Preferences, relevant and nonrelevant documents, and the preferences that Rnonrel keeps, given how many
    nonrelevant documents it may.
    """
    classes = [[line.doc for line in same] for _, same in groupby(lines, lambda line: line.level)]
    seen = {}
    for line in lines:
        if seen.setdefault(line.doc, line.level) != line.level:
            raise Fault(prefs.TWO_CLASSES, line.doc)

    def preferences(classes):
        return [(a, b) for upper, lower in combinations(classes, 2) for a in upper for b in lower]

    def kept(limit):
        return preferences(classes[:-1]) + [(line.doc, b) for line in lines for b in classes[-1][:limit]]

    relevant = [line.doc for line in lines if line.level > 0]
    nonrelevant = [line.doc for line in lines if line.level <= 0]
    return preferences(classes), relevant, nonrelevant, kept


def define_matrix_group(lines):
    level = {}
    for line in lines:
        before = level.get(line.doc, -1.0)
        if (before > 0 and line.level == 0) or (before == 0 and line.level > 0):
            raise Fault(prefs.ZERO_AND_POSITIVE, line.doc)
        level[line.doc] = line.level
    better = {(a.doc, b.doc) for a in lines for b in lines if a.subgroup == b.subgroup and a.level > b.level}
    while True:
        following = {(a, d) for a, b in better for c, d in better if b == c} - better
        if not following:
            break
        better |= following
    for a, b in sorted(better):
        if a != b and (b, a) in better:
            raise Fault(prefs.INCONSISTENT, a, b)
    better = sorted((a, b) for a, b in better if a != b)
    relevant = [d for d in sorted(level) if level[d] > 0]
    nonrelevant = [d for d in sorted(level) if level[d] == 0]
    dropped = set(nonrelevant[len(relevant) :])

    def kept(_):
        return [pair for pair in better if not dropped & set(pair)]

    return better, relevant, nonrelevant, kept


def define_row(preferences, relevant, nonrelevant, kept, num_ret):
    """The row of one group."""

    def retrieved(docs):
        return [d for d in docs if d < num_ret]

    def fulfilled(pairs):
        return sum(a < b and a < num_ret for a, b in pairs)

    def with_retrieved(pairs, times):
        return [pair for pair in pairs if len(retrieved(pair)) == times]

    both, one, none = (with_retrieved(preferences, times) for times in (2, 1, 0))
    rel, nonrel = len(relevant), len(nonrelevant)
    rel_ret, nonrel_ret = len(retrieved(relevant)), len(retrieved(nonrelevant))
    if rel >= nonrel:
        missing = rel - nonrel
        rnonrel = [fulfilled(preferences) + rel_ret * missing, len(preferences) + rel * missing]
    else:
        rnonrel = [fulfilled(kept(rel)), len(kept(rel))]
    if rel_ret >= nonrel_ret:
        missing = rel_ret - nonrel_ret
        rnonrel_ret = [fulfilled(both) + rel_ret * missing, len(both) + rel * missing]
    else:
        kept_ret = with_retrieved(kept(rel_ret), 2)
        rnonrel_ret = [fulfilled(kept_ret), len(kept_ret)]
    return [
        *(fulfilled(both), len(both), fulfilled(one), len(one), len(none)),
        *(rel, rel_ret, nonrel, nonrel_ret),
        *rnonrel,
        *rnonrel_ret,
    ]


def define_topic(groups, num_ret):
    rows = []
    times = Counter()
    for group in groups:
        lines = in_order(group)
        several = len({line.subgroup for line in lines}) > 1
        defined = define_matrix_group(lines) if several else define_class_group(lines)
        times.update(defined[0])
        rows.append(define_row(*defined, num_ret))
    return rows, times


NUM_DOCS = 8
LEVELS = [-3.0, -1.0, 0.0, 0.0, 0.5, 1.0, 2.0]


@st.composite
def a_group(draw):
    """
    Lines of one group. Mostly a document has one level, and then nothing contradicts anything.
    """
    level = [draw(st.sampled_from(LEVELS)) for _ in range(NUM_DOCS)]
    num_subgroups = draw(st.sampled_from([1, 1, 2, 3]))
    chosen = st.tuples(st.integers(0, num_subgroups - 1), st.integers(0, NUM_DOCS - 1))
    lines = [Line(s, d, level[d]) for s, d in draw(st.lists(chosen, min_size=1, max_size=14))]
    odd = st.builds(lambda where, level: Line(*where, level), chosen, st.sampled_from(LEVELS))
    return lines + draw(st.one_of(st.just([]), st.lists(odd, max_size=3)))


@settings(deadline=None, max_examples=500)  # the first example compiles
@given(st.lists(a_group(), min_size=1, max_size=3), st.integers(0, NUM_DOCS))
def test_counts_are_as_defined(groups, num_ret):
    counted = count_lines(groups, num_ret, NUM_DOCS)
    try:
        rows, times = define_topic(groups, num_ret)
    except Fault as fault:
        code, *docs = fault.args
        event(f"fault {code}")
        assert counted.code == code
        assert counted.fault[: len(docs)] == docs
        return
    event("no fault")
    assert counted.code == prefs.OK
    assert counted.rows == rows
    assert counted.pair_counts.tolist() == [[times[a, b] for b in range(NUM_DOCS)] for a in range(NUM_DOCS)]


@settings(deadline=None)
@given(st.lists(st.sampled_from([0, 0, 1, 2, 3, 7, 65535]), min_size=49, max_size=49), st.integers(0, 7))
def test_pairs_are_added_in_order(cells, num_ret):
    pair_counts = np.array(cells, np.uint16).reshape(7, 7)

    def terms(pairs):
        count = pair_counts.tolist()
        return [count[i][j] / (count[i][j] + count[j][i]) for i, j in pairs if count[i][j] + count[j][i]]

    ret, rest = range(num_ret), range(num_ret, 7)
    both = terms(combinations(ret, 2))
    one = terms((i, j) for i in ret for j in rest)
    none = terms(combinations(rest, 2))
    total = 0.0
    for term in both:
        total += term
    sum_ret = total
    for term in one:
        total += term
    some = both + one
    assert prefs.pairs(pair_counts, num_ret, 7) == (sum_ret, len(both), total, len(some), len(some + none))
