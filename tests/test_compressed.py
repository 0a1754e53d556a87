"""Compressed files: what plain ones give, whatever their names; a damaged one is an error and never a shorter run."""

import bz2
import gzip
import io
import lzma
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from command import trec_eval, write
from hypothesis import given
from hypothesis import strategies as st
from test_reader import Pipe

import trecpy
from trecpy.errors import FileError, FormatError
from trecpy.formats.compressed import zstd
from trecpy.formats.judgements import read_judgements
from trecpy.formats.runs import RunReader
from trecpy.formats.source import Lines, Source

QRELS = "".join(f"{t} 0 d{d} {d % 3}\n" for t in range(30) for d in range(20)).encode()
RUN = "".join(f"{t} Q0 d{d} {d + 1} {1 / (d + 1 + t)} tag\n" for t in range(30) for d in range(40)).encode()
MIXED = b"".join(sorted(RUN.splitlines(keepends=True), key=lambda line: line.split()[2]))

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstandard": lambda raw: zstd().compress(raw, options={zstd().CompressionParameter.checksum_flag: 1}),
}


def read(stream: io.IOBase, size: int = 4096) -> bytes:
    with Source(stream, "file") as source:  # type: ignore[arg-type]
        target, got = bytearray(size), []
        while count := source.readinto(memoryview(target)):
            got.append(bytes(target[:count]))
        return b"".join(got)


@pytest.mark.parametrize("kind", COMPRESS)
@given(st.lists(st.binary(max_size=400), min_size=1, max_size=5), st.integers(1, 500), st.integers(0, 20))
def test_all_members_are_read_and_padding_is_none(kind: str, members: list[bytes], step: int, padding: int) -> None:
    members = [b"text first", *members]  # else it may be taken for what was compressed twice
    raw = b"".join(map(COMPRESS[kind], members)) + b"\0" * padding
    assert read(io.BytesIO(raw), step) == b"".join(members)
    assert read(Pipe(raw, step), 1 << 16) == b"".join(members)


@pytest.mark.parametrize("kind", COMPRESS)
@given(st.data())
def test_a_stream_that_is_cut_short_is_an_error_with_its_place(kind: str, data: st.DataObject) -> None:
    raw = COMPRESS[kind](RUN)
    size = data.draw(st.integers(12, len(raw) - 1))
    with pytest.raises(FormatError, match=rf"^file: byte {size:,}: expected more {kind} data, found the end"):
        read(io.BytesIO(raw[:size]))


