"""Matrices of scores and labels, one row a query: ranks of the labelled candidates, then the same formulas."""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trecpy.api import Evaluation, Measures, merge
from trecpy.arrays import sizes_of, starts_of
from trecpy.errors import InputError, NothingScoredError, TopicError
from trecpy.evaluation import score_ranked
from trecpy.inputs import first_twice, pack
from trecpy.kernels import locate as kernel
from trecpy.kernels.dtypes import Integers, Reals
from trecpy.names import parse_names
from trecpy.packed import Documents, Qrels, as_stored, coded, digest, row_ids
from trecpy.plan import Plan, reads_nonrelevant
from trecpy.protocol import Compat, Protocol, chosen_protocol
from trecpy.ranked import ONCE, Ranked
from trecpy.registry import Column
from trecpy.text import described, quoted, shown
from trecpy.threads import in_order, workers_of

# Up to so many judged candidates a line, counting what is better than each takes less time than sorting the line.
_FEW = 16
_MOST_OUTSIDE = 1 << 28  # relevant documents that num_rel may tell of
_CACHED = 1 << 16  # scores that are sorted at a time, so that they stay in a processor's cache
_TOGETHER = 1 << 20  # and those that are scored at a time: less memory is touched, and threads have parts of the work


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
    threads: int | None = None,
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
    threads: that work on blocks of rows, by default as many as there are cores for this process; the result does not
        depend on it
    measures, protocol, options  as evaluate() has them; arrays of other libraries are read through DLPack or __array__

    Of the counts tied_pairs and ranked_judged are None: to count them takes longer than all the rest.

    Raises InputError: shapes that do not fit, a score that is NaN, a label that is no integer, an option that has no
    meaning here. MeasureError, ParameterError, TopicError as evaluate() does; of duplicates only docnos tell.
    """
    workers = workers_of(threads)
    chosen = chosen_protocol(protocol, options)
    if chosen.relevance_level < 0 or chosen.ignore_self:
        raise InputError("evaluate_dense: expected relevance_level >= 0, and no ignore_self")
    if chosen.ties == "rank":
        raise InputError("evaluate_dense: expected ties by score, found 'rank', which is for files that state ranks")
    if docnos is not None and chosen.duplicates not in ("error", "keep"):
        raise InputError(f"evaluate_dense: expected duplicates 'error' or 'keep', found {chosen.duplicates!r}")
    if docnos is not None and chosen.ties == "input":
        raise InputError("evaluate_dense: expected no docnos where ties are 'input': columns decide then")
    columns = parse_names(measures, chosen.compat)
    least = 0 if reads_nonrelevant(columns, chosen) else 1
    given = _Given.checked(scores, labels, mask, docnos, outside, num_rel)
    count, width = given.scores.shape
    ids = _topic_ids(topics, count)
    order = None if topics is None else sorted(range(count), key=ids.__getitem__)
    step = max(1, _TOGETHER // max(width, 1))

    def scored(begin: int) -> Evaluation:
        rows = range(count)[begin : begin + step] if order is None else order[begin : begin + step]
        return _scored(given.some(rows), [ids[row] for row in rows], columns, chosen, least)

    parts = [part for _, part in in_order(scored, range(0, count, step), workers, alone=0)]
    evaluation = merge(*parts) if len(parts) > 1 else parts[0]
    if not evaluation.counts.scored:
        raise NothingScoredError("no topic has a relevant document, and those without are left out")
    return evaluation


def _scored(given: "_Given", ids: list[bytes], columns: Sequence[Column], protocol: Protocol, least: int) -> Evaluation:
    """Score some lines. ids: of their topics, in byte order; least: the smallest label that matters."""
    scores = given.float_scores()
    candidates = given.labelled("labels", scores, least, protocol)
    others = given.elsewhere(candidates, least, protocol)
    matrix = _stored(scores, protocol.compat)
    if given.docnos is not None:
        # Columns in byte order of docnos: then the later one of a tie is the larger one.
        docnos = np.where(scores != -np.inf, given.docnos, b"")
        order = np.argsort(docnos, axis=1, kind="stable")
        if protocol.duplicates == "error":
            _check_once(np.take_along_axis(docnos, order, axis=1), ids)
        matrix = np.take_along_axis(matrix, order, axis=1)
        candidates = candidates.moved(np.argsort(order, axis=1)[candidates.query, candidates.column])
    qrels, document = _qrels(candidates, others, ids)
    ranked = _ranked(matrix, candidates, qrels.level[document], document)
    if ranked is None:
        line, column = np.argwhere(np.isnan(scores))[0]
        raise InputError(f"scores: row {given.rows[line]}, column {column}: expected a number, found nan")
    plan = Plan(qrels, columns, protocol)
    mirrored = _earlier_first(ranked) if any(ranking.ties == "input" for ranking in plan.rankings) else ranked
    scored = score_ranked(plan, [mirrored if ranking.ties == "input" else ranked for ranking in plan.rankings])
    # One hash of all lines, under the id of the first, so that parts that are merged keep theirs.
    hashed = digest(ranked.num_ret, np.stack((ranked.rank, ranked.document), dtype=np.int32, casting="unsafe"))
    return Evaluation(replace(scored, digests={ids[0]: hashed}), [qrels])


@dataclass(frozen=True)
class _Labelled:
    """Some documents with labels, line by line. query, column: int64[M]; value: int64[M] or float64[M]  the label."""

    query: Integers
    column: Integers
    value: np.ndarray[Any, Any]

    def moved(self, column: Integers) -> "_Labelled":
        """The same in other columns: int64[M]."""
        return _Labelled(self.query, column, self.value).in_order()

    def in_order(self) -> "_Labelled":
        """The same line by line, each by columns."""
        order = np.lexsort((self.column, self.query))
        return _Labelled(self.query[order], self.column[order], self.value[order])


def _topic_ids(topics: Any, count: int) -> list[bytes]:
    """The ids of the rows, as bytes."""
    if topics is None:
        return list(row_ids(count))
    if isinstance(topics, str | bytes | Set) or not isinstance(topics, Iterable):
        raise InputError(f"topics: expected {count} ids in the order of rows, found {described(topics)}")
    data, spans = pack(list(topics), "topics", "topic")
    ids = [data[at : at + size].tobytes() for at, size in spans.tolist()]
    if len(ids) != count or first_twice(ids) is not None:
        raise InputError(f"topics: expected {count} different ids, found {len(set(ids))}")
    return ids


@dataclass(frozen=True)
class _Given:
    """
    Arrays as they were given, or some lines of them; their shapes and dtypes fit.

    rows: the numbers of the Q lines; scores, labels: [Q, D]; mask: bool[Q, D]; docnos: bytes [Q, D] that sort as they
    do; outside: [Q, K]; num_rel: integers [Q]
    """

    rows: Sequence[int]
    scores: np.ndarray[Any, Any]
    labels: np.ndarray[Any, Any]
    mask: np.ndarray[Any, Any] | None
    docnos: np.ndarray[Any, Any] | None
    outside: np.ndarray[Any, Any] | None
    num_rel: np.ndarray[Any, Any] | None

    @classmethod
    def checked(cls, scores: Any, labels: Any, mask: Any, docnos: Any, outside: Any, num_rel: Any) -> "_Given":
        """Raises InputError: a shape or a dtype."""
        values = _array(scores, "scores")
        shape = list(values.shape)
        if values.ndim != 2 or values.dtype.kind not in "fiu" or len(values) == 0:
            raise InputError(f"scores: expected numbers [queries, candidates], found {values.dtype} {shape}")
        levels = _levels(labels, "labels")
        if levels.shape != values.shape:
            raise InputError(f"labels: expected shape {shape} as scores have, found {list(levels.shape)}")
        flags = None if mask is None else _array(mask, "mask")
        if flags is not None and (flags.shape != values.shape or flags.dtype.kind != "b"):
            raise InputError(f"mask: expected bool {shape}, found {flags.dtype} {list(flags.shape)}")
        others = None if outside is None else _levels(outside, "outside")
        if others is not None and len(others) != len(values):
            raise InputError(f"outside: expected {len(values)} rows as scores have, found {len(others)}")
        known = None if num_rel is None else _array(num_rel, "num_rel")
        if known is not None:
            if known.shape != values.shape[:1] or known.dtype.kind not in "iu":
                wanted = f"integers [{len(values)}]"
                raise InputError(f"num_rel: expected {wanted}, found {known.dtype} {list(known.shape)}")
            if (total := known.sum(dtype=float)) > _MOST_OUTSIDE:
                raise InputError(f"num_rel: expected at most {_MOST_OUTSIDE:,} documents in all, found {total:,.0f}")
        encoded = None if docnos is None else _encoded(docnos, values.shape)
        return cls(range(len(values)), values, levels, flags, encoded, others, known)

    def some(self, rows: Sequence[int]) -> "_Given":
        """These lines, in this order."""
        chosen = slice(rows.start, rows.stop) if isinstance(rows, range) else rows
        arrays = (self.scores, self.labels, self.mask, self.docnos, self.outside, self.num_rel)
        return _Given(rows, *(None if each is None else each[chosen] for each in arrays))  # type: ignore[arg-type]

    def float_scores(self) -> Reals:
        """float64[Q, D]: the scores, -inf where there is no candidate; they may be NaN."""
        matrix = np.ascontiguousarray(self.scores, np.float64)
        return matrix if self.mask is None else np.where(self.mask, matrix, -np.inf)

    def labelled(self, what: str, scores: Reals | None, least: int, protocol: Protocol) -> _Labelled:
        """
        The documents with a label that is at least 0, or above 0 where least is 1; those alone that have a score.

        what: "labels" or "outside"; scores: float64[Q, D], as float_scores() gives them
        """
        array = self.labels if what == "labels" else self.outside
        assert array is not None
        flat = np.ascontiguousarray(array).reshape(-1)
        with np.errstate(invalid="ignore"):  # NaN is not judged
            counted = flat > 0 if least else flat >= 0
        chosen = np.flatnonzero(counted)
        if scores is not None:
            there = scores.reshape(-1).take(chosen) != -np.inf
            chosen = chosen if there.all() else chosen[there]
        value = flat.take(chosen)
        lines, width = array.shape
        starts = np.searchsorted(chosen, np.arange(lines + 1) * width)
        query = np.repeat(np.arange(lines), sizes_of(starts))
        column = chosen - query * width
        if array.dtype.kind == "f":
            value = value.astype(np.float64)  # float16 ends at 65504
            fine = np.isfinite(value) if protocol.gains == "float" else (value == np.trunc(value)) & (value < 2.0**63)
        else:
            fine = value <= np.uint64(2**63 - 1) if array.dtype.kind == "u" else np.ones(len(value), bool)
        if not fine.all():
            m = int(np.argmin(fine))
            kind = "a finite level" if protocol.gains == "float" else "an integer level"
            how = "; gains='float' takes fractions as they are" if value[m] != np.trunc(value[m]) else ""
            where = f"{what}: row {self.rows[query[m]]}, column {column[m]}"
            raise InputError(f"{where}: expected {kind}, found {value[m]}{how}")
        return _Labelled(query, column, value if array.dtype.kind == "f" else value.astype(np.int64, copy=False))

    def elsewhere(self, candidates: _Labelled, least: int, protocol: Protocol) -> _Labelled:
        """Judged documents that are no candidates: those given, and as many more relevant ones as num_rel says."""
        none = np.zeros(0, np.int64)
        others = (
            _Labelled(none, none, none) if self.outside is None else self.labelled("outside", None, least, protocol)
        )
        if self.num_rel is None:
            return others
        level, queries = protocol.relevance_level, len(self.rows)
        relevant = [each.query[each.value >= level] for each in (candidates, others)]
        known = np.bincount(np.concatenate(relevant), minlength=queries)
        lacking = self.num_rel.astype(np.int64) - known
        if (lacking < 0).any():
            line = int(np.argmin(lacking))
            wanted = f"at least the {known[line]} that are labelled"
            raise InputError(f"num_rel: row {self.rows[line]}: expected {wanted}, found {self.num_rel[line]}")
        query = np.concatenate((others.query, np.repeat(np.arange(queries), lacking)))
        value = np.concatenate((others.value, np.full(int(lacking.sum()), level)))
        return _Labelled(query, np.zeros(len(query), np.int64), value).in_order()


def _stored(matrix: Reals, compat: Compat) -> Reals:
    """Scores as a generation stores them; a candidate whose score left float32's range is still above padding."""
    if compat != "9.0.8":
        return matrix
    return np.where(matrix == -np.inf, -np.inf, np.maximum(as_stored(matrix, compat), -np.finfo(np.float64).max))


