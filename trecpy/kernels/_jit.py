"""
How every kernel is compiled: decorators, so that no file chooses options of its own.

Importing numba costs more than scoring a small run, so that it waits until something must be compiled: help, errors in
options, `import trecpy` and every scoring but the first do without. A call compiles nothing but what it needs.
"""

import functools
import gc
import os
import threading
import types
import warnings
import zlib
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from trecpy.kernels import _beside, _native

F = TypeVar("F", bound=Callable[..., Any])

# Of a function that is compiled into another one and never called from Python: no references, no wrappers.
_INSIDE = {"forceinline": True, "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

_REFUSED = b"", b""  # kept in place of code, so that it is not tried again

_lock = threading.RLock()
_files: dict[str, "_File"] = {}


class _File:
    """The kernels of one file, which may call each other and `inlined` ones of other files, and its text."""

    def __init__(self, path: str, names: dict[str, Any]) -> None:
        """names: all that the file knows by name, which may not be all there yet"""
        self.kernels: dict[str, _Kernel] = {}
        self._path, self._names = path, names
        self._text: bytes | None = None
        self._dispatchers: dict[bool, dict[str, Any]] = {}

    def _taken(self) -> dict[str, "_Kernel"]:
        """The kernels that it takes from other files, by its own name for each."""
        return {
            name: value for name, value in self._names.items() if isinstance(value, _Kernel) and value.file is not self
        }

    def text(self) -> bytes:
        """The text of the file, and that of those from which it takes kernels. Raises OSError."""
        if self._text is None:
            with open(self._path, "rb") as file:
                own = file.read()
            self._text = b"".join([own, *sorted({kernel.file.text() for kernel in self._taken().values()})])
        return self._text

    def dispatcher(self, name: str, native: bool) -> Any:
        """
        The dispatcher of a kernel, not yet compiled, that calls others of its file as dispatchers.

        native: as _native.compile_code() takes it: without references, with all that is called inside
        """
        if native not in self._dispatchers:
            import numba

            made = self._dispatchers[native] = dict(self._names)
            for each, kernel in self._taken().items():
                made[each] = kernel.file.dispatcher(kernel.py_func.__name__, native)
            for each, kernel in self.kernels.items():
                function = kernel.py_func
                copy = types.FunctionType(function.__code__, made, each, function.__defaults__)
                copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
                # error_model: dividing by zero gives what IEEE 754 says, as in C. nogil: blocks of topics may run side
                # by side. Never fastmath: it would reorder sums.
                options = _INSIDE if native else {"forceinline": kernel.inline}
                made[each] = numba.njit(error_model="numpy", nogil=True, **options)(copy)
                if not native and not kernel.inline:
                    self._keep(made[each])
        return self._dispatchers[native][name]

    def _keep(self, dispatcher: Any) -> None:
        """
        Let numba keep what it compiles in our folder, which nobody else can write to.

        numba knows a kernel's own file by its time and size; here also what it takes from others must be the same.
        """
        import numba

        path = _native.folder()
        if path is None or not hasattr(dispatcher, "enable_caching"):  # not so under NUMBA_DISABLE_JIT
            return
        before = numba.config.CACHE_DIR
        try:
            numba.config.CACHE_DIR = os.path.join(path, f"{zlib.crc32(self.text()):08x}")
            dispatcher.enable_caching()
            dispatcher._cache = _Forgiving(dispatcher._cache)
        except (RuntimeError, OSError):
            pass  # it cannot be written: compiled anew in each process
        finally:
            numba.config.CACHE_DIR = before


class _Forgiving:
    """
    numba's cache of machine code, except that a cache that fails is only a cache that is empty.

    A full disk, a file cut short or one of another version would otherwise end the evaluation.
    """

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            return self._cache.load_overload(signature, target)
        except Exception:  # whatever a damaged pickle raises
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        try:
            self._cache.save_overload(signature, data)
        except Exception:
            pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)


