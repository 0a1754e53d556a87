"""QuoteR's files: its released text, matrices of scores, gold indices, gold ranks."""

import re
import zipfile
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from trecpy.errors import FileError, FormatError, InputError
from trecpy.formats.source import Source, read_lines
from trecpy.kernels.dtypes import Integers
from trecpy.text import described, plural, quoted, shown

# Lines at which the validation and the test part begin (QuoteR's scripts and the note on its data).
BOUNDS = {"english": (101171, 113942), "modern-chinese": (32472, 36657), "ancient-chinese": (93031, 104784)}
SPLITS = ("test", "valid", "train")
MISSING = ("-", "inf")
_NO_UTF8 = re.compile("[\udc80-\udcff]")  # bytes, as text that is read with surrogateescape has them


@dataclass(frozen=True, eq=False)
class Quotes:
    """
    One language of the released data.

    quotes: the different quotes in order of code points; a quote's place is its id
    gold: int64[N]  id of the quote of each line; bounds: lines at which validation and test begin
    """

    quotes: list[str]
    gold: Integers
    bounds: tuple[int, int]

    def lines(self, split: str = "test") -> range:
        """The numbers, from 0, of the lines of a split. Raises InputError: no such split."""
        if split not in SPLITS:
            raise InputError(f"split: expected {', '.join(map(repr, SPLITS))}, found {described(split)}")
        valid, test = self.bounds
        return {"train": range(valid), "valid": range(valid, test), "test": range(test, len(self.gold))}[split]

    def gold_of(self, split: str = "test") -> Integers:
        """int64[n]: the gold ids of a split, line by line."""
        lines = self.lines(split)
        return self.gold[lines.start : lines.stop]

    def qrels(self, split: str = "test") -> dict[str, dict[str, int]]:
        """The same as judgements: a topic is the number of a line from 0, a docno the id of a quote."""
        return {str(line): {str(quote): 1} for line, quote in zip(self.lines(split), self.gold_of(split), strict=True)}


def read_quotes(path: str, language: str) -> Quotes:
    """
    Read a released file: left context, quote and right context in a line, between tabs, as QuoteR's scripts read it.

    language: of BOUNDS. Lines are stripped, and English is lower-cased, before the quotes are taken.

    Raises InputError: no such language. FileError. FormatError: a line of fewer fields, or too few lines.
    """
    if language not in BOUNDS:
        raise InputError(f"language: expected {', '.join(map(repr, BOUNDS))}, found {described(language)}")
    texts = []
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            for number, line in enumerate(file, 1):
                if not line.isascii() and (wrong := _NO_UTF8.search(line)):
                    byte = ord(wrong[0]) - 0xDC00
                    raise FormatError(f"{shown(path)}:{number}: expected UTF-8, found the byte 0x{byte:02x}")
                fields = (line.strip().lower() if language == "english" else line.strip()).split("\t")
                if len(fields) < 3:
                    raise FormatError(
                        f"{shown(path)}:{number}: expected left context, quote and right context between tabs, found "
                        f"{plural(len(fields), 'field')}"
                    )
                texts.append(fields[1])
    except OSError as error:
        raise FileError(f"{shown(path)}: cannot be read: {error.strerror or error}") from None
    bounds = BOUNDS[language]
    if len(texts) <= bounds[1]:
        raise FormatError(
            f"{shown(path)}: expected more than {bounds[1]:,} lines, where the test part of {language} begins, found "
            f"{len(texts):,}"
        )
    quotes = sorted(set(texts))
    place = {quote: number for number, quote in enumerate(quotes)}
    return Quotes(quotes, np.array([place[text] for text in texts], np.int64), bounds)


def read_array(path: str, name: str) -> Any:
    """An array of NumPy's file formats: a .npy file, or `name` in a .npz file. Raises FileError, FormatError."""
    try:
        with open(path, "rb") as file:
            if file.read(2) != b"PK":
                return np.load(path, mmap_mode="r", allow_pickle=False)
            file.seek(0)
            found = np.load(file, allow_pickle=False)
            if name not in found.files:
                raise FormatError(
                    f"{shown(path)}: expected an array {quoted(name)}, found {', '.join(map(shown, found.files))}"
                )
            return found[name]
    except OSError as error:
        raise FileError(f"{shown(path)}: cannot be read: {error.strerror or error}") from None
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error):
        raise FormatError(
            f"{shown(path)}: expected an array of numbers as NumPy writes it (.npy, .npz), found {_kind(path)}"
        ) from None


def _kind(path: str) -> str:
    """What a file is that NumPy does not read."""
    with open(path, "rb") as file:
        head = file.read(1 << 16)
    if head.startswith((b"\x93NUMPY", b"PK")):
        return "Python objects" if b"'descr': '|O'" in head else "one that is cut short or damaged"
    return quoted(head[:40]) if head else "an empty file"


def is_archive(path: str) -> bool:
    """Is it a .npz file, by its name?"""
    return path.endswith(".npz")


def read_ranks(file: str | Source) -> list[int | None]:
    """
    One rank a line, from 1; '-' or 'inf' where the gold quote was not ranked. Blank lines at the end are skipped.

    Raises FileError, FormatError.
    """
    name, lines = read_lines(file)
    while lines and not lines[-1].strip():
        lines.pop()
    ranks: list[int | None] = []
    for number, line in enumerate(lines, 1):
        text = line.strip().decode("utf-8", "surrogateescape")
        if text in MISSING:
            ranks.append(None)
        elif text.isascii() and text.isdigit() and len(text) <= 18 and int(text) > 0:
            ranks.append(int(text))
        else:
            raise FormatError(f"{name}:{number}: expected a rank, an integer >= 1, or '-', found {quoted(text)}")
    return ranks
