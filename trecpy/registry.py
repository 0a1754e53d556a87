"""
What a measure is, and how names and parameters become columns. Knows no measure.

`@declare(...)` above a formula declares it: name, parameters, aggregate, nicknames, generation. The order of
declaration is the order in which columns are printed. Everything else follows: command-line names, help, README's
table, the tests of agreement.
"""

import functools
import inspect
import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from typing import Any, Literal, TypeVar, cast

from trecpy.errors import MeasureError, ParameterError, TrecpyError
from trecpy.gains import Gains
from trecpy.numbers import strtod, strtol
from trecpy.protocol import COMPATS, Compat, Protocol
from trecpy.text import described, quoted, shown


class Aggregate(Enum):
    """How a column's topics become one value. The value says it in words."""

    MEAN = "mean"
    SUM = "sum"
    RELEVANT = "sum; with -c, judgements with a level above 0"
    GEOMETRIC = "geometric mean"
    TOPICS = "number of topics"
    TAG = "the run's tag"
    NONE = "none"


F = TypeVar("F", bound=Callable[..., Any])
Since = Literal["9.0.8", "10.0", "trecpy"]

# Kinds of parameters. `defaults` is what a measure has without any; read() makes (suffix of the name, value) pairs.

Parsed = list[tuple[str, Any]]


@dataclass(eq=False, repr=False)
class NoParameters:
    """A measure that takes none."""

    text = "none"

    def odd(self, items: list[bytes]) -> str | None:
        """What looks like a mistake in given parameters, though the reference takes it in silence."""
        return None

    def read(self, name: str, given: str | None, compat: Compat) -> Parsed:
        """One column, whatever is given."""
        return [("", None)]


@dataclass(frozen=True)
class Cutoffs:
    """Ranks >= 1, one column each, ascending."""

    defaults: tuple[int, ...]

    def __post_init__(self) -> None:
        given = self.defaults
        plain = isinstance(given, tuple) and all(type(k) is int and 0 < k < 2**62 for k in given)
        if not plain or len(set(given)) < len(given):
            raise ParameterError(f"Cutoffs: expected a tuple of different integers >= 1, found {described(given)}")

    @property
    def text(self) -> str:
        """Defaults, as -m takes them."""
        return ",".join(map(str, self.defaults))

    def odd(self, items: list[bytes]) -> str | None:
        """As NoParameters has it."""
        return _not_plain(items, strtol, "an integer")

    def read(self, name: str, given: str | None, compat: Compat) -> Parsed:
        """Raises ParameterError: a cutoff below 1, or one twice."""
        items = sorted(self.defaults if given is None else (strtol(item)[0] for item in _items(given)))
        if items[0] <= 0:
            raise ParameterError(f"{shown(f'{name}.{given}')}: expected cutoffs >= 1, found {items[0]}")
        _refuse_twice(name, given, items)
        return [(f"_{k}", k) for k in items]


@dataclass(frozen=True)
class OptionalCutoffs(Cutoffs):
    """Cutoffs, or none: the whole ranking."""

    defaults: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """What it is without any."""
        return "the whole ranking"

    def read(self, name: str, given: str | None, compat: Compat) -> Parsed:
        """As Cutoffs has it; without any, one column whose parameter is None."""
        return [("", None)] if given is None else super().read(name, given, compat)


@dataclass(eq=False, repr=False)
class Persistence:
    """How likely a reader goes on to the next document."""

    default: float

    @property
    def text(self) -> str:
        """The default, as it is typed."""
        return f"p={self.default}"

    def odd(self, items: list[bytes]) -> str | None:
        """As NoParameters has it."""
        return _not_plain(items, strtod, "a number")

    def read(self, name: str, given: str | None, compat: Compat) -> Parsed:
        """Raises ParameterError: more than one number, or one that is not between 0 and 1."""
        numbers = [self.default] if given is None else _reals(given)
        if len(numbers) != 1 or not 0 < numbers[0] < 1:
            raise ParameterError(f"{shown(f'{name}.{given}')}: expected one number between 0 and 1")
        return [("" if given is None else f"(p={numbers[0]!r})", numbers[0])]


