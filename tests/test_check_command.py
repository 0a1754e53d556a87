"""`trecpy check`: each code on a file made to have it, none on clean ones, and copies without what can be mended."""

import gzip
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from command import Outcome, trecpy, write
from hypothesis import example, given
from hypothesis import strategies as st

from trecpy.api import evaluate
from trecpy.checks.findings import CODES
from trecpy.checks.qrels import check_qrels
from trecpy.checks.runs import check_run
from trecpy.collection import Qrels, Run
from trecpy.errors import NothingScoredError, TrecpyError
from trecpy.formats.source import Source

QRELS = "".join(f"{t} 0 d{d} {int(d == t)}; " for t in range(1, 5) for d in range(1, 31))[:-2]
ROWS = [(t, f"d{d}", d, 31.5 - d) for t in range(1, 5) for d in range(1, 31)]


def lines(rows: list[tuple[Any, ...]], tag: str = "tag") -> str:
    return "; ".join(f"{t} Q0 {d} {rank} {score} {tag}" for t, d, rank, score in rows)


RUN = lines(ROWS)


def check(folder: Path, qrels: str | bytes, run: str | bytes, *options: str) -> Outcome:
    return trecpy("check", *options, *write(folder, qrels, run))


def findings(folder: Path, qrels: str | bytes, run: str | bytes, *options: str) -> dict[str, dict[str, Any]]:
    """Code -> finding, of both files."""
    outcome = check(folder, qrels, run, "--json", *options)
    return {each["code"]: each for report in json.loads(outcome.out) for each in report["findings"]}


def test_clean_files_have_no_findings(tmp_path: Path) -> None:
    outcome = check(tmp_path, QRELS, RUN)
    assert outcome.code == 0
    assert outcome.out.decode().splitlines() == [
        f"{tmp_path}/qrels: 120 judgements of 4 topics; 0 findings",
        f"{tmp_path}/run: 120 documents of 4 topics; 0 findings",
    ]


def changed(text: str, **changes: str) -> str:
    """The lines of `text`, of which some are others: line1="..." is the first."""
    parts = text.split("; ")
    for name, line in changes.items():
        parts[int(name.removeprefix("line")) - 1] = line
    return "; ".join(parts)


TIED = lines([(t, d, rank, 5.0 if rank < 4 else score) for t, d, rank, score in ROWS])

