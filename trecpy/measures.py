"""
Every measure, once, in the order in which trec_eval prints them.

A formula is written in the words of trecpy.judged.Judged; quotients are guarded by ratio(), sums are added in rank
order, so that each value is the reference's double. NumPy warns of nothing while they are computed. In the docs i is a
rank from 1, k(i) the number of relevant documents at ranks 1..i, R the number of relevant judged documents, n the
number of ranked ones.
"""

import math
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trecpy.arrays import divided, starts_of
from trecpy.errors import TopicError
from trecpy.gains import Gains
from trecpy.judged import EVERY, Judged, libm, ratio
from trecpy.kernels.dtypes import Integers, Reals
from trecpy.preferences import Preferred
from trecpy.registry import Aggregate, Cutoffs, LevelGains, OptionalCutoffs, Persistence, Points, RealList, declare
from trecpy.tables import persistence_weights

_CUTOFFS = Cutoffs((5, 10, 15, 20, 30, 100, 200, 500, 1000))
_RECALL_POINTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_MULTIPLES = Points((0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0))
_SMALLEST = 0.00001

_OFFICIAL = ("official", "all_trec")
_PREFERENCES = ("prefs", "qrels_prefs")
_EVERY_SET = ("official", "set", "all_trec", "prefs", "all_prefs", "qrels_jg")


# Counts


@declare("runid", aggregate=Aggregate.TAG, sets=_EVERY_SET, needs=(), text=True)
def runid(docs: Any) -> Any:
    """
    Run tag: the sixth column of the run's last line of data.

    Formula   none. Printed in the summary only.
    Source    trec_eval.
    """


@declare("num_q", aggregate=Aggregate.TOPICS, sets=_EVERY_SET, needs=(), integer=True)
def num_q(docs: Any) -> Any:
    """
    Number of topics that were scored; with -c, of judged topics.

    Formula   1 a topic; printed in the summary only.
    Range     [1, topics].
    Source    trec_eval.
    """


@declare(
    "num_ret",
    aggregate=Aggregate.SUM,
    sets=("official", "set", "all_trec"),
    integer=True,
    zero_if_missing=True,
    expected=True,
)
def num_ret(docs: Judged) -> Integers:
    """
    Number of documents ranked.

    Formula   n, after -M and -J.
    Range     [0, length of the ranking]; summed over topics.
    Source    trec_eval.
    """
    return docs.num_ret


@declare("num_rel", aggregate=Aggregate.RELEVANT, sets=("official", "set", "all_trec"), integer=True, expected=True)
def num_rel(docs: Judged) -> Integers:
    """
    Number of relevant documents in the judgements.

    Formula   R: judged documents with a level >= 0 that is at least the relevance level (-l).
    Range     [0, judged documents]; summed over topics.
    Edge      With -c the summary counts judgements with a level above 0 in all judged topics, whatever -l says.
    Source    trec_eval.
    """
    return docs.num_rel


@declare("num_rel_ret", aggregate=Aggregate.SUM, sets=("official", "set", "all_trec"), integer=True, expected=True)
def num_rel_ret(docs: Judged) -> Integers:
    """
    Number of relevant documents ranked.

    Formula   k(n).
    Range     [0, R]; summed over topics.
    Source    trec_eval.
    """
    return docs.num_rel_ret


# Rank measures on levels


@declare("map", sets=_OFFICIAL, expected=True)
def average_precision(docs: Judged) -> Reals:
    """
    Average precision: mean of the precision at each relevant document, those not ranked counting 0.

    Formula   sum over relevant ranks i of k(i)/i, divided by R.
    Range     [0, 1]; 0 where nothing relevant is ranked.
    Source    Buckley & Voorhees 2005, ch. 3; trec_eval. The mean over topics is MAP.
    """
    return divided(docs.precision_sum(), docs.ap_divisor(), docs.hits > 0)


@declare("gm_map", aggregate=Aggregate.GEOMETRIC, sets=_OFFICIAL)
def gm_map(docs: Judged) -> Reals:
    """
    Geometric mean of average precision over topics; it rewards gains on the worst ones.

    Formula   exp of the mean of ln(max(map, 0.00001)); printed in the summary only.
    Range     [0.00001, 1].
    Edge      A judged topic that the run lacks counts as ln(0.00001) with -c.
    Source    Robertson 2006 (On GMAP); trec_eval.
    """
    return _log_floor(average_precision(docs))


@declare("Rprec", sets=_OFFICIAL, expected=True)
def r_precision(docs: Judged) -> Reals:
    """
    Precision at rank R, the number of relevant documents.

    Formula   k(min(n, R)) / R.
    Range     [0, 1]; 0 where R or n is 0.
    Source    Buckley & Voorhees 2005; trec_eval.
    """
    return ratio(docs.found_at(np.minimum(docs.num_ret, docs.num_rel)), docs.num_rel)


@declare("bpref", sets=_OFFICIAL, nonrelevant=True)
def bpref(docs: Judged) -> Reals:
    """
    How rarely judged nonrelevant documents stand above relevant ones; documents without a judgement are passed over.

    Formula   1/R times the sum over relevant ranked documents of 1 - min(b, R) / min(N, R), where b counts the judged
              nonrelevant documents above it and N those of the topic.
    Range     [0, 1]; 0 where R is 0; a term is 1 where b is 0.
    Source    Buckley & Voorhees 2004, as corrected in trec_eval 8.
    """
    num_rel, num_nonrel = docs.num_rel[docs.query], docs.num_nonrel[docs.query]
    above = docs.so_far(docs.is_nonrelevant)
    lost = ratio(np.minimum(above, num_rel), np.minimum(num_nonrel, num_rel))
    return _by_num_rel(docs, docs.sum(np.where(docs.is_relevant, np.where(above > 0, 1.0 - lost, 1.0), 0.0)))


