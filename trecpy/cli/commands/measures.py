"""`trecpy measures`: every measure with its range, parameters and names; one of them with a worked example."""

from __future__ import annotations

import argparse
import io
from typing import TYPE_CHECKING

from trecpy.cli.choices import FORMATS
from trecpy.cli.layout import rows_as
from trecpy.errors import MeasureError
from trecpy.text import quoted

if TYPE_CHECKING:
    from trecpy.cli.main import Streams
    from trecpy.registry import Column, Measure

DESCRIPTION = """\
List every measure: its range, its parameters and their defaults, and its names in other tools. With NAME, by any of its
names, explain one: formula, source, names, and an example worked out rank by rank."""
EXAMPLES = """\
  trecpy measures
  trecpy measures nDCG@10
  trecpy measures --format tsv > measures.tsv
"""
_TOPIC, _TAG = b"q1", b"example"
# What judges the ranking below: d6 is relevant and not ranked, d3 has no judgement.
_QRELS = {
    "qrels": b"q1 0 d1 1\nq1 0 d2 0\nq1 0 d4 2\nq1 0 d5 0\nq1 0 d6 1\n",
    "qrels_jg": b"q1 A d1 1\nq1 A d2 0\nq1 A d4 1\nq1 B d4 1\nq1 B d5 0\nq1 B d6 1\n",
    "prefs": b"q1 A 1 d1 2\nq1 A 1 d2 1\nq1 A 1 d4 3\nq1 A 1 d6 2\nq1 B 1 d4 2\nq1 B 1 d2 1\n",
}
_RANKING = ("d1", "d2", "d3", "d4", "d5")
_CUTOFFS = "3,5"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("name", metavar="MEASURE", nargs="?", help="a measure, by any of its names")
    parser.add_argument("--format", choices=FORMATS, default="table", help="of the list: table (default), tsv or jsonl")


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Print the list, or what is known of one measure. Returns 0."""
    from trecpy.registry import catalogue

    if options.name is None:
        header = ["measure", "range", "parameters", "trec_eval", "ir_measures", "others", "what it is"]
        rows = [_row(each) for each in catalogue().values()]
        for line in rows_as(options.format, header, rows, None):
            streams.write(line)
        return 0
    streams.write(("\n".join(_explained(_named(options.name))) + "\n").encode())
    return 0


def _row(measure: Measure) -> list[str]:
    from trecpy.names import spellings

    names = spellings(measure)
    spelled = [" ".join(names[dialect]) or "-" for dialect in ("trec_eval", "ir_measures", "others")]
    return [measure.name, measure.range or "-", measure.parameters.text, *spelled, measure.title]


def _named(name: str) -> Measure:
    """The measure that a name stands for. Raises MeasureError: none, or a set of measures."""
    from trecpy.names import parse_name
    from trecpy.registry import catalogue

    if name in catalogue():
        return catalogue()[name]
    measures = {column.measure.name: column.measure for column in parse_name(name, "10.0")}
    if len(measures) != 1:
        raise MeasureError(f"{quoted(name)} is a set of measures: {' '.join(measures)}")
    return next(iter(measures.values()))


def _explained(measure: Measure) -> list[str]:
    from trecpy.cli.help import describe
    from trecpy.names import spellings

    names = [f"{dialect} {' '.join(found)}" for dialect, found in spellings(measure).items() if found]
    lines = [describe(measure, "10.0")]
    if measure.since == "10.0":
        lines.append("  Since     trec_eval 10.0")
    elif measure.since == "trecpy":
        lines.append("  Since     trecpy: the command trec_eval has it not")
    lines.append(f"  Names     {'; '.join(names)}")
    if measure.needs:
        lines += ["", *_example(measure)]
    return lines


def _example(measure: Measure) -> list[str]:
    """The example's judgements and ranking, what is counted on the way, and the values."""
    from trecpy.api import Evaluator
    from trecpy.collection import Qrels
    from trecpy.registry import Cutoffs

    form = measure.needs[0]
    given = _CUTOFFS if isinstance(measure.parameters, Cutoffs) else None
    columns = measure.columns(given, "10.0")
    evaluator = Evaluator(Qrels.read(io.BytesIO(_QRELS[form]), form=form), columns)
    evaluation = evaluator.evaluate({"q1": list(_RANKING)})
    lines = [f"Example, judgements of -R {form}: " + "; ".join(_QRELS[form].decode().splitlines())]
    lines += _rank_by_rank() if form == "qrels" else ["  ranking: " + " ".join(_RANKING)]
    for column in columns[:5]:
        lines.append(f"  {column.name} = {_value(column, evaluation)}")
    return lines


def _value(column: Column, evaluation: object) -> str:
    from trecpy.api import Evaluation

    assert isinstance(evaluation, Evaluation)
    if column.measure.text:
        return repr(evaluation.texts[column.name][0])
    return f"{evaluation.summary[column.name]:.4f}"


def _rank_by_rank() -> list[str]:
    """Running counts and sums, as formulas use them."""
    from math import log2

    levels = {line.split()[2].decode(): int(line.split()[3]) for line in _QRELS["qrels"].splitlines()}
    relevant, gain = 0, 0.0
    lines = ["  rank  docno  level  relevant so far  precision  recall  discount  DCG so far"]
    total = sum(level > 0 for level in levels.values())
    for rank, docno in enumerate(_RANKING, 1):
        level = levels.get(docno)
        relevant += (level or 0) > 0
        gain += (level or 0) / log2(rank + 1)
        lines.append(
            f"  {rank:>4}  {docno:<5}  {'-' if level is None else level:>5}  {relevant:>15}  {relevant / rank:>9.4f}  "
            f"{relevant / total:>6.4f}  {1 / log2(rank + 1):>8.4f}  {gain:>10.4f}"
        )
    best = sorted(levels.values(), reverse=True)
    ideal = sum(level / log2(rank + 1) for rank, level in enumerate(best, 1))
    return [*lines, f"  relevant in the judgements (R): {total}; DCG of the ideal ranking {best}: {ideal:.4f}"]
