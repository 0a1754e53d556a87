"""`trecpy quoter`: QuoteR's figures of gold quotes among all quotes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from trecpy.cli.choices import add_layout, chosen_places, positive, say_about
from trecpy.cli.layout import Cell, rows_as
from trecpy.errors import FileError, TrecpyError, UsageError
from trecpy.text import input_name, shown

if TYPE_CHECKING:
    from trecpy.cli.main import Streams
    from trecpy.formats.quoter import Quotes
    from trecpy.papers.figures import Figures

DESCRIPTION = """\
Where the one gold quote of each context stands among all quotes, as QuoteR (arXiv 2202.13145) reports it: MRR, NDCG@5,
recall, and median, mean, variance and standard deviation of the gold quotes' ranks, which are from 1. A column (in TSV
and JSON lines a row) for each matrix, file of ranks or run: the languages of the data are scored apart. A gold quote
that was not ranked counts 0, is counted and said, and leaves the rank statistics undefined, unless --pool says how many
quotes there are. '-' as a run or a file of ranks is standard input."""
EXAMPLES = """\
  trecpy quoter --scores scores.npy --gold gold.npy
  trecpy quoter --data english.txt --language english --scores scores.npy
  trecpy quoter --ranks ranks.txt --as-published
  trecpy quoter gold.qrels first.run second.run
"""
_LANGUAGES = ("english", "modern-chinese", "ancient-chinese")  # formats.quoter has them; help does without NumPy


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("paths", metavar="FILE", nargs="*", help="GOLD RUN...: TREC judgements and runs; with --data only RUN...")
    add("--scores", metavar="FILE", action="append", default=[],
        help=".npy, contexts x quotes; or .npz with arrays scores and gold; may be repeated")  # fmt: skip
    add("--gold", metavar="FILE", action="append", default=[],
        help=".npy, the column of each context's gold quote; one for each .npy of --scores")  # fmt: skip
    add("--ranks", metavar="FILE", action="append", default=[],
        help="text, a gold quote's rank from 1 in each line, '-' where it was not ranked; may be repeated")  # fmt: skip
    add("--data", metavar="FILE", help="the released text of one language, from which gold quotes and split follow: "
        "topics of runs are numbers of its lines from 0, docnos places in its sorted quotes")  # fmt: skip
    add("--language", choices=_LANGUAGES, help="of --data")
    add("--split", choices=("test", "valid"), help="of --data (default test)")
    add("--ties", choices=("best", "input", "worst", "trec", "expected"),
        help="equal scores: the gold quote first (best, the default, as in their scripts), in order of columns (input),"
        " last (worst), ...; not of --ranks")  # fmt: skip
    add("--pool", type=positive, metavar="N", help="quotes in all: the rank of gold quotes that were not ranked")
    add("--as-published", action="store_true",
        help="as their scripts print it: means of batch means, MeanRank from 0, the standard deviation as Variance, "
        "recall by order of columns, with their decimals (3, 4, none)")  # fmt: skip
    add("--batch", type=positive, metavar="N", help="contexts of a batch, with --as-published (default 64)")
    add_layout(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Read, score, print. Returns the exit code of the first input that failed, or 0."""
    from trecpy.papers.quoter import published_places, quoter

    how = {name: getattr(options, name) for name in ("ties", "pool", "as_published", "batch")}
    rows: list[list[Cell]] = []
    about: dict[str, None] = {}
    columns: list[str] = []
    undefined = False
    code = 0
    for name, given in _inputs(options, streams):
        try:
            figures: Figures = quoter(**given(), **how)
        except TrecpyError as error:
            streams.fail(str(error) if isinstance(error, FileError) else f"{input_name(name)}: {error}")
            code = code or error.exit_code
            continue
        for note in figures.notes:
            streams.warn(f"warning: {input_name(name)}: {note}")
        columns = list(figures)
        rows.append([name, figures.topics, *(value if value == value else None for value in figures.values())])
        about["protocol: " + figures.protocol] = None
        undefined |= bool(figures.missing) and options.pool is None
    if rows:
        whole = [published_places(name) for name in columns]
        places = [None, None, *whole] if options.as_published else chosen_places(options)
        for line in rows_as(options.format, ["input", "contexts", *columns], rows, places, down=True):
            streams.write(line)
        hint = ["rank statistics: undefined without the ranks of all gold quotes; --pool N takes missing ones as N"]
        say_about([*about, _about_ranks(options.as_published), *hint * undefined], options, streams)
    return code


