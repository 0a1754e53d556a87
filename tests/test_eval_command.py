"""The command `trecpy` and its `eval`: what it prints, what it says, its exit codes."""

import json
import math
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from command import at_terminal, trecpy, write

import trecpy as package
from trecpy.cli.main import COMMANDS
from trecpy.errors import InputError
from trecpy.protocol import Protocol

QRELS = "1 0 a 1; 1 0 b 0; 1 0 c 2; 2 0 a 1"
RUN = "1 Q0 a 1 1 t; 1 Q0 b 1 3 t; 1 Q0 c 1 2 t"


@pytest.fixture
def paths(tmp_path: Path) -> tuple[str, str]:
    return write(tmp_path, QRELS, RUN)


def test_a_row_a_run(paths: tuple[str, str]) -> None:
    outcome = trecpy("eval", *paths, paths[1], "-m", "map", "-m", "num_ret")
    name = paths[1]
    assert [line.split() for line in outcome.out.decode().splitlines()[:3]] == [
        ["run", "num_ret", "map"],
        [name, "3", "0.2917"],
        [name, "3", "0.2917"],
    ]
    assert outcome.out.decode().splitlines()[3].startswith("protocol: ")
    lacks = f"warning: {name}: lacks 1 of 2 judged topics; they count with what an empty ranking scores"
    assert (outcome.code, outcome.said) == (0, [lacks, lacks])