@declare("recip_rank", sets=_OFFICIAL, expected=True)
def reciprocal_rank(docs: Judged) -> Reals:
    """
    One over the rank of the first relevant document.

    Formula   1/i for the first relevant rank i. It has no cutoff: recip_rank.10 is recip_rank.
    Range     [0, 1]; 0 where nothing relevant is ranked.
    Source    Voorhees 1999 (TREC-8 question answering); trec_eval. The mean over topics is MRR.
    """
    return docs.reciprocal_rank()


@declare("iprec_at_recall", Points(_RECALL_POINTS), sets=_OFFICIAL)
def interpolated_precision(docs: Judged, point: float) -> Reals:
    """
    Interpolated precision at a recall point: the largest precision at that recall or beyond.

    Formula   max of k(i)/i over ranks i from that of the c-th relevant document on, c = point times R, rounded.
    Params    recall points.
    Range     [0, 1]; 0 where fewer than c relevant documents are ranked.
    Differs   Rounding: trec_eval 10.0 rounds halves away from 0; 9.0.8 takes the integer part of point*R + 0.9.
    Source    Buckley & Voorhees 2005; trec_eval.
    """
    return _interpolated(docs, (point,))[0]


@declare("P", _CUTOFFS, sets=_OFFICIAL, expected=True)
def precision(docs: Judged, k: int) -> Reals:
    """
    Precision: share of relevant documents at ranks 1..cutoff.

    Formula   k(cutoff) / cutoff, also where fewer documents are ranked.
    Params    cutoffs.
    Range     [0, 1].
    Source    trec_eval.
    """
    return docs.found(k) / k


@declare(
    "relstring",
    RealList((10.0,), first_only=True),
    aggregate=Aggregate.NONE,
    sets=("all_trec",),
    text=True,
    zero_if_missing=True,
    nonrelevant=True,
)
def relevance_string(docs: Judged, parameters: tuple[float, ...]) -> list[bytes]:
    """
    Levels of the first ranked documents, one character each.

    Formula   the level; '>' above 9; '-' for a document outside the judgements; '.' for one judged below 0.
    Params    how many documents; only the first number counts.
    Edge      Printed for topics only (-q); -l has no effect.
    Source    trec_eval.
    """
    length = int(parameters[0]) if 0 <= parameters[0] < 2.0**63 else 0
    sizes = np.minimum(docs.num_ret, length)
    starts = starts_of(sizes)
    letters = np.full(starts[-1], ord("-"), np.uint8)
    shown = docs.rank <= sizes[docs.query]
    places = (starts[docs.query] + docs.rank - 1)[shown]
    # Place of each level in the letters: 0 for -2, 1 for -1, 12 for all above 9.
    level = docs.level if docs.qrels.grades is None else np.where(docs.level < 0, docs.level, np.floor(docs.value))
    character = np.clip(level[shown], -2, 10).astype(np.int64) + 2
    letters[places] = np.frombuffer(b".-0123456789>", np.uint8)[character]
    return [letters[a:b].tobytes() for a, b in pairwise(starts.tolist())]


@declare("recall", _CUTOFFS, sets=("all_trec",), expected=True)
def recall(docs: Judged, k: int) -> Reals:
    """
    Recall: share of the relevant documents that stands at ranks 1..cutoff.

    Formula   k(cutoff) / R.
    Params    cutoffs.
    Range     [0, 1]; 0 where R is 0.
    Source    trec_eval.
    """
    return ratio(docs.found(k), docs.num_rel)


@declare("infAP", sets=("all_trec",), nonrelevant=True)
def inferred_ap(docs: Judged) -> Reals:
    """
    Inferred average precision: average precision estimated from a pool of which only a sample was judged.

    Formula   1/R times the sum over relevant ranks of the expected precision there: 1/i + (i-1)/i times the share of
              the pool above times the share of relevant documents in its judged part, smoothed by 0.00001.
    Range     [0, 1]; 0 where R is 0.
    Edge      A document of level below 0 is in the pool, not judged.
    Source    Yilmaz & Aslam 2006; trec_eval.
    """
    above = (docs.rank - 1).astype(float)
    relevant = docs.so_far(docs.is_relevant) - 1
    nonrelevant = docs.so_far(docs.is_nonrelevant)
    pooled = relevant + nonrelevant + docs.so_far(docs.level == -2)
    e = _SMALLEST
    judged_share = (relevant + e) / (relevant + nonrelevant + 2 * e)
    expected = 1.0 / (above + 1.0) + (above / (above + 1.0)) * (pooled / above) * judged_share
    return _by_num_rel(docs, docs.sum(np.where(docs.is_relevant, np.where(above > 0, expected, 1.0), 0.0)))


