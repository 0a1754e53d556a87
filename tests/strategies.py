"""Hypothesis strategies: collections full of what real ones have seldom."""

from dataclasses import dataclass

from hypothesis import strategies as st

DOCNOS = ["a", "b", "B", "c", "d1", "d10", "d2", "é", "z" * 30, "%s", "doc'7", "x_y"]
TOPICS = ["1", "10", "2", "301", "q/é", "031"]

# Few values, so that ties are common; some differ only beyond float32, some are the same number in another form.
SCORES = ["0", "-0", "1", "1.0", "1.00000001", "2.5", "-3e-2", "1e3", "0x1p1", "16777217", "16777216", "9.25", "-inf"]


@dataclass(frozen=True)
class Collection:
    """Judgements {topic: {docno: level}} and a run {topic: {docno: score as text}}."""

    qrels: dict[str, dict[str, int]]
    run: dict[str, dict[str, str]]

    def qrels_lines(self) -> list[str]:
        return [f"{t} 0 {d} {level}" for t, docs in self.qrels.items() for d, level in docs.items()]

    def run_lines(self) -> list[str]:
        return [f"{t} Q0 {d} 1 {score} tag" for t, docs in self.run.items() for d, score in docs.items()]


def text(lines: list[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


def _by_topic(values: st.SearchStrategy[object], fewest: int) -> st.SearchStrategy[dict[str, dict[str, object]]]:
    documents = st.dictionaries(st.sampled_from(DOCNOS), values, min_size=fewest, max_size=len(DOCNOS))
    return st.dictionaries(st.sampled_from(TOPICS), documents, min_size=1, max_size=len(TOPICS))


def collections(lowest: int = -2, highest: int = 4) -> st.SearchStrategy[Collection]:
    """Ties, documents without judgements, levels below 0, topics on one side only; each topic judges something >= 0."""

    def judged(qrels: dict[str, dict[str, int]]) -> bool:
        return all(any(level >= 0 for level in docs.values()) for docs in qrels.values())

    return st.builds(
        Collection,
        _by_topic(st.integers(lowest, highest), 1).filter(judged),  # type: ignore[arg-type]
        _by_topic(st.sampled_from(SCORES), 1),
    )
