"""What is done to arrays in many places. Knows nothing of rankings."""

from collections.abc import Sequence, Sized
from itertools import accumulate
from typing import Any

import numpy as np

from trecpy.kernels.dtypes import Flags, Integers, Reals


def starts_of(sizes: Any) -> Integers:
    """int64[N+1]: where each of N parts begins that lie end to end, and where the last one ends; sizes: int[N]."""
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.asarray(sizes, np.int64).cumsum(out=starts[1:])
    return starts


def starts_of_parts(parts: Sequence[Sized]) -> Integers:
    """The same of the parts themselves; for a few it takes half the time."""
    return np.array([0, *accumulate(map(len, parts))], np.int64)


def sizes_of(starts: Integers) -> Integers:
    """int64[N]: how large the parts are that starts: int64[N+1] bounds."""
    return starts[1:] - starts[:-1]


def starts_within(chosen: Flags, starts: Integers) -> Integers:
    """int64[N+1]: the same of parts starts[i]:starts[i+1] of which only what is chosen: bool[starts[-1]] is left."""
    return starts if np.count_nonzero(chosen) == len(chosen) else starts_of(chosen)[starts]


def end_to_end(sizes: Integers) -> Integers:
    """int64[N, 2]: place and size of strings of these sizes that lie end to end."""
    return np.stack((np.cumsum(sizes) - sizes, sizes), axis=1)


def spread(begins: Integers, sizes: Integers) -> Integers:
    """int64[sum of sizes]: begins[0], begins[0] + 1, ..., sizes[0] of them, then those from begins[1] on."""
    starts = starts_of(sizes)
    return np.repeat(begins - starts[:-1], sizes) + np.arange(starts[-1])


def divided(part: Any, whole: Any, where: Any) -> Reals:
    """float64[N]: part / whole where that is asked for: bool[N], 0 elsewhere."""
    result = np.zeros(len(where))
    np.divide(part, whole, out=result, where=where)
    return result
