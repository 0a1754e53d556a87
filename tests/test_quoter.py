"""QuoteR's figures: its scripts' worked numbers, the same ranks in every form, its files, what is wrong in them."""

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import trecpy as command
from hypothesis import given
from hypothesis import strategies as st

import trecpy
from trecpy.errors import FormatError, InputError
from trecpy.formats.quoter import BOUNDS, read_quotes

CUTOFFS = (1, 3, 5, 10, 20, 30, 100, 300, 500, 1000)
RECALLS = [f"Recall@{k}" for k in CUTOFFS]
RANKS = ["MedianRank", "MeanRank", "RankVariance", "RankSD"]


def test_three_contexts() -> None:
    """Ranks 1, 3 and 12."""
    found = trecpy.quoter(ranks=[1, 3, 12])
    assert list(found) == ["MRR", "NDCG@5", *RECALLS, *RANKS]
    assert found["MRR"] == pytest.approx(0.472222, abs=1e-6)
    assert [found[name] for name in ("NDCG@5", "Recall@1", "Recall@10", "Recall@100")] == [0.5, 1 / 3, 2 / 3, 1]
    assert [found[name] for name in RANKS] == [pytest.approx(v, abs=5e-5) for v in (3, 5.3333, 22.8889, 4.7842)]
    assert (found.topics, found.missing, found.notes) == (3, 0, ())


@pytest.mark.parametrize(("batch", "mean"), [(64, 0.472), (2, 0.375)])
def test_as_published(batch: int, mean: float) -> None:
    """Means of batch means; from 0 the mean rank is 4.33; 4.78 is printed as 5 and called a variance."""
    found = trecpy.quoter(ranks=[1, 3, 12], as_published=True, batch=batch)
    assert list(found) == ["MRR", "NDCG@5", *RECALLS, "MedianRank", "MeanRank", "Variance"]
    assert [found["MRR"], found["NDCG@5"]] == [mean, 0.5 if batch == 64 else 0.375]
    assert [found["Recall@1"], found["Recall@10"], found["Recall@100"]] == [0.3333, 0.6667, 1]
    assert [found["MedianRank"], found["MeanRank"], found["Variance"]] == [3, 4, 5]


def test_ranks_are_rounded_half_to_even() -> None:
    assert trecpy.quoter(ranks=[1, 2, 3, 4], as_published=True)["MedianRank"] == 2
    assert trecpy.quoter(ranks=[2, 3, 4, 5], as_published=True)["MedianRank"] == 4
    assert trecpy.quoter(ranks=[1, 2], as_published=True)["MeanRank"] == 0


@pytest.mark.parametrize(
    ("ties", "rank", "mrr", "ndcg", "recall"),
    [
        ("best", 2, 0.5, 0.6309, (0, 1, 1)),
        ("input", 4, 0.25, 0.4307, (0, 0, 1)),
        ("worst", 4, 0.25, 0.4307, (0, 0, 1)),
        ("trec", 2, 0.5, 0.6309, (0, 1, 1)),
        ("expected", 3, 0.3611, 0.5205, (0, 2 / 3, 1)),
    ],
)
def test_ties(ties: str, rank: float, mrr: float, ndcg: float, recall: tuple[float, ...]) -> None:
    """Scores .9, .5, .5, .5, the gold quote last."""
    found = trecpy.quoter([[0.9, 0.5, 0.5, 0.5]], [3], ties=ties)
    assert [found["MRR"], found["NDCG@5"]] == [pytest.approx(mrr, abs=5e-5), pytest.approx(ndcg, abs=5e-5)]
    assert [found[f"Recall@{k}"] for k in (1, 3, 5)] == pytest.approx(list(recall))
    assert found["MeanRank"] == pytest.approx(rank)


def test_ties_as_published() -> None:
    """For the gold quote in MRR, NDCG and ranks, by column in recall."""
    found = trecpy.quoter([[0.9, 0.5, 0.5, 0.5]], [3], as_published=True)
    assert [found[name] for name in ("MRR", "NDCG@5", "Recall@1", "Recall@3", "Recall@5")] == [0.5, 0.631, 0, 0, 1]
    assert [found["MedianRank"], found["MeanRank"]] == [2, 1]


