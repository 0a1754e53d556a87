"""Check and time trecpy's trec_eval: `python -m benchmarks [WORKLOAD ...] [--repeat N] [--data DIR]`."""

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import Command, Failure, Timing, alternate, output

YARDSTICK = (sys.executable, "-m", "benchmarks.yardstick")
CHECK = [
    "--compat",
    "9.0.8",
    "-c",
    "-m",
    "map",
    "-m",
    "ndcg",
    "-m",
    "ndcg_cut.10",
    "-m",
    "P.10",
    "-m",
    "recip_rank",
    "-m",
    "recall.100",
]
HEADER = ("workload", "tool", "median s", "min..max s", "peak MiB", "time / trecpy", "time / T")


@dataclass(frozen=True)
class Plan:
    """What is done with one workload."""

    options: tuple[str, ...] = ("-c",)
    checked: bool = True
    share: float | None = None  # T as a share of the yardstick's time; None: trecpy is timed alone


PLANS = {
    "msmarco": Plan(share=0.75),
    "robust": Plan(("-c", "-q", "-m", "all_trec"), share=0.50),
    "topics": Plan(),
    # Not checked: the yardstick's memory grows with the largest level.
    "grade": Plan(checked=False),
}


@dataclass(frozen=True)
class Files:
    """The two paths of a workload."""

    qrels: str
    run: str


def make(names: list[str], data: Path | None) -> dict[str, Files]:
    """Make the files of the workloads in a process of its own, for the sake of `timing.sample`."""
    where = [] if data is None else ["--data", str(data)]
    lines = output([sys.executable, "-m", "benchmarks.workloads", *where, *names]).splitlines()
    rows = [line.split("\t") for line in lines]
    return {name: Files(qrels, run) for name, qrels, run in rows}


def version(command: Command) -> str:
    """Return what `-v` prints, on stdout and stderr."""
    done = subprocess.run([*command, "-v"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    text = (done.stdout + done.stderr).strip()
    if done.returncode != 0:
        last_line = text.rpartition("\n")[2]
        raise Failure(f"cannot run {' '.join(command)}: {last_line}")
    return text


def find_trecpy() -> Command:
    """Return the command of trecpy's trec_eval: the installed script, else the module."""
    script = Path(sys.executable).with_name("trec_eval")
    command = [str(script)] if script.exists() else [sys.executable, "-m", "trecpy.cli.trec_eval"]
    if "trecpy" not in version(command):
        raise Failure(f"not trecpy's trec_eval: {' '.join(command)}")
    return command


def find_nist() -> Command | None:
    """Return the command of NIST's trec_eval, None where TREC_EVAL names none."""
    name = os.environ.get("TREC_EVAL")
    if not name:
        return None
    path = shutil.which(name)
    if path is None:
        raise Failure(f"TREC_EVAL names no program: {name}")
    if "trecpy" in version([path]):
        raise Failure(f"TREC_EVAL must name NIST's trec_eval; this is trecpy's: {path}")
    return [path]


def check(name: str, trecpy: Command, files: Files) -> None:
    """Raise Failure unless trecpy prints the yardstick's means, to the four decimals of trec_eval."""
    lines = output([*YARDSTICK, files.qrels, files.run]).splitlines()
    expected = {measure: f"{float(mean):6.4f}" for measure, mean in (line.split("\t") for line in lines)}
    fields = [line.split() for line in output([*trecpy, *CHECK, files.qrels, files.run]).splitlines()]
    found = {row[0]: row[2] for row in fields if len(row) == 3 and row[1] == "all"}
    wrong = [
        f"{measure} is {found.get(measure, 'missing')} from trecpy, {value} from the yardstick"
        for measure, value in expected.items()
        if found.get(measure) != value
    ]
    if wrong:
        raise Failure(f"{name}: {'; '.join(wrong)}")


def tools(plan: Plan, trecpy: Command, nist: Command | None, files: Files) -> dict[str, Command]:
    """Return what is timed on a workload, trecpy first."""
    paths = (files.qrels, files.run)
    commands: dict[str, Command] = {"trecpy": [*trecpy, *plan.options, *paths]}
    if plan.share is not None:
        commands["yardstick"] = [*YARDSTICK, *paths]
        if nist is not None:
            commands["trec_eval"] = [*nist, *plan.options, *paths]
    return commands


def target(plan: Plan, timings: dict[str, Timing]) -> float | None:
    """Return T in seconds: NIST's median, else a share of the yardstick's."""
    if plan.share is None:
        return None
    if "trec_eval" in timings:
        return timings["trec_eval"].median
    return plan.share * timings["yardstick"].median


def table_rows(name: str, plan: Plan, timings: dict[str, Timing]) -> list[tuple[str, ...]]:
    """Return one row of the report a tool."""
    t = target(plan, timings)
    return [
        (
            name,
            tool,
            f"{timing.median:.3f}",
            f"{timing.fastest:.3f}..{timing.slowest:.3f}",
            f"{timing.peak:.0f}",
            f"{timing.median / timings['trecpy'].median:.2f}",
            "" if t is None else f"{timing.median / t:.2f}",
        )
        for tool, timing in timings.items()
    ]


def explain_target(nist: Command | None, names: list[str]) -> str:
    """Say in one sentence what T is."""
    if nist is not None:
        return f"T: the median time of NIST's trec_eval ({nist[0]})."
    shares = [(name, PLANS[name].share) for name in names]
    parts = [f"{share:.2f} x the yardstick's median on {name}" for name, share in shares if share is not None]
    return f"T, for want of NIST's trec_eval (TREC_EVAL does not name it): {', '.join(parts)}."


def markdown(row: tuple[str, ...]) -> str:
    """Return one line of a Markdown table."""
    return f"| {' | '.join(row)} |"


def benchmark(names: list[str], repeat: int, data: Path | None) -> None:
    """Make, check and time the workloads; print the table a workload at a time."""
    trecpy, nist = find_trecpy(), find_nist()
    files = make(names, data)
    for name in names:
        if PLANS[name].checked:
            check(name, trecpy, files[name])
    print(markdown(HEADER), markdown(("---", "---", *["---:"] * 5)), sep="\n")
    for name in names:
        plan = PLANS[name]
        timings = alternate(tools(plan, trecpy, nist, files[name]), repeat)
        for row in table_rows(name, plan, timings):
            print(markdown(row), flush=True)
    if any(PLANS[name].share is not None for name in names):
        print("", explain_target(nist, names), sep="\n")


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def main() -> None:
    """Read the command line; exit 1 with one line where something expected goes wrong."""
    parser = argparse.ArgumentParser("python -m benchmarks", description="Check and time trecpy's trec_eval.")
    known = ", ".join(PLANS)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"{known} (default: all)")
    parser.add_argument("--repeat", type=positive, default=5, metavar="N", help="timed runs of each tool (5)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the workload files")
    args = parser.parse_args()
    names = list(dict.fromkeys(args.workloads or PLANS))
    if unknown := [name for name in names if name not in PLANS]:
        parser.error(f"no workload {unknown[0]!r}; there are {known}")
    try:
        benchmark(names, args.repeat, args.data)
    except (Failure, OSError) as error:
        sys.exit(f"benchmarks: {error}")


if __name__ == "__main__":
    main()
