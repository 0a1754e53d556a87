"""Options that several subcommands share: the measures, the protocol and the layout, and what is said of them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from trecpy.errors import InputError, UsageError
from trecpy.protocol import Protocol
from trecpy.protocol import chosen_protocol as with_options
from trecpy.text import quoted

if TYPE_CHECKING:
    from trecpy.cli.main import Streams

FORMATS = ("table", "tsv", "jsonl")
_PLACES = 4
_MEASURES = ("map", "recip_rank", "P_10", "recall_1000", "ndcg_cut_10")


def add_measures(parser: argparse.ArgumentParser) -> None:
    """-m."""
    parser.add_argument(
        "-m",
        "--measure",
        metavar="MEASURE",
        action="append",
        dest="measures",
        help=f"by any of its names: map, ndcg_cut_10, nDCG@10, 'P(rel=2)@5', official; may be repeated (default: "
        f"{' '.join(_MEASURES)})",
    )


def chosen_measures(options: argparse.Namespace) -> list[str]:
    """The names that were asked for, else those of the preset, else the usual ones."""
    if options.measures is None and options.protocol is not None:
        from trecpy.presets import protocols

        if options.protocol in protocols:
            return list(protocols[options.protocol].measures)
    return options.measures or list(_MEASURES)


def add_protocol(parser: argparse.ArgumentParser) -> None:
    """One option for each field of Protocol; what is not given stays as its default is."""
    hints = get_type_hints(Protocol)
    group = parser.add_argument_group("conventions")
    group.add_argument(
        "--protocol",
        metavar="NAME",
        help="those of a paper, board or tool, whose measures are the default then: beir, msmarco-passage, qder, ... "
        "(an unknown name lists them); options below change single ones",
    )

    def add(name: str, text: str, **how: Any) -> None:
        if get_origin(hints[name]) is Literal:
            how["choices"] = get_args(hints[name])
        elif hints[name] is bool:
            how["action"] = "store_true"
        group.add_argument("--" + name.replace("_", "-"), help=text, default=argparse.SUPPRESS, **how)

    add("topics", "whose mean: every judged topic, missing ones too (qrels, the default); judged topics of the run "
        "(both); the run's, unjudged ones with 0 (run); as both, but different topics are an error (same)")  # fmt: skip
    add("relevance_level", "documents of level N or above are relevant (default 1)", type=_number, metavar="N")
    add("judged_only", "drop documents without a judgement from rankings")
    add("depth", "keep the first N documents of each ranking", type=int, metavar="N")
    add("ties", "documents of equal score: the larger docno first (trec, the default); as they came (input); the order "
        "that is best or worst for the run; the mean over all orders (expected); files in the layout msmarco at the "
        "ranks that they state (rank)")  # fmt: skip
    add("gains", "what levels are worth: themselves (level, the default), themselves and possibly fractions (float), "
        "2^level - 1 (exp), 1 if relevant (binary), or LEVEL=GAIN,...", type=_gains, metavar="GAINS")  # fmt: skip
    add("ideal", "what nDCG's ideal ranking is made of: all judged documents (default) or the ranked ones")
    add("ap", "what average precision is divided by: the relevant documents (rel, default); these or the cutoff, "
        "whichever is less (min); the relevant ones down to the cutoff (hits)")  # fmt: skip
    add("duplicates", "a document twice in a ranking: an error (default; or unless depth cuts it off); the first, the "
        "last, the one of larger score counts; each counts (keep)")  # fmt: skip
    add("ignore_self", "drop documents whose docno is the topic's id")
    add("compat", "generation of trec_eval to follow (default 10.0)")
    add("num_docs", "documents in the collection; only utility asks", type=int, metavar="N")
    add("without_relevant", "topics without a relevant document are kept (default) or dropped")
    add("batch", "mean over means of N topics each", type=int, metavar="N")
    add(
        "max_grade",
        "largest grade of the scale: a higher one is an error (default: any; 4 for ERR)",
        type=int,
        metavar="N",
    )


def chosen_protocol(options: argparse.Namespace) -> Protocol:
    """The protocol that was asked for. Raises UsageError: a value that it cannot have."""
    given = vars(options)
    names = [field.name for field in fields(Protocol) if field.name != "places"]
    chosen = {name: given[name] for name in names if name in given}
    if given.get("places") is not None and _preset_places(options) is not None:
        chosen["places"] = options.places  # rounded once
    try:
        return with_options(options.protocol, chosen)
    except InputError as error:
        name, _, found = str(error).partition(": ")
        raise UsageError(f"--{name.replace('_', '-')}: {found}") from None


def _preset_places(options: argparse.Namespace) -> int | None:
    """Decimals to which the preset rounds, if there is one and it does."""
    if getattr(options, "protocol", None) is None:
        return None
    from trecpy.presets import protocols

    return protocols[options.protocol].protocol.places if options.protocol in protocols else None


def protocol_line(protocol: Protocol) -> str:
    """The conventions in one line."""
    from trecpy.presets import stated

    return "protocol: " + stated(protocol)


def add_file_formats(parser: argparse.ArgumentParser) -> None:
    """--qrels-format and --run-format."""
    from trecpy.formats.columns import LAYOUTS

    group = parser.add_argument_group("files", "Plain or compressed (gzip, bzip2, xz, zstandard), in any layout.")
    for name in ("qrels", "run"):
        group.add_argument(
            f"--{name}-format", choices=tuple(LAYOUTS), metavar="LAYOUT",
            help=f"of {name}: {', '.join(LAYOUTS)} (default: what the first lines are)",
        )  # fmt: skip


def add_layout(parser: argparse.ArgumentParser) -> None:
    """--format and --places."""
    parser.add_argument(
        "--format", choices=FORMATS, default="table", help="table (default), tab-separated values, or JSON lines"
    )
    parser.add_argument(
        "--places",
        type=_places,
        metavar="N",
        help=f"decimals (default: {_PLACES} in a table, or those of the protocol; all of a double's digits elsewhere)",
    )


def chosen_places(options: argparse.Namespace) -> int | None:
    """Decimals, or None for all digits."""
    if options.places is not None:
        return int(options.places)
    if options.format != "table":
        return None
    rounded = _preset_places(options)
    return _PLACES if rounded is None else rounded


def say_about(lines: Sequence[str], options: argparse.Namespace, streams: Streams) -> None:
    """What the values are: below a table; on standard error where the output is for programs."""
    for line in lines:
        if options.format == "table":
            streams.write(line.encode("utf-8", "surrogateescape") + b"\n")
        else:
            streams.warn(line)


def _number(text: str) -> int | float:
    """An integer where it is one; Protocol says whether a fraction may be."""
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _gains(text: str) -> str | dict[int, float]:
    """A name that Protocol knows, or LEVEL=GAIN,..."""
    if "=" not in text:
        return text
    try:
        pairs = [(int(level), float(gain)) for level, gain in (part.split("=") for part in text.split(","))]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected LEVEL=GAIN,..., found {quoted(text)}") from None
    gains = dict(pairs)
    if len(gains) < len(pairs):
        raise argparse.ArgumentTypeError(f"expected each level once, found {quoted(text)}")
    return gains


def whole_number(text: str, least: int = 0) -> int:
    """An option's value that is an integer >= 0, in at most 18 digits."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text) >= least):
        raise argparse.ArgumentTypeError(f"expected an integer >= {least} of at most 18 digits, found {quoted(text)}")
    return int(text)


def positive(text: str) -> int:
    """An option's value that is an integer >= 1, in at most 18 digits."""
    return whole_number(text, 1)


def _places(text: str) -> int:
    if not text.isdecimal() or int(text) > 17:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 17, found {quoted(text)}")
    return int(text)
