"""What looks like a mistake in a file that is read all the same: the facts, and these in words."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from trecpy.text import plural, quoted


@dataclass(eq=False, repr=False)
class Oddities:
    """
    What looks like a mistake, each kind kept once.

    mark: does the file begin with a byte order mark?
    returns: CRs inside lines, the first of them in line `return_line`
    values: what becomes of a value that is no number -> the first one in words, and how many
    comments: lines taken for comments that read like data of a topic whose id begins with '#'; comment: line number
        and text of the first one
    apart: where a topic came back after another one: line, None in a table, and topic; again: was the file read again
        for that?
    """

    mark: bool = False
    returns: int = 0
    return_line: int = 0
    values: dict[str, tuple[str, int]] = field(default_factory=dict)
    comments: int = 0
    comment: tuple[int, bytes] = 0, b""
    apart: tuple[int | None, bytes] | None = None
    again: bool = False

    def add(self, fate: str, said: str, count: int = 1) -> None:
        """Count values; `said` is of the first."""
        first, before = self.values.get(fate, (said, 0))
        self.values[fate] = first, before + count

    def add_returns(self, count: int, line: int) -> None:
        """Count CRs inside lines; `line` is that of the first."""
        self.return_line = self.return_line or line
        self.returns += count

    def merge(self, later: "Oddities") -> None:
        """Add those of a later part of the file."""
        self.mark = self.mark or later.mark
        self.add_returns(later.returns, later.return_line)
        self.comment = self.comment if self.comments else later.comment
        self.comments += later.comments
        for fate, (said, count) in later.values.items():
            self.add(fate, said, count)

    def notes(self, name: str, strict: bool) -> Iterator[str]:
        """One line each, but for topics that were apart in memory. strict: as Reader has it"""
        if self.apart is not None and self.again:
            line, topic = self.apart
            where, what = (name, "records") if line is None else (f"{name}:{line}", "lines")
            yield f"{where}: the {what} of topic {quoted(topic)} are not together: read twice and held in memory"
        if self.mark and strict:
            yield f"{name}:1: a byte order mark was dropped"
        elif self.mark:
            yield f"{name}:1: begins with a byte order mark, which is read as part of the first id"
        if self.returns:
            yield (
                f"{name}:{self.return_line}: a CR without LF inside the line is read as a blank; are these CR line "
                f"ends? ({plural(self.returns, 'CR')})"
            )
        for said, count in self.values.values():
            yield said + (f" ({count:,} such lines)" if count > 1 else "")
        if self.comments:
            yield (
                f"{name}: {plural(self.comments, 'line')} of a topic whose id begins with '#' "
                "taken for comments, as trec_eval 10.0 does and 9.0.8 does not"
            )