@dataclass(eq=False, repr=False)
class Points:
    """Multiples of a number of documents, one column each, ascending."""

    defaults: tuple[float, ...]

    @property
    def text(self) -> str:
        """Defaults, as -m takes them."""
        return ",".join(f"{point:g}" for point in self.defaults)

    def odd(self, items: list[bytes]) -> str | None:
        """As NoParameters has it."""
        return _not_plain(items, strtod, "a number")

    def read(self, name: str, given: str | None, compat: Compat) -> Parsed:
        """Raises ParameterError: a number twice, or one that makes no number of documents."""
        items = sorted(self.defaults if given is None else _reals(given))
        _refuse_unbounded(name, given, items)
        _refuse_twice(name, given, items)
        # The reference has room for 8 characters of the number.
        return [(f"_{point:3.2f}"[:9], point) for point in items]


@dataclass(eq=False, repr=False)
class RealList:
    """
    A list of real numbers for one column, in the order given.

    multiples: of a number of documents, so that they must be finite; first_only: the others have no effect
    """

    defaults: tuple[float, ...]
    multiples: bool = False
    first_only: bool = False

    @property
    def text(self) -> str:
        """Defaults, as -m takes them."""
        return ",".join(f"{number:g}" for number in self.defaults)

    def odd(self, items: list[bytes]) -> str | None:
        """As NoParameters has it."""
        if self.first_only and len(items) > 1:
            return "only the first parameter counts"
        return _not_plain(items, strtod, "a number")

    def read(self, name: str, given: str | None, compat: Compat) -> Parsed:
        """One column, named with the list as it was typed. Raises ParameterError as Points does, for multiples."""
        if given is None:
            return [("", self.defaults)]
        numbers = tuple(_reals(given))
        if self.multiples:
            _refuse_unbounded(name, given, numbers)
        return [(f"_{given}", numbers)]


@dataclass(eq=False, repr=False)
class LevelGains:
    """`level=gain,...`: what levels are worth; with `p=...` a persistence too."""

    persistence: float | None = None

    @property
    def text(self) -> str:
        """Defaults in words."""
        return "each level is worth itself" + (f", p={self.persistence}" if self.persistence is not None else "")

    def odd(self, items: list[bytes]) -> str | None:
        """As NoParameters has it."""
        pairs = [item.split(b"=") for item in items]
        plain = [len(pair) == 2 and not strtol(pair[0])[1] for pair in pairs]
        named = [self.persistence is not None and pair[0] == b"p" for pair in pairs]
        for item, fine in zip(items, map(max, plain, named), strict=True):
            if not fine:
                return f"expected LEVEL=GAIN with an integer level, found {quoted(item)}"
        return _not_plain([pair[-1] for pair in pairs], strtod, "a number")

    def read(self, name: str, given: str | None, compat: Compat) -> Parsed:
        """Raises ParameterError: an item without exactly one '='."""
        if given is None:
            return [("", (Gains(), self.persistence))]
        pairs, persistence = [], self.persistence
        for item in _items(given):
            parts = item.split(b"=")
            if len(parts) != 2:
                raise ParameterError(f"{shown(f'{name}.{given}')}: expected level=gain,..., found {quoted(item)}")
            level, rest = strtol(parts[0])
            gain = strtod(parts[1])[0]
            # 9.0.8 reads the level as a number whatever it is; 10.0 wants an integer and nothing else.
            if compat == "9.0.8" or (not rest and parts[0].lstrip(b"+-").isdigit()):
                pairs.append((level, gain))
            elif parts[0] == b"p" and persistence is not None:
                persistence = gain
        return [(f"_{given}", (Gains(tuple(pairs)), persistence))]


def _not_plain(items: list[bytes], read: Callable[[bytes], tuple[float, bytes]], kind: str) -> str | None:
    for item in items:
        value, rest = read(item)
        if rest or not item:
            return f"expected {kind}, found {quoted(item)}; {value:g} is used"
    return None


def _items(given: str) -> list[bytes]:
    return os.fsencode(given).split(b",")


def _reals(given: str) -> list[float]:
    return [strtod(item)[0] for item in _items(given)]


