"""What a paper's table has: values by the paper's own names."""

from collections.abc import Mapping, Sequence


class Figures(dict[str, float]):
    """
    Values by the names that a paper gives them.

    topics: how many are averaged; missing: of these, how many lack their gold document; notes: what was odd
    protocol: the conventions, in one line
    """

    def __init__(
        self, values: Mapping[str, float], *, topics: int, missing: int = 0, notes: Sequence[str] = (), protocol: str
    ) -> None:
        super().__init__(values)
        self.topics, self.missing, self.notes, self.protocol = topics, missing, tuple(notes), protocol
