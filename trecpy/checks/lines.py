"""Lines that cannot be read, or not as they are meant: what each most likely is, and that as a finding."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from trecpy.checks.findings import Findings
from trecpy.checks.rows import example
from trecpy.formats.columns import DOCNO_NAMES, LEVEL_NAMES, RANK_NAMES, SCORE_NAMES, TOPIC_NAMES, Kind
from trecpy.formats.faults import Place
from trecpy.formats.oddities import Oddities
from trecpy.formats.source import BOM
from trecpy.numbers import strtod
from trecpy.text import quoted

_NAMES = {
    name.encode() for name in (*TOPIC_NAMES, *DOCNO_NAMES, *LEVEL_NAMES, *SCORE_NAMES, *RANK_NAMES, "iter", "tag")
}
_LONG_NUMBER = re.compile(rb"\d{2,}")  # as ids have it and levels hardly
_COMMA = re.compile(rb"[+-]?\d+,\d+")
_BLANKS_OR_SEPARATORS = re.compile(rb"[\s,;]+")
_RANK, _SCORE, _LEVEL = 3, 4, 3  # columns of TREC's files, from 0
_SIGNS_AND_DIGITS = tuple(bytes([byte]) for byte in b"0123456789+-.")
_RUN_COLUMNS, _QRELS_COLUMNS = 6, 4


class FaultFindings:
    """
    What readers tell, as findings.

    again: called when the file is read once more, from its beginning
    """

    def __init__(self, found: Findings, kind: Kind, again: Callable[[], None] = lambda: None) -> None:
        self._found, self._kind, self._again = found, kind, again
        self._first = True
        self.topics: set[bytes] = set()  # of lines of TREC's that cannot be read, as far as they can be told
        self.told = 0

    def line(self, found: int, place: Place) -> None:
        """A line of a wrong number of columns."""
        self._add("malformed-line" if found else "blank-line", place)

    def value(self, value: float, place: Place) -> None:
        """A value that is no number."""
        self._add("nan-score" if value != value and self._kind == "run" else "bad-value", place)

    def repeated(self, place: Place) -> None:
        """A topic that an object of JSON has once more."""
        self._found.add("repeated-topic", 1, self._example("repeated-topic", place))

    def again(self) -> None:
        """The file is read once more."""
        self._first = True
        self.topics.clear()
        self.told = 0
        self._again()

    def _add(self, code: str, place: Place) -> None:
        code = self._likely(place) or code
        self.told += code not in ("header", "blank-line")
        if self._found.is_trec and code != "header":
            self.topics.update(place.text.split(None, 1)[:1])
        self._found.add(code, 1, self._example(code, place))

    def _likely(self, place: Place) -> str | None:
        """What is wrong, if that can be told."""
        if self._first:
            self._first = False
            words = set(_BLANKS_OR_SEPARATORS.split(place.text.removeprefix(BOM).lower()))
            if len(words & _NAMES) > 1 and place.where() == "line 1":
                return "header"
        if self._found.is_trec:
            return likely_fault(place.text.split(), self._kind)
        return "decimal-comma" if any(map(_COMMA.fullmatch, place.text.split(b"\t"))) else None

    def _example(self, code: str, place: Place) -> list[str]:
        return [example(place.where(), place.text)] if self._found.wants(code) else []


def add_oddities(odd: Oddities, found: Findings) -> None:
    """What readers take for a mistake, and read all the same."""
    if odd.mark:
        found.add("byte-order-mark", 1, ["line 1"])
    if odd.returns:
        found.add("cr-line-ends", odd.returns, [f"line {odd.return_line}"])
    if odd.comments:
        line, text = odd.comment
        found.add("comment-topic", odd.comments, [example(f"line {line}", text)])
    if odd.apart is not None and "repeated-topic" not in found:
        place, topic = odd.apart
        found.add("split-topic", 1, [("" if place is None else f"line {place}: ") + f"topic {quoted(topic)}"])


def likely_fault(fields: Sequence[bytes], kind: Kind) -> str | None:
    """The code of what is most likely wrong with a line of TREC's that cannot be read; None where nothing tells."""
    value = _SCORE if kind == "run" else _LEVEL
    if len(fields) > value and _COMMA.fullmatch(fields[value]):
        return "decimal-comma"
    if has_spaces_in_ids(fields, kind):
        return "spaces-in-ids"
    if kind == "run" and len(fields) == _RUN_COLUMNS - 1:
        if _is_number(fields[_RANK]) and _is_number(fields[_SCORE]):
            return "missing-tag"
        if _is_number(fields[_RANK - 1]) and _is_number(fields[_SCORE - 1]):
            return "missing-iter"
    if kind == "qrels" and len(fields) == _QRELS_COLUMNS - 1 and _is_number(fields[_LEVEL - 1]):
        return "missing-iter"
    return None


def has_spaces_in_ids(fields: Sequence[bytes], kind: Kind) -> bool:
    """
    Do ids with spaces push the columns of a line to the right?

    So it is where the rank and the score, or the level, are no numbers, but those further to the right are. In a run
    whose docno ends in a number ('Toy Story 2') one is taken for the rank: then an integer and a number follow it, and
    a tag behind these. Of 6 columns what begins like a number, as '-' does, is the rank.
    """
    extra = len(fields) - (_RUN_COLUMNS if kind == "run" else _QRELS_COLUMNS)
    if kind == "qrels":
        if extra <= 0 or not _is_number(fields[-1]):
            return False
        return not _is_number(fields[_LEVEL]) or _LONG_NUMBER.fullmatch(fields[_LEVEL]) is not None
    if extra < 0 or (extra == 0 and fields[_RANK][:1] in _SIGNS_AND_DIGITS):
        return False
    if not (_is_number(fields[_RANK]) and _is_number(fields[_SCORE])):
        behind = fields[_RANK + 1 :]
        return any(_is_number(a) and _is_number(b) for a, b in pairwise(behind))
    return extra > 0 and fields[_SCORE].isdigit() and _is_number(fields[_SCORE + 1]) and not _is_number(fields[-1])


def _is_number(text: bytes) -> bool:
    return not strtod(text)[1]
