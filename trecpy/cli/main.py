"""The command `trecpy`: finds the subcommand, reads its options, runs it. Each one is a module in commands/."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any, NoReturn

from trecpy import __version__
from trecpy.cli.colour import coloured, painted
from trecpy.cli.process import Warn, Write, attempt, process, writer
from trecpy.errors import UsageError
from trecpy.text import quoted

# Loaded only when used, so that help is quick: name -> what it does, in the order of the help.
COMMANDS = {
    "eval": "score runs by judgements, one row a run",
    "compare": "compare runs with a baseline: differences, tests, intervals",
    "explain": "one measure under every convention: two tools, two numbers, and the reason",
    "check": "find what is wrong in judgements and runs, and what it does to scores",
    "measures": "list the measures, or explain one with a worked example",
    "convert": "write judgements or a run in another layout or compression",
    "quoter": "QuoteR's figures: where gold quotes stand among all",
    "qilin": "Qilin's figures of search and recommendation",
    "answers": "score answers in words: ROUGE-L, BERTScore",
    "completion": "what a shell needs to complete all this: bash, zsh, fish",
}

_RANKING = {"eval", "compare", "explain", "check", "qilin"}  # need what rehearsal compiles

_USAGE = "usage: trecpy COMMAND [options] ...\n       trecpy COMMAND --help\n       trecpy --version"
_EXIT_CODES = """\
exit codes:
  0 done   1 options   2 files, data, measures' parameters, a missing library
  3 --fail-if, warnings of check
  4 a topic cannot be scored   7 nothing to score"""


@dataclass(frozen=True)
class Streams:
    """
    What a subcommand reads and writes: bytes from stdin, bytes of results to write(), lines of text to warn().

    coloured: may results have colours?
    """

    stdin: IO[bytes] | None
    write: Write
    warn: Warn
    coloured: bool = False

    def fail(self, text: str) -> None:
        """Say why something was not done."""
        self.warn("error: " + text)


class _Help(Exception):
    """Help was asked for: its text."""


class _HelpAction(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        raise _Help(parser.format_help())


class _Parser(argparse.ArgumentParser):
    """An argparse parser that raises instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; '{self.prog} --help' explains")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with sys.argv, or with `arguments`; return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)

    def work(stdin: IO[bytes] | None, stdout: IO[bytes] | None, warn: Warn) -> int:
        return run(given, stdin, stdout, (lambda text: warn(painted(text))) if coloured(sys.stderr) else warn)

    return process("trecpy", work, "error: ")


def run(arguments: Sequence[str], stdin: IO[bytes] | None, stdout: IO[bytes] | None, warn: Warn) -> int:
    """The command on given streams. Returns the exit code."""
    streams = Streams(stdin, writer(stdout), warn, coloured(stdout))
    return attempt(lambda: _run(arguments, streams), streams.fail)


def _run(arguments: Sequence[str], streams: Streams) -> int:
    name = arguments[0] if arguments else "--help"
    if name in ("-h", "--help"):
        streams.write(_help().encode())
        return 0 if arguments else UsageError.exit_code
    if name in ("-V", "--version"):
        streams.write(f"trecpy {__version__}\n".encode())
        return 0
    if name not in COMMANDS:
        raise UsageError(f"expected a command, one of {', '.join(COMMANDS)}, found {quoted(name)}")
    if name in _RANKING:
        from trecpy.cli.rehearsal import share_compiling

        share_compiling()
    command = importlib.import_module(f"trecpy.cli.commands.{name}")
    try:
        options = _parser(name, command).parse_intermixed_args(arguments[1:])
    except _Help as help_text:
        streams.write(str(help_text).encode())
        return 0
    return int(command.run(options, streams))


def _help() -> str:
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())
    return (
        f"{_USAGE}\n\nEvaluate ranked retrieval. The command trec_eval is NIST's program, drop-in.\n\n"
        f"commands:\n{listed}\n\n{_EXIT_CODES}\n"
    )


def _parser(name: str, command: Any) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=f"trecpy {name}",
        description=command.DESCRIPTION,
        epilog=f"examples:\n{command.EXAMPLES}\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
        allow_abbrev=False,
    )
    declare(parser, command)
    return parser


def declare(parser: argparse.ArgumentParser, command: Any) -> None:
    """Declare the options of a subcommand's module, and --help."""
    parser.add_argument("-h", "--help", action=_HelpAction, nargs=0, help="show this and exit")
    command.arguments(parser)
