"""Time and memory of whole processes, and of calls inside processes that wait between them."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import IO, Protocol

Command = Sequence[str]

ROOT = Path(__file__).parent.parent
DATA = ROOT / "benchmarks" / "data"  # where files are made
RUNS = 100  # of the workload hundred
RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes in one unit of ru_maxrss
ENOUGH = 30.0  # seconds: what has been timed for so long sits out


class Failure(Exception):
    """Something that the user can put right; the text is one line."""


@dataclass(frozen=True)
class Sample:
    """One run: wall-clock seconds, and the largest resident memory of its process so far in MiB."""

    seconds: float
    peak: float


@dataclass(frozen=True)
class Timing:
    """All runs of one thing: the first where nothing was compiled before it, and those that are counted."""

    first: Sample | None
    later: tuple[Sample, ...]

    @property
    def seconds(self) -> list[float]:
        """Of the later runs, the fewest first."""
        return sorted(sample.seconds for sample in self.later)

    @property
    def median(self) -> float:
        """Median seconds of the later runs."""
        return statistics.median(self.seconds)

    @property
    def peak(self) -> float:
        """Largest resident memory of a later run, MiB: compiling takes more."""
        return max(sample.peak for sample in self.later)


class Case(Protocol):
    """Something to be timed. cold: it starts with an empty folder for machine code."""

    cold: bool

    def first(self) -> tuple[Sample, str]:
        """Run for the first time; return also what was printed."""

    def sample(self) -> Sample:
        """Run once more."""

    def close(self) -> None:
        """End what still runs and remove what was kept."""


def environment(cache: str) -> dict[str, str]:
    """
    The variables of a process whose machine code is kept in a folder; where that is "", in the usual one.

    Bytecode is kept as Python does by default: without it all modules are compiled at each start.
    """
    given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return given | ({"NUMBA_CACHE_DIR": cache} if cache else {})


def scratch() -> str:
    """A new folder that nobody else can write to."""
    return tempfile.mkdtemp(prefix="trecpy-benchmark-")


class Process:
    """
    A command that is timed from its start to its end: interpreter, imports, reading, evaluating, printing.

    cache: the folder of machine code, "" the usual one, None a new one; fresh: a new one each time
    """

    def __init__(self, command: Command, cache: str | None = None, fresh: bool = False) -> None:
        self.cold = cache is None
        self._command, self._fresh = command, fresh
        self._cache = scratch() if cache is None else cache

    def first(self) -> tuple[Sample, str]:
        """The first run, and its standard output."""
        with tempfile.TemporaryFile("w+") as out:
            sample = self._run(out)
            out.seek(0)
            return sample, out.read()

    def sample(self) -> Sample:
        """A run whose output is thrown away."""
        if self._fresh:
            shutil.rmtree(self._cache)
            os.mkdir(self._cache, 0o700)
        return self._run(subprocess.DEVNULL)

    def close(self) -> None:
        """Remove the folder of machine code if it was a new one."""
        if self.cold:
            shutil.rmtree(self._cache, ignore_errors=True)

    def _run(self, out: IO[str] | int) -> Sample:
        # A child's peak starts at the memory of the process that started it: this one imports no NumPy.
        with tempfile.TemporaryFile("w+") as said:
            start = perf_counter()
            child = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=out, stderr=said, cwd=ROOT, env=environment(self._cache)
            )
            _, status, usage = os.wait4(child.pid, 0)
            seconds = perf_counter() - start
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode != 0:
                said.seek(0)
                raise Failure(ended(self._command, child.returncode, said.read()))
        return Sample(seconds, usage.ru_maxrss * RSS_UNIT / 2**20)


class Worker:
    """
    Calls in a process of their own, which prepares the data and then waits for a line.

    It answers `call` with seconds and the peak of its memory in MiB, `values` with a count of lines and the lines.
    cache: as Process has it
    """

    def __init__(self, command: Command, cache: str | None = None) -> None:
        self.cold = cache is None
        self._command = command
        self._cache = scratch() if cache is None else cache
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._child: subprocess.Popen[str] | None = None

    def first(self) -> tuple[Sample, str]:
        """
        The first call and the values it gave.

        The process is started here, so that it does not disturb another's first call. One that compiled is followed by
        another that finds machine code, as it would be tomorrow.
        """
        self._start()
        sample = self.sample()
        values = "".join(self._read() for _ in range(int(self._ask("values"))))
        if self.cold:
            self._end()
            self._start()
            self.sample()
        return sample, values

    def sample(self) -> Sample:
        """The next call."""
        seconds, peak = self._ask("call").split()
        return Sample(float(seconds), float(peak))

    def close(self) -> None:
        """End the process."""
        self._end()
        self._said.close()
        if self.cold:
            shutil.rmtree(self._cache, ignore_errors=True)

    def _start(self) -> None:
        self._child = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            cwd=ROOT,
            env=environment(self._cache),
        )
        self._read()  # the data is ready

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.communicate()

    def _ask(self, question: str) -> str:
        assert self._child is not None
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(question + "\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            pass  # the answer will be missing
        return self._read()

    def _read(self) -> str:
        assert self._child is not None
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            code = self._child.wait()
            self._said.seek(0)
            raise Failure(ended(self._command, code, self._said.read()))
        return line


def ended(command: Command, code: int, said: str) -> str:
    """One line about a command that failed: its last words, and where they are none its exit code."""
    last = said.strip().rpartition("\n")[2]
    shown = " ".join(command[:8]) + (" ..." if len(command) > 8 else "")
    return f"exit code {code} from {shown}: {last or 'it said nothing'}"


def output(command: Command) -> str:
    """What a command prints on standard output; its standard error is passed on."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    if done.returncode != 0:
        raise Failure(ended(command, done.returncode, ""))
    return done.stdout


@contextmanager
def closing(cases: Mapping[str, Case]) -> Iterator[None]:
    """Close all cases at the end, whatever happens."""
    try:
        yield
    finally:
        for case in cases.values():
            case.close()


def alternate(cases: Mapping[str, Case], first: Mapping[str, Sample], repeat: int) -> dict[str, Timing]:
    """Run all cases in turn `repeat` times, one at a time; one that was timed for long sits out."""
    samples: dict[str, list[Sample]] = {name: [] for name in cases}
    for _ in range(repeat):
        for name, case in cases.items():
            if sum(sample.seconds for sample in samples[name]) < ENOUGH:
                samples[name].append(case.sample())
    return {name: Timing(first[name] if case.cold else None, tuple(samples[name])) for name, case in cases.items()}