@declare("gm_bpref", aggregate=Aggregate.GEOMETRIC, sets=("all_trec",), nonrelevant=True)
def gm_bpref(docs: Judged) -> Reals:
    """
    Geometric mean of bpref over topics.

    Formula   exp of the mean of ln(max(bpref, 0.00001)); printed in the summary only.
    Range     [0.00001, 1].
    Source    trec_eval.
    """
    return _log_floor(bpref(docs))


@declare("Rprec_mult", _MULTIPLES, sets=("all_trec",))
def r_precision_multiple(docs: Judged, multiple: float) -> Reals:
    """
    Precision at a multiple of R documents.

    Formula   k(c) / c with c the integer part of multiple*R + 0.9; k(n) / c where c is above n.
    Params    multiples.
    Range     [0, 1]; 0 where c is 0.
    Source    trec_eval.
    """
    cutoff = _whole(multiple * docs.num_rel + 0.9)
    found = np.maximum(docs.found_at(cutoff) - docs.surplus, 0)
    return np.where(cutoff >= 1, ratio(np.where(cutoff > docs.num_ret, docs.num_rel_ret, found), cutoff), 0.0)


@declare("utility", RealList((1.0, -1.0, 0.0, 0.0)), sets=("set", "all_trec"), zero_if_missing=True, expected=True)
def utility(docs: Judged, weights: tuple[float, ...]) -> Reals:
    """
    Utility of the ranked documents as a set.

    Formula   a * relevant ranked + b * others ranked + c * relevant not ranked + d * others not ranked.
    Params    a,b,c,d: exactly four numbers.
    Range     any number. d counts against -N, which is 0 unless given.
    Source    trec_eval.
    """
    if len(weights) != 4:
        raise TopicError(f"utility: expected exactly 4 parameters, found {len(weights)}")
    a, b, c, d = weights
    n, r, found = docs.num_ret, docs.num_rel, docs.num_rel_ret
    value: Reals = a * found + b * (n - found) + c * (r - found) + d * (docs.protocol.num_docs + found - n - r)
    return value


@declare("11pt_avg", RealList(_RECALL_POINTS, multiples=True), sets=("all_trec",))
def eleven_point_average(docs: Judged, points: tuple[float, ...]) -> Reals:
    """
    Mean of interpolated precision over recall points.

    Formula   mean of iprec_at_recall at the points, added from the last to the first.
    Params    recall points, ascending; others are taken as trec_eval takes them.
    Range     [0, 1].
    Differs   As iprec_at_recall between 10.0 and 9.0.8.
    Source    trec_eval.
    """
    total = np.zeros(len(docs.unit))
    for value in reversed(_interpolated(docs, points)):
        total = total + value
    return total / len(points)


@declare("binG", sets=("all_trec",))
def binary_g(docs: Judged) -> Reals:
    """
    G with binary relevance: each relevant document discounted by the nonrelevant ones above it.

    Formula   1/R times the sum over relevant ranks i of 1 / log2(2 + i - k(i)).
    Range     [0, 1]; 0 where nothing relevant is ranked.
    Source    trec_eval (experimental there).
    """
    above = docs.rank - docs.so_far(docs.is_hit)
    terms = np.where(docs.is_hit, 1.0 / docs.discounts[above + 1], 0.0)
    return np.where(docs.hits > 0, docs.sum(terms) / docs.num_rel, 0.0)


# Measures of gain


@declare("G", LevelGains(), sets=("all_trec",))
def g(docs: Judged, parameters: tuple[Gains, float | None]) -> Reals:
    """
    Gain discounted by the cost of what was read, against the sum of all gains.

    Formula   sum over ranks i of gain(i) / log2(2 + cost(i) - gained(i)), divided by the sum of the ideal gains; gained
              is the gain at ranks 1..i, cost that of the ideal ranking there, each of its documents costing at least 1.
    Params    level=gain,...
    Range     [0, 1] for gains of at least 1; 0 where no gain is above 0. -l has no effect.
    Source    trec_eval (experimental there).
    """
    gained = docs.gained(parameters[0])
    some = gained.gain != 0
    terms = np.zeros(len(gained.gain))
    terms[some] = gained.gain[some] / libm(math.log2, (2 + gained.cost[some]) - gained.result_gain[some])
    total = gained.graded.total[gained.unit]
    return np.where(total > 0, ratio(docs.sum(terms), total), 0.0)


@declare("dcg", LevelGains(), since="10.0", expected=True)
def dcg(docs: Judged, parameters: tuple[Gains, float | None]) -> Reals:
    """
    Discounted cumulative gain of the whole ranking.

    Formula   sum over ranks i of gain(i) / log2(i + 1).
    Params    level=gain,... (the gain of a level is the level itself unless given; no 2^level).
    Range     [0, ideal_dcg] for gains >= 0. -l has no effect.
    Source    Järvelin & Kekäläinen 2002, with the discount of Burges et al. 2005; trec_eval 10.0.
    """
    return docs.dcg(gains=parameters[0])


@declare("ideal_dcg", LevelGains(), since="10.0", expected=True)
def ideal_dcg(docs: Judged, parameters: tuple[Gains, float | None]) -> Reals:
    """
    Discounted cumulative gain of the ideal ranking: all judged documents, the highest gains first.

    Formula   as dcg, over gains above 0.
    Params    level=gain,...
    Range     >= 0.
    Source    trec_eval 10.0.
    """
    return docs.ideal_dcg(gains=parameters[0])


