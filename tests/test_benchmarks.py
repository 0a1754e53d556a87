"""The benchmarks, at a hundredth of their size: their tools agree, or it stops; tables have a shape."""

import math
import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import data, measuring, report, tools, workloads
from benchmarks.measuring import Failure, Process, Sample, Timing, Worker

README = Path(__file__).parent.parent / "README.md"
SMALL = data.Size(small=True, runs=3)
INSTALLED = ("pytrec_eval", "ir_measures")


def values_of(tool: str, name: str, folder: Path) -> tools.Values:
    call, read = tools.prepared_call(tool, name, folder, small=True)
    return read(call())


@pytest.mark.parametrize("tool", INSTALLED)
@pytest.mark.parametrize("name", ["dense-1", "dense-15", "dicts", "one-topic"])
def test_calls_agree(tool: str, name: str, tmp_path: Path) -> None:
    workloads.compare(tool, [values_of(tool, name, tmp_path)], [values_of("trecpy", name, tmp_path)])


@pytest.mark.parametrize("tool", INSTALLED)
@pytest.mark.parametrize("name", ["robust", "msmarco", "hundred", "judged-1000"])
def test_files_agree(tool: str, name: str, tmp_path: Path) -> None:
    qrels, runs = data.files(name, tmp_path, SMALL)
    paths = [str(path) for path in runs]
    ours, theirs = (list(tools.from_files(each, str(qrels), paths)) for each in ("trecpy", tool))
    workloads.compare(tool, theirs, ours)
    assert len(ours) == len(paths) == (3 if name == "hundred" else 1)


def test_matrices_are_the_calls_that_are_timed() -> None:
    scores, _ = data.dense("dense-1", SMALL)
    call, read = tools.from_matrices(tools.ARGSORT, scores, None)
    assert (np.take_along_axis(scores, call(), axis=1) == -np.sort(-scores, axis=1)).all()
    assert read(None) == {}


VALUE = dict.fromkeys(tools.MEASURES, (0.5, 0.4, 0.6))


@pytest.mark.parametrize(
    ("tool", "mean", "fine"),
    [
        ("pytrec_eval", 0.5, True),
        ("pytrec_eval", math.nextafter(0.5, 1), False),
        ("ir_measures", 0.5 + 1e-12, True),
        ("ir_measures", 0.5001, False),
        ("ranx", 0.41, True),
        ("ranx", 0.6, True),
        ("ranx", 0.39, False),
        ("ranx", 0.6001, False),
        ("ranx", math.nan, False),
    ],
)
def test_what_a_tool_may_say(tool: str, mean: float, fine: bool) -> None:
    theirs = {**dict.fromkeys(tools.MEASURES, (0.5,)), "ndcg": (mean,)}
    if fine:
        workloads.compare(tool, [theirs], [VALUE])
    else:
        with pytest.raises(Failure, match=f"^run 2: ndcg is {mean!r} from {tool}, 0.5 from trecpy"):
            workloads.compare(tool, [dict.fromkeys(tools.MEASURES, (0.5,)), theirs], [VALUE, VALUE])


def test_a_run_that_was_left_out() -> None:
    with pytest.raises(Failure, match="ranx evaluated 1 of 2 runs"):
        workloads.compare("ranx", [VALUE], [VALUE, VALUE])


def test_bounds_are_those_of_ties() -> None:
    qrels, run = {"1": {"b": 1}}, {"1": {"a": 2.0, "b": 2.0}}
    assert tools.exact(qrels, run)["recip_rank"] == (1.0, 0.5, 1.0)


def test_files_are_made_once(tmp_path: Path) -> None:
    _, runs = data.files("hundred", tmp_path, data.Size(small=True, runs=2))
    made = [(path, path.stat().st_mtime_ns, path.read_bytes()) for path in runs]
    qrels, more = data.files("hundred", tmp_path, SMALL)
    assert [(path, path.stat().st_mtime_ns, path.read_bytes()) for path in more[:2]] == made
    assert len({path.read_bytes() for path in more}) == 3
    assert qrels == tmp_path / "small" / "robust" / data.QRELS
    assert sorted(path.name for path in more[0].parent.iterdir()) == [path.name for path in more]


def test_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("tiny", "robust"):
        (one, (first,)), (other, (second,)) = (data.files(name, tmp_path / str(n), SMALL) for n in range(2))
        assert one.read_bytes() == other.read_bytes()
        assert first.read_bytes() == second.read_bytes()


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), data.unfinished(tmp_path / "a" / "b"):
        raise ZeroDivisionError
    assert list((tmp_path / "a").iterdir()) == []


def test_shapes_of_matrices() -> None:
    for name, share in (("dense-1", 0.05), ("dense-15", 0.15)):
        scores, levels = data.dense(name, SMALL)
        assert scores.shape == levels.shape == (69, 20)
        assert all(len(set(row)) == 20 for row in scores.astype(np.float32).tolist())
        assert (levels > 0).mean() == pytest.approx(share, abs=0.03)
    assert data.Size()(6_980) == 6_980


