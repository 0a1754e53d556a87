"""
Real systems' runs, where a folder of them is at hand: TRECPY_REAL_RUNS names it.

It holds qrels.gz, runs/NAME.gz, and expected/NAME.GENERATION.gz, what trec_eval prints for -c -q -m all_trec. Such runs
are not ours to publish.
"""

import gzip
import os
from pathlib import Path

import pytest
from command import trec_eval

from trecpy.protocol import COMPATS

FOLDER = Path(os.environ.get("TRECPY_REAL_RUNS", "/nonexistent"))
NAMES = sorted(path.stem for path in FOLDER.glob("runs/*.gz"))


@pytest.mark.skipif(not NAMES, reason="TRECPY_REAL_RUNS names no folder of runs")
@pytest.mark.parametrize("compat", COMPATS)
@pytest.mark.parametrize("name", NAMES)
def test_a_real_run_gives_the_expected_bytes(name: str, compat: str, tmp_path: Path) -> None:
    for source, target in ((FOLDER / "qrels.gz", "qrels"), (FOLDER / "runs" / f"{name}.gz", "run")):
        (tmp_path / target).write_bytes(gzip.decompress(source.read_bytes()))
    files = [str(tmp_path / "qrels"), str(tmp_path / "run")]
    outcome = trec_eval("--compat", compat, "-c", "-q", "-m", "all_trec", *files)
    expected = gzip.decompress((FOLDER / "expected" / f"{name}.{compat}.gz").read_bytes())
    assert (outcome.code, outcome.out) == (0, expected)
