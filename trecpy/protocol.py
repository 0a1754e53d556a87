"""The conventions under which a run is scored, as one frozen record. Knows no file and no array."""

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from trecpy.errors import InputError
from trecpy.text import described

Compat = Literal["10.0", "9.0.8"]
COMPATS: tuple[Compat, ...] = ("10.0", "9.0.8")


GAINS = ("level", "float", "exp")

_CHOICES: dict[str, tuple[str, ...]] = {
    "compat": COMPATS,
    "topics": ("qrels", "both", "run", "same"),
    "ties": ("trec", "input", "best", "worst", "expected"),
    "duplicates": ("error", "first", "max", "error-within-depth"),
}


@dataclass(frozen=True)
class Protocol:
    """
    How a run is scored.

    compat           generation of trec_eval whose rules hold
    relevance_level  a document is relevant when its level is at least that; a fraction only with gains="float"
    judged_only      documents without a level >= 0 are dropped from rankings
    depth            documents that are kept of each ranking, before judged_only drops any; None: all
    topics           whose mean: "qrels", every judged topic, those missing from the run too (-c); "both", judged topics
                     that the run has; "run", the run's topics, those without judgements with 0; "same", as "both", but
                     an error where the two differ
    ties             documents of equal score: "trec", by docno, larger bytes first; "input", as they came; "best",
                     "worst", as is best or worst for the run, relevant ones first or last; "expected", each value is
                     its mean over all orders of them (for the measures that have it in closed form)
    gains            what a level is worth to nDCG and its kin: "level", itself; "float", itself, and levels may be
                     fractions; "exp", 2^level - 1; {level: gain}, where a level that is not named is worth itself
    duplicates       a document twice in a ranking: "error"; "first", the one that came first counts; "max", the one
                     with the larger score; "error-within-depth", an error unless depth cuts one off (trec_eval -M)
    ignore_self      drop documents whose docno is the topic's id (ArguAna, Quora)
    num_docs         documents in the collection; only `utility` asks
    max_grade        the largest grade of the scale; only `ERR` asks
    """

    compat: Compat = "10.0"
    relevance_level: int | float = 1
    judged_only: bool = False
    depth: int | None = None
    topics: Literal["qrels", "both", "run", "same"] = "qrels"
    ties: Literal["trec", "input", "best", "worst", "expected"] = "trec"
    gains: Any = "level"
    duplicates: Literal["error", "first", "max", "error-within-depth"] = "error"
    ignore_self: bool = False
    num_docs: int = 0
    max_grade: int = 4

    def __post_init__(self) -> None:
        for name, expected in _CHOICES.items():
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in expected:
                raise InputError(
                    f"{name}: expected {', '.join(map(repr, expected))}, found {described(getattr(self, name))}"
                )
        object.__setattr__(self, "gains", _gains(self.gains))
        for name in ("relevance_level", "depth", "num_docs", "max_grade"):
            value = getattr(self, name)
            if name == "depth" and value is None:
                continue
            if name == "relevance_level" and self.gains == "float" and _is_finite(value):
                object.__setattr__(self, name, int(value) if value == int(value) else float(value))
                continue
            try:
                whole = operator.index(value)
            except TypeError:
                whole = 2**63
            if isinstance(value, bool) or not -(2**63) <= whole < 2**63:
                raise InputError(f"{name}: expected an integer of 64 bits, found {described(value)}")
            object.__setattr__(self, name, whole)
        for name in ("judged_only", "ignore_self"):
            value = getattr(self, name)
            if type(value).__name__ not in ("bool", "bool_"):  # NumPy's too
                raise InputError(f"{name}: expected True or False, found {described(value)}")
            object.__setattr__(self, name, bool(value))
        if self.depth is not None and self.depth < 0:
            raise InputError(f"depth: expected a number >= 0 or None, found {self.depth}")
        if self.ties == "expected" and self.depth is not None and self.judged_only:
            raise InputError(
                "ties: expected no depth with judged_only where ties are 'expected': it has no closed form"
            )

    @property
    def ranking(self) -> "Protocol":
        """The same in what decides how documents are ranked before a ranking is cut; the rest as by default."""
        kept = self.depth if self.duplicates == "error-within-depth" else None
        return Protocol(
            compat=self.compat,
            depth=kept,
            ties="input" if self.ties == "input" else "trec",
            duplicates=self.duplicates,
            ignore_self=self.ignore_self,
        )

    @property
    def scores_missing(self) -> bool:
        """Are judged topics that the run lacks scored as rankings without a judged document (10.0), or left out?"""
        return self.topics == "qrels" and self.compat == "10.0"


def _is_finite(value: object) -> bool:
    return type(value).__name__.startswith(("int", "uint", "float")) and math.isfinite(value)  # type: ignore[arg-type]


def _gains(given: Any) -> Any:
    """One of GAINS, or ((level, gain), ...) by level of a mapping."""
    if isinstance(given, str) and given in GAINS:
        return given
    pairs = given.items() if isinstance(given, Mapping) else given
    try:
        plain = tuple(sorted((operator.index(level), float(gain)) for level, gain in pairs))
    except (TypeError, ValueError):
        plain = ()
    fine = all(level >= 0 and math.isfinite(gain) for level, gain in plain)
    if not plain or not fine or len(dict(plain)) < len(plain):
        choices = ", ".join(map(repr, GAINS))
        raise InputError(f"gains: expected {choices} or {{level >= 0: finite gain}}, found {described(given)}")
    return plain


def chosen_protocol(protocol: Protocol | None, options: Mapping[str, object]) -> Protocol:
    """A protocol, or the default one, with some fields replaced. Raises InputError: no such field, or no such value."""
    if protocol is not None and not isinstance(protocol, Protocol):
        raise InputError(f"protocol: expected a trecpy.Protocol, found {described(protocol)}")
    known = sorted(field.name for field in fields(Protocol))
    for name in options:
        if name not in known:
            raise InputError(f"expected options called {', '.join(known)}, found {name}")
    return replace(protocol or Protocol(), **options)  # type: ignore[arg-type]