def test_answers_of_a_worker() -> None:
    calls: list[int] = []
    answers = list(
        tools.serve(lambda: calls.append(1), lambda _: {"map": (0.5,)}, iter(["call\n", "values\n", "call\n"]))
    )
    assert answers[1] == "1\nmap\t0.5"
    assert [len(answer.split()) for answer in (answers[0], answers[2])] == [2, 2]
    assert len(calls) > 100  # of a short call many are timed at once


def test_processes() -> None:
    cases: dict[str, measuring.Case] = {
        "three": Process([sys.executable, "-c", "print(3)"]),
        "none": Process(["true"], ""),
    }
    with measuring.closing(cases):
        first = {name: case.first() for name, case in cases.items()}
        assert [printed for _, printed in first.values()] == ["3\n", ""]
        timings = measuring.alternate(cases, {name: sample for name, (sample, _) in first.items()}, 2)
    assert [len(each.later) for each in timings.values()] == [2, 2]
    assert [each.first is None for each in timings.values()] == [False, True]
    assert all(each.peak > 0 for each in timings.values())


def test_a_worker_is_warm_after_its_first_call(tmp_path: Path) -> None:
    command = workloads.python("tools", "calls", "pytrec_eval", "one-topic", "--data", str(tmp_path), "--small")
    for cache in (None, ""):
        worker = Worker(command, cache)
        with measuring.closing({"it": worker}):
            first, printed = worker.first()
            later = worker.sample()
        assert workloads.read_values(printed) == [values_of("pytrec_eval", "one-topic", tmp_path)]
        assert min(first.seconds, first.peak, later.seconds, later.peak) > 0


SAYS_WHY = [sys.executable, "-c", "import sys; sys.exit('first\\nlast')"]


@pytest.mark.parametrize("case", [lambda: Process(SAYS_WHY), lambda: Worker(SAYS_WHY)])
def test_what_fails_says_why(case: Callable[[], measuring.Case]) -> None:
    failing = case()
    with measuring.closing({"it": failing}), pytest.raises(Failure, match=r"^exit code 1 from .*: last$"):
        failing.first()


def test_a_fresh_folder_each_time(tmp_path: Path) -> None:
    note = tmp_path / "note"
    case = Process(
        ["sh", "-c", 'ls "$NUMBA_CACHE_DIR" >> "$0"; echo . >> "$0"; touch "$NUMBA_CACHE_DIR/x"', str(note)], fresh=True
    )
    with measuring.closing({"it": case}):
        for _ in range(3):
            case.sample()
    assert note.read_text() == ".\n.\n.\n"


class Slow:
    cold = False

    def __init__(self, seconds: float) -> None:
        self.seconds, self.count = seconds, 0

    def first(self) -> tuple[Sample, str]:
        return self.sample(), ""

    def sample(self) -> Sample:
        self.count += 1
        return Sample(self.seconds, 1.0)

    def close(self) -> None:
        pass


def test_what_was_timed_for_long_sits_out() -> None:
    cases = {"slow": Slow(11.0), "quick": Slow(1.0)}
    measuring.alternate(cases, {name: Sample(1, 1) for name in cases}, 5)
    assert [case.count for case in cases.values()] == [3, 5]


def timing(*seconds: float) -> Timing:
    return Timing(Sample(9.0, 50.0), tuple(Sample(each, 10.0 * each) for each in seconds))


def test_rows() -> None:
    timings = {"trecpy": timing(3.0, 1.0, 2.0), "pytrec_eval": timing(8.0)}
    rows = report.rows_of("msmarco", timings, (0.75, "pytrec_eval"), None)
    assert [(row.what, row.median, row.ratio) for row in rows] == [
        ("trecpy", 2.0, 1.0),
        ("pytrec_eval", 8.0, 4.0),
        ("T = 0.75 x pytrec_eval", 6.0, 3.0),
    ]
    assert report.all_figures(rows)[2:] == [
        "| msmarco | trecpy | 9.00 s | 2.00 s | 1.00 s..3.00 s | 30 | 1 |",
        "| msmarco | pytrec_eval | 9.00 s | 8.00 s | 8.00 s..8.00 s | 80 | 4 |",
        "| msmarco | T = 0.75 x pytrec_eval |  | 6.00 s |  |  | 3 |",
    ]
    assert report.beside_others(rows, ["pytrec_eval", "ranx"], nist=False) == [
        "| work | trecpy | first ever | MiB | pytrec_eval |",
        "| --- | ---: | ---: | ---: | ---: |",
        f"| msmarco: {workloads.WORKLOADS['msmarco'].about} | 2.00 s | 9.00 s | 30 | 8.00 s, 4 x |",
    ]
    assert report.alone(rows) == []


def test_what_is_taken_off() -> None:
    timings = {"--threads 1": timing(5.0), "--threads 2": timing(3.0), "-v": timing(1.0)}
    rows = report.rows_of("threads", timings, None, "-v")
    assert [row.ratio for row in rows] == [1.0, 0.5, None]
    assert [line.split(" | ")[1] for line in report.alone(rows)[2:]] == ["--threads 1", "--threads 2"]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(123.4, "123 s"), (12.34, "12.3 s"), (1.0, "1.00 s"), (0.0123, "12.3 ms"), (2e-5, "20.0 us"), (5e-7, "0.50 us")],
)
def test_durations(seconds: float, shown: str) -> None:
    assert report.duration(seconds) == shown


