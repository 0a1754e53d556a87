"""Matrices of scores and labels, one row a query: ranks by counting or by NumPy's sort, then the same formulas."""

from typing import Any

import numpy as np

from trecpy.api import Evaluation, Measures
from trecpy.arrays import starts_of
from trecpy.errors import InputError
from trecpy.evaluation import Plan, score_ranked
from trecpy.inputs import first_twice, pack
from trecpy.kernels import dense as kernel
from trecpy.kernels.dtypes import Flags, Integers, Reals
from trecpy.names import parse_names
from trecpy.packed import Documents, Qrels, as_stored
from trecpy.protocol import Protocol, chosen_protocol
from trecpy.ranked import Ranked
from trecpy.text import described, shown


def evaluate_dense(
    scores: Any,
    labels: Any,
    measures: Measures = "official",
    *,
    mask: Any = None,
    docnos: Any = None,
    outside: Any = None,
    num_rel: Any = None,
    topics: Any = None,
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
    topics: Q ids, else the rows' numbers with leading zeros; as everywhere, values stand and are added in their byte
        order, which of the numbers is the order of rows
    measures, protocol, options  as evaluate() has them; arrays of other libraries are read through DLPack or __array__

    Raises InputError: shapes that do not fit, a score that is NaN, a label that is no integer, an option that has no
    meaning here. MeasureError, ParameterError, TopicError as evaluate() does.
    """
    chosen = chosen_protocol(protocol, options)
    if chosen.relevance_level < 0 or chosen.ignore_self or chosen.ties == "input" or chosen.duplicates != "error":
        raise InputError(
            "evaluate_dense: expected relevance_level >= 0, and no ignore_self, duplicates, or ties='input'"
        )
    matrix, levels, there = _matrices(scores, labels, mask)
    matrix = as_stored(matrix, chosen.compat)
    if docnos is not None:
        # Columns in byte order of docnos: then the later one of a tie is the larger one.
        order = np.argsort(_encoded(docnos, matrix.shape), axis=1, kind="stable")
        matrix, levels = np.take_along_axis(matrix, order, axis=1), np.take_along_axis(levels, order, axis=1)
        there = np.take_along_axis(there, order, axis=1)
    # A candidate whose score left float32's range is still above padding.
    matrix = np.where(there, np.maximum(matrix, -np.finfo(np.float64).max), -np.inf)
    extra = _outside(outside, num_rel, levels, chosen.relevance_level, len(matrix))
    ids = _topic_ids(topics, len(matrix))
    if topics is not None:
        rows = sorted(range(len(ids)), key=ids.__getitem__)
        matrix, levels, there, extra = matrix[rows], levels[rows], there[rows], extra[rows]
        ids.sort()
    qrels = _qrels(np.concatenate((levels, extra), axis=1), ids)
    plan = Plan(qrels, parse_names(measures, chosen.compat), chosen)
    return Evaluation(score_ranked(plan, _ranked(matrix, levels, extra)), [qrels])


def _topic_ids(topics: Any, count: int) -> list[bytes]:
    """The ids of the rows, as bytes."""
    given = [f"{row:0{len(str(max(count - 1, 0)))}d}" for row in range(count)] if topics is None else list(topics)
    data, spans = pack(given, "topics", "topic")
    ids = [data[at : at + size].tobytes() for at, size in spans.tolist()]
    if len(ids) != count or first_twice(ids) is not None:
        raise InputError(f"topics: expected {count} different ids, found {len(set(ids))}")
    return ids


def _matrices(scores: Any, labels: Any, mask: Any) -> tuple[Reals, Integers, Flags]:
    """Scores, levels (-1: not judged) and where there is a candidate."""
    given = _array(scores, "scores")
    if given.ndim != 2 or given.dtype.kind not in "fiu" or len(given) == 0:
        raise InputError(f"scores: expected numbers [queries, candidates], found {given.dtype} {list(given.shape)}")
    matrix = given.astype(np.float64)
    there = ~(matrix == -np.inf)
    if mask is not None:
        flags = _array(mask, "mask")
        if flags.shape != matrix.shape or flags.dtype.kind != "b":
            raise InputError(f"mask: expected bool {list(matrix.shape)}, found {flags.dtype} {list(flags.shape)}")
        there &= flags
    wrong = np.argwhere(np.isnan(matrix) & there)
    if len(wrong):
        raise InputError(f"scores: row {wrong[0][0]}, column {wrong[0][1]}: expected a number, found nan")
    judged = _array(labels, "labels")
    if judged.shape != matrix.shape:
        raise InputError(f"labels: expected shape {list(matrix.shape)} as scores have, found {list(judged.shape)}")
    return matrix, _levels(np.where(there, judged, 0), "labels", there), there


def _array(given: Any, what: str) -> np.ndarray[Any, Any]:
    if np.ma.isMaskedArray(given):
        raise InputError(f"{what}: expected a plain array and a mask by mask=, found a masked array")
    foreign = hasattr(given, "__dlpack__") and not isinstance(given, np.ndarray)
    try:
        return np.from_dlpack(given) if foreign else np.asarray(given)
    except (BufferError, TypeError, ValueError, RuntimeError):
        try:
            return np.asarray(given)
        except (BufferError, TypeError, ValueError, RuntimeError) as error:
            raise InputError(f"{what}: expected an array, found {described(given)}: {shown(str(error))}") from None


def _levels(array: np.ndarray[Any, Any], what: str, there: Flags | None = None) -> Integers:
    """int64[Q, n]: levels, -1 where there is none."""
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InputError(f"{what}: expected levels [queries, documents], found {array.dtype} {list(array.shape)}")
    plain = np.where(np.isnan(array), -1, array) if array.dtype.kind == "f" else array
    wrong = np.argwhere((plain != np.trunc(plain)) | (np.abs(plain.astype(np.float64)) >= 2.0**63))
    if len(wrong):
        row, column = wrong[0]
        raise InputError(f"{what}: row {row}, column {column}: expected an integer level, found {array[row, column]}")
    levels: Integers = np.maximum(plain.astype(np.int64), -1)
    return levels if there is None else np.where(there, levels, -1)


def _encoded(docnos: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The docnos as bytes of one length, padded with NUL, which sort as the docnos do."""
    array = _array(docnos, "docnos")
    if array.shape != shape:
        raise InputError(f"docnos: expected shape {list(shape)} as scores have, found {list(array.shape)}")
    data, spans = pack(array.ravel(), "docnos", "docno")
    raw = data.tobytes()
    return np.array([raw[at : at + size] for at, size in spans.tolist()]).reshape(shape)


def _outside(outside: Any, num_rel: Any, levels: Integers, level: float, queries: int) -> Integers:
    """int64[Q, K]: levels of judged documents that are no candidates, -1 where there is none."""
    extra = np.zeros((queries, 0), np.int64) if outside is None else _levels(_array(outside, "outside"), "outside")
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


def _qrels(levels: Integers, topics: list[bytes]) -> Qrels:
    """Judgements without docnos: each row's documents are those with a level."""
    judged = levels >= 0
    starts = starts_of(np.count_nonzero(judged, axis=1))
    units = np.arange(len(topics) + 1)
    return Qrels("qrels", "labels", topics, units, Documents.anonymous(starts), levels[judged])


def _ranked(scores: Reals, levels: Integers, extra: Integers) -> Ranked:
    """The rows of judged candidates, by rank."""
    judged = levels >= 0
    query, column = np.nonzero(judged)
    candidates = np.count_nonzero(judged, axis=1)
    starts = starts_of(candidates)
    (first, last, rank), num_ret = np.empty((3, len(query)), np.int64), np.empty(len(scores), np.int64)
    kernel.count(scores, starts, column, first, last, rank, num_ret)
    # A row's judged documents are numbered candidates first, in order of columns, then those outside.
    others = np.cumsum(np.count_nonzero(extra >= 0, axis=1))
    document = np.arange(len(query)) + np.repeat(np.concatenate(([0], others[:-1])), candidates)
    order = np.lexsort((rank, query))
    return Ranked(
        unit=np.arange(len(scores)),
        num_ret=num_ret,
        row_starts=starts,
        rank=rank[order],
        level=levels[judged][order],
        document=document[order],
        first=first[order],
        last=last[order],
        tied_pairs=np.zeros(len(scores), np.int64),
        repeated=np.full((len(scores), 3), -1),
    )
