"""`trecpy convert`: every layout and compression to every other, and files that appear whole or not at all."""

import json
import os
import threading
from pathlib import Path

import pytest
from command import trecpy, write
from test_compressed import MIXED

from trecpy.api import evaluate
from trecpy.collection import Qrels, as_qrels, as_run
from trecpy.errors import FormatError
from trecpy.formats.columns import LAYOUTS
from trecpy.protocol import Protocol

QRELS = b"1 0 a 1\n1 0 caf\xc3\xa9 -2\n2 0 a 9000000000\n"
RUN = b"1 Q0 a 2 0.1 tag\n1 Q0 caf\xc3\xa9 1 0.30000000000000004 tag\n2 Q0 b 1 -1e-300 tag\n"
NAMES = {
    "trec": "f.txt", "msmarco": "f.txt", "beir": "f.tsv", "tsv": "f.tsv", "csv": "f.csv", "json": "f.json",
    "jsonl": "f.jsonl", "parquet": "f.parquet", "arrow": "f.arrow",
}  # fmt: skip


@pytest.fixture
def paths(tmp_path: Path) -> tuple[str, str]:
    return write(tmp_path, QRELS, RUN)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("compression", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_there_and_back(layout: str, compression: str, paths: tuple[str, str], tmp_path: Path) -> None:
    for kind, path, raw in (("qrels", paths[0], QRELS), ("run", paths[1], RUN)):
        if layout == "msmarco" and kind == "run":
            continue
        there, back = str(tmp_path / (NAMES[layout] + compression)), str(tmp_path / "back")
        outcome = trecpy("convert", path, there, "--to", layout)
        assert outcome.code == 0, outcome.said
        again = trecpy("convert", there, back, "--kind", kind, "--tag", "tag")
        assert again.code == 0, again.said
        assert Path(back).read_bytes() == raw
        assert again.said == [f"{back}: 3 {'judgements' if kind == 'qrels' else 'documents'} of 2 topics"]


def test_names_say_layouts(paths: tuple[str, str], tmp_path: Path) -> None:
    for layout, name in NAMES.items():
        trecpy("convert", paths[0], str(tmp_path / name), "--to", layout)
        by_name = tmp_path / f"by-name-{name}"
        trecpy("convert", paths[0], str(by_name))
        if layout not in ("beir", "msmarco"):
            assert by_name.read_bytes() == (tmp_path / name).read_bytes()


def test_ranks_only_are_said_to_be(paths: tuple[str, str], tmp_path: Path) -> None:
    outcome = trecpy("convert", "--to", "msmarco", paths[1], "-")
    assert outcome.out == "1\tcafé\t1\n1\ta\t2\n2\tb\t1\n".encode()
    assert outcome.said[0] == "warning: standard output: holds ranks; the scores are not kept"


def test_a_run_whose_topics_come_back_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trecpy.formats.reader.BLOCK", 512)
    monkeypatch.setattr("trecpy.formats.runs.RunReader.__init__.__defaults__", (512, *_defaults()[1:]))
    _, path = write(tmp_path, None, MIXED)
    out = tmp_path / "out.json"
    outcome = trecpy("convert", path, str(out))
    assert outcome.code == 0
    assert "not together" in outcome.said[0]
    with as_run(out, Protocol()) as run:
        sizes = [len(block.scores) for block in run.blocks()]
    assert sum(sizes) == MIXED.count(b"\n")


def _defaults() -> tuple[object, ...]:
    from trecpy.formats.runs import RunReader

    return RunReader.__init__.__defaults__ or ()


def test_a_file_appears_whole_or_not_at_all(paths: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(RUN + b"3 Q0 a 1 x tag\n")
    (tmp_path / "out.json").write_text("as it was")
    outcome = trecpy("convert", str(tmp_path / "bad"), str(tmp_path / "out.json"))
    assert outcome.code == 2
    assert outcome.said == [f"error: {tmp_path}/bad:4: column 5 (score): expected a number, found 'x'"]
    assert (tmp_path / "out.json").read_text() == "as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad", "out.json", "qrels", "run"]


@pytest.mark.parametrize(
    ("raw", "layout", "message"),
    [
        (b"query_id,doc_id,score\n1,a b,1\n", "trec",
         "error: {out}: expected ids without blanks, as in every TREC file, found 'a b'"),
        (b"query_id,doc_id,score\n#1,a,1\n", "trec",
         "error: {out}: expected topics that do not begin with '#' or a byte order mark, found '#1'"),
        (b"1 Q0 \xff 1 1 t\n", "parquet",
         "error: {out}: expected ids in UTF-8, all that Arrow's text holds, found '\\xff'"),
    ],
)  # fmt: skip
def test_ids_that_a_layout_cannot_hold_are_refused(raw: bytes, layout: str, message: str, tmp_path: Path) -> None:
    _, path = write(tmp_path, None, raw)
    out = str(tmp_path / "out")
    outcome = trecpy("convert", path, out, "--to", layout)
    assert (outcome.code, outcome.said) == (2, [message.format(out=out)])
    assert not os.path.exists(out)


def test_what_it_is_must_be_clear(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"1": {"a": 1}}')
    outcome = trecpy("convert", str(tmp_path / "in.json"), "-")
    assert outcome.code == 1
    assert outcome.said == [f"error: {tmp_path}/in.json: is it judgements or a run? Say --kind qrels or --kind run"]
    assert trecpy("convert", str(tmp_path / "in.json"), "-", "--kind", "qrels").out == b"1 0 a 1\n"


@pytest.mark.parametrize("layout", ["json", "jsonl", "parquet", "arrow", "csv", "tsv", "trec", "beir"])
@pytest.mark.parametrize("pipe", [False, True])
def test_what_it_is_is_told_by_columns_and_values(
    layout: str, pipe: bool, paths: tuple[str, str], tmp_path: Path
) -> None:
    for kind, path, raw in (("qrels", paths[0], QRELS), ("run", paths[1], RUN)):
        if (layout, kind) in (("json", "qrels"), ("beir", "run")):  # integers may be scores; only judgements are BEIR's
            continue
        there = tmp_path / (kind + NAMES[layout])
        assert trecpy("convert", path, str(there), "--to", layout, "--kind", kind).code == 0
        if pipe:
            outcome = trecpy("convert", "-", "-", "--tag", "tag", stdin=there.read_bytes())
        else:
            outcome = trecpy("convert", str(there), "-", "--tag", "tag")
        assert outcome.out == raw, outcome.said


def test_lists_of_documents_are_a_run() -> None:
    assert trecpy("convert", "-", "-", stdin=b'{"1": ["a", "b"]}').out == b"1 Q0 a 1 2.0 trecpy\n1 Q0 b 2 1.0 trecpy\n"


@pytest.mark.parametrize("name", ["out.xlsx", "out.zip", "run.v2.gz", "out.parquet.snappy"])
def test_a_suffix_that_says_nothing_is_refused(name: str, paths: tuple[str, str], tmp_path: Path) -> None:
    outcome = trecpy("convert", paths[0], str(tmp_path / name))
    assert outcome.code == 1
    (line,) = outcome.said
    assert line.startswith(f"error: {tmp_path}/{name}: expected a name without suffix, or with one of txt, trec, run, ")
    assert line.endswith(": say --to LAYOUT")
    assert not (tmp_path / name).exists()
    assert trecpy("convert", paths[0], str(tmp_path / name), "--to", "trec").code == 0


def test_a_file_is_not_converted_onto_itself(tmp_path: Path) -> None:
    run = tmp_path / "run.json"
    run.write_text('{"1": {"a": 0.5}}')
    (tmp_path / "link.json").symlink_to(run)
    os.link(run, tmp_path / "hard.json")
    for name in ("run.json", "link.json", "hard.json", "../" + tmp_path.name + "/run.json"):
        out = f"{tmp_path}/{name}"
        outcome = trecpy("convert", str(run), out, "--to", "trec")
        assert (outcome.code, outcome.said) == (1, [f"error: {out}: expected another file than IN, found the same one"])
        assert run.read_text() == '{"1": {"a": 0.5}}'
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hard.json", "link.json", "run.json"]


@pytest.mark.parametrize("there", [False, True])
def test_a_link_stays_and_its_file_is_written(there: bool, paths: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    real, link = tmp_path / "folder" / "real", tmp_path / "link.txt"
    if there:
        real.write_text("as it was")
    link.symlink_to(Path("folder") / "real")
    assert trecpy("convert", paths[1], str(link)).said == [f"{link}: 3 documents of 2 topics"]
    assert link.is_symlink()
    assert real.read_bytes() == RUN
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["real"]


def test_standard_streams_and_pipes(paths: tuple[str, str], tmp_path: Path) -> None:
    assert trecpy("convert", "-", "-", stdin=QRELS).out == QRELS
    os.mkfifo(tmp_path / "in")
    os.mkfifo(tmp_path / "out")
    got: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: (tmp_path / "in").write_bytes(RUN)),
        threading.Thread(target=lambda: got.append((tmp_path / "out").read_bytes())),
    ]
    for thread in threads:
        thread.start()
    assert trecpy("convert", str(tmp_path / "in"), str(tmp_path / "out")).code == 0
    for thread in threads:
        thread.join()
    assert got == [RUN]