@given(
    st.integers(1, 6).flatmap(
        lambda width: st.lists(
            st.tuples(st.lists(st.integers(0, 3), min_size=width, max_size=width), st.integers(0, width - 1)),
            min_size=1,
            max_size=9,
        )
    ),
    st.sampled_from(["best", "input", "worst"]),
    st.booleans(),
)
def test_scores_ranks_and_runs_give_the_same(
    contexts: list[tuple[list[int], int]], ties: str, as_published: bool
) -> None:
    """Topic ids are numbers, whose order in bytes is another one: it would make other batches."""
    matrix, gold = np.array([scores for scores, _ in contexts], np.float32), [column for _, column in contexts]
    how: dict[str, Any] = {"ties": ties, "as_published": as_published, "batch": 2 if as_published else None}
    dense = trecpy.quoter(matrix, gold, **how)
    run = {str(8 + row): {f"d{c}": float(s) for c, s in enumerate(scores)} for row, scores in enumerate(matrix)}
    assert trecpy.quoter(run=run, gold={str(8 + row): f"d{c}" for row, c in enumerate(gold)}, **how) == dense
    ranks = []
    for scores, column in contexts:
        above = sum(score > scores[column] for score in scores)
        equal = [c for c, score in enumerate(scores) if score == scores[column]]
        ranks.append(above + {"best": 1, "input": equal.index(column) + 1, "worst": len(equal)}[ties])
    by_ranks = trecpy.quoter(ranks=ranks, **{**how, "ties": None})
    if as_published and ties != "input":  # recall is by column then
        dense, by_ranks = ({k: v for k, v in each.items() if "Recall" not in k} for each in (dense, by_ranks))  # type: ignore[assignment]
    assert by_ranks == dense


@given(st.lists(st.integers(1, 1500), min_size=1, max_size=40))
def test_they_are_what_their_names_say(ranks: list[int]) -> None:
    found, array = trecpy.quoter(ranks=ranks), np.array(ranks)
    wanted = [np.mean(1 / array), np.mean((array <= 5) / np.log2(array + 1)), *(np.mean(array <= k) for k in CUTOFFS)]
    assert [*found.values()] == pytest.approx([*wanted, np.median(array), array.mean(), array.var(), array.std()])


CONTEXTS = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.tuples(st.lists(st.integers(0, 2), min_size=width, max_size=width), st.integers(0, width - 1)),
        min_size=1, max_size=4,
    )
)  # fmt: skip


@given(CONTEXTS, st.booleans())
def test_expected_ranks_are_means_over_all_orders(contexts: list[tuple[list[int], int]], as_run: bool) -> None:
    """Of matrices of one width, and of runs."""
    possible = []
    for scores, column in contexts:
        above, equal = sum(s > scores[column] for s in scores), scores.count(scores[column])
        possible.append(range(above + 1, above + equal + 1))
    orders = np.array(list(itertools.product(*possible)))
    gold = [column for _, column in contexts]
    if as_run:
        run = {str(t): {str(c): float(s) for c, s in enumerate(scores)} for t, (scores, _) in enumerate(contexts)}
        found = trecpy.quoter(run=run, gold={str(t): column for t, column in enumerate(gold)}, ties="expected")
    else:
        found = trecpy.quoter([scores for scores, _ in contexts], gold, ties="expected")
    assert found["MeanRank"] == pytest.approx(orders.mean())
    assert found["RankVariance"] == pytest.approx(orders.var(axis=1).mean())
    if len(orders) > 1:
        assert math.isnan(found["MedianRank"])
        assert math.isnan(found["RankSD"])
        assert found.notes[-1].startswith("MedianRank and RankSD are undefined: their means over the orders of equal")
    else:
        assert [found["MedianRank"], found["RankSD"]] == [np.median(orders), pytest.approx(orders.std())]
        assert found.notes == ()


def test_expected_ranks_as_published_and_of_gold_quotes_that_were_not_ranked() -> None:
    found = trecpy.quoter([[0.9, 0.5, 0.5, 0.5]], [3], ties="expected", as_published=True)
    assert [math.isnan(found[name]) for name in ("MedianRank", "MeanRank", "Variance")] == [True, False, True]
    assert found.notes[-1].startswith("MedianRank and Variance are undefined")
    half = trecpy.quoter([[1, 1], [1, -np.inf]], [0, 1], ties="expected", pool=2)
    assert [half["MeanRank"], half["RankVariance"]] == [1.75, pytest.approx((0.25 + 0) / 2)]


