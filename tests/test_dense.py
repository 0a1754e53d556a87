"""Matrices: the same doubles as the same numbers in dicts; padding, ties, documents outside the candidates."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import trecpy
from trecpy.errors import InputError, ParameterError, TopicError
from trecpy.registry import catalogue

NAMES = [name for name, each in catalogue().items() if each.needs == ("qrels",) and each.known_to("10.0")]

_SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12)


@st.composite
def matrices(draw: st.DrawFn, width: st.SearchStrategy[int] | None = None) -> tuple[Any, Any]:
    shape = draw(_SHAPES) if width is None else (draw(st.integers(1, 5)), draw(width))
    scores = draw(hnp.arrays(np.float64, shape, elements=st.sampled_from([0.0, 1.0, 1.5, -2.0, 7.25, -np.inf])))
    labels = draw(hnp.arrays(np.int64, shape, elements=st.integers(-1, 3)))
    return scores, labels


def as_dicts(scores: Any, labels: Any) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    there = scores > -np.inf
    topics = [f"{row:03d}" for row in range(len(scores))]
    qrels = {
        t: {f"{c:03d}": int(v) for c, v in enumerate(labels[r]) if there[r, c] and v >= 0} for r, t in enumerate(topics)
    }
    run = {t: {f"{c:03d}": float(v) for c, v in enumerate(scores[r]) if there[r, c]} for r, t in enumerate(topics)}
    return qrels, run


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"judged_only": True},
        {"depth": 3},
        {"judged_only": True, "depth": 2},
        {"relevance_level": 2},
        {"compat": "9.0.8"},
    ],
)
@given(matrices())
def test_the_doubles_are_those_of_dicts(options: dict[str, Any], given_matrices: tuple[Any, Any]) -> None:
    scores, labels = given_matrices
    names = [name for name in NAMES if catalogue()[name].known_to(options.get("compat", "10.0"))]
    qrels, run = as_dicts(scores, labels)
    expected = trecpy.evaluate(qrels, run, names, **options)
    topics = list(run)
    dense = trecpy.evaluate_dense(scores, labels, names, topics=topics, **options)
    assert repr(dense.to_dict()) == repr(expected.to_dict())
    assert repr(dense.summary) == repr(expected.summary)
    assert dense.texts == expected.texts


@given(matrices(st.integers(40, 60)))
def test_sorted_and_counted_ranks_are_the_same(given_matrices: tuple[Any, Any]) -> None:
    scores, labels = given_matrices
    qrels, run = as_dicts(scores, labels)
    dense = trecpy.evaluate_dense(scores, labels, ["map", "ndcg", "bpref"], topics=list(run))
    assert repr(dense.to_dict()) == repr(trecpy.evaluate(qrels, run, ["map", "ndcg", "bpref"]).to_dict())


_CLOSE = [1.0, 1.0 + 2**-52, 1.0 + 2**-50, 1.0 - 2**-53, -1.0, -1.0 - 2**-52, -0.0, 0.0, 5e-324, np.inf, -np.inf]


@given(st.integers(17, 80), st.data())
def test_scores_that_differ_in_their_last_bits_alone(width: int, data: st.DataObject) -> None:
    scores = data.draw(hnp.arrays(np.float64, (2, width), elements=st.sampled_from(_CLOSE)))
    labels = np.ones((2, width), int)
    labels[1, ::2] = 2
    qrels, run = as_dicts(scores, labels)
    dense = trecpy.evaluate_dense(scores, labels, ["ndcg", "num_ret", "relstring"], topics=list(run))
    expected = trecpy.evaluate(qrels, run, ["ndcg", "num_ret", "relstring"])
    assert repr(dense.to_dict()) == repr(expected.to_dict())
    assert (dense.texts, dense.tie_range()) == (expected.texts, expected.tie_range())


def test_blocks_and_threads_give_one_result(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(7)
    scores, labels = random.random((40, 30)).round(1), random.integers(-1, 3, (40, 30))
    topics = [f"q{row}" for row in range(40)]
    options: dict[str, Any] = {"topics": topics, "outside": random.integers(0, 2, (40, 3)), "num_rel": [40] * 40}
    names = ["map", "ndcg", "bpref", "num_q", "num_rel", "relstring"]
    whole = trecpy.evaluate_dense(scores, labels, names, **options)
    monkeypatch.setattr("trecpy.dense._TOGETHER", 90)
    for threads in (1, 2, 5):
        found = trecpy.evaluate_dense(scores, labels, names, threads=threads, **options)
        assert (found.to_dict(), found.summary, found.texts) == (whole.to_dict(), whole.summary, whole.texts)
        assert (found.counts, found.topics, found.tie_range()) == (whole.counts, whole.topics, whole.tie_range())
    scores[23, 4] = np.nan
    place = "scores: row 23, column 4: expected a number, found nan"
    with pytest.raises(InputError, match=place):
        trecpy.evaluate_dense(scores, labels, names, **options)


@given(matrices(), st.booleans())
def test_labels_of_0_count_where_they_matter(given_matrices: tuple[Any, Any], with_bpref: bool) -> None:
    scores, labels = given_matrices
    names = ["map", "ndcg", "num_ret", "P_2", *["bpref"] * with_bpref]
    qrels, run = as_dicts(scores, labels)
    dense = trecpy.evaluate_dense(scores, labels, names, topics=list(run))
    assert repr(dense.to_dict()) == repr(trecpy.evaluate(qrels, run, names).to_dict())
    assert (dense.counts.tied_pairs, dense.counts.ranked_judged) == (None, None)


def test_fractions_as_labels() -> None:
    scores, labels = [[3.0, 2.0, 1.0]], [[0.25, np.nan, 0.75]]
    found = trecpy.evaluate_dense(scores, labels, ["DCG@3", "P_1"], gains="float", relevance_level=0.5, outside=[[1]])
    assert found.summary == {"P_1": 0.0, "DCG@3": 0.25 + 0.75 / 2}
    with pytest.raises(
        InputError, match=r"labels: row 0, column 0: expected an integer level, found 0.25; gains='float'"
    ):
        trecpy.evaluate_dense(scores, labels, "map")


def test_what_is_wrong_is_named_where_it_was_given() -> None:
    scores, topics, docnos = np.array([[1.0, 2.0], [np.nan, 1.0]]), ["b", "a"], [["x", "y"], ["y", "x"]]
    with pytest.raises(InputError, match="scores: row 1, column 0: expected a number, found nan"):
        trecpy.evaluate_dense(scores, np.ones((2, 2), int), "map", topics=topics, docnos=docnos)
    many = np.ones((3, 40))
    many[2, 7] = np.nan
    with pytest.raises(InputError, match="scores: row 2, column 7: expected a number, found nan"):
        trecpy.evaluate_dense(many, np.ones((3, 40), int), "map")


def test_the_ranks_of_labels_have_a_fingerprint() -> None:
    labels = [[1, 0, 2]]
    first, again, other = (trecpy.evaluate_dense(scores, labels, "map").fingerprint for scores in
                           ([[3.0, 2.0, 1.0]], [[3.5, 2.0, 1.0]], [[1.0, 2.0, 3.0]]))  # fmt: skip
    assert first == again
    assert (first["run"] == other["run"], first["qrels"] == other["qrels"]) == (False, True)


@given(matrices())
def test_equal_scores_in_the_order_of_columns(given_matrices: tuple[Any, Any]) -> None:
    scores, labels = given_matrices
    qrels, run = as_dicts(scores, labels)
    dense = trecpy.evaluate_dense(scores, labels, NAMES, topics=list(run), ties="input")
    assert repr(dense.to_dict()) == repr(trecpy.evaluate(qrels, run, NAMES, ties="input").to_dict())


def test_a_constant_score_gains_nothing_from_a_gold_in_column_0() -> None:
    assert trecpy.evaluate_dense(np.ones((1, 4)), [[1, 0, 0, 0]], "RR")["RR"] == 1 / 4


def test_padding_by_a_mask_or_by_infinity() -> None:
    labels, mask = [[0, 1, 1]], np.array([[True, True, False]])
    masked = trecpy.evaluate_dense([[1.0, 2.0, np.nan]], labels, ["num_ret", "num_rel", "map"], mask=mask)
    padded = trecpy.evaluate_dense([[1.0, 2.0, -np.inf]], labels, ["num_ret", "num_rel", "map"])
    assert masked.summary == padded.summary == {"num_ret": 2, "num_rel": 1, "map": 1.0}


def test_labels_of_padding_are_ignored() -> None:
    assert trecpy.evaluate_dense([[1.0, -np.inf]], [[1.0, 0.5]], "RR")["RR"] == 1.0


def test_a_score_beyond_float32_is_above_padding() -> None:
    assert trecpy.evaluate_dense([[-1e39, -np.inf]], [[1, 0]], "RR", compat="9.0.8")["RR"] == 1.0


def test_measures_of_other_judgements_are_refused() -> None:
    for name in ("prefs_simp", "map_avgjg"):
        with pytest.raises(TopicError, match=f"{name}: expected judgements of -R"):
            trecpy.evaluate_dense([[1.0]], [[1]], name)


def test_gains_of_documents_without_a_judgement_are_refused() -> None:
    with pytest.raises(ParameterError, match="no gain for documents without a judgement"):
        trecpy.evaluate_dense([[1.0, 2.0]], [[1, -1]], "ndcg.-1=2")


def test_topics_stand_in_byte_order_and_merge() -> None:
    scores, labels = np.arange(24.0).reshape(12, 2), np.tile([[0, 1], [1, 0], [1, 1]], (4, 1))
    names = [str(row) for row in range(12)]
    whole = trecpy.evaluate_dense(scores, labels, ["ndcg", "map"], topics=names)
    parts = [trecpy.evaluate_dense(scores[p], labels[p], ["ndcg", "map"], topics=names[p])
             for p in (slice(0, 5), slice(5, 12))]  # fmt: skip
    assert whole.topics == tuple(sorted(names))
    assert repr((parts[0] + parts[1]).summary) == repr(whole.summary)


def test_docnos_decide_ties() -> None:
    for docnos, expected in ([["b", "a"]], 1.0), ([["a", "b"]], 1 / 2), ([[2, 10]], 1.0), ([["ab", "a"]], 1.0):
        assert trecpy.evaluate_dense([[1.0, 1.0]], [[1, 0]], "RR", docnos=docnos)["RR"] == expected


def test_a_docno_twice_in_a_line() -> None:
    docnos, labels = [["x", "y", "z"], ["a", "b", "a"]], np.ones((2, 3), int)
    with pytest.raises(TopicError, match="topic 'r': expected a document once in the ranking, found 'a' twice"):
        trecpy.evaluate_dense(np.ones((2, 3)), labels, "map", docnos=docnos, topics=["q", "r"])
    with pytest.raises(TopicError, match="found 'a' twice"):
        trecpy.evaluate_dense([[1.0, -np.inf, 2.0]], labels[:1], "map", docnos=[["a", "a", "a"]])
    padded = [[1.0, 1.0, 1.0], [1.0, 1.0, -np.inf]]
    assert trecpy.evaluate_dense(padded, labels, "map", docnos=docnos)["map"] == 1.0
    assert trecpy.evaluate_dense(np.ones((2, 3)), labels, "map", docnos=docnos, duplicates="keep")["map"] == 1.0
    with pytest.raises(InputError, match="expected duplicates 'error' or 'keep', found 'first'"):
        trecpy.evaluate_dense(np.ones((2, 3)), labels, "map", docnos=docnos, duplicates="first")
    assert trecpy.evaluate_dense([[2.0, 1.0]], [[0, 1]], protocol="qilin", measures="RR")["RR"] == 1 / 2


def test_judged_documents_outside_the_candidates() -> None:
    scores, labels = [[2.0, 1.0], [2.0, 1.0]], [[1, 0], [0, 1]]
    inside = trecpy.evaluate_dense(scores, labels, ["recall_10", "ndcg_cut_10"])
    assert inside["R@10"] == 1.0
    more = trecpy.evaluate_dense(scores, labels, ["recall_10"], num_rel=[2, 4])
    assert more.per_query.tolist() == [[1 / 2], [1 / 4]]
    outside = trecpy.evaluate_dense(scores, labels, ["recall_10", "ndcg_cut_10"], outside=[[3, np.nan], [1, 1]])
    qrels = {"0": {"0": 1, "1": 0, "x": 3}, "1": {"0": 0, "1": 1, "x": 1, "y": 1}}
    run = {"0": {"0": 2.0, "1": 1.0}, "1": {"0": 2.0, "1": 1.0}}
    assert outside.to_dict() == trecpy.evaluate(qrels, run, ["recall_10", "ndcg_cut_10"]).to_dict()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.uint8])
def test_types_of_scores_and_labels(dtype: type) -> None:
    scores = np.array([[3, 1, 2]], dtype)
    for label in (np.int8, np.int64, np.uint8, np.float32, bool):
        assert trecpy.evaluate_dense(scores, np.array([[0, 1, 0]], label), "RR")["RR"] == 1 / 3


class _ByDlpack:
    """An array of another library, which lends its memory."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class _ByArray:
    """One that makes a NumPy array of itself."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.array, dtype)


@pytest.mark.parametrize("kind", [_ByDlpack, _ByArray])
def test_arrays_of_other_libraries(kind: type) -> None:
    scores, labels = np.array([[3.0, 1.0, 2.0]], np.float32), np.array([[0, 1, 0]])
    found = trecpy.evaluate_dense(kind(scores), kind(labels), ["RR", "num_ret"])
    assert found.summary == {"num_ret": 3, "recip_rank": 1 / 3}


def test_parts_of_matrices_keep_their_hashes() -> None:
    parts = [trecpy.evaluate_dense([scores], [[1, 0]], "map", topics=[topic])
             for topic, scores in (("a", [2.0, 1.0]), ("b", [1.0, 2.0]), ("c", [2.0, 1.0]))]  # fmt: skip
    hashes = {trecpy.merge(parts[0], other).fingerprint["run"] for other in parts[1:]} | {parts[1].fingerprint["run"]}
    assert len(hashes) == 3


def test_values_stand_in_the_order_of_rows() -> None:
    evaluation = trecpy.evaluate_dense(np.ones((12, 1)), np.eye(12, 1, dtype=int), "P_1")
    assert evaluation.topics == tuple(f"{row:02d}" for row in range(12))
    assert evaluation.per_query[:, 0].tolist() == [1.0] + [0.0] * 11


@pytest.mark.parametrize(
    ("scores", "labels", "options", "said"),
    [
        ([1.0, 2.0], [[1, 0]], {}, r"scores: expected numbers \[queries, candidates\], found float64 \[2\]"),
        ([[1.0, 2.0]], [[1]], {}, r"labels: expected shape \[1, 2\] as scores have, found \[1, 1\]"),
        ([[np.nan]], [[1]], {}, "scores: row 0, column 0: expected a number, found nan"),
        ([[1.0]], [[0.5]], {}, "labels: row 0, column 0: expected an integer level, found 0.5"),
        ([["a"]], [[1]], {}, "scores: expected numbers"),
        ([[1.0]], [[1]], {"mask": [[1]]}, "mask: expected bool"),
        ([[1.0]], [[1]], {"docnos": [["a", "b"]]}, "docnos: expected shape"),
        ([[1.0]], [[1]], {"num_rel": [0]}, "num_rel: row 0: expected at least the 1 that are labelled, found 0"),
        ([[1.0]], [[1]], {"topics": ["a", "b"]}, "topics: expected 1 different ids, found 2"),
        ([[1.0]], [[1]], {"ignore_self": True}, "evaluate_dense: expected relevance_level >= 0"),
        ([[1.0]], [[1]], {"ties": "input", "docnos": [["a"]]}, "evaluate_dense: expected no docnos"),
        ([[1.0]], np.array([[2**63 + 1]], np.uint64), {}, "labels: row 0, column 0: expected an integer level"),
        (np.ma.array([[1.0]], mask=[[1]]), [[1]], {}, "scores: expected a plain array and a mask"),
        (np.zeros((0, 3)), np.zeros((0, 3), int), {}, "scores: expected numbers"),
        ([[1.0, 2.0]], [[1, 0]], {"docnos": np.array([["\ud800", "a"]], object)}, "docnos: expected docnos that UTF-8"),
        ([[1.0, 2.0]], [[1, 0]], {"docnos": np.array([[None, 1.5]], object)}, "docnos: row 0: expected a docno"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(scores: Any, labels: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        trecpy.evaluate_dense(scores, labels, "map", **options)
