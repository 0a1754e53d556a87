"""The command `trec_eval`: options, errors, warnings, and what surrounds a process."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from command import score, trec_eval, write

from trecpy import __version__
from trecpy.registry import catalogue

QRELS = "1 0 a 1; 1 0 b 0; 2 0 a 1; 2 0 c 2"
RUN = "1 Q0 a 1 9 tag; 1 Q0 b 2 8 tag; 2 Q0 c 1 5 tag"
TREC_EVAL = [sys.executable, "-m", "trecpy.cli.trec_eval"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return write(tmp_path, QRELS, RUN)


# Options


def test_our_own_option_takes_no_part_in_abbreviation(files: tuple[str, str]) -> None:
    for short in ("--c", "--co", "--comp"):
        assert trec_eval(short, "-m", "num_q", *files).out == b"num_q                 \tall\t2\n"
    assert trec_eval("--compa", *files).said[0] == "unrecognized option '--compa'"


@pytest.mark.parametrize("spelled", [["--compat", "9.0.8"], ["--compat=9.0.8"]])
def test_generation_counts_wherever_it_stands(files: tuple[str, str], spelled: list[str]) -> None:
    for arguments in ([*spelled, "-m", "rbp", *files], ["-m", "rbp", *files, *spelled]):
        outcome = trec_eval(*arguments)
        assert outcome.code == 1
        assert outcome.said == ["-m rbp: no measure or nickname is called 'rbp' in trec_eval 9.0.8; it came with 10.0"]


def test_generation_from_the_environment(files: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRECPY_COMPAT", "9.0.8")
    assert trec_eval("-m", "rbp", *files).code == 1
    assert trec_eval("-m", "rbp", "--compat", "10.0", *files).code == 0
    monkeypatch.setenv("TRECPY_COMPAT", "9")
    assert trec_eval(*files).said[0] == "TRECPY_COMPAT: expected 10.0 or 9.0.8, found '9'"


def test_version_names_trecpy_and_the_generation() -> None:
    assert trec_eval("-v", "--nonsense").said == [f"trecpy {__version__}, following trec_eval version 10.0"]
    assert trec_eval("--compat=9.0.8", "-v").said == [f"trecpy {__version__}, following trec_eval version 9.0.8"]


def test_posixly_correct_ends_options_at_the_first_file(
    files: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert trec_eval(files[0], "-q", files[1]).code == 0
    monkeypatch.setenv("POSIXLY_CORRECT", "1")
    assert trec_eval(files[0], "-q", files[1]).code == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-x"], "invalid option -- 'x'"),
        (["-m"], "option requires an argument -- 'm'"),
        (["--measure"], "option '--measure' requires an argument"),
        (["--nosummary=1"], "option '--nosummary' doesn't allow an argument"),
        (["--N"], "option '--N' requires an argument"),
        (["--Re", "x"], "option '--Re' is ambiguous; possibilities: '--Rel_info_format' '--Results_format'"),
        (["--compat"], "option '--compat' requires an argument"),
        (["--compat", "11"], "--compat: expected 10.0 or 9.0.8, found '11'"),
        (["a"], "expected 2 files, QRELS and RUN, found 1"),
    ],
)
def test_a_wrong_option_is_one_line_and_the_usage(arguments: list[str], said: str) -> None:
    outcome = trec_eval(*arguments)
    if arguments == ["--N"]:
        said = said.replace("--N", "--Number_docs_in_coll")
    assert (outcome.code, outcome.out, outcome.said[0]) == (1, b"", said)
    assert outcome.said[1].startswith("Usage: ")


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        ("MAP", "-m MAP: no measure or nickname is called 'MAP'; here it is called 'map'"),
        ("nDCG@10", "-m nDCG@10: no measure or nickname is called 'nDCG@10'; here it is called 'ndcg_cut.10'"),
        ("ndcg_ct.10", "-m ndcg_ct.10: no measure or nickname is called 'ndcg_ct'; near it are ndcg_cut"),
        ("ndcg_cut_10", "-m ndcg_cut_10: no measure or nickname is called 'ndcg_cut_10'; that column is asked for by "
         "'ndcg_cut.10'"),
        ("iprec_at_recall_0.10", "-m iprec_at_recall_0.10: no measure or nickname is called 'iprec_at_recall_0'; that "
         "column is asked for by 'iprec_at_recall.0.10'"),
        ("RR", "-m RR: no measure or nickname is called 'RR'; it is trecpy's own, and scored from Python only"),
        ("P.", "-m P.: expected parameters behind the dot, found nothing"),
        ("a\n\x1b[31m", r"-m a\n\x1b[31m: no measure or nickname is called 'a\n\x1b[31m'"),
    ],
)  # fmt: skip
def test_an_unknown_measure_is_one_line_with_a_hint(files: tuple[str, str], measure: str, said: str) -> None:
    outcome = trec_eval("-m", measure, *files)
    assert outcome.code == 1
    assert len(outcome.said) == 1
    assert outcome.said[0].startswith(said)


# Help


def test_help_names_every_measure_option_and_set() -> None:
    text = trec_eval("-h").out.decode()
    for name, each in catalogue().items():
        assert (f"\n  {name} " in text) == each.known_to("10.0"), name
    for word in ("--compat", "-Z", "qrels_jg", "official", "all_trec", "TRECPY_COMPAT", "Exit codes"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 120


def test_help_of_a_measure_explains_it() -> None:
    text = trec_eval("-h", "-m", "ndcg_cut").out.decode()
    for word in (
        "ndcg_cut",
        "Formula",
        "log2(i + 1)",
        "Range",
        "Source",
        "Defaults  5,10,15",
        "Summary   mean",
        "all_trec",
    ):
        assert word in text


@pytest.mark.parametrize("name", catalogue())
def test_each_measure_is_documented(name: str) -> None:
    doc = catalogue()[name].doc
    assert catalogue()[name].title.endswith(".")
    assert "Formula   " in doc
    assert "Source    " in doc
    assert "Range     " in doc or name in ("runid", "relstring")


# Errors in files


@pytest.mark.parametrize(
    ("options", "qrels", "run", "code", "said"),
    [
        ([], QRELS, "1 Q0 a 1 1", 2, "{run}:1: expected 6 or more columns (topic iter docno rank score tag), found 5"),
        ([], "1 0 a", RUN, 2, "{qrels}:1: expected 4 columns (topic iter docno level), found 3"),
        ([], QRELS, b"", 2, "{run}: is empty: expected lines of 'topic iter docno rank score tag'"),
        (["-m", "P.0"], QRELS, RUN, 2, "P.0: expected cutoffs >= 1, found 0"),
        (["-m", "P.5,5"], QRELS, RUN, 2, "P.5,5: expected each parameter once, found 5 twice"),
        (["-m", "ndcg.1"], QRELS, RUN, 2, "ndcg.1: expected level=gain,..., found '1'"),
        (["-m", "utility.1,2"], QRELS, RUN, 4, "utility: expected exactly 4 parameters, found 2"),
        (["-R", "x"], QRELS, RUN, 2, "-R: expected qrels, qrels_jg, prefs or qrels_prefs, found 'x'"),
        (["-T", "x"], QRELS, RUN, 2, "-T: expected trec_results, found 'x'"),
        (["-M", "-1"], QRELS, RUN, 1, "-M: expected a number >= 0, found -1"),
        (["-R", "qrels_prefs"], QRELS, RUN, 4, "num_ret: expected judgements of -R qrels, found -R qrels_prefs"),
        ([], QRELS, "7 Q0 a 1 1 r", 7,
         "no topic has both judgements and a ranking: {qrels} judges '1', '2'"),
        ([], QRELS, "1 Q0 a 1 2 r; 2 Q0 c 1 5 r; 1 Q0 a 9 1 r", 4,
         "topic '1': expected a document once in the ranking, found 'a' in lines 1 and 3"),
        ([], "1 0 a 1; 2 0 b 1; 1 0 a 0", RUN, 4,
         "topic '1': expected a document once in the qrels, found 'a' in lines 1 and 3"),
    ],
)  # fmt: skip
def test_an_error_is_one_clear_line(
    tmp_path: Path, options: list[str], qrels: str | bytes, run: str | bytes, code: int, said: str
) -> None:
    outcome = score(tmp_path, options, qrels, run)
    assert outcome.said[-1] == said.format(qrels=tmp_path / "qrels", run=tmp_path / "run")
    assert (outcome.code, outcome.out) == (code, b"")


def test_what_was_printed_before_an_error_stays(tmp_path: Path) -> None:
    outcome = score(tmp_path, ["-q", "-m", "map"], QRELS, RUN + "; 2 Q0 c 2 4 tag")
    assert (outcome.code, outcome.out) == (4, b"map                   \t1\t1.0000\n")


def test_the_run_is_blamed_before_parameters_as_in_the_reference(tmp_path: Path) -> None:
    outcome = score(tmp_path, ["-m", "P.0", "-Z", "nowhere"], QRELS, RUN + "; 1 Q0")
    assert outcome.code == 2
    assert "found 2" in outcome.said[-1]
    outcome = score(tmp_path, ["-m", "P.0", "-Z", "nowhere"], QRELS, RUN)
    assert (outcome.code, outcome.said[-1]) == (255, "nowhere: cannot be read: no such file or directory")


def test_preferences_that_contradict_each_other(tmp_path: Path) -> None:
    prefs = "1 g s a 2; 1 g s b 1; 1 g t b 2; 1 g t a 1"
    outcome = score(tmp_path, ["-R", "prefs", "-m", "prefs"], prefs, RUN)
    assert outcome.code == 4
    assert outcome.said[-1].endswith(
        "topic '1': expected preferences without a circle, found 'a' preferred to 'b' and 'b' to 'a'"
    )


# Warnings


@pytest.mark.parametrize(
    ("options", "qrels", "run", "said"),
    [
        ([], QRELS, b"\xef\xbb\xbf" + RUN.replace("; ", "\n").encode(),
         "{run}:1: begins with a byte order mark, which is read as part of the first id"),
        ([], QRELS, RUN.replace(" 9 ", " abc "),
         "{run}:1: column 5 (score): expected a number, found 'abc'; it counts as 0"),
        ([], QRELS.replace("a 1", "a 0.9"), RUN,
         "{qrels}:1: column 4 (level): expected an integer, found '0.9'; what follows the number is ignored "
         "(2 such lines)"),
        (["-m", "recip_rank.10"], QRELS, RUN, "-m recip_rank.10: the measure takes no parameters; they are ignored"),
        (["-m", "official.5"], QRELS, RUN, "-m official.5: the nickname takes no parameters; they are ignored"),
        (["-m", "P.5", "-m", "P.10"], QRELS, RUN, "-m P.10: ignored, since -m P.5 came first"),
        (["-M", "1"], QRELS, RUN + "; 1 Q0 b 9 7 tag",
         "topic '1': document 'b' is ranked twice, the second time below the cut of -M (in 1 topic)"),
        (["-m", "ndcg.1=0.5,2=0.4"], QRELS, RUN,
         "ndcg_1=0.5,2=0.4: gains closer together than 1 (or further apart than 2^31) are not sorted in the ideal "
         "ranking, as in trec_eval"),
        (["-m", "P.5x"], QRELS, RUN, "-m P.5x: expected an integer, found '5x'; 5 is used"),
        (["-m", "iprec_at_recall.half"], QRELS, RUN,
         "-m iprec_at_recall.half: expected a number, found 'half'; 0 is used"),
        (["-m", "set_F.1,2"], QRELS, RUN, "-m set_F.1,2: only the first parameter counts"),
        (["-m", "ndcg.x=7"], QRELS, RUN, "-m ndcg.x=7: expected LEVEL=GAIN with an integer level, found 'x=7'"),
        (["-l", ""], QRELS, RUN, "--level_for_rel: expected an integer, found ''; 0 is used"),
        ([], QRELS.replace("a 1", "a 99999999999999999999"), RUN,
         "{qrels}:1: column 4 (level): expected an integer, found '99999999999999999999'; it is cut to 64 bits "
         "(2 such lines)"),
        (["-l", "two"], QRELS, RUN, "--level_for_rel: expected an integer, found 'two'; 0 is used"),
        ([], QRELS + "; 3 0 a 1", RUN,
         "{run}: lacks 1 of 3 judged topics; they are left out of the means (-c counts them as 0)"),
        (["-c"], QRELS + "; 3 0 a 1", RUN, "{run}: lacks 1 of 3 judged topics; they count as 0"),
        ([], QRELS + "; #9 0 a 1", RUN, "{qrels}: 1 line of a topic whose id begins with '#' taken for comments, as "
         "trec_eval 10.0 does and 9.0.8 does not"),
    ],
)  # fmt: skip
def test_what_the_reference_takes_in_silence_is_one_warning(
    tmp_path: Path, options: list[str], qrels: str | bytes, run: str | bytes, said: str
) -> None:
    outcome = score(tmp_path, options, qrels, run)
    assert outcome.code == 0
    assert outcome.out
    assert outcome.said == ["warning: " + said.format(qrels=tmp_path / "qrels", run=tmp_path / "run")]


def test_odd_z_scores_are_warned_of(tmp_path: Path) -> None:
    z = tmp_path / "z"
    z.write_text("1 map half 1\n1 map 0 1\n")
    outcome = score(tmp_path, ["-m", "map", "-Z", str(z)], "1 0 a 1", "1 Q0 a 1 1 r")
    assert outcome.said == [
        f"warning: {z}:1: expected numbers, found 'half' and '1'",
        f"warning: {z}:2: 'map' of topic '1' again; the first counts",
    ]
    assert outcome.values["Zmap", "all"] == "1.0000"


def test_what_was_odd_is_said_also_where_nothing_is_scored(tmp_path: Path) -> None:
    outcome = score(tmp_path, [], "1 0 a 1", b"\xef\xbb\xbf1 Q0 a 1 1 r\n")
    assert outcome.code == 7
    assert "byte order mark" in outcome.said[0]


def test_many_documents_twice_cost_no_more_than_one(tmp_path: Path) -> None:
    lines = [f"{t} Q0 d{d} 1 1 r\n" for t in range(3000) for d in (1, 2, 1)]
    qrels = "".join(f"{t} 0 d1 1\n{t} 0 d1 1\n" for t in range(3000)).encode()
    outcome = score(tmp_path, ["-m", "map"], qrels, "".join(lines + lines).encode())
    assert outcome.code == 4
    assert outcome.said[-1] == "topic '0': expected a document once in the ranking, found 'd1' in lines 1 and 3"


def test_messages_survive_a_locale_that_cannot_write_them(tmp_path: Path) -> None:
    files = write(tmp_path, "1 0 a 1", "1 Q0 \u044f 1 2 r; 1 Q0 \u044f 2 1 r".encode().replace(b"; ", b"\n") + b"\n")
    done = _process(*files, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stdout) == (4, b"")
    assert b"found '\\u044f' in lines 1 and 2" in done.stderr


def test_relstring_of_a_length_that_is_none(tmp_path: Path) -> None:
    for length in ("1e19", "inf", "-1", "nan"):
        outcome = score(tmp_path, ["-q", "-m", f"relstring.{length}"], "1 0 a 1", "1 Q0 a 1 1 r")
        assert outcome.values[f"relstring_{length}", "1"] == "''"


def test_an_exponent_behind_a_million_digits(tmp_path: Path) -> None:
    run = b"1 Q0 a 1 1" + b"0" * 1_000_000 + b"e-10000000 r\n1 Q0 b 2 0.5 r\n"
    assert score(tmp_path, ["-m", "recip_rank"], "1 0 a 1", run).values["recip_rank", "all"] == "0.5000"


def test_a_clean_run_says_nothing(files: tuple[str, str]) -> None:
    assert trec_eval("-q", "-c", "-m", "all_trec", *files).said == []


# Bytes


def test_ids_are_bytes_and_never_changed(tmp_path: Path) -> None:
    topic = b"\xff\xc3\x28%s\x01'"
    qrels, run = topic + b" 0 \xe9%d 1\n", topic + b" Q0 \xe9%d 1 1 \xfe%n\n"
    outcome = score(tmp_path, ["-q", "-m", "map", "-m", "runid"], qrels, run)
    assert outcome.out == (
        b"map                   \t" + topic + b"\t1.0000\nrunid                 \tall\t\xfe%n\n"
        b"map                   \tall\t1.0000\n"
    )


# Cost


def test_a_huge_grade_costs_nothing(tmp_path: Path) -> None:
    outcome = score(tmp_path, ["-m", "all_trec"], "1 0 a 200000000; 1 0 b 9223372036854775807; 1 0 c 1", RUN)
    assert outcome.values["ndcg", "all"] == "0.6309"


# Processes


def _process(*arguments: str, **options: object) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([*TREC_EVAL, *arguments], capture_output=True, timeout=300, check=False, **options)  # type: ignore[call-overload, no-any-return]


def test_a_process_prints_what_run_prints(files: tuple[str, str]) -> None:
    done = _process("-q", *files)
    assert done.returncode == 0
    assert done.stdout == trec_eval("-q", *files).out
    assert done.stderr == b""


def test_standard_input(files: tuple[str, str]) -> None:
    run = Path(files[1])
    with run.open("rb") as stdin:
        assert _process(files[0], "-", stdin=stdin).stdout == trec_eval(*files).out
    assert _process(files[0], "-", input=run.read_bytes()).stdout == trec_eval(*files).out
    empty = _process(files[0], "-", input=b"")
    assert (empty.returncode, empty.stdout) == (2, b"")
    assert empty.stderr == (
        b"trec_eval: standard input: is empty: expected lines of 'topic iter docno rank score tag'\n"
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
def test_pipes_for_both_files(files: tuple[str, str], tmp_path: Path) -> None:
    pipes = [tmp_path / "qrels_pipe", tmp_path / "run_pipe"]
    for pipe, file in zip(pipes, files, strict=True):
        os.mkfifo(pipe)
        threading.Thread(target=pipe.write_bytes, args=(Path(file).read_bytes(),), daemon=True).start()
    assert _process("-q", *map(str, pipes)).stdout == trec_eval("-q", *files).out


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [
        (">&-", 2, b"trec_eval: standard output: cannot be written: it is closed\n"),
        ("2>&-", 0, b""),
        ("<&-", 0, b""),
    ],
)
def test_closed_streams(files: tuple[str, str], redirection: str, code: int, said: bytes) -> None:
    command = " ".join([*TREC_EVAL, "-q", "-m", "all_trec", *files, redirection])
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (code, said)


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
def test_a_reader_that_closes_early_is_no_traceback(tmp_path: Path) -> None:
    topics = 3000
    qrels = b"".join(b"%d 0 a 1\n" % t for t in range(topics))
    run = b"".join(b"%d Q0 a 1 1 r\n" % t for t in range(topics))
    files = write(tmp_path, qrels, run)
    command = " ".join([*TREC_EVAL, "-q", *files, "| head -n 1; exit ${PIPESTATUS[0]}"])
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (141, b"")
    assert done.stdout.startswith(b"num_ret")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_line(files: tuple[str, str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*TREC_EVAL, *files], stdout=full, stderr=subprocess.PIPE, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        b"trec_eval: standard output: cannot be written: no space left on device\n",
    )


def test_files_that_cannot_be_read(files: tuple[str, str], tmp_path: Path) -> None:
    for arguments, name in (((str(tmp_path), files[1]), tmp_path), ((files[0], str(tmp_path)), tmp_path)):
        outcome = trec_eval(*arguments)
        assert (outcome.code, outcome.said) == (2, [f"{name}: cannot be read: is a directory"])
    assert trec_eval("no\x1b[31msuch", files[1]).said == [r"no\x1b[31msuch: cannot be read: no such file or directory"]
    if hasattr(os, "geteuid") and os.geteuid() != 0:
        Path(files[0]).chmod(0)
        assert trec_eval(*files).said == [f"{files[0]}: cannot be read: permission denied"]
