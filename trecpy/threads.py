"""Work on several threads at once, whose results come in order."""

import operator
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from itertools import chain, islice
from typing import Any, TypeVar

from trecpy.errors import InputError
from trecpy.text import described

T = TypeVar("T")
R = TypeVar("R")

_ALONE = 3


def available() -> int:
    """Processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not under macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def workers_of(threads: int | None) -> int:
    """As many as are asked for; all cores where that is None. Raises InputError: no integer >= 1."""
    if threads is None:
        return available()
    try:
        whole = 0 if isinstance(threads, bool) else operator.index(threads)
    except TypeError:
        whole = 0
    if whole < 1:
        raise InputError(f"threads: expected an integer >= 1 or None, found {described(threads)}")
    return whole


def in_order(
    work: Callable[[T], R], items: Iterable[T], threads: int, alone: int = _ALONE
) -> Generator[tuple[T, R], None, None]:
    """
    Yield each item and what work() makes of it, in the order of items.

    Items are taken in this thread, and work on them is done by others; not more than `threads` items have been taken
    whose turn has not come. An error, of work or of taking an item, is raised at its turn. The first items, `alone` of
    them, are worked on in this thread: to start others takes as long.
    """
    source = iter(items)
    for item in source if threads == 1 else islice(source, alone):
        yield item, work(item)
    following = list(islice(source, 1))
    if not following:
        return

    from concurrent.futures import Future, ThreadPoolExecutor  # loaded late: it takes longer than a small run

    source = chain(following, source)
    failure: Exception | None = None
    pool = ThreadPoolExecutor(threads)
    pending: deque[tuple[T, Future[Any]]] = deque()
    try:
        while True:
            try:
                while failure is None and len(pending) <= threads:
                    item = next(source)
                    pending.append((item, pool.submit(work, item)))
            except StopIteration:
                source = iter(())
            except Exception as error:
                failure = error
            if not pending:
                break
            item, future = pending.popleft()
            yield item, future.result()
    finally:
        pool.shutdown(cancel_futures=True)
    if failure is not None:
        raise failure