def _about_ranks(as_published: bool) -> str:
    if as_published:
        return "ranks: MedianRank from 1, MeanRank from 0; Variance is the standard deviation, as their scripts have it"
    return "ranks: from 1; RankVariance and RankSD of the population (the paper's Variance is the latter)"


def _inputs(options: argparse.Namespace, streams: Streams) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """The name of each input, and what reads it. Raises UsageError, and the errors of --data."""
    from trecpy.cli.runs import check_stdin, opened
    from trecpy.formats import quoter as files

    ways = [bool(options.scores), bool(options.ranks), bool(options.paths)]
    if sum(ways) != 1:
        raise UsageError("expected GOLD RUN..., --scores, or --ranks; 'trecpy quoter --help' explains")
    if (options.data is None) != (options.language is None):
        raise UsageError("expected --data and --language together")
    refused = {
        "no --data with --ranks": options.data is not None and options.ranks,
        "no --ties with --ranks, which have no equal scores": options.ties is not None and options.ranks,
        "no --gold without --scores": options.gold and not options.scores,
        "--data with --split": options.split is not None and options.data is None,
        "--as-published with --batch: it alone has means of means": options.batch and not options.as_published,
        "no --places with --as-published, whose decimals are those that the scripts print": options.as_published
        and options.places is not None,
    }
    for expected, wrong in refused.items():
        if wrong:
            raise UsageError(f"expected {expected}")
    check_stdin([*options.ranks, *options.paths])
    split = options.split or "test"
    quotes = None if options.data is None else files.read_quotes(options.data, options.language)
    if options.ranks:
        return ((path, partial(_ranks, path, streams)) for path in options.ranks)
    if options.scores:
        matrices = zip(options.scores, _golds(options), strict=True)
        return ((path, partial(_matrix, path, gold, quotes, split)) for path, gold in matrices)
    gold, *runs = [None, *options.paths] if quotes is not None else options.paths
    if not runs:
        raise UsageError("expected GOLD RUN..., found no RUN")
    judged = opened(gold, streams.stdin) if quotes is None else quotes.qrels(split)
    return ((path, partial(_run, path, judged, streams)) for path in runs)


def _golds(options: argparse.Namespace) -> list[str | None]:
    """The file of gold indices for each of --scores, None where it is elsewhere."""
    from trecpy.formats.quoter import is_archive

    given = list(options.gold)
    alone = [options.data is not None or (is_archive(path) and not given) for path in options.scores]
    wanted = alone.count(False)
    if len(given) != wanted:
        raise UsageError(f"expected {wanted} --gold for {len(options.scores)} --scores, found {len(given)}")
    return [None if without else given.pop(0) for without in alone]


def _ranks(path: str, streams: Streams) -> dict[str, Any]:
    from trecpy.cli.runs import opened
    from trecpy.formats.quoter import read_ranks

    return {"ranks": read_ranks(opened(path, streams.stdin))}


def _run(path: str, gold: Any, streams: Streams) -> dict[str, Any]:
    from trecpy.cli.runs import opened

    return {"run": opened(path, streams.stdin), "gold": gold}


def _matrix(path: str, gold: str | None, quotes: Quotes | None, split: str) -> dict[str, Any]:
    from trecpy.errors import FormatError
    from trecpy.formats.quoter import read_array

    scores = read_array(path, "scores")
    if quotes is None:
        return {"scores": scores, "gold": read_array(gold or path, "gold")}
    expected = [len(quotes.lines(split)), len(quotes.quotes)]
    if list(scores.shape) != expected:
        raise FormatError(
            f"{shown(path)}: expected scores {expected}, the contexts of the {split} part by all quotes, found "
            f"{list(scores.shape)}"
        )
    return {"scores": scores, "gold": quotes.gold_of(split)}
