"""How readers tell of lines and rows that cannot be read, where these are dropped instead of refused."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(eq=False, repr=False)
class Place:
    """
    A line or a row of a table.

    text: of it, at most 1,000 bytes; where: says which one it is, at a cost that is too high for each
    """

    where: Callable[[], str]
    text: bytes


class Faults(Protocol):
    """Is told of what cannot be read."""

    def line(self, found: int, place: Place) -> None:
        """A line or row of a wrong number of columns: how many; or without an id."""

    def value(self, value: float, place: Place) -> None:
        """A value that is no number: NaN, or what trec_eval makes of it."""

    def repeated(self, place: Place) -> None:
        """A topic that an object of JSON has once more."""

    def again(self) -> None:
        """The file is read again from its beginning."""
