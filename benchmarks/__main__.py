"""`python -m benchmarks [WORKLOAD ...]`: make data, compare values, measure, and write Markdown tables."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import report
from benchmarks.measuring import DATA, ROOT, RUNS, Failure, alternate, closing
from benchmarks.workloads import PACKAGES, PEERS, SHOWN, WORKLOADS, Setting, find_nist, find_peers, find_trecpy

README = ROOT / "README.md"


def measure(name: str, setting: Setting, repeat: int) -> list[report.Row]:
    """Make a workload, compare the values of all its tools, then time them in turn."""
    say(f"{name}: making or finding the data")
    plan = WORKLOADS[name].plan(setting)
    with closing(plan.cases):
        say(f"{name}: first runs, to compile what is compiled and to compare values")
        first = {what: case.first() for what, case in plan.cases.items()}
        try:
            plan.check({what: printed for what, (_, printed) in first.items()})
        except Failure as error:
            raise Failure(f"{name}: {error}") from None
        say(f"{name}: {repeat} timed runs of {', '.join(plan.cases)}")
        timings = alternate(plan.cases, {what: sample for what, (sample, _) in first.items()}, repeat)
    return report.rows_of(name, timings, plan.target, plan.overhead)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    width = max(map(len, WORKLOADS)) + 2
    known = "\n".join(f"  {name:<{width}}{each.about.replace('`', '')}" for name, each in WORKLOADS.items())
    result = argparse.ArgumentParser(
        "python -m benchmarks",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Time trecpy beside its peers, after their values were compared, and write Markdown tables.\n"
        "NIST's trec_eval is one of them where the variable TREC_EVAL names it.",
        epilog=f"workloads:\n{known}\n\nAll of them take about half an hour, and 2.3 GB of files.",
    )
    result.add_argument("workloads", nargs="*", metavar="WORKLOAD", type=workload, help="default: all")
    result.add_argument("--repeat", type=positive, default=5, metavar="N", help="timed runs of each case (default: 5)")
    result.add_argument(
        "--peers", type=peers, metavar="NAME,...", help=f"of {', '.join(PEERS)}, or none (default: those installed)"
    )
    result.add_argument("--runs", type=positive, default=RUNS, metavar="N", help=f"runs of hundred (default: {RUNS})")
    result.add_argument("--warm", action="store_true", help="use machine code kept before: no times of first runs")
    result.add_argument("--small", action="store_true", help="a hundredth of everything, to try this out")
    result.add_argument(
        "--data",
        type=Path,
        default=DATA,
        metavar="DIR",
        help=f"where files are made, and found again (default: {DATA})",
    )
    result.add_argument("--output", type=Path, metavar="FILE.md", help="write the tables there too")
    result.add_argument("--readme", action="store_true", help=f"put short tables into README.md: {', '.join(SHOWN)}")
    return result


def workload(text: str) -> str:
    """Read the name of a workload."""
    if text not in WORKLOADS:
        raise argparse.ArgumentTypeError(f"no workload {text!r}; there are {', '.join(WORKLOADS)}")
    return text


def peers(text: str) -> list[str]:
    """Read names of peers, separated by commas; none is nobody."""
    names = [] if text == "none" else text.split(",")
    if unknown := [name for name in names if name not in PEERS]:
        raise argparse.ArgumentTypeError(f"no peer {unknown[0]!r}; there are {', '.join(PEERS)}, or none")
    return names


def positive(text: str) -> int:
    """Read an integer >= 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected an integer >= 1, found {text!r}")
    return int(text)


def setting(args: argparse.Namespace, cache: str) -> Setting:
    """What is on this machine and was asked for."""
    installed = find_peers()
    if lacking := [peer for peer in args.peers or () if peer not in installed]:
        raise Failure(f"{lacking[0]} is not installed: pip install '{PACKAGES[lacking[0]]}'")
    asked = installed if args.peers is None else args.peers
    return Setting(find_trecpy(), find_nist(), asked, args.data.resolve(), cache, args.small, args.runs)


def say(text: str) -> None:
    """Show on standard error what goes on."""
    print(f"benchmarks: {text}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line says; exit 1 with one line where something that is expected goes wrong."""
    commands = parser()
    args = commands.parse_args(arguments)
    if args.readme and (args.workloads or args.small or args.warm or args.runs != RUNS):
        commands.error("--readme has workloads of its own, in full: not with WORKLOAD, --small, --warm or --runs")
    try:
        with tempfile.TemporaryDirectory(prefix="trecpy-benchmark-") as cache:
            where = setting(args, "" if args.warm else cache)
            for line in report.absent(where):
                say(line)
            rows: list[report.Row] = []
            for name in dict.fromkeys(args.workloads or (SHOWN if args.readme else WORKLOADS)):
                rows += measure(name, where, args.repeat)
                if args.output is not None:  # each time: what was measured is kept when a later one fails
                    args.output.write_text(report.full(rows, where), encoding="utf-8")
        print(report.full(rows, where), end="")
        if args.readme:
            text = README.read_text(encoding="utf-8")
            README.write_text(report.between_marks(text, report.short(rows, where), README.name), encoding="utf-8")
    except (Failure, OSError) as error:
        sys.exit(f"benchmarks: {error}")


if __name__ == "__main__":
    main()
