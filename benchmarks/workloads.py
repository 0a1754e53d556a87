"""
Make the workload files: `python -m benchmarks.workloads [WORKLOAD ...] [--data DIR]`.

Each workload is a folder DIR/WORKLOAD with qrels.txt and run.txt, the same bytes whenever it is made with the
same NumPy. One line a workload goes to stdout: name, qrels path, run path, separated by tabs.
To add a workload, write a function that fills a folder and name it in RECIPES.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

DATA = Path(__file__).with_name("data")
QRELS, RUN = "qrels.txt", "run.txt"

Floats = NDArray[np.float64]
Judgement = tuple[object, object, int]  # qid, docno, level

SEED = 20030
TIED = 0.005  # chance that a document has the score of the one above it

MAX_QID = 1_200_000  # MS MARCO's topic ids and docnos are numbers below these
PASSAGES = 8_841_823
MISSED = 0.14  # chance that a judged passage is not retrieved

SOURCES = ("FBIS3", "FT934", "LA052190", "FR940126-2")
SOURCE_SIZE = 90_000  # docnos of one source: SOURCE-10000 to SOURCE-99999


def scores(rng: np.random.Generator, depth: int) -> Floats:
    """Return float64[depth] positive scores, never rising, steep at the top and flat below."""
    top = rng.uniform(20, 45)
    gaps = rng.exponential(top / 12, depth) / np.arange(1, depth + 1)
    gaps[rng.random(depth) < TIED] = 0
    return np.maximum(top - np.cumsum(gaps), 0.5)


def rank_odds(depth: int, offset: int) -> Floats:
    """Return float64[depth] probabilities in proportion to 1 / (rank + offset)."""
    odds: Floats = 1 / (np.arange(1, depth + 1) + offset)
    return odds / np.sum(odds)


def run_text(qid: object, docnos: Sequence[object], scores: Floats, run_tag: str) -> str:
    """Return the run lines of one topic, best document first."""
    ranking = enumerate(zip(docnos, scores.tolist(), strict=True), 1)
    return "".join(f"{qid} Q0 {docno} {rank} {score:.6f} {run_tag}\n" for rank, (docno, score) in ranking)


def qrels_text(judgements: Iterable[Judgement]) -> str:
    """Return one line a judgement."""
    return "".join(f"{qid} 0 {docno} {level}\n" for qid, docno, level in judgements)


def make_sparse(folder: Path, topics: int, depth: int, pairs: int) -> None:
    """
    Write a collection in the manner of MS MARCO: one relevant passage a topic, two in `pairs` of the topics.

    The run has its topics in random order and the qrels by number, so that the two orders differ.
    """
    rng = np.random.default_rng(SEED)
    odds = rank_odds(depth, 0)
    qids = rng.choice(MAX_QID, topics, replace=False) + 1
    judgements: list[tuple[int, int, int]] = []
    with open(folder / RUN, "w", encoding="ascii", newline="\n") as run:
        for q, qid in enumerate(qids.tolist()):
            num_judged = 2 if q < pairs else 1
            docnos = rng.choice(PASSAGES, depth + num_judged, replace=False)
            run.write(run_text(qid, docnos[:depth].tolist(), scores(rng, depth), "bm25k"))
            found = docnos[rng.choice(depth, num_judged, replace=False, p=odds)]
            judged = np.where(rng.random(num_judged) < MISSED, docnos[depth:], found)
            judgements += [(qid, docno, 1) for docno in judged.tolist()]
    write(folder / QRELS, qrels_text(sorted(judgements)))


def make_robust(folder: Path) -> None:
    """Write a collection in the manner of TREC Robust 2004: news articles, pooled, levels 0 to 2."""
    rng = np.random.default_rng(SEED)
    depth = 1000
    odds = rank_odds(depth, 100)
    with (
        open(folder / RUN, "w", encoding="ascii", newline="\n") as run,
        open(folder / QRELS, "w", encoding="ascii", newline="\n") as qrels,
    ):
        for qid in [*range(301, 451), *range(601, 701)]:
            num_judged = int(rng.integers(1000, 1501))
            num_found = num_judged // 3
            num_missed = num_judged - num_found
            docnos = news_docnos(rng, depth + num_missed)
            run.write(run_text(qid, docnos[:depth], scores(rng, depth), "bm25-rm3"))
            found = rng.choice(depth, num_found, replace=False, p=odds).tolist()
            judged = [docnos[i] for i in found] + docnos[depth:]
            levels = [
                *rng.choice(3, num_found, p=[0.85, 0.11, 0.04]).tolist(),
                *rng.choice(3, num_missed, p=[0.98, 0.015, 0.005]).tolist(),
            ]
            pool = sorted(zip(judged, levels, strict=True))
            qrels.write(qrels_text((qid, docno, level) for docno, level in pool))


def news_docnos(rng: np.random.Generator, count: int) -> list[str]:
    """Return `count` different docnos such as FBIS3-12345, in random order."""
    docs = rng.choice(len(SOURCES) * SOURCE_SIZE, count, replace=False).tolist()
    return [f"{SOURCES[doc // SOURCE_SIZE]}-{doc % SOURCE_SIZE + 10_000}" for doc in docs]


def make_grade(folder: Path) -> None:
    """Write three topics of twenty documents, the judged ones at every fourth rank; two levels are huge."""
    rng = np.random.default_rng(SEED)
    levels = {1: (1, 0, 200_000_000, 2, 0), 2: (0, 1_000_000, 1, 0, 3), 3: (2, 1, 0, 0, 1)}
    docnos = [f"doc-{i:02}" for i in range(20)]
    runs = [run_text(qid, docnos, scores(rng, len(docnos)), "grade") for qid in levels]
    judgements = [(qid, docnos[4 * i], level) for qid, row in levels.items() for i, level in enumerate(row)]
    write(folder / RUN, "".join(runs))
    write(folder / QRELS, qrels_text(judgements))


def write(path: Path, text: str) -> None:
    """Write ASCII text with Unix line ends, on every system the same bytes."""
    path.write_text(text, encoding="ascii", newline="\n")


RECIPES: dict[str, Callable[[Path], None]] = {
    "msmarco": lambda folder: make_sparse(folder, topics=6_980, depth=1_000, pairs=457),
    "robust": make_robust,
    "topics": lambda folder: make_sparse(folder, topics=40_000, depth=5, pairs=20_000),
    "grade": make_grade,
    "tiny": lambda folder: make_sparse(folder, topics=10, depth=10, pairs=5),
    "topics-x1": lambda folder: make_sparse(folder, topics=500, depth=1_000, pairs=50),
    "topics-x2": lambda folder: make_sparse(folder, topics=1_000, depth=1_000, pairs=100),
    "topics-x4": lambda folder: make_sparse(folder, topics=2_000, depth=1_000, pairs=200),
    "topics-x8": lambda folder: make_sparse(folder, topics=4_000, depth=1_000, pairs=400),
}


def ensure(name: str, data: Path) -> Path:
    """Return the folder of a workload; make it first where it is not there."""
    folder = data / name
    if not folder.is_dir():
        data.mkdir(parents=True, exist_ok=True)
        # Made beside its place and renamed when complete: a folder with the right name is always whole.
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=data) as scratch:
            unfinished = Path(scratch, name)
            unfinished.mkdir()
            RECIPES[name](unfinished)
            os.rename(unfinished, folder)
    return folder


def main() -> None:
    """Make the workloads that the command line names (all by default) and print where they are."""
    parser = argparse.ArgumentParser("python -m benchmarks.workloads", description="Make workload files.")
    known = ", ".join(RECIPES)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"{known} (default: all)")
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="where the files go")
    args = parser.parse_args()
    names = args.workloads or list(RECIPES)
    if unknown := [name for name in names if name not in RECIPES]:
        parser.error(f"no workload {unknown[0]!r}; there are {known}")
    for name in names:
        try:
            folder = ensure(name, args.data)
        except OSError as error:
            sys.exit(f"benchmarks: cannot make {name}: {error}")
        print(name, folder / QRELS, folder / RUN, sep="\t")


if __name__ == "__main__":
    main()
