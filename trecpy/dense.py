"""Matrices of scores and labels, one row a query: ranks by counting or by NumPy's sort, then the same formulas."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from trecpy.api import Evaluation, Measures, options_to_protocol
from trecpy.errors import InputError
from trecpy.evaluation import score_ranked
from trecpy.kernels.dtypes import Flags, Integers, Reals
from trecpy.kernels.rank import count_better
from trecpy.names import parse_names
from trecpy.packed import Documents, Qrels, Ranked, as_stored
from trecpy.protocol import Protocol

# Up to so many judged candidates a row, counting what is better than each takes less time than sorting the row.
_FEW = 16


def evaluate_dense(
    scores: Any,
    labels: Any,
    measures: Measures = "official",
    *,
    mask: Any = None,
    docnos: Any = None,
    outside: Any = None,
    num_rel: Any = None,
    topics: Sequence[str] | None = None,
    protocol: Protocol | None = None,
    **options: Any,
) -> Evaluation:
    """
    Score reranked candidates: one row a query, one column a candidate.

    scores: float16/32/64 or integers [Q, D]; -inf is padding, as is what mask: bool[Q, D] leaves out
    labels: integers or whole floats [Q, D]  the candidate's level; below 0 or NaN: not judged; ignored at padding
    docnos: strings [Q, D], for ties; without them the later column is ranked first, so that a constant score gains
        nothing from a relevant document in column 0
    outside: as labels [Q, K]  levels of judged documents that are no candidates; they are in the ideal ranking
    num_rel: integers [Q]  relevant documents of each query, where more are known than the labels show
    topics: Q ids, "0", "1", ... unless given; values stand and are added in the order of rows
    measures, protocol, options  as evaluate() has them; arrays of other libraries are read through DLPack or __array__

    Raises InputError: shapes that do not fit, a score that is NaN, a label that is no integer.
    """
    chosen = options_to_protocol(protocol, options)
    if chosen.relevance_level < 0 or chosen.ignore_self or chosen.ties != "trec":
        raise InputError("evaluate_dense: expected relevance_level >= 0, and neither ignore_self nor other ties")
    matrix, levels, there = _matrices(scores, labels, mask)
    matrix = as_stored(matrix, chosen.compat)
    if docnos is not None:
        # Columns in byte order of docnos: then the later one of a tie is the larger one.
        order = np.argsort(_encoded(docnos, matrix.shape), axis=1, kind="stable")
        matrix, levels = np.take_along_axis(matrix, order, axis=1), np.take_along_axis(levels, order, axis=1)
        there = np.take_along_axis(there, order, axis=1)
    matrix = np.where(there, matrix, -np.inf)
    level = chosen.relevance_level
    extra = _outside(outside, num_rel, levels, level, len(matrix))
    qrels = _qrels(np.concatenate((levels, extra), axis=1), topics)
    ranked = _ranked(matrix, levels, there, extra, chosen)
    return Evaluation(score_ranked(qrels, ranked, parse_names(measures, chosen.compat), chosen))


def _matrices(scores: Any, labels: Any, mask: Any) -> tuple[Reals, Integers, Flags]:
    """Scores, levels (-1: not judged) and where there is a candidate."""
    matrix = _array(scores, "scores")
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
        raise InputError(f"scores: expected numbers [queries, candidates], found {matrix.dtype} {list(matrix.shape)}")
    matrix = matrix.astype(np.float64)
    levels = _levels(labels, "labels")
    there = matrix > -np.inf
    if mask is not None:
        given = _array(mask, "mask")
        if given.shape != matrix.shape or given.dtype.kind != "b":
            raise InputError(f"mask: expected bool {list(matrix.shape)}, found {given.dtype} {list(given.shape)}")
        there &= given
    if levels.shape != matrix.shape:
        raise InputError(f"labels: expected shape {list(matrix.shape)} as scores have, found {list(levels.shape)}")
    wrong = np.argwhere(np.isnan(matrix) if mask is None else np.isnan(matrix) & given)
    if len(wrong):
        raise InputError(f"scores: row {wrong[0][0]}, column {wrong[0][1]}: expected a number, found nan")
    return matrix, np.where(there, levels, -1), there


def _array(given: Any, what: str) -> np.ndarray[Any, Any]:
    try:
        return (
            np.from_dlpack(given)
            if hasattr(given, "__dlpack__") and not isinstance(given, np.ndarray)
            else np.asarray(given)
        )
    except (BufferError, TypeError, ValueError, RuntimeError):
        try:
            return np.asarray(given)
        except (TypeError, ValueError) as error:
            raise InputError(f"{what}: expected an array, found {type(given).__name__}: {error}") from None


def _levels(given: Any, what: str) -> Integers:
    """int64[Q, n]: levels, -1 where there is none."""
    array = _array(given, what)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InputError(f"{what}: expected levels [queries, documents], found {array.dtype} {list(array.shape)}")
    if array.dtype.kind == "f":
        filled = np.where(np.isnan(array), -1, array)
        wrong = np.argwhere((filled != np.trunc(filled)) | ~(np.abs(filled) < 2.0**63))
        if len(wrong):
            row, column = wrong[0]
            raise InputError(f"{what}: row {row}, column {column}: expected an integer, found {array[row, column]}")
        array = filled
    levels: Integers = np.maximum(array.astype(np.int64), -1)
    return levels


def _encoded(docnos: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    array = np.asarray(docnos)
    if array.shape != shape:
        raise InputError(f"docnos: expected shape {list(shape)} as scores have, found {list(array.shape)}")
    if array.dtype.kind in "iu":
        array = array.astype(str)
    return np.char.encode(array.astype(str), "utf-8", "surrogateescape") if array.dtype.kind != "S" else array


def _outside(outside: Any, num_rel: Any, levels: Integers, level: int, queries: int) -> Integers:
    """int64[Q, K]: levels of judged documents that are no candidates, -1 where there is none."""
    extra = np.zeros((queries, 0), np.int64) if outside is None else _levels(outside, "outside")
    if len(extra) != queries:
        raise InputError(f"outside: expected {queries} rows as scores have, found {len(extra)}")
    if num_rel is None:
        return extra
    wanted = _array(num_rel, "num_rel")
    if wanted.shape != (queries,) or wanted.dtype.kind not in "iu":
        raise InputError(f"num_rel: expected integers [{queries}], found {wanted.dtype} {list(wanted.shape)}")
    known = np.count_nonzero(levels >= level, axis=1) + np.count_nonzero(extra >= level, axis=1)
    lacking = wanted.astype(np.int64) - known
    if (lacking < 0).any():
        row = int(np.argmin(lacking))
        raise InputError(
            f"num_rel: row {row}: expected at least the {known[row]} that are labelled, found {wanted[row]}"
        )
    more = np.arange(lacking.max(initial=0)) < lacking[:, None]
    return np.concatenate((extra, np.where(more, max(level, 0), -1)), axis=1)


def _qrels(levels: Integers, topics: Sequence[str] | None) -> Qrels:
    """Judgements without docnos: each row's documents are those with a level."""
    judged = levels >= 0
    starts = np.concatenate(([0], np.cumsum(np.count_nonzero(judged, axis=1))))
    ids = [str(row) for row in range(len(levels))] if topics is None else [str(topic) for topic in topics]
    if len(ids) != len(levels) or len(set(ids)) < len(ids):
        raise InputError(f"topics: expected {len(levels)} different ids, found {len(set(ids))}")
    names = [name.encode("utf-8", "surrogateescape") for name in ids]
    return Qrels("qrels", "labels", names, np.arange(len(ids) + 1), Documents.anonymous(starts), levels[judged])