BROKEN = [
    # code, count, judgements, run, severity, an example
    ("malformed-line", 2, QRELS, changed(RUN, line3="1 Q0 d3", line9="1"), "error", "line 3: 1 Q0 d3"),
    ("malformed-line", 1, changed(QRELS, line2="1 0 d 2 0"), RUN, "error", "line 2: 1 0 d 2 0"),
    ("bad-value", 1, QRELS, changed(RUN, line2="1 Q0 d2 2 high tag"), "error", "line 2: 1 Q0 d2 2 high tag"),
    ("decimal-comma", 1, QRELS, changed(RUN, line2="1 Q0 d2 2 29,5 tag"), "error", "line 2: 1 Q0 d2 2 29,5 tag"),
    ("decimal-comma", 1, changed(QRELS, line1="1 0 d1 1,0"), RUN, "error", "line 1: 1 0 d1 1,0"),
    ("missing-tag", 120, QRELS, RUN.replace(" tag", ""), "error", "line 1: 1 Q0 d1 1 30.5"),
    ("missing-iter", 120, QRELS, RUN.replace(" Q0", ""), "error", "line 1: 1 d1 1 30.5 tag"),
    ("missing-iter", 1, changed(QRELS, line1="1 d1 1"), RUN, "error", "line 1: 1 d1 1"),
    ("spaces-in-ids", 1, QRELS, changed(RUN, line2="1 Q0 my d2 2 29.5 tag"), "error",
     "line 2: 1 Q0 my d2 2 29.5 tag"),
    ("spaces-in-ids", 2, QRELS, changed(RUN, line2="1 Q0 a b d2 2 29.5 tag", line3="1 Q0 Story 2 3 28.5 tag"), "error",
     "line 2: 1 Q0 a b d2 2 29.5 tag"),
    ("spaces-in-ids", 30, QRELS, RUN.replace("1 Q0 d", "my topic Q0 d"), "error",
     "line 1: my topic Q0 d1 1 30.5 tag"),
    ("spaces-in-ids", 1, QRELS, changed(RUN, line2="1 Q0 my d2 2 29.5"), "error", "line 2: 1 Q0 my d2 2 29.5"),
    ("spaces-in-ids", 1, changed(QRELS, line2="1 0 my d2 0"), RUN, "error", "line 2: 1 0 my d2 0"),
    ("bad-value", 1, changed(QRELS, line2="1 0 d2 x"), RUN, "error", "line 2: 1 0 d2 x"),
    ("nan-score", 1, QRELS, changed(RUN, line2="1 Q0 d2 2 nan tag"), "error", "line 2: 1 Q0 d2 2 nan tag"),
    ("infinite-score", 2, QRELS, changed(RUN, line1="1 Q0 d1 1 inf tag", line31="2 Q0 d1 1 1e999 tag"), "warning",
     "line 1: 1 Q0 d1 1 inf tag"),
    ("header", 1, QRELS, "qid Q0 docno rank score tag; " + RUN, "error", "line 1: qid Q0 docno rank score tag"),
    ("header", 1, "topic iter docno relevance; " + QRELS, RUN, "error", "line 1: topic iter docno relevance"),
    ("byte-order-mark", 1, QRELS, "\ufeff" + RUN, "error", "line 1"),
    ("byte-order-mark", 1, "\ufeff" + QRELS, RUN, "error", "line 1"),
    ("cr-line-ends", 119, QRELS, (RUN.replace("; ", "\r") + "\r").encode(), "error", "line 1"),
    ("cr-line-ends", 119, QRELS.replace("; ", "\r"), RUN, "error", "line 1"),
    ("cr-line-ends", 1, QRELS, RUN.replace("; 3 Q0 d1 ", "\r3 Q0 d1 "), "error", "line 60"),
    ("comment-topic", 2, QRELS, changed(RUN, line2=" #1 Q0 d2 2 29.5 tag", line3="#1 Q0 d3 3 28.5 tag", line5="# a"),
     "warning", "line 2: #1 Q0 d2 2 29.5 tag"),
    ("comment-topic", 1, changed(QRELS, line2="#1 0 d2 0"), RUN, "warning", "line 2: #1 0 d2 0"),
    ("blank-line", 1, changed(QRELS, line120="4 0 d30 0; "), RUN, "error", "line 121: "),
    ("odd-id", 1, QRELS, changed(RUN, line2="1 Q0 d\xa02 2 29.5 tag"), "warning", r"line 2: 1 Q0 d\xa02 2 29.5 tag"),
    ("odd-id", 1, changed(QRELS, line1="1 0 e\u0301 1"), RUN, "warning", "line 1: 1 0 e\u0301 1"),
    ("duplicate-judgement", 1, changed(QRELS, line2="1 0 d1 1"), RUN, "error", "line 2: 1 0 d1 1"),
    ("fractional-level", 1, changed(QRELS, line1="1 0 d1 0.5"), RUN, "error", "line 1: 1 0 d1 0.5"),
    ("fractional-level", 1, changed(QRELS, line1="1 0 d1 0x1p1"), RUN, "error", "line 1: 1 0 d1 0x1p1"),
    ("whole-level", 2, changed(QRELS, line1="1 0 d1 1.0", line2="1 0 d2 0e0"), RUN, "note", "line 1: 1 0 d1 1.0"),
    ("spaces-in-ids", 1, changed(QRELS, line2="1 0 DOC 001 0"), RUN, "error", "line 2: 1 0 DOC 001 0"),
    ("bad-value", 1, changed(QRELS, line1="1 0 d1 inf"), RUN, "error", "line 1: 1 0 d1 inf"),
    ("bad-value", 1, changed(QRELS, line1="1 0 d1 9223372036854775808"), RUN, "error",
     "line 1: 1 0 d1 9223372036854775808"),
    ("huge-level", 1, changed(QRELS, line1="1 0 d1 9223372036854775807"), RUN, "warning",
     "line 1: 1 0 d1 9223372036854775807"),
    ("negative-level", 1, changed(QRELS, line2="1 0 d2 -2"), RUN, "note", "line 2: 1 0 d2 -2"),
    ("huge-level", 1, changed(QRELS, line1="1 0 d1 1000"), RUN, "warning", "line 1: 1 0 d1 1000"),
    ("no-relevant", 1, changed(QRELS, line1="1 0 d1 0"), RUN, "note", "line 1: topic '1'"),
    ("duplicate-document", 1, QRELS, changed(RUN, line2="1 Q0 d1 2 29.5 tag"), "error", "line 2: 1 Q0 d1 2 29.5 tag"),
    ("tied-scores", 12, QRELS, TIED, "warning", "line 1: 1 Q0 d1 1 5.0 tag"),
    ("tied-scores", 2, QRELS, changed(RUN, line29="1 Q0 d29 29 1.5 tag"), "note", "line 29: 1 Q0 d29 29 1.5 tag"),
    ("float32-tie", 2, QRELS, changed(RUN, line1="1 Q0 d1 1 29.5000000001 tag"), "warning",
     "line 1: 1 Q0 d1 1 29.5000000001 tag"),
    ("rank-contradicts-score", 1, QRELS, changed(RUN, line1="1 Q0 d1 2 30.5 tag", line2="1 Q0 d2 1 29.5 tag"),
     "warning", "line 1: 1 Q0 d1 2 30.5 tag"),
    ("several-tags", 1, QRELS, changed(RUN, line40="2 Q0 d10 10 21.5 other"), "warning",
     "line 40: 2 Q0 d10 10 21.5 other"),
    ("constant-rank", 120, QRELS, lines([(t, d, 0, score) for t, d, _, score in ROWS]), "note",
     "line 1: 1 Q0 d1 0 30.5 tag"),
    ("extra-columns", 1, QRELS, changed(RUN, line2="1 Q0 d2 2 29.5 my tag"), "note", "line 2: 1 Q0 d2 2 29.5 my tag"),
    ("extra-columns", 1, QRELS, changed(RUN, line2="1 Q0 d2 2 29.5 tag 2"), "note", "line 2: 1 Q0 d2 2 29.5 tag 2"),
    ("short-ranking", 1, QRELS, lines(ROWS[:-1]), "note", "line 91: topic '4': 29 of 30"),
    ("missing-topic", 1, QRELS, lines(ROWS[:-30]), "warning", "topic '4'"),
    ("unjudged-topic", 1, "; ".join(QRELS.split("; ")[:-30]), RUN, "note", "line 91: topic '4'"),
    ("self-hit", 1, QRELS, changed(RUN, line2="1 Q0 1 2 29.5 tag"), "warning", "line 2: 1 Q0 1 2 29.5 tag"),
    ("unjudged-documents", 1, QRELS, changed(RUN, line2="1 Q0 x 2 29.5 tag"), "note",
     "topic '1', rank 2: line 2: 1 Q0 x 2 29.5 tag"),
    ("near-id", 1, QRELS, changed(RUN, line2="1 Q0 D002 2 29.5 tag"), "warning",
     "line 2: docno 'D002' in the run, 'd2' in the judgements"),
    ("near-id", 4, QRELS, lines([(f"0{t}", *rest) for t, *rest in ROWS]), "error",
     "line 1: topic '01' in the run, '1' in the judgements"),
    ("near-id", 30, QRELS, lines([(t, d.upper(), *rest) for t, d, *rest in ROWS]), "error",
     "line 1: docno 'D1' in the run, 'd1' in the judgements"),
    ("near-id", 1, changed(QRELS, line1="1 0 café 1"), changed(RUN, line2="1 Q0 cafÃ© 2 29.5 tag"), "warning",
     "line 2: docno 'cafÃ©' in the run, 'café' in the judgements"),
    ("no-common-topic", 4, QRELS, lines([(f"{t}.0", *rest) for t, *rest in ROWS]), "error",
     "topics such as '1.0', '2.0' in the run, '1', '2' in the judgements"),
    ("no-judged-document", 120, QRELS, RUN.replace("Q0 d", "Q0 docs/d"), "error",
     "documents such as 'docs/d1', 'docs/d2' in the run, 'd1', 'd2' in the judgements"),
    ("no-records", 1, QRELS, "# nothing", "error", None),
    ("unreadable", 1, QRELS, gzip.compress(RUN.encode())[:-9], "error", None),
    ("unreadable", 1, QRELS, '{"1": {"d1": 1', "error", None),
    ("utf-16", 1, QRELS, RUN.replace("; ", "\r\n").encode("utf-16"), "error", "line 1: 1 Q0 d1 1 30.5 tag"),
    ("utf-16", 1, QRELS.replace("; ", "\n").encode("utf-16"), RUN, "error", "line 1: 1 0 d1 1"),
    ("swapped-files", 1, RUN, "; ".join(QRELS.split("; ")), "error", "line 1: 1 0 d1 1"),
    ("swapped-files", 1, QRELS, "qid,docno,relevance; 1,d1,1", "error", "line 1: qid,docno,relevance"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "count", "qrels", "run", "severity", "example"), BROKEN)
