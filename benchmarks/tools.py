"""
trecpy and its peers at work, each in a process of its own.

`python -m benchmarks.tools files TOOL QRELS RUN...` reads and evaluates files and prints the six means of each run.
`python -m benchmarks.tools calls TOOL NAME --data DIR [--small]` makes the data of NAME and answers as
measuring.Worker asks. A line of values is: measure, mean with all digits, and of trecpy's the least and the largest
mean that another order of tied documents can give, all separated by tabs.
"""

import argparse
import resource
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.measuring import RSS_UNIT

MEASURES = ("map", "ndcg", "ndcg_cut_10", "P_10", "recip_rank", "recall_100")
IR_MEASURES = ("AP", "nDCG", "nDCG@10", "P@10", "RR", "R@100")
RANX = ("map", "ndcg", "ndcg@10", "precision@10", "mrr", "recall@100")

TOOLS = ("trecpy", "pytrec_eval", "ir_measures", "ranx")
ARGSORT = "np.argsort(-scores, axis=1)"
SHORT, LONG = 0.01, 0.05  # seconds: of a call shorter than this, as many are timed as take so long

Values = dict[str, tuple[float, ...]]
Call = tuple[Callable[[], Any], Callable[[Any], Values]]  # what is timed, and how its result is read


def means(per_topic: Mapping[str, Mapping[str, float]], topics: int) -> Values:
    """The mean of each measure over so many topics, added in byte order of their ids as trec_eval does."""
    result: Values = {}
    for measure in MEASURES:
        # Not sum(): from Python 3.12 on it compensates rounding, and trec_eval does not.
        total = 0.0
        for qid in sorted(per_topic, key=str.encode):
            total += per_topic[qid][measure]
        result[measure] = (total / topics,)
    return result


def renamed(values: Mapping[Any, float], names: Sequence[str]) -> Values:
    """A tool's means under trec_eval's names."""
    found = {str(name): float(value) for name, value in values.items()}
    return {measure: (found[name],) for measure, name in zip(MEASURES, names, strict=True)}


def from_files(tool: str, qrels_path: str, run_paths: Sequence[str]) -> Iterator[Values]:
    """Read the judgements once, and read and evaluate each run, as the tool's own documentation does."""
    if tool == "trecpy":
        yield from (exact(qrels_path, path) for path in run_paths)
    elif tool == "pytrec_eval":
        import pytrec_eval

        with open(qrels_path, encoding="utf-8") as file:
            qrels = pytrec_eval.parse_qrel(file)
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, MEASURES)
        for path in run_paths:
            with open(path, encoding="utf-8") as file:
                run = pytrec_eval.parse_run(file)
            yield means(evaluator.evaluate(run), len(qrels))
    elif tool == "ir_measures":
        import ir_measures

        measures = [ir_measures.parse_measure(name) for name in IR_MEASURES]
        scorer = ir_measures.evaluator(measures, list(ir_measures.read_trec_qrels(qrels_path)))
        for path in run_paths:
            yield renamed(scorer.calc_aggregate(ir_measures.read_trec_run(path)), IR_MEASURES)
    else:
        import ranx

        judged = ranx.Qrels.from_file(qrels_path, kind="trec")
        for path in run_paths:
            found = ranx.evaluate(judged, ranx.Run.from_file(path, kind="trec"), list(RANX), make_comparable=True)
            yield renamed(found, RANX)


def exact(qrels: Any, run: Any) -> Values:
    """
    The means of trecpy as trec_eval 9.0.8 has them, which is in pytrec_eval and ir_measures.

    The other two of each are the bounds for whoever ranks tied documents otherwise, of scores of 64 bits.
    """
    import trecpy

    ours = trecpy.evaluate(qrels, run, MEASURES, compat="9.0.8")
    bounds = trecpy.evaluate(qrels, run, MEASURES).tie_range()
    return {measure: (ours[measure], *bounds[measure]) for measure in MEASURES}


