"""Ids that are likely to be another string elsewhere, and those of two files that nearly match."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice
from urllib.parse import unquote

import numpy as np

from trecpy.checks.findings import Findings
from trecpy.checks.rows import Rows
from trecpy.text import quoted

_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
_PLAIN = bytes(byte for byte in range(256) if 0x21 <= byte < 0x7F or byte in b" \t\n\v\f\r")
_ODD_BYTES = ~np.isin(np.arange(256), list(_PLAIN))


def odd_ids(rows: Rows, found: Findings) -> None:
    """Ids that are likely to be another string elsewhere."""
    odd_topics = {t for t, topic in enumerate(rows.topics) if _is_odd(topic)}
    at, ends = rows.spans[:, 0], rows.spans[:, 0] + rows.spans[:, 1]
    candidates: list[int] = []
    begin, end = int(at.min(initial=len(rows.data))), int(ends.max(initial=0))
    if rows.data[begin:end].tobytes().translate(None, _PLAIN):  # seldom: what follows takes 20 times as long
        count = np.concatenate(([0], np.cumsum(_ODD_BYTES[rows.data])))
        candidates = np.flatnonzero(count[ends] > count[at]).tolist()
    known: dict[int, bool] = {}
    odd = []
    for row in candidates:
        key = int(rows.hashes[row])
        if key not in known:
            known[key] = _is_odd(rows.docno(row))
        if known[key]:
            odd.append(row)
    if odd_topics:
        odd = sorted({*odd, *np.flatnonzero(np.isin(rows.topic, list(odd_topics))).tolist()})
    found.add("odd-id", len(odd), rows.examples(odd))


def _is_odd(name: bytes) -> bool:
    try:
        text = name.decode()
    except UnicodeDecodeError:
        return True
    spaced = any(c.isspace() or not c.isprintable() for c in text)
    return spaced or not unicodedata.is_normalized("NFC", text)


def compared(name: bytes) -> str:
    """An id without case, zeros in front of numbers, and traces of encodings."""
    try:
        text = name.decode()
    except UnicodeDecodeError:
        text = name.decode("latin-1")
    if "%" in text:
        text = unquote(text, errors="surrogateescape")
    if not text.isascii():
        try:
            text = text.encode("latin-1").decode()  # UTF-8 that was read as Latin-1 and written again
        except UnicodeError:
            pass
        text = unicodedata.normalize("NFKC", text)
    text = "".join(text.split()).strip("\"'\ufeff").casefold()
    return _ZEROS.sub("", text) if "0" in text else text


_LOOKED_AT = 1000  # ids, as whatever is wrong with all is wrong with some
_LIKELY = 0.01  # that share of these must match: many documents of a run are not judged
_LONGEST = 200  # bytes of an id


def difference(run: Collection[bytes], judged: Collection[bytes]) -> str:
    """
    What most likely tells a run's ids from those of the judgements, of which none is the same; "" where nothing does.

    That is a path in front of them, or one and the same beginning or end, such as a name's '.txt' and a number's '.0'.
    """
    for ids, others, whose, other in (
        (run, judged, "the run", "the judgements"),
        (judged, run, "the judgements", "the run"),
    ):
        some, known = [each for each in islice(ids, _LOOKED_AT) if len(each) <= _LONGEST], set(others)
        wanted = max(1, _LIKELY * len(some))
        if sum(b"/" in each and each.rsplit(b"/", 1)[1] in known for each in some) >= wanted:
            return f"ids of {whose} are paths, of which {other} have the last part"
        for where, affixes in (("in front", _in_front), ("at the end", _at_the_end)):
            counts = Counter(affix for each in some for affix in affixes(each, known) if not affix.isdigit())
            affix, count = max(counts.items(), key=lambda item: item[1], default=(b"", 0))
            if count >= wanted:
                return f"ids of {whose} have {quoted(affix)} {where}, which those of {other} have not"
    begins = [_common_beginning(ids) for ids in (run, judged)]
    rests = ({each.removeprefix(begin) for each in ids} for ids, begin in zip((run, judged), begins, strict=True))
    if any(begins) and len(set.intersection(*rests)) >= max(1, _LIKELY * min(len(run), len(judged))):
        return f"ids begin with {quoted(begins[0])} in the run and with {quoted(begins[1])} in the judgements"
    return ""


def _common_beginning(ids: Collection[bytes]) -> bytes:
    """What all begin with, but for digits at its end."""
    first, last = min(ids, default=b""), max(ids, default=b"")
    size = next((place for place, pair in enumerate(zip(first, last, strict=False)) if len({*pair}) > 1), len(first))
    return first[:size].rstrip(b"0123456789")


def _in_front(name: bytes, known: Collection[bytes]) -> Iterator[bytes]:
    return (name[:place] for place in range(1, len(name)) if name[place:] in known)


def _at_the_end(name: bytes, known: Collection[bytes]) -> Iterator[bytes]:
    return (name[place:] for place in range(1, len(name)) if name[:place] in known)