def test_a_broken_file_is_found_out(
    code: str, count: int, qrels: str | bytes, run: str | bytes, severity: str, example: str | None, tmp_path: Path
) -> None:
    found = findings(tmp_path, qrels, run)
    assert code in found
    assert (found[code]["count"], found[code]["severity"]) == (count, severity)
    assert len(found[code]["examples"]) <= 3
    if example is not None:
        assert found[code]["examples"][0] == example
    worst = min((each["severity"] for each in found.values()), key=["error", "warning", "note"].index)
    assert check(tmp_path, qrels, run).code == {"error": 2, "warning": 3, "note": 0}[worst]


def test_each_code_is_tested() -> None:
    assert {code for code, *_ in BROKEN} | {"split-topic", "repeated-topic", "fewer-than-others"} == set(CODES)


def test_topics_that_are_not_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = sorted(ROWS, key=lambda row: row[2])
    _small_blocks(monkeypatch)
    parts = findings(tmp_path, QRELS, changed(lines(mixed), line100="4 Q0"))
    assert parts["split-topic"]["severity"] == "note"
    assert parts["split-topic"]["examples"] == ["line 5: topic '1'"]
    assert parts["malformed-line"]["count"] == 1  # though it was read twice


def test_a_files_name_is_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = lines(sorted(ROWS, key=lambda row: row[2])).replace("; ", "\n")
    (tmp_path / "byte order mark.run").write_text(mixed)
    qrels, _ = write(tmp_path, QRELS)
    for small in (False, True):
        if small:
            _small_blocks(monkeypatch)
        outcome = trecpy("check", "--json", qrels, str(tmp_path / "byte order mark.run"))
        assert (outcome.code, [each["code"] for each in json.loads(outcome.out)[1]["findings"]]) == (0, ["split-topic"])


def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    from trecpy.formats.runs import RunReader

    given = RunReader.__init__.__defaults__
    assert given is not None
    monkeypatch.setattr(RunReader.__init__, "__defaults__", (512, *given[1:]))


def test_small_blocks_find_what_large_ones_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [case for case in BROKEN if isinstance(case[3], str)]
    large = [findings(tmp_path, case[2], case[3]) for case in cases]
    _small_blocks(monkeypatch)
    assert [findings(tmp_path, case[2], case[3]) for case in cases] == large


def test_depth_is_asked_for(tmp_path: Path) -> None:
    found = findings(tmp_path, QRELS, RUN, "--depth", "100")
    assert found["short-ranking"]["severity"] == "warning"
    assert found["short-ranking"]["examples"] == [f"line {30 * t - 29}: topic '{t}': 30 of 100" for t in (1, 2, 3)]


def test_what_ties_do_is_measured(tmp_path: Path) -> None:
    found = findings(tmp_path, QRELS, TIED)
    paths = write(tmp_path, QRELS, TIED)
    values = [evaluate(*paths, "map", ties=ties)["map"] for ties in ("trec", "worst", "best")]
    assert f"map {values[0]:.4f} ({values[1]:.4f} to {values[2]:.4f})" in found["tied-scores"]["detail"]


@pytest.mark.parametrize(
    "line",
    ["1 Q0 d30 30 nan tag", "1 Q0 d30 30 high tag", "1 Q0 d30 30 1.5", "1 d30 30 1.5 tag", "1 Q0 my d30 30 1.5 tag"],
)
def test_what_cannot_be_read_does_not_make_a_topic_short(line: str, tmp_path: Path) -> None:
    assert len(findings(tmp_path, QRELS, changed(RUN, line30=line))) == 1
    alone = lines(ROWS[30:]) + "; " + line
    assert len(findings(tmp_path, QRELS, alone)) == 1  # the topic is not missing
    qrels, run = write(tmp_path, QRELS, changed(RUN, line30=line))
    (tmp_path / "whole").write_text(RUN.replace("; ", "\n"))
    reports = json.loads(trecpy("check", "--json", qrels, run, str(tmp_path / "whole")).out)
    assert [len(report["findings"]) for report in reports] == [0, 1, 0]
    (_, nothing) = json.loads(check(tmp_path, QRELS, RUN.replace(".5 ", ",5 "), "--json").out)
    assert [each["code"] for each in nothing["findings"]] == ["decimal-comma", "no-records"]


def test_what_was_read_of_a_damaged_run_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _small_blocks(monkeypatch)
    text = lines([(t, d, rank, score) for t in range(100) for _, d, rank, score in ROWS[:30]]).replace("; ", "\n")
    outcome = check(tmp_path, QRELS, gzip.compress(text.encode())[:-9])
    assert outcome.code == 2
    said = outcome.out.decode().splitlines()[1].removeprefix(f"{tmp_path}/run: ")
    records, topics = (int(number.replace(",", "")) for number in re.findall(r"[0-9,]+", said)[:2])
    assert 30 <= records == 30 * topics <= 3000
    assert said.endswith(" before it breaks off; 1 finding")