def test_a_run_that_fails_does_not_stop_the_others(paths: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("1 Q0 a 1 x t\n")
    (tmp_path / "other").write_text("3 Q0 a 1 1 t\n")
    options = ["-m", "map", "--format", "tsv", "--topics", "both"]
    outcome = trecpy("eval", *options, paths[0], str(tmp_path / "other"), str(tmp_path / "bad"), "nowhere", paths[1])
    assert outcome.code == 7
    assert outcome.out.decode().splitlines() == ["run\tmap", f"{paths[1]}\t{(1 / 2 + 2 / 3) / 2!r}"]
    errors = [line for line in outcome.said if line.startswith("error: ")]
    assert [re.sub(r"^error: (\S*/)?(\w+).*", r"\2", line) for line in errors] == ["other", "bad", "nowhere"]


def test_formats_hold_the_same_values(paths: tuple[str, str]) -> None:
    measures = ["map", "P_5", "num_rel_ret"]
    expected = package.evaluate(*paths, measures)
    options = [word for name in measures for word in ("-m", name)]
    records = [
        json.loads(line) for line in trecpy("eval", *paths, *options, "-q", "--format", "jsonl").out.splitlines()
    ]
    assert [record.pop("run") for record in records] == [paths[1]] * 3
    rows = {record.pop("topic"): record for record in records}
    assert rows == {**expected.to_dict(), "all": expected.summary}
    header, *lines = trecpy("eval", *paths, *options, "-q", "--format", "tsv").out.decode().splitlines()
    found = {line.split("\t")[1]: list(map(float, line.split("\t")[2:])) for line in lines}
    assert header.split("\t") == ["run", "topic", *expected.columns]
    assert found == {topic: list(row.values()) for topic, row in rows.items()}


def test_conventions_reach_the_protocol(paths: tuple[str, str]) -> None:
    options = ["--relevance-level", "2", "--judged-only", "--depth", "9", "--ties", "input", "--topics", "both"]
    more = ["--duplicates", "first", "--ignore-self", "--compat", "9.0.8"]
    outcome = trecpy("eval", *options, *more, *paths, "-m", "recip_rank")
    last = outcome.out.decode().splitlines()[-1]
    assert last == (
        "protocol: compat=9.0.8, relevance_level=2, judged_only=True, depth=9, topics=both, ties=input, "
        "duplicates=first, ignore_self=True"
    )
    assert "0.5000" in outcome.out.decode()


def test_folds_are_one_run(tmp_path: Path) -> None:
    """The mean is that of all topics, .41; the mean of the folds' means would be .4667."""
    ranks = {"1": 1, "2": 2, "3": 4, "4": 5, "5": 10}
    qrels = {topic: {"a": 1} for topic in ranks}
    run = {topic: [*(f"x{n}" for n in range(rank - 1)), "a"] for topic, rank in ranks.items()}
    (tmp_path / "qrels").write_text("".join(f"{topic} 0 a 1\n" for topic in qrels))
    files = []
    for name, topics in (("one", "12"), ("two", "345")):
        lines = [f"{t} Q0 {d} 0 {-place} t\n" for t in topics for place, d in enumerate(run[t])]
        (tmp_path / name).write_text("".join(lines))
        files.append(str(tmp_path / name))
    whole = package.evaluate(qrels, run, "map", topics="both")
    assert whole["map"] == pytest.approx(0.41)
    folds = package.Folds([files[0], {topic: run[topic] for topic in "345"}])
    assert package.evaluate(qrels, folds, "map", topics="both").to_dict() == whole.to_dict()
    outcome = trecpy("eval", "--folds", str(tmp_path / "qrels"), *files, "-m", "map", "--format", "tsv")
    assert outcome.out.decode().splitlines()[1:] == [f"{files[0]} + {files[1]}\t{whole['map']!r}"]
    assert all("lacks" not in line for line in outcome.said)
    again = trecpy("eval", "--folds", str(tmp_path / "qrels"), *files, files[0], "-m", "map")
    twice = f"{files[0]}: expected each topic in one fold, found '1', which is in {files[0]} too"
    assert (again.code, again.out, again.said) == (4, b"", [f"error: {files[0]} + {files[1]} + {files[0]}: {twice}"])
    missing = trecpy("eval", "--folds", str(tmp_path / "qrels"), files[0], "nowhere", "-m", "map")
    assert (missing.code, len(missing.said)) == (2, 1)


def test_runs_that_are_too_short_for_a_preset(tmp_path: Path) -> None:
    """QDER reranks 1,000 documents of each topic; a fold with fewer, or without a topic, is said."""
    (tmp_path / "qrels").write_text("1 0 d1 1\n2 0 d1 1\n3 0 d1 1\n")
    for name, topic, count in (("one", "1", 1000), ("two", "2", 999)):
        (tmp_path / name).write_text("".join(f"{topic} Q0 d{n} 0 {-n} t\n" for n in range(count)))
    files = [str(tmp_path / name) for name in ("qrels", "one", "two")]
    folds = f"{files[1]} + {files[2]}"
    lacks = f"warning: {folds}: lacks 1 of 3 judged topics; they count with what an empty ranking scores"
    short = (
        f"warning: {folds}: has fewer than 1,000 documents in 1 of 2 topics (the fewest: 999): runs of other "
        "candidates are not comparable"
    )
    for protocol in ("qder", "qder-codec"):
        outcome = trecpy("eval", "--protocol", protocol, "--folds", *files)
        assert outcome.said == [lacks, short]
    assert trecpy("eval", "--protocol", "trec-car", "--folds", *files).said == [lacks]
    assert trecpy("eval", "--protocol", "qder", files[0], files[1]).said == [
        f"warning: {files[1]}: lacks 2 of 3 judged topics; they count with what an empty ranking scores"
    ]


@pytest.mark.parametrize("runs", ["fold.run", {"a": {}}, [], 3])
def test_what_folds_cannot_be(runs: object) -> None:
    with pytest.raises(InputError, match="folds: expected"):
        package.Folds(runs)  # type: ignore[arg-type]


def test_lines_of_a_topic_apart_in_a_fold(tmp_path: Path) -> None:
    """Such a file is read twice, and its topics come again; that is no overlap of folds."""
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 a 1\n3 0 a 1\n")
    (tmp_path / "one").write_text("1 Q0 a 1 1 t\n2 Q0 a 1 1 t\n1 Q0 b 1 2 t\n")
    (tmp_path / "two").write_text("3 Q0 a 1 1 t\n")
    names = [str(tmp_path / name) for name in ("qrels", "one", "two")]
    assert trecpy("eval", "--folds", *names, "-m", "map", "--format", "jsonl").out.endswith(
        b'"map": 0.8333333333333334}\n'
    )


def test_every_convention_is_an_option() -> None:
    text = trecpy("eval", "--help").out.decode()
    # Presets have a name, and choices for single measures.
    named = {field.name for field in fields(Protocol)} - {"per_measure", "name"}
    assert [name for name in named if f"--{name.replace('_', '-')}" not in text] == []


@pytest.mark.parametrize(
    ("options", "said", "value"),
    [
        (["--gains", "exp"], "gains=exp", 2**2 - 1),
        (["--gains", "1=5,2=7"], "gains=1=5,2=7", 7),
        (["--ties", "best"], "ties=best", 2),
    ],
)
def test_gains_and_ties(tmp_path: Path, options: list[str], said: str, value: float) -> None:
    files = write(tmp_path, "1 0 a 2; 1 0 b 0", "1 Q0 a 1 1 t; 1 Q0 b 1 1 t")
    outcome = trecpy("eval", *options, *files, "-m", "dcg")
    dcg = value if "best" in options else value / math.log2(3)
    rows = outcome.out.decode().splitlines()
    assert (rows[1].split()[1], rows[2].endswith(said) or said in rows[2]) == (f"{dcg:.4f}", True)


@pytest.mark.parametrize("gains", ["nonsense", "1=x", "1=2,1=3", "1=2=3", "="])
def test_gains_that_cannot_be_read(paths: tuple[str, str], gains: str) -> None:
    outcome = trecpy("eval", *paths, "--gains", gains)
    assert (outcome.code in (1, 2), outcome.out, len(outcome.said)) == (True, b"", 1)


def test_a_run_from_standard_input(paths: tuple[str, str]) -> None:
    outcome = trecpy("eval", "-m", "map", "--format", "tsv", "--", paths[0], "-", stdin=Path(paths[1]).read_bytes())
    assert outcome.out.decode().splitlines()[1].startswith("-\t0.29")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 1, []),
        (["nonsense"], 1, ["error: expected a command, one of "]),
        (["eval"], 1, ["error: the following arguments are required: QRELS, RUN"]),
        (["eval", "a", "b", "--bogus"], 1, ["error: unrecognized arguments: --bogus"]),
        (["eval", "a", "b", "--rel", "2"], 1, ["error: unrecognized arguments: --rel"]),
        (["eval", "a", "b", "--places", "x"], 1, ["error: argument --places: expected a number from 0 to 17"]),
        (["eval", "a", "b", "--depth", "-1"], 1, ["error: --depth: expected a number >= 0 or None, found -1"]),
        (["eval", "a", "b", "--protocol", "x"], 1, ["error: --protocol: expected one of trec_eval-10.0, "]),
        (["eval", "a", "b", "-m", "nonsense"], 1, ["error: measures: 'nonsense' is not known"]),
        (["eval", "nowhere", "b"], 2, ["error: nowhere: cannot be read"]),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], code: int, said: list[str]) -> None:
    outcome = trecpy(*arguments)
    assert outcome.code == code
    assert len(outcome.said) == len(said)
    assert all(line.startswith(start) for line, start in zip(outcome.said, said, strict=True))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name: str) -> None:
    outcome = trecpy(name, "--help")
    assert outcome.code == 0
    assert f"usage: trecpy {name}" in outcome.out.decode()
    assert f"  trecpy {name} " in outcome.out.decode().partition("examples:")[2]
    assert f"  {name} " in trecpy("--help").out.decode()


