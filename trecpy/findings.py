"""What can be wrong with judgements and runs: one table of codes, and what was found of each in a file."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
_EXAMPLES = 3


@dataclass(frozen=True)
class Code:
    """
    One kind of finding.

    what: it is; effect: on scores; remedy: what to do; fixable: it has one right answer, which --fix writes
    """

    severity: Severity
    what: str
    effect: str
    remedy: str
    fixable: bool = False


CODES = {
    # Both kinds of files
    "unreadable": Code("error", "the file cannot be read to its end",
        "it cannot be scored", "mend it as the message says"),
    "malformed-line": Code("error", "lines with a wrong number of columns",
        "trec_eval and trecpy refuse the file; readers that pass them over lose documents",
        "write ids without blanks, and all the columns"),
    "bad-value": Code("error", "scores or levels that are no numbers",
        "trec_eval reads what the text begins with, else 0, in silence; trecpy refuses it",
        "write plain decimal numbers"),
    "header": Code("error", "a first line that names the columns",
        "it is refused, or taken for a document", "drop it", fixable=True),
    "byte-order-mark": Code("error", "a byte order mark at the beginning",
        "trec_eval reads it as part of the first topic's id, and that topic is lost", "drop it", fixable=True),
    "odd-id": Code("warning", "ids with control characters, invisible or no-break spaces, broken or unusual UTF-8",
        "ids are compared byte by byte: one that looks the same in the other file may not match",
        "write all files from the same ids, in one encoding and normal form"),
    "no-records": Code("error", "no line of data",
        "there is nothing to score", "write one line a document"),
    # Judgements
    "duplicate-judgement": Code("error", "a document judged twice in a topic",
        "trec_eval stops when the topic is scored", "keep one; --fix drops those that say the same again",
        fixable=True),
    "blank-line": Code("error", "blank lines in judgements",
        "trec_eval and trecpy refuse the file", "drop them", fixable=True),
    "fractional-level": Code("error", "levels that are no integers",
        "trec_eval cuts them (0.9 becomes 0) in silence; trecpy refuses them unless gains are 'float'",
        "write integers, or score with --gains float"),
    "negative-level": Code("note", "levels below 0",
        "such documents count as nonrelevant, with --judged-only they are dropped as if unjudged",
        "write 0 if they were judged nonrelevant"),
    "huge-level": Code("warning", "levels above 100",
        "nDCG's gains are the levels: one such document outweighs all others; 2^level overflows",
        "check whether these are levels, or give gains"),
    "no-relevant": Code("note", "topics without a relevant document",
        "they score 0 in nearly every measure and pull means down",
        "drop them from the judgements if that is not meant"),
    # Runs
    "nan-score": Code("error", "scores that are NaN",
        "their place in the ranking is undefined: tools rank them first, last or in between; trecpy refuses them",
        "find out why the system gave none; leave the document out, or give it the lowest score"),
    "infinite-score": Code("warning", "scores that are infinite, or too large for a double",
        "they stand above or below all others and tie among themselves", "write finite scores"),
    "duplicate-document": Code("error", "a document twice in a topic's ranking",
        "trec_eval and trecpy refuse the topic; tools that do not can score above 1",
        "keep one; --fix drops those with the same score, --duplicates first or max scores the run as it is",
        fixable=True),
    "split-topic": Code("note", "lines of a topic that are not together",
        "none; the file is read twice and held in memory", "sort the lines by topic", fixable=True),
    "tied-scores": Code("note", "documents with the score of another one of their topic",
        "their order is by docno, larger first, and no better than chance",
        "write scores with more digits, or break ties in the system; --ties best, worst and expected give the range"),
    "float32-tie": Code("warning", "scores that differ, but not as 32 bit numbers",
        "they are ties for trec_eval 9.0.8, pytrec_eval and ir_measures, and not for trec_eval 10.0",
        "say which generation a number is from (--compat)"),
    "rank-contradicts-score": Code("warning", "ranks in another order than the scores",
        "nearly every tool ranks by score and ignores the rank column: what is scored is not the ranking as written",
        "if ranks are right, write scores that fall with them; --fix writes ranks by score", fixable=True),
    "several-tags": Code("warning", "more than one run tag",
        "none on scores; the last line's is printed, and the file may hold several runs", "split the file by run"),
    "extra-columns": Code("note", "columns behind the run tag",
        "none; a tag with blanks is legal for trec_eval and refused elsewhere", "drop them", fixable=True),
    "short-ranking": Code("warning", "topics with fewer documents than asked for, or than most topics of the run",
        "recall and all measures at deeper cutoffs are lower than the system's", "write as many for every topic"),
    "missing-topic": Code("warning", "judged topics that the run lacks",
        "with -c, and by trecpy's default, they count as 0; without it they are left out of the means",
        "run the system on them, or say that it failed"),
    "unjudged-topic": Code("note", "topics of the run without judgements",
        "they are left out", "nothing, if the judgements are for a part of the topics"),
    "self-hit": Code("warning", "documents whose id is the topic's",
        "where topics are documents (ArguAna, Quora) the topic finds itself, which is never judged relevant",
        "drop them, or score with --ignore-self"),
    "unjudged-documents": Code("note", "documents without a judgement among the first 20",
        "they count as nonrelevant, so that the run may be better than its score",
        "report the share (unj), compare only runs of like shares, or score with --judged-only"),
    "near-id": Code("warning", "ids that match the other file's but for case, zeros in front, or encoding",
        "they do not match, and what they name counts as missing or nonrelevant",
        "write both files from the same ids"),
}  # fmt: skip


@dataclass
class Finding:
    """What was found of one code in a file. detail: what it does to this file's scores, where that was measured."""

    code: str
    severity: Severity
    count: int = 0
    examples: list[str] = field(default_factory=list)
    detail: str = ""

    @property
    def wants_examples(self) -> bool:
        """Are there fewer than are shown?"""
        return len(self.examples) < _EXAMPLES


class Findings:
    """All that was found in one file. records, topics: how many there are; lines: it has lines of TREC's."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind, self.lines = name, kind, False
        self.records = self.topics = 0
        self._found: dict[str, Finding] = {}

    def add(
        self, code: str, count: int, examples: Iterable[str] = (), detail: str = "", severity: Severity | None = None
    ) -> None:
        """
        Count something found, if `count` is not 0. The first three examples are kept; they are not made in vain.

        severity: instead of the code's.
        """
        if not count:
            return
        finding = self._found.setdefault(code, Finding(code, CODES[code].severity))
        finding.count += count
        finding.severity = severity or finding.severity
        finding.detail = detail or finding.detail
        if finding.wants_examples:
            for example in examples:
                finding.examples.append(example)
                if not finding.wants_examples:
                    break

    def add_detail(self, code: str, detail: str, severity: Severity) -> None:
        """Say what a finding does, and how bad that is."""
        self._found[code].detail, self._found[code].severity = detail, severity

    def wants(self, code: str) -> bool:
        """Are more examples of a code wanted?"""
        return code not in self._found or self._found[code].wants_examples

    def forget(self, codes: Iterable[str]) -> None:
        """Begin again with these."""
        for code in codes:
            self._found.pop(code, None)

    def __contains__(self, code: str) -> bool:
        return code in self._found

    def sorted(self) -> list[Finding]:
        """The worst first, else in the order of the codes."""
        order = list(CODES)
        return sorted(self._found.values(), key=lambda each: (SEVERITIES.index(each.severity), order.index(each.code)))

    @property
    def worst(self) -> Severity | None:
        """The severity of the worst finding."""
        found = self.sorted()
        return found[0].severity if found else None