def test_the_report_in_words(tmp_path: Path) -> None:
    outcome = check(tmp_path, QRELS, changed(RUN, line2="1 Q0 d2 2 nan tag"))
    assert outcome.code == 2
    assert outcome.out.decode().splitlines()[1:6] == [
        f"{tmp_path}/run: 119 documents of 4 topics; 1 finding",
        "  error: nan-score (1): scores that are NaN",
        "      line 2: 1 Q0 d2 2 nan tag",
        f"    effect: {CODES['nan-score'].effect}",
        f"    do: {CODES['nan-score'].remedy}",
    ]


def test_runs_are_compared_with_each_other(tmp_path: Path) -> None:
    """A topic is short where another run has more; one that has a document twice is not longer for that."""
    qrels, _ = write(tmp_path, QRELS)
    runs = {
        "whole": RUN,
        "cut": lines([row for row in ROWS if row[2] <= (30 if row[0] == 1 else 10)]),
        "twice": changed(RUN, line1="1 Q0 d1 1 30.5 tag; 1 Q0 d1 1 30.5 tag"),
        "lacking": lines([row for row in ROWS if row[0] < 4]),
    }
    for name, run in runs.items():
        (tmp_path / name).write_text(run.replace("; ", "\n"))
    outcome = trecpy("check", "--json", qrels, *(str(tmp_path / name) for name in runs), str(tmp_path / "nowhere"))
    found = [{each["code"]: each for each in report["findings"]} for report in json.loads(outcome.out)]
    assert ["fewer-than-others" in each for each in found] == [False, False, True, False, False, False]
    assert found[2]["fewer-than-others"]["count"] == 3
    assert found[2]["fewer-than-others"]["examples"] == [
        f"line {10 * t + 11}: topic '{t}': 10, another run 30" for t in (2, 3, 4)
    ]
    assert "short-ranking" not in found[3]
    assert trecpy("check", qrels, str(tmp_path / "whole"), str(tmp_path / "lacking")).code == 3  # it lacks a topic


@pytest.mark.parametrize(
    ("run", "judged", "expected"),
    [
        ("docs/DOC-{}", "DOC-{}", "ids of the run are paths, of which the judgements have the last part"),
        ("x:DOC-{}", "DOC-{}", "ids of the run have 'x:' in front, which those of the judgements have not"),
        ("DOC-{}", "x:DOC-{}", "ids of the judgements have 'x:' in front, which those of the run have not"),
        ("{}.0", "{}", "ids of the run have '.0' at the end, which those of the judgements have not"),
        ("DOC-{}.txt", "DOC-{}", "ids of the run have '.txt' at the end, which those of the judgements have not"),
        ("zz{}", "DOC-{}", "ids begin with 'zz' in the run and with 'DOC-' in the judgements"),
        ("1{}", "{}", ""),  # numbers have the ends of others by chance
    ],
)
def test_what_tells_ids_apart_is_named(run: str, judged: str, expected: str, tmp_path: Path) -> None:
    qrels = "; ".join(f"{t} 0 {judged.format(100 + rank)} 1" for t, _, rank, _ in ROWS)
    found = findings(tmp_path, qrels, lines([(t, run.format(100 + rank), rank, score) for t, _, rank, score in ROWS]))
    assert found["no-judged-document"]["detail"] == expected
    outcome = trecpy("eval", *write(tmp_path))
    assert outcome.said == [f"warning: {tmp_path}/run: no ranked document is judged: do ids differ?"]


def test_ids_that_do_not_match_at_all(tmp_path: Path) -> None:
    paths = lines([(t, f"{t}/{d}", *rest) for t, d, *rest in ROWS])
    detail = "ids of the run are paths, of which the judgements have the last part"
    assert findings(tmp_path, QRELS, paths)["no-judged-document"]["detail"] == detail
    swapped = lines([(d, str(t), rank, score) for t, d, rank, score in sorted(ROWS, key=lambda row: row[1])])
    found = findings(tmp_path, QRELS, swapped)
    assert found["no-common-topic"]["detail"] == "topic and docno have changed places"
    assert not {"missing-topic", "unjudged-topic"} & set(found)
    others = "; ".join(f"{t} 0 d{30 * (t - 1) + d} 1" for t in range(1, 5) for d in range(1, 31))
    moved = lines([(t, f"d{30 * (t % 4) + rank}", rank, score) for t, _, rank, score in ROWS])
    detail = "all are judged in other topics: do topics differ?"
    assert findings(tmp_path, others, moved)["no-judged-document"]["detail"] == detail
    few = "; ".join(f"{t} 0 d{d} 1" for t in range(1, 5) for d in range(1, 200))
    one = lines([(t, f"x{d}" if d > 1 or t > 1 else "d1", d, 500.0 - d) for t in range(1, 5) for d in range(1, 200)])
    nearly_none = findings(tmp_path, few, one)["no-judged-document"]
    assert (nearly_none["count"], nearly_none["severity"]) == (4 * 199 - 1, "warning")
    assert trecpy("eval", *write(tmp_path)).said == []