def _refuse_unbounded(name: str, given: str | None, items: Sequence[float]) -> None:
    """The reference turns what does not fit 64 bits into a negative number of documents."""
    for item in items:
        if not abs(item) < 2.0**63:
            raise ParameterError(f"{shown(f'{name}.{given}')}: expected finite numbers below 2^63, found {item:g}")


def _refuse_twice(name: str, given: str | None, items: Sequence[float]) -> None:
    for a, b in pairwise(items):
        if a == b:
            raise ParameterError(f"{shown(f'{name}.{given}')}: expected each parameter once, found {b:g} twice")


Parameters = NoParameters | Cutoffs | Persistence | Points | RealList | LevelGains

NO_PARAMETERS = NoParameters()


@dataclass(eq=False, repr=False)
class Measure:
    """
    A measure, as declared.

    formula: takes judged rankings (and the parameter, where there is one), gives float64[Q]
    needs: the forms of judgements that it can be computed from; none: it looks at no documents
    integer: printed without decimals
    zero_if_missing: a topic that the run lacks has 0 instead of what the formula gives for one document outside the
        qrels; for columns named by given parameters that holds only where these are cutoffs
    higher_is_better: of two values, is the larger the better one?
    nonrelevant: does it depend on which documents are judged not relevant, instead of not at all?
    expected: linear in the words that trecpy.expected has, so that it can be averaged over orders of ties
    """

    name: str
    formula: Callable[..., Any]
    parameters: Parameters
    aggregate: Aggregate
    sets: tuple[str, ...]
    needs: tuple[str, ...]
    integer: bool
    text: bool
    since: Since
    zero_if_missing: bool
    higher_is_better: bool
    nonrelevant: bool
    expected: bool

    def __repr__(self) -> str:
        return f"<Measure {self.name}>"

    @property
    def absent(self) -> float:
        """What a topic counts that has no ranking at all: 0, as in trec_eval, but the worst of values in its terms."""
        if self.aggregate is Aggregate.GEOMETRIC:
            return math.log(0.00001)
        return 0.0 if self.higher_is_better or self.known_to("10.0") else math.inf

    @property
    def doc(self) -> str:
        """The formula's documentation."""
        return inspect.getdoc(self.formula) or ""

    @property
    def title(self) -> str:
        """Its first line."""
        return self.doc.partition("\n")[0]

    @property
    def range(self) -> str:
        """What values it can have, as its documentation says; empty where it has none."""
        said = re.search(r"^Range +([^;.]*(?:\.\d[^;.]*)*)", self.doc, re.MULTILINE)
        return said[1] if said else ""

    def _printed(self, suffix: str) -> str:
        """A column's name; measures that trec_eval lacks are written as ir_measures writes them."""
        if suffix and self.since == "trecpy" and isinstance(self.parameters, Cutoffs):
            return f"{self.name}@{suffix[1:]}"
        return self.name + suffix

    def known_to(self, compat: Compat) -> bool:
        """Has this generation of trec_eval the measure?"""
        return self.since == "9.0.8" or self.since == compat

    def offered(self, compat: Compat) -> bool:
        """The same, or it is trecpy's own, which the command trec_eval does not take."""
        return self.known_to(compat) or self.since == "trecpy"

    def columns(self, given: str | None, compat: Compat) -> list["Column"]:
        """The measure's columns. Raises ParameterError."""
        return [
            Column(self, self._printed(suffix), value, given is not None)
            for suffix, value in self.parameters.read(self.name, given, compat)
        ]


