"""One measure of one run under every convention that bears on it: explain()."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from trecpy.api import Evaluation, Evaluator
from trecpy.collection import as_qrels
from trecpy.errors import InputError, ParameterError
from trecpy.gains import Gains
from trecpy.names import one_mean
from trecpy.packed import Qrels
from trecpy.presets import protocols, stated
from trecpy.protocol import CHOICES, Protocol, chosen_protocol
from trecpy.registry import Column
from trecpy.text import as_strings, described

# Fields that a column cannot have alone, or that change no value.
_OF_ALL = ("name", "per_measure", "num_docs", "max_grade")
_SHOWN = 3

Choices = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Variant:
    """
    The measure under other conventions.

    choices: the fields that differ from the base, as (name, value); label: them as text, or presets that have them
    value: the summary; difference: to the base
    changed: topics with another value, or that count in one of the two alone
    most: of these the ones that differ most, as (topic, value in the base, value here), NaN where it does not count
    matches: is it the value that was looked for?
    """

    choices: Choices
    label: str
    value: float
    difference: float
    changed: int
    most: tuple[tuple[str, float, float], ...]
    matches: bool = False


@dataclass(frozen=True)
class Explanation:
    """
    What conventions do to a measure.

    measure: its name; protocol: the base; value: the base's summary; evaluation: all of it, a column a variant
    choices: single choices that change the value, the largest change first; presets: named protocols, likewise
    pairs: of choices that give the value that was looked for, where no single choice does
    unchanged: choices that change nothing; matches: is the base's value the one that was looked for?
    """

    measure: str
    protocol: Protocol
    value: float
    choices: tuple[Variant, ...]
    presets: tuple[Variant, ...]
    pairs: tuple[Variant, ...]
    unchanged: tuple[str, ...]
    matches: bool
    evaluation: Evaluation

    def __repr__(self) -> str:
        lines = [f"{self.measure} = {self.value:.4f} under {stated(self.protocol)}"]
        for variant in (*self.choices, *self.presets, *self.pairs):
            mark = "  <- the value looked for" if variant.matches else ""
            lines.append(f"  {variant.label}: {variant.value:.4f} ({variant.difference:+.4f}){mark}")
        return "\n".join([*lines, f"  no effect: {', '.join(self.unchanged)}" if self.unchanged else ""]).rstrip()


def explain(
    qrels: Any,
    run: Any,
    measure: Any,
    *,
    target: float | str | None = None,
    protocol: Protocol | str | None = None,
    qrels_format: str | None = None,
    run_format: str | None = None,
    **options: Any,
) -> Explanation:
    """
    Say what each convention that bears on a measure does to its value, choice by choice and for the named presets.

    qrels, run, measure, qrels_format, run_format: as evaluate() has them, one measure
    target: a value from elsewhere, as text with as many decimals as are known, like "0.2915": choices that give it
        are marked, and where no single one does, pairs of choices are tried
    protocol, options: the base, from which one choice at a time is changed

    Raises as evaluate() does; MeasureError: several measures, or one that is no mean over topics. InputError: a target
    that is no number.
    """
    base = chosen_protocol(protocol, options)
    column = one_mean(measure, base.compat)
    wanted = _wanted(target)
    judged = as_qrels(qrels, base, qrels_format)
    fields_of = [*_single_choices(column, base, judged.judgements)]
    named = _presets(column, base)
    tried: dict[Choices, str] = dict.fromkeys([(), *fields_of, *named], "")
    if wanted is not None:
        for a, b in itertools.combinations(fields_of, 2):
            if a[0][0] != b[0][0]:
                tried.setdefault(tuple(sorted((*a, *b))), "")
    allowed = [each for each in tried if _possible(column, base, each, judged.judgements)]
    asked = [_variant_column(column, base, each, number) for number, each in enumerate(allowed)]
    common = replace(base, per_measure=(), without_relevant="keep")  # which a column can drop, and not bring back
    evaluator = Evaluator(judged, asked, protocol=common, run_format=run_format)
    evaluation = evaluator.evaluate(run, witness=False)
    summary = list(evaluation.summary.values())
    values = {each: (summary[n], _by_topic(evaluation, n)) for n, each in enumerate(allowed)}

    def variant(each: Choices, label: str) -> Variant:
        value, by_topic = values[each]
        before, topics_before = values[()]
        places = dict(each).get("places")
        if places is not None and math.isfinite(before):
            before = round(before, places)  # to round is no other value
        return Variant(
            each, label, value, 0.0 if value == before else value - before, *_most(topics_before, by_topic),
            matches=wanted is not None and round(value, wanted[1]) == wanted[0],
        )  # fmt: skip

    there = {each: variant(each, ", ".join(names)) for each, names in named.items() if each in values}
    singles = [variant(each, _label(each)) for each in fields_of if each in values]
    by_size = sorted(singles, key=lambda found: -abs(found.difference))
    changing = tuple(found for found in by_size if found.changed or found.difference)
    pairs: list[Variant] = []
    if wanted is not None and not any(found.matches for found in singles):
        both = [each for each in values if len(each) == 2 and each not in named]
        pairs = [found for found in (variant(each, _label(each)) for each in both) if found.matches]
    return Explanation(
        measure=column.name,
        protocol=base,
        value=values[()][0],
        choices=changing,
        presets=tuple(there.values()),
        pairs=tuple(pairs),
        unchanged=tuple(found.label for found in singles if found not in changing),
        matches=variant((), "").matches,
        evaluation=evaluation,
    )


def _wanted(target: float | str | None) -> tuple[float, int] | None:
    """A value and its decimals."""
    if target is None:
        return None
    try:
        text = str(target)
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"target: expected a number, found {described(target)}")
    return value, len(text.partition(".")[2])


def _single_choices(column: Column, base: Protocol, judgements: Any) -> Iterator[Choices]:
    """Every other value of each field, one at a time."""
    own = column.under(base)
    levels = sorted(set(np.unique(judgements.level).tolist())) if isinstance(judgements, Qrels) else []
    values: dict[str, list[Any]] = {
        **{name: list(choices) for name, choices in CHOICES.items()},
        "topics": ["qrels", "both", "run"],
        "relevance_level": [level for level in levels if 0 <= level <= 4] if own.gains != "float" else [],
        "judged_only": [False, True],
        "depth": [10, 100, 1000],
        "gains": ["level", "exp", "binary"] if own.gains != "float" else [],
        "ignore_self": [False, True],
        # Where it is an error that a document is ranked twice there is none.
        "duplicates": [] if own.duplicates.startswith("error") else ["first", "last", "max", "keep"],
    }
    for name, candidates in values.items():
        for value in candidates:
            if value != getattr(own, name):
                yield ((name, value),)


def _presets(column: Column, base: Protocol) -> dict[Choices, list[str]]:
    """
    What each named protocol has otherwise for this measure -> the names of those that have it.

    Those under which a document twice in a ranking is an error, and no value, have the base's rule for it.
    """
    found: dict[Choices, list[str]] = {}
    own = column.under(base)
    for name, preset in protocols.items():
        theirs = column.under(preset.protocol)
        differing = [
            field.name
            for field in fields(Protocol)
            if field.name not in _OF_ALL and getattr(theirs, field.name) != getattr(own, field.name)
        ]
        choices = tuple(
            (field, getattr(theirs, field))
            for field in sorted(differing)
            if field != "duplicates" or not theirs.duplicates.startswith("error")
        )
        found.setdefault(choices, []).append(name)
    return found


def _possible(column: Column, base: Protocol, choices: Choices, judgements: Any) -> bool:
    """Can the measure be computed so?"""
    try:
        under = replace(column.under(base), **dict(choices))
        if under.gains == "exp" and base.gains != "exp" and isinstance(judgements, Qrels):
            judgements.graded(Gains.of("exp"))
    except (InputError, ParameterError):
        return False
    return column.measure.offered(under.compat) and column.has_values(under)


def _variant_column(column: Column, base: Protocol, choices: Choices, number: int) -> Column:
    """The measure as a column of its own."""
    always = [("without_relevant", base.without_relevant), *dict(base.per_measure).get(column.measure.name, ())]
    own = {**dict(always), **dict(column.own), **dict(choices)}
    return replace(column, name=f"{number}", own=tuple(sorted(own.items())), given=True)


def _by_topic(evaluation: Evaluation, column: int) -> dict[str, float]:
    """The values of all topics whose mean the column's summary is."""
    scores = evaluation._scores
    known = dict(zip(evaluation.topics, scores.per_query[:, column].tolist(), strict=True))
    absent = scores.columns[column].measure.absent
    return {topic: known.get(topic, absent) for topic in as_strings(scores.counted_by(column))}


def _most(before: dict[str, float], after: dict[str, float]) -> tuple[int, tuple[tuple[str, float, float], ...]]:
    """Topics whose value changed, or that count under one of the two alone (NaN where not); the largest changes."""
    topics = sorted(before.keys() | after.keys())
    old, new = (np.array([values.get(topic, math.nan) for topic in topics]) for values in (before, after))
    differs = ~((old == new) | (np.isnan(old) & np.isnan(new)))
    with np.errstate(invalid="ignore"):
        size = np.nan_to_num(np.abs(new - old), nan=math.inf)
    chosen = [t for t in np.argsort(-size, kind="stable").tolist() if differs[t]][:_SHOWN]
    return int(differs.sum()), tuple((topics[t], float(old[t]), float(new[t])) for t in chosen)


def _label(choices: Choices) -> str:
    return ", ".join(f"{name}={value}" for name, value in choices)
