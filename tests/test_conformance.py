"""Every case of data_fixtures/conformance: the same bytes and the same exit code, for both generations."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from command import trec_eval
from conftest import CONFORMANCE

from trecpy.protocol import COMPATS

FOLDER = Path(__file__).parent.parent / "data_fixtures" / "conformance"


def _cases() -> list[Any]:
    cases = []
    for file, kind in (("handmade", "handmade"), ("random", "random")):
        with gzip.open(FOLDER / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                case = json.loads(line)
                cases.append(pytest.param(case, id=case["name"] or f"{kind}-{number}"))
    return cases


@pytest.mark.parametrize("compat", COMPATS)
@pytest.mark.parametrize("case", _cases())
def test_case(case: dict[str, Any], compat: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRECPY_COMPAT", compat)
    for name, content in case["files"].items():
        Path(name).write_bytes(content.encode("latin-1"))
    expected = case["expect"][compat]
    outcome = trec_eval(*case["args"], stdin=(case["stdin"] or "").encode("latin-1"))
    if not case.get("stdout_omitted"):
        assert outcome.out.decode("latin-1") == expected["out"]
    assert outcome.code == expected["rc"]
    assert all("\n" not in line or line.startswith("Usage:") for line in outcome.said)
    CONFORMANCE[compat] = CONFORMANCE.get(compat, 0) + 1


def test_every_case_was_found() -> None:
    assert len(_cases()) == 1411