def test_odd_names_stay_on_their_line(tmp_path: Path) -> None:
    qrels, run = write(tmp_path, QRELS.replace("2 ", "\x1b[1m "), RUN)
    outcome = trecpy("eval", qrels, run, "-q", "-m", "map")
    assert b"\\x1b[1m" in outcome.out
    assert b"\x1b" not in outcome.out


def test_as_a_process(paths: tuple[str, str]) -> None:
    """Errors are named for the program; a reader that has gone away is no error of ours."""
    command = [sys.executable, "-m", "trecpy"]
    failed = subprocess.run([*command, "eval", "nowhere", "b"], capture_output=True, timeout=300, check=False)
    assert failed.returncode == 2
    assert failed.stderr.startswith(b"trecpy: error: nowhere: cannot be read")
    with subprocess.Popen([*command, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as gone:
        assert gone.stdout is not None
        gone.stdout.close()
        assert gone.stderr is not None
        assert (gone.stderr.read(), gone.wait()) == (b"", 141)


def test_progress_is_for_terminals(paths: tuple[str, str], tmp_path: Path) -> None:
    """A bar on a terminal, cleared at the end, messages on lines of their own; else nothing but messages."""
    command = [sys.executable, "-m", "trecpy", "eval", *paths, "nowhere", paths[1], "-m", "map"]
    plain = subprocess.run(command, capture_output=True, timeout=300, check=False)
    code, out, seen = at_terminal(command, NO_COLOR="1")
    assert (out, code) == (plain.stdout, 2)
    assert b"2/3" in seen
    assert b"run" in seen
    assert b"2/3" not in plain.stderr
    lines = [line.rpartition(b"\r")[2].strip() for line in seen.split(b"\r\n")]
    assert [line for line in lines if line.startswith(b"trecpy: ")] == plain.stderr.splitlines()


def test_a_protocol_that_rounds_is_printed_with_its_digits(tmp_path: Path) -> None:
    qrels = "; ".join(f"{topic} 0 a 1" for topic in range(11))
    run = "; ".join(f"{topic} Q0 {'a' if topic < 5 else 'x'} 1 1 t" for topic in range(11))
    files = [*write(tmp_path, qrels, run), "-m", "P@1", "--protocol", "beir"]
    rows = {
        (): ("0.45455", "protocol: beir"),
        ("--places", "4"): ("0.4545", "protocol: beir, places=4"),
        ("--places", "8"): ("0.45454545", "protocol: beir, places=8"),
    }
    for options, (value, said) in rows.items():
        lines = trecpy("eval", *files, *options).out.decode().splitlines()
        assert (lines[1].split()[-1], lines[2]) == (value, said)
    assert trecpy("eval", *files, "--format", "tsv").out.decode().split()[-1] == "0.45455"


@pytest.mark.parametrize(
    "arguments",
    [
        ("eval", "qrels", "-"), ("eval", "-", "run"), ("explain", "-m", "map", "qrels", "-"),
        ("qilin", "qrels", "-"), ("qilin", "-", "run"), ("quoter", "qrels", "-"), ("quoter", "--ranks", "-"),
        ("answers", "texts", "-"), ("answers", "-", "texts"), ("convert", "--kind", "run", "-", "out.run"),
    ],
)  # fmt: skip
def test_standard_input_has_one_name(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "1 0 5 1; 2 0 6 1", "1 Q0 5 1 1 tag")
    (tmp_path / "texts").write_text('{"id": 1, "text": "a"}\n')
    outcome = trecpy(*arguments)
    assert (outcome.code, len(outcome.said)) == (2, 1)
    wrong = "(is empty: expected lines of '|expected lines of JSON, found none|ranks: expected at least one)"
    assert re.match(f"error: standard input: {wrong}", outcome.said[0])


@pytest.mark.parametrize(
    ("command", "given", "stdin"),
    [
        ("eval", "qrels", b"1 Q0 5 1 1 tag\n"), ("qilin", "qrels", b"1 Q0 5 1 1 tag\n"),
        ("quoter", "qrels", b"1 Q0 5 1 1 tag\n"), ("answers", "texts", b'{"id": 1, "text": "a"}\n'),
    ],
)  # fmt: skip
def test_so_it_has_in_warnings(
    command: str, given: str, stdin: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "1 0 5 1; 2 0 6 1")
    (tmp_path / "texts").write_text('{"id": 1, "text": "a"}\n{"id": 2, "text": "b"}\n')
    (said,) = trecpy(command, given, "-", stdin=stdin).said
    assert said.startswith("warning: standard input: lacks ")


def test_pipes_and_standard_input_are_called_so(tmp_path: Path) -> None:
    """Process substitution names a pipe /dev/fd/63, which says nothing to who reads it."""
    qrels, run = write(tmp_path, "1 0 a 1; 2 0 a 1", "1 Q0 a 1 1 tag")
    said = "lacks 1 of 2 judged topics; they count with what an empty ranking scores"
    outcome = trecpy("eval", qrels, "-", stdin=Path(run).read_bytes())
    assert outcome.said == [f"warning: standard input: {said}"]
    for raw, text in (
        (Path(run).read_bytes(), f"warning: a pipe ({{}}): {said}"),
        (b"1 Q0 a 1 x tag\n", "error: a pipe ({}):1: column 5 (score): expected a number, found 'x'"),
    ):
        reading, writing = os.pipe()
        os.write(writing, raw)
        os.close(writing)
        path = f"/dev/fd/{reading}"
        assert trecpy("eval", qrels, path).said == [text.format(path)]
        os.close(reading)


def test_a_measure_with_topics_of_its_own_is_named(tmp_path: Path) -> None:
    files = write(tmp_path, "1 0 a 1; 2 0 b 1", "1 Q0 a 1 1 t")
    said = trecpy("eval", *files, "-m", "RR@10", "-m", "nDCG@10", "--protocol", "beir").said
    assert said == [
        f"warning: {files[1]}: lacks 1 of 2 judged topics; they are left out of the means; RR is over topics=qrels"
    ]


@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_many_runs_come_in_their_order_with_what_is_said_of_each(tmp_path: Path, threads: str) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    for number in range(12):
        line = (
            "1 Q0 a 1 x t\n" if number == 5 else f"1 Q0 {'xa'[number % 2]} 1 1 t\n" + "2 Q0 b 1 1 t\n" * (number != 7)
        )
        (tmp_path / f"run{number}").write_text(line)
    files = [str(tmp_path / f"run{number}") for number in range(12)]
    found = trecpy("eval", str(tmp_path / "qrels"), *files, "-m", "P@1", "--format", "tsv", "--threads", threads)
    rows = [line.split("\t") for line in found.out.decode().splitlines()[1:]]
    assert [row[0] for row in rows] == [file for number, file in enumerate(files) if number != 5]
    assert [float(row[1]) for row in rows[:5]] == [0.5, 1.0, 0.5, 1.0, 0.5]
    assert found.code == 2
    assert [text.partition(": ")[0] for text in found.said] == ["error", "warning", "protocol"]
    assert (files[5] in found.said[0], files[7] in found.said[1]) == (True, True)
