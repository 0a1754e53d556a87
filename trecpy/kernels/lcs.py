"""Length of the longest common subsequence of pairs of texts, 64 tokens of one text at a time."""

import numpy as np

from trecpy.kernels._jit import compiled, inlined
from trecpy.kernels.dtypes import Int32s, Integers, Words


@inlined
def _ones(word: np.uint64) -> int:
    """Number of bits that are set in a uint64."""
    count = 0
    while word != np.uint64(0):
        word &= word - np.uint64(1)
        count += 1
    return count


@compiled
def lcs(
    tokens: Int32s,
    starts: Integers,
    first: Integers,
    second: Integers,
    last: Int32s,
    before: Int32s,
    rows: Words,
    found: Words,
    length: Integers,
) -> None:
    """
    Find the length of the longest common subsequence of each pair.

    Reads
        tokens: int32[N]  numbers of tokens, texts end to end; starts: int64[T+1]  text t is starts[t]:starts[t+1]
        first, second: int64[P]  the texts of each pair
    Works in
        last: int32[V]  one for each number that tokens has, all -1, and all -1 again afterwards
        before: int32[L]; rows, found: uint64[L/64 + 1]; L: tokens of the longest text
    Writes
        length: int64[P]

    Bits of `rows` are the tokens of the first text; a bit is 0 where the length of the common subsequence of what was
    read of both texts grows (Hyyro 2004). Time is |second| * |first| / 64, memory that of the texts: of any length.
    """
    zero, one, all_ones = np.uint64(0), np.uint64(1), ~np.uint64(0)
    for pair in range(len(first)):
        begin, end = starts[first[pair]], starts[first[pair] + 1]
        size = end - begin
        words = (size + 63) // 64
        for i in range(size):  # where each token stood before, and where last
            before[i] = last[tokens[begin + i]]
            last[tokens[begin + i]] = i
        for w in range(words):
            rows[w] = all_ones
            found[w] = zero
        for j in range(starts[second[pair]], starts[second[pair] + 1]):
            place = last[tokens[j]]
            if place < 0:
                continue
            while place >= 0:
                found[place >> 6] |= one << np.uint64(place & 63)
                place = before[place]
            carry = zero
            for w in range(words):
                row = rows[w]
                matched = row & found[w]
                found[w], kept = zero, row & ~found[w]
                total = row + matched
                over = one if total < row else zero
                total += carry
                if total < carry:
                    over = one
                carry = over
                rows[w] = total | kept
        count = 0
        for w in range(words):
            held = all_ones if size - 64 * w >= 64 else (one << np.uint64(size - 64 * w)) - one
            count += _ones(~rows[w] & held)
        length[pair] = count
        for i in range(size):
            last[tokens[begin + i]] = -1
