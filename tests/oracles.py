"""How to ask trecpy's core and pytrec_eval-terrier (trec_eval 9, with float32 scores) for the same thing."""

import io
import os
from typing import Any

import pytrec_eval
from strategies import Collection, text

from trecpy.evaluation import evaluate_blocks
from trecpy.formats.judgements import read_judgements
from trecpy.formats.runs import RunReader
from trecpy.formats.source import Source
from trecpy.numbers import strtod
from trecpy.protocol import Protocol
from trecpy.registry import Request, catalogue, columns
from trecpy.scores import Scores

# What pytrec_eval offers and this does not compare, with the reason.
NOT_NUMBERS = {
    "runid": "text; pytrec_eval gives 0",
    "relstring": "text; pytrec_eval gives 0",
    "num_q": "1 in both, whatever is scored",
}


def ours(collection: Collection, requests: list[str], protocol: Protocol, block: int = 1 << 22) -> Scores:
    """Score a collection through the reader, as a command would."""
    qrels = Source(io.BytesIO(text(collection.qrels_lines())), "qrels")
    judgements, _ = read_judgements(qrels, "qrels", protocol.compat, strict=False)
    reader = RunReader(
        Source(io.BytesIO(text(collection.run_lines())), "run", twice=True), protocol.compat, strict=False, block=block
    )
    asked = columns([Request.parse(name, protocol.compat) for name in requests], protocol.compat)
    return evaluate_blocks(judgements, reader.blocks(), asked, protocol)


def by_topic(evaluation: Scores) -> dict[str, dict[str, float]]:
    """{topic: {column: value}}."""
    names = [column.name for column in evaluation.columns]
    return {
        os.fsdecode(topic): dict(zip(names, row.tolist(), strict=True))
        for topic, row in zip(evaluation.topics, evaluation.per_query, strict=True)
    }


def terrier(collection: Collection, level: int, judged_only: bool) -> dict[str, dict[str, float]]:
    """The same from pytrec_eval, every measure it has."""
    asked: set[Any] = pytrec_eval.supported_measures - set(NOT_NUMBERS)
    evaluator = pytrec_eval.RelevanceEvaluator(
        collection.qrels, asked, relevance_level=level, judged_docs_only_flag=judged_only
    )
    scores = {t: {d: strtod(s.encode())[0] for d, s in docs.items()} for t, docs in collection.run.items()}
    values: dict[str, dict[str, float]] = evaluator.evaluate(scores)
    return values


def offered_by_both() -> list[str]:
    return [name for name in catalogue() if name in pytrec_eval.supported_measures and name not in NOT_NUMBERS]
