"""
Make the data: `python -m benchmarks.data [NAME ...] [--data DIR] [--small] [--runs N]`.

What is in files is in the folder DIR/NAME, the same bytes whenever it is made with the same NumPy, and made once.
One line a name goes to standard output: name, qrels path, run paths, separated by tabs.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import DATA, RUNS

QRELS, RUN = "qrels.txt", "run.txt"

Floats = NDArray[np.float64]
Levels = NDArray[np.int64]
Judgement = tuple[object, object, int]  # qid, docno, level
Dicts = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]  # qrels and run

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


@dataclass(frozen=True)
class Sparse:
    """Shape of a collection in the manner of MS MARCO: `judged` passages a topic, one more in `pairs` of the topics."""

    topics: int
    depth: int
    pairs: int
    judged: int = 1


SPARSE = {
    "msmarco": Sparse(6_980, 1_000, 457),
    "topics": Sparse(40_000, 5, 20_000),
    "tiny": Sparse(10, 10, 5),
    "topics-x1": Sparse(500, 1_000, 50),
    "topics-x2": Sparse(1_000, 1_000, 100),
    "topics-x4": Sparse(2_000, 1_000, 200),
    "topics-x8": Sparse(4_000, 1_000, 400),
    "depth-x2": Sparse(500, 2_000, 50),
    "depth-x4": Sparse(500, 4_000, 50),
    "depth-x8": Sparse(500, 8_000, 50),
    "judged-10": Sparse(500, 1_000, 50, 10),
    "judged-100": Sparse(500, 1_000, 50, 100),
    "judged-1000": Sparse(500, 1_000, 50, 1_000),
}
FILES = (*SPARSE, "robust", "hundred")


@dataclass(frozen=True)
class Size:
    """How much is made: all of it, or a hundredth or less to try things out; and how many runs `hundred` has."""

    small: bool = False
    runs: int = RUNS

    def __call__(self, count: int, least: int = 20) -> int:
        """So many of what is `count` in the full size."""
        return max(count // 100, min(count, least)) if self.small else count


def make_sparse(folder: Path, shape: Sparse, size: Size) -> None:
    """Write a collection whose run has its topics in random order and the qrels by number: the two orders differ."""
    rng = np.random.default_rng(SEED)
    depth = size(shape.depth)
    odds = rank_odds(depth, 0)
    qids = rng.choice(MAX_QID, size(shape.topics), replace=False) + 1
    judgements: list[tuple[int, int, int]] = []
    with open(folder / RUN, "w", encoding="ascii", newline="\n") as run:
        for q, qid in enumerate(qids.tolist()):
            num_judged = size(shape.judged) + (q < size(shape.pairs, 1))
            num_found = min(num_judged, depth)
            docnos = rng.choice(PASSAGES, depth + num_judged, replace=False)
            run.write(run_text(qid, docnos[:depth].tolist(), scores(rng, depth), "bm25k"))
            found = docnos[rng.choice(depth, num_found, replace=False, p=odds)]
            missed = rng.random(num_found) < MISSED
            judged = np.concatenate(
                (np.where(missed, docnos[depth : depth + num_found], found), docnos[depth + num_found :])
            )
            judgements += [(qid, docno, 1) for docno in judged.tolist()]
    write(folder / QRELS, qrels_text(sorted(judgements)))


def make_robust(folder: Path, size: Size) -> None:
    """Write a collection in the manner of TREC Robust 2004: news articles, pooled, levels 0 to 2."""
    rng = np.random.default_rng(SEED)
    depth = size(1_000)
    with (
        open(folder / RUN, "w", encoding="ascii", newline="\n") as run,
        open(folder / QRELS, "w", encoding="ascii", newline="\n") as qrels,
    ):
        for qid in [*range(301, 451), *range(601, 701)][: size(250)]:
            num_judged = int(rng.integers(depth, depth + depth // 2 + 1))
            num_found = num_judged // 3
            num_missed = num_judged - num_found
            docnos = news_docnos(rng, depth + num_missed)
            run.write(run_text(qid, docnos[:depth], scores(rng, depth), "bm25-rm3"))
            found = rng.choice(depth, num_found, replace=False, p=rank_odds(depth, 100)).tolist()
            judged = [docnos[i] for i in found] + docnos[depth:]
            levels = [
                *rng.choice(3, num_found, p=[0.85, 0.11, 0.04]).tolist(),
                *rng.choice(3, num_missed, p=[0.98, 0.015, 0.005]).tolist(),
            ]
            pool = sorted(zip(judged, levels, strict=True))
            qrels.write(qrels_text((qid, docno, level) for docno, level in pool))


def make_another(path: Path, qrels: Path, seed: int, size: Size) -> None:
    """Write one more run for the judgements of robust: a third of the judged documents, the rest unjudged ones."""
    rng = np.random.default_rng((SEED, seed))
    depth = size(1_000)
    judged: dict[str, list[str]] = {}
    for line in qrels.read_text(encoding="ascii").splitlines():
        qid, _, docno, _ = line.split()
        judged.setdefault(qid, []).append(docno)
    with open(path, "w", encoding="ascii", newline="\n") as run:
        for qid, pool in judged.items():
            num_found = len(pool) // 3
            known = set(pool)
            others = [docno for docno in news_docnos(rng, depth + len(pool)) if docno not in known]
            docnos = others[:depth]
            places = rng.choice(depth, num_found, replace=False, p=rank_odds(depth, 100)).tolist()
            for place, found in zip(places, rng.choice(len(pool), num_found, replace=False).tolist(), strict=True):
                docnos[place] = pool[found]
            run.write(run_text(qid, docnos, scores(rng, depth), f"run-{seed:03}"))


def news_docnos(rng: np.random.Generator, count: int) -> list[str]:
    """Return `count` different docnos such as FBIS3-12345, in random order."""
    docs = rng.choice(len(SOURCES) * SOURCE_SIZE, count, replace=False).tolist()
    return [f"{SOURCES[doc // SOURCE_SIZE]}-{doc % SOURCE_SIZE + 10_000}" for doc in docs]


def write(path: Path, text: str) -> None:
    """Write ASCII text with Unix line ends, on every system the same bytes."""
    path.write_text(text, encoding="ascii", newline="\n")


@contextmanager
def unfinished(place: Path) -> Iterator[Path]:
    """A path beside its place, renamed when complete: what has the right name is always whole."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{place.name}-", dir=place.parent) as scratch:
        yield Path(scratch, place.name)
        os.rename(Path(scratch, place.name), place)


