"""Where bytes come from: a path, a pipe or standard input, and what to say when they do not come."""

import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trecpy.errors import FileError, FormatError
from trecpy.formats.compressed import HEAD, PIECE, Compression, Decompressing, compression_of
from trecpy.text import called, shown

BOM = b"\xef\xbb\xbf"  # the byte order mark, as UTF-8 has it
_COPY_BUFFER = 1 << 20
_BEHIND = 64  # bytes that a kernel may read behind the last line
_SMALLEST = 1 << 16  # room for a file that is not larger: to fill 4 MB with zeros takes 2 ms
# More than that is not held of a compressed file that grows this much: no judgements or runs do (gzip: 5 to 20 times).
_MOST_HELD = 1 << 28
_MOST_EXPANSION = 100


def is_utf16(head: bytes) -> bool:
    """Is this the beginning of text in UTF-16 or UTF-32? Windows writes such files."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return b"\0" in head
    some = head[: min(len(head), 64) // 4 * 4] or head[: len(head) // 2 * 2]
    # Without a mark: every second byte, or three of four, are NUL, and no other one.
    return any(
        len(some) >= size and all(some[place::size]) and some.count(0) * size == len(some) * (size - 1)
        for size in (2, 4)
        for place in range(size)
    )


def refuse_utf16(source: "Source") -> None:
    """Raise FormatError for text in UTF-16, in which nothing is found that tells a layout."""
    if is_utf16(source.peek(64)):
        raise FormatError(f"{source.name}:1: expected text in UTF-8, found UTF-16")


class ByteStream(Protocol):
    """What is asked of a stream: the part of io.FileIO, sys.stdin.buffer and io.BytesIO that is used."""

    def readinto(self, target: memoryview, /) -> int | None:
        """Fill `target`; return how many bytes came."""

    def seekable(self) -> bool:
        """Can it be rewound?"""

    def seek(self, place: int, /) -> int:
        """Go to a place."""

    def tell(self) -> int:
        """Tell the place."""


def reason(error: Exception) -> str:
    """What the system says of an error, as it stands in a sentence."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:1].lower() + text[1:]


def no_memory(name: str) -> FileError:
    """The error for a file that takes more memory than there is."""
    return FileError(f"{name}: cannot be read: it needs more memory than there is")


