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

    what: it is; effect: on scores; remedy: what to do
    fixable: it has one right answer, in all cases or some, which --fix writes
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
    "utf-16": Code("error", "text in UTF-16, which PowerShell's > and some editors write",
        "no tool can read it", "write UTF-8, as --fix, iconv -f UTF-16 -t UTF-8 and Out-File -Encoding utf8 do",
        fixable=True),
    "swapped-files": Code("error", "a run where judgements are expected, or judgements where a run is",
        "it cannot be scored", "give the judgements first, then the runs; --no-qrels where there are none"),
    "malformed-line": Code("error", "lines with a wrong number of columns",
        "trec_eval and trecpy refuse the file; readers that pass them over lose documents",
        "write ids without blanks, and all the columns"),
    "spaces-in-ids": Code("error", "lines whose ids hold spaces, so that rank and score, or level, are further right",
        "trec_eval reads another column as the score, in silence; documents are lost or take each other's place",
        "write ids without spaces in all files"),
    "missing-iter": Code("error", "lines without the second column (Q0 or 0)",
        "trec_eval and trecpy refuse the file", "write topic, Q0 or 0, docno, ... on every line"),
    "decimal-comma": Code("error", "scores or levels with a comma in the place of the point",
        "trec_eval reads what stands before it, in silence: 29,5 is 29; trecpy refuses it",
        "write points: print numbers without a locale (LC_ALL=C)"),
    "bad-value": Code("error", "scores or levels that are no numbers",
        "trec_eval reads what the text begins with, else 0, in silence; trecpy refuses it",
        "write plain decimal numbers"),
    "header": Code("error", "a first line that names the columns",
        "it is refused, or taken for a document", "drop it", fixable=True),
    "byte-order-mark": Code("error", "a byte order mark at the beginning",
        "trec_eval reads it as part of the first topic's id, and that topic is lost", "drop it", fixable=True),
    "cr-line-ends": Code("error", "lines that end in CR alone, as on old Macs",
        "trec_eval takes CRs for blanks and reads what are many lines as one; trecpy refuses the file",
        "write LF; --fix does", fixable=True),
    "comment-topic": Code("warning", "lines of topics whose ids begin with '#'",
        "trec_eval 10.0 takes them for comments in silence, trecpy with a warning; 9.0.8 reads them",
        "write ids that do not begin with '#'"),
    "repeated-topic": Code("error", "topics that an object of JSON has more than once",
        "trecpy refuses the file; Python's json, and what is built on it, keeps the last one and loses the others",
        "write all documents of a topic under one key"),
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
    "whole-level": Code("note", "whole numbers written as fractions (1.0), as frames with gaps write levels",
        "none; other readers of integers may refuse the file", "write integers; --fix does", fixable=True),
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
    "missing-tag": Code("error", "lines without the last column, the run tag",
        "trec_eval and trecpy refuse the file", "write a run tag, any word, behind each score"),
    "nan-score": Code("error", "scores that are NaN",
        "their place in the ranking is undefined: tools rank them first, last or in between; trecpy refuses them",
        "find out why the system gave none; leave the document out, or give it the lowest score"),
    "infinite-score": Code("warning", "scores that are infinite, or too large for a double",
        "they stand above or below all others and tie among themselves", "write finite scores"),
    "duplicate-document": Code("error", "a document twice in a topic's ranking",
        "trec_eval and trecpy refuse the topic; tools that do not can score above 1",
        "keep one; --fix drops those of the same score only, --duplicates first or max scores the run as it is",
        fixable=True),
    "split-topic": Code("note", "lines of a topic that are not together",
        "none; a large file is read twice and held in memory", "sort the lines by topic", fixable=True),
    "tied-scores": Code("note", "documents with the score of another one of their topic",
        "their order is by docno, larger first, and no better than chance",
        "write scores with more digits, or break ties in the system; --ties best, worst and expected give the range"),
    "float32-tie": Code("warning", "scores that differ, but not as 32 bit numbers",
        "they are ties for trec_eval 9.0.8, pytrec_eval and ir_measures, and not for trec_eval 10.0",
        "say which generation a number is from (--compat)"),
    "rank-contradicts-score": Code("warning", "ranks in another order than the scores",
        "nearly every tool ranks by score and ignores the rank column: what is scored is not the ranking as written",
        "find out which is right; if ranks are, write scores that fall with them (of distances, with a minus)"),
    "constant-rank": Code("note", "a rank column that says the same everywhere",
        "none for tools that rank by score, nearly all; one that ranks by rank has no ranking to score",
        "write ranks from 1 in each topic"),
    "several-tags": Code("warning", "more than one run tag",
        "none on scores; the last line's is printed, and the file may hold several runs", "split the file by run"),
    "extra-columns": Code("note", "columns behind the run tag",
        "none; a tag with blanks is legal for trec_eval and refused elsewhere", "drop them", fixable=True),
    "short-ranking": Code("warning", "topics with fewer documents than asked for, or than most topics of the run",
        "recall and all measures at deeper cutoffs are lower than the system's", "write as many for every topic"),
    "fewer-than-others": Code("warning", "topics with fewer documents than another run here has",
        "recall and all measures at deeper cutoffs favour the longer ranking: such scores are not comparable",
        "compare runs of one depth, or measures with a cutoff that all of them reach (--depth cuts all)"),
    "missing-topic": Code("warning", "judged topics that the run lacks",
        "with -c, and by trecpy's default, they count as 0; without it they are left out of the means",
        "run the system on them, or say that it failed"),
    "unjudged-topic": Code("note", "topics of the run without judgements",
        "they are left out", "nothing, if the judgements are for a part of the topics"),
    "self-hit": Code("warning", "documents whose id is the topic's",
        "where topics are documents (ArguAna, Quora) the topic finds itself, which is never judged relevant",
        "drop them, or score with --ignore-self"),
    "unjudged-documents": Code("note", "documents without a judgement among the first 20 of judged topics",
        "they count as nonrelevant, so that the run may be better than its score",
        "report the share (unj), compare only runs of like shares, or score with --judged-only"),
    "no-common-topic": Code("error", "topics of which not one is judged",
        "every judged topic counts as 0, or nothing is scored", "write both files from the same ids"),
    "no-judged-document": Code("error", "ranked documents of which none is judged, or not 1 in 100 that could be",
        "they count as nonrelevant: nearly all measures are 0", "write both files from the same ids"),
    "near-id": Code("warning", "ids that match the other file's but for case, zeros in front, or encoding",
        "they do not match, and what they name counts as missing or nonrelevant",
        "write both files from the same ids"),
}  # fmt: skip


