"""Conditions on differences under which `trecpy compare` fails, for continuous integration."""

from __future__ import annotations

import argparse
import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trecpy.text import input_name, quoted

if TYPE_CHECKING:
    from trecpy.cli.process import Warn
    from trecpy.comparison import Comparison

FAILED = 3  # the exit code
_RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True)
class Gate:
    """A condition on a difference that makes the command fail."""

    measure: str
    relation: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read MEASURE < NUMBER. Raises ArgumentTypeError."""
        match = re.fullmatch(r"\s*(\S.*?)\s*(<=|>=|<|>)\s*(\S+)\s*", text)
        try:
            if match is None or not math.isfinite(limit := float(match[3])):
                raise ValueError
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"expected MEASURE < NUMBER (or <=, >, >=), the number finite, found {quoted(text)}"
            ) from None
        return cls(match[1], match[2], limit)

    def __str__(self) -> str:
        return f"{self.measure} {self.relation} {self.limit:g}"

    def met(self, difference: float) -> bool:
        """Does the condition hold? What is undefined is no pass."""
        # Rounded, since a difference of 0 that is computed need not be 0.
        return math.isnan(difference) or _RELATIONS[self.relation](round(difference, 12), self.limit)

    def failed(self, path: str, comparison: Comparison, warn: Warn) -> bool:
        """Does the condition hold for a run? That is said. path: of the run"""
        difference = comparison[self.measure].difference
        met = self.met(difference)
        if met:
            found = "difference undefined" if math.isnan(difference) else f"difference {difference:.6g}"
            warn(f"failed: {input_name(path)}: {self.measure}: {found} (--fail-if '{self}')")
        return met
