"""`trecpy compare`: runs against a baseline, topic by topic."""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Iterator, Sequence
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
    whole_number,
)
from trecpy.cli.gates import FAILED, Gate
from trecpy.cli.layout import Cell, rows_as
from trecpy.cli.progress import progress
from trecpy.errors import InputError, MeasureError, TrecpyError, UsageError
from trecpy.text import input_name, plural, quoted

if TYPE_CHECKING:
    from trecpy.api import Evaluator
    from trecpy.cli.main import Streams
    from trecpy.comparison import Compared, Comparison, Difference
    from trecpy.pools import Pool

DESCRIPTION = """\
Compare runs with BASELINE by the judgements in QRELS: for each measure both means, the mean difference (run - baseline;
equal infinities differ by 0), its bootstrap interval, a two-sided test over topics, the p-value corrected for all tests
that are printed, the effect size (mean / standard deviation of the differences), and in how many topics the run is
better, equal and worse; '-' where one is undefined. Topics are joined by id, for each measure those that count in both
means; those of one run only are counted and left out. It says how deep the runs go and how far they share candidates:
where they ranked different documents, a difference need not come from the ranking."""
EXAMPLES = """\
  trecpy compare qrels.txt bm25.run reranked.run
  trecpy compare -m nDCG@10 -m map --test randomisation --correction bh qrels.txt bm25.run a.run b.run
  trecpy compare --by types.txt qrels.txt bm25.run reranked.run
  trecpy compare --by-baseline nDCG@20 -m nDCG@20 qrels.txt bm25.run reranked.run
  trecpy compare --folds --protocol qder qrels.txt bm25.run qder-fold*.run
  trecpy compare --folds --protocol qder qrels.txt bert-fold*.run vs qder-fold*.run
  trecpy compare --fail-if "nDCG@10 < -0.005" qrels.txt main.run new.run || echo worse
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("qrels", metavar="QRELS", help="judgements, a file or irds:NAME of ir_datasets; '-' is standard input")
    add("baseline", metavar="BASELINE", help="the run that the others are compared with; '-' is standard input")
    add("runs", metavar="RUN", nargs="+", help="the others")
    add("--folds", action="store_true",
        help="the RUNs are folds of one run, and a topic in two of them is an error; where the baseline has folds too, "
        "or there are several such runs, 'vs' separates them: a1 a2 vs b1 b2")  # fmt: skip
    add_measures(parser)
    add("--test", choices=("t", "wilcoxon", "sign", "randomisation"), default="t",
        help="paired t-test (default), Wilcoxon signed-rank, sign, Fisher randomisation")  # fmt: skip
    add("--correction", choices=("holm", "bonferroni", "bh", "none"), default="holm",
        help="for all tests printed: Holm (default), Bonferroni, Benjamini-Hochberg")  # fmt: skip
    add("--alpha", type=_share, default=0.05, metavar="P", help="mark corrected p-values below P (default 0.05)")
    add("--confidence", type=_share, default=0.95, metavar="P", help="of the bootstrap interval (default 0.95)")
    add("--resamples", type=_draws, default=10_000, metavar="N",
        help="draws of the bootstrap and of randomisation (default 10000, at most a million)")  # fmt: skip
    add("--seed", type=whole_number, default=0, metavar="N", help="of these draws (default 0)")
    groups = parser.add_mutually_exclusive_group()
    groups.add_argument("--by", metavar="FILE", help="also by group: FILE has lines of 'topic group'")
    groups.add_argument("--by-baseline", metavar="MEASURE",
        help="also by difficulty: groups of topics by the baseline's value, 0, up to 0.25, up to 0.5, ...")  # fmt: skip
    add("--fail-if", type=Gate.parse, action="append", default=[], metavar="CONDITION",
        help=f"exit {FAILED} if a difference is like this, 'nDCG@10 < -0.005', or undefined; repeatable")  # fmt: skip
    add_layout(parser)
    add_file_formats(parser)
    add_protocol(parser)


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Read, score, compare, print. Returns the exit code of the first run that failed, 3 for a gate, or 0."""
    from trecpy.api import Evaluation
    from trecpy.cli.runs import evaluated, prepared, say_notes
    from trecpy.comparison import compare_many
    from trecpy.formats.groups import read_groups
    from trecpy.names import one_mean
    from trecpy.pools import Pool
    from trecpy.significance import refuse_unready

    systems = _systems(options)
    refuse_unready(options.test)
    groups = None if options.by is None else read_groups(options.by)
    gates: list[Gate] = options.fail_if
    named = [(f"--fail-if '{gate}'", gate.measure) for gate in gates]
    if options.by_baseline is not None:
        named.append(("--by-baseline", options.by_baseline))
    measures = [*chosen_measures(options), *(measure for _, measure in named)]
    evaluator = prepared(options, measures, [path for _, folds in systems for path in folds], streams)
    for option, measure in named:
        try:
            one_mean(measure, evaluator.protocol.compat)
        except MeasureError as error:
            raise UsageError(f"{option}: {error}") from None
    say_notes(evaluator, streams.warn)
    scored: list[tuple[str, Evaluation, Pool]] = []
    code = 0
    with progress(len(systems), "run", streams.warn) as (step, warn):
        for name, folds in systems:
            pool = Pool()
            try:
                joined = folds if len(folds) > 1 else ()
                scored.append((name, evaluated(evaluator, name, streams.stdin, warn, pool.see, folds=joined), pool))
            except TrecpyError as error:
                if not scored:  # nothing can be compared without the baseline
                    raise
                warn(f"error: {error}")
                code = code or error.exit_code
            step(1)
    (first_name, baseline, first), *others = scored
    if not others:
        return code
    _say_disjoint([(name, pool) for name, _, pool in scored], streams)
    compared = compare_many(
        baseline,
        {str(number): evaluation for number, (_, evaluation, _) in enumerate(others)},
        options.test,
        correction=options.correction,
        seed=options.seed,
        resamples=options.resamples,
    )
    results = [(path, comparison) for (path, _, _), comparison in zip(others, compared.values(), strict=True)]
    about = list(_about(results, options))
    for path, _, pool in others:
        about += _candidates(first_name, first, path, pool, streams)
    about += _otherwise(evaluator)
    _say_left_out(first_name, results, streams)
    if groups is not None:
        _say_other_topics(options.by, groups, results, streams)
    grouped = groups is not None or options.by_baseline is not None
    rows: list[list[Cell]] = []
    for path, comparison in results:
        chosen = comparison.by_difficulty(options.by_baseline) if options.by_baseline is not None else groups
        rows += _rows(path, comparison, chosen, options)
    header = ["run", "measure", *(["group"] if grouped else []), *_HEADER]
    for line in rows_as(options.format, header, rows, chosen_places(options)):
        streams.write(line)
    say_about([*about, protocol_line(results[0][1].protocol)], options, streams)
    failed = [gate.failed(path, comparison, streams.warn) for path, comparison in results for gate in gates]
    return code or (FAILED if any(failed) else 0)


