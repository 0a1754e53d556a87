"""Ranks of a few candidates in rows of scores, by counting what is better."""

import numpy as np

from trecpy.kernels._jit import compiled
from trecpy.kernels.dtypes import Integers, Reals


@compiled
def count(
    scores: Reals,
    starts: Integers,
    column: Integers,
    first: Integers,
    last: Integers,
    rank: Integers,
    num_ret: Integers,
) -> int:
    """
    Count, for some candidates of each row, those that are ranked before them; return a row with a NaN, or -1.

    Reads
        scores: float64[Q, D]  -inf where there is no candidate
        starts: int64[Q+1], column: int64[M]  the candidates of row q are column[starts[q]:starts[q+1]]
    Writes
        first, last: int64[M]  ranks, from 1, of the first and the last candidate of equal score; rank: int64[M]  where
            of those the later column comes first; num_ret: int64[Q]  candidates of each row
    """
    bad = -1
    for q in range(len(scores)):
        line = scores[q]
        there, numbers = 0, 0
        for j in range(len(line)):
            there += line[j] > -np.inf
            numbers += line[j] == line[j]
        num_ret[q] = there
        if numbers < len(line):
            bad = q
        for m in range(starts[q], starts[q + 1]):
            score, at = line[column[m]], column[m]
            better, level_before, level_behind = 0, 0, 0
            for j in range(at):
                better += line[j] > score
                level_before += line[j] == score
            for j in range(at + 1, len(line)):
                better += line[j] > score
                level_behind += line[j] == score
            first[m], last[m] = better + 1, better + 1 + level_before + level_behind
            rank[m] = better + 1 + level_behind
    return bad
