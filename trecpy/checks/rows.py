"""Records of a file as checks see them, and what is shown of them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from trecpy.checks.findings import Findings
from trecpy.formats.columns import Kind
from trecpy.formats.sniff import is_other_kind
from trecpy.formats.source import Source, is_utf16
from trecpy.kernels.dtypes import Bytes, Flags, Integers
from trecpy.packed import Block, Records
from trecpy.text import quoted, shown

_HEAD = 1 << 14
LONE_RETURN = re.compile(rb"\r(?=[^\r\n])")  # a CR inside a line


@dataclass(frozen=True)
class Rows:
    """
    Records that lie in a file's bytes.

    topics, topic: as Records has them; spans: int64[N, 2 or 6]  place and size of docno, and of rank and tag
    before: lines of the file that lie before data[0]; None: it came from a table
    """

    topics: list[bytes]
    topic: Integers
    data: Bytes
    spans: Integers
    hashes: Any
    values: Any
    before: int | None

    @classmethod
    def of(cls, records: Records, values: Any, before: int | None = None) -> "Rows":
        """Those of a file, or a table, that is held whole; records: spans may be wider than docno's."""
        return cls(records.topics, records.topic, records.data, records.spans, records.hashes, values, before)

    @classmethod
    def of_block(cls, block: Block) -> "Rows":
        """Those of a part of a run."""
        return cls(block.topics, block.topic, block.data, block.spans, block.hashes, block.scores, block.before)

    @cached_property
    def repeated(self) -> tuple[Integers, int]:
        """Rows whose document their topic has already, and how many of them have a value that it has not there yet."""
        order = np.lexsort((self.hashes, self.topic))
        again = order[1:][self._alike(order)]
        if not len(again):
            return again, 0
        order = np.lexsort((self.values, self.hashes, self.topic))
        the_same = self._alike(order) & (self.values[order[1:]] == self.values[order[:-1]])
        return np.sort(again), len(again) - int(np.count_nonzero(the_same))

    def _alike(self, order: Integers) -> Flags:
        """bool[N-1]: has a row, in this order, topic and document of the one before?"""
        alike: Flags = (np.diff(self.topic[order]) == 0) & (np.diff(self.hashes[order]) == 0)
        return alike

    def docno(self, row: int) -> bytes:
        """The docno of a row."""
        return self.text(row, 0)

    def text(self, row: int, column: int) -> bytes:
        """One of its spans."""
        at, size = self.spans[row, column : column + 2]
        return self.data[at : at + size].tobytes()

    def say(self, row: int) -> str:
        """The row as an example: its line, or its ids."""
        if self.before is None:
            return f"topic {quoted(self.topics[self.topic[row]])}, docno {quoted(self.docno(row))}"
        return example(f"line {self.lines([row])[0]}", self.whole(row))

    def lines(self, rows: Sequence[int] | Integers) -> Integers:
        """int64[n]: their lines, where it came from lines."""
        assert self.before is not None
        places = self.spans[rows, 0]
        ends = np.flatnonzero(self.data[: places.max(initial=0)] == ord("\n"))
        lines: Integers = self.before + 1 + np.searchsorted(ends, places)
        return lines

    def whole(self, row: int) -> bytes:
        """The line that a row stands in, 1,000 bytes of it on each side of its docno."""
        place = int(self.spans[row, 0])
        before = self.data[max(0, place - 1000) : place].tobytes().split(b"\n")[-1]
        return before + self.data[place : place + 1000].tobytes().split(b"\n")[0]

    def examples(self, rows: Iterable[int]) -> Iterator[str]:
        """Rows as examples, made when asked for."""
        return (self.say(int(row)) for row in rows)


def example(where: str, text: bytes) -> str:
    """A line, or a row of a table, as an example."""
    said = shown(text.strip())
    return f"{where}: {said if len(said) <= 80 else said[:77] + '...'}"


def is_swapped(source: Source, kind: Kind, layout: str | None) -> bool:
    """Is it of the other kind beyond doubt? Of CR line ends the first lines are one, which tells nothing."""
    return not LONE_RETURN.search(source.peek(_HEAD)) and is_other_kind(source, kind, layout)


def is_another(source: Source, kind: Kind, layout: str | None, found: Findings) -> bool:
    """Is the file no text, or of the other kind? Then nothing else is worth looking for."""
    head = source.peek(64)
    code = "utf-16" if is_utf16(head) else "swapped-files" if is_swapped(source, kind, layout) else ""
    if code:
        text = head.decode("utf-16", "replace").encode() if code == "utf-16" else head
        found.add(code, 1, [example("line 1", text.split(b"\n")[0])])
    return bool(code)