def _levels(given: Any, what: str) -> np.ndarray[Any, Any]:
    array = _array(given, what)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InputError(f"{what}: expected levels [queries, documents], found {array.dtype} {list(array.shape)}")
    return array


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


def _check_once(docnos: np.ndarray[Any, Any], ids: list[bytes]) -> None:
    """Raises TopicError: a candidate twice in a line. docnos: bytes [Q, D], each line sorted, empty at padding."""
    twice = (docnos[:, 1:] == docnos[:, :-1]) & (docnos[:, 1:] != b"")
    if twice.any():
        line, place = np.argwhere(twice)[0]
        docno = quoted(docnos[line, place])
        raise TopicError(f"topic {quoted(ids[line])}: expected a document once in the ranking, found {docno} twice")


def _qrels(candidates: _Labelled, others: _Labelled, topics: list[bytes]) -> tuple[Qrels, Integers]:
    """Judgements without docnos, and int64[M]: the number of each candidate among their documents."""
    value, query, document = candidates.value, candidates.query, np.arange(len(candidates.query))
    if len(others.query):  # a line's candidates come first
        query = np.concatenate((query, others.query))
        order = np.argsort(query, kind="stable")
        value, number = np.concatenate((value, others.value))[order], np.empty(len(query), np.int64)
        number[order] = np.arange(len(query))
        query, document = query[order], number[document]
    level, grades = coded(value)
    starts = starts_of(np.bincount(query, minlength=len(topics)))
    documents = Documents.anonymous(starts)
    return Qrels("qrels", "labels", topics, np.arange(len(topics) + 1), documents, level, grades=grades), document