@dataclass(eq=False, repr=False)
class Column:
    """
    One printed value of a measure: its name, its parameter, and whether that was given or is the default.

    own: (name, value) of fields of the protocol that are otherwise for this column
    """

    measure: Measure
    name: str
    parameter: Any
    given: bool
    own: tuple[tuple[str, Any], ...] = ()

    def __repr__(self) -> str:
        return f"<Column {self.name}>"

    def under(self, protocol: Protocol) -> Protocol:
        """The conventions of this column where those of the others are `protocol`."""
        measure = dict(protocol.per_measure).get(self.measure.name, ())
        return replace(protocol, per_measure=(), **dict([*measure, *self.own])) if measure or self.own else protocol

    @property
    def per_topic(self) -> bool:
        """Is it printed for single topics?"""
        return self.measure.aggregate in (Aggregate.MEAN, Aggregate.SUM, Aggregate.RELEVANT, Aggregate.NONE)

    def has_values(self, protocol: Protocol) -> bool:
        """Can it be computed where ties are as these conventions of its own have them?"""
        # The divisor and the ideal ranking must not depend on the order of ties where values are averaged over it.
        fixed = protocol.ap != "hits" and protocol.ideal == "judged"
        return protocol.ties != "expected" or not self.measure.needs or (self.measure.expected and fixed)

    @property
    def zero_if_missing(self) -> bool:
        """See Measure; decided by the printed name, as the reference does."""
        return self.measure.zero_if_missing and (not self.given or isinstance(self.measure.parameters, Cutoffs))


_MEASURES: dict[str, Measure] = {}


def catalogue() -> dict[str, Measure]:
    """Every measure by its name, in the order of printing."""
    import trecpy.measures  # noqa: F401  declares them; it imports this module

    return _MEASURES


def declare(
    name: str,
    parameters: Parameters = NO_PARAMETERS,
    *,
    aggregate: Aggregate = Aggregate.MEAN,
    sets: tuple[str, ...] = (),
    needs: tuple[str, ...] = ("qrels",),
    integer: bool = False,
    text: bool = False,
    since: Since = "9.0.8",
    zero_if_missing: bool = False,
    higher_is_better: bool = True,
    nonrelevant: bool = False,
    expected: bool = False,
) -> Callable[[F], F]:
    """Declare a measure; what it decorates is the formula, and stays an ordinary function."""

    def declared(formula: F) -> F:
        _MEASURES[name] = Measure(
            name,
            formula,
            parameters,
            aggregate,
            sets,
            needs,
            integer,
            text,
            since,
            zero_if_missing,
            higher_is_better,
            nonrelevant,
            expected,
        )
        return formula

    return declared


