"""Tables by rank, made with the C library's functions and kept for the process."""

import math

import numpy as np

from trecpy.kernels.dtypes import Reals

_discounts = np.array([0.0])


def discounts(longest: int) -> Reals:
    """
    float64[at least longest + 3]: log2(rank + 1) at each rank 0, 1, ...

    By math.log2, which is libm's: np.log2 differs from it in the last bit for 21 of the first 200,000 integers.
    """
    global _discounts
    table = _discounts
    if len(table) < longest + 3:
        size = max(2 * len(table), longest + 3, 1024)
        _discounts = table = np.fromiter(map(math.log2, range(1, size + 1)), np.float64, size)
    return table


def persistence_weights(p: float, longest: int) -> Reals:
    """float64[longest + 1]: 1, p, p*p, ... by repeated multiplication, not by powers: their last bits differ."""
    return np.multiply.accumulate(np.concatenate(([1.0], np.full(longest, p))))