class Source:
    """
    A stream that can be read once, or twice where `twice` asks for that; what is compressed is read decompressed.

    A regular file is rewound. What comes from a pipe is copied to an unnamed temporary file while it is read, so that
    memory does not grow with it; where that fails (no room) it stays at once. A Source closes what it opened itself.
    """

    @classmethod
    def open(cls, path: str | bytes | os.PathLike[str], twice: bool = False) -> "Source":
        """
        Open a file, FIFO or device for reading.

        Raises FileError: there is none, it is a directory, it may not be read.
        """
        try:
            stream = io.FileIO(os.fsencode(path), "r")
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name, or what no file name can hold
            raise FileError(f"{shown(path)}: cannot be read: {reason(error)}") from None
        source = cls(stream, called(path), twice)
        source._opened.callback(stream.close)
        return source

    @classmethod
    def standard_input(cls, stream: Any) -> "Source":
        """Standard input, a ByteStream, or None where it is closed. Raises FileError."""
        if stream is None:
            raise FileError("standard input: cannot be read: it is closed")
        return cls(stream, "standard input", twice=True)

    def __init__(self, stream: ByteStream, name: str, twice: bool = False) -> None:
        self.name = name
        self._stream = stream
        self._copy: IO[bytes] | None = None
        self._again: IO[bytes] | None = None
        self._copying = twice and not stream.seekable()
        self._begin = stream.tell() if stream.seekable() else 0
        self._opened = ExitStack()
        self._decompressing: Decompressing | None = None
        self._begun = False
        self._ahead = b""  # plain, and peek() has shown it
        self._whole: IO[bytes] | None = None

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def size(self) -> int:
        """Bytes of a regular file that was opened here, else 0."""
        if isinstance(self._stream, io.FileIO):
            status = os.fstat(self._stream.fileno())
            return status.st_size if stat.S_ISREG(status.st_mode) else 0
        return 0

    def readinto(self, target: memoryview) -> int:
        """
        Fill `target` from its front; return how many bytes came, 0 at the end only.

        Raises FileError; FormatError: compressed data is damaged.
        """
        if self._ahead:
            count = min(len(target), len(self._ahead))
            target[:count], self._ahead = self._ahead[:count], self._ahead[count:]
            return count
        if self._decompressing is not None:
            return self._decompressing.readinto(target)
        return self._read(target) if self._begun else self._begin_reading(target)

    def peek(self, size: int) -> bytes:
        """The next `size` bytes, or as many as there are; they are read again."""
        if self._whole is not None:
            self._whole.seek(0)
            return self._whole.read(size)
        ahead, piece = self._ahead, bytearray(size)
        self._ahead = b""
        while len(ahead) < size and (count := self.readinto(memoryview(piece))):
            ahead += piece[:count]
        self._ahead = ahead + self._ahead
        return ahead[:size]

    @property
    def expansion(self) -> float:
        """How many bytes came of each compressed one; 1 where they are plain."""
        return self._decompressing.given / self._decompressing.taken if self._decompressing is not None else 1.0

    def check_held(self, size: int) -> None:
        """Refuse to hold `size` plain bytes where few compressed ones make them. Raises FormatError."""
        if size > _MOST_HELD and self.expansion > _MOST_EXPANSION:
            raise FormatError(
                f"{self.name}: expected compressed text, found data that decompresses to over {self.expansion:.0f} "
                "times its size and would have to be held: if that is meant, give it decompressed"
            )

    def seekable(self) -> IO[bytes]:
        """
        The plain bytes as a file that can be read at any place: the stream itself, or an unnamed temporary copy.

        It is the same one when asked for again, and at its beginning. The source is only peeked into then.
        """
        if self._whole is not None:
            self._whole.seek(0)
            return self._whole
        self.peek(1)
        stream = self._stream
        whole = self._decompressing is None and self._begin == 0
        if whole and isinstance(stream, io.FileIO | io.BytesIO) and stream.seekable():
            stream.seek(0)
            self._whole = stream
            return stream
        try:
            copy = self._temporary()
            piece = memoryview(bytearray(_COPY_BUFFER))
            while count := self.readinto(piece):
                copy.write(piece[:count])
            copy.seek(0)
            self._whole = copy
        except OSError as error:
            raise FileError(f"{self.name}: there is no room for a temporary copy: {reason(error)}") from None
        return copy

    def _begin_reading(self, target: memoryview) -> int:
        """The first read: see whether it is compressed."""
        self._begun = True
        head = bytearray(PIECE)
        count = self._read(memoryview(head))
        while 0 < count < HEAD and (more := self._read(memoryview(head)[count:])):
            count += more
        if compression := compression_of(bytes(head[:HEAD]), self.name):
            self._decompressing = Decompressing(compression, self._read, bytes(head[:count]), self.name)
            self._refuse_compressed_twice(self._decompressing, compression)
        else:
            self._ahead = bytes(head[:count])
        return self.readinto(target) if count else 0

    def _refuse_compressed_twice(self, plain: Decompressing, outer: Compression) -> None:
        """What was decompressed may be compressed itself: say so, instead of what is odd in its bytes."""
        piece = bytearray(HEAD)
        while len(self._ahead) < HEAD and (count := plain.readinto(memoryview(piece)[: HEAD - len(self._ahead)])):
            self._ahead += piece[:count]
        if inner := compression_of(self._ahead, self.name):
            raise FormatError(
                f"{self.name}: expected text in the {outer.name} data, found {inner.name} data: it was compressed "
                "twice; decompress it once"
            )

    def _read(self, target: memoryview) -> int:
        """The same as readinto(), of the bytes as they are stored."""
        try:
            if self._again is not None:
                if count := self._again.readinto(target):  # type: ignore[attr-defined]
                    return int(count)
                self._again = None  # what was read the first time is through; the rest still stands in the pipe
            read = self._stream.readinto(target)
            if read is None:
                raise BlockingIOError(0, "nothing has come yet, and it does not wait (non-blocking mode)")
            count = read
        except (OSError, ValueError, EOFError, zlib.error) as error:  # it was closed; an object that decompresses
            raise FileError(f"{self.name}: cannot be read: {reason(error)}") from None
        if self._copying and count:
            try:
                self._copy = self._copy or self._temporary()
                self._copy.write(target[:count])
            except OSError:
                self._copying, self._copy = False, None
        return count

    def _temporary(self) -> IO[bytes]:
        """An unnamed temporary file that is closed with the source. Raises OSError."""
        import tempfile  # it takes longer to load than a small run to read

        copy = tempfile.TemporaryFile(buffering=_COPY_BUFFER)  # noqa: SIM115
        self._opened.callback(_drop, copy)
        return copy

    def rewind(self) -> None:
        """Begin again, for the last time. Raises FileError where a pipe could not be copied."""
        self._decompressing, self._begun, self._ahead = None, False, b""
        if self._stream.seekable():
            self._stream.seek(self._begin)
            return
        try:
            if self._copy is None:
                raise OSError
            self._copy.seek(0)  # writes what its buffer holds, so the disk may be full here too
        except OSError:
            raise FileError(
                f"{self.name}: the lines of a topic are not together, so it must be read twice, and there was no room "
                "for a temporary copy: give a file instead of a pipe"
            ) from None
        self._again, self._copying = self._copy, False