def test_where_unjudged_documents_stand(tmp_path: Path) -> None:
    """Shares are of what is retrieved, not of the cutoff."""
    rows = [(t, f"x{d}" if d == 2 * t else f"d{d}", d, 31.5 - d) for t, _, d, _ in ROWS if d <= 10]
    finding = findings(tmp_path, QRELS, lines(rows))["unjudged-documents"]
    assert finding["count"] == 4
    assert finding["detail"] == (
        "2 of 20 at 5 (10.0%), 4 of 40 at 10 (10.0%), 4 of 40 at 20 (10.0%), of 4 topics; "
        "the first stands at rank 5 in the median of 4 topics"
    )
    assert finding["examples"] == [
        f"topic '{t}', rank {2 * t}: line {(t - 1) * 10 + 2 * t}: {t} Q0 x{2 * t} {2 * t} {31.5 - 2 * t} tag"
        for t in (1, 2, 3)
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from("12"), st.sampled_from("abcdef"), st.sampled_from([1.0, 2.0, 2.5])), min_size=1
    ).map(lambda rows: sorted(rows, key=lambda row: row[0]))
)
def test_the_best_unjudged_document_is_named(rows: list[tuple[str, str, float]]) -> None:
    """It is the first of its topic, as eval ranks it, that the judgements lack; of equal docnos the first counts."""
    _, judged = check_qrels(Source(io.BytesIO(b"1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 b 0\n"), "qrels"), None)
    raw = "qid,docno,score\n" + "".join(f"{topic},{docno},{score}\n" for topic, docno, score in rows)
    found, _ = check_run(Source(io.BytesIO(raw.encode()), "run"), None, judged, None)
    expected = []
    for topic in sorted({topic for topic, *_ in rows}):
        kept = {docno: score for each, docno, score in reversed(rows) if each == topic}
        ranked = sorted(kept, key=lambda docno: (kept[docno], docno), reverse=True)
        places = [place for place, docno in enumerate(ranked) if docno not in "ab"]
        expected += [f"topic '{topic}', rank {place + 1}: docno '{ranked[place]}'" for place in places[:1]]
    examples = {each.code: each.examples for each in found.sorted()}
    assert examples.get("unjudged-documents", []) == expected


def test_a_file_that_is_not_there_is_a_finding_and_the_others_are_checked(tmp_path: Path) -> None:
    qrels, run = write(tmp_path, QRELS, RUN)
    for paths in ((qrels, str(tmp_path / "no"), run), (str(tmp_path / "no"), run, run), (qrels, str(tmp_path), run)):
        outcome = trecpy("check", "--json", *paths)
        assert outcome.code == 2
        reports = json.loads(outcome.out)
        assert [report["file"] for report in reports] == list(paths)
        (wrong,) = (report for report in reports if report["file"] not in (qrels, run))
        assert [each["code"] for each in wrong["findings"]] == ["unreadable"]
        assert "cannot be read" in wrong["findings"][0]["examples"][0]
        assert all(report["records"] == 120 for report in reports if report is not wrong)


def test_judgements_alone_and_runs_without_readable_judgements(tmp_path: Path) -> None:
    qrels, run = write(tmp_path, QRELS, changed(RUN, line2="1 Q0 d2 2 nan tag"))
    assert trecpy("check", qrels).code == 0
    (tmp_path / "qrels").write_text("")
    outcome = trecpy("check", "--json", qrels, run)
    assert outcome.code == 2
    codes = [[each["code"] for each in report["findings"]] for report in json.loads(outcome.out)]
    assert codes == [["unreadable"], ["nan-score"]]
    assert trecpy("check", qrels, str(tmp_path / "nowhere")).code == 2


def test_runs_before_there_are_judgements(tmp_path: Path) -> None:
    """One file that is a run is checked as one; of several it has to be said."""
    _, run = write(tmp_path, None, changed(RUN, line29="1 Q0 d29 29 1.5 tag"))
    for path, stdin in ((run, b""), ("-", Path(run).read_bytes())):
        outcome = trecpy("check", "--json", path, stdin=stdin)
        (report,) = json.loads(outcome.out)
        assert (report["kind"], report["records"]) == ("run", 120)
        assert [each["code"] for each in report["findings"]] == ["tied-scores"]
        name = "standard input" if path == "-" else run
        assert (outcome.code, outcome.said) == (0, [f"{name}: taken for a run, and checked without judgements"])
    (tmp_path / "cut").write_text(lines(ROWS[:-1]).replace("; ", "\n"))
    outcome = trecpy("check", "--json", "--no-qrels", run, str(tmp_path / "cut"))
    found = [{each["code"] for each in report["findings"]} for report in json.loads(outcome.out)]
    assert (found, outcome.said) == ([{"tied-scores"}, {"short-ranking", "fewer-than-others"}], [])
    outcome = trecpy("check", "--json", run, str(tmp_path / "cut"))
    assert [each["code"] for each in json.loads(outcome.out)[0]["findings"]] == ["swapped-files"]
    (report,) = json.loads(trecpy("check", "--json", "--qrels-format", "trec", run).out)
    assert report["kind"] == "qrels"
    qrels, _ = write(tmp_path, QRELS.replace("; ", "\r"))  # whose first line has more columns than a run's
    (report,) = json.loads(trecpy("check", "--json", qrels).out)
    assert (report["kind"], report["records"]) == ("qrels", 120)


def table(layout: str, rows: list[tuple[str, str, str]]) -> bytes:
    """Rows of topic, docno and score as text, in a layout, whatever is wrong with them."""
    if layout == "csv":
        return ("qid,docno,score\n" + "".join(",".join(row) + "\n" for row in rows)).encode()
    if layout == "jsonl":
        return "".join('{"qid": "%s", "docno": "%s", "score": %s}\n' % row for row in rows).encode()  # noqa: UP031
    if layout == "json":
        topics = {topic: ", ".join(f'"{d}": {s}' for t, d, s in rows if t == topic) for topic, *_ in rows}
        return ("{" + ",\n".join(f'"{topic}": {{{documents}}}' for topic, documents in topics.items()) + "}").encode()
    import pyarrow as pa
    from pyarrow import parquet

    out = io.BytesIO()
    columns = zip(*((topic, docno, float(score)) for topic, docno, score in rows), strict=True)
    parquet.write_table(pa.table(dict(zip(("qid", "docno", "score"), map(list, columns), strict=True))), out)
    return out.getvalue()


