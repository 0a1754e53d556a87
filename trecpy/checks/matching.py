"""Ids of a run that match those of the judgements but for case, zeros in front, or encoding."""

from collections.abc import Mapping, Sequence

import numpy as np

from trecpy.checks.findings import Findings, Severity
from trecpy.checks.ids import compared, difference
from trecpy.checks.qrels import CheckedQrels
from trecpy.checks.rows import Rows
from trecpy.text import quoted

_SAMPLE = 10_000  # documents that are looked at
_MOST_NAMES = 100_000  # judged ones that these are compared with
_LIKELY = 0.01  # that share of them must nearly match: some collections have ids that differ by case alone


class NearIds:
    """A sample of a run's documents that have no judgement, and whether any has one."""

    def __init__(self, judged: CheckedQrels) -> None:
        self._judged = judged
        self._near: dict[bytes, tuple[str, int | None]] = {}  # docnos without judgements -> as compared, line
        self._matched = False

    def see(self, rows: Rows) -> None:
        """Take some documents."""
        if len(self._near) >= _SAMPLE and self._matched:
            return
        judged = self._judged.hashes
        places = np.minimum(np.searchsorted(judged, rows.hashes), len(judged) - 1)
        unmatched = np.flatnonzero(judged[places] != rows.hashes)
        self._matched = self._matched or len(unmatched) < len(rows.hashes)
        taken = unmatched[: _SAMPLE - len(self._near)]
        lines = rows.lines(taken).tolist() if rows.before is not None else [None] * len(taken)
        for docno, line in zip(map(rows.docno, taken.tolist()), lines, strict=True):
            self._near.setdefault(docno, (compared(docno), line))

    def conclude(
        self,
        missing: Sequence[bytes],
        unjudged: Sequence[bytes],
        lines: Mapping[bytes, int],
        some: bool,
        found: Findings,
    ) -> None:
        """
        Say which are near.

        missing, unjudged: topics of the judgements only, of the run only; lines: of the latter, where known
        some: are there topics in both?
        """
        known = {compared(topic): topic for topic in missing}
        pairs = [(topic, known[same]) for topic in unjudged if (same := compared(topic)) in known]
        said = (_said("topic", *pair, lines.get(pair[0])) for pair in pairs)
        found.add("near-id", len(pairs), said, severity=None if some else "error")
        if not some and unjudged:
            swapped = self._near.keys() & set(missing) and set(unjudged) & set(self._names())
            found.add(
                "no-common-topic",
                len(unjudged),
                [_such_as("topics", unjudged, missing)],
                detail="topic and docno have changed places" if swapped else difference(unjudged, missing),
            )
        if not self._near:
            return
        known = {compared(name): name for name in self._names()}
        names = [(docno, known[same], line) for docno, (same, line) in self._near.items() if same in known]
        if len(names) >= _LIKELY * len(self._near):
            found.add(
                "near-id",
                len(names),
                (_said("docno", *each) for each in names),
                severity=None if self._matched else "error",
            )

    def none_judged(self, ranked: int, judged: int, found: Findings) -> None:
        """Say that of the ranked documents of judged topics none is judged, or, which a bad system may do, few are."""
        severity: Severity = "warning" if judged else "error"
        said, detail = list[str](), "all are judged in other topics: do topics differ?"
        if self._near:
            names = self._names()
            said, detail = [_such_as("documents", list(self._near), names)], difference(self._near, names)
        found.add("no-judged-document", ranked - judged, said, detail, severity)

    def _names(self) -> list[bytes]:
        """Judged documents."""
        documents = self._judged.qrels.documents
        return [documents.docno(j) for j in range(min(len(documents.spans), _MOST_NAMES))]


def _such_as(role: str, run: Sequence[bytes], qrels: Sequence[bytes]) -> str:
    some = (", ".join(map(quoted, names[:2])) for names in (run, qrels))
    return "{} such as {} in the run, {} in the judgements".format(role, *some)


def _said(role: str, run: bytes, qrels: bytes, line: int | None) -> str:
    where = "" if line is None else f"line {line}: "
    return f"{where}{role} {quoted(run)} in the run, {quoted(qrels)} in the judgements"
