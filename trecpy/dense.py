"""Matrices of scores and labels, one row a query: ranks of the labelled candidates, then the same formulas."""

import functools
from collections.abc import Iterable, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trecpy.api import Evaluation, Measures
from trecpy.arrays import starts_of
from trecpy.errors import InputError
from trecpy.evaluation import score_ranked
from trecpy.inputs import first_twice, pack
from trecpy.kernels import locate as kernel
from trecpy.kernels.dtypes import Integers, Reals
from trecpy.names import parse_names
from trecpy.packed import Documents, Qrels, as_stored, coded, digest
from trecpy.plan import Plan, reads_nonrelevant
from trecpy.protocol import Compat, Protocol, chosen_protocol
from trecpy.ranked import ONCE, Ranked
from trecpy.text import described, shown

# Up to so many judged candidates a line, counting what is better than each takes less time than sorting the line.
_FEW = 16
_MOST_OUTSIDE = 1 << 28  # relevant documents that only num_rel knows
_CACHED = 1 << 16  # scores that are sorted at a time, so that they stay in a processor's cache


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
    protocol: Protocol | str | None = None,
    **options: Any,
) -> Evaluation:
    """
    Score reranked candidates: one row a query, one column a candidate.

    scores: float16/32/64 or integers [Q, D]; -inf is padding, as is what mask: bool[Q, D] leaves out
    labels: integers or whole floats [Q, D]  the candidate's level; below 0 or NaN: not judged; ignored at padding;
        fractions with gains="float"
    docnos: strings [Q, D], for ties; without them the later column is ranked first, so that a constant score gains
        nothing from a relevant document in column 0; with ties="input" the earlier column is
    outside: as labels [Q, K]  levels of judged documents that are no candidates; they are in the ideal ranking
    num_rel: integers [Q]  relevant documents of each query, where more are known than the labels show
    topics: Q ids, else the rows' numbers with leading zeros; as everywhere, values stand and are added in their byte
        order, which of the numbers is the order of rows
    measures, protocol, options  as evaluate() has them; arrays of other libraries are read through DLPack or __array__

    Of the counts tied_pairs and ranked_judged are None: to count them takes longer than all the rest.

    Raises InputError: shapes that do not fit, a score that is NaN, a label that is no integer, an option that has no
    meaning here. MeasureError, ParameterError, TopicError as evaluate() does.
    """
    chosen = chosen_protocol(protocol, options)
    if chosen.relevance_level < 0 or chosen.ignore_self or chosen.duplicates != "error":
        raise InputError("evaluate_dense: expected relevance_level >= 0, and no ignore_self or duplicates")
    if docnos is not None and chosen.ties == "input":
        raise InputError("evaluate_dense: expected no docnos where ties are 'input': columns decide then")
    columns = parse_names(measures, chosen.compat)
    least = 0 if reads_nonrelevant(columns, chosen) else 1
    given = _scores(scores, mask)
    candidates = _labelled(labels, "labels", given, least, chosen)
    others = _outside(outside, num_rel, len(given), least, chosen, candidates)
    ids, matrix = _topic_ids(topics, len(given)), _stored(given, chosen.compat)
    if docnos is not None:
        # Columns in byte order of docnos: then the later one of a tie is the larger one.
        order = np.argsort(_encoded(docnos, matrix.shape), axis=1, kind="stable")
        matrix = np.take_along_axis(matrix, order, axis=1)
        candidates = candidates.moved(column=np.argsort(order, axis=1)[candidates.query, candidates.column])
    if topics is not None:
        rows = sorted(range(len(ids)), key=ids.__getitem__)
        ids, matrix, place = [ids[row] for row in rows], matrix[rows], np.argsort(rows)
        candidates, others = candidates.moved(place[candidates.query]), others.moved(place[others.query])
    qrels, document = _qrels(candidates, others, ids)
    ranked = _ranked(matrix, candidates, qrels.level[document], document)
    if ranked is None:
        row, column = np.argwhere(np.isnan(given))[0]
        raise InputError(f"scores: row {row}, column {column}: expected a number, found nan")
    plan = Plan(qrels, columns, chosen)
    mirrored = _earlier_first(ranked) if any(ranking.ties == "input" for ranking in plan.rankings) else ranked
    scored = score_ranked(plan, [mirrored if ranking.ties == "input" else ranked for ranking in plan.rankings])
    # One hash of all rows, under the id of the first, so that parts that are merged keep theirs.
    scored.digests[ids[0]] = digest(
        ranked.num_ret, np.stack((ranked.rank, ranked.document), dtype=np.int32, casting="unsafe")
    )
    return Evaluation(scored, [qrels])


