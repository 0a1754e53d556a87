"""JSON lines of answers: an id and a text, or several."""

import json
import re
from dataclasses import dataclass
from typing import Any

from trecpy.errors import FormatError
from trecpy.formats.pairs import of_pairs
from trecpy.formats.source import Source, read_lines
from trecpy.text import described, quoted

ID_NAMES = ("id", "qid", "query_id", "question_id")
REFERENCE_NAMES = ("references", "reference", "answers", "answer", "text")
PREDICTION_NAMES = ("prediction", "answer", "output", "text")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Texts:
    """
    What a file has.

    by_id: id -> text, or a list of texts; with_ids: are these ids the lines' own, not their numbers from 1?
    """

    by_id: dict[str, Any]
    with_ids: bool


def read_answers(file: str | Source, names: tuple[str, ...], several: bool) -> Texts:
    """
    Read one JSON object a line: id -> text, or with `several` a list of texts. Blank lines are skipped.

    file: a path, or what is open already
    names: keys of the text, of which the first that a line has counts. Where no line has an id, the number of the line
    is its id, from 1.

    Raises FileError, and FormatError: a line that is not like this, an id twice, with `several` a text without any.
    """
    name, lines = read_lines(file)
    texts: dict[str, Any] = {}
    with_ids: bool | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            record = json.loads(line, object_pairs_hook=of_pairs)
        except (ValueError, RecursionError) as error:  # no UTF-8, and a key twice, among them
            raise FormatError(f"{where}: expected a JSON object, found {quoted(line)} ({error})") from None
        if not isinstance(record, dict):
            raise FormatError(f"{where}: expected a JSON object, found {described(record)}")
        key = next((known for known in ID_NAMES if known in record), None)
        if with_ids not in (None, key is not None):
            raise FormatError(f"{where}: expected ids in all lines or in none")
        with_ids = key is not None
        identity = str(number) if key is None else _id(record[key], where, key)
        if identity in texts:
            raise FormatError(f"{where}: expected each id once, found {quoted(identity)} again")
        field = next((known for known in names if known in record), None)
        if field is None:
            raise FormatError(f"{where}: expected one of {', '.join(names)}, found {', '.join(map(described, record))}")
        texts[identity] = _text(record[field], where, field, several)
    if not texts:
        raise FormatError(f"{name}: expected lines of JSON, found none")
    return Texts(texts, bool(with_ids))


def _id(value: object, where: str, key: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise FormatError(f"{where}: {key}: expected a string or an integer, found {described(value)}")
    return str(value)


def _text(value: object, where: str, field: str, several: bool) -> Any:
    texts = value if several and isinstance(value, list) else [value]
    if not texts or not all(isinstance(text, str) for text in texts):
        kind = "a text or a list of texts" if several else "a text"
        raise FormatError(f"{where}: {field}: expected {kind}, found {described(value)}")
    if several and not all(map(str.strip, texts)):
        raise FormatError(f"{where}: {field}: expected a text, found an empty one")
    if any(map(_SURROGATE.search, texts)):
        raise FormatError(f"{where}: {field}: expected text that UTF-8 can write, found half of a surrogate pair")
    return texts if several else value
