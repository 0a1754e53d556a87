"""
Runs that are dicts, scored where they lie.

Only judged documents are looked up, and their ranks follow from the sorted scores: no docno is copied, and only those
of equal scores are compared. Whatever is unusual, right or wrong, is left to trecpy.inputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from trecpy.inputs import KNOWN, packed_scores
from trecpy.kernels.dtypes import Integers, Reals
from trecpy.kernels.locate import locate
from trecpy.kernels.rank import NEGATIVE
from trecpy.packed import Block, Judgements, Qrels, as_stored, digest
from trecpy.protocol import Protocol
from trecpy.ranked import Ranked

_NUMBERS = {float, int, np.float64, np.float32}


@dataclass(frozen=True)
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
    tag = b""
    notes: Sequence[str] = ()

    @classmethod
    def of(cls, run: Any) -> "Mapped | None":
        """The rankings of a dict of dicts whose ids are strings and whose scores are plain numbers; else None."""
        if type(run) is not dict or not run or "" in run:
            return None
        documents = list(run.values())
        if set(map(type, documents)) != {dict} or any("" in each for each in documents):
            return None
        if not set(map(type, chain.from_iterable(each.values() for each in documents))) <= _NUMBERS:
            return None
        try:
            joined = [("\n".join(each) + "\n" * bool(each)).encode("utf-8", "surrogateescape") for each in documents]
            topics = [topic.encode("utf-8", "surrogateescape") for topic in run]
            sizes = np.fromiter(map(len, documents), np.int64, len(documents))
            starts = np.concatenate(([0], np.cumsum(sizes)))
            scores = np.fromiter(chain.from_iterable(each.values() for each in documents), float, starts[-1])
        except (AttributeError, TypeError, UnicodeEncodeError, OverflowError):
            return None  # an id that is no string, half a surrogate pair, an integer that no double holds
        if np.isnan(scores).any():
            return None
        bounds = pairwise(starts.tolist())
        hashes = [digest(each, scores[begin:end]) for each, (begin, end) in zip(joined, bounds, strict=True)]
        return cls(topics, documents, starts, scores, hashes)

    def __enter__(self) -> "Mapped":
        return self

    def __exit__(self, *_: object) -> None:
        """As a RunReader has it; there is nothing to close."""

    def blocks(self) -> "tuple[Mapped]":
        """The rankings, all in one."""
        return (self,)

    def some(self, chosen: Integers) -> "Mapped":
        """The rankings `chosen`: int64[n]."""
        numbers = chosen.tolist()
        scores = [self.scores[self.starts[b] : self.starts[b + 1]] for b in numbers]
        starts = np.concatenate(([0], np.cumsum(np.diff(self.starts)[chosen])))
        topics, documents, hashes = ([each[b] for b in numbers] for each in (self.topics, self.documents, self.hashes))
        return Mapped(topics, documents, starts, np.concatenate(scores), hashes)

    def under(self, protocol: Protocol) -> "Mapped | Block":
        """The same without documents that the protocol does not rank."""
        return self._packed().under(protocol) if protocol.ignore_self else self

    def digests(self) -> list[bytes]:
        """A hash of each topic's ranking, as Block has it."""
        return self.hashes

    def docno(self, record: int) -> bytes:
        """As Block has it; it is not asked for, since a dict has no document twice."""
        raise NotImplementedError

    def line(self, record: int) -> None:
        """A dict has no lines."""

    def rank(self, judgements: Judgements, places: Integers, protocol: Protocol, every: bool) -> Ranked:
        """As Judgements.rank has it."""
        if every or not isinstance(judgements, Qrels) or judgements.form != "qrels":
            return self._packed().rank(judgements, places, protocol, every)
        stored = as_stored(self.scores, protocol.compat) + 0.0
        ascending = stored.copy()
        for begin, end in pairwise(self.starts.tolist()):
            ascending[begin:end].sort()
        names = judgements.names
        found = [
            docs.get(name) for docs, place in zip(self.documents, places.tolist(), strict=True) for name in names[place]
        ]
        score = as_stored(np.array(found, float), protocol.compat) + 0.0  # NaN: not ranked
        begins, ends = judgements.documents.starts[places], judgements.documents.starts[places + 1]
        counts = ends - begins
        row_starts = np.concatenate(([0], np.cumsum(counts)))
        document = np.repeat(begins - row_starts[:-1], counts) + np.arange(row_starts[-1])
        topic = np.repeat(np.arange(len(places)), counts)
        there = ~np.isnan(score)
        score, document, topic = score[there], document[there], topic[there]
        row_starts = np.searchsorted(topic, np.arange(len(places) + 1))
        first, last = np.empty((2, len(score)), np.int64)
        tied_pairs = np.empty(len(places), np.int64)
        locate(ascending, self.starts, row_starts, score, first, last, tied_pairs)
        rank = self._ranks(judgements, stored, topic, document, score, first, last, protocol.ties == "input")
        order = np.lexsort((rank, topic))
        document = document[order]
        level = judgements.level[document]
        return Ranked(
            unit=places,
            num_ret=np.diff(self.starts),
            row_starts=row_starts,
            rank=rank[order],
            level=np.where(level < 0, NEGATIVE, level),
            document=document,
            first=first[order],
            last=last[order],
            tied_pairs=tied_pairs,
            repeated=np.full((len(places), 3), [-1, -1, 0]),
        )

    def _ranks(
        self,
        judgements: Judgements,
        stored: Reals,
        topic: Integers,
        document: Integers,
        score: Reals,
        first: Integers,
        last: Integers,
        as_given: bool,
    ) -> Integers:
        """int64[M]: the rank of each row, by docno, larger bytes first, or as given, where scores are equal."""
        rank = first.copy()
        tied = np.flatnonzero(first < last)
        groups: dict[float, list[bytes]] = {}
        grouped = -1
        for m, b, wanted in zip(tied.tolist(), topic[tied].tolist(), score[tied].tolist(), strict=True):
            if b != grouped:
                grouped, groups = b, {}
                for docno, value in zip(
                    self.documents[b], stored[self.starts[b] : self.starts[b + 1]].tolist(), strict=True
                ):
                    groups.setdefault(value, []).append(docno.encode("utf-8", "surrogateescape"))
                if not as_given:
                    for group in groups.values():
                        group.sort(reverse=True)
            rank[m] += groups[wanted].index(judgements.documents.docno(int(document[m])))
        return rank

    def _packed(self) -> Block:
        """The same in the form that everything can be asked of."""
        names = [topic.decode("utf-8", "surrogateescape") for topic in self.topics]
        return Block.of(*packed_scores(dict(zip(names, self.documents, strict=True)), KNOWN))
