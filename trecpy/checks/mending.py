"""A cleaned copy of judgements or a run, for what has one right answer."""

import codecs
from collections import Counter
from collections.abc import Iterable, Iterator

from trecpy.checks.findings import Findings
from trecpy.checks.lines import has_spaces_in_ids
from trecpy.checks.rows import LONE_RETURN
from trecpy.errors import FormatError
from trecpy.formats.source import BOM, Source, byte_lines
from trecpy.numbers import strtod, whole_level

_HEAD = 64
_PIECE = 1 << 20


class Mending:
    """
    The lines of a TREC file without what can be mended. What cannot stays as it is.

    mended: code -> how many were mended, complete after the last line
    """

    def __init__(self, source: Source, found: Findings) -> None:
        """found: what was found in the file."""
        self.mended: Counter[str] = Counter()
        self._source, self._found = source, found

    def lines(self) -> Iterator[bytes]:
        """Yield them. Memory: a topic of a run; all where its lines are not together, or are judgements."""
        lines = self._lines()
        if self._found.kind == "qrels":
            yield from self._judgements(lines)
        elif "split-topic" in self._found:
            topics: dict[bytes, list[bytes]] = {}
            current = b""
            for topic, line in _with_topics(lines):
                self.mended["split-topic"] += topic != current and topic in topics
                current = topic
                topics.setdefault(topic, []).append(line)
            for held in topics.values():
                yield from self._ranking(held)
        else:
            current, held = b"", []
            for topic, line in _with_topics(lines):
                if topic != current:
                    yield from self._ranking(held)
                    current, held = topic, []
                held.append(line)
            yield from self._ranking(held)

    def _lines(self) -> Iterator[bytes]:
        """All lines, without the LF at their ends, byte order marks, and a header. A CR before the LF stays."""
        for number, line in enumerate(self._parts()):
            text = line.removesuffix(b"\n")
            while number == 0 and text.startswith(BOM):  # programs that write one do so to what has one too
                text = text.removeprefix(BOM)
                self.mended["byte-order-mark"] += 1
            if number == 0 and "header" in self._found:
                self.mended["header"] += 1
            else:
                yield text

    def _parts(self) -> Iterator[bytes]:
        """All lines; those that end in CR alone too."""
        if "cr-line-ends" not in self._found:
            yield from byte_lines(self._source)
            return
        for line in byte_lines(self._source):
            parts = LONE_RETURN.split(line if line.endswith(b"\n") else line.rstrip(b"\r"))
            self.mended["cr-line-ends"] += len(parts) - 1
            yield from parts

    def _judgements(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        seen: set[tuple[bytes, bytes, float]] = set()
        for line in lines:
            fields = line.split()
            if not fields:
                self.mended["blank-line"] += 1
                continue
            if len(fields) == 4 and line[:1] != b"#" and not strtod(fields[3])[1]:
                judgement = fields[0], fields[2], strtod(fields[3])[0]
                if judgement in seen:
                    self.mended["duplicate-judgement"] += 1
                    continue
                seen.add(judgement)
                if "whole-level" in self._found:
                    line = self._with_integer(line, fields[3])
            yield line + b"\n"

    def _with_integer(self, line: bytes, level: bytes) -> bytes:
        """The line with its level, the last thing in it, as an integer, if it is one."""
        value = whole_level(level)
        if value is None or level.lstrip(b"+-").isdigit():
            return line
        self.mended["whole-level"] += 1
        at = line.rindex(level)
        return line[:at] + str(value).encode() + line[at + len(level) :]

    def _ranking(self, lines: list[bytes]) -> Iterator[bytes]:
        """The lines of one topic."""
        seen: set[tuple[bytes, float]] = set()
        for line in lines:
            fields = line.split()
            comment = line.lstrip().startswith(b"#")
            if comment or len(fields) < 6 or strtod(fields[4])[1] or has_spaces_in_ids(fields, "run"):
                yield line + b"\n"
                continue
            row = fields[2], strtod(fields[4])[0]
            if row in seen:
                self.mended["duplicate-document"] += 1
                continue
            seen.add(row)
            if len(fields) > 6:
                self.mended["extra-columns"] += 1
                line = b" ".join(fields[:6]) + (b"\r" if line.endswith(b"\r") else b"")
            yield line + b"\n"


def in_utf8(source: Source) -> Iterator[bytes]:
    """Yield a text in UTF-16 or UTF-32 in UTF-8. Raises FormatError: it is neither."""
    head = source.peek(_HEAD)
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        encoding = "utf-32"
    elif head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    else:
        encoding = "utf-16-be" if not any(head[::2]) else "utf-16-le"
    decoder = codecs.getincrementaldecoder(encoding)()
    piece = bytearray(_PIECE)
    try:
        while count := source.readinto(memoryview(piece)):
            yield _encoded(decoder.decode(bytes(piece[:count])))
        yield _encoded(decoder.decode(b"", final=True))
    except UnicodeError:
        raise FormatError(f"{source.name}: expected text in {encoding.upper()}, found bytes that are none") from None


def _encoded(text: str) -> bytes:
    if "\0" in text:
        raise UnicodeError
    return text.encode()


def _with_topics(lines: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Each line with its topic; a blank one or a comment with that of the line before."""
    topic = b""
    for line in lines:
        text = line.lstrip()
        if text and text[:1] != b"#":
            topic = text.split(None, 1)[0]
        yield topic, line