@pytest.mark.parametrize("layout", ["csv", "json", "jsonl", "parquet"])
def test_faults_of_tables_have_the_codes_of_lines(layout: str, tmp_path: Path) -> None:
    rows = [(str(t), d, str(score)) for t, d, _, score in ROWS]
    assert findings(tmp_path, QRELS, table(layout, rows)) == {}
    nan = rows.copy()
    nan[1] = "1", "d2", "NaN"
    found = findings(tmp_path, QRELS, table(layout, nan))
    assert set(found) == {"nan-score", "short-ranking"}
    where = {"csv": "line 3: 1,d2,NaN", "jsonl": 'line 2: {"qid": "1", "docno": "d2", "score": NaN}',
             "json": "line 1: topic '1': 'd2': nan", "parquet": "row 2: 1, d2, nan"}[layout]  # fmt: skip
    assert (found["nan-score"]["count"], found["nan-score"]["examples"]) == (1, [where])
    twice = [*rows[:2], ("1", "d2", "29.5"), *rows[2:]]
    assert set(findings(tmp_path, QRELS, table(layout, twice))) >= {"duplicate-document"}
    empty = [("1", "", "1.0"), *rows]
    assert findings(tmp_path, QRELS, table(layout, empty))["malformed-line"]["count"] == 1
    if layout != "parquet":  # whose columns have one type
        words = rows.copy()
        words[1] = "1", "d2", '"high"' if "json" in layout else "high"
        assert set(findings(tmp_path, QRELS, table(layout, words))) == {"bad-value", "short-ranking"}
    if layout != "json":
        apart = [*rows[1:], rows[0]]
        assert findings(tmp_path, QRELS, table(layout, apart))["split-topic"]["severity"] == "note"
        nan_apart = [*nan[2:], nan[1], nan[0]]  # read twice, told once
        assert findings(tmp_path, QRELS, table(layout, nan_apart))["nan-score"]["count"] == 1


@pytest.mark.parametrize("rows", [1, 10, 1000])
def test_a_topic_that_json_has_twice(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trecpy.formats.tables.ROWS", rows)
    documents = [{f"d{d}": 31.5 - d for d in range(a, b)} for a, b in ((1, 16), (16, 31))]
    parts = [f'"{t}": {json.dumps(part)}' for part in documents for t in range(1, 5)]
    raw = ("{" + ",\n".join(parts) + "}").encode()
    found = findings(tmp_path, QRELS, raw)
    assert set(found) == {"repeated-topic"}
    assert found["repeated-topic"]["count"] == 4
    assert found["repeated-topic"]["examples"] == [f"line {4 + t}: topic '{t}'" for t in (1, 2, 3)]
    judged = b'{"1": {"d1": 1},\n"1": {"d2": 0}}'
    assert findings(tmp_path, judged, RUN)["repeated-topic"]["examples"] == ["line 2: topic '1'"]


def test_rows_of_judgements_that_cannot_be_read(tmp_path: Path) -> None:
    raw = b"qid,docno,relevance\n1,d1,1\n1,d2,x\n1,d3\n1,d4,inf\n1,d5,0.5\n,d6,1\n"
    found = findings(tmp_path, raw, RUN)
    assert {code: found[code]["count"] for code in ("bad-value", "malformed-line", "fractional-level")} == {
        "bad-value": 2, "malformed-line": 2, "fractional-level": 1,
    }  # fmt: skip


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "tsv.gz"])
def test_tables_are_checked_too(suffix: str, tmp_path: Path) -> None:
    qrels, run = write(tmp_path, QRELS, TIED)
    table = str(tmp_path / f"run.{suffix}")
    assert trecpy("convert", run, table).code == 0
    (_, report) = json.loads(trecpy("check", "--json", qrels, table).out)
    assert [each["code"] for each in report["findings"]] == ["tied-scores"]
    assert report["findings"][0]["examples"][0] == "topic '1', docno 'd1'"


# What is refused is found

_WORDS = st.sampled_from(
    [
        "1",
        "2",
        "Q0",
        "d1",
        "d2",
        "0.5",
        "1,5",
        "nan",
        "inf",
        "tag",
        "my",
        "\ufeff1",
        "#",
        "-1",
        "1e999",
        "0x1p1",
        "é",
        "1.0",
        "9223372036854775808",
        "-9223372036854775809",
        "9223372036854775807",
        "-1e99",
    ]
)
_LINES = st.one_of(
    st.tuples(*[st.sampled_from(words) for words in (["1", "2"], ["Q0"], ["d1", "d2", "d3"], ["1"], ["1.5", "2"])])
    .map(lambda words: " ".join([*words, "tag"])),
    st.lists(_WORDS, max_size=8).map(" ".join),
)  # fmt: skip
_TABLE_LINES = st.one_of(
    st.sampled_from(["1,d1,1", "2,d1,1", "1,d2,0.5"]), st.lists(_WORDS | st.just(""), max_size=4).map(",".join)
)
_CSV = st.lists(_TABLE_LINES, max_size=6).map(lambda rows: "\n".join(["qid,docno,score", *rows]))
_FILES = st.one_of(st.lists(_LINES, max_size=8).map("\n".join), _CSV)


@given(_FILES)
@example("1 Q0 d1 1 0.5 tag\n\ufeff")
@example("")
def test_a_run_that_is_refused_has_an_error_and_none_is_too_much(text: str) -> None:
    raw = text.encode()
    _, judged = check_qrels(Source(io.BytesIO(b"1 0 d1 1\n2 0 d2 1\n"), "qrels"), None)
    found, _ = check_run(Source(io.BytesIO(raw), "run", twice=True), None, judged, None)
    try:
        evaluate({"1": {"d1": 1}, "2": {"d2": 1}}, io.BytesIO(raw), "map")
    except NothingScoredError:
        return
    except TrecpyError as error:
        assert found.worst == "error", (error, found.sorted())  # noqa: PT017  an answer may have any findings


@given(st.lists(st.lists(_WORDS, min_size=3, max_size=5).map(" ".join), max_size=6).map("\n".join))
def test_judgements_that_are_refused_have_an_error(text: str) -> None:
    raw = text.encode() + b"\n"
    found, _ = check_qrels(Source(io.BytesIO(raw), "qrels"), None)
    try:
        Qrels.read(io.BytesIO(raw))
    except TrecpyError as error:
        assert found.worst == "error", (error, found.sorted())  # noqa: PT017  an answer may have any findings


@pytest.mark.parametrize("behind", ["", "zz Q0 e 1 2 t\n"])
def test_a_topic_that_comes_back_with_faults_alone_is_not_split(tmp_path: Path, behind: str) -> None:
    other = "".join(f"m{t} Q0 a-longer-document-{d} 1 {-d} t\n" for t in range(130) for d in range(1000))
    run = f"1 Q0 d1 1 1.5 t\n{other}1 Q0 d2 1 nan t\n{behind}".encode()
    assert len(run) > 1 << 22  # so that the topic comes back in another part
    found = findings(tmp_path, QRELS, run)
    assert "split-topic" not in found
    assert found["nan-score"]["examples"] == ["line 130002: 1 Q0 d2 1 nan t"]