def measure(
    name: str,
    parameters: Parameters = NO_PARAMETERS,
    *,
    aggregate: Aggregate = Aggregate.MEAN,
    higher_is_better: bool = True,
    expected: bool = False,
) -> Callable[[F], F]:
    """
    Declare a measure of your own, which is then asked for by its name.

    name: letters, digits and underscores; parameters: a trecpy.Cutoffs((5, 10)) for a measure with cutoffs
    aggregate: how topics become one value; higher_is_better: of two values, is the larger the better one?
    expected: the formula is linear in counts and sums of gains, so that ties="expected" may average them

    The decorated formula takes a trecpy.judged.Judged, Q rankings joined with judgements (and a cutoff), and returns
    float64[Q]; its first line of documentation says what the measure is.

    Raises MeasureError: the name is taken, or is no name.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise MeasureError(f"measure: expected a name of letters, digits and underscores, found {described(name)}")
    if not isinstance(parameters, NoParameters | Cutoffs):
        raise MeasureError(f"measure: {name}: expected trecpy.Cutoffs or no parameters, found {described(parameters)}")
    if not isinstance(aggregate, Aggregate):
        raise MeasureError(f"measure: {name}: expected a trecpy.registry.Aggregate, found {described(aggregate)}")
    if name in catalogue() or any(name in nicknames(compat) for compat in COMPATS):
        raise MeasureError(f"measure: expected a name that is free, found {quoted(name)}, which is a measure or a set")
    declared = declare(
        name,
        parameters,
        aggregate=aggregate,
        since="trecpy",
        higher_is_better=higher_is_better,
        nonrelevant=True,  # for all that is known
        expected=expected,
    )

    def checked(formula: F) -> F:
        @functools.wraps(formula)
        def values(docs: Any, *arguments: Any) -> Any:
            found = formula(docs, *arguments)
            if getattr(found, "shape", None) != docs.unit.shape or found.dtype.kind not in "biuf":
                wanted = f"a formula that gives float64[{len(docs.unit)}]"
                raise MeasureError(f"{name}: expected {wanted}, found {described(found)}")
            return found

        return cast(F, declared(values))

    return checked


def nicknames(compat: Compat) -> dict[str, list[str]]:
    """Each set of measures by its nickname, in the order of printing."""
    sets: dict[str, list[str]] = {}
    for each in catalogue().values():
        if each.known_to(compat):
            for nickname in each.sets:
                sets.setdefault(nickname, []).append(each.name)
    return sets


@dataclass(eq=False, repr=False)
class Request:
    """What one -m asks for: a measure or nickname, and parameters or None."""

    name: str
    given: str | None = None

    def __str__(self) -> str:
        return f"-m {shown(f'{self.name}.{self.given}')}"

    @classmethod
    def parse(cls, text: str, compat: Compat) -> "Request":
        """Read NAME or NAME.PARAMETERS. Raises MeasureError: no such name, or nothing behind the dot."""
        name, dot, given = text.partition(".")
        if dot and not given:
            raise MeasureError(f"-m {shown(text)}: expected parameters behind the dot, found nothing")
        known = catalogue().get(name)
        if name not in nicknames(compat) and not (known and known.known_to(compat)):
            raise MeasureError(
                f"-m {shown(text)}: no measure or nickname is called {quoted(name)}{_hint(text, compat)}"
            )
        return cls(name, given if dot else None)


def _hint(text: str, compat: Compat) -> str:
    """What may have been meant."""
    import difflib

    measures = catalogue()
    name = text.partition(".")[0]
    if name in measures:
        if measures[name].since == "trecpy":
            return "; it is trecpy's own, and scored from Python only"
        return f" in trec_eval {compat}; it came with {measures[name].since}"
    folded = {known.lower(): known for known in [*measures, *nicknames(compat)]}
    base, _, cutoff = text.rpartition("_")
    if base in measures and measures[base].parameters is not NO_PARAMETERS and set(cutoff) <= set("0123456789.,"):
        return f"; that column is asked for by '{base}.{shown(cutoff)}'"
    from trecpy.names import parse_name

    try:
        meant = [column for column in parse_name(text, compat) if column.measure.known_to(compat)]
        if len(meant) == 1 and not meant[0].own:
            parameter = f".{meant[0].parameter}" if meant[0].given else ""
            return f"; here it is called '{meant[0].measure.name}{parameter}'"
    except TrecpyError:
        pass
    close = difflib.get_close_matches(name.lower(), folded, 3, 0.6)
    return "; near it are " + ", ".join(folded[key] for key in close) if close else "; -h lists them"


def select(requests: Iterable[Request], compat: Compat) -> list[Measure]:
    """What is asked for, in the order of printing. Without any request, `official` is meant."""
    sets = nicknames(compat)
    wanted = {
        name for request in list(requests) or [Request("official")] for name in sets.get(request.name, [request.name])
    }
    return [each for each in catalogue().values() if each.name in wanted]


def columns(requests: Sequence[Request], compat: Compat) -> list[Column]:
    """The columns that are asked for, in the order of printing. Raises ParameterError."""
    given, _ = _parameters(requests)
    return [column for each in select(requests, compat) for column in each.columns(given.get(each.name), compat)]


def ignored(requests: Sequence[Request]) -> list[str]:
    """What is said of parameters that have no effect."""
    return _parameters(requests)[1]


def _parameters(requests: Sequence[Request]) -> tuple[dict[str, str], list[str]]:
    """The parameters of each measure, and which have no effect: of several for one name the first count."""
    measures = catalogue()
    given: dict[str, str] = {}
    lost = []
    for request in requests:
        if request.given is None:
            continue
        if request.name not in measures or measures[request.name].parameters is NO_PARAMETERS:
            kind = "measure" if request.name in measures else "nickname"
            lost.append(f"{request}: the {kind} takes no parameters; they are ignored")
        elif given.setdefault(request.name, request.given) != request.given:
            lost.append(f"{request}: ignored, since {Request(request.name, given[request.name])} came first")
        elif odd := measures[request.name].parameters.odd(_items(request.given)):
            lost.append(f"{request}: {odd}")
    return given, lost
