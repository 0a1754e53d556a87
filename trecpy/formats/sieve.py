"""Rows of tables that cannot be read: refused, or told and dropped where somebody wants to know of all."""

import math
import re
from collections.abc import Callable
from typing import Any

from trecpy.errors import FormatError
from trecpy.formats.columns import Columns, Kind, Places
from trecpy.formats.faults import Faults, Place
from trecpy.text import described, quoted

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|\s*[+-]?(?i:inf(inity)?)\s*", re.ASCII)
_MOST_DIGITS = 400  # more than any double has; Python's int() refuses very many
_MOST_READ = 4000  # digits that Python's int() takes, whatever its version
_INTEGER = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)


class Sieve:
    """
    Some rows, and which of them are wrong.

    where: says where a row stands, as Columns has it; faults: is told of wrong rows; None: they are refused
    text: what a row holds, as far as it is worth showing
    """

    def __init__(
        self, name: str, where: Callable[[int], str], faults: Faults | None, text: Callable[[int], str]
    ) -> None:
        self.name, self.where, self.faults, self._text = name, where, faults, text
        self._wrong: set[int] = set()

    def refuse(self, row: int, expected: str, found: str, value: float | None = None, columns: int = 1) -> None:
        """
        A row is wrong. Raises FormatError, unless that is told.

        value: NaN or 0, where a number was expected; columns: how many were found, where another number was expected
        """
        if self.faults is None:
            raise FormatError(f"{self.where(row)}: expected {expected}, found {found}")
        if row in self._wrong:
            return
        self._wrong.add(row)
        if value is None:
            self.faults.line(columns, self.place(row))
        else:
            self.faults.value(value, self.place(row))

    def place(self, row: int) -> Place:
        """The row, for who is told of it."""
        text = self._text(row).encode("utf-8", "surrogateescape")[:1000]
        return Place(lambda: _without(self.where(row), self.name), text)

    def rows(self, count: int) -> list[int] | None:
        """The rows, of so many, that are not wrong; None: all."""
        return [row for row in range(count) if row not in self._wrong] if self._wrong else None

    def check_ids(self, ids: list[Any], role: str) -> None:
        """Refuse what is no id."""
        if set(map(type, ids)) <= {int, str} and "" not in ids:
            return
        for row, each in enumerate(ids):
            if type(each) not in (int, str):
                self.refuse(row, f"a {role}, a string or an integer", described(each))
            elif each == "":
                self.refuse(row, f"a {role}", "an empty field")

    def check_numbers(self, values: list[Any], kind: Kind) -> None:
        """Refuse what is no number."""
        plain = set(map(type, values)) <= {int, float} and not any(value != value for value in values)
        if plain and (kind == "run" or not any(abs(value) == math.inf for value in values)):
            return
        for row, value in enumerate(values):
            if type(value) not in (int, float) or value != value:
                self.refuse(row, wanted(kind), described(value), value if type(value) is float else 0.0)
            elif kind == "qrels" and abs(value) == math.inf:
                self.refuse(row, "a finite level", described(value), 0.0)

    def read_numbers(self, texts: list[str], kind: Kind) -> list[Any]:
        """Texts as numbers, levels that are integers as these; what is none, or NaN, is refused."""
        joined = "".join(texts)
        if joined.isascii() and "_" not in joined:  # which Python's numbers may have
            for read in (int, float) if kind == "qrels" and not re.search("[.eE]", joined) else (float,):
                try:
                    numbers: list[Any] = list(map(read, texts))
                except ValueError:
                    continue
                if not any(number != number for number in numbers) and (read is int or kind == "run"):
                    if read is float and max(map(abs, numbers), default=0.0) >= 2**53:  # some doubles are no integers
                        numbers = [_exact(text, number) for text, number in zip(texts, numbers, strict=True)]
                    return numbers
        numbers = [_number(text, kind) if _NUMBER.fullmatch(text) else 0 for text in texts]
        for row, text in enumerate(texts):
            if not _NUMBER.fullmatch(text):
                value = float("nan") if text.strip().lower().lstrip("+-") == "nan" else 0.0
                self.refuse(row, wanted(kind), quoted(text), value)
            elif kind == "qrels" and abs(numbers[row]) == math.inf:
                self.refuse(row, "a finite level", quoted(text), 0.0)
        return numbers

    def sifted(self, topics: list[Any], docnos: list[Any], values: list[Any] | None, places: Places) -> Columns:
        """The rows that are not wrong. Ranks become scores, the largest of which is first."""
        where = self.where
        if (kept := self.rows(len(docnos))) is not None:
            topics, docnos = [topics[row] for row in kept], [docnos[row] for row in kept]
            values = None if values is None else [values[row] for row in kept]
            where = lambda row: self.where(kept[row])  # noqa: E731  a closure over what was kept
        if values is not None and places.ranks:
            values = [-value for value in values]
        return Columns(topics, docnos, values, where)


def wanted(kind: Kind) -> str:
    """What values are, in messages."""
    return "a level, a number" if kind == "qrels" else "a score, a number"


def _number(text: str, kind: Kind) -> int | float:
    return int(text) if kind == "qrels" and _INTEGER.fullmatch(text) and len(text) < _MOST_DIGITS else float(text)


def _exact(text: str, number: float) -> int | float:
    """A number that was read, as the integer that it is in text."""
    if abs(number) < 2**53 or len(text) >= _MOST_READ or not _INTEGER.fullmatch(text):
        return number
    return int(text)


def _without(where: str, name: str) -> str:
    """'run.csv:3' and 'run.parquet: row 3' as 'line 3' and 'row 3'."""
    rest = where.removeprefix(name)
    return f"line {rest[1:]}" if not rest.startswith(": ") else rest[2:]
