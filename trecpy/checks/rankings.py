"""Small checks over the records of a run that know nothing of what lies before or behind them."""

from typing import Any

import numpy as np

from trecpy.arrays import end_to_end
from trecpy.checks.findings import Findings
from trecpy.checks.ids import odd_ids
from trecpy.checks.lines import has_spaces_in_ids
from trecpy.checks.rows import Rows
from trecpy.kernels.dtypes import Bytes, Flags, Integers
from trecpy.kernels.parse import hash_all

RANK, TAG = 2, 4  # where the spans of a record of TREC's have them
_MOST_DIGITS = 18
_MAY_BEGIN_NUMBERS = np.isin(np.arange(256), list(b"0123456789+-."))
_BLANK = b" \t\r\v\f"


def infinite_scores(rows: Rows, found: Findings) -> None:
    """Scores that are not finite."""
    where = np.flatnonzero(np.isinf(rows.values))
    found.add("infinite-score", len(where), rows.examples(where))


def duplicate_documents(rows: Rows, found: Findings) -> None:
    """A document ranked twice."""
    again, other = rows.repeated
    detail = "some with another score" if other else ""
    found.add("duplicate-document", len(again), rows.examples(again), detail, fixable=len(again) - other)


def ties(rows: Rows, found: Findings) -> None:
    """Equal scores, and those that only 64 bits tell apart."""
    if not len(rows.topic):  # a topic of a table may have no documents
        return
    order = np.lexsort((rows.values, rows.topic)) if not _falling(rows) else np.arange(len(rows.topic))
    topic, scores = rows.topic[order], rows.values[order]
    together, equal = np.diff(topic) == 0, scores[1:] == scores[:-1]  # no differences: infinite ones have none
    for code, alike in (
        ("tied-scores", together & equal),
        ("float32-tie", together & ~equal & _alike_as_float32(scores)),
    ):
        tied = np.append(alike, False) | np.insert(alike, 0, False)
        where = np.sort(order[tied]) if found.wants(code) else np.zeros(0, np.int64)
        found.add(code, int(np.count_nonzero(tied)), rows.examples(where))


def _falling(rows: Rows) -> bool:
    """Are scores in order already?"""
    return not np.any((rows.values[1:] > rows.values[:-1]) & (np.diff(rows.topic) == 0))


def _alike_as_float32(scores: Any) -> Flags:
    with np.errstate(over="ignore"):
        alike: Flags = np.diff(scores.astype(np.float32).view(np.uint32)) == 0
    return alike


def contradicting_ranks(rows: Rows) -> tuple[Integers, int]:
    """Rows of which the next better one by rank has a lower score, and how many rows have one."""
    given = _integers(rows.data, rows.spans[:, RANK], rows.spans[:, RANK + 1])
    if given is None:
        return np.zeros(0, np.int64), 0
    order = np.lexsort((given, rows.topic)) if np.any((np.diff(given) < 0) & (np.diff(rows.topic) == 0)) else None
    topic, rank, scores = (column if order is None else column[order] for column in (rows.topic, given, rows.values))
    behind = (np.diff(topic) == 0) & (np.diff(rank) > 0)
    wrong = 1 + np.flatnonzero(behind & (scores[1:] > scores[:-1]))
    return wrong if order is None else np.sort(order[wrong]), int(np.count_nonzero(behind))


def _integers(data: Bytes, at: Integers, size: Integers) -> Integers | None:
    """int64[N]: plain integers at these places; None where some are none."""
    longest = int(size.max(initial=0))
    if longest > _MOST_DIGITS:
        return None
    value = np.zeros(len(at), np.int64)
    for place in range(longest):
        inside = place < size
        digit = data[np.where(inside, at + place, at)].astype(np.int64) - ord("0")
        if np.any(inside & ((digit < 0) | (digit > 9))):
            return None
        value = np.where(inside, 10 * value + digit, value)
    return value


def spaces_in_ids(rows: Rows, found: Findings) -> Flags | None:
    """bool[N]: lines whose ids hold spaces, so that other columns are where rank and score should be; None: none."""
    if rows.spans.shape[1] <= TAG:
        return None
    odd = _behind_tag(rows) | ~_MAY_BEGIN_NUMBERS[rows.data[rows.spans[:, RANK]]]
    candidates = np.flatnonzero(odd).tolist()
    where = [row for row in candidates if has_spaces_in_ids(rows.whole(row).split(), "run")]
    if not where:
        return None
    found.add("spaces-in-ids", len(where), rows.examples(where))
    spaced = np.zeros(len(rows.topic), bool)
    spaced[where] = True
    return spaced


def extra_columns(rows: Rows, found: Findings) -> None:
    """Something behind the run tag."""
    if rows.spans.shape[1] > TAG:
        where = np.flatnonzero(_behind_tag(rows))
        found.add("extra-columns", len(where), rows.examples(where), fixable=len(where))


def _behind_tag(rows: Rows) -> Flags:
    """bool[N]: does more than blanks follow the tag?"""
    ends = rows.spans[:, TAG] + rows.spans[:, TAG + 1]
    bare = (rows.data[ends] == ord("\n")) | ((rows.data[ends] == ord("\r")) & (rows.data[ends + 1] == ord("\n")))
    more: Flags = ~bare
    for row in np.flatnonzero(more).tolist():
        place = int(ends[row])
        while rows.data[place] in _BLANK:
            place += 1
        more[row] = rows.data[place] != ord("\n")
    return more


def self_hits(rows: Rows, found: Findings) -> None:
    """Documents whose id is the topic's."""
    spans = end_to_end(np.fromiter(map(len, rows.topics), np.int64, len(rows.topics)))
    hashes = np.empty(len(spans), np.uint64)
    hash_all(np.frombuffer(b"".join(rows.topics), np.uint8), spans, hashes)
    where = np.flatnonzero(hashes[rows.topic] == rows.hashes)
    found.add("self-hit", len(where), rows.examples(where))


RUN_CHECKS = (infinite_scores, duplicate_documents, ties, extra_columns, self_hits, odd_ids)
