"""`trecpy eval`: runs scored by one file of judgements, one row a run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from trecpy.cli.choices import (
    add_file_formats,
    add_layout,
    add_measures,
    add_protocol,
    chosen_measures,
    chosen_places,
    protocol_line,
    say_about,
)
from trecpy.cli.layout import Cell, rows_as
from trecpy.cli.progress import progress
from trecpy.errors import TrecpyError
from trecpy.text import quoted

if TYPE_CHECKING:
    from trecpy.api import Evaluation, Evaluator
    from trecpy.cli.main import Streams

DESCRIPTION = """\
Score runs by the judgements in QRELS, which are read once, and print one row a run. A run that cannot be scored is an
error on standard error; the others are scored, and the exit code is that of the first failure."""
EXAMPLES = """\
  trecpy eval qrels.txt run.txt
  trecpy eval -m nDCG@10 -m map --topics both qrels.txt *.run
  trecpy eval -m ndcg_cut_10 --per-query --format tsv qrels.txt run.txt > topics.tsv
  trecpy eval --folds -m map -m nDCG@20 qrels.txt fold-*.run
  trecpy eval irds:msmarco-passage/trec-dl-2019/judged run.tsv.gz --run-format msmarco
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "qrels", metavar="QRELS", help="judgements, a file or irds:NAME of ir_datasets; '-' is standard input"
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="rankings; '-' is standard input")
    add_measures(parser)
    parser.add_argument("-q", "--per-query", action="store_true", help="print each topic's values before the summary")
    parser.add_argument(
        "--folds", action="store_true", help="the RUNs are folds of one run; a topic in two of them is an error"
    )
    parser.add_argument(
        "--threads", type=_threads, metavar="N", help="that read and rank runs (default: the cores there are)"
    )
    add_layout(parser)
    add_file_formats(parser)
    add_protocol(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Read, score, print. Returns the exit code of the first run that failed, or 0."""
    from trecpy.cli.runs import evaluated, prepared, say_notes
    from trecpy.threads import in_order, workers_of

    evaluator = prepared(options, chosen_measures(options), options.runs, streams)
    say_notes(evaluator, streams.warn)
    rows: list[list[Cell]] = []
    code = 0
    runs: list[tuple[str, list[str]]] = [(path, []) for path in options.runs]
    if options.folds:
        runs = [(" + ".join(options.runs), options.runs)]
    # Of many runs each has one thread, which a short one does not outlive; of a few, or one, the parts are spread.
    threads = workers_of(options.threads)
    of_each, together = (1, threads) if len(runs) >= 2 * threads else (threads, 1)

    def work(item: tuple[str, list[str]]) -> tuple[list[str], list[list[Cell]] | TrecpyError]:
        said: list[str] = []
        path, folds = item
        try:
            evaluation = evaluated(evaluator, path, streams.stdin, said.append, folds=folds, threads=of_each)
            return said, _rows(evaluation, evaluator, path, options.per_query)
        except TrecpyError as error:
            return said, error

    with progress(len(runs), "run", streams.warn) as (step, warn):
        for _, (said, found) in in_order(work, runs, together, alone=1):
            for text in said:
                warn(text)
            if isinstance(found, TrecpyError):
                warn(f"error: {found}")
                code = code or found.exit_code
            else:
                rows += found
            step(1)
    _print(rows, evaluator, options, streams)
    return code


def _rows(evaluation: Evaluation, evaluator: Evaluator, path: str, per_query: bool) -> list[list[Cell]]:
    """The rows of a run: its topics, where they are asked for, and the summary."""
    columns = [column for column in evaluator.columns if not column.measure.text]
    whole = {column.name for column in columns if column.measure.integer}

    def cells(values: dict[str, float]) -> list[Cell]:
        return [int(values[column.name]) if column.name in whole else values[column.name] for column in columns]

    summary = cells(evaluation.summary)
    if not per_query:
        return [[path, *summary]]
    return [[path, topic, *cells(row)] for topic, row in evaluation.to_dict().items()] + [[path, "all", *summary]]


def _print(rows: list[list[Cell]], evaluator: Evaluator, options: argparse.Namespace, streams: Streams) -> None:
    if not rows:
        return
    header = ["run", *(["topic"] if options.per_query else [])]
    header += [column.name for column in evaluator.columns if not column.measure.text]
    for line in rows_as(options.format, header, rows, chosen_places(options)):
        streams.write(line)
    say_about([protocol_line(evaluator.protocol)], options, streams)


def _threads(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1000:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 999, found {quoted(text)}")
    return int(text)
