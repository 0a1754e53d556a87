"""The conventions under which a run is scored, as one frozen record. Knows no file and no array."""

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

from trecpy.errors import InputError
from trecpy.text import described

Compat = Literal["10.0", "9.0.8"]
COMPATS: tuple[Compat, ...] = ("10.0", "9.0.8")


GAINS = ("level", "float", "exp", "binary")

CHOICES: dict[str, tuple[str, ...]] = {
    "compat": COMPATS,
    "topics": ("qrels", "both", "run", "same"),
    "ties": ("trec", "input", "best", "worst", "expected", "rank"),
    "duplicates": ("error", "first", "last", "max", "keep", "error-within-depth"),
    "without_relevant": ("keep", "drop"),
    "ap": ("rel", "min", "hits"),
    "ideal": ("judged", "candidates"),
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
                     its mean over all orders of them (for the measures that have it in closed form); "rank", files in
                     the layout msmarco, which states ranks and no scores, are taken at these: a gap is a rank without
                     a document, and of two at one rank the later one counts; other runs as "trec"
    gains            what a level is worth to nDCG and its kin: "level", itself; "float", itself, and levels may be
                     fractions; "exp", 2^level - 1; "binary", 1 if relevant; {level: gain}, where a level that is not
                     named is worth itself
    ideal            what the ideal ranking of nDCG is made of: "judged", all judged documents; "candidates", the ranked
    ap               what average precision is divided by: "rel", the relevant documents; "min", these or the cutoff,
                     whichever is less; "hits", the relevant documents down to the cutoff
    duplicates       a document twice in a ranking: "error"; "first" or "last", the one that came so counts; "max", the
                     one with the larger score; "keep", each counts, also of one that is judged twice;
                     "error-within-depth", an error unless depth cuts one off (trec_eval -M)
    ignore_self      drop documents whose docno is the topic's id (ArguAna, Quora)
    num_docs         documents in the collection; only `utility` asks
    max_grade        the largest grade of the scale: a higher one is an error; None: any, but for `ERR`, which takes 4
    without_relevant topics without a relevant document: "keep" or "drop"
    batch            topics whose mean is taken before the mean of these means is, in the order of their numbers where
                     all ids are numbers, else in byte order; None: all at once
    places           decimals to which summaries are rounded; None: not at all
    per_measure      {measure: {field: value}}: what is otherwise for single measures, by trec_eval's or trecpy's name
    name             of a preset that this began as; trecpy.protocols has them
    """

    compat: Compat = "10.0"
    relevance_level: int | float = 1
    judged_only: bool = False
    depth: int | None = None
    topics: Literal["qrels", "both", "run", "same"] = "qrels"
    ties: Literal["trec", "input", "best", "worst", "expected", "rank"] = "trec"
    gains: Any = "level"
    ideal: Literal["judged", "candidates"] = "judged"
    ap: Literal["rel", "min", "hits"] = "rel"
    duplicates: Literal["error", "first", "last", "max", "keep", "error-within-depth"] = "error"
    ignore_self: bool = False
    num_docs: int = 0
    max_grade: int | None = None
    without_relevant: Literal["keep", "drop"] = "keep"
    batch: int | None = None
    places: int | None = None
    per_measure: Any = ()
    name: str = ""

    def __post_init__(self) -> None:
        for name, expected in CHOICES.items():
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in expected:
                raise InputError(
                    f"{name}: expected {', '.join(map(repr, expected))}, found {described(getattr(self, name))}"
                )
        object.__setattr__(self, "gains", _gains(self.gains))
        for name in ("relevance_level", "depth", "num_docs", "max_grade", "batch", "places"):
            value = getattr(self, name)
            if name in ("depth", "max_grade", "batch", "places") and value is None:
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
        for name, least in (("depth", 0), ("batch", 1), ("places", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise InputError(f"{name}: expected a number >= {least} or None, found {value}")
        object.__setattr__(self, "per_measure", _per_measure(self.per_measure, self))
        if self.ties == "expected" and self.depth is not None and self.judged_only:
            raise InputError(
                "ties: expected no depth with judged_only where ties are 'expected': it has no closed form"
            )

    @cached_property
    def ranking(self) -> "Protocol":
        """The same in what decides how documents are ranked before a ranking is cut; the rest as by default."""
        kept = self.depth if self.duplicates == "error-within-depth" else None
        return Protocol(
            compat=self.compat,
            depth=kept,
            ties=self.ties if self.ties in ("input", "rank") else "trec",
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
    except (TypeError, ValueError, OverflowError):
        plain = ()
    fine = all(level >= 0 and math.isfinite(gain) for level, gain in plain)
    if not plain or not fine or len(dict(plain)) < len(plain):
        choices = ", ".join(map(repr, GAINS))
        raise InputError(f"gains: expected {choices} or {{level >= 0: finite gain}}, found {described(given)}")
    return plain


def _per_measure(given: Any, protocol: Protocol) -> tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]:
    """((measure, ((field, value), ...)), ...), sorted. Raises InputError: no such field, or no such value."""
    own: dict[str, tuple[tuple[str, Any], ...]] = {}
    try:
        for measure, choices in dict(given).items():
            own[str(measure)] = tuple(sorted((str(field), value) for field, value in dict(choices).items()))
    except (TypeError, ValueError):
        raise InputError(f"per_measure: expected {{measure: {{field: value}}}}, found {described(given)}") from None
    for measure, pairs in own.items():
        fixed = [field for field, _ in pairs if field in ("per_measure", "name")]
        if fixed:
            raise InputError(f"per_measure: {measure}: expected fields that a measure may have alone, found {fixed[0]}")
        if dict(pairs).get("topics") == "same":
            raise InputError(f"per_measure: {measure}: topics: expected 'qrels', 'both', 'run', found 'same'")
        chosen = chosen_protocol(replace(protocol, per_measure=()), dict(pairs))
        own[measure] = tuple((field, getattr(chosen, field)) for field, _ in pairs)
    return tuple(sorted(own.items()))


def chosen_protocol(protocol: Protocol | str | None, options: Mapping[str, object]) -> Protocol:
    """
    A protocol, the preset of a name, or the default one, with some fields replaced.

    Raises InputError: no such preset, field or value.
    """
    if not isinstance(protocol, Protocol | None):
        from trecpy.presets import Preset, protocols  # they are made of Protocols

        if isinstance(protocol, str) and protocol not in protocols:
            raise InputError(f"protocol: expected one of {', '.join(protocols)}, found {described(protocol)}")
        preset = protocols[protocol] if isinstance(protocol, str) else protocol
        protocol = preset.protocol if isinstance(preset, Preset) else protocol
    if not isinstance(protocol, Protocol | None):
        raise InputError(f"protocol: expected a trecpy.Protocol or a preset's name, found {described(protocol)}")
    known = sorted(field.name for field in fields(Protocol))
    for name in options:
        if name not in known:
            raise InputError(f"expected options called {', '.join(known)}, found {name}")
    return replace(protocol or Protocol(), **options)  # type: ignore[arg-type]
