"""Numbers as C's strtod and strtol read them: the longest prefix that is one, and what is left behind it."""

import re

from trecpy.text import described

# Compiled by the first odd value; most files have none, and to load this takes a millisecond less.
_BLANK = rb"[ \t\n\v\f\r]*"
_DECIMAL = _BLANK + rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_HEXADECIMAL = _BLANK + rb"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?\d+)?"
_WORD = _BLANK + rb"[+-]?(?i:inf(?:inity)?|nan(?:\(\w*\))?)"
_INTEGER = _BLANK + rb"[+-]?\d+"

_LARGEST = 2**63 - 1
_MOST_DIGITS = 400  # no double has more


def strtod(text: bytes) -> tuple[float, bytes]:
    """The double that text begins with, and the rest: decimal, hexadecimal, inf or nan; 0.0 where there is none."""
    if match := re.fullmatch(_DECIMAL, text):
        return float(match.group()), b""
    if match := re.match(_HEXADECIMAL, text):
        try:
            value = float.fromhex(match.group().decode())
        except OverflowError:
            value = float("-inf") if b"-" in match.group() else float("inf")
    elif match := re.match(_WORD, text):
        word = match.group().strip().lower()
        value = float(word.split(b"(")[0])
    elif match := re.match(_DECIMAL, text):
        value = float(match.group())
    else:
        return 0.0, text
    return value, text[match.end() :]


def strtol(text: bytes) -> tuple[int, bytes]:
    """The integer that text begins with, clamped to 64 bits (0 where there is none), and the rest of it."""
    match = re.match(_INTEGER, text)
    if not match:
        return 0, text
    digits = match.group().strip()
    # The first 40 bytes decide: more digits than that are clamped anyway, and int() refuses very long ones.
    sign = -1 if digits.startswith(b"-") else 1
    magnitude = digits.lstrip(b"+-").lstrip(b"0")
    value = sign * int(magnitude) if 0 < len(magnitude) < 40 else sign * 10**40 * (len(magnitude) > 0)
    return max(-_LARGEST - 1, min(value, _LARGEST)), text[match.end() :]


def is_double(value: int | float) -> bool:
    """Is there a double that is exactly this number?"""
    try:
        return float(value) == value
    except OverflowError:
        return False


def unheld_score(value: object) -> str:
    """What is said of a score, an integer, for which there is none."""
    return f"expected a score that a double holds exactly, found {described(value)}"


def unheld(value: object) -> str:
    """What is said of a level for which there is none."""
    return f"expected a level that 64 bits or, beside fractions, a double holds exactly, found {described(value)}"


def exact_integer(text: bytes) -> int | None:
    """The integer that a decimal number is, written with a point and an exponent or without; None: it is none."""
    from decimal import Decimal, InvalidOperation  # loaded late, for the same reason

    try:
        number = Decimal(text.decode())
    except (InvalidOperation, UnicodeDecodeError):
        return None
    return int(number) if number.is_finite() and number.adjusted() < _MOST_DIGITS and number == int(number) else None


def whole_level(text: bytes) -> int | None:
    """The same, where 64 bits hold it; else None."""
    value = exact_integer(text)
    return value if value is not None and -(2**63) <= value < 2**63 else None
