"""Documents without a judgement near the top of rankings: how many, and where they stand."""

from collections.abc import Iterator

import numpy as np

from trecpy.checks.findings import Findings
from trecpy.checks.qrels import CheckedQrels
from trecpy.checks.rows import Rows
from trecpy.kernels.dtypes import Integers
from trecpy.packed import Block, Qrels, Records
from trecpy.text import plural, quoted

CUTOFFS = (5, 10, 20)


class Unjudged:
    """
    What is counted of them over the blocks of a run.

    possible, matched: documents that can be judged ones, by the sizes of rankings and judgements; those that are
    ranked: documents of judged topics
    retrieved, unjudged: int64[3]  documents down to each cutoff, over all judged topics; those without a level >= 0
    """

    def __init__(self, judged: CheckedQrels) -> None:
        self._judged = judged
        self.retrieved, self.unjudged = np.zeros((2, len(CUTOFFS)), np.int64)
        self.ranked = self.possible = self.matched = 0
        self._topics = 0
        self._firsts: list[Integers] = []  # rank of the best unjudged document of each topic that has one up there

    def see(self, block: Block, rows: Rows, found: Findings) -> None:
        """Count those of a block. rows: the same"""
        qrels = self._judged.qrels
        places = qrels.find(block.topics)
        chosen = np.flatnonzero(places >= 0)
        if not len(chosen):
            return
        some = block if len(chosen) == len(places) else block.some(chosen)
        ranked = qrels.rank(some, places[chosen], self._judged.plan.protocol)
        judgements = np.diff(qrels.documents.starts)[places[chosen]]
        self.ranked += int(ranked.num_ret.sum())
        self.possible += int(np.minimum(ranked.num_ret, judgements).sum())
        self.matched += len(ranked.level)
        judged = ranked.level >= 0
        query, rank = ranked.query[judged], ranked.rank[judged]
        per_topic = np.bincount(query, minlength=len(chosen))
        for c, cutoff in enumerate(CUTOFFS):
            retrieved = np.minimum(ranked.num_ret, cutoff).sum()
            self.retrieved[c] += retrieved
            self.unjudged[c] += retrieved - np.count_nonzero(rank <= cutoff)
        # Ranks of judged documents are 1, 2, 3, ... until the first one without a judgement.
        place = 1 + np.arange(len(query)) - np.repeat(np.cumsum(per_topic) - per_topic, per_topic)
        first = 1 + np.bincount(query[rank == place], minlength=len(chosen))
        have = np.flatnonzero(first <= np.minimum(ranked.num_ret, CUTOFFS[-1]))
        self._topics += len(chosen)
        self._firsts.append(first[have])
        count = int(np.minimum(ranked.num_ret, CUTOFFS[-1]).sum() - np.count_nonzero(rank <= CUTOFFS[-1]))
        found.add("unjudged-documents", count, self._examples(block, rows, chosen[have], first[have]))

    def conclude(self, found: Findings) -> None:
        """Say how many and where, if there are any."""
        if "unjudged-documents" not in found:
            return
        counts = ", ".join(
            f"{unjudged:,} of {retrieved:,} at {cutoff} ({unjudged / retrieved:.1%})"
            for cutoff, retrieved, unjudged in zip(
                CUTOFFS, self.retrieved.tolist(), self.unjudged.tolist(), strict=True
            )
        )
        firsts = np.concatenate(self._firsts)
        where = f"the first stands at rank {np.median(firsts):g} in the median of {plural(len(firsts), 'topic')}"
        found.add_detail("unjudged-documents", f"{counts}, of {plural(self._topics, 'topic')}; {where}")

    def _examples(self, block: Block, rows: Rows, topics: Integers, ranks: Integers) -> Iterator[str]:
        """The best unjudged document of each topic."""
        for b, rank in zip(topics.tolist(), ranks.tolist(), strict=True):
            alone = block.some(np.array([b]))
            # Judged by its own documents, a ranking has a row for each, which says which one it is.
            records = Records(alone.topics, alone.topic, alone.data, alone.spans, alone.hashes)
            own = Qrels.of("", records, np.zeros(len(alone.scores), np.int64))
            ranked = own.rank(alone, np.zeros(1, np.int64), self._judged.plan.protocol)
            record = int(block.starts[b] + ranked.document[rank - 1])
            said = f"docno {quoted(block.docno(record))}" if rows.before is None else rows.say(record)
            yield f"topic {quoted(block.topics[b])}, rank {rank}: {said}"
