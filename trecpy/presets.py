"""The conventions of papers, boards and tools as named records, each with its source."""

from dataclasses import dataclass, fields
from typing import Any

from trecpy.protocol import Protocol


@dataclass(frozen=True)
class Preset:
    """
    Conventions that have a name.

    protocol: the record; measures: what is usually reported under it; source: where it is from
    differs: what else is in circulation under the same name, and what this record cannot say
    candidates: documents of each topic that are reranked; runs with fewer are warned of; 0: any number
    """

    protocol: Protocol
    measures: tuple[str, ...]
    source: str
    differs: str = ""
    candidates: int = 0

    @property
    def name(self) -> str:
        """As `protocol=` takes it."""
        return self.protocol.name


_CANDIDATES = {"qder": 1000, "qder-codec": 1000}


def _cut(names: str, cutoffs: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(f"{name}@{k}" for name in names.split() for k in cutoffs)


def _presets(*presets: tuple[str, dict[str, Any], tuple[str, ...], str, str]) -> dict[str, Preset]:
    return {
        name: Preset(Protocol(name=name, **fields), measures, source, differs, _CANDIDATES.get(name, 0))
        for name, fields, measures, source, differs in presets
    }


_BEIR_CUTOFFS = (1, 3, 5, 10, 100, 1000)
_QUOTER = ("RR", "nDCG@5", *_cut("R", (1, 3, 5, 10, 20, 30, 100, 300, 500, 1000)), "first_rel_rank")
_QDER = ("nDCG@20", "P@20", "map", "RR")

protocols: dict[str, Preset] = _presets(
    (
        "trec_eval-10.0", {"topics": "both"}, ("official",), "NIST's trec_eval 10.0",
        "-c is topics=qrels; -J, -l and -M are judged_only, relevance_level and depth",
    ),
    (
        "trec_eval-9.0.8", {"compat": "9.0.8", "topics": "both"}, ("official",),
        "NIST's trec_eval 9.0.8, and so pytrec_eval",
        "-c is topics=qrels; -J, -l and -M are judged_only, relevance_level and depth",
    ),
    (
        "quoter", {"ties": "best"}, _QUOTER, "QuoteR (arXiv 2202.13145), its released scripts",
        "the published numbers: quoter-as-published",
    ),
    (
        "quoter-as-published",
        {
            "ties": "best",
            "batch": 64,
            "per_measure": {"recall": {"ties": "input", "batch": None}, "first_rel_rank": {"batch": None}},
        },
        _QUOTER, "QuoteR (arXiv 2202.13145), its released scripts",
        "MRR and NDCG are means of the means of 64 contexts each; equal scores count for the gold quote there, and "
        "stand in index order in Recall, where the scripts leave them to an unstable sort; the ranks from 0, and their "
        "rounding, are those of `trecpy quoter --as-published`",
    ),
    (
        "qilin", {"topics": "both", "ties": "input", "ap": "min", "duplicates": "keep"},
        _cut("RR AP R P", (10, 100)), "Qilin (arXiv 2503.00501), its released evaluator",
        "the paper divides by all relevant documents (ap=rel), recipes by the hits (ap=hits)",
    ),
    (
        "qder", {"compat": "9.0.8"}, _QDER, "QDER (arXiv 2510.11589): trec_eval -c",
        "its released script averages over the topics of both files and prints nDCG without a cutoff",
    ),
    (
        "qder-codec", {"compat": "9.0.8", "judged_only": True}, _QDER,
        "QDER on CODEC, by its authors' later statement: trec_eval -J -c", "the paper says -c",
    ),
    (
        "msmarco-passage", {"relevance_level": 0, "ties": "rank", "duplicates": "keep"}, ("RR@10",),
        "MS MARCO passage ranking, the official script",
        "any judged document is relevant (to the script one below 0 too); the script reads files of topic, docno and "
        "rank alone; other runs are ranked by score here",
    ),
    (
        "msmarco-document", {"relevance_level": 0, "ties": "rank", "duplicates": "keep"}, ("RR@100",),
        "MS MARCO document ranking, the official script",
        "as msmarco-passage",
    ),
    (
        "beir",
        {"compat": "9.0.8", "topics": "both", "ignore_self": True, "places": 5,
         "per_measure": {"RR": {"compat": "10.0", "ties": "input", "topics": "qrels", "ignore_self": False}}},
        _cut("nDCG AP R P RR", _BEIR_CUTOFFS), "BEIR's evaluator",
        "documents that are their own topic are dropped, though not for MRR, which is over all judged topics and takes "
        "scores as doubles, where pytrec_eval, which does the rest, keeps 32 bits",
    ),
    (
        "mteb",
        {"compat": "9.0.8", "topics": "run", "places": 5,
         "per_measure": {"RR": {"compat": "10.0", "ties": "input", "places": None}}},
        _cut("nDCG AP R P RR Success", _BEIR_CUTOFFS), "MTEB's retrieval tasks", "",
    ),
    (
        "trec-dl-passage", {"compat": "9.0.8", "relevance_level": 2}, ("nDCG@10", "map", "R@1000", "RR"),
        "TREC Deep Learning, passages: level 1 is not relevant", "nDCG takes all levels",
    ),
    (
        "trec-dl-document", {"compat": "9.0.8"}, ("nDCG@10", "map", "R@100", "RR"),
        "TREC Deep Learning, documents: levels 1 to 3 are relevant", "",
    ),
    (
        "trec-car", {"compat": "9.0.8"}, ("map", "Rprec", "RR", "nDCG@20"),
        "TREC Complex Answer Retrieval: thousands of sections, averaged over all that are judged", "",
    ),
    ("codec", {"compat": "9.0.8"}, ("map", "nDCG@10", "R@1000"), "CODEC's guidelines", "QDER adds -J"),
    (
        "recbole", {"ties": "input", "ap": "min", "gains": "binary", "places": 4},
        ("Success@10", "RR@10", "R@10", "P@10", "nDCG@10", "AP@10"), "RecBole's rank metrics",
        "full ranking; with sampled candidates values are not comparable; its own order of ties is undefined",
    ),
    (
        "gdeval", {"topics": "both", "gains": "exp", "max_grade": 4, "without_relevant": "drop", "places": 5},
        ("nDCG@10", "nDCG@20", "ERR@10", "ERR@20"), "gdeval.pl of the TREC Web track",
        "it takes topic ids to be numbers",
    ),
)  # fmt: skip


def stated(protocol: Protocol) -> str:
    """The conventions in one line: the preset and what was changed of it, else what is not by default."""
    base = protocols[protocol.name].protocol if protocol.name in protocols else Protocol()
    always = () if protocol.name in protocols else ("compat", "topics", "relevance_level", "ties")
    parts = [
        f"{field.name}={_shown(getattr(protocol, field.name))}"
        for field in fields(Protocol)
        if field.name != "name" and (field.name in always or getattr(protocol, field.name) != getattr(base, field.name))
    ]
    return ", ".join([*[protocol.name] * (protocol.name in protocols), *parts])


def _shown(value: object) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0][1], tuple):
        return ";".join(f"{measure}({_shown(pairs)})" for measure, pairs in value)
    if isinstance(value, tuple):
        return ",".join(f"{name}={each:g}" if isinstance(each, float) else f"{name}={each}" for name, each in value)
    return str(value)
