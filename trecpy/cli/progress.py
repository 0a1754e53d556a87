"""How far long work is: a bar of tqdm's on a terminal's standard error, where tqdm is installed; else nothing."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from trecpy.cli.process import Warn

Step = Callable[[], None]


@contextmanager
def progress(total: int, unit: str, warn: Warn) -> Iterator[tuple[Step, Warn]]:
    """Give step(), to be called after each of `total` units, and a warn() that keeps its lines apart from the bar."""
    bar = None
    if total > 1 and sys.stderr is not None and sys.stderr.isatty():
        try:
            from tqdm import tqdm

            bar = tqdm(total=total, unit=unit, leave=False, file=sys.stderr)
        except ImportError:
            pass
    if bar is None:
        yield lambda: None, warn
        return

    def say(text: str) -> None:
        bar.clear()
        warn(text)
        bar.refresh()

    with bar:
        yield lambda: bar.update() and None, say
