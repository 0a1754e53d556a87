"""`trecpy qilin`: Qilin's figures of search and recommendation, and its judgements."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from trecpy.cli.choices import add_layout, chosen_places, say_about, whole_number
from trecpy.cli.layout import Cell, rows_as
from trecpy.cli.progress import progress
from trecpy.errors import TrecpyError, UsageError
from trecpy.text import shown

if TYPE_CHECKING:
    from trecpy.cli.main import Streams

DESCRIPTION = """\
MRR@k, MAP@k, Recall@k and Precision@k as Qilin's released evaluator (arXiv 2503.00501) computes them, a row a run: the
mean over topics of both files; equal scores in the order of the file; MAP divided by the relevant notes or k, whichever
is less; notes that are ranked or judged twice count twice. QRELS is CSV of qid,pid and a RUN of qid,pid,score (or
similarity), with a header, or any layout that `trecpy eval` reads. A qid is the number of a row in the test split, from
0."""
EXAMPLES = """\
  trecpy qilin search.test.qrels.csv rerank_results.csv
  trecpy qilin search.test.qrels.csv rerank_results.csv --first 1000
  trecpy qilin search.test.qrels.csv run.csv -k 10 --ap rel
  trecpy qilin --make-qrels search_test.parquet > search.test.qrels.csv
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("paths", metavar="FILE", nargs="+", help="QRELS RUN...; with --make-qrels the Parquet files of one split")
    add("-k", type=whole_number, action="append", metavar="N", help="cutoff; may be repeated (default: 10 100)")
    add("--ap", choices=("min", "rel", "hits"), default="min",
        help="what MAP is divided by: relevant notes or k, whichever is less (min, default: the evaluator), relevant "
        "notes (rel: the paper, trec_eval), relevant notes in the first k (hits: recipes)")  # fmt: skip
    add("--rr", choices=("cut", "uncut"), default="cut",
        help="MRR: of the first k ranks (cut, default), or of all whatever k is (uncut: recipes)")  # fmt: skip
    add("--first", type=whole_number, metavar="N",
        help="only topics with qid < N; the shipped configurations have 1000")  # fmt: skip
    add("--make-qrels", action="store_true",
        help="print the judgements of a released split: clicked notes, qid the row (trecpy[frames])")  # fmt: skip
    add_layout(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Read, score, print. Returns the exit code of the first run that failed, or 0."""
    if options.make_qrels:
        from trecpy.formats.qilin import write_gold

        write_gold(options.paths, streams.write)
        return 0
    from trecpy.cli.runs import opened
    from trecpy.papers.qilin import QilinScorer

    qrels, *runs = options.paths
    if not runs:
        raise UsageError("expected QRELS RUN..., found no RUN")
    scorer = QilinScorer(qrels, options.k or (10, 100), options.ap, options.rr, options.first)
    for note in scorer.evaluator.notes:
        streams.warn("warning: " + note)
    rows: list[list[Cell]] = []
    code = 0
    with progress(len(runs), "run", streams.warn) as (step, warn):
        for path in runs:
            name = shown(path)
            try:
                figures = scorer.score(opened(path, streams.stdin))
                for note in figures.notes[len(scorer.evaluator.notes) :]:
                    warn(f"warning: {name}: {note}")
                rows.append([path, figures.topics, *figures.values()])
            except TrecpyError as error:
                text = str(error)
                warn("error: " + (text if name in text else f"{name}: {text}"))
                code = code or error.exit_code
            step(1)
    if rows:
        for line in rows_as(options.format, ["run", "topics", *scorer.names], rows, chosen_places(options)):
            streams.write(line)
        say_about(["protocol: " + scorer.protocol], options, streams)
    return code
