"""Scoring from Python: evaluate() once, an Evaluator for many runs, and what they return."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np

from trecpy import __version__
from trecpy.collection import as_qrels, as_run, fingerprint
from trecpy.errors import InputError, MeasureError, ParameterError, TrecpyError
from trecpy.evaluation import score, tie_range
from trecpy.formats.runs import RunReader
from trecpy.inputs import first_twice
from trecpy.kernels.dtypes import Reals
from trecpy.names import key_of, parse_name, parse_names
from trecpy.packed import Judgements
from trecpy.plan import Plan
from trecpy.protocol import Protocol, chosen_protocol
from trecpy.scores import NOT_COUNTED, RANKED, RANKED_JUDGED, Counts, Scores
from trecpy.text import as_strings, described, quoted
from trecpy.threads import workers_of

Measures = object  # a name, a measure of ir_measures, or several of them


def evaluate(
    qrels: Any,
    run: Any,
    measures: Measures = "official",
    *,
    protocol: Protocol | str | None = None,
    qrels_format: str | None = None,
    run_format: str | None = None,
    **options: Any,
) -> "Evaluation":
    """
    Score a run by judgements.

    qrels, run
        a path ('-': standard input) or a binary file, plain or compressed, read strictly: what is no number is an
        error; as qrels also "irds:NAME", the judgements of a data set of ir_datasets;
        `{topic: {docno: level or score}}`; a run also as `{topic: [docno, ...]}`, best first;
        an iterable of (topic, docno, level or score); a pandas, polars or pyarrow table whose columns have known names;
        three NumPy arrays (topic, docno, level or score). Ids are strings or integers, which mean their decimal
        strings, or bytes. Nothing that is given is changed.
    qrels_format, run_format
        layout of a file: "trec", "msmarco", "beir", "tsv", "csv", "json", "jsonl", "parquet", "arrow"; None: its first
        lines tell
    measures
        names as trec_eval, pytrec_eval, ir_measures or ranx write them: "map", "ndcg_cut_10", "nDCG@10", "P(rel=2)@5"
    protocol, options
        the conventions, whole or by the names of Protocol's fields: relevance_level=2, topics="both", depth=100, ...

    Raises InputError, FileError, FormatError: qrels or run cannot be read, or judge a document twice. MeasureError,
    ParameterError: a name. TopicError: a document ranked twice. NothingScoredError: no topic is left to score, which
    under 10.0's rules with topics="qrels" does not happen: topics that the run lacks are scored then, and noted.
    """
    formats = {"qrels_format": qrels_format, "run_format": run_format}
    return Evaluator(qrels, measures, protocol=protocol, **formats, **options).evaluate(run)


class Evaluator:
    """
    Judgements and measures prepared once, for many runs. It does not change: the second call gives what the first gave.

    Arguments as in evaluate().
    """

    def __init__(
        self,
        qrels: Any,
        measures: Measures = "official",
        *,
        protocol: Protocol | str | None = None,
        qrels_format: str | None = None,
        run_format: str | None = None,
        **options: Any,
    ) -> None:
        self._run_format = run_format
        self.protocol = chosen_protocol(protocol, options)
        self.columns = parse_names(measures, self.protocol.compat)
        self.qrels = as_qrels(qrels, self.protocol, qrels_format)
        self.notes = self.qrels.notes
        self._plan = Plan(self.qrels.judgements, self.columns, self.protocol)

    def evaluate(self, run: Any, *, threads: int | None = None, witness: bool = True) -> "Evaluation":
        """
        Score a run. Raises as evaluate() does.

        threads: that read and rank a TREC file, by default as many as there are cores for this process; the result does
        not depend on it
        witness: keep what fingerprint and tie_range() tell; without it a file takes a fifth less time
        """
        workers = workers_of(threads)
        with as_run(run, self.protocol, self._run_format) as given:
            if isinstance(given, RunReader):
                scores = score(self._plan, given, witness=witness, threads=workers)
            else:
                scores = score(self._plan, given.blocks(), witness=witness)
        if scores.problems:
            raise scores.problems[min(scores.problems)]
        scores.notes[:0] = [*self.qrels.notes, *given.notes]
        if not scores.present:
            scores.notes.append("no topic is both in the run and judged: do ids differ?")
        elif self._plan.looks and _matches_nothing(scores):
            scores.notes.append("no ranked document is judged: do ids differ?")
        return Evaluation(scores, [self.qrels.judgements], given.tag)

    def evaluate_many(self, runs: Mapping[str, Any] | Iterable[Any]) -> Iterator[tuple[str, "Evaluation"]]:
        """
        Score several runs, one after the other: name -> run, or paths, which are their own names.

        Raises as evaluate() does, when the run at fault is reached; its name is then a note of the exception.
        """
        if isinstance(runs, str | bytes) or not isinstance(runs, Iterable):
            raise InputError(f"runs: expected a dict of runs by name, or paths, found {described(runs)}")
        for name, run in runs.items() if isinstance(runs, Mapping) else ((path, path) for path in runs):
            if isinstance(runs, Mapping) and not isinstance(name, str):
                raise InputError(f"runs: expected names that are strings, found {described(name)}")
            if not isinstance(runs, Mapping) and not isinstance(run, str | os.PathLike):
                raise InputError(f"runs: expected paths, or a dict of runs by name, found {described(run)}")
            try:
                evaluation = self.evaluate(run)
            except TrecpyError as error:
                error.add_note(f"in the run {quoted(str(name))}")
                raise
            yield str(name) if isinstance(runs, Mapping) else os.fsdecode(name), evaluation


class Evaluation:
    """
    What a run scored.

    topics: ids of the scored topics, in byte order; columns: names of the values, in trec_eval's order
    per_query: float64[topics, columns], 0 in columns of text; summary: column -> value; texts: column -> a text a topic
    counts: topics and documents that it is about; notes: what was odd in the inputs; protocol: the conventions
    """

    def __init__(self, scores: Scores, judgements: Sequence[Judgements], tag: bytes = b"") -> None:
        self._scores, self._judgements, self._tag = scores, judgements, tag

    @property
    def topics(self) -> tuple[str, ...]:
        """Ids of the scored topics, in byte order."""
        return tuple(as_strings(self._scores.topics))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the values."""
        return tuple(column.name for column in self._scores.columns)

    @property
    def per_query(self) -> Reals:
        """float64[topics, columns]; not to be written to."""
        view = self._scores.per_query.view()
        view.flags.writeable = False
        return view

    @property
    def protocol(self) -> Protocol:
        """The conventions under which this was scored."""
        return self._scores.protocol

    @property
    def counts(self) -> Counts:
        """How many topics and documents this is about."""
        return self._scores.counts

    @property
    def notes(self) -> tuple[str, ...]:
        """What was odd in the inputs."""
        return tuple(self._scores.notes)

    @property
    def texts(self) -> dict[str, list[str]]:
        """Columns of text: one text a topic."""
        return {name: [text.decode("latin-1") for text in texts] for name, texts in self._scores.texts.items()}

    @cached_property
    def _values(self) -> dict[object, tuple[str, float]]:
        """The summary by what tells columns apart."""
        values = zip(self._scores.columns, self._scores.summary(), strict=True)
        return {key_of(column): (column.name, value) for column, value in values if not column.measure.text}

    @property
    def summary(self) -> dict[str, float]:
        """Column -> value over all topics; columns of text are left out."""
        return dict(self._values.values())

    def tie_range(self) -> dict[str, tuple[float, float]]:
        """
        How far the summary could move if documents of equal score stood in another order: column -> (worst, best).

        The worst order has relevant documents last among equals, the best one first; both are the value itself where no
        judged document is tied. A column of which less is better has its larger value first.

        Raises InputError: evaluated with witness=False.
        """
        worst, best = (scores.summary() for scores in tie_range(self._scores))
        return {
            column.name: (worst[c], best[c]) for c, column in enumerate(self._scores.columns) if not column.measure.text
        }

    @property
    def fingerprint(self) -> dict[str, str]:
        """
        What tells whether two evaluations are of the same thing: hashes of `qrels` and `run`, `protocol`, `version`.

        The hashes are of what was given, in whatever form: judgements in any order, of a run the order within topics
        counts. Of matrices the run's is that of the ranks that labelled candidates got. Parts that are merged have the
        hashes of the whole. Raises InputError: evaluated with witness=False.
        """
        if self._scores.digests is None:
            raise InputError("fingerprint: expected an evaluation made with witness=True, which hashes the run")
        judged = {topic: digest for part in self._judgements for topic, digest in part.digests().items()}
        return {
            "qrels": fingerprint(judged),
            "run": fingerprint(self._scores.digests),
            "protocol": repr(self.protocol),
            "version": __version__,
        }

    @property
    def tag(self) -> str:
        """The run tag: the sixth column of a run file's last line; empty where there is none."""
        return self._tag.decode("utf-8", "backslashreplace")

    def __getitem__(self, name: object) -> float:
        """The summary's value of a column, by any of its names. Raises MeasureError: it was not asked for."""
        if isinstance(name, str) and name in self.summary:
            return self.summary[name]
        found = [key for column in parse_name(name, self.protocol.compat) if (key := key_of(column)) in self._values]
        if len(found) != 1:
            raise MeasureError(f"{quoted(str(name))}: expected one of {', '.join(self.summary) or 'none'}")
        return self._values[found[0]][1]

    def __contains__(self, name: object) -> bool:
        try:
            self[name]
        except (MeasureError, ParameterError):
            return False
        return True

    __iter__ = None  # of topics, or of columns? Both have their own names

    def __add__(self, other: object) -> "Evaluation":
        return merge(self, other) if isinstance(other, Evaluation) else NotImplemented

    def to_dict(self) -> dict[str, dict[str, float]]:
        """{topic: {column: value}}, columns of numbers only."""
        numeric = self._numeric()
        names, rows = list(numeric.values()), self._scores.per_query[:, list(numeric)].tolist()
        return {topic: dict(zip(names, row, strict=True)) for topic, row in zip(self.topics, rows, strict=True)}

    def _numeric(self) -> dict[int, str]:
        """Place and name of the columns of numbers."""
        return {c: column.name for c, column in enumerate(self._scores.columns) if not column.measure.text}

    def to_json(self) -> str:
        """Summary, topics, counts and protocol as JSON; values that JSON lacks (NaN, infinity) are null."""
        counts = {field.name: getattr(self.counts, field.name) for field in fields(Counts)}
        protocol = {field.name: getattr(self.protocol, field.name) for field in fields(Protocol)}
        topics = {topic: {n: _finite(v) for n, v in row.items()} for topic, row in self.to_dict().items()}
        summary = {name: _finite(value) for name, value in self.summary.items()}
        return json.dumps({"summary": summary, "topics": topics, "counts": counts, "protocol": protocol})

    def to_pandas(self) -> Any:
        """A pandas frame: one row a topic (the index, called `topic`), one column a measure's column."""
        import pandas as pd

        return pd.DataFrame(self._table()).set_index("topic")

    def to_polars(self) -> Any:
        """A polars frame with a column `topic` and one for each measure's column."""
        import polars as pl

        return pl.DataFrame(self._table())

    def to_arrow(self) -> Any:
        """The same as a pyarrow table."""
        import pyarrow as pa

        return pa.table(self._table())

    def _table(self) -> dict[str, Any]:
        values = {name: np.ascontiguousarray(self._scores.per_query[:, c]) for c, name in self._numeric().items()}
        # Frames hold text only: bytes that are no UTF-8 are escaped there.
        topics = [topic.decode("utf-8", "backslashreplace") for topic in self._scores.topics]
        return {"topic": topics, **values}

    def _about(self) -> str:
        return f"{self.counts.scored} topics, {self.counts.missing} missing; trec_eval {self.protocol.compat}"

    def __repr__(self) -> str:
        width = max(map(len, self.summary), default=0)
        return "\n".join(
            [
                f"Evaluation of {self._about()}",
                *(f"  {name:<{width}}  {value:.4f}" for name, value in self.summary.items()),
            ]
        )

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{name}</td><td>{value:.4f}</td></tr>" for name, value in self.summary.items())
        return f"<table><caption>{self._about()}</caption><tr><th>measure</th><th>value</th></tr>{rows}</table>"