@declare("ndcg", LevelGains(), sets=("all_trec",), expected=True)
def ndcg(docs: Judged, parameters: tuple[Gains, float | None]) -> Reals:
    """
    Normalised discounted cumulative gain of the whole ranking.

    Formula   dcg / ideal_dcg.
    Params    level=gain,...; gains closer together than 1 are not sorted in the ideal ranking, as in trec_eval.
    Range     [0, 1] for gains in order; 0 where ideal_dcg is 0. -l has no effect.
    Source    Järvelin & Kekäläinen 2002; trec_eval.
    """
    ideal = ideal_dcg(docs, parameters)
    return divided(dcg(docs, parameters), ideal, ideal > 0)


@declare("ndcg_rel", LevelGains(), sets=("all_trec",))
def ndcg_rel(docs: Judged, parameters: tuple[Gains, float | None]) -> Reals:
    """
    Mean of ndcg at each document with a gain, those not ranked counting with the ndcg of the whole ranking.

    Formula   sum over ranks with a gain of dcg(i)/ideal_dcg(i), plus the missing ones times dcg/ideal_dcg, divided by
              the length of the ideal ranking.
    Params    level=gain,...
    Range     [0, 1] for gains in order; 0 where no gain is ranked. -l has no effect.
    Source    trec_eval (experimental there).
    """
    gained = docs.gained(parameters[0])
    some = gained.gain > 0
    terms = np.where(some, gained.dcg / gained.ideal_at_rows(), 0.0)
    ranked = docs.sum(some.astype(float))
    total = docs.sum(terms) + ((gained.length - ranked) * gained.total_dcg) / gained.ideal_dcg
    return np.where(total > 0, total / gained.length, 0.0)


@declare("Rndcg", LevelGains(), sets=("all_trec",))
def r_ndcg(docs: Judged, parameters: tuple[Gains, float | None]) -> Reals:
    """
    Mean of ndcg at the ranks where the ideal ranking passes from one gain to the next, and at its end.

    Formula   mean of dcg(i)/ideal_dcg(i) over the last rank of each gain in the ideal ranking, and of the whole ranking
              where that is longer by more than one.
    Params    level=gain,...
    Range     [0, 1] for gains in order; 0 where R is 0.
    Source    trec_eval (experimental there).
    """
    gained = docs.gained(parameters[0])
    graded, unit = gained.graded, gained.unit
    query = np.repeat(np.arange(len(unit)), gained.length)
    ends = np.cumsum(gained.length)
    rank = np.arange(1, len(query) + 1) - np.repeat(ends - gained.length, gained.length)
    place = graded.starts[unit][query] + rank - 1
    gain, ideal = graded.gain[place], graded.dcg[place]
    last = rank == gained.length[query]
    following = np.where(last, graded.term[unit][query], np.append(gain[1:], 0.0)[: len(gain)])
    step = (gain != following) & (ideal > 0)
    beyond = (docs.num_ret > gained.length + 1) & (gained.ideal_dcg > 0)
    # A ranking's steps come first, the point at its end after them.
    query = np.concatenate((query[step], np.flatnonzero(beyond)))
    rank = np.concatenate((rank[step], docs.num_ret[beyond]))
    ideal = np.concatenate((ideal[step], gained.ideal_dcg[beyond]))
    values = gained.dcg_at(query, rank) / ideal
    total, count = np.bincount(query, values, len(unit)), np.bincount(query, minlength=len(unit))
    return np.where(docs.num_rel > 0, np.where(count > 0, total / count, -math.nan), 0.0)


@declare("ndcg_cut", _CUTOFFS, sets=("all_trec",), expected=True)
def ndcg_cut(docs: Judged, k: int) -> Reals:
    """
    Normalised discounted cumulative gain at a cutoff.

    Formula   sum over ranks i = 1..cutoff of level(i) / log2(i + 1), divided by the same of the ideal ranking.
    Params    cutoffs. The gain is the level itself (no 2^level).
    Range     [0, 1]; 0 where no level is above 0. -l has no effect.
    Source    Järvelin & Kekäläinen 2002; trec_eval.
    """
    return ratio(docs.dcg(k), docs.ideal_dcg(k))


# Further measures on levels


@declare("map_cut", _CUTOFFS, sets=("all_trec",), expected=True)
def average_precision_cut(docs: Judged, k: int) -> Reals:
    """
    Average precision of the first documents.

    Formula   sum over relevant ranks i <= cutoff of k(i)/i, divided by R (not by min(R, cutoff)).
    Params    cutoffs.
    Range     [0, 1]; 0 where R is 0.
    Source    trec_eval.
    """
    return ratio(docs.precision_sum(k), docs.ap_divisor(k))


@declare("relative_P", _CUTOFFS, sets=("all_trec",), expected=True)
def relative_precision(docs: Judged, k: int) -> Reals:
    """
    Precision at a cutoff relative to the largest one that the topic allows.

    Formula   k(cutoff) / min(cutoff, R).
    Params    cutoffs.
    Range     [0, 1]; 0 where R is 0.
    Source    trec_eval.
    """
    return ratio(docs.found(k), np.minimum(k, docs.num_rel))


@declare("success", Cutoffs((1, 5, 10)), sets=("all_trec",), expected=True)
def success(docs: Judged, k: int) -> Reals:
    """
    Whether a relevant document stands at ranks 1..cutoff (hit rate).

    Formula   1 where k(cutoff) > 0, else 0.
    Params    cutoffs.
    Range     0 or 1.
    Source    trec_eval.
    """
    return docs.any_found(k)