def test_one_evaluation_of_the_preset_is_the_same() -> None:
    run = {"1": ["a", "b", "c"], "2": ["x", "b"], "3": ["c"]}
    gold = {"1": {"b": 1}, "2": {"b": 1}, "3": {"c": 1}}
    found, general = trecpy.quoter(run=run, gold=gold), trecpy.evaluate(gold, run, ["RR", "nDCG@5"], protocol="quoter")
    assert [found["MRR"], found["NDCG@5"]] == [general["RR"], general["nDCG@5"]]


@pytest.mark.parametrize("given", ["scores", "ranks", "run"])
def test_a_gold_quote_that_was_not_ranked(given: str) -> None:
    """It counts 0 and is said; the rank statistics need to know how many quotes there are."""
    forms: dict[str, dict[str, Any]] = {
        "scores": {"scores": [[0.5, 0.1], [1.0, -np.inf]], "gold": [0, 1]},
        "ranks": {"ranks": [1, None]},
        "run": {"run": {"1": ["a", "b"], "2": ["c"]}, "gold": {"1": {"a": 1}, "2": {"z": 1}}},
    }
    found = trecpy.quoter(**forms[given])
    assert (found.topics, found.missing) == (2, 1)
    assert [found["MRR"], found["NDCG@5"], found["Recall@1000"]] == [0.5, 0.5, 0.5]
    assert all(math.isnan(found[name]) for name in RANKS)
    assert found.notes[-1].startswith("lacks the gold quote of 1 of 2 contexts; they count 0 in MRR, NDCG and Recall")
    whole = trecpy.quoter(**forms[given], pool=9)
    assert [whole[name] for name in RANKS] == [5, 5, 16, 4]
    assert [whole["MRR"], whole["Recall@1000"]] == [0.5, 0.5]
    published = trecpy.quoter(**forms[given], pool=9, as_published=True)
    assert [published["MedianRank"], published["MeanRank"], published["Variance"]] == [5, 4, 4]


def test_topics_that_a_run_lacks_are_counted() -> None:
    found = trecpy.quoter(run={"1": ["a"], "7": ["a"]}, gold={"1": "a", "2": "b"})
    assert (found.topics, found.missing, found["MRR"]) == (2, 1, 0.5)
    assert "has 1 topic without a gold quote; they are left out" in found.notes


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"scores": [[0.5, math.nan]], "gold": [0]}, r"scores: row 0, column 1: expected a number, found nan"),
        ({"scores": [[0.5, 0.1]], "gold": [2]}, r"gold: row 0: expected a column from 0 to 1, found 2"),
        ({"scores": [[0.5, 0.1]], "gold": [-1]}, r"gold: row 0: expected a column from 0 to 1, found -1"),
        ({"scores": [[0.5, 0.1]], "gold": [0, 1]}, r"gold: expected integers \[1\], found int64 \[2\]"),
        ({"scores": [[0.5, 0.1]], "gold": [0.0]}, r"gold: expected integers \[1\], found float64 \[1\]"),
        ({"scores": [0.5, 0.1], "gold": [0]}, r"scores: expected numbers \[contexts, quotes\]"),
        ({"scores": [["a"]], "gold": [0]}, r"scores: expected numbers"),
        ({"scores": [[1]]}, "expected scores and gold, or ranks, or run and gold"),
        ({"ranks": [1], "gold": [0]}, "expected scores and gold, or ranks, or run and gold"),
        ({"ranks": [1, 0]}, r"ranks: row 1: expected an integer from 1 to 2\*\*62 - 1, or None or inf, found 0"),
        (
            {"ranks": [2**62]},
            r"ranks: row 0: expected an integer from 1 to 2\*\*62 - 1, or None or inf, found 46116860",
        ),
        ({"ranks": {1, 2}}, r"ranks: expected a list or an array, without a mask, found \{1, 2\}"),
        ({"ranks": {1: 2}}, r"ranks: expected a list or an array"),
        ({"ranks": 1}, r"ranks: expected a list or an array"),
        ({"ranks": np.ma.masked_array([1, 2], [0, 1])}, r"ranks: expected a list or an array, without a mask"),
        ({"ranks": [1], "ties": "worst"}, "ties: expected scores or a run, whose equal scores they order"),
        ({"ranks": [1], "pool": "3"}, "pool: expected an integer from 1 to .*, found '3'"),
        ({"ranks": [1], "pool": True}, "pool: expected an integer from 1"),
        ({"ranks": [1], "pool": 10**400}, "pool: expected an integer from 1"),
        ({"ranks": [1], "as_published": "no"}, "as_published: expected True or False, found 'no'"),
        ({"scores": np.ma.masked_array([[1, 2]], [[0, 1]]), "gold": [0]}, "scores: expected an array without a mask"),
        ({"scores": [[1, 2]], "gold": np.ma.masked_array([1], [1])}, "gold: expected an array without a mask"),
        ({"run": {"1": ["a"]}, "gold": {1: [6]}}, r"gold: topic 1: expected a docno, found \[6\]"),
        ({"ranks": [1.5]}, "ranks: row 0: expected an integer from 1"),
        ({"ranks": [math.nan]}, "ranks: row 0: expected an integer from 1"),
        ({"ranks": [True]}, "ranks: row 0: expected an integer from 1"),
        ({"ranks": ["1"]}, "ranks: row 0: expected an integer from 1"),
        ({"ranks": []}, "ranks: expected at least one"),
        ({"ranks": [5], "pool": 4}, "pool: expected at least 5, the largest rank, found 4"),
        ({"ranks": [5], "batch": 4}, "batch: expected as_published"),
        ({"scores": [[5]], "gold": [0], "ties": "nonsense"}, "ties: expected"),
        ({"run": {"1": ["a"]}, "gold": {"1": {"a": 1, "b": 1}}}, "gold: topic '1': expected one gold quote, found 2"),
        ({"run": {"1": ["a"]}, "gold": {"1": {"a": 0}}}, "gold: topic '1': expected one gold quote, found 0"),
    ],
)
def test_what_is_wrong_is_one_line(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text) as raised:
        trecpy.quoter(**arguments)
    assert "\n" not in str(raised.value)


