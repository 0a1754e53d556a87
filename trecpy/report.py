"""Scores as the text that trec_eval prints. The only place that formats values; knows bytes, not files."""

import math
import os
from collections.abc import Iterator

import numpy as np

from trecpy.kernels.dtypes import Flags
from trecpy.registry import Aggregate, Column
from trecpy.scores import Scores


def real(value: float) -> bytes:
    """C's %6.4f, which shows the sign of a NaN."""
    if value != value:
        return b"  -nan" if math.copysign(1.0, value) < 0 else b"   nan"
    return b"%6.4f" % value


def trec_lines(scores: Scores, tag: bytes, per_topic: bool, summary: bool, zscores: bool = False) -> Iterator[bytes]:
    """
    Yield the printed lines, topic by topic and then the summary. tag: of the run.

    Raises the error of the first topic that cannot be scored, after the lines of those before it.
    """
    columns = list(enumerate(scores.columns))
    shown = [(c, column) for c, column in columns if column.per_topic]
    label = [_label(column, zscores) for column in scores.columns]
    places = [c for c, _ in shown]
    texts = [(c, scores.texts[column.name]) for c, column in shown if column.measure.text]
    # One template for the lines of a topic, whose id goes where the NULs are: a value at a time would take most of the
    # time of a large run.
    template = b"".join(
        label[c].replace(b"%", b"%%") + b"\t\0\t" + _format(column, zscores) + b"\n" for c, column in shown
    )
    finite: Flags = np.logical_and.reduce(np.isfinite(scores.per_query), axis=1)
    for t, topic in enumerate(scores.topics):
        if t in scores.problems:
            raise scores.problems[t]
        if not per_topic:
            continue
        values = scores.per_query[t].tolist()
        if finite[t]:
            for c, text in texts:
                values[c] = text[t]
            yield template.replace(b"\0", topic.replace(b"%", b"%%")) % tuple([values[c] for c in places])
            continue
        for c, column in shown:
            if column.measure.text:
                yield b"%b\t%b\t'%b'\n" % (label[c], topic, scores.texts[column.name][t])
            else:
                yield b"%b\t%b\t%b\n" % (label[c], topic, _number(column, values[c], zscores))
    if not summary:
        return
    for (c, column), value in zip(columns, scores.summary(), strict=True):
        if column.measure.aggregate is Aggregate.TAG:
            yield b"%b\tall\t%b\n" % (label[c], tag)
        elif column.measure.aggregate is not Aggregate.NONE:
            yield b"%b\tall\t%b\n" % (label[c], _number(column, value, zscores))


def _format(column: Column, zscores: bool) -> bytes:
    return b"'%b'" if column.measure.text else b"%d" if _whole(column, zscores) else b"%6.4f"


def _whole(column: Column, zscores: bool) -> bool:
    return column.measure.integer and not zscores


def _number(column: Column, value: float, zscores: bool) -> bytes:
    return b"%d" % value if _whole(column, zscores) and math.isfinite(value) else real(value)


def _label(column: Column, zscores: bool) -> bytes:
    name = b"%-22b" % os.fsencode(column.name)
    return b"Z" + name if zscores and not column.measure.text else name