@declare("set_P", sets=("set", "all_trec"), expected=True)
def set_precision(docs: Judged) -> Reals:
    """
    Precision of the ranked documents as a set.

    Formula   k(n) / n.
    Range     [0, 1]; 0 where n is 0.
    Source    trec_eval.
    """
    return ratio(docs.num_rel_ret, docs.num_ret)


@declare("set_relative_P", sets=("set", "all_trec"), expected=True)
def set_relative_precision(docs: Judged) -> Reals:
    """
    Set precision relative to the largest one that n and R allow.

    Formula   k(n) / min(n, R).
    Range     [0, 1]; 0 where n or R is 0.
    Source    trec_eval.
    """
    return ratio(docs.num_rel_ret, np.minimum(docs.num_ret, docs.num_rel))


@declare("set_recall", sets=("set", "all_trec"), expected=True)
def set_recall(docs: Judged) -> Reals:
    """
    Recall of the ranked documents as a set.

    Formula   k(n) / R.
    Range     [0, 1]; 0 where R is 0.
    Source    trec_eval.
    """
    return ratio(docs.num_rel_ret, docs.num_rel)


@declare("set_map", sets=("set", "all_trec"))
def set_average_precision(docs: Judged) -> Reals:
    """
    Set precision times set recall.

    Formula   k(n)^2 / (n R).
    Range     [0, 1]; 0 where n or R is 0.
    Source    trec_eval.
    """
    found = docs.num_rel_ret.astype(float)
    return ratio(found * found, docs.num_ret.astype(float) * docs.num_rel.astype(float))


@declare("set_F", RealList((1.0,), first_only=True), sets=("set", "all_trec"))
def set_f(docs: Judged, parameters: tuple[float, ...]) -> Reals:
    """
    F: weighted harmonic mean of set precision and set recall.

    Formula   (x + 1) P Q / (x P + Q) with P = k(n)/n and Q = k(n)/R.
    Params    x, the weight: above 1 for recall, below 1 for precision; only the first number counts.
    Range     [0, 1]; 0 where nothing relevant is ranked.
    Source    van Rijsbergen 1979; trec_eval.
    """
    x, p, q = parameters[0], set_precision(docs), set_recall(docs)
    return np.where(docs.num_rel_ret > 0, ((x + 1) * p * q) / (x * p + q), 0.0)


@declare(
    "num_nonrel_judged_ret",
    aggregate=Aggregate.SUM,
    sets=("all_trec",),
    integer=True,
    higher_is_better=False,
    nonrelevant=True,
)
def num_nonrel_judged_ret(docs: Judged) -> Integers:
    """
    Number of ranked documents that are judged and not relevant.

    Formula   n less the relevant ones and those without a level >= 0.
    Range     [0, n]; summed over topics.
    Source    trec_eval.
    """
    return docs.num_ret - docs.not_judged() - docs.num_rel_ret


# Preferences


_preferences = partial(declare, needs=_PREFERENCES, sets=("all_prefs",))
_basic_preferences = partial(declare, needs=_PREFERENCES, sets=("prefs", "all_prefs"))


@_basic_preferences("prefs_num_prefs_poss", aggregate=Aggregate.SUM, integer=True)
def prefs_num_poss(prefs: Preferred) -> Integers:
    """
    Number of preferences in the judgements.

    Formula   pairs (a preferred to b) over all groups.
    Range     >= 0; summed over topics.
    Source    Carterette et al. 2008 (Here or there); trec_eval.
    """
    return prefs.total(prefs.possible_all)


@_basic_preferences("prefs_num_prefs_ful", aggregate=Aggregate.SUM, integer=True)
def prefs_num_ful(prefs: Preferred) -> Integers:
    """
    Number of preferences that the ranking fulfils.

    Formula   pairs with a ranked above b, or a ranked and b not.
    Range     [0, prefs_num_prefs_poss]; summed over topics.
    Source    trec_eval.
    """
    return prefs.total(prefs.fulfilled)


@_basic_preferences("prefs_num_prefs_ful_ret", aggregate=Aggregate.SUM, integer=True)
def prefs_num_ful_ret(prefs: Preferred) -> Integers:
    """
    Number of preferences that the ranking fulfils among ranked documents.

    Formula   pairs with both ranked, a above b.
    Range     [0, prefs_num_prefs_ful]; summed over topics.
    Source    trec_eval.
    """
    return prefs.total(prefs.fulfilled_ret)


@_basic_preferences("prefs_simp")
def prefs_simp(prefs: Preferred) -> Reals:
    """
    Share of all preferences that is fulfilled.

    Formula   fulfilled / preferences, over all groups together.
    Range     [0, 1]; 0 where there is no preference.
    Source    trec_eval.
    """
    return ratio(prefs.total(prefs.fulfilled), prefs.total(prefs.possible_all))


@_basic_preferences("prefs_pair")
def prefs_pair(prefs: Preferred) -> Reals:
    """
    Share of preferences fulfilled, each pair of documents counting once however many groups judge it.

    Formula   mean over pairs of the share of the pair's preferences that is fulfilled.
    Range     [0, 1]; 0 where there is no pair.
    Source    trec_eval.
    """
    return prefs.pair_mean("all")


