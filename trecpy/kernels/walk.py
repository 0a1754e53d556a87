"""
The pass over packed rankings that every rank measure is read from, and the running sums that NumPy cannot restart.

Sums are added one term at a time in rank order, so that each is the reference's double to the last bit; NumPy adds
in pairs. No measure has its name or its formula here.
"""

from trecpy.kernels._jit import compiled
from trecpy.kernels.dtypes import Integers, Reals

# Columns of walk()'s counts: relevant documents, rank of the first hit (0: none).
RELEVANT, FIRST_HIT = range(2)
COUNTS_SIZE = 2


@compiled
def walk(
    row_starts: Integers,
    rank: Integers,
    level: Integers,
    num_ret: Integers,
    relevance_level: int,
    cutoffs: Integers,
    discounts: Reals,
    found: Integers,
    precision_sum: Reals,
    dcg: Reals,
    unjudged: Integers,
    counts: Integers,
) -> None:
    """
    Go down the rows of each ranking once: sums at each cutoff, and counts.

    Reads
        row_starts: int64[Q+1]; rank, level: int64[M]  rows of ranking q, best rank first, are
            row_starts[q]:row_starts[q+1]; level is -1 outside the judgements, -2 where they are negative
        num_ret: int64[Q]  documents of each ranking; those without a row are outside the judgements, and no hits
        relevance_level: int64  a hit is a document whose level is at least that, be it -1 or -2
        cutoffs: int64[K]  ascending, from 1
        discounts: float64[longest ranking + 1]  log2(rank + 1) at each rank
    Writes
        found: int64[Q, K]  hits at ranks 1..cutoff; precision_sum: float64[Q, K]  sum of hits/rank over them
        dcg: float64[Q, K]  sum of level/discount over levels above 0
        unjudged: int64[Q, K]  documents at ranks 1..cutoff that have no level >= 0
        counts: int64[Q, COUNTS_SIZE]  of whole rankings
    """
    last = len(cutoffs)
    for q in range(len(row_starts) - 1):
        hits, relevant, judged, first = 0, 0, 0, 0
        precision, gain = 0.0, 0.0
        k = 0
        for row in range(row_starts[q], row_starts[q + 1] + 1):
            # One step more than there are rows fills the cutoffs that are left.
            ended = row == row_starts[q + 1]
            while k < last and (ended or cutoffs[k] < rank[row]):
                found[q, k], precision_sum[q, k], dcg[q, k] = hits, precision, gain
                unjudged[q, k] = min(cutoffs[k], num_ret[q]) - judged
                k += 1
            if ended:
                break
            value = level[row]
            if value >= 0:
                judged += 1
                if value >= relevance_level:
                    relevant += 1
            if value >= relevance_level:
                hits += 1
                precision += hits / rank[row]
                if first == 0:
                    first = rank[row]
            if value > 0:
                gain += value / discounts[rank[row]]
        counts[q, RELEVANT], counts[q, FIRST_HIT] = relevant, first


@compiled
def running(terms: Reals, starts: Integers, total: Reals) -> None:
    """
    Sum terms within each group, one at a time.

    terms: float64[M]; starts: int64[G+1]  group g is terms[starts[g]:starts[g+1]]
    total: float64[M]  written: the sum of the group's terms up to and with this one
    """
    for g in range(len(starts) - 1):
        s = 0.0
        for i in range(starts[g], starts[g + 1]):
            s += terms[i]
            total[i] = s


@compiled
def weigh(
    row_starts: Integers, rank: Integers, level: Integers, num_ret: Integers, weights: Reals, total: Reals
) -> None:
    """
    Sum weights over the ranks of each ranking that have no level >= 0, one at a time.

    row_starts, rank, level, num_ret  as walk() has them; weights: float64[longest ranking]
    total: float64[Q]  written
    """
    for q in range(len(num_ret)):
        s = 0.0
        row = row_starts[q]
        for i in range(1, num_ret[q] + 1):
            while row < row_starts[q + 1] and (rank[row] < i or (rank[row] == i and level[row] < 0)):
                row += 1
            if row == row_starts[q + 1] or rank[row] != i:
                s += weights[i - 1]
        total[q] = s


@compiled
def cascade(row_starts: Integers, rank: Integers, stop: Reals, k: int, total: Reals) -> None:
    """
    Sum stop/rank down to rank k, each weighed by the probability of not having stopped before.

    row_starts, rank  as walk() has them; stop: float64[M]  in [0, 1]
    total: float64[Q]  written
    """
    for q in range(len(row_starts) - 1):
        s, going = 0.0, 1.0
        for row in range(row_starts[q], row_starts[q + 1]):
            if rank[row] > k:
                break
            s += going * stop[row] / rank[row]
            going *= 1.0 - stop[row]
        total[q] = s


@compiled
def best_precision(starts: Integers, rank: Integers, number: Integers, best: Reals) -> None:
    """
    The largest precision at each hit or any later one.

    starts: int64[Q+1], rank: int64[H]  ranks of the hits of each ranking; number: int64[H]  what a hit counts as
    best: float64[H]  written: the largest number/rank from here to the last hit of the ranking
    """
    for q in range(len(starts) - 1):
        most = 0.0
        for i in range(starts[q + 1] - 1, starts[q] - 1, -1):
            most = max(most, number[i] / rank[i])
            best[i] = most


@compiled
def graded(
    row_starts: Integers,
    rank: Integers,
    gain: Reals,
    ideal_starts: Integers,
    ideal_gain: Reals,
    discounts: Reals,
    dcg: Reals,
    result_gain: Reals,
    cost: Reals,
) -> None:
    """
    Running sums of gains down the rows of each ranking, for gains of any kind.

    Reads
        row_starts: int64[Q+1]; rank: int64[M]; gain: float64[M]  of each row
        ideal_starts: int64[Q+1], ideal_gain: float64[]  the ideal ranking of each ranking's topic, best first
        discounts  as walk() has them
    Writes, for each row
        dcg: float64[M]  sum of gain/discount; result_gain: float64[M]  sum of gain
        cost: float64[M]  sum over ranks 1..rank of the ideal gain there, or 1 where that is below 1 or ended
    """
    for q in range(len(row_starts) - 1):
        length = ideal_starts[q + 1] - ideal_starts[q]
        total, gained, spent = 0.0, 0.0, 0.0
        passed = 0
        for i in range(row_starts[q], row_starts[q + 1]):
            if gain[i] != 0:
                total += gain[i] / discounts[rank[i]]
                gained += gain[i]
            while passed < rank[i]:
                if passed < length and ideal_gain[ideal_starts[q] + passed] >= 1:
                    spent += ideal_gain[ideal_starts[q] + passed]
                else:
                    spent += 1.0
                passed += 1
            dcg[i], result_gain[i], cost[i] = total, gained, spent
