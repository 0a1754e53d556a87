"""A cleaned copy of judgements or a run, for what has one right answer."""

from collections.abc import Iterable, Iterator

from trecpy.findings import Findings
from trecpy.formats.source import Source, byte_lines
from trecpy.formats.write import ranking
from trecpy.numbers import strtod

_BOM = b"\xef\xbb\xbf"


def mended(source: Source, found: Findings) -> Iterator[bytes]:
    """
    Yield the lines of a TREC file, of which `found` was found, without what can be mended.

    What cannot stays as it is. Memory: a topic of a run; all where its lines are not together, or are judgements.
    """
    lines = _lines(source, "header" in found)
    if found.kind == "qrels":
        yield from _judgements(lines)
    elif "split-topic" in found:
        topics: dict[bytes, list[bytes]] = {}
        for topic, line in _with_topics(lines):
            topics.setdefault(topic, []).append(line)
        for held in topics.values():
            yield from _ranking(held, found)
    else:
        current, held = b"", []
        for topic, line in _with_topics(lines):
            if topic != current:
                yield from _ranking(held, found)
                current, held = topic, []
            held.append(line)
        yield from _ranking(held, found)


def _lines(source: Source, header: bool) -> Iterator[bytes]:
    """All lines, without their ends, a byte order mark, and a header."""
    for number, line in enumerate(byte_lines(source)):
        text = line.rstrip(b"\r\n")
        if number == 0:
            text = text.removeprefix(_BOM)
        if number > 0 or not header:
            yield text


def _judgements(lines: Iterable[bytes]) -> Iterator[bytes]:
    seen: set[tuple[bytes, bytes, float]] = set()
    for line in lines:
        fields = line.split()
        if not fields:
            continue
        if len(fields) == 4 and line[:1] != b"#":
            judgement = fields[0], fields[2], strtod(fields[3])[0]
            if judgement in seen:
                continue
            seen.add(judgement)
        yield line + b"\n"


def _with_topics(lines: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Each line with its topic; a blank one or a comment with that of the line before."""
    topic = b""
    for line in lines:
        text = line.lstrip()
        if text and text[:1] != b"#":
            topic = text.split(None, 1)[0]
        yield topic, line


def _ranking(lines: list[bytes], found: Findings) -> Iterator[bytes]:
    """The lines of one topic."""
    rows: list[list[bytes] | bytes] = []
    seen: set[tuple[bytes, float]] = set()
    for line in lines:
        fields = line.split()
        whole = len(fields) >= 6 and not line.lstrip().startswith(b"#") and not strtod(fields[4])[1]
        if not whole:
            rows.append(line)
            continue
        row = fields[2], strtod(fields[4])[0]
        if row not in seen:
            seen.add(row)
            rows.append(fields[:6])
    documents = [row for row in rows if isinstance(row, list)]
    if "rank-contradicts-score" in found:
        order = ranking([row[2] for row in documents], [strtod(row[4])[0] for row in documents])
        for rank, place in enumerate(order, 1):
            documents[place][3] = b"%d" % rank
    for each in rows:
        yield (each if isinstance(each, bytes) else b" ".join(each)) + b"\n"