def _ranked(scores: Reals, candidates: _Labelled, level: Integers, document: Integers) -> Ranked | None:
    """The rows of judged candidates, by rank; None: a score is NaN."""
    queries, width = scores.shape
    starts = starts_of(np.bincount(candidates.query, minlength=queries))
    rows, num_ret = np.empty((kernel.ROW_SIZE, len(level)), np.int64), np.empty(queries, np.int64)
    if len(level) <= _FEW * queries:
        if kernel.count(scores, starts, candidates.column, level, document, rows, num_ret) >= 0:
            return None
    else:
        number, place = np.full(width, -1), np.empty(width + 1, np.int64)
        step = max(1, _CACHED // max(width, 1))
        keys = np.empty((min(step, queries), width), np.uint64)
        for begin in range(0, queries, step):
            lines = scores[begin : begin + step]
            some, found, bounds = keys[: len(lines)], num_ret[begin : begin + step], starts[begin : begin + step + 1]
            if kernel.make_keys(lines, lines.view(np.uint64), some, found) >= 0:
                return None
            some.sort(axis=1)  # NumPy's sort uses vectors of numbers, numba's does not
            kernel.read_keys(lines, some, bounds, candidates.column, level, document, number, place, rows, found)
    rank, level, document, first, last = rows
    pairs = np.zeros(queries, np.int64)
    return Ranked(np.arange(queries), num_ret, starts, rank, level, document, first, last, pairs, ONCE)


def _earlier_first(ranked: Ranked) -> Ranked:
    """The same with the earlier column first where scores are equal."""
    rank = ranked.first + ranked.last - ranked.rank
    order = np.lexsort((rank, ranked.query))
    return replace(ranked.in_order(order), rank=rank[order])
