"""The conventions under which a run is scored, as one frozen record. Knows no file and no array."""

from dataclasses import dataclass
from typing import Literal

Compat = Literal["10.0", "9.0.8"]
COMPATS: tuple[Compat, ...] = ("10.0", "9.0.8")


@dataclass(frozen=True)
class Protocol:
    """
    How a run is scored.

    compat           generation of trec_eval whose rules hold
    relevance_level  a document is relevant when its level is at least that
    judged_only      documents without a level >= 0 are dropped from rankings
    depth            documents that are kept of each ranking; None: all
    topics           whose mean: "qrels", every judged topic, those missing from the run too; "both", judged topics
                     that the run has
    num_docs         documents in the collection; only `utility` asks
    """

    compat: Compat = "10.0"
    relevance_level: int = 1
    judged_only: bool = False
    depth: int | None = None
    topics: Literal["qrels", "both"] = "qrels"
    num_docs: int = 0

    @property
    def scores_missing(self) -> bool:
        """Are judged topics that the run lacks scored as rankings without a judged document (10.0), or left out?"""
        return self.topics == "qrels" and self.compat == "10.0"
