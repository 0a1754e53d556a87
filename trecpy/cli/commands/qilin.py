"""`trecpy qilin`: Qilin's figures of search and recommendation, and its judgements."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from trecpy.cli.choices import FORMATS, add_layout, chosen_places, positive, say_about
from trecpy.cli.layout import Cell, rows_as
from trecpy.cli.progress import progress
from trecpy.errors import NothingScoredError, TrecpyError, UsageError
from trecpy.text import input_name

if TYPE_CHECKING:
    from trecpy.cli.main import Streams

DESCRIPTION = """\
MRR@k, MAP@k, Recall@k and Precision@k as Qilin's released evaluator (arXiv 2503.00501) computes them, a row a run: the
mean over topics of both files; equal scores in the order of the file; MAP divided by the relevant notes or k, whichever
is less; notes that are ranked or judged twice count twice. QRELS is CSV of qid,pid and a RUN of qid,pid,score (or
similarity), with a header, or any layout that `trecpy eval` reads; ids are integers. A qid is the number of a row in
the test split, from 0. '-' is standard input."""
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
    add("-k", type=positive, action="append", metavar="N", help="cutoff; may be repeated (default: 10 100)")
    add("--ap", choices=("min", "rel", "hits"),
        help="what MAP is divided by: relevant notes or k, whichever is less (min, default: the evaluator), relevant "
        "notes (rel: the paper, trec_eval), relevant notes in the first k (hits: recipes)")  # fmt: skip
    add("--rr", choices=("cut", "uncut"),
        help="MRR: of the first k ranks (cut, default), or of all whatever k is (uncut: recipes)")  # fmt: skip
    add("--first", type=positive, metavar="N",
        help="only topics with qid < N; the shipped configurations have 1000")  # fmt: skip
    add("--make-qrels", action="store_true",
        help="print the judgements of a released split: clicked notes, qid the row (trecpy[frames])")  # fmt: skip
    add_layout(parser)
    parser.set_defaults(format=None)  # so that it is known to be asked for


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Read, score, print. Returns the exit code of the first run that failed, or 0."""
    from trecpy.cli.runs import check_stdin, named, opened

    check_stdin(options.paths)
    if options.make_qrels:
        from trecpy.formats.qilin import write_gold

        if given := [name for name in ("-k", "--ap", "--rr", "--format", "--places") if _is_given(options, name)]:
            raise UsageError(f"expected no {given[0]} with --make-qrels, which scores nothing")
        write_gold([opened(path, streams.stdin) for path in options.paths], streams.write, options.first)
        return 0
    from trecpy.papers.qilin import QilinScorer

    options.format = options.format or FORMATS[0]
    qrels, *runs = options.paths
    if not runs:
        raise UsageError("expected QRELS RUN..., found no RUN")
    scorer = QilinScorer(
        opened(qrels, streams.stdin), options.k or (10, 100), options.ap or "min", options.rr or "cut", options.first
    )
    for note in scorer.notes:
        streams.warn("warning: " + note)
    rows: list[list[Cell]] = []
    code = 0
    with progress(len(runs), "run", streams.warn) as (step, warn):
        for path in runs:
            try:
                with named(path):
                    figures = scorer.score(opened(path, streams.stdin))
                    if not figures.topics:
                        raise NothingScoredError("no topic is both judged and ranked: do the numbers of rows differ?")
                for note in figures.notes[len(scorer.notes) :]:
                    warn(f"warning: {input_name(path)}: {note}")
                rows.append([path, figures.topics, *figures.values()])
            except TrecpyError as error:
                warn(f"error: {error}")
                code = code or error.exit_code
            step(1)
    if rows:
        for line in rows_as(options.format, ["run", "topics", *scorer.names], rows, chosen_places(options)):
            streams.write(line)
        say_about(["protocol: " + scorer.protocol], options, streams)
    return code


def _is_given(options: argparse.Namespace, name: str) -> bool:
    return getattr(options, name.lstrip("-")) is not None
