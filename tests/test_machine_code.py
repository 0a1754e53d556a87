"""Machine code that is kept: what is loaded, what is not, and right numbers whatever became of the folder."""

import os
import resource
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from trecpy.kernels import _native, rank, strings, walk

# Sums 1, 2, ... within two groups and says whether numba was loaded for it.
SCRIPT = """
import sys
import numpy as np
from trecpy.kernels.walk import running
total = np.empty(5)
running(np.arange(1.0, 6.0), np.array([0, 2, 5]), total)
print(total.tolist(), 'numba' in sys.modules)
"""
SUMS = "[1.0, 3.0, 3.0, 7.0, 12.0]"

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine != "x86_64", reason="code is kept on x86-64 under Linux only"
)


def start(folder: Path | str, before: Callable[[], object] | None = None, **others: str) -> "subprocess.Popen[str]":
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), **others}
    command = [sys.executable, "-c", SCRIPT]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True, preexec_fn=before)


def sums(folder: Path | str, before: Callable[[], object] | None = None, **others: str) -> bool:
    """Run the script; return whether numba was loaded, which is whether nothing that was kept was used."""
    out, err = start(folder, before, **others).communicate(timeout=300)
    assert not err
    assert out.startswith(SUMS)
    return out.endswith("True\n")


def kept(folder: Path) -> Path:
    (file,) = (folder / "trecpy").glob("walk.running-*.code")
    return file


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file of code, as the first process writes it."""
    folder = tmp_path_factory.mktemp("made")
    assert sums(folder)
    assert not sums(folder)
    return kept(folder).read_bytes()


@pytest.fixture
def folder(tmp_path: Path, made: bytes) -> Path:
    """A folder in which that file is kept."""
    (tmp_path / "trecpy").mkdir(mode=0o700)
    source = Path(walk.__file__).read_bytes()
    signature = ((np.dtype(float), 1), (np.dtype(np.int64), 1), (np.dtype(float), 1))
    file = tmp_path / "trecpy" / _native._file_name("walk.running", _native.key(source, "walk.running", signature))
    file.touch(mode=0o600)
    file.write_bytes(made)
    return tmp_path


def test_it_is_used(folder: Path) -> None:
    assert not sums(folder)


def test_where_it_is_kept_nobody_else_can_write(folder: Path) -> None:
    assert (folder / "trecpy").stat().st_mode & 0o077 == 0
    assert kept(folder).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: b"",
        lambda raw: raw[: len(raw) // 2],
        lambda raw: raw[:-9] + bytes([raw[-9] ^ 1]) + raw[-8:],
        lambda raw: b"X" + raw[1:],
    ],
    ids=["empty", "cut short", "one bit", "foreign"],
)
def test_a_damaged_file_is_made_anew(folder: Path, made: bytes, damage: Callable[[bytes], bytes]) -> None:
    kept(folder).write_bytes(damage(made))
    assert sums(folder)
    assert not sums(folder)


def test_code_for_another_key_is_not_used(folder: Path, made: bytes) -> None:
    file = kept(folder)
    sizes = _native._HEADER.size + len(_native._MAGIC)
    key, imports, code, _ = _native._HEADER.unpack_from(made, len(_native._MAGIC))
    body = made[sizes:].replace(b"def running(", b"def runninG(", 1)
    assert len(body) == key + imports + code
    header = _native._HEADER.pack(key, imports, code, _native.zlib.crc32(body))
    file.write_bytes(_native._MAGIC + header + body)
    assert sums(folder)
    assert not sums(folder)


def test_the_key_has_the_text_of_every_file_that_is_compiled_in() -> None:
    text = rank.rank.file.text()  # type: ignore[attr-defined]
    for each in (rank, strings):
        assert Path(each.__file__).read_bytes() in text
    assert Path(walk.__file__).read_bytes() not in text


def test_what_numba_keeps_has_the_texts_in_its_place_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = rank.rank.file  # type: ignore[attr-defined]
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    places = []
    for text in (file.text(), file.text() + b"# of a helper in another file"):
        monkeypatch.setattr(file, "_text", text)
        monkeypatch.setattr(file, "_dispatchers", {})
        places.append(Path(file.dispatcher("rank", native=False)._cache.cache_path))
    assert len(set(places)) == 2
    assert all(place.is_relative_to(tmp_path / "trecpy") for place in places)


@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_a_folder_that_others_can_write_to_is_not_used(folder: Path, mode: int) -> None:
    (folder / "trecpy").chmod(mode)
    assert sums(folder)
    (folder / "trecpy").chmod(0o700)
    assert not sums(folder)


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_can_write_to_is_not_used(folder: Path, mode: int) -> None:
    kept(folder).chmod(mode)
    assert sums(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("whole", [True, False])
def test_what_another_user_owns_is_not_used(folder: Path, whole: bool) -> None:
    os.chown(folder / "trecpy" if whole else kept(folder), 12345, 12345)
    assert sums(folder)


def test_a_link_to_a_folder_is_not_used(folder: Path) -> None:
    (folder / "trecpy").rename(folder / "real")
    (folder / "trecpy").symlink_to(folder / "real")
    assert sums(folder)


def test_without_a_folder_that_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert sums(tmp_path / "file")
    assert sums("/proc/self")  # read-only, for root too


def test_without_home() -> None:
    assert sums("", XDG_CACHE_HOME="", HOME="/dev/null")


def test_xdg_cache_home_is_next(tmp_path: Path) -> None:
    assert sums("", XDG_CACHE_HOME=str(tmp_path))
    assert not sums("", XDG_CACHE_HOME=str(tmp_path))
    assert kept(tmp_path)


def test_a_path_that_is_not_absolute_is_not_used() -> None:
    assert sums("relative")
    assert not Path("relative").exists()


def test_a_full_disk(tmp_path: Path) -> None:
    assert sums(tmp_path, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
    assert not list((tmp_path / "trecpy").iterdir())
    assert sums(tmp_path)


def test_processes_that_compile_at_once(tmp_path: Path) -> None:
    processes = [start(tmp_path) for _ in range(3)]
    assert {process.communicate(timeout=300)[0][: len(SUMS)] for process in processes} == {SUMS}
    assert [file.suffix for file in (tmp_path / "trecpy").iterdir()] == [".code"]
    assert not sums(tmp_path)


@pytest.mark.parametrize("seconds", [0.5, 1.2])
def test_a_killed_process(tmp_path: Path, seconds: float) -> None:
    process = start(tmp_path)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    sums(tmp_path)
    assert not sums(tmp_path)


# A child process that compiles other kernels meanwhile.

SHARED = """
import os, signal, sys, time
import numpy as np
from trecpy.kernels import _beside, _native, walk
parent = os.getpid()
terms, starts, total = np.arange(1.0, 6.0), np.array([0, 2, 5]), np.empty(5)
def work():
    assert os.getpid() != parent
    print("never seen")
    WORK
