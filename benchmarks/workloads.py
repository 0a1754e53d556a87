"""
What is timed: each workload has cases, a check that they agree, and what their times are compared with.

To add one, write a function that returns a Plan and name it in WORKLOADS.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import RUNS, Case, Command, Failure, Process, Worker, output
from benchmarks.tools import ARGSORT, MEASURES, TOOLS, Values

PEERS = TOOLS[1:]
PACKAGES = {"pytrec_eval": "pytrec-eval-terrier", "ir_measures": "ir-measures", "ranx": "ranx"}
NIST = "trec_eval"
EXACT = {"pytrec_eval": 0.0}
ROUNDING = 1e-9  # how far a mean of the others may be off: they add otherwise

# T, the time of NIST's program, as a share of reading and evaluating with pytrec_eval: both were timed side by side.
SHARES = {"msmarco": 0.75, "topics": 0.75, "robust": 0.50, "hundred": 0.50}


@dataclass(frozen=True)
class Nist:
    """NIST's program and which generation it is, as an option of trecpy's."""

    command: Command
    compat: Sequence[str]


@dataclass(frozen=True)
class Setting:
    """
    What was found on this machine and asked for.

    trecpy: the folder of its commands; cache: the folder of machine code where trecpy is alone, "" the usual one, which
    then is used beside others too: nothing is compiled for the first time
    """

    trecpy: Path
    nist: Nist | None
    peers: Sequence[str]
    data: Path
    cache: str = ""
    small: bool = False
    runs: int = RUNS

    @property
    def own(self) -> str | None:
        """The folder of machine code of one of several tools."""
        return None if self.cache else ""

    def files(self, name: str) -> list[str]:
        """Qrels and runs, made in a process of their own: this one must stay small."""
        small = ["--small"] if self.small else []
        made = output(python("data", name, "--data", str(self.data), "--runs", str(self.runs), *small))
        return made.rstrip("\n").split("\t")[1:]

    def trec_eval(self, *arguments: str) -> Command:
        """The drop-in of trecpy, as the generation of NIST's program where there is one."""
        compat = [] if self.nist is None else self.nist.compat
        return [str(self.trecpy / "trec_eval"), *compat, *arguments]


@dataclass(frozen=True)
class Plan:
    """
    One workload.

    cases: what is timed in turn; the first is what the others are compared with
    check: given what the first runs printed, raises Failure where tools disagree
    target: T as a factor and the case it is a multiple of; overhead: the case that is taken off before comparing
    """

    cases: Mapping[str, Case]
    check: Callable[[Mapping[str, str]], None]
    target: tuple[float, str] | None = None
    overhead: str | None = None


def python(module: str, *arguments: str) -> list[str]:
    """The command of another module of the benchmarks."""
    return [sys.executable, "-W", "ignore", "-m", f"benchmarks.{module}", *arguments]