def _systems(options: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """What is compared, the baseline first: names, and the files. Raises UsageError: 'vs' where it means nothing."""
    paths = [options.baseline, *options.runs]
    if not options.folds and "vs" in paths:
        raise UsageError("expected --folds beside 'vs', found none; a file of that name is './vs'")
    if not options.folds:
        return [(path, [path]) for path in paths]
    systems = [list(group) for is_vs, group in itertools.groupby(paths, "vs".__eq__) if not is_vs]
    if "vs" not in paths:
        systems = [paths[:1], paths[1:]]
    elif len(systems) != paths.count("vs") + 1:
        raise UsageError("--folds: expected runs on both sides of 'vs'")
    return [(" + ".join(folds), folds) for folds in systems]


_HEADER = (
    "topics", "baseline", "value", "difference", "low", "high", "p", "adjusted", "mark", "effect", "better", "equal",
    "worse",
)  # fmt: skip


def _rows(
    path: str, comparison: Comparison, groups: dict[str, str] | None, options: argparse.Namespace
) -> Iterator[list[Cell]]:
    """The rows of a run: each measure, and behind it its groups, where these are asked for."""
    for compared in comparison.measures:
        begin: list[Cell] = [path, compared.measure]
        tested = _tested(compared, options)
        if groups is None:
            yield [*begin, *_means(compared), *tested, *_counts(compared)]
            continue
        yield [*begin, "all", *_means(compared), *tested, *_counts(compared)]
        for group, difference in compared.by(groups).items():
            yield [*begin, group, *_means(difference), *[None] * len(tested), *_counts(difference)]


def _means(difference: Difference) -> list[Cell]:
    means = (difference.baseline, difference.other, difference.difference)
    return [difference.topics, *map(_number, means)]


def _tested(compared: Compared, options: argparse.Namespace) -> list[Cell]:
    low, high = compared.interval(options.confidence, options.seed, options.resamples)
    mark = "*" if compared.p_adjusted < options.alpha else ""
    values = [_number(low), _number(high), _p(compared.p_value, options), _p(compared.p_adjusted, options)]
    return [*values, mark, _number(compared.effect_size)]


def _counts(difference: Difference) -> list[Cell]:
    return [difference.wins, difference.ties, difference.losses]


def _number(value: float) -> Cell:
    """A value that may be undefined."""
    return value if value == value else None


def _p(value: float, options: argparse.Namespace) -> Cell:
    """A p-value; in a table one that would be rounded to 0 says what it is below."""
    from trecpy.significance import p_text

    places = chosen_places(options)
    small = p_text(value, places) if options.format == "table" and places is not None else ""
    return small if small.startswith("<") else _number(value)


def _about(results: list[tuple[str, Comparison]], options: argparse.Namespace) -> Iterator[str]:
    """What the columns are."""
    from trecpy.significance import NAMES

    comparison = results[0][1]
    found = {compared.how for _, each in results for compared in each.measures}
    undefined = sorted(how for how in found if how.startswith("undefined"))
    drawn = f"{options.resamples:,} draws, seed {options.seed}"
    yield f"p: {NAMES[options.test]}, two-sided ({'; '.join(sorted(found - set(undefined)) + undefined)})"
    yield f"adjusted: {comparison.corrected_by}; mark: * below {options.alpha:g}"
    for path, each in results:
        if names := [compared.measure for compared in each.measures if math.isnan(compared.difference)]:
            yield (
                f"difference of {input_name(path)}: undefined for {', '.join(names)}: topics differ infinitely both "
                "ways, or have no value"
            )
    yield f"low, high: {100 * options.confidence:g}% bootstrap interval of the difference ({drawn})"


def _candidates(baseline: str, first: Pool, path: str, pool: Pool, streams: Streams) -> Iterator[str]:
    """How deep two runs go and what they share; a warning where that is not everything."""
    from trecpy.pools import overlap

    found = overlap(first, pool)
    if found is None:
        return
    yield (
        f"candidates of {input_name(path)}: {found.second_depth:,.1f} documents a topic "
        f"(baseline {found.first_depth:,.1f}), overlap {found.shared:.4f} (shared / all of both)"
    )
    if found.same < found.topics:
        many = f"{found.topics - found.same:,} of {plural(found.topics, 'topic')}"
        streams.warn(
            f"warning: {input_name(path)}: ranked other documents than {input_name(baseline)} in {many}: a difference "
            "may come from the candidates, not from their order"
        )


def _otherwise(evaluator: Evaluator) -> Iterator[str]:
    """Why means are not what the protocol's summaries are."""
    batches = {column.under(evaluator.protocol).batch for column in evaluator.columns} - {None}
    if batches:
        sizes = ", ".join(sorted(map(str, batches)))
        yield f"means: of single topics, as they are tested, not of batches of {sizes}; trecpy eval's may differ"


def _say_disjoint(runs: Sequence[tuple[str, Pool]], streams: Streams) -> None:
    """Say it where two runs have no topic in common, once: a comparison of them is none."""
    for (one, first), (two, second) in itertools.combinations(runs, 2):
        if first.documents.keys().isdisjoint(second.documents):
            streams.warn(
                f"warning: {input_name(two)}: has no topic in common with {input_name(one)}: do they belong together? "
                "--folds joins the folds of a run"
            )
            return


def _say_left_out(baseline: str, results: list[tuple[str, Comparison]], streams: Streams) -> None:
    """Say which topics and columns were not compared."""
    for path, comparison in results:
        for where, counts in (
            (baseline, [compared.only_baseline for compared in comparison.measures]),
            (path, [compared.only_other for compared in comparison.measures]),
        ):
            for count in sorted({*counts} - {0}):
                names = [
                    each.measure for each, found in zip(comparison.measures, counts, strict=True) if found == count
                ]
                of = f" of {_some(names)}" if len(names) < len(counts) else ""
                streams.warn(
                    f"warning: {input_name(path)}: {plural(count, 'topic')} only in {input_name(where)}; left out{of}"
                )
    if left_out := results[0][1].left_out:
        streams.warn(f"warning: not compared, since they are not averaged over topics: {', '.join(left_out)}")


def _say_other_topics(
    path: str, groups: dict[str, str], results: list[tuple[str, Comparison]], streams: Streams
) -> None:
    """Say which topics the file of groups and the runs do not share. Raises InputError: they share none."""
    topics = dict.fromkeys(topic for _, comparison in results for topic in comparison.topics)
    beyond = [quoted(topic) for topic in groups if topic not in topics]
    lacking = [quoted(topic) for topic in topics if topic not in groups]
    if len(lacking) == len(topics):
        raise InputError(
            f"{input_name(path)}: expected groups of the topics that are compared ({_some(lacking)}), found "
            f"{_some(beyond)}"
        )
    if beyond:
        many = f"{len(beyond):,} of its {plural(len(groups), 'topic')}"
        streams.warn(f"warning: {input_name(path)}: {many} not among those that are compared: {_some(beyond)}")
    if lacking:
        many = f"{len(lacking):,} of {plural(len(topics), 'topic')}"
        streams.warn(f"warning: {input_name(path)}: lacks {many}, which are in the group (none): {_some(lacking)}")


def _some(names: Sequence[str]) -> str:
    """The first ones."""
    return ", ".join([*names[:5], *["..."] * (len(names) > 5)])


def _draws(text: str) -> int:
    from trecpy.significance import MOST_DRAWS

    draws = whole_number(text)
    if not 0 < draws <= MOST_DRAWS:
        raise argparse.ArgumentTypeError(f"expected an integer from 1 to {MOST_DRAWS:,}, found {quoted(text)}")
    return draws


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"expected a number between 0 and 1, found {quoted(text)}")
    return value
