"""Run commands as whole processes and take their time and memory."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Command = Sequence[str]

RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes in one unit of ru_maxrss


class Failure(Exception):
    """Something that the user can put right; the text is one line."""


@dataclass(frozen=True)
class Sample:
    """One run of a process: wall-clock seconds and the largest resident memory in MiB."""

    seconds: float
    peak: float


@dataclass(frozen=True)
class Timing:
    """All timed runs of one command."""

    samples: tuple[Sample, ...]

    @property
    def median(self) -> float:
        """Median seconds."""
        return statistics.median(sample.seconds for sample in self.samples)

    @property
    def fastest(self) -> float:
        """Fewest seconds."""
        return min(sample.seconds for sample in self.samples)

    @property
    def slowest(self) -> float:
        """Most seconds."""
        return max(sample.seconds for sample in self.samples)

    @property
    def peak(self) -> float:
        """Largest resident memory of any run, MiB."""
        return max(sample.peak for sample in self.samples)


def output(command: Command) -> str:
    """Return what a command prints on stdout; its stderr is passed on."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    check_exit(command, done.returncode)
    return done.stdout


def sample(command: Command) -> Sample:
    """
    Run a command once, its output thrown away.

    A child's peak starts at the memory of the process that started it, so this one must stay small: it
    imports no NumPy, and the workloads are made in a process of their own.
    """
    start = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    check_exit(command, child.returncode)
    return Sample(seconds, usage.ru_maxrss * RSS_UNIT / 2**20)


def check_exit(command: Command, code: int) -> None:
    """Raise Failure unless the exit code is 0."""
    if code != 0:
        raise Failure(f"exit code {code} from: {' '.join(command)}")


def alternate(commands: Mapping[str, Command], repeat: int) -> dict[str, Timing]:
    """Run each command once to warm up, then all of them in turn `repeat` times."""
    for command in commands.values():
        sample(command)
    rounds = [[sample(command) for command in commands.values()] for _ in range(repeat)]
    return {tool: Timing(samples) for tool, samples in zip(commands, zip(*rounds, strict=True), strict=True)}