class _Kernel:
    """
    A function that is compiled when it is first called. py_func: as it was written.

    Its machine code takes arrays of the dtypes and dimensions of its first call, in C order; for others, and where
    there is none, numba's dispatcher is called. Both are the same function and give the same bytes; of one that returns
    nothing machine code returns 0.
    """

    def __init__(self, function: Callable[..., Any], inline: bool, native: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.inline = inline
        self._native = native
        self._ready = False
        self._signature: _native.Signature = ()
        self._code: Callable[..., int] | None = None
        self._dispatcher: Any = None
        self.file = _files.setdefault(function.__module__, _File(function.__code__.co_filename, function.__globals__))
        self.file.kernels[function.__name__] = self

    def __call__(self, *arguments: Any) -> Any:
        if not self._ready:
            with _lock:
                if not self._ready:
                    self._prepare(arguments)
                    self._ready = True
        if self._code is not None:
            found = self._code(*arguments)
            if found == _native.UNFIT:
                found = self._code(*map(_plain, arguments, self._signature))
            if found != _native.UNFIT:
                return found
        if self._dispatcher is None:
            with _lock:
                self._dispatcher = self.file.dispatcher(self.py_func.__name__, native=False)
        return self._dispatcher(*arguments)

    def _prepare(self, arguments: tuple[Any, ...]) -> None:
        """Look for machine code, or make it."""
        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            self._dispatcher = self.py_func
            return
        arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
        if not self._native or any(each.flags.num & _native.IN_ORDER != _native.IN_ORDER for each in arrays):
            return
        # Of equal dtypes the one that NumPy itself gives arrays, whatever the first call has.
        self._signature = tuple(
            (np.dtype(each.dtype.str), each.ndim) if isinstance(each, np.ndarray) else None for each in arguments
        )
        name = f"{self.py_func.__module__.rpartition('.')[2]}.{self.py_func.__name__}"
        returns = self.py_func.__annotations__["return"] is not None
        try:
            key = _native.key(self.file.text(), name, self._signature)
            folder = _native.folder()
            kept = _native.load(folder, name, key) if folder is not None else None
            while kept is None and folder is not None and _beside.awaited(name.partition(".")[0]):
                kept = _native.load(folder, name, key)
            if kept is None:
                kept = self._compile(returns)
                if folder is not None:
                    _native.save(folder, name, key, *kept)
            if kept != _REFUSED:
                self._code = _native.function(*kept, self._signature)
        except (_native.Refused, OSError):
            pass

    def _compile(self, returns: bool) -> tuple[bytes, bytes]:
        """What _native.compile_code() gives, or _REFUSED."""
        dispatcher = self.file.dispatcher(self.py_func.__name__, native=True)
        collecting = gc.isenabled()
        gc.disable()  # numba makes many objects and drops few: an eighth less time
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return _native.compile_code(dispatcher, self._signature, returns)
        except (MemoryError, OSError):
            raise
        except Exception:  # whatever a numba of another version raises: its dispatcher does the work then
            return _REFUSED
        finally:
            if collecting:
                gc.enable()


def _plain(argument: Any, expected: tuple[np.dtype[Any], int] | None) -> Any:
    """An array of a subclass, or whose dtype is another object that means the same, as an array for which code is."""
    if expected is None or not isinstance(argument, np.ndarray) or argument.dtype != expected[0]:
        return argument
    return argument.view(expected[0], np.ndarray)


def compiled(function: F) -> F:
    """Compile a kernel that raises and allocates nothing, and returns an integer or nothing; keep its machine code."""
    return cast(F, _Kernel(function, inline=False, native=True))


def allocating(function: F) -> F:
    """Compile a kernel that needs more than `compiled` allows, by way of numba in each process that calls it."""
    return cast(F, _Kernel(function, inline=False, native=False))


def inlined(function: F) -> F:
    """Compile a helper into each kernel that calls it: a call would cost more than what it does."""
    return cast(F, _Kernel(function, inline=True, native=False))
