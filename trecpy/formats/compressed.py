"""Compressed bytes to plain ones, a piece at a time: which compression it is, by the first bytes, and its members."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from trecpy.errors import FileError, FormatError

HEAD = 262  # bytes that tell every compression, and a tar archive
PIECE = 1 << 16  # compressed bytes at a time: what is behind the end of a member is copied once a member
_XZ_MEMORY = 1 << 28  # `xz -9` takes 1 << 26


class Decompressor(Protocol):
    """What bz2, lzma and zstd have in common."""

    @property
    def eof(self) -> bool:
        """Did the member end?"""

    @property
    def needs_input(self) -> bool:
        """Is there no more to give without more data?"""

    @property
    def unused_data(self) -> bytes:
        """What is behind the end of the member."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """At most max_length bytes of what data and the data before it hold."""


class _Gzip:
    """zlib's decompressor with the interface of the others."""

    def __init__(self) -> None:
        import zlib

        self._zlib = zlib.decompressobj(wbits=31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        plain = self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)
        # It may hold more than was asked for, although it took all of its input.
        self.needs_input = len(plain) < max_length
        return plain


def _bzip2() -> Decompressor:
    import bz2

    return bz2.BZ2Decompressor()


def _xz() -> Decompressor:
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)


def _zstandard() -> Decompressor:
    decompressor: Decompressor = zstd().ZstdDecompressor()
    return decompressor


def zstd() -> Any:
    """Python's module for zstandard, or its backport. Raises FileError: neither is there."""
    try:
        from compression import zstd  # Python 3.14 and newer
    except ImportError:
        try:
            from backports import zstd
        except ImportError:
            raise FileError("zstandard needs an extra here: pip install 'trecpy[zstd]'") from None
    return zstd


@dataclass(eq=False, repr=False)
class Compression:
    """A compression: its name, and what begins the decompression of one member."""

    name: str
    start: Callable[[], Decompressor]


GZIP, BZIP2 = Compression("gzip", _Gzip), Compression("bzip2", _bzip2)
XZ, ZSTANDARD = Compression("xz", _xz), Compression("zstandard", _zstandard)

# An id may begin with 'BZh9', so bzip2 is told by its first block too, which may be the end of an empty file.
_MAGIC = {
    b"\x1f\x8b\x08": GZIP,
    **{b"BZh%d%b" % (size, block): BZIP2 for size in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90")},
    b"\xfd7zXZ\0": XZ,
    b"\x28\xb5\x2f\xfd": ZSTANDARD,
    **{bytes([byte]) + b"\x2a\x4d\x18": ZSTANDARD for byte in range(0x50, 0x60)},  # a frame to skip: pzstd's first
}
_NOT_READ = {
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x9d": "made by 'compress' (.Z)",
    b"\x04\x22\x4d\x18": "LZ4",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\x5d\0\0": "LZMA (.lzma)",
    b"FEA1\0\0\0\0": "Feather V1, which Arrow's files have replaced",
}
_TAR = b"ustar"  # at its end of HEAD


def compression_of(head: bytes, name: str) -> Compression | None:
    """
    The compression of a file that begins with `head`, its first HEAD bytes; None where it is plain.

    Raises FormatError: one that is not read.
    """
    for magic, compression in _MAGIC.items():
        if head.startswith(magic):
            return compression
    what = next((what for magic, what in _NOT_READ.items() if head.startswith(magic)), "")
    if head[HEAD - len(_TAR) : HEAD] == _TAR:
        what = "a tar archive: unpack it"
    if what:
        raise FormatError(f"{name}: expected plain text, gzip, bzip2, xz or zstandard, found {what}")
    return None


class Decompressing:
    """
    The plain bytes of a compressed stream, all of its members, of which only a piece is held.

    taken, given: compressed bytes that were read so far, plain bytes that were given
    """

    def __init__(self, compression: Compression, read: Callable[[memoryview], int], head: bytes, name: str) -> None:
        """read: fills its argument with what is behind `head`, and returns how many bytes came."""
        self.taken, self.given = len(head), 0
        self._compression, self._read, self._name = compression, read, name
        self._ahead = head  # read, and no member has it yet
        self._piece = bytearray(PIECE)
        self._member: Decompressor | None = self._start()

    def readinto(self, target: memoryview) -> int:
        """
        Fill `target` from its front; return how many bytes came, 0 at the end only.

        Raises FormatError: what is compressed is damaged, or ends too early.
        """
        while True:
            if self._member is None:
                if self._at_end():
                    return 0
                self._member = self._start()
            data = b""
            if self._member.needs_input:
                if not self._ahead and not self._read_on():
                    raise FormatError(
                        f"{self._name}: byte {self.taken:,}: expected more {self._compression.name} data, found the "
                        "end of the file: it was cut short"
                    )
                data, self._ahead = self._ahead, b""
            try:
                plain = self._member.decompress(data, len(target))
            except Exception as error:  # each library has its own, some raise OSError or EOFError
                raise FormatError(
                    f"{self._name}: the {self._compression.name} data is damaged, or needs too much memory, at or "
                    f"before byte {self.taken:,}: {' '.join(str(error).split())}"
                ) from None
            if self._member.eof:
                self._ahead, self._member = self._member.unused_data, None
            if plain:
                target[: len(plain)] = plain
                self.given += len(plain)
                return len(plain)

    def _start(self) -> Decompressor:
        try:
            return self._compression.start()
        except ImportError:
            raise FileError(f"{self._name}: this Python was built without {self._compression.name}") from None
        except FileError as error:
            raise FileError(f"{self._name}: {error}") from None

    def _read_on(self) -> bool:
        """Read a piece; False at the end of the file."""
        count = self._read(memoryview(self._piece))
        self.taken += count
        self._ahead += self._piece[:count]
        return count > 0

    def _at_end(self) -> bool:
        """Behind a member: is that the end of the file, which zeros may pad, or does another member begin?"""
        while not (rest := self._ahead.lstrip(b"\0")):
            self._ahead = b""
            if not self._read_on():
                return True
        self._ahead = rest
        while len(self._ahead) < HEAD and self._read_on():
            pass
        if compression_of(self._ahead[:HEAD], self._name) is not self._compression:
            raise FormatError(
                f"{self._name}: byte {self.taken - len(self._ahead) + 1:,}: expected the end of the file or more "
                f"{self._compression.name} data, found something else"
            )
        return False
