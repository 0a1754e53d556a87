"""Several runs side by side: topics for which one has fewer documents than the others."""

from collections.abc import Sequence

import numpy as np

from trecpy.checks.findings import Findings
from trecpy.checks.runs import Sizes
from trecpy.kernels.dtypes import Int32s
from trecpy.text import quoted


class Depths:
    """Sizes of rankings, kept in 8 bytes a run and topic."""

    def __init__(self) -> None:
        self._topics: dict[bytes, int] = {}
        self._runs: list[tuple[Int32s, Int32s]] = []  # of each topic so far: documents, and different ones

    def add(self, sizes: Sizes) -> None:
        """Add a run."""
        for topic in sizes.documents:
            self._topics.setdefault(topic, len(self._topics))
        documents = np.fromiter((sizes.documents.get(topic, 0) for topic in self._topics), np.int32, len(self._topics))
        distinct = np.fromiter(map(sizes.distinct, self._topics), np.int32, len(self._topics))
        self._runs.append((documents, distinct if sizes.twice else documents))

    def conclude(self, reports: Sequence[Findings]) -> None:
        """Say for each run, in the order they were added, which topics are shorter; of those that it has at all."""
        count = len(self._topics)
        most, second = np.zeros(count, np.int32), np.zeros(count, np.int32)
        for _, distinct in self._runs:
            size = np.pad(distinct, (0, count - len(distinct)))
            second = np.maximum(second, np.minimum(most, size))
            most = np.maximum(most, size)
        topics = list(self._topics)
        for found, (documents, distinct) in zip(reports, self._runs, strict=True):
            own = len(documents)
            others = np.where(distinct == most[:own], second[:own], most[:own])
            short = np.flatnonzero((documents > 0) & (documents < others)).tolist()
            said = (f"topic {quoted(topics[t])}: {documents[t]:,}, another run {others[t]:,}" for t in short)
            found.add("fewer-than-others", len(short), said)