def _drop(copy: IO[bytes]) -> None:
    """Close a file of which nothing is wanted any more, though what its buffer holds may find no room."""
    with suppress(OSError):
        copy.close()


class Lines:
    """
    A buffer over a source that holds whole lines; a last line without a newline is given one.

    data: uint8[]  data[:stop] has been read; ended: nothing comes behind it; at least 64 bytes lie behind, whatever
        is in them
    before: lines of the file that lie before data[0]; room: bytes that fit
    """

    stop: int
    before: int
    ended: bool

    def __init__(self, source: Source, block: int) -> None:
        self._block = block
        self._set(bytearray(_BEHIND))
        self.open(source)

    def open(self, source: Source) -> None:
        """Turn to a source, with the memory there is."""
        self.source = source
        self.stop, self.before, self.ended = 0, 0, False

    def read(self, whole: bool = False) -> int:
        """
        Read on until the buffer is full of whole lines, or with `whole` until the end; return where the last one ends.

        The buffer grows as it must. Raises FormatError for a NUL byte.
        """
        begin = self.stop
        self._grow(max(self._needed(whole), 2 * begin))
        while not self.ended:
            if self.stop + 1 >= self.room:  # one byte is kept for the newline that the file may lack
                if not whole and self._buffer.rfind(b"\n", begin, self.stop) >= 0:
                    break
                self._grow(2 * self.room)
            count = self.source.readinto(memoryview(self._buffer)[self.stop : self.room - 1])
            place = self._buffer.find(0, self.stop, self.stop + count)
            if place >= 0:
                column = place - self.line_start(place) + 1
                utf16 = ", which UTF-16 has" if is_utf16(bytes(self._buffer[:64])) else ""
                raise FormatError(
                    f"{self.source.name}:{self.line(place)}: byte {column}: expected text, found a NUL{utf16}"
                )
            self.stop += count
            self.ended = count == 0
        if not self.ended:
            return self._buffer.rfind(b"\n", begin, self.stop) + 1
        if self.stop and self.data[self.stop - 1] != ord("\n"):
            self.data[self.stop] = ord("\n")
            self.stop += 1
        return self.stop

    def begin(self, rest: bytes, before: int) -> None:
        """Forget everything; go on with bytes that were read already, which lie behind that many lines."""
        self._grow(len(rest) + 1)
        self._buffer[: len(rest)] = rest
        self.stop, self.before, self.ended = len(rest), before, False

    def cut(self, stop: int) -> bytes:
        """Forget the bytes from `stop` on, and return them."""
        rest = self.data[stop : self.stop].tobytes()
        self.stop = stop
        return rest

    def count(self, start: int, stop: int) -> int:
        """Lines that end in data[start:stop]."""
        return int(np.count_nonzero(self.data[start:stop] == ord("\n")))

    def line(self, place: int) -> int:
        """Number, from 1, of the line that data[place] belongs to."""
        return self.before + 1 + self.count(0, place)

    def line_start(self, place: int) -> int:
        """Where the line that data[place] belongs to begins."""
        return self._buffer.rfind(b"\n", 0, place) + 1

    def lone_returns(self, stop: int) -> NDArray[np.int64]:
        """Places in data[:stop], which are whole lines, of CRs that stand inside a line: not before its end."""
        buffer = self._buffer
        if buffer.find(b"\r", 0, stop) < 0 or buffer.count(b"\r", 0, stop) == buffer.count(b"\r\n", 0, stop):
            return np.zeros(0, np.int64)  # nearly always; the former takes a thirtieth of the time of parsing
        places = np.flatnonzero(self.data[:stop] == ord("\r"))
        behind = self.data[places + 1]
        lone: NDArray[np.int64] = places[(behind != ord("\n")) & (behind != ord("\r"))]
        return lone

    def token(self, place: int) -> bytes:
        """The bytes from data[place] up to the next blank."""
        size = 64
        while True:
            token, *behind = self.data[place : min(place + size, self.stop)].tobytes().split(None, 1)
            if behind or len(token) < size:
                return token
            size *= 4

    def _needed(self, whole: bool) -> int:
        """Room for a block, or for the whole source; no more than it takes, where its size is known."""
        size = self.source.size()
        if not size:
            return self._block
        size += 2  # the newline that it may lack, and a byte to see the end by
        return size if whole else min(self._block, max(size, _SMALLEST))  # decompressed it may be larger

    def _grow(self, room: int) -> None:
        """Have that much room at least."""
        if room <= self.room:
            return
        self.source.check_held(room)
        try:
            larger = bytearray(room + _BEHIND)
        except MemoryError:
            raise no_memory(self.source.name) from None
        larger[: self.stop] = self._buffer[: self.stop]
        self._set(larger)

    def _set(self, buffer: bytearray) -> None:
        self._buffer, self.room = buffer, len(buffer) - _BEHIND
        self.data = np.frombuffer(buffer, np.uint8)


def read_lines(file: str | Source) -> tuple[str, list[bytes]]:
    """
    A small file's name as messages have it, and its lines, without a byte order mark.

    file: a path, or what is open already. Raises FileError, and FormatError for a NUL byte.
    """
    with Source.open(file) if isinstance(file, str) else file as source:
        lines = Lines(source, 1 << 16)
        stop = lines.read(whole=True)
        return source.name, lines.data[:stop].tobytes().removeprefix(BOM).split(b"\n")[:-1]


class Bytes(io.RawIOBase):
    """
    A source as Python's streams have it.

    held: how many bytes its user may hold of those that were read
    """

    def __init__(self, source: Source) -> None:
        self._source, self.held = source, 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, target: Any) -> int:
        """As Source has it. Raises FormatError: too much is held."""
        count = self._source.readinto(memoryview(target))
        self.held += count
        self._source.check_held(self.held)
        return count


def byte_lines(source: Source) -> Iterator[bytes]:
    """Yield the lines of a source, with their ends."""
    raw = Bytes(source)
    for line in io.BufferedReader(raw, _COPY_BUFFER):
        raw.held = 0
        yield line
