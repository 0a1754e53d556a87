"""Which documents runs ranked, whatever their order: how deep they go, and how far two runs share candidates."""

from dataclasses import dataclass, field

import numpy as np

from trecpy.kernels.dtypes import Words
from trecpy.packed import Block


@dataclass
class Pool:
    """
    The documents of a run.

    documents: topic -> uint64[n]  hashes of its documents, ascending; 64 bits tell all documents of a topic apart
    """

    documents: dict[bytes, Words] = field(default_factory=dict)

    def see(self, block: Block) -> None:
        """Take the rankings of a block."""
        for topic, start, stop in zip(block.topics, block.starts[:-1], block.starts[1:], strict=True):
            self.documents[topic] = np.unique(block.hashes[start:stop])


@dataclass(frozen=True)
class Overlap:
    """
    Two runs' documents over the topics of both.

    topics: how many; same: in how many both ranked the same set
    first_depth, second_depth: documents a topic, mean; shared: size of the intersection / size of the union, mean
    """

    topics: int
    same: int
    first_depth: float
    second_depth: float
    shared: float


def overlap(first: Pool, second: Pool) -> Overlap | None:
    """Compare two pools; None where no topic is in both."""
    topics = first.documents.keys() & second.documents.keys()
    if not topics:
        return None
    a = np.array([len(first.documents[topic]) for topic in topics])
    b = np.array([len(second.documents[topic]) for topic in topics])
    pairs = ((first.documents[topic], second.documents[topic]) for topic in topics)
    common = np.array([len(np.intersect1d(one, two, assume_unique=True)) for one, two in pairs])
    union = a + b - common
    return Overlap(
        topics=len(topics),
        same=int(np.count_nonzero(common == union)),
        first_depth=float(a.mean()),
        second_depth=float(b.mean()),
        shared=float(np.mean(common / np.maximum(union, 1))),
    )
