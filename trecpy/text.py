"""Bytes of ids and file names in messages: never decoded for output, only shown."""

import os


def shown(text: bytes | str | os.PathLike[str]) -> str:
    """Text that is safe on any terminal: what is not printable is escaped, and long text is cut."""
    path = text if isinstance(text, str | bytes) else os.fspath(text)
    try:
        raw = path.encode("utf-8", "surrogateescape") if isinstance(path, str) else path
        decoded = raw.decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half of a character that UTF-16 writes in two
        decoded = str(path)
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in decoded)
    return safe if len(safe) <= 200 else safe[:200] + "..."


def quoted(text: bytes | str) -> str:
    """The same between single quotes."""
    return f"'{shown(text)}'"


def described(value: object) -> str:
    """A Python value in one line of bounded length."""
    try:
        text = repr(value)
    except Exception:  # whatever a foreign __repr__ raises
        text = f"a {type(value).__name__}"
    return shown(" ".join(text.split()))


def plural(count: int, noun: str) -> str:
    """'1 line', '3 lines', '1,000 lines'."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def plain(text: str) -> str:
    """Text on one line of a terminal, whole: what is not printable is escaped; bytes that are no UTF-8 stay bytes."""
    return "".join(c if c.isprintable() or 0xDC80 <= ord(c) <= 0xDCFF else ascii(c)[1:-1] for c in text)
