"""Layouts of files, the names by which columns of a table are found, and the rows that are read at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from trecpy.errors import FormatError
from trecpy.text import quoted

Kind = Literal["qrels", "run"]

ROWS = 1 << 16  # of a table at a time

LAYOUTS = {
    "trec": "topic iter docno level, or topic iter docno rank score tag",
    "msmarco": "runs of topic docno rank; judgements as trec has them",
    "beir": "tab-separated, with a header that names the columns",
    "tsv": "the same",
    "csv": "the same, separated by commas",
    "json": "{topic: {docno: level or score}}, runs also {topic: [docno, ...]}",
    "jsonl": "one object a line: topic, docno, level or score",
    "parquet": "Parquet, columns as in a header",
    "arrow": "Arrow IPC, file or stream, the same",
}
DELIMITERS = {"csv": ",", "tsv": "\t", "beir": "\t"}

# What pytrec_eval, ir_measures, PyTerrier, ranx, BEIR, MTEB and Qilin call their columns.
TOPIC_NAMES = ("qid", "query_id", "query-id", "q_id", "topic", "topic_id", "query")
DOCNO_NAMES = ("docno", "doc_id", "docid", "corpus-id", "corpus_id", "did", "pid", "document_id")
LEVEL_NAMES = ("level", "relevance", "rel", "label", "grade", "score")
SCORE_NAMES = ("score", "sim", "similarity")
RANK_NAMES = ("rank",)


@dataclass(frozen=True)
class Columns:
    """
    Some rows of a file.

    topics, docnos: columns of ids: lists, or Arrow's; topics also as (ids, how many rows each has)
    values: numbers, one a row, none of them NaN; None: judgements without levels, each of which is 1
    where: says where a row, counted from 0, stands in the file
    """

    topics: Any
    docnos: Any
    values: Any
    where: Callable[[int], str]


def header(columns: list[str]) -> list[str]:
    """Names of columns as they are compared."""
    return [column.strip().lower() for column in columns]


@dataclass(frozen=True)
class Places:
    """Where a table has its columns; value: None, judgements without levels; ranks: the values are ranks."""

    topic: int
    docno: int
    value: int | None
    ranks: bool = False


def column_places(names: list[str], kind: Kind, where: str) -> Places:
    """
    Find the columns by their names. Judgements may lack levels, and are 1 then; ranks stand in for missing scores.

    Raises FormatError: topics, documents or values have no column, or one name is there twice.
    """
    folded = header(names)

    def place(role: str, known: tuple[str, ...], needed: bool = True) -> int | None:
        found = next((name for name in known if name in folded), None)
        if found is not None and folded.count(found) > 1:
            raise FormatError(f"{where}: expected columns of different names, found {quoted(found)} twice")
        if found is None and needed:
            raise FormatError(f"{where}: expected a column of {role} ({', '.join(known)}), found {_listed(names)}")
        return None if found is None else folded.index(found)

    topic, docno = place("topics", TOPIC_NAMES), place("documents", DOCNO_NAMES)
    assert topic is not None
    assert docno is not None
    if kind == "qrels":
        return Places(topic, docno, place("levels", LEVEL_NAMES, needed=len(names) > 2))
    score, rank = place("scores", SCORE_NAMES, needed=False), place("ranks", RANK_NAMES, needed=False)
    if score is None and rank is None:
        place("scores or ranks", (*SCORE_NAMES, *RANK_NAMES))
    return Places(topic, docno, rank if score is None else score, ranks=score is None)


def _listed(names: list[str]) -> str:
    return ", ".join(map(quoted, names[:20])) or "none"
