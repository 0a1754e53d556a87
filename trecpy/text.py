"""Bytes of ids and file names: shown in messages, where they are never decoded, and as the strings of Python."""

import os
import stat
from collections.abc import Iterable


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


def as_strings(ids: Iterable[bytes]) -> list[str]:
    """Ids as strings; bytes that are no UTF-8 are lone surrogates there, and come back from them."""
    return [each.decode("utf-8", "surrogateescape") for each in ids]


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


def called(path: str | bytes | os.PathLike[str]) -> str:
    """A file's name in messages: process substitution and redirection give names that say nothing to who reads them."""
    name = shown(path)
    if name in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        return f"standard input ({name})"
    try:
        piped = name.startswith(("/dev/fd/", "/proc/")) and stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return name
    return f"a pipe ({name})" if piped else name


def input_name(path: str) -> str:
    """The same of a file that a command reads, where '-' is standard input."""
    return "standard input" if path == "-" else called(path)
