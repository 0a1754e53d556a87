"""Colour for the words that say how bad something is, on terminals."""

import os
import re
from typing import IO, Any

_COLOURS = {"error": "31", "warning": "33", "note": "36"}  # red, yellow, cyan
_SEVERITY = re.compile(rf"^(\s*)({'|'.join(_COLOURS)})(?=:)")


def coloured(stream: IO[Any] | None) -> bool:
    """May what goes there have colours? Not with NO_COLOR (https://no-color.org), nor where a terminal has none."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream is not None and not plain and stream.isatty()


def painted(text: str) -> str:
    """The text with the severity that it begins with, if any, in its colour."""
    return _SEVERITY.sub(lambda found: f"{found[1]}\x1b[{_COLOURS[found[2]]}m{found[2]}\x1b[0m", text)