def _ranked(scores: Reals, levels: Integers, there: Flags, extra: Integers, protocol: Protocol) -> Ranked:
    """The rows of judged candidates, by rank."""
    query, column = np.nonzero(levels >= 0)
    rank = _ranks(scores, query, column)
    # A row's judged documents are numbered candidates first, in order of columns, then those outside.
    candidates = np.count_nonzero(levels >= 0, axis=1)
    before = np.cumsum(candidates + np.count_nonzero(extra >= 0, axis=1))
    document = np.arange(len(query)) + np.repeat(
        np.concatenate(([0], (before - np.cumsum(candidates))[:-1])), candidates
    )
    num_ret = np.count_nonzero(there, axis=1)
    order = np.lexsort((rank, query))
    query, column, rank, document = query[order], column[order], rank[order], document[order]
    if protocol.judged_only:
        rank = np.arange(1, len(query) + 1) - np.repeat(np.cumsum(candidates) - candidates, candidates)
        num_ret = candidates
    if protocol.depth is not None:
        kept = rank <= protocol.depth
        query, column, rank, document = query[kept], column[kept], rank[kept], document[kept]
        num_ret = np.minimum(num_ret, protocol.depth)
    row_starts = np.searchsorted(query, np.arange(len(scores) + 1))
    return Ranked(
        unit=np.arange(len(scores)),
        num_ret=num_ret.astype(np.int64),
        row_starts=row_starts,
        rank=rank,
        level=levels[query, column],
        document=document,
        repeated=np.zeros((0, 3), np.int64),
    )


def _ranks(scores: Reals, query: Integers, column: Integers) -> Integers:
    """int64[M]: the rank of each judged candidate, the later column first where scores are equal."""
    if len(query) <= _FEW * len(scores):
        better = np.empty(len(query), np.int64)
        count_better(scores, query, column, better)
        return better + 1
    width = scores.shape[1]
    order = np.argsort(-scores[:, ::-1], axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(1, width + 1)[None, :], axis=1)
    ranks: Integers = rank[query, width - 1 - column]
    return ranks