def test_between_marks() -> None:
    text = "a\n<!-- speed -->\nold\n<!-- /speed -->\nb\n"
    assert report.between_marks(text, "new", "x") == text.replace("old", "new")
    with pytest.raises(Failure, match="x: expected <!-- speed --> and <!-- /speed -->"):
        report.between_marks("a", "new", "x")


def test_the_readme_shows_what_is_timed() -> None:
    shown = README.read_text().partition(report.MARKS[0])[2].partition(report.MARKS[1])[0].strip().splitlines()
    assert re.search(r"\d cores; .*, Python 3\.\d+\.\d+, trecpy \S+, numpy \S+, numba \S+", shown[0])
    cells = [line.strip("| ").split(" | ") for line in shown if line.startswith("| ")]
    beside = [row[0] for row in cells if ": " in row[0]]
    known = {name: workloads.WORKLOADS[name] for name in workloads.SHOWN}
    assert beside == [f"{name}: {each.about}" for name, each in known.items() if each.beside]
    others = {row[0] for row in cells} - {*beside, "work", "---", "trecpy alone"}
    assert others == {name for name, each in known.items() if not each.beside}


@pytest.fixture
def usual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREC_EVAL", raising=False)


@pytest.mark.usefixtures("usual")
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--small", "--warm", "--repeat", "1", "--peers", "pytrec_eval", "--data", str(tmp_path)]
    command.main(["robust", "one-topic", *options, "--output", str(tmp_path / "out.md")])
    out = capsys.readouterr().out
    rows = [line.strip("| ").split(" | ")[:2] for line in out.splitlines() if line.startswith("| ")][2:]
    assert rows == [
        ["robust", "trecpy"],
        ["robust", "pytrec_eval"],
        ["robust", "T = 0.5 x pytrec_eval"],
        ["one-topic", "trecpy"],
        ["one-topic", "pytrec_eval"],
    ]
    assert "* ir_measures: not asked for" in out.splitlines()
    assert (tmp_path / "out.md").read_text() == out


def imitation(folder: Path, version: str, also: str = "") -> str:
    """A program that prints what trecpy prints, and says that it is another."""
    program = folder / "nist"
    ours = workloads.find_trecpy() / "trec_eval"
    program.write_text(f'#!/bin/sh\n[ "$1" = -v ] && {{ echo {version!r} >&2; exit; }}\n{also}\nexec "{ours}" "$@"\n')
    program.chmod(0o755)
    return str(program)


def test_the_program_of_nist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREC_EVAL", imitation(tmp_path, "trec_eval version 10.0"))
    setting = workloads.Setting(workloads.find_trecpy(), workloads.find_nist(), [], tmp_path, small=True)
    rows = command.measure("robust", setting, 1)
    assert [row.what for row in rows] == ["trecpy", "trec_eval", "T"]
    assert rows[2].median == rows[1].median
    assert report.absent(setting)[-1].startswith("ranx")
    other = replace(setting, nist=workloads.Nist([imitation(tmp_path, "trec_eval version 10.0", "echo more")], []))
    with pytest.raises(Failure, match=r"^robust: trec_eval and trecpy print different values$"):
        command.measure("robust", other, 1)


@pytest.mark.parametrize(
    ("said", "expected"), [("trec_eval version 9.0.8", ["--compat", "9.0.8"]), ("trec_eval version 10.0", [])]
)
def test_generations(said: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREC_EVAL", imitation(tmp_path, said))
    found = workloads.find_nist()
    assert found is not None
    assert found.compat == expected


def test_no_peer_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREC_EVAL", str(workloads.find_trecpy() / "trec_eval"))
    with pytest.raises(SystemExit, match=r"^benchmarks: TREC_EVAL must name NIST's trec_eval; this is trecpy's: "):
        command.main(["start"])


@pytest.mark.usefixtures("usual")
def test_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads.importlib.util, "find_spec", lambda name: None)
    assert workloads.find_peers() == []
    with pytest.raises(SystemExit, match=r"^benchmarks: ranx is not installed: pip install 'ranx'$"):
        command.main(["start", "--peers", "ranx"])
    setting = workloads.Setting(Path(), None, [], Path())
    assert report.absent(setting)[0] == "pytrec_eval: not installed (`pip install pytrec-eval-terrier`)"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "no workload 'nonsense'; there are msmarco, robust"),
        (["--peers", "me"], "no peer 'me'; there are pytrec_eval"),
        (["--repeat", "0"], "expected an integer >= 1, found '0'"),
        (["--small", "--readme"], "--readme has workloads of its own"),
    ],
)
def test_wrong_options(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        command.main(arguments)
    assert said in capsys.readouterr().err


def test_no_numpy_in_the_process_that_measures() -> None:
    """A child's peak memory starts at its parent's."""
    code = "import sys, benchmarks.__main__; sys.exit('numpy' in sys.modules)"
    Process([sys.executable, "-c", code], os.devnull).sample()
