"""Ids that are likely to be another string elsewhere, and those of two files that nearly match."""

import re
import unicodedata
from urllib.parse import unquote

import numpy as np

from trecpy.checks.findings import Findings
from trecpy.checks.rows import Rows

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