# --fix


def test_a_cleaned_copy_has_no_such_findings_and_scores_alike(tmp_path: Path) -> None:
    run = changed(
        RUN, line1="\ufeff1 Q0 d1 1 30.5 tag; 1 Q0 d1 1 30.5 tag", line2="1 Q0 d2 2 29.5 tag x", line5="# kept"
    )
    qrels = "\ufefftopic iter docno relevance; 1 0 d1 1; " + QRELS + "; "
    outcome = check(tmp_path, qrels, run, "--fix", str(tmp_path / "clean"))
    assert outcome.code == 2
    copies = str(tmp_path / "clean" / "qrels"), str(tmp_path / "clean" / "run")
    assert outcome.said == [
        f"{copies[0]}: mended byte-order-mark (1), header (1), duplicate-judgement (1), blank-line (1)",
        f"{copies[1]}: mended byte-order-mark (1), duplicate-document (1), extra-columns (1)",
    ]
    (judged, ranked) = json.loads(trecpy("check", "--json", *copies).out)
    assert judged["findings"] == []
    assert [each["code"] for each in ranked["findings"]] == ["short-ranking"]  # a comment stands for the fifth line
    (tmp_path / "expected").write_text(
        "\n".join(line for line in lines(ROWS).split("; ") if not line.startswith("1 Q0 d5 "))
    )
    assert Run.read(copies[1]).fingerprint == Run.read(tmp_path / "expected").fingerprint
    assert Qrels.read(copies[0]).fingerprint == Qrels.read(write(tmp_path / "clean", QRELS)[0]).fingerprint
    assert b"# kept" in (tmp_path / "clean" / "run").read_bytes()


