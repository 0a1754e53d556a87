"""How every kernel is compiled: one decorator, so that no file chooses options of its own."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


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


def inlined(function: F) -> F:
    """
    Compile a helper into each kernel that calls it: a call costs more than what it does.

    Only kernels of its own file may call it: numba keys a kernel's cache by that file alone, and would go on using the
    old helper.
    """
    return cast(F, numba.njit(error_model="numpy", nogil=True, forceinline=True)(function))


def compiled(function: F) -> F:
    """
    Compile a kernel at its first call and keep the machine code on disk where that is possible.

    error_model: dividing by zero gives what IEEE 754 says, as in C. nogil: blocks of topics may run side by side.
    Never fastmath: it would reorder sums.
    """
    dispatcher: Any = numba.njit(error_model="numpy", nogil=True)(function)
    if hasattr(dispatcher, "enable_caching"):  # not so under NUMBA_DISABLE_JIT
        try:
            dispatcher.enable_caching()
            dispatcher._cache = _Forgiving(dispatcher._cache)
        except RuntimeError:
            pass  # no folder that can be written: compiled anew in each process
    return cast(F, dispatcher)
