"""Files that a command writes: whole or not at all, compressed as their names say."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from trecpy.errors import FileError
from trecpy.text import shown

if TYPE_CHECKING:
    from trecpy.cli.main import Streams

_COMPRESSIONS = ("gz", "bz2", "xz", "zst")


def of_name(path: str) -> tuple[str, str | None]:
    """The suffix of a file's name without that of a compression, and the latter."""
    *_, last = name = os.path.basename(path).lower().split(".")
    if last not in _COMPRESSIONS:
        return last if name[:-1] else "", None
    return name[-2] if len(name) > 2 else "", last


@contextmanager
def target(path: str, streams: Streams) -> Iterator[IO[bytes]]:
    """
    A file to write, which takes the place of `path` at the end, or of the file that it links to.

    What is no regular file gets the bytes then.
    """
    from trecpy.formats.source import reason

    try:
        special = path == "-" or (os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode))
        if special:
            with tempfile.TemporaryFile() as spool:
                yield spool
                spool.seek(0)
                if path == "-":
                    while piece := spool.read(1 << 20):
                        streams.write(piece)
                else:
                    with open(path, "wb") as out:
                        shutil.copyfileobj(spool, out)
            return
        real = os.path.realpath(path)
        beside = f"{real}.{os.getpid()}.part"
        try:
            with open(beside, "x+b") as file:
                yield file
            os.replace(beside, real)
        finally:
            if os.path.exists(beside):
                os.unlink(beside)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError(f"{shown(path)}: cannot be written: {reason(error)}") from None
