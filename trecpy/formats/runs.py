"""Runs in TREC's text formats, a part at a time."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from trecpy.errors import FormatError
from trecpy.formats.faults import Faults
from trecpy.formats.oddities import Oddities
from trecpy.formats.reader import BLOCK, Reader
from trecpy.formats.source import Source
from trecpy.formats.trec import RUN_LAYOUT, Layout
from trecpy.packed import Block, Records
from trecpy.protocol import Compat
from trecpy.threads import in_order

_MOST_RECORDS = 1 << 18

# Readers that have done their work, for the next runs: memory that is touched for the first time takes longer than what
# is read into it. They hold some 14 MB each. Several threads take from here and give back.
_spare: deque[Reader] = deque(maxlen=8)
R = TypeVar("R")


class RunReader:
    """
    A run, a part at a time.

    odd: what is odd in it, complete after the last block; tag: the run tag of the last line that was read
    stated: as Block has it
    """

    def __init__(
        self,
        source: Source,
        compat: Compat,
        strict: bool,
        block: int = BLOCK,
        layout: Layout = RUN_LAYOUT,
        faults: Faults | None = None,
    ) -> None:
        self.odd = Oddities()
        self.tag = b""
        self._source, self._compat, self._strict, self._block, self._layout = source, compat, strict, block, layout
        self._faults = faults
        self.stated = layout.states_ranks

    def __enter__(self) -> "RunReader":
        return self

    def __exit__(self, *_: object) -> None:
        """Close the source, where it opened it itself."""
        self._source.__exit__()

    @property
    def notes(self) -> list[str]:
        """What was odd, one line each; complete after the last block."""
        return list(self.odd.notes(self._source.name, self._strict))

    def blocks(self) -> Iterator[Block]:
        """Yield the rankings of some topics at a time, each topic whole; see map()."""
        for block, _ in self.map(lambda block: None, 1):
            yield block

    def map(self, work: Callable[[Block], R], threads: int) -> Iterator[tuple[Block, R]]:
        """
        Yield the rankings of some topics at a time, each topic whole, and what work() makes of them.

        Parts of the file are parsed and worked on by so many threads; they come in their order whatever that is.
        A block is views of memory that a later one takes: work on it ends before the next is asked for.

        Where the lines of a topic are not together, that is seen only when it comes back. The source is then read
        again and every topic is yielded once more: of two rankings of one topic the later one counts.
        """

        def parse(reader: Reader) -> list[tuple[Block, R]]:
            reader.parse()
            return [] if reader.mixed else [(block, work(block)) for block in _rankings(reader)]

        known: set[bytes] = set()
        odd = Oddities()
        readers: list[Reader] = []
        with closing(in_order(parse, self._parts(readers, threads), threads)) as parsed:
            for reader, found in parsed:
                if apart := reader.came_back(known):
                    odd.apart, odd.again = apart, bool(known or not reader.lines.ended)
                    if odd.again:
                        break
                    reader.records.sort(reader.count)  # the whole file is in memory
                    found = [(block, work(block)) for block in _rankings(reader)]
                known.update(topic for block, _ in found for topic in block.topics)
                self.tag = reader.tag or self.tag
                yield from found
                odd.merge(reader.odd)
        if odd.again:
            self.odd = Oddities(apart=odd.apart, again=True)
            self._source.rewind()
            if self._faults is not None:
                self._faults.again()
            reader = self._whole()
            reader.records.sort(reader.count)
            for block in _rankings(reader):
                yield block, work(block)
            odd = replace(reader.odd, apart=odd.apart, again=True)
        elif not known and self._faults is None:
            raise self._no_topic()
        self.odd = odd
        if not odd.again and self._suits_others:
            for reader in readers:
                if reader.lines.room == BLOCK:  # others are small, or grew for one topic
                    reader.let_go()
                    _spare.append(reader)

    def whole(self) -> tuple[Records, NDArray[np.float64]]:
        """All records and their scores: float64[N], held in memory."""
        reader = self._whole()
        if not reader.topics:
            raise self._no_topic()
        self.odd = reader.odd
        return reader.packed(), reader.column("score") * self._layout.sign

    def _whole(self) -> Reader:
        """The file, parsed to its end, in memory that stays with its records."""
        reader = self._new_reader()
        reader.read_whole()
        self.tag = reader.tag
        return reader

    def _parts(self, readers: list[Reader], threads: int) -> Iterator[Reader]:
        """
        Yield readers that have read a part of the file each: the lines of some topics.

        readers: to which they are added; there are threads + 1 of them, for one thread one. The first one is filled
        again when all have been yielded.
        """
        rest, before, ended = b"", 0, False
        number, most = 0, 1 if threads == 1 else threads + 1
        while not ended:
            if number < most:
                readers.append(self._reader())
            reader = readers[number % most]
            rest = reader.read_topics(rest, before, first=number == 0)
            ended = reader.lines.ended
            before += 0 if ended else reader.count_lines()
            number += 1
            yield reader

    def _reader(self) -> Reader:
        if self._suits_others:
            try:
                reader = _spare.pop()
            except IndexError:
                pass
            else:
                reader.open(self._source, self._layout, self._compat, self._strict)
                return reader
        return self._new_reader()

    def _new_reader(self) -> Reader:
        return Reader(self._source, self._layout, self._compat, self._strict, self._block, self._faults)

    @property
    def _suits_others(self) -> bool:
        """Is it read with readers with which other runs are read too?"""
        return self._block == BLOCK and not self._layout.spans and self._faults is None

    def _no_topic(self) -> FormatError:
        return FormatError(
            f"{self._source.name}: has only comments and blank lines: expected lines of '{self._layout.columns}'"
        )


def _rankings(reader: Reader) -> Iterator[Block]:
    """All records, which have topics together, as blocks that are not much longer than usual."""
    records, records_read = reader.records, reader.count
    topic = records.topic[:records_read]
    first = np.concatenate(([0], np.flatnonzero(np.diff(topic)) + 1, [records_read]))
    begin = 0
    while begin < len(first) - 1 and records_read:
        end = max(begin + 1, int(np.searchsorted(first, first[begin] + _MOST_RECORDS, "right")) - 1)
        chosen = slice(first[begin], first[end])
        yield Block(
            [reader.topic_id(number) for number in topic[first[begin:end]].tolist()],
            first[begin : end + 1] - first[begin],
            reader.lines.data,
            records.spans[chosen],
            records.hashes[chosen],
            -records.score[chosen] if reader.layout.states_ranks else records.score[chosen],
            reader.lines.before,
            stated=reader.layout.states_ranks,
        )
        begin = end
