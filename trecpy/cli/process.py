"""What surrounds the work of every command: its streams, errors as one line and an exit code, interruptions."""

import atexit
import gc
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import IO, Any

from trecpy.errors import FileError, TrecpyError

Warn = Callable[[str], None]
Write = Callable[[bytes], None]

_BROKEN_PIPE = 141  # what a shell reports of a program that SIGPIPE ended, as it ends the reference
_INTERRUPTED = 130


class OutputError(Exception):
    """Standard output cannot be written."""


def process(
    program: str,
    work: Callable[[IO[bytes] | None, IO[bytes] | None, Warn], int],
    error_prefix: str = "",
) -> int:
    """Do the work on this process's streams; return the exit code. work: takes stdin, stdout and warn()."""
    atexit.register(gc.freeze)  # else Python looks for cycles once more at its end: a tenth of a short evaluation
    warn = partial(_say, program)
    # A stream that the shell closed is None here; what is written to it is lost, and that is an error below.
    try:
        output = _binary(sys.stdout)
        code = work(_binary(sys.stdin), output, warn)
        if output is not None:
            _writing(output.flush)
        return code
    except BrokenPipeError:  # the reader has what it wanted
        _silence(sys.stdout)
        return _BROKEN_PIPE
    except OutputError as error:
        warn(f"{error_prefix}standard output: cannot be written: {error}")
        _silence(sys.stdout)
        return FileError.exit_code
    except KeyboardInterrupt:
        return _INTERRUPTED


def attempt(work: Callable[[], int], fail: Warn) -> int:
    """Do the work; return its exit code, or that of its error, which is told to fail() in one line."""
    try:
        return work()
    except TrecpyError as error:
        fail(str(error))
        return error.exit_code
    except MemoryError:
        fail("out of memory")
        return FileError.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:  # of the system around, like a library that cannot be loaded
        fail(f"{error}")
        return FileError.exit_code


def writer(stdout: IO[bytes] | None) -> Write:
    """What writes to standard output. It raises OutputError, or BrokenPipeError."""

    def write(text: bytes) -> None:
        if stdout is None:
            raise OutputError("it is closed")
        _writing(lambda: stdout.write(text))

    return write


def _writing(step: Callable[[], object]) -> None:
    try:
        step()
    except BrokenPipeError:
        raise
    except OSError as error:
        from trecpy.formats.source import reason

        raise OutputError(reason(error)) from None


def _binary(stream: Any) -> Any:
    return None if stream is None else stream.buffer


def _say(program: str, text: str) -> None:
    """One line on standard error; nothing where that is closed or full."""
    if sys.stderr is not None:
        try:
            encoding = sys.stderr.encoding or "ascii"
            sys.stderr.buffer.write(f"{program}: {text}\n".encode(encoding, "backslashreplace"))
            sys.stderr.buffer.flush()
        except OSError:
            pass


def _silence(stream: Any) -> None:
    """Keep Python from failing once more when it closes a stream that cannot be written."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
