"""Tables of what was measured, in Markdown, and the machine it was measured on."""

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.measuring import Failure, Timing
from benchmarks.tools import ARGSORT
from benchmarks.workloads import NIST, PACKAGES, PEERS, WORKLOADS, Setting, find_peers
from trecpy.threads import available

MARKS = ("<!-- speed -->", "<!-- /speed -->")
ALL = ("workload", "what", "first", "median", "fastest..slowest", "peak MiB", "ratio")


@dataclass(frozen=True)
class Row:
    """One line: what was timed; timing is None of T, which is computed. ratio: to the workload's first row."""

    workload: str
    what: str
    median: float
    ratio: float | None
    timing: Timing | None


def rows_of(
    name: str, timings: Mapping[str, Timing], target: tuple[float, str] | None, overhead: str | None
) -> list[Row]:
    """The rows of one workload, and T at their end where there is one."""
    taken_off = 0.0 if overhead is None else timings[overhead].median
    base = next(iter(timings.values())).median - taken_off
    rows = [
        Row(name, what, each.median, None if what == overhead else (each.median - taken_off) / base, each)
        for what, each in timings.items()
    ]
    if target is not None:
        factor, what = target
        t = factor * timings[what].median
        rows.append(Row(name, "T" if factor == 1 else f"T = {factor:g} x {what}", t, t / base, None))
    return rows


def duration(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size or unit == "us":
            value = seconds / size
            return f"{value:.{max(0, 2 - len(str(int(value))) + 1)}f} {unit}"
    raise AssertionError("the last unit takes all")


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> Iterator[str]:
    """A Markdown table; the first `left` columns are text, the others numbers."""
    aligned = ["---"] * left + ["---:"] * (len(titles) - left)
    yield from (f"| {' | '.join(row)} |" for row in (titles, aligned, *rows))


def all_figures(rows: Sequence[Row]) -> list[str]:
    """One line a row."""
    cells = []
    for row in rows:
        first = spread = peak = ""
        if row.timing is not None:
            seconds = row.timing.seconds
            first = "" if row.timing.first is None else duration(row.timing.first.seconds)
            spread, peak = f"{duration(seconds[0])}..{duration(seconds[-1])}", f"{row.timing.peak:,.0f}"
        ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
        cells.append([row.workload, row.what, first, duration(row.median), spread, peak, ratio])
    return list(table(ALL, cells, 2))


def beside_others(rows: Sequence[Row], peers: Sequence[str], nist: bool) -> list[str]:
    """One line a workload, one column a tool: its median, and how many times trecpy's that is."""
    columns = [*peers, *([NIST] if nist else []), ARGSORT]
    cells = []
    for name in dict.fromkeys(row.workload for row in rows if WORKLOADS[row.workload].beside):
        found = {row.what: row for row in rows if row.workload == name}
        ours = found["trecpy"].timing
        assert ours is not None
        line = [f"{name}: {WORKLOADS[name].about}", duration(ours.median)]
        line.append("" if ours.first is None else duration(ours.first.seconds))
        line.append(f"{ours.peak:,.0f}")
        line += [
            f"{duration(found[tool].median)}, {found[tool].ratio:.3g} x" if tool in found else "" for tool in columns
        ]
        cells.append(line)
    titles = ["work", "trecpy", "first ever", "MiB", *(f"`{tool}`" if tool == ARGSORT else tool for tool in columns)]
    used = [c for c in range(len(titles)) if c < 4 or any(line[c] for line in cells)]
    return list(table([titles[c] for c in used], [[line[c] for c in used] for line in cells], 1)) if cells else []


def alone(rows: Sequence[Row]) -> list[str]:
    """What was timed of trecpy by itself: one line a case."""
    cells = [
        [row.workload, row.what, duration(row.median), f"{row.timing.peak:,.0f}", f"{row.ratio:.3g}"]
        for row in rows
        if not WORKLOADS[row.workload].beside and row.timing is not None and row.ratio is not None
    ]
    return list(table(("trecpy alone", "what", "median", "MiB", "ratio"), cells, 2)) if cells else []


def machine(peers: Sequence[str]) -> str:
    """One sentence: processor, cores, Python, and the versions of all libraries that were timed."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    except OSError:
        model = ""
    libraries = ["trecpy", "numpy", "numba", *(PACKAGES[peer] for peer in peers)]
    versions = ", ".join(f"{name} {version_of(name)}" for name in libraries)
    model = " ".join((model or platform.processor() or platform.machine()).split())
    return f"{model}, {available()} cores; {platform.system()}, Python {platform.python_version()}, {versions}."


def version_of(name: str) -> str:
    """The installed version of a package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"


def absent(setting: Setting) -> list[str]:
    """One line a peer that was not timed."""
    there = find_peers()
    lines = [
        f"{peer}: {'not asked for' if peer in there else f'not installed (`pip install {PACKAGES[peer]}`)'}"
        for peer in PEERS
        if peer not in setting.peers
    ]
    if setting.nist is None:
        lines.append("NIST's trec_eval: not named (by the variable TREC_EVAL)")
    return lines


def short(rows: Sequence[Row], setting: Setting) -> str:
    """What the README shows."""
    parts = [[machine(setting.peers)], beside_others(rows, setting.peers, setting.nist is not None), alone(rows)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def full(rows: Sequence[Row], setting: Setting) -> str:
    """The machine, all figures, and what was not there."""
    parts = [[machine(setting.peers)], all_figures(rows), [f"* {line}" for line in absent(setting)]]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def between_marks(text: str, new: str, name: str) -> str:
    """The text of a file with what is between the two marks replaced."""
    before, begin, rest = text.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not begin or not end:
        raise Failure(f"{name}: expected {MARKS[0]} and {MARKS[1]}")
    return f"{before}{begin}\n{new}\n{end}{after}"
