"""Ranking and lookup: by score, then by bytes; each document's own judgement; duplicates; groups; generations."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command import score
from hypothesis import given
from hypothesis import strategies as st
from oracles import ours
from strategies import Collection

from trecpy.errors import TopicError
from trecpy.formats.judgements import read_judgements
from trecpy.formats.runs import RunReader
from trecpy.formats.source import Source
from trecpy.kernels import rank as kernel
from trecpy.protocol import Protocol

ROOT = Path(__file__).parent.parent

_DOCNOS = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=4)
_RANKINGS = st.dictionaries(
    _DOCNOS, st.sampled_from([0.0, 1.0, 1.5, -2.0, 7.0, 8.0, 9.0, 1e300]), min_size=1, max_size=80
)


@given(_RANKINGS, st.booleans(), st.integers(1, 100))
def test_by_score_then_by_bytes(ranking: dict[str, float], ordered: bool, depth: int) -> None:
    expected = sorted(ranking, key=lambda docno: (ranking[docno], docno.encode()), reverse=True)
    names = expected if ordered else list(ranking)
    qrels = "".join(f"t 0 {docno} {level}\n" for level, docno in enumerate(ranking)).encode()
    run = "".join(f"t Q0 {docno} 1 {ranking[docno]!r} r\n" for docno in names).encode()
    judgements, _ = read_judgements(Source(io.BytesIO(qrels), "qrels"), "qrels", "10.0", strict=True)
    (block,) = RunReader(Source(io.BytesIO(run), "run"), "10.0", strict=True).blocks()
    ranked = judgements.rank(block, np.zeros(1, np.int64), Protocol()).cut(depth, judged_only=False)
    level = {docno: level for level, docno in enumerate(ranking)}
    assert ranked.level.tolist() == [level[docno] for docno in expected[:depth]]
    assert ranked.rank.tolist() == list(range(1, min(depth, len(expected)) + 1))
    assert ranked.repeated[0, 0] == -1


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=40), st.integers(1, 40))
def test_the_first_document_in_byte_order_that_is_ranked_twice_is_named(docnos: list[str], depth: int) -> None:
    run = "".join(f"t Q0 {docno} 1 {-n} r\n" for n, docno in enumerate(docnos)).encode()
    judgements, _ = read_judgements(Source(io.BytesIO(b"t 0 a 1\n"), "qrels"), "qrels", "10.0", strict=True)
    (block,) = RunReader(Source(io.BytesIO(run), "run"), "10.0", strict=True).blocks()
    first, second, hidden = judgements.rank(block, np.zeros(1, np.int64), Protocol(depth=depth)).repeated[0].tolist()
    seen, hiding = ([d for d in set(part) if part.count(d) > 1] for part in (docnos[:depth], docnos))
    if twice := seen or hiding:
        assert hidden == (not seen)
        assert block.docno(first) == block.docno(second)
        if seen:
            assert block.docno(first).decode() == min(twice)
    else:
        assert first == -1


def test_documents_whose_hashes_are_equal_are_told_apart_by_their_bytes() -> None:
    data = np.frombuffer(b"abcdef", np.uint8)
    spans = np.array([[i, 1] for i in range(6)])
    hashes, starts = np.zeros(6, np.uint64), np.array([0, 6])
    table = kernel.table_starts(np.diff(starts))
    slots, repeated = np.full(table[-1], -1, np.int32), np.full((1, 2), -1, np.int64)
    kernel.index(data, spans, hashes, starts, table, slots, repeated)
    assert sorted(slots[slots >= 0].tolist()) == list(range(6))
    assert repeated.tolist() == [[-1, -1]]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 1000, 1024, 1025, 2**31])
def test_a_hash_table_is_at_most_half_full(count: int) -> None:
    size = kernel.table_size(count)
    assert size >= 2 * count
    assert size & (size - 1) == 0
    assert kernel.table_starts(np.array([count, count])).tolist() == [0, size, 2 * size]


def test_one_group_a_topic_is_like_qrels(tmp_path: Path) -> None:
    qrels, run = "1 g a 1; 1 g b 0; 1 g c 2; 2 g a 1", "1 Q0 b 1 3 r; 1 Q0 a 1 2 r; 2 Q0 z 1 1 r; 2 Q0 a 1 1 r"
    groups = score(tmp_path, ["-q", "-R", "qrels_jg", "-m", "qrels_jg"], qrels, run).values
    alone = score(tmp_path, ["-q", "-m", "map", "-m", "P", "-m", "Rprec_mult"], qrels, run).values
    same = {(name.replace("_avgjg", ""), topic): value for (name, topic), value in groups.items() if "avgjg" in name}
    assert same == alone


def test_generations_agree_where_their_rules_do() -> None:
    collection = Collection({"1": {"a": 1, "b": 0, "c": 2}}, {"1": {"a": "2", "b": "3", "c": "1", "d": "2"}})
    names = ["map", "P", "ndcg", "ndcg_cut", "bpref", "recip_rank", "Rprec", "infAP", "G", "Rndcg"]
    new, old = (ours(collection, names, Protocol(compat=compat)) for compat in ("10.0", "9.0.8"))  # type: ignore[arg-type]
    assert new.per_query.tolist() == old.per_query.tolist()


@pytest.mark.parametrize(
    "measure",
    ["11pt_avg.1e18", "iprec_at_recall.1e18,-1e18", "rbp.p=1e200", "rbp_resid.p=1e200", "utility.1e308,1e308,1,1",
     "ndcg_rel.1=1e308,2=1e308", "ndcg.1=nan,2=inf", "G.1=-5", "Rndcg.1=inf", "set_F.-1", "relstring.1e300",
     "P.9223372036854775807"],
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_extreme_parameters_give_values_without_warnings_of_numpy(tmp_path: Path, measure: str) -> None:
    outcome = score(tmp_path, ["-q", "-m", measure], "1 0 a 1; 1 0 b 2; 2 0 a 0", "1 Q0 a 1 2 r; 2 Q0 a 1 1 r")
    assert outcome.code == 0
    assert outcome.out


@pytest.mark.parametrize("measure", ["iprec_at_recall.nan", "11pt_avg.inf", "Rprec_mult.1e19"])
def test_parameters_that_make_no_number_of_documents_are_errors(tmp_path: Path, measure: str) -> None:
    outcome = score(tmp_path, ["-m", measure], "1 0 a 1", "1 Q0 a 1 2 r")
    assert outcome.code == 2
    assert "expected finite numbers below 2^63" in outcome.said[-1]


def test_judgements_that_are_all_comments_are_no_topics(tmp_path: Path) -> None:
    outcome = score(tmp_path, [], "# none", "1 Q0 a 1 2 r")
    assert (outcome.code, outcome.out) == (7, b"")
    for form, measure in (("qrels_jg", "qrels_jg"), ("prefs", "prefs"), ("qrels_prefs", "prefs")):
        assert score(tmp_path, ["-c", "-R", form, "-m", measure], "# none", "1 Q0 a 1 2 r").code == 7


def test_a_topic_error_is_the_topic_s_own() -> None:
    collection = Collection({"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": "1"}, "2": {"a": "1"}})
    assert not ours(collection, ["map"], Protocol()).problems
    assert issubclass(TopicError, Exception)


def _example(environment: dict[str, str]) -> "subprocess.CompletedProcess[bytes]":
    files = [str(ROOT / "data_fixtures" / name) for name in ("example.qrels", "example.run")]
    command = [sys.executable, "-m", "trecpy.cli.trec_eval", "-q", "-c", "-m", "all_trec", *files]
    return subprocess.run(command, capture_output=True, env={**os.environ, **environment}, timeout=600, check=False)


def test_kernels_are_the_same_functions_compiled_or_not() -> None:
    compiled, plain = _example({}), _example({"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"})
    assert (plain.returncode, plain.stdout) == (compiled.returncode, compiled.stdout)
