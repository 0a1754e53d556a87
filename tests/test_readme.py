"""The README says what is so: its commands print what it shows, its table of measures is the declared one."""

import contextlib
import io
import os
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from command import trec_eval, trecpy

from trecpy import protocols, registry
from trecpy.presets import stated
from trecpy.registry import Aggregate, catalogue, nicknames

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def measures_table() -> str:
    rows = []
    for each in catalogue().values():
        since = {"10.0": " (10.0)", "trecpy": " (Python only)"}.get(each.since, "")
        summary = each.aggregate.value if each.aggregate is not Aggregate.NONE else "topics only"
        rows.append([f"`{each.name}`{since}", each.title, each.parameters.text, summary])
    titles = ["measure", "what it is", "parameters, defaults", "summary"]
    return "\n".join("| " + " | ".join(row) + " |" for row in [titles, ["---"] * len(titles), *rows])


def sets_text() -> str:
    return "; ".join(f"`{name}`: {' '.join(members)}" for name, members in nicknames("10.0").items()) + "."


def protocols_table() -> str:
    rows = []
    for preset in protocols.values():
        differing = stated(replace(preset.protocol, name="")).replace("|", "\\|")
        rows.append([f"`{preset.name}`", differing, preset.source, preset.differs or "-"])
    titles = ["name", "conventions", "of", "what else is in circulation"]
    return "\n".join("| " + " | ".join(row) + " |" for row in [titles, ["---"] * len(titles), *rows])


def _section(name: str) -> str:
    found = re.search(f"<!-- {name} -->\n?(.*?)\n?<!-- /{name} -->", README.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    ("name", "made"), [("measures", measures_table), ("sets", sets_text), ("protocols", protocols_table)]
)
def test_table_is_what_is_declared(name: str, made: Callable[[], str]) -> None:
    """UPDATE_README=1 writes it anew."""
    if os.environ.get("UPDATE_README"):
        text = README.read_text()
        line = "\n" if name != "sets" else ""
        new = f"<!-- {name} -->{line}{made()}{line}<!-- /{name} -->"
        README.write_text(re.sub(f"<!-- {name} -->.*?<!-- /{name} -->", lambda _: new, text, flags=re.DOTALL))
    assert _section(name) == made()


def _commands() -> list[tuple[str, str]]:
    text = README.read_text()
    console = re.findall(r"```console\n\$ (.*?)\n(.*?)```", text, re.DOTALL)
    first = re.findall(r"```sh\n.*?&& \.venv/bin/(trec_eval .*?)\n```\n\n```\n(.*?)```", text, re.DOTALL)
    return console + first


@pytest.mark.parametrize(("command", "shown"), _commands())
def test_command_prints_what_is_shown(command: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(command)
    outcome = {"trec_eval": trec_eval, "trecpy": trecpy}[program](*arguments)
    expected = [line for line in shown.splitlines() if not line.startswith(f"{program}: ")]
    assert outcome.out.decode().splitlines() == expected
    said = [line for line in shown.splitlines() if line.startswith(f"{program}: ")]
    assert not said or said == [f"{program}: {line}" for line in outcome.said]


def test_snippets_print_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(registry, "_MEASURES", dict(catalogue()))  # a snippet declares a measure of its own
    snippets = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(snippets) == README.read_text().count("```python\n")
    names: dict[str, object] = {}
    for code, shown in snippets:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue() == shown


def test_commands_were_found() -> None:
    assert len(_commands()) == README.read_text().count("```console\n") + 1  # and the first one of all