def merge(*evaluations: Evaluation) -> Evaluation:
    """
    One evaluation of all topics, with the doubles that one call on all of them gives.

    Raises InputError: a topic in two of them, other columns, or another protocol.
    """
    for evaluation in evaluations:
        if not isinstance(evaluation, Evaluation):
            raise InputError(f"merge: expected evaluations, found {described(evaluation)}")
    if not evaluations:
        raise InputError("merge: expected at least one evaluation, found none")
    parts = [evaluation._scores for evaluation in evaluations]
    first = parts[0]
    names = [column.name for column in first.columns]
    for part in parts[1:]:
        if [column.name for column in part.columns] != names:
            raise InputError("merge: expected evaluations of the same measures")
        if part.protocol != first.protocol:
            raise InputError("merge: expected evaluations by the same protocol")
    topics = [topic for part in parts for topic in part.topics]
    if twice := first_twice(topics):
        raise InputError(f"merge: expected each topic in one evaluation, found {quoted(twice)} in two")
    order = sorted(range(len(topics)), key=topics.__getitem__)
    texts = {name: [text for part in parts for text in part.texts[name]] for name in first.texts}
    judged: dict[bytes, int] = {}
    for part in parts:
        judged |= part.judged
    witnessed = all(part.tied is not None and part.digests is not None for part in parts)
    merged = Scores(
        columns=first.columns,
        protocol=first.protocol,
        topics=[topics[t] for t in order],
        per_query=np.concatenate([part.per_query for part in parts])[order],
        texts={name: [column[t] for t in order] for name, column in texts.items()},
        problems={},
        judged=judged,
        present=frozenset().union(*(part.present for part in parts)),
        unjudged=frozenset().union(*(part.unjudged for part in parts)) - judged.keys(),
        without_relevant=sum(part.without_relevant for part in parts),
        counted=np.where(
            np.any([part.counted == NOT_COUNTED for part in parts], axis=0),
            NOT_COUNTED,
            np.sum([part.counted for part in parts], axis=0),
        ),
        dropped={
            c: frozenset().union(*(part.dropped.get(c, ()) for part in parts)) for part in parts for c in part.dropped
        },
        notes=list(dict.fromkeys(note for part in parts for note in part.notes)),
        tied=[tied for part in parts for tied in part.tied or ()] if witnessed else None,
        digests={t: each for part in parts for t, each in (part.digests or {}).items()} if witnessed else None,
    )
    judgements = {id(each): each for evaluation in evaluations for each in evaluation._judgements}
    return Evaluation(merged, list(judgements.values()), evaluations[-1]._tag)


def _matches_nothing(scores: Scores) -> bool:
    """Are there documents in the rankings of judged topics, and is not one of them judged?"""
    judged = scores.counted[RANKED_JUDGED]
    return bool(judged == 0 and (scores.counted[RANKED] > 0 or scores.protocol.judged_only))


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
