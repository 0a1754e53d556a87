"""
A process that compiles kernels for this one while this one compiles others.

After an installation a command needs kernels one after the other, which numba compiles on one core. Only where machine
code is kept, and only for commands: a process of somebody else's may have threads, which a fork does not survive.
"""

import os
import threading
import time
from collections.abc import Callable, Set

_TICK = 0.02  # seconds between two looks at whether code has been kept
_LONGEST = 60.0  # seconds that are waited in all: to compile everything takes a tenth of that

_work: Callable[[], object] | None = None
_files: Set[str] = frozenset()
_child = 0
_until = 0.0


def share(work: Callable[[], object], files: Set[str]) -> None:
    """
    Let another process call work() when this one is about to compile a kernel for the first time.

    work: calls kernels of `files`, with the dtypes with which they will be called here, on as little as possible
    """
    global _work, _files
    if hasattr(os, "fork"):
        _work, _files = work, files


def awaited(file: str) -> bool:
    """
    Before a kernel of a file is compiled: is it worth to look for its code once more, and then to ask again?

    Starts the other process the first time. Once that has ended, or where it does not compile this file, False.
    """
    global _work, _child, _until
    if _work is not None and threading.active_count() == 1:
        work, _work = _work, None
        try:
            _child = os.fork()
        except OSError:
            return False
        if _child == 0:
            _run(work)
        _until = time.monotonic() + _LONGEST
    if _child == 0 or file not in _files:
        return False
    time.sleep(_TICK)
    try:
        if os.waitpid(_child, os.WNOHANG) == (0, 0) and time.monotonic() < _until:
            return True
    except ChildProcessError:
        pass
    _child = 0
    return True  # what it kept last


def _run(work: Callable[[], object]) -> None:
    """Work in the child, without a word, and end it."""
    try:
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(silence, stream)
        work()
    finally:
        os._exit(0)