@pytest.mark.parametrize("small", [False, True])
def test_line_ends_of_old_macs(small: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they end are lines to check, which converts them, and no line at all to those that read strictly."""
    if small:
        _small_blocks(monkeypatch)
    for qrels, run in (
        (QRELS.replace("; ", "\r"), RUN.replace("; ", "\r")),
        (QRELS, changed(RUN, line3="1 Q0 d3 3 28.5 tag\r1 Q0 d31 4 28 tag")),
    ):
        (_, report) = json.loads(check(tmp_path, qrels, run, "--json", "--fix", str(tmp_path / "clean")).out)
        assert {each["code"] for each in report["findings"]} <= {"cr-line-ends", "short-ranking", "unjudged-documents"}
        assert (report["records"], report["topics"]) == (120 + ("d31" in run), 4)
        expected = run.replace("\r", "\n").replace("; ", "\n").replace("\n\n", "\n") + "\n"
        assert (tmp_path / "clean" / "run").read_bytes() == expected.encode()
        number = 1 if qrels != QRELS else 3
        outcome = trecpy("eval", *write(tmp_path, QRELS, run))
        assert (outcome.code, outcome.out) == (2, b"")
        assert outcome.said == [
            f"error: {tmp_path}/run:{number}: expected lines that end in LF or CR LF, found CR line ends: "
            "a CR without LF inside the line"
        ]
    (tmp_path / "run").write_bytes(RUN.replace("; ", "\r\r\n").encode())  # CR LF that was written as text once more
    assert trecpy("eval", *write(tmp_path, QRELS)).said == []
    assert json.loads(trecpy("check", "--json", *write(tmp_path, QRELS)).out)[1]["findings"] == []


@pytest.mark.parametrize("small", [False, True])
def test_lines_of_a_topic_are_brought_together(small: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if small:
        _small_blocks(monkeypatch)
    mixed = lines(sorted(ROWS, key=lambda row: row[2]))
    check(tmp_path, QRELS, mixed, "--fix", str(tmp_path / "clean"))
    assert (tmp_path / "clean" / "run").read_text() == RUN.replace("; ", "\n") + "\n"


def test_what_has_no_right_answer_stays(tmp_path: Path) -> None:
    run = changed(RUN, line1="1 Q0 d1 1 nan tag", line2="1 Q0", line3="1 Q0 d4 3 28.5 tag", line7="1 Q0 d7 7 24.5 t u")
    outcome = check(tmp_path, QRELS, run, "--fix", str(tmp_path / "clean"))
    assert outcome.code == 2
    copied = (tmp_path / "clean" / "run").read_text().splitlines()
    expected = run.split("; ")
    expected[6] = "1 Q0 d7 7 24.5 t"
    assert copied == expected
    assert not (tmp_path / "clean" / "qrels").exists()
    assert outcome.said == [
        f"{tmp_path}/clean/run: mended extra-columns (1); has still malformed-line, nan-score, "
        "duplicate-document, several-tags"
    ]


def test_what_has_only_several_right_answers_is_not_copied(tmp_path: Path) -> None:
    twice = changed(RUN, line2="1 Q0 d1 2 29.5 tag")
    distances = lines([(t, d, rank, -score) for t, d, rank, score in ROWS])
    for run, code in ((twice, "duplicate-document"), (distances, "rank-contradicts-score")):
        outcome = check(tmp_path, QRELS, run, "--fix", str(tmp_path / "clean"))
        assert outcome.said == [f"{tmp_path}/run: not copied: nothing in it has one right answer ({code})"]
        assert not (tmp_path / "clean" / "run").exists()
        assert findings(tmp_path, QRELS, run)[code]["fixable"] == 0
    assert findings(tmp_path, QRELS, distances)["rank-contradicts-score"]["detail"].startswith("they do everywhere")
    both = changed(RUN, line2="1 Q0 d1 2 29.5 tag; 1 Q0 d1 2 29.5 tag")
    assert check(tmp_path, QRELS, both, "--fix", str(tmp_path / "clean")).said == [
        f"{tmp_path}/clean/run: mended duplicate-document (1); has still duplicate-document"
    ]
    spaced = changed(RUN, line2="1 Q0 my doc 2 29.5 tag", line3="1 Q0 d3 3 28.5 tag x")
    assert check(tmp_path, QRELS, spaced, "--fix", str(tmp_path / "clean")).code == 2
    assert "1 Q0 my doc 2 29.5 tag\n1 Q0 d3 3 28.5 tag\n" in (tmp_path / "clean" / "run").read_text()


@pytest.mark.parametrize("rank", ["{}", "-"])
def test_copies_of_a_document_are_dropped_wherever_they_stand(rank: str, tmp_path: Path) -> None:
    """As many as are said to have one right answer, be other copies with other scores between them."""
    rows = [(t, d, rank.format(place), score) for t, d, place, score in ROWS]
    other = [(*row, score + 0.25) for *row, score in rows]
    for more, count in ((rows, 120), (rows[-2:], 2), (rows[:2], 2), ([*other, *rows], 120), ([*other[:2], *rows], 120)):
        run = lines([*rows, *more], "7")
        found = findings(tmp_path, QRELS, run)["duplicate-document"]
        assert (found["count"], found["fixable"]) == (len(more), count)
        said = check(tmp_path, QRELS, run, "--fix", str(tmp_path / "clean")).said
        assert f"duplicate-document ({count})" in said[0]
        rest = findings(tmp_path, QRELS, (tmp_path / "clean" / "run").read_bytes()).get("duplicate-document")
        assert (rest or {"count": 0})["count"] == len(more) - count
    judged = changed(QRELS, line3="1 0 d1 0; 1 0 d1 1")
    assert findings(tmp_path, judged, RUN)["duplicate-judgement"]["fixable"] == 1


def test_whole_levels_become_integers(tmp_path: Path) -> None:
    qrels = changed(QRELS, line1="1 0 d1\t1.0 ", line2="1 0 d2 0e3", line3="1 0 d3 -2.00", line4="1 0 1.0 0.0")
    assert findings(tmp_path, qrels, RUN)["whole-level"]["fixable"] == 4
    said = check(tmp_path, qrels, RUN, "--fix", str(tmp_path / "clean")).said
    assert said == [f"{tmp_path}/clean/qrels: mended whole-level (4)"]
    expected = changed(QRELS, line1="1 0 d1\t1 ", line2="1 0 d2 0", line3="1 0 d3 -2", line4="1 0 1.0 0")
    assert (tmp_path / "clean" / "qrels").read_text() == expected.replace("; ", "\n") + "\n"
    whole = changed(QRELS, line1="1 0 d1 12345678901234567890.0", line2="1 0 d2 1.00000000000000000001")
    assert findings(tmp_path, whole, RUN)["fractional-level"]["count"] == 2


def test_line_ends_stay_and_marks_do_not(tmp_path: Path) -> None:
    run = ("\ufeff\ufeff" + changed(RUN, line2="1 Q0 d2 2 29.5 tag x") + "; ").replace("; ", "\r\n").encode()
    assert check(tmp_path, QRELS, run, "--fix", str(tmp_path / "clean")).said == [
        f"{tmp_path}/clean/run: mended byte-order-mark (2), extra-columns (1)"
    ]
    assert trecpy("eval", *write(tmp_path)).said == [f"warning: {tmp_path}/run:1: a byte order mark was dropped"]
    assert (tmp_path / "clean" / "run").read_bytes() == (RUN + "; ").replace("; ", "\r\n").encode()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf_16_becomes_utf_8(encoding: str, tmp_path: Path) -> None:
    run = RUN.replace("; ", "\n").replace("tag", "tàg") + "\n"
    said = check(tmp_path, QRELS, run.encode(encoding), "--fix", str(tmp_path / "clean")).said
    assert said == [f"{tmp_path}/clean/run: mended utf-16 (1); nothing else was looked for: check the copy"]
    assert (tmp_path / "clean" / "run").read_bytes() == run.encode()
    (tmp_path / "clean" / "run").unlink()
    said = check(tmp_path, QRELS, run.encode(encoding)[:-1], "--fix", str(tmp_path / "clean")).said
    assert len(said) == 1
    assert "found bytes that are none" in said[0]
    assert list((tmp_path / "clean").iterdir()) == []


def test_copies_never_write_over_each_other(tmp_path: Path) -> None:
    qrels, _ = write(tmp_path, QRELS)
    for name in "ab":
        (tmp_path / name).mkdir()
        write(tmp_path / name, None, "\ufeff" + RUN)
    runs = [str(tmp_path / name / "run") for name in "ab"]
    outcome = trecpy("check", qrels, *runs, "--fix", str(tmp_path / "clean"))
    assert (outcome.code, outcome.out) == (1, b"")
    assert outcome.said == [
        f"error: --fix: expected files of different names, as their copies have them, found {runs[0]} and {runs[1]}"
    ]
    assert not (tmp_path / "clean").exists()
    os.mkfifo(tmp_path / "pipe")
    outcome = trecpy("check", qrels, str(tmp_path / "pipe"), "--fix", str(tmp_path / "clean"))
    assert outcome.said == [f"error: --fix: expected files, which can be read twice, found {tmp_path}/pipe"]


def test_a_copy_is_compressed_as_the_file_is_and_never_the_file_itself(tmp_path: Path) -> None:
    qrels, _ = write(tmp_path, QRELS)
    path = tmp_path / "run.gz"
    path.write_bytes(gzip.compress(("\ufeff" + RUN.replace("; ", "\n")).encode()))
    assert trecpy("check", qrels, str(path), "--fix", str(tmp_path / "clean")).code == 2
    assert gzip.decompress((tmp_path / "clean" / "run.gz").read_bytes()).decode() == RUN.replace("; ", "\n") + "\n"
    outcome = trecpy("check", qrels, str(path), "--fix", str(tmp_path))
    assert (outcome.code, outcome.said) == (1, [f"error: --fix: expected another folder than that of {qrels}"])
    assert trecpy("check", "-", "--fix", str(tmp_path / "clean"), stdin=QRELS.encode()).said == [
        "error: --fix: expected files, which can be read twice, found standard input"
    ]
