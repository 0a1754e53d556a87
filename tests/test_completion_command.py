"""`trecpy completion`: what shells offer, asked of the shells that are there; what it is made from is complete."""

import argparse
import importlib
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import trecpy

from trecpy.cli.commands.completion import FILES, SHELLS
from trecpy.cli.main import COMMANDS

_ASK = {
    "bash": """
        COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        _shtab_trecpy trecpy "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """,
    "fish": "complete -C {line} | cut -f 1",
}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("completion")
    made = {}
    for shell in SHELLS:
        outcome = trecpy("completion", shell)
        assert (outcome.code, outcome.said) == (0, [])
        made[shell] = folder / shell
        made[shell].write_bytes(outcome.out)
    return made


def _need(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_are_of_their_shell(shell: str, scripts: dict[str, Path]) -> None:
    _need(shell)
    subprocess.run([shell, "-n", scripts[shell]], check=True, timeout=60)


@pytest.mark.parametrize("shell", _ASK)
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["e"], {"eval", "explain"}),
        (["eval", "--judged"], {"--judged-only"}),
        (["eval", "--topics", "b"], {"both"}),
        (["eval", "--protocol", "trec-dl-"], {"trec-dl-passage", "trec-dl-document"}),
        (["eval", "-m", "ndcg_c"], {"ndcg_cut"}),
        (["measures", "ndcg_c"], {"ndcg_cut"}),
        (["eval", "q"], {"qrels.txt"}),
        (["eval", "qrels.txt", "a.run", "a"], {"a.run"}),
        (["check", "--fix", "f"], {"folder"}),
        (["completion", ""], set(SHELLS)),
    ],
)
def test_what_is_offered(
    shell: str, words: list[str], offered: set[str], scripts: dict[str, Path], tmp_path: Path
) -> None:
    _need(shell)
    for name in ("qrels.txt", "a.run"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    line = ["trecpy", *words]
    quoted = " ".join(map(shlex.quote, line))
    ask = _ASK[shell].format(words=quoted, line=shlex.quote(" ".join(line)))
    asked = subprocess.run(
        [shell, "-c", f"source {scripts[shell]}; {ask}"], cwd=tmp_path, capture_output=True, timeout=60, check=True
    )
    assert {name.rstrip("/") for name in asked.stdout.decode().split()} == offered


def test_zsh_takes_the_script_and_offers_every_file(scripts: dict[str, Path]) -> None:
    text = scripts["zsh"].read_text()
    assert "(*):" not in text
    assert '"*:rankings' in text
    _need("zsh")
    load = f'autoload -U compinit; compinit -D; eval "$(cat {scripts["zsh"]})"; print ${{_comps[trecpy]}}'
    assert subprocess.run(["zsh", "-f", "-c", load], capture_output=True, timeout=60, check=True).stdout == (
        b"_shtab_trecpy\n"
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_is_completed(name: str) -> None:
    parser = argparse.ArgumentParser()
    importlib.import_module(f"trecpy.cli.commands.{name}").arguments(parser)
    for action in parser._get_positional_actions():
        assert action.choices or action.metavar in (*FILES, "MEASURE")


def test_without_the_library_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    outcome = trecpy("completion", "bash")
    assert (outcome.code, outcome.out) == (2, b"")
    assert len(outcome.said) == 1
    assert outcome.said[0].startswith("error: shtab: cannot be imported")
    assert "pip install 'trecpy[completion]'" in outcome.said[0]