@pytest.mark.parametrize("kind", COMPRESS)
@given(st.data())
def test_a_damaged_stream_is_never_read_as_something_else(kind: str, data: st.DataObject) -> None:
    raw = bytearray(COMPRESS[kind](RUN))
    raw[data.draw(st.integers(10, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        assert read(io.BytesIO(raw)) == RUN  # a header has bits that mean nothing
    except FormatError as error:
        assert str(error).startswith("file: ")  # noqa: PT017  the data is as good
        assert "byte" in str(error)  # noqa: PT017


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("behind", [b"1 Q0 a 1 1 r\n", b"x"])
def test_what_stands_behind_the_data_is_not_passed_over(kind: str, behind: bytes) -> None:
    raw = COMPRESS[kind](RUN)
    place = f"byte {len(raw) + 1:,}: expected the end of the file or more {kind} data, found something else"
    with pytest.raises(FormatError) as raised:
        read(io.BytesIO(raw + behind))
    assert str(raised.value) == f"file: {place}"


@pytest.mark.parametrize("kind", COMPRESS)
def test_both_files_of_the_command_may_be_compressed(kind: str, tmp_path: Path) -> None:
    plain = trec_eval("-q", "-m", "all_trec", *write(tmp_path, QRELS, RUN))
    packed = write(tmp_path, COMPRESS[kind](QRELS), COMPRESS[kind](RUN))
    assert plain.code == 0
    assert trec_eval("-q", "-m", "all_trec", *packed) == plain
    stdin = trec_eval("-q", "-m", "all_trec", packed[0], "-", stdin=COMPRESS[kind](RUN))
    assert stdin.out == plain.out


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("pipe", [False, True])
def test_a_compressed_run_is_read_twice_where_topics_come_back(kind: str, pipe: bool) -> None:
    raw = COMPRESS[kind](MIXED)
    stream = Pipe(raw, 100) if pipe else io.BytesIO(raw)
    with Source(stream, "file", twice=True) as source:
        reader = RunReader(source, "10.0", strict=True, block=512)
        last = {topic: block for block in reader.blocks() for topic in block.topics}
    assert len(last) == 30
    assert len(reader.notes) == 1
    assert {
        int(block.starts[b + 1] - block.starts[b]) for block in last.values() for b in range(len(block.topics))
    } == {40}


def test_the_interface_reads_compressed_files(tmp_path: Path) -> None:
    plain = trecpy.evaluate(*write(tmp_path, QRELS, RUN))
    packed = trecpy.evaluate(*write(tmp_path, gzip.compress(QRELS), lzma.compress(RUN)))
    assert packed.to_json() == plain.to_json()


def test_an_error_in_a_line_names_the_line_of_the_plain_text() -> None:
    raw = gzip.compress(b"1 0 a 1\n1 0 b 1\n1 0 c\n")
    with pytest.raises(FormatError, match=r"^file:3: expected 4 columns"):
        read_judgements(Source(io.BytesIO(raw), "file"), "qrels", "10.0", strict=True)


@pytest.mark.parametrize(
    ("head", "what"),
    [(b"PK\x03\x04", "a zip archive"), (b"\x1f\x9d", "made by 'compress' (.Z)"), (b"\x04\x22\x4d\x18", "LZ4"),
     (lzma.compress(b"1 0 a 1\n", lzma.FORMAT_ALONE), "LZMA (.lzma)"),
     (b"FEA1\0\0\0\0", "Feather V1, which Arrow's files have replaced")],
)  # fmt: skip
def test_what_cannot_be_read_is_named(head: bytes, what: str) -> None:
    with pytest.raises(FormatError) as raised:
        read(io.BytesIO(head + b"1 0 a 1\n"))
    assert str(raised.value) == f"file: expected plain text, gzip, bzip2, xz or zstandard, found {what}"


@pytest.mark.parametrize("name", ["a", "qrels.dev.tsv"])
@pytest.mark.parametrize("kind", ["", *COMPRESS])
@pytest.mark.parametrize("pipe", [False, True])
def test_a_tar_archive_is_named(name: str, kind: str, pipe: bool) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        member = tarfile.TarInfo(name)
        member.size = 8
        tar.addfile(member, io.BytesIO(b"1 0 a 1\n"))
    raw = COMPRESS[kind](archive.getvalue()) if kind else archive.getvalue()
    with pytest.raises(FormatError) as raised:
        read(Pipe(raw, 7) if pipe else io.BytesIO(raw))
    assert str(raised.value).endswith(", found a tar archive: unpack it")


def test_a_topic_may_begin_as_bzip2_does() -> None:
    judgements, _ = read_judgements(Source(io.BytesIO(b"BZh9 0 a 1\n"), "file"), "qrels", "10.0", strict=True)
    assert judgements.topics == [b"BZh9"]


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_line_that_decompresses_without_end_does_not_fill_the_memory(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trecpy.formats.source._MOST_HELD", 1 << 22)
    with Source(io.BytesIO(COMPRESS[kind](b"a" * (1 << 24))), "file") as source:
        lines = Lines(source, 1 << 16)
        with pytest.raises(FormatError, match=r"^file: expected compressed text, found data that decompresses to over"):
            lines.read()
        assert len(lines.data) < 1 << 23


def test_an_xz_file_that_asks_for_much_memory_is_refused() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 29}]
    with pytest.raises(FormatError, match="needs too much memory"):
        read(io.BytesIO(lzma.compress(RUN, lzma.FORMAT_XZ, filters=filters)))


def test_many_empty_members_cost_little_each() -> None:
    assert read(io.BytesIO(gzip.compress(b"") * 20_000 + gzip.compress(RUN))) == RUN


def test_without_zstandard_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = COMPRESS["zstandard"](RUN)
    monkeypatch.setitem(sys.modules, "compression", None)
    monkeypatch.setitem(sys.modules, "backports", None)
    with pytest.raises(FileError) as raised:
        read(io.BytesIO(raw))
    assert str(raised.value) == "file: zstandard needs an extra here: pip install 'trecpy[zstd]'"


def test_plain_files_load_no_library_of_compression(tmp_path: Path) -> None:
    code = (
        "import sys; from trecpy.cli.trec_eval import main; main(sys.argv[1:]);"
        "sys.exit(bool({'gzip', 'compression.zstd', 'backports.zstd'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *write(tmp_path, QRELS, RUN)], capture_output=True, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("outer", COMPRESS)
@pytest.mark.parametrize("inner", COMPRESS)
@pytest.mark.parametrize("pipe", [False, True])
def test_what_was_compressed_twice_is_said_to_be(outer: str, inner: str, pipe: bool) -> None:
    raw = COMPRESS[outer](COMPRESS[inner](RUN))
    with pytest.raises(FormatError) as raised:
        read(Pipe(raw, 1) if pipe else io.BytesIO(raw))
    assert str(raised.value) == (
        f"file: expected text in the {outer} data, found {inner} data: it was compressed twice; decompress it once"
    )