def version(command: Command) -> str:
    """What `-v` prints, on standard output and error."""
    try:
        done = subprocess.run([*command, "-v"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failure(f"cannot run {command[0]}: {error.strerror}") from None
    said = (done.stdout + done.stderr).strip()
    if done.returncode != 0:
        raise Failure(f"cannot run {' '.join(command)}: {said.rpartition(chr(10))[2]}")
    return said


def find_trecpy() -> Path:
    """The folder of trecpy's commands: that of this Python."""
    folder = Path(sys.executable).parent
    if not (folder / "trec_eval").exists() or "trecpy" not in version([str(folder / "trec_eval")]):
        raise Failure(f"trecpy is not installed for {sys.executable}")
    return folder


def find_nist() -> Nist | None:
    """NIST's program; None where the variable TREC_EVAL names none."""
    name = os.environ.get("TREC_EVAL")
    if not name:
        return None
    path = shutil.which(name)
    if path is None:
        raise Failure(f"TREC_EVAL names no program: {name}")
    said = version([path])
    if "trecpy" in said:
        raise Failure(f"TREC_EVAL must name NIST's trec_eval; this is trecpy's: {path}")
    return Nist([path], ["--compat", "9.0.8"] if " 9." in said else [])


def find_peers() -> list[str]:
    """The other libraries that are installed."""
    return [name for name in PEERS if importlib.util.find_spec(name) is not None]


def read_values(printed: str) -> list[Values]:
    """What benchmarks.tools printed: the means of each run."""
    rows = [line.split("\t") for line in printed.splitlines()]
    runs = [rows[at : at + len(MEASURES)] for at in range(0, len(rows), len(MEASURES))]
    return [{measure: tuple(map(float, numbers)) for measure, *numbers in run} for run in runs]


def compare(tool: str, found: Sequence[Values], ours: Sequence[Values]) -> None:
    """
    Raise Failure unless a tool's means are trecpy's.

    pytrec_eval's must be the same doubles; ir_measures' and ranx's may be off by rounding. ranx ranks tied documents in
    the order of input, and scores are 64 bits: its mean must lie between the least and the largest possible one.
    """
    if len(found) != len(ours):
        raise Failure(f"{tool} evaluated {len(found)} of {len(ours)} runs")
    allowed = EXACT.get(tool, ROUNDING)
    for number, (theirs, expected) in enumerate(zip(found, ours, strict=True), 1):
        for measure, (value, *bounds) in expected.items():
            mean = theirs[measure][0]
            least, most = sorted(bounds) if tool == "ranx" else (value, value)
            if not least - allowed <= mean <= most + allowed:
                where = f"run {number}: " if len(ours) > 1 else ""
                between = f" (tied documents in any order: {least!r} to {most!r})" if tool == "ranx" else ""
                raise Failure(f"{where}{measure} is {mean!r} from {tool}, {value!r} from trecpy{between}")


def same(texts: Mapping[str, str]) -> None:
    """Raise Failure unless all printed the same bytes."""
    first, *others = texts
    for name in others:
        if texts[name] != texts[first]:
            raise Failure(f"{name} and {first} print different values")


def target(name: str, setting: Setting, which: str = "", times: int = 1) -> tuple[float, str] | None:
    """T: the time of NIST's program, else of its stand-in, `times` over; which: the end of the case's name."""
    if setting.nist is not None:
        return times, NIST + which
    return (times * SHARES[name], "pytrec_eval" + which) if "pytrec_eval" in setting.peers else None


def by_command(name: str, *options: str) -> Callable[[Setting], Plan]:
    """The command trec_eval on a collection, beside the peers, which read the files and evaluate six measures."""

    def plan(setting: Setting) -> Plan:
        paths = setting.files(name)
        cases: dict[str, Case] = {"trecpy": Process(setting.trec_eval(*options, *paths), setting.own)}
        cases |= {tool: Process(python("tools", "files", tool, *paths), setting.own) for tool in setting.peers}
        if setting.nist is not None:
            cases[NIST] = Process([*setting.nist.command, *options, *paths], "")

        def check(printed: Mapping[str, str]) -> None:
            if NIST in printed:
                same({tool: printed[tool] for tool in ("trecpy", NIST)})
            compare_files(setting.peers, printed, paths)

        return Plan(cases, check, target(name, setting))

    return plan


def compare_files(peers: Sequence[str], printed: Mapping[str, str], paths: Sequence[str]) -> None:
    """Compare what peers printed of files with what trecpy says of them."""
    if peers:
        ours = read_values(output(python("tools", "files", "trecpy", *paths)))
        for tool in peers:
            compare(tool, read_values(printed[tool]), ours)


def hundred(setting: Setting) -> Plan:
    """Many runs, one command; the peers read the judgements once too. ranx would take many minutes."""
    qrels, *runs = setting.files("hundred")
    peers = [tool for tool in setting.peers if tool != "ranx"]
    command = str(setting.trecpy / "trecpy")
    six = [option for measure in MEASURES for option in ("-m", measure)]
    everything = ("-q", "-m", "all_trec", "--format", "tsv")
    cases: dict[str, Case] = {
        "trecpy": Process([command, "eval", qrels, *runs, *six], setting.own),
        "trecpy, -q -m all_trec": Process([command, "eval", qrels, *runs, *everything], setting.cache),
    }
    cases |= {tool: Process(python("tools", "files", tool, qrels, *runs), setting.own) for tool in peers}
    if "pytrec_eval" in peers:
        cases["pytrec_eval, one run"] = Process(python("tools", "files", "pytrec_eval", qrels, runs[0]), "")
    if setting.nist is not None:
        cases[f"{NIST}, one run"] = Process([*setting.nist.command, "-c", "-q", "-m", "all_trec", qrels, runs[0]], "")
    return Plan(
        cases,
        lambda printed: compare_files(peers, printed, [qrels, *runs]),
        target("hundred", setting, ", one run", len(runs)),
    )


def in_memory(name: str, yardstick: str | None = None) -> Callable[[Setting], Plan]:
    """Calls from Python, beside the peers' and a yardstick."""

    def plan(setting: Setting) -> Plan:
        small = ["--small"] if setting.small else []
        if name == "dicts":
            setting.files("msmarco")
        tools = ["trecpy", *setting.peers, *([yardstick] if yardstick else [])]
        cases: dict[str, Case] = {
            tool: Worker(python("tools", "calls", tool, name, "--data", str(setting.data), *small), setting.own)
            for tool in tools
        }

        def check(printed: Mapping[str, str]) -> None:
            ours = read_values(printed["trecpy"])
            for tool in setting.peers:
                compare(tool, read_values(printed[tool]), ours)

        return Plan(cases, check)

    return plan


def start(setting: Setting) -> Plan:
    """The least there is to do: 10 topics x 10 documents, against `import numpy`."""
    tiny = setting.files("tiny")
    cases: dict[str, Case] = {
        "import numpy": Process([sys.executable, "-c", "import numpy"], setting.cache),
        "import trecpy": Process([sys.executable, "-c", "import trecpy"], setting.cache),
        "trec_eval": Process(setting.trec_eval(*tiny), setting.cache),
        "trec_eval -q -m all_trec": Process(setting.trec_eval("-q", "-m", "all_trec", *tiny), setting.cache),
    }
    return Plan(cases, lambda printed: None)


def first(setting: Setting) -> Plan:
    """trec_eval on robust with its machine code kept, with nothing compiled yet, and without a place to keep it."""
    work = setting.trec_eval("-c", "-q", "-m", "all_trec", *setting.files("robust"))
    cases: dict[str, Case] = {
        "later calls": Process(work, setting.cache),
        "first call": Process(work, fresh=True),
        "no place to keep code": Process(work, os.devnull),
    }
    return Plan(cases, same)


def threads(setting: Setting) -> Plan:
    """One thread and two on msmarco; the time of `trec_eval -v` is taken off before they are compared."""
    paths = setting.files("msmarco")
    cases: dict[str, Case] = {
        f"--threads {n}": Process(setting.trec_eval("--threads", str(n), "-c", *paths), setting.cache) for n in (1, 2)
    }
    cases["-v"] = Process([str(setting.trecpy / "trec_eval"), "-v"], setting.cache)
    return Plan(cases, lambda printed: same({name: text for name, text in printed.items() if name != "-v"}), None, "-v")


def growth(setting: Setting) -> Plan:
    """trec_eval on 500 topics x 1,000 documents, one of them judged; with more topics, documents or judgements."""
    names = {"500 topics x 1,000 documents": "topics-x1"}
    names |= {f"topics x{n}": f"topics-x{n}" for n in (2, 4, 8)} | {f"depth x{n}": f"depth-x{n}" for n in (2, 4, 8)}
    names |= {f"{share}% judged": f"judged-{n}" for n, share in ((10, 1), (100, 10), (1_000, 100))}
    cases: dict[str, Case] = {
        shown: Process(setting.trec_eval("-c", *setting.files(name)), setting.cache) for shown, name in names.items()
    }
    return Plan(cases, lambda printed: None)


@dataclass(frozen=True)
class Workload:
    """What it is, in a few words of Markdown; whether trecpy is compared with others; how it is made."""

    about: str
    beside: bool
    plan: Callable[[Setting], Plan]


WORKLOADS = {
    "msmarco": Workload("6,980 topics x 1,000 documents, `trec_eval -c`", True, by_command("msmarco", "-c")),
    "robust": Workload(
        "250 topics x 1,000 documents, 1,250 judged, `-c -q -m all_trec`",
        True,
        by_command("robust", "-c", "-q", "-m", "all_trec"),
    ),
    "topics": Workload("40,000 topics x 5 documents, `trec_eval -c`", True, by_command("topics", "-c")),
    "hundred": Workload("100 runs like robust, `trecpy eval`", True, hundred),
    "dicts": Workload("msmarco as dicts, `evaluate`", True, in_memory("dicts")),
    "one-topic": Workload("1 topic x 100 documents as dicts, `Evaluator.evaluate`", True, in_memory("one-topic")),
    "dense-1": Workload(
        "6,980 x 1,000 scores, 1 relevant a row, `evaluate_dense`", True, in_memory("dense-1", ARGSORT)
    ),
    "dense-15": Workload("the same, 15% judged 1 to 3", True, in_memory("dense-15", ARGSORT)),
    "start": Workload("10 topics x 10 documents", False, start),
    "first": Workload("robust, machine code kept or not", False, first),
    "threads": Workload("msmarco by 1 and 2 threads, less `trec_eval -v`", False, threads),
    "growth": Workload("more topics, documents, judgements", False, growth),
}
# In the README; hundred takes an hour of others.
SHOWN = ("msmarco", "robust", "dicts", "one-topic", "dense-1", "dense-15", "start", "threads", "growth")