@dataclass(frozen=True)
class _Labelled:
    """Some documents with labels, line by line. query, column: int64[M]; value: int64[M] or float64[M]  the label."""

    query: Integers
    column: Integers
    value: np.ndarray[Any, Any]

    def moved(self, query: Integers | None = None, column: Integers | None = None) -> "_Labelled":
        """The same at other places, line by line again."""
        query, column = (self.query if query is None else query), (self.column if column is None else column)
        order = np.lexsort((column, query))
        return _Labelled(query[order], column[order], self.value[order])


@functools.lru_cache(8)
def _row_numbers(count: int) -> list[bytes]:
    """0, 1, ... as ids of one length."""
    return [b"%0*d" % (len(str(count - 1)), row) for row in range(count)]


def _topic_ids(topics: Any, count: int) -> list[bytes]:
    """The ids of the rows, as bytes."""
    if topics is None:
        return list(_row_numbers(count))
    if isinstance(topics, str | bytes | Set) or not isinstance(topics, Iterable):
        raise InputError(f"topics: expected {count} ids in the order of rows, found {described(topics)}")
    data, spans = pack(list(topics), "topics", "topic")
    ids = [data[at : at + size].tobytes() for at, size in spans.tolist()]
    if len(ids) != count or first_twice(ids) is not None:
        raise InputError(f"topics: expected {count} different ids, found {len(set(ids))}")
    return ids


def _scores(scores: Any, mask: Any) -> Reals:
    """float64[Q, D]: the scores, -inf where there is no candidate; they may be NaN."""
    given = _array(scores, "scores")
    if given.ndim != 2 or given.dtype.kind not in "fiu" or len(given) == 0:
        raise InputError(f"scores: expected numbers [queries, candidates], found {given.dtype} {list(given.shape)}")
    matrix = np.ascontiguousarray(given, np.float64)
    if mask is None:
        return matrix
    flags = _array(mask, "mask")
    if flags.shape != matrix.shape or flags.dtype.kind != "b":
        raise InputError(f"mask: expected bool {list(matrix.shape)}, found {flags.dtype} {list(flags.shape)}")
    return np.where(flags, matrix, -np.inf)


def _stored(matrix: Reals, compat: Compat) -> Reals:
    """Scores as a generation stores them; a candidate whose score left float32's range is still above padding."""
    if compat != "9.0.8":
        return matrix
    return np.where(matrix == -np.inf, -np.inf, np.maximum(as_stored(matrix, compat), -np.finfo(np.float64).max))


def _labelled(labels: Any, what: str, scores: Reals | None, least: int, protocol: Protocol) -> _Labelled:
    """The documents with a label that is at least 0, or above 0 where least is 1, and those alone that have a score."""
    array = _array(labels, what)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InputError(f"{what}: expected levels [queries, documents], found {array.dtype} {list(array.shape)}")
    if scores is not None and array.shape != scores.shape:
        raise InputError(f"{what}: expected shape {list(scores.shape)} as scores have, found {list(array.shape)}")
    flat = np.ascontiguousarray(array).reshape(-1)
    with np.errstate(invalid="ignore"):  # NaN is not judged
        chosen = np.flatnonzero(flat > 0 if least else flat >= 0)
    if scores is not None:
        there = scores.reshape(-1).take(chosen) != -np.inf
        chosen = chosen if there.all() else chosen[there]
    value = flat.take(chosen)
    query, column = np.divmod(chosen, max(array.shape[1], 1))
    if array.dtype.kind == "f":
        value = value.astype(np.float64)  # float16 ends at 65504
        fine = np.isfinite(value) if protocol.gains == "float" else (value == np.trunc(value)) & (value < 2.0**63)
    else:
        fine = value <= np.uint64(2**63 - 1) if array.dtype.kind == "u" else np.ones(len(value), bool)
    if not fine.all():
        m = int(np.argmin(fine))
        kind = "a finite level" if protocol.gains == "float" else "an integer level"
        how = "; gains='float' takes fractions as they are" if value[m] != np.trunc(value[m]) else ""
        raise InputError(f"{what}: row {query[m]}, column {column[m]}: expected {kind}, found {value[m]}{how}")
    return _Labelled(query, column, value if array.dtype.kind == "f" else value.astype(np.int64))


