"""
Time the command trec_eval by itself: `python -m benchmarks.command [STUDY ...] [--repeat N] [--data DIR]`.

start    the least run against `python -c "import numpy"`
first    the first call after an installation, with nothing kept, against later ones; and without a place to keep code
threads  one thread against two
growth   1, 2, 4 and 8 times as many topics: time and memory
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.__main__ import Files, find_trecpy, make, markdown, positive
from benchmarks.timing import Command, Failure, Timing, alternate, output

Row = tuple[str, Timing, str]  # what it is, its timings, what follows from them
Study = Callable[[Command, Callable[[str], Files], int], list[Row]]

HEADER = ("what", "median s", "min..max s", "peak MiB", "ratio")
_FRESH = 'NUMBA_CACHE_DIR=$(mktemp -d -p "$0") exec "$@"'  # a shell's: with an empty folder in folder $0


def same_output(commands: Mapping[str, Command]) -> None:
    """Raise Failure unless all commands print the same bytes."""
    printed = {name: output(command) for name, command in commands.items()}
    first, *others = printed
    for name in others:
        if printed[name] != printed[first]:
            raise Failure(f"{name} and {first} print different values")


def start(trecpy: Command, files: Callable[[str], Files], repeat: int) -> list[Row]:
    """The least run."""
    tiny = files("tiny")
    commands = {
        "import numpy": [sys.executable, "-c", "import numpy"],
        "10 topics x 10 documents": [*trecpy, tiny.qrels, tiny.run],
        "the same, -q -m all_trec": [*trecpy, "-q", "-m", "all_trec", tiny.qrels, tiny.run],
    }
    timings = alternate(commands, repeat)
    base = timings["import numpy"].median
    return [(name, each, f"{each.median / base:.2f} x import numpy") for name, each in timings.items()]


def first(trecpy: Command, files: Callable[[str], Files], repeat: int) -> list[Row]:
    """With nothing kept."""
    robust = files("robust")
    work = [*trecpy, "-c", "-q", "-m", "all_trec", robust.qrels, robust.run]
    with tempfile.TemporaryDirectory(prefix="trecpy-benchmark-") as folder:
        commands: dict[str, Command] = {
            "later calls": work,
            "first call": ["sh", "-c", _FRESH, folder, *work],
            "no place to keep code": ["env", "NUMBA_CACHE_DIR=/dev/null", *work],
        }
        same_output(commands)
        timings = alternate(commands, repeat)
    base = timings["later calls"].median
    return [(f"robust, {name}", each, f"{each.median - base:.2f} s more") for name, each in timings.items()]


def threads(trecpy: Command, files: Callable[[str], Files], repeat: int) -> list[Row]:
    """One against two."""
    msmarco = files("msmarco")
    commands: dict[str, Command] = {
        str(n): [*trecpy, "--threads", str(n), "-c", msmarco.qrels, msmarco.run] for n in (1, 2)
    }
    same_output(commands)
    timings = alternate({**commands, "none": ["sh", "-c", 'exec "$@" -v 2>/dev/null', "sh", *trecpy]}, repeat)
    nothing = timings.pop("none").median
    alone = timings["1"].median - nothing
    return [
        (f"msmarco, --threads {n}", each, f"{alone / (each.median - nothing):.2f} times as fast, less `-v`")
        for n, each in timings.items()
    ]


def growth(trecpy: Command, files: Callable[[str], Files], repeat: int) -> list[Row]:
    """More topics."""
    commands: dict[str, Command] = {}
    for times in (1, 2, 4, 8):
        each = files(f"topics-x{times}")
        commands[str(times)] = [*trecpy, "-c", each.qrels, each.run]
    timings = alternate(commands, repeat)
    base = timings["1"]
    return [
        (
            f"500 topics x 1,000 documents, x{times}",
            each,
            f"{each.median / base.median:.2f} x the time, {each.peak - base.peak:+.0f} MiB",
        )
        for times, each in timings.items()
    ]


STUDIES: dict[str, Study] = {"start": start, "first": first, "threads": threads, "growth": growth}


def main() -> None:
    """Read the command line, print one table; exit 1 with one line where something expected goes wrong."""
    parser = argparse.ArgumentParser("python -m benchmarks.command", description="Time the command trec_eval.")
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"{', '.join(STUDIES)} (default: all)")
    parser.add_argument("--repeat", type=positive, default=5, metavar="N", help="timed runs of each (5)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the workload files")
    args = parser.parse_args()
    names = list(dict.fromkeys(args.studies or STUDIES))
    if unknown := [name for name in names if name not in STUDIES]:
        parser.error(f"no study {unknown[0]!r}; there are {', '.join(STUDIES)}")
    try:
        trecpy = find_trecpy()
        print(markdown(HEADER), markdown(("---", *["---:"] * 3, "---")), sep="\n")
        for name in names:
            for what, timing, ratio in STUDIES[name](trecpy, lambda each: make([each], args.data)[each], args.repeat):
                spread = f"{timing.fastest:.3f}..{timing.slowest:.3f}"
                print(markdown((what, f"{timing.median:.3f}", spread, f"{timing.peak:.0f}", ratio)), flush=True)
    except (Failure, OSError) as error:
        sys.exit(f"benchmarks: {error}")


if __name__ == "__main__":
    main()
