"""`trecpy explain`: one measure of a run under every convention that bears on it."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from trecpy.cli.choices import (
    add_file_formats,
    add_layout,
    add_protocol,
    chosen_places,
    chosen_protocol,
    protocol_line,
    say_about,
)
from trecpy.cli.layout import Cell, rows_as
from trecpy.errors import UsageError
from trecpy.text import quoted

if TYPE_CHECKING:
    from trecpy.cli.main import Streams
    from trecpy.explaining import Variant

DESCRIPTION = """\
Score RUN by one measure under every convention that bears on it: one choice changed at a time, and the conventions of
papers, boards and tools. Says what each does to the value, in how many topics, and where most. With --target, a number
from elsewhere, choices that give it are marked; where no single one does, pairs of choices are tried."""
EXAMPLES = """\
  trecpy explain qrels.txt run.txt -m nDCG@10
  trecpy explain qrels.txt run.txt -m RR@10 --protocol beir
  trecpy explain qrels.txt run.txt -m map --target 0.2915
"""
_MARK = "<- target"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "qrels", metavar="QRELS", help="judgements, a file or irds:NAME of ir_datasets; '-' is standard input"
    )
    parser.add_argument("run", metavar="RUN", help="rankings; '-' is standard input")
    parser.add_argument(
        "-m", "--measure", metavar="MEASURE", required=True, action="append", help="one measure, by any of its names"
    )
    parser.add_argument(
        "--target", type=_target, metavar="VALUE", help="a value from elsewhere, with the decimals that are known"
    )
    add_layout(parser)
    add_file_formats(parser)
    add_protocol(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Score, print. Returns 0."""
    from trecpy.cli.runs import check_stdin, named, opened
    from trecpy.explaining import explain

    protocol = chosen_protocol(options)
    check_stdin([options.qrels, options.run])
    if len(options.measure) > 1:
        raise UsageError(f"expected one -m, found {len(options.measure)}")
    with named(options.run):
        found = explain(
            opened(options.qrels, streams.stdin),
            opened(options.run, streams.stdin),
            options.measure[0],
            target=options.target,
            protocol=protocol,
            qrels_format=options.qrels_format,
            run_format=options.run_format,
        )
    for note in found.evaluation.notes:
        streams.warn("warning: " + note)
    header = ["choice", found.measure, "difference", "topics", "most"]
    presets = [variant for variant in found.presets if variant.changed or variant.difference]
    alike = [variant.label for variant in found.presets if variant not in presets]
    variants = [*found.choices, *found.pairs, *presets]
    rows: list[list[Cell]] = [["(base)", found.value, None, None, ""], *(_row(each, options) for each in variants)]
    if options.target is not None:
        header.append("target")
        marks = [found.matches, *(each.matches for each in variants)]
        rows = [[*row, _MARK if mark else ""] for row, mark in zip(rows, marks, strict=True)]
    for line in rows_as(options.format, header, rows, chosen_places(options)):
        streams.write(line)
    about = [f"as the base: {', '.join(alike)}"] if alike else []
    about += [f"no effect: {', '.join(found.unchanged)}"] if found.unchanged else []
    if options.target is not None and not found.matches and not any(each.matches for each in variants):
        about.append(f"no choice, pair of choices or preset gives {options.target}")
    say_about([*about, "base " + protocol_line(protocol)], options, streams)
    return 0


def _target(text: str) -> str:
    """A number, as it was written."""
    try:
        if math.isfinite(float(text)):
            return text
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"expected a number, found {quoted(text)}")


def _row(variant: Variant, options: argparse.Namespace) -> list[Cell]:
    places = chosen_places(options)
    most = "; ".join(f"{topic}: {_text(a, places)} to {_text(b, places)}" for topic, a, b in variant.most)
    return [variant.label, variant.value, variant.difference, variant.changed, most]


def _text(value: float, places: int | None) -> str:
    if math.isnan(value):
        return "left out"
    return repr(value) if places is None else f"{value:.{places}f}"
