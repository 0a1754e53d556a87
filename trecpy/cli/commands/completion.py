"""`trecpy completion`: what a shell needs to complete commands, options, files, and names of measures and presets."""

from __future__ import annotations

import argparse
import importlib
import re
from typing import TYPE_CHECKING, Any

from trecpy.extras import load

if TYPE_CHECKING:
    from trecpy.cli.main import Streams

DESCRIPTION = """\
Print a script with which SHELL completes trecpy's commands, options, files, and names of measures and presets. It is
made from the options as they are; to load it when a shell starts, add the line below to the shell's own file."""
EXAMPLES = """\
  eval "$(trecpy completion bash)"         in ~/.bashrc
  eval "$(trecpy completion zsh)"          in ~/.zshrc, behind compinit
  trecpy completion fish | source          in ~/.config/fish/config.fish
"""
SHELLS = ("bash", "zsh", "fish")
FILES = ("QRELS", "BASELINE", "RUN", "REFERENCES", "PREDICTIONS", "IN", "OUT", "FILE", "MODEL")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def run(options: argparse.Namespace, streams: Streams) -> int:
    """Print the script. Returns 0. Raises LibraryError."""
    from trecpy.cli.main import COMMANDS, declare

    shtab: Any = load("shtab", "completion")
    from trecpy.presets import protocols
    from trecpy.registry import catalogue

    names = {"MEASURE": sorted(catalogue()), "NAME": sorted(protocols)}
    parser = argparse.ArgumentParser("trecpy", add_help=False)
    parser.add_argument("-h", "--help", action="store_true", help="show the commands and exit")
    parser.add_argument("-V", "--version", action="store_true", help="show the version and exit")
    commands = parser.add_subparsers()
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, add_help=False)
        declare(command, importlib.import_module(f"trecpy.cli.commands.{name}"))
        for action in command._actions:  # argparse has no other list of them
            metavar = str(action.metavar)
            if metavar in FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
            elif metavar == "DIR":
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
            elif action.choices is None:
                action.choices = names.get(metavar)
    script = str(shtab.complete(parser, options.shell))
    if options.shell == "zsh":
        script = re.sub(r'"\(\*\)::?', '"*:', script)  # shtab 1.13 completes the first of several files only
    streams.write(script.encode() + b"\n")
    return 0
