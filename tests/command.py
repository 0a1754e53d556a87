"""The commands `trec_eval` and `trecpy`, in this process."""

import io
import os
import pty
import subprocess
import termios
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trecpy.cli import main
from trecpy.cli import trec_eval as drop_in


@dataclass
class Outcome:
    """Exit code, standard output, and the lines of standard error."""

    code: int
    out: bytes
    said: list[str]

    @property
    def values(self) -> dict[tuple[str, str], str]:
        """(name, topic) -> value as printed."""
        rows = (line.split("\t") for line in self.out.decode("latin-1").splitlines())
        return {(name.strip(), topic): value for name, topic, value in rows}


def trec_eval(*arguments: str, stdin: bytes = b"") -> Outcome:
    out, said = io.BytesIO(), list[str]()
    code = drop_in.run(list(arguments), io.BytesIO(stdin), out, said.append)
    return Outcome(code, out.getvalue(), said)


def trecpy(*arguments: str, stdin: bytes = b"") -> Outcome:
    out, said = io.BytesIO(), list[str]()
    code = main.run(list(arguments), io.BytesIO(stdin), out, said.append)
    return Outcome(code, out.getvalue(), said)


def at_terminal(command: Sequence[str], both: bool = False, **variables: str) -> tuple[int, bytes, bytes]:
    """Exit code, output, and what a terminal that stands for standard error (and output, with `both`) was sent."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    environment |= {"TERM": "xterm", **variables}
    stdout = theirs if both else subprocess.PIPE
    with subprocess.Popen(command, stdout=stdout, stderr=theirs, env=environment) as process:
        os.close(theirs)
        out = process.stdout.read() if process.stdout is not None else b""
        seen = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # Linux's end of a terminal
                break
            if not part:
                break
            seen += part
    os.close(ours)
    return process.returncode, out, seen


def write(folder: Path, qrels: str | bytes | None = None, run: str | bytes | None = None) -> tuple[str, str]:
    """Write both files, with ';' for line ends in text; return their paths."""
    for name, content in (("qrels", qrels), ("run", run)):
        if content is not None:
            raw = content if isinstance(content, bytes) else content.replace("; ", "\n").encode() + b"\n"
            (folder / name).write_bytes(raw)
    return str(folder / "qrels"), str(folder / "run")


def score(folder: Path, options: Sequence[str], qrels: str | bytes, run: str | bytes) -> Outcome:
    return trec_eval(*options, *write(folder, qrels, run))
