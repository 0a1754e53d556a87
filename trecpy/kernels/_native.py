"""
Machine code that outlives the process: compiled by numba once, kept in a file, called through ctypes.

Importing numba takes longer than scoring most runs. So a kernel is compiled as a C function, which takes the addresses
of array objects and integers, raises nothing, allocates nothing and touches no reference count; what LLVM makes of it
is linked to one piece of code that runs wherever it lies. A later process reads that piece, and needs neither numba nor
LLVM. What cannot be made in this way is refused (`Refused`), and left to numba.

x86-64 under Linux only. A piece is used by the processor, Python, NumPy, numba, llvmlite and source text that it was
made for, and never by another: see `key`. Where it is kept: see `folder`.
"""

import ctypes
import functools
import importlib.util
import mmap
import os
import platform
import struct
import sys
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

_MAGIC = b"trecpy machine code 1\n"
_HEADER = struct.Struct("<IIII")  # sizes of the key, of the list of imports and of the code; checksum of all three

# Array objects as every C extension reads them (PyArrayObject, whose layout is part of NumPy's binary interface): where
# the parts are that are read here, and flags: in C order without gaps, and at addresses that suit the type.
_TYPE, _DATA = object.__basicsize__ - 8, object.__basicsize__
_NDIM, _DIMENSIONS, _DTYPE, _FLAGS = (_DATA + 8 * i for i in (1, 2, 5, 6))
IN_ORDER = 0x0001 | 0x0100

# What code returns, having done nothing, for arrays that it is not made for. No kernel returns that.
UNFIT = -(2**63)

# What LLVM may call of the C library though no kernel does, to fill and to copy memory.
_IMPORTS = ("memset", "memcpy", "memmove")
_STUB = b"\xff\x25\x00\x00\x00\x00"  # jmp to the address behind it
_STUB_SIZE = 16
_ROOM = 64  # the largest alignment of a section that is accepted

_libc: Any = None
_kept: list[Any] = []  # code is never unmapped, and the dtypes whose addresses it knows are never freed


class Refused(Exception):
    """A kernel, machine or numba that is none of those for which this way is known to be right."""


Signature = tuple[tuple[np.dtype[Any], int] | None, ...]  # dtype and dimensions of each array, None for an integer


def folder() -> str | None:
    """
    Where code is kept: `trecpy` in NUMBA_CACHE_DIR, else in XDG_CACHE_HOME, else in ~/.cache. None: nowhere.

    The folder is ours alone: it is made so, and one that another user owns or can write to is not used at all.
    """
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = os.path.join(base, "trecpy")
    if not os.path.isabs(path) or not hasattr(os, "geteuid"):
        return None
    try:
        os.makedirs(path, 0o700, exist_ok=True)
        status = os.lstat(path)
    except OSError:
        return None
    return path if _ours(status) else None


def _ours(status: os.stat_result) -> bool:
    """Is it our own and can nobody else write to it? (A symbolic link counts as writable by all.)"""
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def key(source: bytes, name: str, signature: Signature) -> bytes:
    """
    All that the code of a kernel depends on.

    source: text of the kernel's file, and of those that are compiled in. Raises Refused: a part of it cannot be told.
    """
    shapes = [(str(each[0]), each[1]) if each else None for each in signature]
    return b"\0".join((_surroundings(), repr((name, shapes)).encode(), source))