@_basic_preferences("prefs_avgjg")
def prefs_avgjg(prefs: Preferred) -> Reals:
    """
    Mean over judgement groups of the share of preferences fulfilled.

    Formula   sum over groups of fulfilled / preferences, divided by the number of groups.
    Range     [0, 1].
    Source    trec_eval.
    """
    return prefs.group_mean(prefs.fulfilled, prefs.possible_all)


@_preferences("prefs_avgjg_Rnonrel")
def prefs_avgjg_rnonrel(prefs: Preferred) -> Reals:
    """
    prefs_avgjg with as many nonrelevant documents as relevant ones in each group.

    Formula   as prefs_avgjg; nonrelevant documents beyond the number of relevant ones are left out, missing ones added.
    Range     [0, 1]; 0 where a group has nothing to count.
    Source    trec_eval (experimental there).
    """
    return prefs.group_mean(*prefs.rnonrel, guarded=False)


@_preferences("prefs_simp_ret")
def prefs_simp_ret(prefs: Preferred) -> Reals:
    """
    prefs_simp over preferences between ranked documents only.

    Formula   fulfilled / preferences, both documents ranked.
    Range     [0, 1]; 0 where there is none.
    Source    trec_eval.
    """
    return ratio(prefs.total(prefs.fulfilled_ret), prefs.total(prefs.possible_ret))


@_preferences("prefs_pair_ret")
def prefs_pair_ret(prefs: Preferred) -> Reals:
    """
    prefs_pair over pairs of ranked documents only.

    Formula   as prefs_pair, both documents ranked.
    Range     [0, 1]; 0 where there is none.
    Source    trec_eval.
    """
    return prefs.pair_mean("ret")


@_preferences("prefs_avgjg_ret")
def prefs_avgjg_ret(prefs: Preferred) -> Reals:
    """
    prefs_avgjg over preferences between ranked documents only.

    Formula   as prefs_avgjg, both documents ranked.
    Range     [0, 1].
    Source    trec_eval.
    """
    return prefs.group_mean(prefs.fulfilled_ret, prefs.possible_ret)


@_preferences("prefs_avgjg_Rnonrel_ret")
def prefs_avgjg_rnonrel_ret(prefs: Preferred) -> Reals:
    """
    prefs_avgjg_Rnonrel over ranked documents only.

    Formula   as prefs_avgjg_Rnonrel, both documents ranked.
    Range     [0, 1]; 0 where a group has nothing to count.
    Source    trec_eval (experimental there).
    """
    return prefs.group_mean(*prefs.rnonrel_ret, guarded=False)


@_preferences("prefs_simp_imp")
def prefs_simp_imp(prefs: Preferred) -> Reals:
    """
    prefs_simp over preferences with at least one ranked document.

    Formula   fulfilled / preferences, one of the documents ranked or both.
    Range     [0, 1]; 0 where there is none.
    Source    trec_eval.
    """
    return ratio(prefs.total(prefs.fulfilled), prefs.total(prefs.possible_implied))


@_preferences("prefs_pair_imp")
def prefs_pair_imp(prefs: Preferred) -> Reals:
    """
    prefs_pair over pairs with at least one ranked document.

    Formula   as prefs_pair, one of the documents ranked or both.
    Range     [0, 1]; 0 where there is none.
    Source    trec_eval.
    """
    return prefs.pair_mean("imp")


@_preferences("prefs_avgjg_imp")
def prefs_avgjg_imp(prefs: Preferred) -> Reals:
    """
    prefs_avgjg over preferences with at least one ranked document.

    Formula   as prefs_avgjg, one of the documents ranked or both.
    Range     [0, 1].
    Source    trec_eval.
    """
    return prefs.group_mean(prefs.fulfilled, prefs.possible_implied)


# Judgement groups: the value of each group, averaged over the topic's groups by evaluation


@declare("map_avgjg", sets=("qrels_jg",), needs=("qrels_jg",))
def map_avgjg(docs: Judged) -> Reals:
    """
    map, averaged over the judgement groups of a topic.

    Formula   mean over groups of map by the group's own judgements.
    Range     [0, 1].
    Source    trec_eval.
    """
    return average_precision(docs)


@declare("P_avgjg", _CUTOFFS, sets=("qrels_jg",), needs=("qrels_jg",))
def precision_avgjg(docs: Judged, k: int) -> Reals:
    """
    P, averaged over the judgement groups of a topic.

    Formula   mean over groups of P by the group's own judgements.
    Params    cutoffs.
    Range     [0, 1].
    Source    trec_eval.
    """
    return precision(docs, k)


@declare("Rprec_mult_avgjg", _MULTIPLES, sets=("qrels_jg",), needs=("qrels_jg",))
def r_precision_multiple_avgjg(docs: Judged, multiple: float) -> Reals:
    """
    Rprec_mult, averaged over the judgement groups of a topic.

    Formula   mean over groups of Rprec_mult by the group's own judgements.
    Params    multiples.
    Range     [0, 1].
    Source    trec_eval.
    """
    return r_precision_multiple(docs, multiple)


# The rest, in its place


@declare("yaap")
def yaap(docs: Judged) -> Reals:
    """
    Yet another average precision: its log odds.

    Formula   ln((1 + S) / (1 + R - S)) with S the sum over relevant ranks i of k(i)/i.
    Range     any number; 0 where R is 0.
    Edge      A judged topic that the run lacks has ln(1 / (1 + R)) with -c in 10.0, and counts 0 in 9.0.8.
    Source    Robertson's suggestion, in trec_eval.
    """
    s = docs.precision_sum()
    return libm(math.log, (1 + s) / ((1 + docs.num_rel) - s))


