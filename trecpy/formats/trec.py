"""TREC's text formats: what a line of each is."""

from dataclasses import dataclass

import numpy as np

from trecpy.kernels import parse as kernel
from trecpy.kernels.dtypes import Integers


@dataclass(eq=False, repr=False)
class Layout:
    """
    What a line is: its columns by name, which one is the value and what the value is called, and what is no data.

    exact: no further columns; integer: the value is an integer, else a real number; comments: as the kernel has them
    spans: up to two columns whose places are kept beside docno's
    """

    columns: str
    value: str
    exact: bool
    integer: bool
    comments: int
    blanks: bool = False
    spans: tuple[str, ...] = ()

    @property
    def states_ranks(self) -> bool:
        """Are the values ranks, of which the smallest is first?"""
        return self.value == "rank"

    @property
    def sign(self) -> int:
        """By what values are multiplied to be scores, of which the largest is first."""
        return -1 if self.states_ranks else 1

    def packed(self) -> Integers:
        """The kernel's layout: int64[LAYOUT_SIZE]."""
        names = self.columns.split()
        packed = np.full(kernel.LAYOUT_SIZE, -1, np.int64)
        packed[kernel.COLUMNS], packed[kernel.EXACT] = len(names), self.exact
        packed[kernel.COMMENTS], packed[kernel.BLANKS], packed[kernel.INTEGER] = (
            self.comments,
            self.blanks,
            self.integer,
        )
        for entry, name in (
            (kernel.DOC, "docno"), (kernel.VALUE, self.value), (kernel.TAG, "tag"),
            *zip((kernel.FIRST_SPAN, kernel.SECOND_SPAN), self.spans, strict=False),
        ):  # fmt: skip
            packed[entry] = names.index(name) if name in names else -1
        return packed


_GROUPS = {"qrels": (), "qrels_jg": ("group",), "qrels_prefs": ("group",), "prefs": ("group", "subgroup")}
JUDGEMENT_LAYOUTS = {
    form: Layout(
        " ".join(["topic", *(groups or ("iter",)), "docno level"]),
        "level",
        exact=True,
        integer=form in ("qrels", "qrels_jg"),
        comments=kernel.HASH_FIRST,
        spans=groups,
    )
    for form, groups in _GROUPS.items()
}
RUN_LAYOUT = Layout(
    "topic iter docno rank score tag", "score", exact=False, integer=False, comments=kernel.HASH_INDENTED, blanks=True
)
MSMARCO_LAYOUT = Layout("topic docno rank", "rank", exact=True, integer=False, comments=kernel.NO_COMMENTS, blanks=True)
