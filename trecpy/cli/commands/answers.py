"""`trecpy answers`: answers in words, scored by reference answers."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from trecpy.cli.choices import add_layout, chosen_places, positive, say_about
from trecpy.cli.layout import Cell, rows_as
from trecpy.cli.progress import progress
from trecpy.errors import FormatError, InputError, TrecpyError, UsageError
from trecpy.text import input_name, plural

if TYPE_CHECKING:
    from trecpy.answering import Answers, AnswerScorer
    from trecpy.cli.main import Streams

DESCRIPTION = """\
Score the answers in each PREDICTIONS by those in REFERENCES: ROUGE-L (F1, precision, recall of the longest common
subsequence) and, where --bertscore or --lang is given, BERTScore. Files hold one JSON object a line: an id (id, qid,
query_id or question_id; where no line of any file has one, its number) and a text (reference or references, prediction,
answer, output or text); '-' is standard input. A reference without a prediction scores 0. It says by which rule text
was split."""
EXAMPLES = """\
  trecpy answers refs.jsonl preds.jsonl
  trecpy answers refs.jsonl a.jsonl b.jsonl --rouge-l words
  trecpy answers refs.jsonl preds.jsonl --per-item --format jsonl > items.jsonl
  trecpy answers refs.jsonl preds.jsonl --rouge-l words --bertscore ./bert-base-chinese --layer 8
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("references", metavar="REFERENCES", help="JSON lines; a reference may be a list, of which the best counts")
    add("predictions", metavar="PREDICTIONS", nargs="+", help="JSON lines of one system")
    add("-q", "--per-item", action="store_true", help="print each item before the mean")
    add_layout(parser)
    rouge = parser.add_argument_group("ROUGE-L")
    rouge.add_argument(
        "--rouge-l",
        choices=("auto", "chars", "letters", "words", "spaces", "rouge-score", "none"),
        default="auto",
        help="how text is split: characters; runs of letters and digits of any script (letters); words of Chinese "
        "(jieba, trecpy[text]); what stands between blanks; runs of a-z and 0-9 (rouge-score); auto (default): item by "
        "item rouge-score where it drops no letter, chars for Chinese, Japanese, Korean, Thai and the like, else "
        "letters",
    )
    bert = parser.add_argument_group("BERTScore (trecpy[bertscore])").add_argument
    bert("--bertscore", metavar="MODEL", help="a model's folder, or its name on the hub")
    bert("--lang", metavar="LANG", help="en, zh, ...: bert-score's model for it, and its baseline")
    bert("--layer", type=positive, metavar="N", help="hidden layer (default: bert-score's for the model)")
    bert("--idf", action="store_true", help="weight tokens by their inverse document frequency in the references")
    bert("--rescale", action="store_true", help="rescale with the baseline of model, layer and language")
    bert("--baseline", metavar="FILE", help="another baseline to rescale with")
    bert("--batch-size", type=positive, metavar="N", help="texts at a time (default 64)")
    bert("--device", metavar="DEVICE", help="cpu, cuda, cuda:1, ... (default: cuda where there is one)")


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Read, score, print. Returns the exit code of the first file that failed, or 0."""
    from trecpy.cli.runs import check_stdin, named, opened
    from trecpy.formats.answers import PREDICTION_NAMES, REFERENCE_NAMES, read_answers

    check_stdin([options.references, *options.predictions])
    _refuse(options)
    known = read_answers(opened(options.references, streams.stdin), REFERENCE_NAMES, several=True)
    references = known.by_id
    scorer = _scorer(options)
    rows: list[list[Cell]] = []
    columns: tuple[str, ...] = ()
    rules: dict[str, None] = {}
    code = 0
    total = scorer.steps * len(references) * len(options.predictions)
    with progress(total, "item", streams.warn) as (step, warn):
        for path in options.predictions:
            try:
                with named(path):
                    predictions = read_answers(opened(path, streams.stdin), PREDICTION_NAMES, several=False)
                    if predictions.with_ids != known.with_ids:
                        expected, other = ("ids", "none") if known.with_ids else ("no ids", "some")
                        raise FormatError(f"expected {expected}, as in {input_name(options.references)}, found {other}")
                    found = scorer.score(references, predictions.by_id, step=step)
            except TrecpyError as error:
                warn(f"error: {error}")
                code = code or error.exit_code
                continue
            for odd in _odd(found, path):
                warn("warning: " + odd)
            rules |= dict.fromkeys(found.rules)
            columns = found.columns
            rows += _rows(found, path, options.per_item)
    if rows:
        header = ["predictions", *(["id"] if options.per_item else []), *columns]
        for line in rows_as(options.format, header, rows, chosen_places(options)):
            streams.write(line)
        say_about(list(rules), options, streams)
    return code


_BERT = ("layer", "idf", "rescale", "baseline", "batch_size", "device")


def _refuse(options: argparse.Namespace) -> None:
    """Raise UsageError: options that do nothing, or too few."""
    if options.bertscore is not None or options.lang is not None:
        return
    if given := [name for name in _BERT if getattr(options, name) not in (None, False)]:
        raise UsageError(f"expected --bertscore or --lang with --{given[0].replace('_', '-')}")
    if options.rouge_l == "none":
        raise UsageError("expected --bertscore or --lang with --rouge-l none")


def _scorer(options: argparse.Namespace) -> AnswerScorer:
    """What was asked for. Raises UsageError; InputError: the model or the baseline."""
    from trecpy.answering import AnswerScorer
    from trecpy.bertscores import BertOptions

    given = {name: value for name in _BERT if (value := getattr(options, name)) is not None}
    bert = BertOptions(options.bertscore, options.lang, **given)
    try:
        return AnswerScorer(None if options.rouge_l == "none" else options.rouge_l, bert if bert.wanted else None)
    except InputError as error:
        name, _, found = str(error).partition(": ")
        text = f"--{'bertscore' if name == 'model' else name.replace('_', '-')}: {found}"
        raise (InputError if name in ("model", "baseline") else UsageError)(text) from None


def _odd(found: Answers, path: str) -> list[str]:
    """What is said of a file."""
    said = [*found.notes]
    if found.missing:
        said.append(f"lacks {found.missing:,} of {plural(len(found.ids), 'reference')}; they count as 0")
    if found.extra:
        said.append(f"has {plural(found.extra, 'prediction')} without a reference, left out")
    return [f"{input_name(path)}: {each}" for each in said]


def _rows(found: Answers, path: str, per_item: bool) -> list[list[Cell]]:
    summary: list[Cell] = [found.summary[column] for column in found.columns]
    if not per_item:
        return [[path, *summary]]
    rows: list[list[Cell]] = [[path, item, *row.values()] for item, row in found.to_dict().items()]
    return [*rows, [path, "all", *summary]]
