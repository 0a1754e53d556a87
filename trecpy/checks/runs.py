"""What is odd in a run, and what it does to scores, from one pass over its blocks."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trecpy.checks.findings import Findings
from trecpy.checks.lines import FaultFindings, add_oddities
from trecpy.checks.matching import NearIds
from trecpy.checks.qrels import MEASURES, CheckedQrels
from trecpy.checks.rankings import RANK, RUN_CHECKS, TAG, contradicting_ranks, spaces_in_ids
from trecpy.checks.rows import Rows, is_another
from trecpy.checks.unjudged import Unjudged
from trecpy.errors import TrecpyError
from trecpy.evaluation import score, tie_range
from trecpy.files import open_run
from trecpy.formats.sniff import layout_of
from trecpy.formats.source import Source
from trecpy.kernels.parse import hash_all
from trecpy.packed import Block
from trecpy.text import plural, quoted

_FEW = 0.01  # of the documents that could be judged ones; the worst systems find more


@dataclass
class Sizes:
    """
    Documents of each topic of a run, of which `twice` has how many are there once more.

    lines: in which each topic begins, where the run is lines
    cut: topics that have lines which cannot be read, so that they are shorter here than in the run
    """

    documents: dict[bytes, int] = field(default_factory=dict)
    twice: dict[bytes, int] = field(default_factory=dict)
    lines: dict[bytes, int] = field(default_factory=dict)
    cut: set[bytes] = field(default_factory=set)

    def see(self, rows: Rows) -> None:
        """Count those of some topics."""
        sizes = np.bincount(rows.topic, minlength=len(rows.topics))
        self.documents.update(zip(rows.topics, sizes.tolist(), strict=True))
        if rows.before is not None:
            self.lines.update(zip(rows.topics, rows.lines(np.cumsum(sizes) - sizes).tolist(), strict=True))
        again, _ = rows.repeated
        topics, counts = np.unique(rows.topic[again], return_counts=True)
        self.twice.update(zip((rows.topics[t] for t in topics.tolist()), counts.tolist(), strict=True))

    @property
    def totals(self) -> tuple[int, int]:
        """Documents and topics."""
        return sum(self.documents.values()), len(self.documents)

    def distinct(self, topic: bytes) -> int:
        """Different documents of a topic."""
        return self.documents.get(topic, 0) - self.twice.get(topic, 0)

    def say(self, topic: bytes) -> str:
        """A topic as an example."""
        return (f"line {self.lines[topic]}: " if topic in self.lines else "") + f"topic {quoted(topic)}"

    @property
    def usual(self) -> int:
        """Different documents that more than half of the topics have; 0 where there is no such number."""
        counts = Counter(map(self.distinct, self.documents))
        size, topics = max(counts.items(), key=lambda item: item[1], default=(0, 0))
        return size if 2 * topics > len(self.documents) else 0


def check_run(
    source: Source, layout: str | None, judged: CheckedQrels | None, depth: int | None
) -> tuple[Findings, Sizes]:
    """
    Check a run, against judgements where there are any.

    depth: documents that every topic should have, or None. Returns what was found, and the sizes of rankings.
    """
    found = Findings(source.name, "run")
    state = _Run(found, judged, depth)
    with source:
        try:
            if is_another(source, "run", layout, found):
                return found, state.sizes
            found.is_trec = layout_of(source, "run", layout) == "trec"
            faults = FaultFindings(found, "run", state.begin)
            reader = open_run(source, "10.0", layout, faults, spans=("rank", "tag"))
            blocks = state.checked(reader.blocks())
            scores = None
            if judged is None:
                for _ in blocks:
                    pass
            else:
                scores = score(judged.plan, blocks, witness=True)
            add_oddities(reader.odd, found)
        except TrecpyError as error:
            found.add("unreadable", 1, [str(error)])
            found.records, found.topics = state.sizes.totals
            return found, state.sizes
    found.records, found.topics = state.sizes.totals
    state.sizes.cut |= faults.topics
    if not found.records:
        found.add("no-records", 1)
    state.conclude(scores, faults.told if not found.is_trec else 0)
    return found, state.sizes


class _Run:
    """What is kept of a run from block to block: little for each topic."""

    def __init__(self, found: Findings, judged: CheckedQrels | None, depth: int | None) -> None:
        self.found, self.judged, self.depth = found, judged, depth
        self.begin()

    def begin(self) -> None:
        """Forget all: the run is read from its beginning."""
        self.found.forget()
        self.sizes = Sizes()
        self.tags: set[bytes] = set()
        self.ranks: set[int] = set()  # hashes of rank columns, two at most
        self.first_rank: list[str] = []
        self.behind = 0  # documents that have a next better one by rank
        self.near = NearIds(self.judged) if self.judged is not None else None
        self.unjudged = Unjudged(self.judged) if self.judged is not None else None

    def checked(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Check each block, and hand on what of it can be scored."""
        for block in blocks:
            rows = Rows.of_block(block)
            spaced = spaces_in_ids(rows, self.found)
            if spaced is not None:
                self.sizes.cut.update(rows.topics[t] for t in np.unique(rows.topic[spaced]).tolist())
                block = block.only(~spaced)
                block = block.some(np.flatnonzero(np.diff(block.starts)))
                rows = Rows.of_block(block)
            if not block.topics:
                continue
            self.sizes.see(rows)
            for check in RUN_CHECKS:
                check(rows, self.found)
            if rows.spans.shape[1] > TAG and len(rows.topic):
                self._check_tags(rows)
                self._check_ranks(rows)
            block = replace(block, spans=np.ascontiguousarray(block.spans[:, :2]))
            if self.near is not None and self.unjudged is not None:
                self.near.see(rows)
                self.unjudged.see(block, rows, self.found)
            yield block

    def _check_tags(self, rows: Rows) -> None:
        _, first = np.unique(_hashes(rows, TAG), return_index=True)
        for row in np.sort(first).tolist():
            tag = rows.text(row, TAG)
            if self.tags and tag not in self.tags:
                self.found.add("several-tags", 1, rows.examples([row]))
            self.tags.add(tag)

    def _check_ranks(self, rows: Rows) -> None:
        wrong, behind = contradicting_ranks(rows)
        self.found.add("rank-contradicts-score", len(wrong), rows.examples(wrong))
        self.behind += behind
        if len(self.ranks) < 2:
            hashes = _hashes(rows, RANK)
            self.ranks |= {int(hashes.min()), int(hashes.max())}
            self.first_rank = self.first_rank or [rows.say(0)]

    def conclude(self, scores: Any, left_out: int) -> None:
        """What is known only at the end. left_out: rows that cannot be read, whose topics are not known"""
        self._conclude(scores)
        for code in ("short-ranking", "missing-topic"):
            if left_out and code in self.found:
                self.found.add_detail(code, f"without {plural(left_out, 'row')} that cannot be read")

    def _conclude(self, scores: Any) -> None:
        sizes = self.sizes.documents
        wanted = self.sizes.usual if self.depth is None else self.depth
        short = [topic for topic, size in sizes.items() if size < wanted and topic not in self.sizes.cut]
        self.found.add(
            "short-ranking",
            len(short),
            (f"{self.sizes.say(topic)}: {sizes[topic]:,} of {wanted:,}" for topic in short),
            severity="note" if self.depth is None else None,
        )
        if len(self.ranks) == 1 and max(sizes.values(), default=0) > 1:
            self.found.add("constant-rank", self.found.records, self.first_rank)
        if (backwards := self.found.count("rank-contradicts-score")) > 1 and backwards == self.behind:
            detail = "they do everywhere: the scores may be distances, of which the smallest is best, and want a minus"
            self.found.add_detail("rank-contradicts-score", detail)
        if scores is None or self.near is None or self.unjudged is None:
            return
        missing = sorted(scores.judged.keys() - scores.present - self.sizes.cut)
        unjudged = sorted(scores.unjudged)
        if scores.present:  # else these are all topics, and it is ids that differ
            for code, topics in (("missing-topic", missing), ("unjudged-topic", unjudged)):
                self.found.add(code, len(topics), map(self.sizes.say, topics))
        self.near.conclude(missing, unjudged, self.sizes.lines, bool(scores.present), self.found)
        self.unjudged.conclude(self.found)
        if self.unjudged.matched < _FEW * self.unjudged.possible:
            self.near.none_judged(self.unjudged.ranked, self.unjudged.matched, self.found)
        if scores.present and "tied-scores" in self.found:
            self._measure_ties(scores)

    def _measure_ties(self, scores: Any) -> None:
        """What the order of ties can do to scores."""
        names = [column.name for column in scores.columns]
        values = dict(zip(names, scores.summary(), strict=True))
        worst, best = (dict(zip(names, bound.summary(), strict=True)) for bound in tie_range(scores))
        moved = [
            f"{name} {values[name]:.4f} ({worst[name]:.4f} to {best[name]:.4f})"
            for name in MEASURES
            if abs(best[name] - worst[name]) >= 0.00005
        ]
        if moved:
            self.found.add_detail("tied-scores", "by the order of ties: " + ", ".join(moved), "warning")


def _hashes(rows: Rows, column: int) -> Any:
    """uint64[N]: of the strings in one of the spans."""
    hashes = np.empty(len(rows.spans), np.uint64)
    hash_all(rows.data, np.ascontiguousarray(rows.spans[:, column : column + 2]), hashes)
    return hashes
