"""Several runs side by side: topics for which one has fewer documents than the others."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trecpy.checks.findings import Findings
from trecpy.checks.runs import Sizes
from trecpy.kernels.dtypes import Int32s, Integers
from trecpy.text import quoted


@dataclass(frozen=True)
class _Depth:
    """
    A run, of each topic that was known then: documents, 0 where some cannot be read; different documents; line of the
    first one, or 0.

    The first two int32[T], the last int64[T].
    """

    documents: Int32s
    distinct: Int32s
    line: Integers


class Depths:
    """Sizes of rankings, kept in 16 bytes a run and topic."""

    def __init__(self) -> None:
        self._topics: dict[bytes, int] = {}
        self._runs: list[_Depth] = []

    def add(self, sizes: Sizes) -> None:
        """Add a run."""
        for topic in sizes.documents:
            self._topics.setdefault(topic, len(self._topics))

        count = len(self._topics)
        documents = np.fromiter((sizes.documents.get(topic, 0) for topic in self._topics), np.int32, count)
        distinct = np.fromiter(map(sizes.distinct, self._topics), np.int32, count) if sizes.twice else documents.copy()
        documents[[t for t, topic in enumerate(self._topics) if topic in sizes.cut]] = 0
        line = np.fromiter((sizes.lines.get(topic, 0) for topic in self._topics), np.int64, count)
        self._runs.append(_Depth(documents, distinct, line))

    def conclude(self, reports: Sequence[Findings]) -> None:
        """Say for each run, in the order they were added, which topics are shorter; of those that it has at all."""
        count = len(self._topics)
        most, second = np.zeros(count, np.int32), np.zeros(count, np.int32)
        for run in self._runs:
            size = np.pad(run.distinct, (0, count - len(run.distinct)))
            second = np.maximum(second, np.minimum(most, size))
            most = np.maximum(most, size)
        topics = list(self._topics)
        for found, run in zip(reports, self._runs, strict=True):
            known = len(run.documents)
            others = np.where(run.distinct == most[:known], second[:known], most[:known])
            short = np.flatnonzero((run.documents > 0) & (run.documents < others)).tolist()
            found.add("fewer-than-others", len(short), (_said(topics[t], run, t, int(others[t])) for t in short))


def _said(topic: bytes, run: _Depth, t: int, other: int) -> str:
    where = f"line {run.line[t]}: " if run.line[t] else ""
    return f"{where}topic {quoted(topic)}: {run.documents[t]:,}, another run {other:,}"
