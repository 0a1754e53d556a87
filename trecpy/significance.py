"""
Tests of paired differences, intervals, and corrections for many tests. Knows numbers only; scipy does distributions.

Differences are rounded to 12 decimals wherever it matters that two are equal (ties, ranks, "all equal"): .5 - .4 and
.6 - .5 are the same difference, though not the same double.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from trecpy.errors import InputError
from trecpy.extras import load
from trecpy.kernels.dtypes import Reals
from trecpy.text import described

_DECIMALS = 12
_EXACT_UP_TO = 20  # differences that are not 0: a million assignments of signs
_BLOCK = 1 << 22  # numbers drawn at a time
MOST_DRAWS = 1_000_000  # p is good to 3 decimals then; of 50 topics they take a second


class Result(NamedTuple):
    """A statistic, its two-sided p-value, and how that was found; or NaN twice, and why there is none."""

    statistic: float
    p_value: float
    how: str


def rounded(differences: Reals) -> Reals:
    """The same where equal differences are equal doubles."""
    near: Reals = np.round(differences, _DECIMALS) + 0.0
    return near


def student(differences: Reals, seed: int, resamples: int) -> Result:
    """
    Paired t-test. statistic: mean / standard error.

    All differences 0: p is 1; all equal and not 0: p is 0.
    """
    same = rounded(differences)
    if not same.any():
        return Result(0.0, 1.0, "all differences are 0")
    if np.ptp(same) == 0:
        return Result(float(np.copysign(np.inf, same[0])), 0.0, "all differences are equal")
    found = load("scipy.stats", "stats").ttest_1samp(differences, 0.0)
    return Result(float(found.statistic), float(found.pvalue), "t distribution")


def wilcoxon(differences: Reals, seed: int, resamples: int) -> Result:
    """
    Wilcoxon's signed-rank test; differences of 0 are left out. statistic: the smaller sum of ranks.

    Exact up to 50 differences without ties and up to 13 with; else by the normal approximation (scipy's choice).
    """
    nonzero = _nonzero(differences)
    if not len(nonzero):
        return Result(0.0, 1.0, "all differences are 0")
    tied = len(np.unique(np.abs(nonzero))) < len(nonzero)
    exact = len(nonzero) <= (13 if tied else 50)
    found = load("scipy.stats", "stats").wilcoxon(nonzero, method="auto")
    return Result(float(found.statistic), float(found.pvalue), "exact" if exact else "normal approximation")


def sign(differences: Reals, seed: int, resamples: int) -> Result:
    """Sign test, exact; differences of 0 are left out. statistic: number of positive differences."""
    nonzero = _nonzero(differences)
    if not len(nonzero):
        return Result(0.0, 1.0, "all differences are 0")
    positive = int(np.count_nonzero(nonzero > 0))
    found = load("scipy.stats", "stats").binomtest(positive, len(nonzero), 0.5)
    return Result(float(positive), float(found.pvalue), "exact")


def randomisation(differences: Reals, seed: int, resamples: int) -> Result:
    """
    Fisher's randomisation test: how often random signs give a mean as far from 0. statistic: the mean.

    Exact up to 20 differences that are not 0; else (hits + 1) / (resamples + 1) of seeded draws.
    """
    nonzero = _nonzero(differences)
    mean = float(np.mean(differences))
    if not len(nonzero):
        return Result(mean, 1.0, "all differences are 0")
    # Sums that are equal but for rounding count as equally far.
    observed = abs(float(nonzero.sum())) - 1e-9 * float(np.abs(nonzero).sum())
    if len(nonzero) <= _EXACT_UP_TO:
        sums = np.zeros(1)
        for difference in nonzero:
            sums = np.concatenate((sums - difference, sums + difference))
        return Result(mean, float(np.mean(np.abs(sums) >= observed)), "exact")
    rng = np.random.default_rng(seed)
    hits = 0
    for count in _blocks(resamples, len(nonzero)):
        signs = rng.integers(0, 2, (count, len(nonzero)), np.int8) * 2.0 - 1.0
        hits += int(np.count_nonzero(np.abs(signs @ nonzero) >= observed))
    return Result(mean, (hits + 1) / (resamples + 1), f"{resamples:,} draws, seed {seed}")


Test = Callable[[Reals, int, int], Result]
TESTS: dict[str, Test] = {"t": student, "wilcoxon": wilcoxon, "sign": sign, "randomisation": randomisation}
NAMES = {
    "t": "paired t-test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "sign": "sign test",
    "randomisation": "Fisher randomisation test",
}


def refuse_unready(test: str) -> None:
    """Raise LibraryError where a test's library is missing."""
    if test != "randomisation":
        load("scipy.stats", "stats")


def paired_test(test: str, differences: Reals, seed: int, resamples: int) -> Result:
    """
    A test by its name, where it is defined.

    differences: float64[topics]
    """
    if len(differences) < 2:
        return Result(np.nan, np.nan, "undefined: fewer than 2 topics")
    if not np.isfinite(differences).all():
        return Result(np.nan, np.nan, "undefined: values that are not finite")
    return TESTS[test](differences, seed, resamples)


def interval(differences: Reals, confidence: float, seed: int, resamples: int) -> tuple[float, float]:
    """Bootstrap confidence interval of the mean: percentiles of the means of resampled topics. NaN where undefined."""
    if len(differences) < 2 or not np.isfinite(differences).all():
        return np.nan, np.nan
    rng = np.random.default_rng(seed)
    means = [
        differences[rng.integers(0, len(differences), (count, len(differences)))].mean(axis=1)
        for count in _blocks(resamples, len(differences))
    ]
    outside = (1.0 - confidence) / 2
    low, high = np.quantile(np.concatenate(means), [outside, 1.0 - outside])
    return float(low), float(high)


def corrected(p_values: Sequence[float], method: str) -> list[float]:
    """
    Adjusted p-values, in the order given. NaN stays NaN and does not belong to the family.

    method: "holm" and "bonferroni" bound the chance of any false rejection, "bh" (Benjamini and Hochberg) the expected
    share of false ones; "none"
    """
    p = np.asarray(p_values, float)
    family = np.flatnonzero(~np.isnan(p))
    size = len(family)
    order = family[np.argsort(p[family], kind="stable")]
    sorted_p = p[order]
    if method == "holm":
        sorted_p = np.maximum.accumulate(sorted_p * np.arange(size, 0, -1))
    elif method == "bonferroni":
        sorted_p = sorted_p * size
    elif method == "bh":
        scaled = sorted_p * size / np.arange(1, size + 1)
        sorted_p = np.minimum.accumulate(scaled[::-1])[::-1]
    p[order] = np.minimum(sorted_p, 1.0)
    return [float(value) for value in p]


CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini-Hochberg", "none": "no correction"}


def refuse_unknown(what: str, value: object, known: Sequence[str]) -> None:
    """Raise InputError unless value is one of the known names."""
    if not isinstance(value, str) or value not in known:
        raise InputError(f"{what}: expected one of {', '.join(known)}, found {described(value)}")


def refuse_draws(seed: object, resamples: object) -> None:
    """Raise InputError unless these are a seed and a number of draws, at most MOST_DRAWS."""
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"seed: expected an integer >= 0, found {described(seed)}")
    if not isinstance(resamples, int | np.integer) or isinstance(resamples, bool) or not 1 <= resamples <= MOST_DRAWS:
        raise InputError(f"resamples: expected an integer from 1 to {MOST_DRAWS:,}, found {described(resamples)}")


def p_text(p_value: float, places: int) -> str:
    """A p-value for people: one that would be rounded to 0 says what it is below; '-' where it is undefined."""
    if math.isnan(p_value):
        return "-"
    least = 10.0**-places
    return f"<{least:.{places}f}" if 0 < p_value < least / 2 else f"{p_value:.{places}f}"


def _nonzero(differences: Reals) -> Reals:
    values = rounded(differences)
    nonzero: Reals = values[values != 0]
    return nonzero


def _blocks(total: int, width: int) -> list[int]:
    """Sizes of blocks that add up to `total` rows, of `width` numbers each."""
    size = max(1, _BLOCK // max(width, 1))
    return [min(size, total - start) for start in range(0, total, size)]