@dataclass
class Finding:
    """
    What was found of one code in a file.

    detail: what it does to this file's scores, where that was measured; fixable: how many have one right answer
    """

    code: str
    severity: Severity
    count: int = 0
    examples: list[str] = field(default_factory=list)
    detail: str = ""
    fixable: int = 0

    @property
    def wants_examples(self) -> bool:
        """Are there fewer than are shown?"""
        return len(self.examples) < _EXAMPLES


class Findings:
    """All that was found in one file. records, topics: how many there are; is_trec: it has lines of TREC's."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind, self.is_trec = name, kind, False
        self.records = self.topics = 0
        self._found: dict[str, Finding] = {}

    @classmethod
    def of_unreadable(cls, name: str, kind: str, error: Exception) -> "Findings":
        """Those of a file that cannot be opened."""
        found = cls(name, kind)
        found.add("unreadable", 1, [str(error)])
        return found

    def add(
        self,
        code: str,
        count: int,
        examples: Iterable[str] = (),
        detail: str = "",
        severity: Severity | None = None,
        fixable: int | None = None,
    ) -> None:
        """
        Count something found, if `count` is not 0. The first three examples are kept; they are not made in vain.

        severity: instead of the code's; fixable: how many have one right answer, instead of all or none.
        """
        if not count:
            return
        finding = self._found.setdefault(code, Finding(code, CODES[code].severity))
        finding.count += count
        finding.fixable += (count if CODES[code].fixable else 0) if fixable is None else fixable
        finding.severity = severity or finding.severity
        finding.detail = detail or finding.detail
        if finding.wants_examples:
            for example in examples:
                finding.examples.append(example)
                if not finding.wants_examples:
                    break

    def add_detail(self, code: str, detail: str, severity: Severity | None = None) -> None:
        """Say what a finding does, and how bad that is."""
        finding = self._found[code]
        finding.detail, finding.severity = detail, severity or finding.severity

    def count(self, code: str) -> int:
        """How many of a code were found."""
        return self._found[code].count if code in self._found else 0

    def wants(self, code: str) -> bool:
        """Are more examples of a code wanted?"""
        return code not in self._found or self._found[code].wants_examples

    def forget(self) -> None:
        """Begin again."""
        self._found.clear()

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