def _outside(
    outside: Any, num_rel: Any, queries: int, least: int, protocol: Protocol, candidates: _Labelled
) -> _Labelled:
    """Judged documents that are no candidates: those given, and as many more relevant ones as num_rel says."""
    none = np.zeros((queries, 0), np.int64) if outside is None else _array(outside, "outside")
    if none.ndim != 2:
        raise InputError(f"outside: expected levels [{queries}, documents], found {none.dtype} {list(none.shape)}")
    if len(none) != queries:
        raise InputError(f"outside: expected {queries} rows as scores have, found {len(none)}")
    others = _labelled(none, "outside", None, least, protocol)
    if num_rel is None:
        return others
    wanted = _array(num_rel, "num_rel")
    if wanted.shape != (queries,) or wanted.dtype.kind not in "iu":
        raise InputError(f"num_rel: expected integers [{queries}], found {wanted.dtype} {list(wanted.shape)}")
    level = protocol.relevance_level
    relevant = [each.query[each.value >= level] for each in (candidates, others)]
    known = np.bincount(np.concatenate(relevant), minlength=queries)
    lacking = wanted.astype(np.int64) - known
    if (lacking < 0).any():
        row = int(np.argmin(lacking))
        raise InputError(
            f"num_rel: row {row}: expected at least the {known[row]} that are labelled, found {wanted[row]}"
        )
    if lacking.sum() > _MOST_OUTSIDE:
        raise InputError(
            f"num_rel: expected at most {_MOST_OUTSIDE:,} documents beside the labels, found {lacking.sum():,}"
        )
    query = np.concatenate((others.query, np.repeat(np.arange(queries), lacking)))
    value = np.concatenate((others.value, np.full(int(lacking.sum()), level)))
    return _Labelled(query, np.zeros(len(query), np.int64), value).moved()


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


def _encoded(docnos: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The docnos as bytes of one length, padded with NUL, which sort as the docnos do."""
    array = _array(docnos, "docnos")
    if array.shape != shape:
        raise InputError(f"docnos: expected shape {list(shape)} as scores have, found {list(array.shape)}")
    data, spans = pack(array.ravel(), "docnos", "docno")
    raw = data.tobytes()
    return np.array([raw[at : at + size] for at, size in spans.tolist()]).reshape(shape)


def _qrels(candidates: _Labelled, others: _Labelled, topics: list[bytes]) -> tuple[Qrels, Integers]:
    """Judgements without docnos, and int64[M]: the number of each candidate among their documents."""
    level, grades = coded(np.concatenate((candidates.value, others.value)))
    query = np.concatenate((candidates.query, others.query))
    document = np.arange(len(candidates.query))
    if len(others.query):  # a line's candidates come first
        order = np.argsort(query, kind="stable")
        level, number = level[order], np.empty(len(query), np.int64)
        number[order] = np.arange(len(query))
        document = number[document]
    starts = starts_of(np.bincount(query, minlength=len(topics)))
    documents = Documents.anonymous(starts)
    return Qrels("qrels", "labels", topics, np.arange(len(topics) + 1), documents, level, grades=grades), document


def _ranked(scores: Reals, candidates: _Labelled, level: Integers, document: Integers) -> Ranked | None:
    """The rows of judged candidates, by rank; None: a score is NaN."""
    queries, width = scores.shape
    starts = starts_of(np.bincount(candidates.query, minlength=queries))
    rows, num_ret = np.empty((kernel.ROW_SIZE, len(level)), np.int64), np.empty(queries, np.int64)
    at_rank = np.full(width + 1, -1)
    spare = np.empty((4, int(np.diff(starts).max()) + 1), np.int64)
    few = len(level) <= _FEW * queries
    step = queries if few else max(1, _CACHED // max(width, 1))
    for begin in range(0, queries, step):
        lines = slice(begin, begin + step)
        ascending = np.zeros((min(step, queries - begin), 0)) if few else np.sort(scores[lines], axis=1)
        bounds = starts[begin : begin + step + 1]
        if kernel.place(
            scores[lines], ascending, bounds, candidates.column, level, document, at_rank, spare, rows, num_ret[lines]
        ) >= 0:  # fmt: skip
            return None
    rank, level, document, first, last = rows
    pairs = np.zeros(queries, np.int64)
    return Ranked(np.arange(queries), num_ret, starts, rank, level, document, first, last, pairs, ONCE)


def _earlier_first(ranked: Ranked) -> Ranked:
    """The same with the earlier column first where scores are equal."""
    rank = ranked.first + ranked.last - ranked.rank
    order = np.lexsort((rank, ranked.query))
    return replace(ranked.in_order(order), rank=rank[order])