# Files


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As many lines as the modern Chinese data has before its test part, and three in that."""
    path = tmp_path_factory.mktemp("released") / "modern.txt"
    lines = [f"left\tq{n % 7}\tright" for n in range(BOUNDS["modern-chinese"][1])]
    path.write_text("\n".join([*lines, "a\tq3\tb", "a\t Q0\tb \t", "a\tq5\tb"]) + "\n")
    return path


def test_the_released_text(released: Path) -> None:
    """Ids are places among the sorted quotes, which are taken as they stand between the tabs."""
    found = read_quotes(str(released), "modern-chinese")
    assert found.quotes == [" Q0", "q0", "q1", "q2", "q3", "q4", "q5", "q6"]
    assert found.gold_of("test").tolist() == [4, 0, 6]
    assert list(found.lines("test")) == [36657, 36658, 36659]
    assert len(found.gold_of("valid")) == 36657 - 32472
    assert found.qrels()["36658"] == {"0": 1}


def test_english_is_lower_cased(tmp_path: Path) -> None:
    path = tmp_path / "english.txt"
    path.write_text("Left\tA Quote\tright\n" * 113942 + "left\ta quote\tright\n")
    assert read_quotes(str(path), "english").quotes == ["a quote"]


def test_released_text_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text("left\tquote\tright\n\tquote\tright\n")
    with pytest.raises(FormatError, match=r"bad.txt:2: expected left context, quote and right context .* 2 fields"):
        read_quotes(str(path), "english")
    path.write_text("left\tquote\tright\n")
    with pytest.raises(FormatError, match="expected more than 113,942 lines"):
        read_quotes(str(path), "english")
    path.write_bytes(b"left\tquote\tright\nl\xc3\xa9ft\tquot\xe9\tright\n")
    with pytest.raises(FormatError, match=r"bad.txt:2: expected UTF-8, found the byte 0xe9"):
        read_quotes(str(path), "english")
    path.write_bytes(b"\xff\t\t\n")
    with pytest.raises(FormatError, match=r"bad.txt:1: expected UTF-8, found the byte 0xff"):
        read_quotes(str(path), "english")
    with pytest.raises(InputError, match="language: expected 'english'"):
        read_quotes(str(path), "latin")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", np.array([[0.9, 0.5, 0.5, 0.5], [0.1, 0.2, 0.3, 0.4]], np.float32))
    np.save("gold.npy", np.array([3, 0]))
    np.savez("both.npz", scores=np.eye(3), gold=np.arange(3))
    (tmp_path / "ranks.txt").write_text("1\n3\n12\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "gold.qrels").write_text("9 0 a 1\n10 0 b 1\n")
    (tmp_path / "one.run").write_text("9 Q0 a 1 2 t\n10 Q0 a 1 2 t\n10 Q0 b 2 1 t\n")
    return tmp_path


def records(*arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in command("quoter", *arguments, "--format", "jsonl").out.splitlines()]


def test_matrices_are_scored_apart(folder: Path) -> None:
    (whole,) = records("--scores", "both.npz")
    assert whole == {**trecpy.quoter(np.eye(3), [0, 1, 2]), "input": "both.npz", "contexts": 3}
    one = {**trecpy.quoter(np.load("scores.npy"), [3, 0]), "input": "scores.npy", "contexts": 2}
    part = ["--scores", "scores.npy", "--gold", "gold.npy"]
    assert records(*part, *part) == [one, one]


def test_ranks_as_a_table(folder: Path) -> None:
    outcome = command("quoter", "--ranks", "ranks.txt", "--as-published", "--batch", "2")
    *lines, protocol, about = outcome.out.decode().splitlines()
    printed = ["3", "0.375", "0.375", "0.3333", *["0.6667"] * 3, *["1.0000"] * 6, "3", "4", "5"]
    names = ["contexts", "MRR", "NDCG@5", *RECALLS, "MedianRank", "MeanRank", "Variance"]
    assert [line.split() for line in lines] == [["input", "ranks.txt"], *map(list, zip(names, printed, strict=True))]
    assert len(set(map(len, lines))) == 1
    assert protocol == "protocol: quoter-as-published, batch=2"
    assert "MeanRank from 0" in about


def test_published_decimals_are_kept(folder: Path) -> None:
    """Their scripts print .500, .1000 and 29."""
    (folder / "ten.txt").write_text("1\n" + "30\n" * 9)
    (folder / "two.txt").write_text("1\n30\n")
    for form in ("tsv", "table"):
        outcome = command("quoter", "--ranks", "ten.txt", "--ranks", "two.txt", "--as-published", "--format", form)
        lines = [line.split() for line in outcome.out.decode().splitlines() if ":" not in line]
        cells = lines if form == "tsv" else list(zip(*lines, strict=True))
        found = [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]
        assert [row["MRR"] for row in found] == ["0.130", "0.517"]
        assert [row["NDCG@5"] for row in found] == ["0.100", "0.500"]
        assert [row["Recall@1"] for row in found] == ["0.1000", "0.5000"]
        assert [row["MeanRank"] for row in found] == ["26", "14"]
    (record, _) = records("--ranks", "ten.txt", "--ranks", "two.txt", "--as-published")
    assert [record["MRR"], record["Recall@1"], record["MedianRank"]] == [0.13, 0.1, 30]


def test_runs(folder: Path) -> None:
    found = records("gold.qrels", "one.run", "one.run")
    assert [record["MRR"] for record in found] == [0.75, 0.75]
    piped = command("quoter", "gold.qrels", "-", "--format", "tsv", stdin=(folder / "one.run").read_bytes())
    assert piped.out.decode().splitlines()[1].startswith("-\t2\t0.75\t")


def test_released_text_and_scores(folder: Path, released: Path) -> None:
    np.save("three.npy", np.eye(8)[[4, 1, 6]])
    data = ["--data", str(released), "--language", "modern-chinese"]
    assert records(*data, "--scores", "three.npy")[0]["Recall@1"] == 2 / 3
    (folder / "two.run").write_text("36657 Q0 4 1 2 t\n36658 Q0 1 1 2 t\n36658 Q0 0 1 1 t\n")
    (found,) = records(*data, "two.run")
    assert [found["contexts"], found["MRR"], found["MeanRank"]] == [3, 0.5, None]
    outcome = command("quoter", *data, "--scores", "scores.npy")
    assert (outcome.code, outcome.out) == (2, b"")
    assert outcome.said == [
        "error: scores.npy: expected scores [3, 8], the contexts of the test part by all quotes, found [2, 4]"
    ]


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (lambda raw: b"", "an empty file"),
        (lambda raw: raw[:-8], "one that is cut short or damaged"),
        (lambda raw: b"PK\x03\x04" + raw, "one that is cut short or damaged"),
        (lambda raw: b"left\xff" + raw[8:], "'left"),
    ],
)
def test_arrays_that_are_none(folder: Path, damage: Callable[[bytes], bytes], found: str) -> None:
    (folder / "scores.npy").write_bytes(damage((folder / "scores.npy").read_bytes()))
    outcome = command("quoter", "--scores", "scores.npy", "--gold", "gold.npy")
    assert (outcome.code, outcome.out, len(outcome.said)) == (2, b"", 1)
    assert outcome.said[0].startswith(
        f"error: scores.npy: expected an array of numbers as NumPy writes it (.npy, .npz), found {found}"
    )
    np.save("scores.npy", np.array([None, 1]))
    assert "found Python objects" in command("quoter", "--scores", "scores.npy", "--gold", "gold.npy").said[0]


def test_ranks_with_a_byte_order_mark_and_from_standard_input(folder: Path) -> None:
    raw = (folder / "ranks.txt").read_bytes()
    (folder / "marked.txt").write_bytes(b"\xef\xbb\xbf" + raw)
    whole, marked = records("--ranks", "ranks.txt", "--ranks", "marked.txt")
    assert whole == {**marked, "input": "ranks.txt"}
    piped = command("quoter", "--ranks", "-", "--format", "tsv", stdin=raw)
    assert piped.out.decode().splitlines()[1].startswith(f"-\t3\t{whole['MRR']}\t")


def test_missing_gold_quotes_are_said(folder: Path) -> None:
    (folder / "ranks.txt").write_text("1\n-\ninf\n\n")
    outcome = command("quoter", "--ranks", "ranks.txt")
    cells = dict(line.split(maxsplit=1) for line in outcome.out.decode().splitlines())
    assert [cells[name] for name in RANKS] == ["-"] * 4
    assert len(outcome.said) == 1
    assert outcome.said[0].startswith("warning: ranks.txt: lacks the gold quote of 2 of 3 contexts")
    hint = b"rank statistics: undefined without the ranks of all gold quotes; --pool N takes missing ones as N\n"
    assert outcome.out.endswith(hint)
    assert hint not in command("quoter", "--ranks", "ranks.txt", "--pool", "9").out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 1, "expected GOLD RUN..., --scores, or --ranks"),
        (["gold.qrels"], 1, "expected GOLD RUN..., found no RUN"),
        (["--ranks", "ranks.txt", "--scores", "both.npz"], 1, "expected GOLD RUN..., --scores, or --ranks"),
        (["--scores", "scores.npy"], 1, "expected 1 --gold for 1 --scores, found 0"),
        (["--data", "x", "one.run"], 1, "expected --data and --language together"),
        (["--data", "x", "--language", "english", "--ranks", "ranks.txt"], 1, "expected no --data with --ranks"),
        (["--data", "x", "--language", "english", "one.run"], 2, "x: cannot be read"),
        (["--scores", "nowhere.npy", "--gold", "gold.npy"], 2, "nowhere.npy: cannot be read"),
        (["--scores", "ranks.txt", "--gold", "gold.npy"], 2,
         r"ranks.txt: expected an array of numbers as NumPy writes it (.npy, .npz), found '1\n3\n12\n'"),
        (["--scores", "scores.npy", "--gold", "both.npz"], 2, "scores.npy: gold: expected integers [2]"),
        (["--ranks", "gold.qrels"], 2, "gold.qrels:1: expected a rank, an integer >= 1, or '-', found '9 0 a 1'"),
        (["gold.qrels", "ranks.txt"], 2, "ranks.txt:1:"),
        (["--ranks", "ranks.txt", "--batch", "0", "--as-published"], 1, "argument --batch: expected an integer >= 1"),
        (["--ranks", "ranks.txt", "--batch", "2"], 1, "expected --as-published with --batch"),
        (["--ranks", "ranks.txt", "--ties", "worst"], 1, "expected no --ties with --ranks"),
        (["--ranks", "ranks.txt", "--split", "valid"], 1, "expected --data with --split"),
        (["--ranks", "ranks.txt", "--gold", "gold.npy"], 1, "expected no --gold without --scores"),
        (["gold.qrels", "one.run", "--gold", "gold.npy"], 1, "expected no --gold without --scores"),
        (["--ranks", "ranks.txt", "--pool", "0"], 1, "argument --pool: expected an integer >= 1 of at most 18 digits"),
        (["--ranks", "-", "--ranks", "-"], 1, "expected '-', standard input, once"),
        (["--scores", "scores.npy", "--gold", "empty"], 2, "empty: expected an array of numbers as"),
        (["--ranks", "ranks.txt", "--places", "3", "--as-published"], 1, "expected no --places with --as-published"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(folder: Path, arguments: list[str], code: int, said: str) -> None:
    outcome = command("quoter", *arguments)
    assert (outcome.code, outcome.out, len(outcome.said)) == (code, b"", 1)
    assert outcome.said[0].startswith("error: " + said)
