"""Options that several subcommands share: the measures, the protocol and the layout, and what is said of them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from trecpy.protocol import Protocol
from trecpy.text import quoted

if TYPE_CHECKING:
    from trecpy.cli.main import Streams

FORMATS = ("table", "tsv", "jsonl")
_PLACES = 4
_ALWAYS_STATED = ("compat", "topics", "relevance_level", "ties")


def add_measures(parser: argparse.ArgumentParser, defaults: tuple[str, ...]) -> None:
    """-m, with what it is without any."""
    parser.add_argument(
        "-m",
        "--measure",
        metavar="MEASURE",
        action="append",
        dest="measures",
        help=f"by any of its names: map, ndcg_cut_10, nDCG@10, 'P(rel=2)@5', official; may be repeated (default: "
        f"{' '.join(defaults)})",
    )
    parser.set_defaults(default_measures=defaults)


def chosen_measures(options: argparse.Namespace) -> list[str]:
    """The names that were asked for."""
    return options.measures or list(options.default_measures)


def add_protocol(parser: argparse.ArgumentParser) -> None:
    """One option for each field of Protocol; what is not given stays as its default is."""
    group = parser.add_argument_group("conventions")
    add = group.add_argument
    add(
        "--topics",
        choices=("qrels", "both", "run", "same"),
        default=argparse.SUPPRESS,
        help="whose mean: every judged topic, missing ones too (qrels, the default); judged topics of the run (both); "
        "the run's, unjudged ones with 0 (run); as both, but different topics are an error (same)",
    )
    add(
        "--relevance-level",
        type=int,
        metavar="N",
        default=argparse.SUPPRESS,
        help="documents of level N or above are relevant (default 1)",
    )
    add(
        "--judged-only",
        action="store_true",
        default=argparse.SUPPRESS,
        help="drop documents without a judgement from rankings",
    )
    add("--depth", type=int, metavar="N", default=argparse.SUPPRESS, help="keep the first N documents of each ranking")
    add(
        "--ties",
        choices=("trec", "input"),
        default=argparse.SUPPRESS,
        help="documents of equal score: the larger docno first (trec, the default), or as they came (input)",
    )
    add(
        "--duplicates",
        choices=("error", "first", "max", "error-within-depth"),
        default=argparse.SUPPRESS,
        help="a document twice in a ranking: an error (default), the first counts, the larger score counts",
    )
    add(
        "--ignore-self",
        action="store_true",
        default=argparse.SUPPRESS,
        help="drop documents whose docno is the topic's id",
    )
    add(
        "--compat",
        choices=("10.0", "9.0.8"),
        default=argparse.SUPPRESS,
        help="generation of trec_eval to follow (default 10.0)",
    )


def chosen_protocol(options: argparse.Namespace) -> Protocol:
    """The protocol that was asked for. Raises InputError: a value that it cannot have."""
    given = vars(options)
    return Protocol(**{field.name: given[field.name] for field in fields(Protocol) if field.name in given})


def protocol_line(protocol: Protocol) -> str:
    """The conventions in one line: the usual ones, and each that is not its default."""
    default = Protocol()
    stated = [
        f"{field.name}={getattr(protocol, field.name)}"
        for field in fields(Protocol)
        if field.name in _ALWAYS_STATED or getattr(protocol, field.name) != getattr(default, field.name)
    ]
    return "protocol: " + ", ".join(stated)


def add_layout(parser: argparse.ArgumentParser) -> None:
    """--format and --places."""
    parser.add_argument(
        "--format", choices=FORMATS, default="table", help="table (default), tab-separated values, or JSON lines"
    )
    parser.add_argument(
        "--places",
        type=_places,
        metavar="N",
        help=f"decimals (default: {_PLACES} in a table, all of a double's digits elsewhere)",
    )


def chosen_places(options: argparse.Namespace) -> int | None:
    """Decimals, or None for all digits."""
    if options.places is None:
        return _PLACES if options.format == "table" else None
    return int(options.places)


def say_about(lines: Sequence[str], options: argparse.Namespace, streams: Streams) -> None:
    """What the values are: below a table; on standard error where the output is for programs."""
    for line in lines:
        if options.format == "table":
            streams.write(line.encode("utf-8", "surrogateescape") + b"\n")
        else:
            streams.warn(line)


def whole_number(text: str) -> int:
    """An option's value that is an integer >= 0, in at most 18 digits."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise argparse.ArgumentTypeError(f"expected an integer >= 0, found {quoted(text)}")
    return int(text)


def _places(text: str) -> int:
    if not text.isdecimal() or int(text) > 17:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 17, found {quoted(text)}")
    return int(text)
