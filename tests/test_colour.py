"""Colour: on a terminal that has it, unless NO_COLOR asks for none."""

import subprocess
import sys
from pathlib import Path

import pytest
from command import at_terminal, write

from trecpy.cli.colour import painted


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """A check whose output names a warning; that a file stands where copies should go is an error on standard error."""
    qrels, run = write(tmp_path, "1 0 a 1; 2 0 a 1", "1 Q0 a 1 1 t behind")
    return [sys.executable, "-m", "trecpy", "check", qrels, run, "--fix", qrels]


def test_severities_have_colours_on_a_terminal(command: list[str]) -> None:
    code, _, seen = at_terminal(command, both=True)
    assert code == 2
    assert b"  \x1b[33mwarning\x1b[0m: missing-topic (1)" in seen
    assert b"trecpy: \x1b[31merror\x1b[0m: /" in seen
    assert b"qrels: cannot be written: file exists" in seen


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_refused(command: list[str], variables: dict[str, str]) -> None:
    _, _, seen = at_terminal(command, both=True, **variables)
    assert b"  warning: missing-topic (1)" in seen
    assert b"trecpy: error: /" in seen
    assert b"\x1b" not in seen


def test_each_stream_is_asked_for_itself(command: list[str]) -> None:
    _, out, seen = at_terminal(command, NO_COLOR="")
    assert b"\x1b[31merror" in seen
    assert b"warning: missing-topic" in out
    assert b"\x1b" not in out
    plain = subprocess.run(command, capture_output=True, timeout=300, check=False)
    assert b"\x1b" not in plain.stdout + plain.stderr


def test_only_what_a_line_begins_with_is_painted() -> None:
    assert painted("    note: warning: a") == "    \x1b[36mnote\x1b[0m: warning: a"
    for text in ("a: error: b", "errors: 2", "error", ""):
        assert painted(text) == text