@functools.cache
def _surroundings() -> bytes:
    """The part of the key that is the same for all kernels."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or sys.implementation.name != "cpython":
        raise Refused("another kind of machine")
    parts = [sys.version.encode(), np.__version__.encode()]
    try:
        with open("/proc/cpuinfo", "rb") as file:
            processor = file.read(1 << 14).partition(b"\n\n")[0]
        known = (b"vendor_id", b"cpu family", b"model", b"stepping", b"flags")
        parts += [line for line in processor.split(b"\n") if line.startswith(known)]
        for module in ("numba", "llvmlite"):  # without importing them
            spec = importlib.util.find_spec(module)
            if spec is None or spec.origin is None:
                raise Refused(f"no {module}")
            with open(os.path.join(os.path.dirname(spec.origin), "_version.py"), "rb") as file:
                parts += [os.fsencode(spec.origin), file.read()]
        for ours in ("_native.py", "_jit.py"):
            with open(os.path.join(os.path.dirname(__file__), ours), "rb") as file:
                parts.append(file.read())
    except OSError as error:
        raise Refused(str(error)) from None
    return b"\0".join(parts)


# Reading and writing.


def load(path: str, name: str, wanted: bytes) -> tuple[bytes, bytes] | None:
    """The imports and code kept under a key in a folder; None where there are none, or not in this state."""
    try:
        place = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if not _ours(os.fstat(place)):
                return None
            file = os.open(_file_name(name, wanted), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
        finally:
            os.close(place)
        with open(file, "rb") as stream:
            if not _ours(os.fstat(file)):
                return None
            raw = stream.read()
    except OSError:
        return None
    start = len(_MAGIC) + _HEADER.size
    if len(raw) < start or not raw.startswith(_MAGIC):
        return None
    key_size, imports_size, code_size, checksum = _HEADER.unpack_from(raw, len(_MAGIC))
    body = raw[start:]
    if len(body) != key_size + imports_size + code_size or zlib.crc32(body) != checksum or body[:key_size] != wanted:
        return None
    return body[key_size : key_size + imports_size], body[key_size + imports_size :]


def save(path: str, name: str, wanted: bytes, imports: bytes, code: bytes) -> None:
    """Keep code under a key; whole or not at all, and without a word where that cannot be."""
    body = wanted + imports + code
    header = _MAGIC + _HEADER.pack(len(wanted), len(imports), len(code), zlib.crc32(body))
    file_name = _file_name(name, wanted)
    unfinished = f".{file_name}.{os.getpid()}"
    try:
        place = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        if not _ours(os.fstat(place)):
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(unfinished, flags, 0o600, dir_fd=place), "wb") as stream:
            stream.write(header + body)
        os.rename(unfinished, file_name, src_dir_fd=place, dst_dir_fd=place)
    except OSError:
        try:
            os.unlink(unfinished, dir_fd=place)
        except OSError:
            pass
    finally:
        os.close(place)


def _file_name(name: str, wanted: bytes) -> str:
    return f"{name}-{zlib.crc32(wanted):08x}.code"


# From code to a function.


def function(imports: bytes, code: bytes, signature: Signature) -> Callable[..., int]:
    """
    A function of arrays and int64 that runs the code, without the interpreter's lock, and returns int64, or UNFIT.

    imports: `name offset` of each stub in the code that waits for an address. Raises Refused: there is no memory that
    code may be put in.
    """
    global _libc
    try:
        _libc = _libc or ctypes.CDLL(None)
        memory = mmap.mmap(-1, len(code), prot=mmap.PROT_READ | mmap.PROT_WRITE)
        memory[:] = code
        for line in imports.decode().splitlines():
            name, offset = line.split()
            address = ctypes.cast(getattr(_libc, name), ctypes.c_void_p).value
            struct.pack_into("<Q", memory, int(offset) + len(_STUB), address)
        begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        protect = _libc.mprotect
        protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        if protect(begin, len(code), mmap.PROT_READ | mmap.PROT_EXEC):
            raise Refused("memory cannot be made executable")
    except (OSError, AttributeError) as error:
        raise Refused(str(error)) from None
    wanted = np.array([id(np.ndarray), *(id(each[0]) for each in signature if each)], np.int64)
    _kept.append((memory, wanted, signature))
    kinds = [ctypes.py_object if each else ctypes.c_int64 for each in signature]
    return functools.partial(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, *kinds)(begin), wanted.ctypes.data)


# From Python to code.


def compile_code(kernel: Any, signature: Signature, returns: bool) -> tuple[bytes, bytes]:
    """
    Compile a kernel, which is numba's dispatcher; return its imports and its code, which begins with its entry.

    The entry takes the address of int64[1 + arrays] first: addresses of the type and of each array's dtype.

    Raises Refused: it would raise, allocate or call something. Whatever numba and LLVM raise goes through.
    """
    import numba
    from llvmlite import binding as llvm

    _check_layout()
    names = [f"a{i}" for i in range(len(signature))]
    known: dict[str, Any] = {"kernel": kernel, "is_array": _is_array(), "fits": _fits()}
    arrays = [(name, each) for name, each in zip(names, signature, strict=True) if each is not None]
    for name, (dtype, ndim) in arrays:
        known[f"view_{name}"] = _view(numba.types.Array(numba.from_dtype(dtype), ndim, "C"))
    fit = " & ".join(f"fits({name}, wanted, {place}, {each[1]})" for place, (name, each) in enumerate(arrays, 1))
    are_arrays = " & ".join(f"is_array({name}, wanted)" for name, _ in arrays)  # first: others may be shorter
    given = [f"view_{name}({name})" if each else name for name, each in zip(names, signature, strict=True)]
    call = f"kernel({', '.join(given)})"
    source = (
        f"def entry({', '.join(['wanted', *names])}):\n"
        f"    if not (({are_arrays or True}) and ({fit or True})):\n        return {UNFIT}\n"
        f"    {f'return {call}' if returns else f'{call}; return 0'}\n"
    )
    exec(source, known)
    int64 = numba.types.int64
    c_signature = int64(int64, *[int64] * len(names))
    entry = numba.cfunc(c_signature, error_model="numpy", _nrt=False)(known["entry"])

    module = llvm.parse_assembly(entry.inspect_llvm())
    for defined in (*module.functions, *module.global_variables):
        if not defined.is_declaration and defined.name != entry.native_name:
            defined.linkage = "internal"  # so that it is dropped where nothing uses it
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="small",
    )
    if hasattr(llvm, "create_module_pass_manager"):  # before numba 0.62
        passes = llvm.create_module_pass_manager()
        passes.add_global_dce_pass()
        passes.run(module)
    else:
        passes = llvm.create_new_module_pass_manager()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return link(machine.emit_object(module), entry.native_name.encode())


def _check_layout() -> None:
    """Raises Refused: array objects are not what they are taken for here."""
    probe = np.zeros((3, 5))

    def found(offset: int, kind: Any = ctypes.c_int64) -> Any:
        return kind.from_address(id(probe) + offset)

    parts = [found(_TYPE).value, found(_DATA).value, found(_NDIM, ctypes.c_int32).value, found(_DTYPE).value]
    expected = [id(np.ndarray), probe.ctypes.data, 2, id(np.dtype(float))]
    flags = found(_FLAGS, ctypes.c_int32).value
    if (
        parts != expected
        or flags != probe.flags.num
        or list((ctypes.c_int64 * 2).from_address(found(_DIMENSIONS).value)) != [3, 5]
    ):
        raise Refused("array objects have another layout")


def _read(builder: Any, at: Any, offset: int, bits: int = 64) -> Any:
    """Let code read an integer `offset` bytes behind an address."""
    from llvmlite import ir

    place = builder.add(at, ir.Constant(ir.IntType(64), offset))
    return builder.load(builder.inttoptr(place, ir.IntType(bits).as_pointer()))


def _is_array() -> Any:
    """A function that numba compiles: is the object at an address an array? wanted: address of the type's address"""
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def is_array(typing_context: Any, address: Any, wanted: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            at, wanted = arguments
            return builder.icmp_signed("==", _read(builder, at, _TYPE), _read(builder, wanted, 0))

        return types.boolean(types.int64, types.int64), generate

    return is_array


def _fits() -> Any:
    """
    A function that numba compiles: is the array at an address one that the code is made for?

    It takes the address, that of the wanted type and dtypes, the place of its dtype there, and its dimensions.
    """
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic  # type: ignore[untyped-decorator]
    def fits(typing_context: Any, address: Any, wanted: Any, place: Any, ndim: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            at, wanted, place, ndim = arguments
            dtype = builder.add(wanted, builder.mul(place, ir.Constant(place.type, 8)))
            narrow = ir.IntType(32)
            flags = ir.Constant(narrow, IN_ORDER)
            alike = [
                builder.icmp_signed("==", _read(builder, at, _DTYPE), _read(builder, dtype, 0)),
                builder.icmp_signed("==", _read(builder, at, _NDIM, 32), builder.trunc(ndim, narrow)),
                builder.icmp_signed("==", builder.and_(_read(builder, at, _FLAGS, 32), flags), flags),
            ]
            return functools.reduce(builder.and_, alike)

        return types.boolean(types.int64, types.int64, types.int64, types.int64), generate

    return fits


def _view(array_type: Any) -> Any:
    """A function that numba compiles: the array, in C order and not counted as a reference, at an object's address."""
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array, populate_array

    word = ir.IntType(64)

    @intrinsic  # type: ignore[untyped-decorator]
    def view(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = make_array(array_type)(context, builder)
            dimensions = _read(builder, arguments[0], _DIMENSIONS)
            shape = [_read(builder, dimensions, 8 * i) for i in range(array_type.ndim)]
            size = ir.Constant(word, context.get_abi_sizeof(context.get_data_type(array_type.dtype)))
            strides = [size]
            for length in shape[:0:-1]:
                strides.insert(0, builder.mul(strides[0], length))
            populate_array(
                array,
                data=builder.inttoptr(_read(builder, arguments[0], _DATA), array.data.type),
                shape=cgutils.pack_array(builder, shape),
                strides=cgutils.pack_array(builder, strides),
                itemsize=size,
                meminfo=None,
            )
            return array._getvalue()

        return array_type(types.int64), generate

    return view


def link(elf: bytes, entry: bytes) -> tuple[bytes, bytes]:
    """
    Lay the sections of an object file (ELF, x86-64) end to end and resolve what they say of each other.

    Returns the stubs for functions of the C library, one `name offset` a line, and the code: a jump to `entry`, the
    sections, the stubs. Raises Refused: there is anything else in it.
    """
    if elf[:20] != b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x01\0\x3e\0":
        raise Refused("not an object file for x86-64")
    table, (size, count, _) = struct.unpack_from("<Q", elf, 0x28)[0], struct.unpack_from("<HHH", elf, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", elf, table + size * i) for i in range(count)]
    code = bytearray(_ROOM)
    placed: dict[int, int] = {}
    symbols: list[tuple[bytes, int, int]] = []
    for number, (_, kind, flags, _, offset, length, linked, _, alignment, _) in enumerate(sections):
        if kind == 2:  # SHT_SYMTAB
            names = sections[linked][4]
            for at in range(offset, offset + length, 24):
                name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", elf, at)
                symbols.append((elf[names + name : elf.index(b"\0", names + name)], section, value))
        elif kind == 1 and flags & 3 == 2:  # SHT_PROGBITS, to be loaded, not to be written
            if alignment > _ROOM:
                raise Refused("an alignment that a page may not have")
            code += b"\0" * (-len(code) % alignment)
            placed[number] = len(code)
            code += elf[offset : offset + length]
    stubs: dict[bytes, int] = {}

    def target(number: int) -> int:
        name, section, value = symbols[number]
        if section in placed:
            return placed[section] + value
        if section or name.decode() not in _IMPORTS:
            raise Refused(f"it needs {name.decode()!r} in section {section}")
        if name not in stubs:
            code.extend(b"\0" * (-len(code) % _STUB_SIZE))
            stubs[name] = len(code)
            code.extend(_STUB.ljust(_STUB_SIZE, b"\0"))
        return stubs[name]

    for _, kind, _, _, offset, length, _, where, _, _ in sections:
        if kind not in (4, 9) or where not in placed:  # SHT_RELA, SHT_REL
            continue
        if kind == 9:
            raise Refused("relocations without addends")
        for at in range(offset, offset + length, 24):
            place, info, addend = struct.unpack_from("<QQq", elf, at)
            if info & 0xFFFFFFFF not in (2, 4):  # R_X86_64_PC32, R_X86_64_PLT32: 32 bits relative to their place
                raise Refused(f"a relocation of type {info & 0xFFFFFFFF}")
            place += placed[where]
            struct.pack_into("<i", code, place, target(info >> 32) + addend - place)
    begin = next(placed[section] + value for name, section, value in symbols if name == entry and section in placed)
    code[:5] = b"\xe9" + struct.pack("<i", begin - 5)  # jmp
    return b"".join(b"%b %d\n" % stub for stub in stubs.items()), bytes(code)