def test_a_folder_that_is_not_there(paths: tuple[str, str], tmp_path: Path) -> None:
    outcome = trecpy("convert", paths[0], str(tmp_path / "no" / "out"))
    assert outcome.code == 2
    assert outcome.said == [f"error: {tmp_path}/no/out: cannot be written: no such file or directory"]


def test_eval_reads_both_files_from_any_layout_and_one_from_standard_input(
    paths: tuple[str, str], tmp_path: Path
) -> None:
    expected = trecpy("eval", *paths, "--format", "tsv").out.split(b"\n")[1].split(b"\t")[1:]
    trecpy("convert", paths[0], str(tmp_path / "q.csv.gz"))
    trecpy("convert", paths[1], str(tmp_path / "r.parquet"))
    found = trecpy("eval", str(tmp_path / "q.csv.gz"), str(tmp_path / "r.parquet"), "--format", "tsv").out
    assert found.split(b"\n")[1].split(b"\t")[1:] == expected
    found = trecpy("eval", "-", paths[1], "--format", "tsv", "--qrels-format", "trec", stdin=QRELS).out
    assert found.split(b"\n")[1].split(b"\t")[1:] == expected
    assert trecpy("eval", "-", "-").said == ["error: expected '-', standard input, once"]


def test_judgements_keep_their_order_within_topics(paths: tuple[str, str]) -> None:
    qrels = as_qrels(paths[0], Protocol()).judgements
    assert [qrels.documents.docno(j) for j in range(3)] == [b"a", "café".encode(), b"a"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_levels_that_are_fractions_are_kept(layout: str, tmp_path: Path) -> None:
    path, _ = write(tmp_path, b"1 0 a 0.1\n1 0 b 2.0\n2 0 a 0.30000000000000004\n")
    there = str(tmp_path / NAMES[layout])
    assert trecpy("convert", path, there, "--to", layout).code == 0
    qrels = Qrels.read(there, fractions=True)
    assert qrels.fingerprint == Qrels.read(path, fractions=True).fingerprint
    assert evaluate(there, {"1": ["a"]}, "dcg", gains="float").per_query[0, 0] == 0.1
    with pytest.raises(FormatError, match="gains='float' takes fractions as they are"):
        evaluate(there, {"1": ["a"]}, "dcg")


# Levels are kept exactly, or refused

HUGE = ["9007199254740993", "-9007199254740993", "9223372036854775807", "-9223372036854775808", "9007199254740993.0"]


def _as(layout: str, levels: list[str]) -> bytes:
    """Judgements with levels as they are written here."""
    pairs = [(f"d{number}", level) for number, level in enumerate(levels)]
    if layout == "trec":
        return "".join(f"1 0 {docno} {level}\n" for docno, level in pairs).encode()
    if layout == "csv":
        return ("qid,docno,relevance\n" + "".join(f"1,{docno},{level}\n" for docno, level in pairs)).encode()
    if layout == "jsonl":
        return "".join(f'{{"qid": "1", "docno": "{docno}", "relevance": {level}}}\n' for docno, level in pairs).encode()
    return ('{"1": {' + ", ".join(f'"{docno}": {level}' for docno, level in pairs) + "}}").encode()


def levels_of(layout: str, levels: list[str]) -> list[str] | str:
    outcome = trecpy("convert", "-", "-", "--kind", "qrels", stdin=_as(layout, levels))
    return outcome.said[0] if outcome.code else [line.split()[3] for line in outcome.out.decode().splitlines()]


@pytest.mark.parametrize("layout", ["trec", "csv", "json", "jsonl"])
@pytest.mark.parametrize("rows", [1, 100])
def test_levels_are_exact_or_refused(layout: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trecpy.formats.tables.ROWS", rows)
    integers = HUGE[:4] if layout != "trec" else HUGE
    assert levels_of(layout, ["1", *integers]) == ["1", *(level.removesuffix(".0") for level in integers)]
    assert levels_of(layout, ["0.5", "-0.5", "9007199254740992", "1e300"]) == [
        "0.5", "-0.5", "9007199254740992.0", "1e+300"
    ]  # fmt: skip
    for wrong in (["9007199254740993", "0.5"], ["0.5", "9007199254740993"], ["1", "99999999999999999999"]):
        said = levels_of(layout, wrong)
        assert isinstance(said, str)
        assert "expected a level that 64 bits or, beside fractions, a double holds exactly, found 9" in said
        assert said.startswith("error: standard input:")
    said = levels_of(layout, ["1", "Infinity" if "json" in layout else "inf"])
    assert "expected a finite level" in said


def test_levels_of_columns_are_exact_or_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    for level, said in ((2**63 + 2**20, None), (2**64 - 1, "row 2: expected a level that 64 bits or")):
        columns = {"qid": ["1", "1"], "docno": ["a", "b"], "relevance": pa.array([1, level], pa.uint64())}
        parquet.write_table(pa.table(columns), tmp_path / "q.parquet")
        outcome = trecpy("convert", str(tmp_path / "q.parquet"), "-")
        if said is None:
            assert float(outcome.out.split()[-1]) == level
        else:
            assert (outcome.code, said in outcome.said[0]) == (2, True)


# Files that were cut


@pytest.mark.parametrize("layout", ["parquet", "arrow", "stream"])
@pytest.mark.parametrize("pipe", [False, True])
def test_a_columnar_file_that_was_cut_says_so(layout: str, pipe: bool, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import ipc, parquet

    columns = {"qid": ["1"] * 500, "docno": [f"d{d}" for d in range(500)], "score": [float(-d) for d in range(500)]}
    table = pa.table(columns)
    path = tmp_path / "run"
    if layout == "parquet":
        parquet.write_table(table, path)
    else:
        new = ipc.new_file if layout == "arrow" else ipc.new_stream
        with new(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
    raw = path.read_bytes()
    whole = trecpy("convert", str(path), "-")
    assert len(whole.out.splitlines()) == 500
    for size in range(len(raw) - 1, 1000, -97):
        path.write_bytes(raw[:size])
        outcome = trecpy("convert", *(["-"] if pipe else [str(path)]), "-", "--kind", "run", stdin=raw[:size])
        assert (outcome.code, outcome.out) == (2, b"")
        assert "it was cut short" in outcome.said[0], size
    path.write_bytes(raw + raw)
    if layout == "stream":
        assert (
            "expected the end of the file behind an Arrow stream, found more"
            in trecpy("convert", str(path), "-", "--kind", "run").said[0]
        )
        end = raw.rindex(b"\xff\xff\xff\xff")
        path.write_bytes(raw[:end])  # between two batches
        assert "it was cut short" in trecpy("convert", str(path), "-", "--kind", "run").said[0]


# What a layout cannot hold


def test_a_document_twice_is_not_put_into_a_json_object(tmp_path: Path) -> None:
    _, path = write(tmp_path, None, b"1 Q0 b 1 4 x\n1 Q0 a 1 3 x\n1 Q0 a 2 2 x\n")
    out = tmp_path / "out.json"
    outcome = trecpy("convert", path, str(out))
    said = f"error: {out}: topic '1': expected a document once, all that a JSON object holds, found 'a' twice"
    assert (outcome.code, outcome.said, out.exists()) == (2, [said], False)
    assert trecpy("convert", path, str(tmp_path / "out.csv")).said == [f"{tmp_path}/out.csv: 3 documents of 1 topic"]


@pytest.mark.parametrize("kind", ["qrels", "run"])
@pytest.mark.parametrize("layout", ["trec", "csv", "jsonl", "parquet", "arrow", "json"])
def test_topics_without_documents_are_kept_or_said(kind: str, layout: str, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"0": {}, "1": {"a": 1}, "2": {}}')
    out = tmp_path / NAMES[layout]
    outcome = trecpy("convert", str(tmp_path / "in.json"), str(out), "--kind", kind)
    what = "judgement" if kind == "qrels" else "document"
    if layout == "json":
        assert outcome.said == [f"{out}: 1 {what} of 3 topics"]
        assert {topic: len(documents) for topic, documents in json.loads(out.read_text()).items()} == {
            "0": 0, "1": 1, "2": 0
        }  # fmt: skip
        return
    assert outcome.said == [
        f"warning: {out}: 2 topics have no documents and are not written, which only JSON could: '0', '2'",
        f"{out}: 1 {what} of 1 topic",
    ]


@pytest.mark.parametrize("layout", ["trec", "csv", "json", "jsonl"])
def test_integers_are_scores_or_refused(layout: str) -> None:
    def of(scores: list[str]) -> tuple[int, list[str]]:
        raw = _as(layout, scores).replace(b"relevance", b"score")
        if layout == "trec":
            raw = b"".join(b"1 Q0 d%d 1 %b t\n" % (row, score.encode()) for row, score in enumerate(scores))
        outcome = trecpy("convert", "-", "-", "--kind", "run", stdin=raw)
        return outcome.code, [line.split()[4] for line in outcome.out.decode().splitlines()] or outcome.said

    held = ["0.1", "9007199254740992", "9007199254740994", "-9223372036854775808", "1e300", "0.30000000000000004"]
    assert of(held) == (0, [repr(float(score)) for score in held])
    for wrong in ("9007199254740993", "-9007199254740993", "9" * 400):
        code, (said,) = of(["1", "0.5", wrong])
        assert code == 2
        assert f": expected a score that a double holds exactly, found {wrong[:150]}" in said.replace("'", "")
        assert said.startswith(f"error: standard input:{ {'trec': 3, 'csv': 4, 'json': 1, 'jsonl': 3}[layout] }:")


def test_integers_in_columns_are_scores_or_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    for score, code in ((2**53, 0), (2**53 + 1, 2), (2**53 + 2, 0), (-(2**63), 0)):
        columns = {"qid": ["1", "1"], "docno": ["a", "b"], "score": pa.array([1, score], pa.int64())}
        parquet.write_table(pa.table(columns), tmp_path / "r.parquet")
        outcome = trecpy("convert", str(tmp_path / "r.parquet"), "-")
        assert outcome.code == code
        assert (code == 2) == ("row 2: expected a score that a double holds exactly" in outcome.said[0])


def test_several_tags_become_one_which_is_said(tmp_path: Path) -> None:
    raw = b"1 Q0 a 1 2.0 x\n1 Q0 b 2 1.0 y\n"
    outcome = trecpy("convert", "-", "-", stdin=raw)
    assert outcome.out == raw.replace(b"y", b"x")
    assert outcome.said[0] == "warning: standard input: has 2 run tags; all lines get 'x': 'x', 'y'"
    assert len(trecpy("convert", "-", "-", "--tag", "z", stdin=raw).said) == 1


@pytest.mark.parametrize("tag", ["", "a b", "a\n"])
def test_a_tag_is_a_word(tag: str, paths: tuple[str, str]) -> None:
    outcome = trecpy("convert", paths[1], "-", "--tag", tag)
    assert (outcome.code, outcome.out) == (1, b"")
    assert outcome.said[0].startswith("error: --tag: expected a word without blanks, found '")