def from_dicts(tool: str, qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]], prepared: bool) -> Call:
    """
    Evaluate dicts; where the judgements are prepared, what depends on them alone is not timed.

    Of ranx it never is, nor is the making of its Run, which takes many times as long as all the rest.
    """
    if tool == "trecpy":
        import trecpy

        evaluator = trecpy.Evaluator(qrels, MEASURES)
        whole = lambda: trecpy.evaluate(qrels, run, MEASURES)  # noqa: E731
        return (lambda: evaluator.evaluate(run)) if prepared else whole, lambda _: exact(qrels, run)
    if tool == "pytrec_eval":
        import pytrec_eval

        ready = pytrec_eval.RelevanceEvaluator(qrels, MEASURES)
        anew = lambda: pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run)  # noqa: E731
        return (lambda: ready.evaluate(run)) if prepared else anew, lambda found: means(found, len(qrels))
    if tool == "ir_measures":
        import ir_measures

        measures = [ir_measures.parse_measure(name) for name in IR_MEASURES]
        scorer = ir_measures.evaluator(measures, qrels)
        direct = lambda: ir_measures.calc_aggregate(measures, qrels, run)  # noqa: E731
        return (lambda: scorer.calc_aggregate(run)) if prepared else direct, lambda found: renamed(found, IR_MEASURES)
    import ranx

    judged, ranked = ranx.Qrels(qrels), ranx.Run(run)
    return lambda: ranx.evaluate(judged, ranked, list(RANX)), lambda found: renamed(found, RANX)


def from_matrices(tool: str, scores: Any, levels: Any) -> Call:
    """
    Evaluate matrices; of tools that take none, dicts that were made before.

    ranx takes arrays of a sorted run: the sorting is part of its work, as it is of everybody's; its labels are ready.
    """
    import numpy as np

    if tool == ARGSORT:
        return lambda: np.argsort(-scores, axis=1), lambda _: {}
    if tool == "trecpy":
        import trecpy

        def values(found: Any) -> Values:
            """No scores are tied, in 32 bits neither: the bounds are the values."""
            return {measure: (found[measure],) * 3 for measure in MEASURES}

        return lambda: trecpy.evaluate_dense(scores, levels, MEASURES), values
    if tool != "ranx":
        from benchmarks.data import as_dicts

        return from_dicts(tool, *as_dicts(scores, levels), prepared=False)
    import ranx

    most = int((levels > 0).sum(axis=1).max())
    judged = np.argsort(-levels, axis=1, kind="stable")[:, :most]  # best first, as ranx takes the ideal ranking
    qrels = np.stack((judged, np.take_along_axis(levels, judged, axis=1)), axis=2)

    def whole() -> Any:
        order = np.argsort(-scores, axis=1)
        run = np.stack((order, np.take_along_axis(scores, order, axis=1)), axis=2)
        return ranx.evaluate(qrels, run, list(RANX))

    return whole, lambda found: renamed(found, RANX)


def prepared_call(tool: str, name: str, data: Path, small: bool) -> Call:
    """What is timed of a workload in memory."""
    from benchmarks import data as maker

    size = maker.Size(small)
    if name.startswith("dense"):
        return from_matrices(tool, *maker.dense(name, size))
    if name == "dicts":
        return from_dicts(tool, *maker.dicts(data, size), prepared=False)
    return from_dicts(tool, *maker.one_topic(), prepared=True)


def serve(call: Callable[[], Any], read: Callable[[Any], Values], ask: Iterator[str]) -> Iterator[str]:
    """Answer the questions of measuring.Worker."""
    times, result = 1, None
    for question in ask:
        if question.strip() == "values":
            found = lines(read(result))
            yield "\n".join((str(len(found)), *found))
            continue
        result = None  # what it holds is freed before the next call, not in it
        start = perf_counter()
        for _ in range(times):
            result = call()
        seconds = (perf_counter() - start) / times
        if times == 1 and seconds < SHORT:
            times = max(1, round(LONG / seconds))
        yield f"{seconds!r} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT / 2**20:.1f}"


def lines(values: Values) -> list[str]:
    """One line a measure."""
    return ["\t".join((measure, *map(repr, numbers))) for measure, numbers in values.items()]


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser("python -m benchmarks.tools")
    kinds = parser.add_subparsers(dest="kind", required=True)
    files = kinds.add_parser("files")
    files.add_argument("tool", choices=TOOLS)
    files.add_argument("qrels")
    files.add_argument("runs", nargs="+")
    calls = kinds.add_parser("calls")
    calls.add_argument("tool", choices=(*TOOLS, ARGSORT))
    calls.add_argument("name")
    calls.add_argument("--data", type=Path, required=True)
    calls.add_argument("--small", action="store_true")
    args = parser.parse_args()
    if args.kind == "files":
        for values in from_files(args.tool, args.qrels, args.runs):
            print(*lines(values), sep="\n")
        return
    out, sys.stdout = sys.stdout, sys.stderr  # what a library prints is no answer
    call, read = prepared_call(args.tool, args.name, args.data, args.small)
    print("ready", file=out, flush=True)
    for answer in serve(call, read, iter(sys.stdin.readline, "")):
        print(answer, file=out, flush=True)


if __name__ == "__main__":
    main()