@declare("rbp", LevelGains(persistence=0.9), sets=("all_trec",), since="10.0", nonrelevant=True)
def rank_biased_precision(docs: Judged, parameters: tuple[Gains, float]) -> Reals:
    """
    Rank-biased precision: the gain per document seen by a reader who goes on with probability p.

    Formula   (1 - p) times the sum over ranks i of gain(i) p^(i-1). Where a gain of the topic is below 0 or above 1,
              gains are scaled to [0, 1] by its smallest (at most 0) and largest one.
    Params    level=gain,... and p=..., together or one of them.
    Range     [0, 1]. Topics with different largest levels have different scales.
    Differs   trec_eval 10.0 reads two variables it never set, so that what it prints depends on the measures before it.
    Source    Moffat & Zobel 2008; trec_eval 10.0.
    """
    gains, p = parameters
    gained = docs.gained(gains)
    low = np.minimum(gained.graded.lowest[docs.unit], 0.0)
    high = np.maximum(gained.graded.highest[docs.unit], 0.0)
    scaled = ((low < 0) | (high > 1))[docs.query]
    # A document below level 0 has a gain only where the parameters name its level.
    listed = (docs.level >= 0) | np.isin(docs.level, list(gains.named))
    low_row, span = low[docs.query], (high - low)[docs.query]
    gain = np.where(scaled & listed, (gained.gain - low_row) / span, gained.gain)
    weights = persistence_weights(p, int(docs.num_ret.max(initial=0)))
    return (1.0 - p) * docs.sum(np.where(gain != 0, gain * weights[docs.rank - 1], 0.0))


@declare(
    "rbp_resid",
    LevelGains(persistence=0.9),
    sets=("all_trec",),
    since="10.0",
    zero_if_missing=True,
    higher_is_better=False,
    nonrelevant=True,
)
def rbp_residual(docs: Judged, parameters: tuple[Gains, float]) -> Reals:
    """
    How much rbp could still grow: the weight of what is not judged.

    Formula   p^n + (1 - p) times the sum of p^(i-1) over ranks i without a level >= 0; 0 where all are judged.
    Params    p=...
    Range     [0, 1].
    Source    Moffat & Zobel 2008; trec_eval 10.0.
    """
    p = parameters[1]
    weights = persistence_weights(p, int(docs.num_ret.max(initial=0)))
    residual = weights[docs.num_ret] + (1.0 - p) * docs.weighed_unjudged(weights)
    return np.where(docs.not_judged() > 0, residual, 0.0)


@declare(
    "unj",
    Cutoffs((5, 10, 20)),
    sets=("all_trec",),
    since="10.0",
    zero_if_missing=True,
    higher_is_better=False,
    nonrelevant=True,
)
def unjudged(docs: Judged, k: int) -> Reals:
    """
    Share of documents without a judgement at ranks 1..cutoff.

    Formula   documents at ranks 1..cutoff without a level >= 0, divided by the cutoff.
    Params    cutoffs.
    Range     [0, 1]; ranks that are missing count as judged.
    Source    trec_eval 10.0.
    """
    return docs.not_judged(k) / k


# What trec_eval lacks


@declare("RR", Cutoffs((10,)), since="trecpy", expected=True)
def reciprocal_rank_cut(docs: Judged, k: int) -> Reals:
    """
    Reciprocal rank with a cutoff.

    Formula   1/i for the first relevant rank i, if i <= cutoff; else 0.
    Params    cutoffs.
    Range     [0, 1].
    Source    as recip_rank; the mean over topics is MRR@cutoff (MS MARCO).
    """
    return docs.reciprocal_rank(k)


@declare("first_rel_rank", since="trecpy", expected=True, higher_is_better=False)
def first_relevant_rank(docs: Judged) -> Reals:
    """
    Rank of the first relevant document.

    Formula   the first relevant rank i, from 1; infinite where nothing relevant is ranked.
    Range     [1, n], or infinite.
    Source    trecpy; known-item search.
    """
    return docs.first_hit_rank


@declare("DCG", Cutoffs((10,)), since="trecpy", expected=True)
def dcg_cut(docs: Judged, k: int) -> Reals:
    """
    Discounted cumulative gain at a cutoff.

    Formula   sum over ranks i = 1..cutoff of gain(i) / log2(i + 1).
    Params    cutoffs.
    Range     >= 0 for gains >= 0.
    Source    Järvelin & Kekäläinen 2002, with the discount of Burges et al. 2005.
    """
    return docs.dcg(k)


@declare("ERR", Cutoffs((20,)), since="trecpy")
def expected_reciprocal_rank(docs: Judged, k: int) -> Reals:
    """
    Expected reciprocal rank: of the document that stops a reader, who is satisfied by higher grades more often.

    Formula   sum over ranks i = 1..cutoff of s(i)/i times the product of 1 - s(j) over ranks j < i, with
              s(i) = (2^grade(i) - 1) / 2^max_grade.
    Params    cutoffs; max_grade is an option of the protocol, 4 without, as in gdeval. A higher grade is an error.
    Range     [0, 1].
    Source    Chapelle et al. 2009; gdeval (TREC Web track).
    """
    largest = 4 if docs.protocol.max_grade is None else docs.protocol.max_grade
    docs.reading.check_grades(largest, "ERR")
    return docs.cascade(np.exp2(docs.value - largest) - np.exp2(-float(largest)), k)


