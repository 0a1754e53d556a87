"""
How every kernel is compiled: one decorator, so that no file chooses options of its own.

Importing numba costs more than scoring a small run, so that it waits for the first call of a kernel: help, errors in
options and `import trecpy` do without. That call compiles nothing but what is called; it makes numba's dispatchers of
all functions of the file, since one may call another.
"""

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

_lock = threading.RLock()
_files: dict[str, list["_Waiting"]] = {}


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


class _Waiting:
    """A function that becomes a dispatcher, in its module too, when it is first called. py_func: as it was written."""

    def __init__(self, function: Callable[..., Any], inline: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._inline = inline
        self._dispatcher: Any = None
        _files.setdefault(function.__module__, []).append(self)

    def __call__(self, *arguments: Any) -> Any:
        if self._dispatcher is None:
            with _lock:
                if self._dispatcher is None:
                    _start(_files[self.py_func.__module__])
        return self._dispatcher(*arguments)

    def dispatcher(self) -> Any:
        """numba's, not yet compiled."""
        import numba

        # error_model: dividing by zero gives what IEEE 754 says, as in C. nogil: blocks of topics may run side by side.
        # Never fastmath: it would reorder sums.
        dispatcher: Any = numba.njit(error_model="numpy", nogil=True, forceinline=self._inline)(self.py_func)
        if not self._inline and hasattr(dispatcher, "enable_caching"):  # not so under NUMBA_DISABLE_JIT
            try:
                dispatcher.enable_caching()
                dispatcher._cache = _Forgiving(dispatcher._cache)
            except RuntimeError:
                pass  # no folder that can be written: compiled anew in each process
        return dispatcher


def _start(file: list[_Waiting]) -> None:
    """Put the dispatchers of a file in the places of its functions, all of them before the first can be called."""
    dispatchers = [each.dispatcher() for each in file]
    for each, dispatcher in zip(file, dispatchers, strict=True):
        names = each.py_func.__globals__
        if names.get(each.py_func.__name__) is each:
            names[each.py_func.__name__] = dispatcher
    for each, dispatcher in zip(file, dispatchers, strict=True):
        each._dispatcher = dispatcher


def compiled(function: F) -> F:
    """Compile a kernel at its first call, and keep the machine code on disk where that is possible."""
    return cast(F, _Waiting(function, inline=False))


def inlined(function: F) -> F:
    """Compile a helper into each kernel of its file that calls it: a call would cost more than what it does."""
    return cast(F, _Waiting(function, inline=True))
