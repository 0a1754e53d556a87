"""How far long work is: a bar of tqdm's on a terminal's standard error, where tqdm is installed; else nothing."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from trecpy.cli.process import Warn

Step = Callable[[int], None]


@contextmanager
def progress(total: int, unit: str, warn: Warn) -> Iterator[tuple[Step, Warn]]:
    """Give step(), to be called with how many of `total` units were done, and a warn() that keeps clear of the bar."""
    bar = None
    if total > 1 and sys.stderr is not None and sys.stderr.isatty():
        try:
            from tqdm import tqdm

            bar = tqdm(total=total, unit=unit, leave=False, file=sys.stderr)
        except ImportError:
            pass
    if bar is None:
        yield lambda count: None, warn
        return

    def say(text: str) -> None:
        bar.clear()
        warn(text)
        bar.refresh()

    def step(count: int) -> None:
        bar.update(count)

    with bar:
        yield step, say