def files(name: str, data: Path, size: Size) -> tuple[Path, list[Path]]:
    """Return the qrels and the runs of a name of FILES, made where they are not there."""
    folder = data / "small" / name if size.small else data / name
    if name == "hundred":
        qrels, _ = files("robust", data, size)
        runs = [folder / f"run-{seed:03}.txt" for seed in range(size.runs)]
        for seed, path in enumerate(runs):
            if not path.exists():
                with unfinished(path) as scratch:
                    make_another(scratch, qrels, seed, size)
        return qrels, runs
    if not folder.is_dir():
        with unfinished(folder) as scratch:
            scratch.mkdir()
            if name == "robust":
                make_robust(scratch, size)
            else:
                make_sparse(scratch, SPARSE[name], size)
    return folder / QRELS, [folder / RUN]


def dense(name: str, size: Size) -> tuple[Floats, Levels]:
    """
    float64[6980, 1000] scores and int64 levels: one candidate a row relevant (dense-1), or 15% of level 1 to 3.

    The scores of a row differ in float32 too, so that every tool ranks alike.
    """
    rng = np.random.default_rng(SEED)
    shape = (size(6_980), size(1_000))
    scores = rng.random(shape, np.float32)
    while len(tied := np.flatnonzero((np.diff(np.sort(scores, axis=1), axis=1) == 0).any(axis=1))):
        scores[tied] = rng.random((len(tied), shape[1]), np.float32)
    if name == "dense-1":
        levels = np.zeros(shape, np.int64)
        levels[np.arange(shape[0]), rng.integers(shape[1], size=shape[0])] = 1
    else:
        levels = np.where(rng.random(shape) < 0.15, rng.integers(1, 4, shape), 0)
    return scores.astype(np.float64), levels


def as_dicts(scores: Floats, levels: Levels) -> Dicts:
    """Matrices as dicts, their numbers as ids of one length; level 0 is not judged."""
    docnos = [f"{d:04}" for d in range(scores.shape[1])]
    qids = [f"{q:04}" for q in range(len(scores))]
    judged = [np.flatnonzero(row).tolist() for row in levels]
    qrels = {qid: {docnos[d]: int(levels[q, d]) for d in judged[q]} for q, qid in enumerate(qids)}
    return qrels, {qid: dict(zip(docnos, row, strict=True)) for qid, row in zip(qids, scores.tolist(), strict=True)}


def dicts(data: Path, size: Size) -> Dicts:
    """The files of msmarco as dicts."""
    qrels_path, (run_path,) = files("msmarco", data, size)
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    with open(qrels_path, encoding="ascii") as lines:
        for line in lines:
            qid, _, docno, level = line.split()
            qrels.setdefault(qid, {})[docno] = int(level)
    with open(run_path, encoding="ascii") as lines:
        for line in lines:
            qid, _, docno, _, score, _ = line.split()
            run.setdefault(qid, {})[docno] = float(score)
    return qrels, run


def one_topic() -> Dicts:
    """One topic of 100 ranked documents, of which 10 are judged, as are 5 others; levels 0 to 3."""
    rng = np.random.default_rng(SEED)
    docnos = news_docnos(rng, 105)
    judged = [*rng.choice(100, 10, replace=False).tolist(), *range(100, 105)]
    levels = [1, 2, 3, *rng.integers(4, size=12).tolist()]
    qrels = {docnos[d]: level for d, level in zip(judged, levels, strict=True)}
    return {"301": qrels}, {"301": dict(zip(docnos[:100], scores(rng, 100).tolist(), strict=True))}


def main() -> None:
    """Make the files that the command line names (all by default) and print where they are."""
    parser = argparse.ArgumentParser("python -m benchmarks.data", description="Make the files of the benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FILES))
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help=f"where they go (default: {DATA})")
    parser.add_argument("--small", action="store_true", help="a hundredth of the size, in DIR/small")
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"runs of hundred (default: {RUNS})")
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in FILES]:
        parser.error(f"no name {unknown[0]!r}; there are {', '.join(FILES)}")
    for name in args.names or FILES:
        try:
            qrels, runs = files(name, args.data, Size(args.small, args.runs))
        except OSError as error:
            sys.exit(f"benchmarks: cannot make {name}: {error}")
        print(name, qrels, *runs, sep="\t")


if __name__ == "__main__":
    main()