_beside.share(work, {"walk"})
assert _beside.awaited("other") is False
walk.running(terms, starts, total)
print(total.tolist(), 'numba' in sys.modules)
while _beside.awaited("walk"):
    pass
"""


@pytest.mark.parametrize(
    ("work", "compiled_here"),
    [
        ("walk.running(terms, starts, np.empty(5))", "False"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "True"),
        ("raise MemoryError", "True"),
        ("time.sleep(0.3)", "True"),
    ],
)
def test_another_process_compiles_meanwhile(tmp_path: Path, work: str, compiled_here: str) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", SHARED.replace("WORK", work)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == (f"{SUMS} {compiled_here}\n", "")
    assert kept(tmp_path)


def test_a_child_that_never_ends_is_not_waited_for(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    script = SHARED.replace("WORK", "time.sleep(60)").replace("parent =", "_beside._LONGEST = 0.1; parent =")
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=50)
    assert (done.stdout, done.stderr) == (f"{SUMS} True\n", "")


def test_the_command_shares_the_compiling(tmp_path: Path) -> None:
    files = [str(Path(__file__).parent.parent / "data_fixtures" / name) for name in ("example.qrels", "example.run")]
    code = (
        "import sys; from trecpy.cli.trec_eval import main; from trecpy.kernels import _jit\n"
        "assert main(sys.argv[1:]) == 0\n"
        "print([bool(_jit._files[f'trecpy.kernels.{name}']._dispatchers) for name in ('parse', 'rank', 'walk')])"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code, "-c", *files], env=environment, capture_output=True, timeout=300)
    assert done.returncode == 0
    shared = len(os.sched_getaffinity(0)) > 1
    assert done.stdout.endswith(b"\n[True, %s, %s]\n" % ((b"False", b"False") if shared else (b"True", b"True")))


def test_without_the_compiler(tmp_path: Path) -> None:
    assert not sums(tmp_path, NUMBA_DISABLE_JIT="1", PYTHONWARNINGS="ignore")
    assert not (tmp_path / "trecpy").exists()


def test_arrays_that_the_code_is_not_made_for_give_the_same_numbers() -> None:
    terms, starts = np.arange(1.0, 6.0), np.array([0, 2, 5])
    total = np.empty(5)
    walk.running(terms, starts, total)
    strided = np.zeros((5, 2))
    walk.running(np.repeat(terms, 2)[::2], np.repeat(starts, 2)[::2], strided[:, 1])
    assert strided[:, 1].tolist() == total.tolist()
    narrow = np.empty(5, np.float32)
    walk.running(terms.astype(np.float32), starts.astype(np.int32), narrow)
    assert narrow.tolist() == total.tolist()
    crooked = np.empty(5 * 8 + 1, np.uint8)[1:].view(np.float64)
    walk.running(terms, starts, crooked)
    assert crooked.tolist() == total.tolist()


def test_arrays_that_are_only_called_otherwise_are_taken_as_they_are(tmp_path: Path) -> None:
    terms, starts, total = np.arange(1.0, 6.0), np.array([0, 2, 5]), np.empty(5)
    walk.running(terms, starts, total)
    code = walk.running._code  # type: ignore[attr-defined]
    mapped = np.memmap(tmp_path / "sums", np.float64, "w+", shape=5)
    same = starts.view(np.longlong)  # another dtype, and equal
    assert code(terms, same, mapped) == _native.UNFIT
    walk.running(terms, same, mapped)
    assert mapped.tolist() == total.tolist()


@pytest.mark.parametrize(
    "unfit",
    [
        np.zeros(5, np.float32),
        np.zeros(5, ">f8"),
        np.zeros((5, 1)),
        np.zeros(10)[::2],
        np.zeros(41, np.uint8)[1:].view(float),
    ],
    ids=["narrow", "swapped", "two dimensions", "strided", "crooked"],
)
def test_code_refuses_what_it_is_not_made_for(unfit: np.ndarray) -> None:
    terms, starts, total = np.arange(1.0, 6.0), np.array([0, 2, 5]), np.full(5, -1.0)
    walk.running(terms, starts, np.empty(5))
    code = walk.running._code  # type: ignore[attr-defined]
    assert code(unfit, starts, total) == _native.UNFIT
    assert total.tolist() == [-1.0] * 5
    assert code(terms, starts, total) != _native.UNFIT


def test_the_command_needs_no_numba_when_its_code_is_kept() -> None:
    files = [str(Path(__file__).parent.parent / "data_fixtures" / name) for name in ("example.qrels", "example.run")]
    code = (
        "import sys; from trecpy.cli.trec_eval import main\n"
        "assert main(sys.argv[1:]) == 0; print('numba' in sys.modules or 'llvmlite' in sys.modules)"
    )
    command = [sys.executable, "-c", code, "-c", "-q", "-m", "all_trec", *files]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, timeout=600, check=True)
    assert done.stdout.endswith(b"\nFalse\n")


def test_which_kernels_have_code() -> None:
    terms, total = np.array([1.0, 2.0]), np.empty(2)
    walk.running(terms, np.array([0, 2]), total)
    assert total.tolist() == [1.0, 3.0]
    assert walk.running._code is not None  # type: ignore[attr-defined]


# The linker, on an object file with one section of code.


def elf(symbol: bytes, kind: int, flags: int = 2) -> bytes:
    """`entry` returns 7; a relocation of the given kind names a symbol that is not in the file."""
    code = b"\xb8\x07\x00\x00\x00\xc3" + b"\xe8\0\0\0\0"
    names = b"\0entry\0" + symbol + b"\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0, 6) + struct.pack("<IBBHQQ", 7, 0x10, 0, 0, 0, 0)
    relocations = struct.pack("<QQq", 7, 2 << 32 | kind, -4)
    parts = [b"", code, relocations, symbols, names]
    offsets = [64 + sum(map(len, parts[:i])) for i in range(len(parts))]
    sections = [(0, 0, 0, 0, 0), (1, flags, 0, 0, 16), (4, 0, 3, 1, 8), (2, 0, 4, 1, 8), (3, 0, 0, 0, 1)]
    table = b"".join(
        struct.pack("<IIQQQQIIQQ", 0, section, flag, 0, offsets[i], len(parts[i]), link, info, align, 0)
        for i, (section, flag, link, info, align) in enumerate(sections)
    )
    body = b"".join(parts)
    head = b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x01\0\x3e\0"
    return head.ljust(0x28, b"\0") + struct.pack("<QIHHHHHH", 64 + len(body), 0, 64, 0, 0, 64, 5, 0) + body + table


@pytest.mark.parametrize("kind", [2, 4])
def test_code_is_linked(kind: int) -> None:
    imports, code = _native.link(elf(b"memset", kind), b"entry")
    assert _native.function(imports, code, ())() == 7
    name, offset = imports.split()
    assert name == b"memset"
    call = code.index(b"\xc3\xe8") + 2
    assert call + 4 + struct.unpack_from("<i", code, call)[0] == int(offset)


@pytest.mark.parametrize(
    "raw",
    [b"", elf(b"memset", 1), elf(b"memset", 9), elf(b"log2", 4), b"\x7fELF\x01" + elf(b"memset", 4)[5:]],
    ids=["nothing", "absolute", "table", "unknown", "32 bits"],
)
def test_what_is_not_known_to_be_right_is_refused(raw: bytes) -> None:
    with pytest.raises(_native.Refused):
        _native.link(raw, b"entry")


def test_a_name_that_the_c_library_lacks_is_refused() -> None:
    with pytest.raises(_native.Refused):
        _native.function(b"no_such_function 64\n", bytes(128), ())
