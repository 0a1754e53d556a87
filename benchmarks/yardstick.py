"""
Stand-in for NIST's trec_eval where that is not installed: `python -m benchmarks.yardstick QRELS RUN`.

It reads both files with pytrec_eval's own parsers, evaluates six measures and prints each mean as
name TAB value, the value with all its digits. The means are those of `trec_eval -c`.
"""

import sys
from collections.abc import Mapping

MEASURES = ("map", "ndcg", "ndcg_cut_10", "P_10", "recip_rank", "recall_100")


def evaluate(qrels_path: str, run_path: str) -> dict[str, float]:
    """Return the mean of each measure over the topics of the qrels; one that is not in the run counts 0."""
    import pytrec_eval

    with open(qrels_path, encoding="utf-8") as file:
        qrels = pytrec_eval.parse_qrel(file)
    with open(run_path, encoding="utf-8") as file:
        run = pytrec_eval.parse_run(file)
    per_topic = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run)
    return {measure: total(per_topic, measure) / len(qrels) for measure in MEASURES}


def total(per_topic: Mapping[str, Mapping[str, float]], measure: str) -> float:
    """Add one measure over the topics in byte order of their ids."""
    # Not sum(): from Python 3.12 on it compensates rounding, and trec_eval does not.
    result = 0.0
    for qid in sorted(per_topic, key=str.encode):
        result += per_topic[qid][measure]
    return result


def main() -> None:
    """Print the means, or one line on stderr where that cannot be done."""
    if len(sys.argv) != 3:
        sys.exit("usage: python -m benchmarks.yardstick QRELS RUN")
    try:
        means = evaluate(*sys.argv[1:])
    except ImportError as error:
        sys.exit(f"yardstick: pytrec_eval-terrier is needed: {error}")
    except OSError as error:
        sys.exit(f"yardstick: {error}")
    for measure, mean in means.items():
        print(measure, repr(mean), sep="\t")


if __name__ == "__main__":
    main()