@declare("Judged", OptionalCutoffs(), since="trecpy", nonrelevant=True)
def judged_share(docs: Judged, k: int = EVERY) -> Reals:
    """
    Share of judged documents, those judged below 0 too.

    Formula   judged documents at ranks 1..cutoff, divided by min(cutoff, n).
    Params    a cutoff, or none: the whole ranking.
    Range     [0, 1]; 0 where n is 0.
    Source    ir_measures.
    """
    judged = np.bincount(docs.query[(docs.level != -1) & (docs.rank <= k)], minlength=len(docs.unit))
    return ratio(judged, np.minimum(docs.num_ret, k))


@declare("RBP", Persistence(0.8), since="trecpy")
def rank_biased_precision_binary(docs: Judged, p: float) -> Reals:
    """
    Rank-biased precision of relevant documents, whatever their level.

    Formula   (1 - p) times the sum of p^(i-1) over relevant ranks i.
    Params    p.
    Range     [0, 1].
    Source    Moffat & Zobel 2008; ir_measures' RBP(rel=...).
    """
    weights = persistence_weights(p, int(docs.num_ret.max(initial=0)))
    return (1.0 - p) * docs.sum(np.where(docs.is_hit, weights[docs.rank - 1], 0.0))


@declare("Accuracy", OptionalCutoffs(), since="trecpy")
def accuracy(docs: Judged, k: int = EVERY) -> Reals:
    """
    Probability that a relevant document stands above one that is not, both ranked.

    Formula   1 - (sum over relevant ranks i of the others above, i - k(i)) / (relevant ranked * others ranked).
    Params    a cutoff, or none: the whole ranking.
    Range     [0, 1]; 0 where nothing relevant is ranked; 1 where all that is ranked is relevant.
    Source    ir_measures.
    """
    within = docs.is_hit & (docs.rank <= k)
    above = docs.sum(np.where(within, docs.rank - docs.so_far(docs.is_hit), 0.0))
    relevant = docs.sum(within.astype(float))
    others = np.minimum(docs.num_ret, k) - relevant
    return np.where(relevant > 0, 1.0 - ratio(above, others * relevant), 0.0)


@declare("hits", Cutoffs((10,)), since="trecpy", expected=True)
def hits(docs: Judged, k: int) -> Reals:
    """
    Number of relevant documents at ranks 1..cutoff.

    Formula   k(cutoff).
    Params    cutoffs.
    Range     [0, cutoff].
    Source    ranx.
    """
    return docs.found(k).astype(float)


@declare("F1", Cutoffs((10,)), since="trecpy")
def f1(docs: Judged, k: int) -> Reals:
    """
    Harmonic mean of precision and recall at a cutoff.

    Formula   2 P R / (P + R), with P = k(cutoff)/cutoff and R = k(cutoff)/R.
    Params    cutoffs.
    Range     [0, 1]; 0 where nothing relevant is found.
    Source    van Rijsbergen 1979; ranx.
    """
    p, r = precision(docs, k), recall(docs, k)
    return ratio(2 * p * r, p + r)


def _by_num_rel(docs: Judged, total: Reals) -> Reals:
    """Total / R, or total itself where R is 0: a hit that is not judged relevant (-l below 0) is left as it is."""
    return total / np.where(docs.num_rel > 0, docs.num_rel, 1)


def _log_floor(values: Reals) -> Reals:
    """ln(max(value, 0.00001)), NaN counting as small."""
    return libm(math.log, np.where(values > _SMALLEST, values, _SMALLEST))


def _whole(values: NDArray[np.floating]) -> Integers:
    """int64[n]: the integer part; what no ranking can reach is cut to what an integer holds."""
    whole: Integers = np.clip(values, -float(EVERY), float(EVERY)).astype(np.int64)
    return whole


def _interpolated(docs: Judged, points: tuple[float, ...]) -> list[Reals]:
    """
    Interpolated precision at each point, in the order given.

    Points are served from the last to the first while relevant documents are counted down. Points at the end of the
    list that ask for more than were ranked get 0. A point that asks for more than the one behind it (the list is not
    ascending), or for none, is never met: it and all before it get the largest precision of all ranks.
    """
    served = docs.num_rel_ret
    dropping, blocked = np.ones(len(served), bool), np.zeros(len(served), bool)
    overall = docs.precision_from(np.zeros(len(served), np.int64))
    values = []
    for point in reversed(points):
        wanted = point * docs.num_rel
        if docs.protocol.compat == "10.0":
            # Halves away from 0; trunc(x + 0.5) would round 0.49999999999999994 up.
            whole = np.trunc(wanted)
            found = _whole(whole + np.where(np.abs(wanted - whole) >= 0.5, np.sign(wanted), 0.0))
        else:
            found = _whole(wanted + 0.9)
        dropping &= found > docs.num_rel_ret
        blocked |= ~dropping & ((found < 1) | (found > served))
        met = ~dropping & ~blocked
        served = np.where(met, found, served)
        at = docs.precision_from(np.where(met, found, 0))
        values.append(np.where(dropping, 0.0, np.where(met, at, overall)))
    return values[::-1]
