"""
Runs that are dicts, scored where they lie.

Only judged documents are looked up, and their ranks follow from the sorted scores: no docno is copied, and only those
of equal scores are compared. Whatever is unusual, right or wrong, is left to trecpy.inputs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from operator import countOf
from typing import Any, ClassVar

import numpy as np

from trecpy.arrays import sizes_of, spread, starts_of, starts_of_parts
from trecpy.inputs import KNOWN, packed_scores
from trecpy.kernels import locate as kernel
from trecpy.kernels.dtypes import Integers, Reals
from trecpy.packed import Block, Judgements, Qrels, as_stored, digest
from trecpy.protocol import Protocol
from trecpy.ranked import ONCE, Ranked

_TOGETHER = 1 << 18  # documents, unless a topic has more
_NUMBERS = {float, int, np.float64, np.float32}


@dataclass(eq=False, repr=False)
class Mapped:
    """
    Rankings as they were given, {topic: {docno: score}}.

    topics: ids of the B topics; documents: of each; starts: int64[B+1], scores: float64[N]  as in a Block
    hashes: of each topic, as digests() gives them
    """

    topics: list[bytes]
    documents: list[dict[str, float]]
    starts: Integers
    scores: Reals
    hashes: list[bytes]

    # As a RunReader has them.
    tag: ClassVar[bytes] = b""
    stated: ClassVar[bool] = False
    notes: ClassVar[Sequence[str]] = ()

    @classmethod
    def of(cls, run: Any) -> "Mapped | None":
        """The rankings of a dict of dicts whose ids are strings and whose scores are plain numbers; else None."""
        if type(run) is not dict or not run or "" in run:
            return None
        documents = list(run.values())
        if set(map(type, documents)) != {dict} or any("" in each for each in documents):
            return None
        if countOf(_types(documents), float) < sum(map(len, documents)) and not set(_types(documents)) <= _NUMBERS:
            return None
        try:
            joined = [("\n".join(each) + "\n" * bool(each)).encode() for each in documents]
            topics = [topic.encode() for topic in run]
            starts = starts_of_parts(documents)
            scores = np.fromiter(chain.from_iterable(each.values() for each in documents), float, starts[-1])
        except (AttributeError, TypeError, UnicodeEncodeError, OverflowError):
            return None  # an id that is no string, or stands for bytes; an integer that no double holds
        if sum(each.count(b"\n") for each in joined) != starts[-1]:
            return None  # ids with line ends, of which the hash would not tell where they end
        lowest = scores.min(initial=0.0)
        if lowest != lowest:  # a NaN anywhere makes it one
            return None
        bounds = pairwise(starts.tolist())
        hashes = [digest(each, scores[begin:end]) for each, (begin, end) in zip(joined, bounds, strict=True)]
        return cls(topics, documents, starts, scores, hashes)

    def __enter__(self) -> "Mapped":
        return self

    def __exit__(self, *_: object) -> None:
        """As a RunReader has it; there is nothing to close."""

    def blocks(self) -> "Iterator[Mapped]":
        """Yield the rankings, some topics at a time: less memory is touched for the first time."""
        if len(self.scores) <= _TOGETHER:
            yield self
            return
        begin = 0
        while begin < len(self.topics):
            end = max(begin + 1, int(np.searchsorted(self.starts, self.starts[begin] + _TOGETHER, "right")) - 1)
            some, scores = slice(begin, end), self.scores[self.starts[begin] : self.starts[end]]
            starts = self.starts[begin : end + 1] - self.starts[begin]
            yield Mapped(self.topics[some], self.documents[some], starts, scores, self.hashes[some])
            begin = end

    def some(self, chosen: Integers) -> "Mapped":
        """The rankings `chosen`: int64[n]."""
        sizes = sizes_of(self.starts)[chosen]
        scores = self.scores[spread(self.starts[chosen], sizes)]
        columns = (self.topics, self.documents, self.hashes)
        topics, documents, hashes = ([column[b] for b in chosen.tolist()] for column in columns)
        return Mapped(topics, documents, starts_of(sizes), scores, hashes)

    def under(self, protocol: Protocol) -> "Mapped | Block":
        """The same without documents that the protocol does not rank."""
        return self._packed().under(protocol) if protocol.ignore_self else self

    def digests(self) -> list[bytes]:
        """A hash of each topic's ranking, as Block has it."""
        return self.hashes

    def docno(self, record: int) -> bytes:
        """The docno of a record, as Block numbers them."""
        b = int(np.searchsorted(self.starts, record, "right")) - 1
        return list(self.documents[b])[record - int(self.starts[b])].encode()

    def line(self, record: int) -> None:
        """A dict has no lines."""

    def rank(self, judgements: Judgements, places: Integers, protocol: Protocol, every: bool) -> Ranked:
        """As Judgements.rank has it."""
        if every or not isinstance(judgements, Qrels) or judgements.form != "qrels":
            return self._packed().rank(judgements, places, protocol, every)
        ascending = as_stored(self.scores, protocol.compat) + 0.0  # -0.0 is 0.0
        for begin, end in pairwise(self.starts.tolist()):
            ascending[begin:end].sort()
        names = judgements.names
        asked = [names[place] for place in places.tolist()]
        found = [docs.get(name) for docs, judged in zip(self.documents, asked, strict=True) for name in judged]
        score = as_stored(np.array(found, float), protocol.compat) + 0.0  # None, not ranked, is NaN
        row_starts, tied_pairs = np.zeros(len(places) + 1, np.int64), np.empty(len(places), np.int64)
        rows = np.empty((kernel.ROW_SIZE, len(score)), np.int64)
        tied = kernel.locate(
            ascending,
            self.starts,
            judgements.documents.starts[places],
            starts_of_parts(asked),
            score,
            judgements.level,
            row_starts,
            rows,
            tied_pairs,
        )
        rank, level, document, first, last = rows[:, : row_starts[-1]]
        num_ret = sizes_of(self.starts)
        ranked = Ranked(places, num_ret, row_starts, rank, level, document, first, last, tied_pairs, ONCE)
        return self._ordered(ranked, judgements, protocol) if tied else ranked

    def _ordered(self, ranked: Ranked, judgements: Judgements, protocol: Protocol) -> Ranked:
        """The same with documents of equal score by docno, larger bytes first, or as given."""
        stored, as_given = as_stored(self.scores, protocol.compat), protocol.ties == "input"
        rank = ranked.first.copy()
        tied = np.flatnonzero(ranked.first < ranked.last)
        query = ranked.query
        grouped, groups = -1, dict[int, dict[bytes, int]]()
        for m, b, first in zip(tied.tolist(), query[tied].tolist(), ranked.first[tied].tolist(), strict=True):
            if b != grouped:
                grouped, groups = b, self._groups(b, stored[self.starts[b] : self.starts[b + 1]], as_given)
            rank[m] += groups[first][judgements.documents.docno(int(ranked.document[m]))]
        order = np.lexsort((rank, query))
        return replace(ranked.in_order(order), rank=rank[order])

    def _groups(self, b: int, stored: Reals, as_given: bool) -> dict[int, dict[bytes, int]]:
        """Of topic b, by the first rank of those that have a score: each document's place among them, from 0."""
        by_score: dict[float, list[bytes]] = {}
        for docno, score in zip(self.documents[b], stored.tolist(), strict=True):
            by_score.setdefault(score, []).append(docno.encode())
        groups, first = {}, 1
        for score in sorted(by_score, reverse=True):
            tied = by_score[score] if as_given else sorted(by_score[score], reverse=True)
            groups[first] = {docno: place for place, docno in enumerate(tied)}
            first += len(tied)
        return groups

    def _packed(self) -> Block:
        """The same in the form that everything can be asked of."""
        names = [topic.decode() for topic in self.topics]
        return Block.of(*packed_scores(dict(zip(names, self.documents, strict=True)), KNOWN))


def _types(documents: list[dict[str, float]]) -> Iterator[type]:
    """Of each score."""
    return map(type, chain.from_iterable(each.values() for each in documents))
