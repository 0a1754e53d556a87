"""Answers: ROUGE-L against rouge-score and rouge-chinese, by every rule; what is refused; the command."""

import json
import subprocess
import sys
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest
from command import trecpy as command
from hypothesis import given
from hypothesis import strategies as st
from rouge_chinese import Rouge
from rouge_score.rouge_scorer import RougeScorer

import trecpy
from trecpy.errors import InputError, LibraryError, MeasureError
from trecpy.kernels.lcs import lcs
from trecpy.rouge import RULES, _letter_words

# (prediction, reference, F1 by rouge-score's rule, by characters, by words)
EXAMPLES = [
    ("The cat sat on the mat. The dog barked.", "A cat was on the mat. The dog barked loudly.",
     0.736842, 0.787879, 0.782609),
    ("the the the cat", "the cat the dog", 0.5, 0.583333, 0.5),
    ("今天天气很好，我们去公园散步。", "今天天气非常好，我们去公园跑步吧。", None, 0.8125, 0.736842),
    ("小红书是一个生活方式平台。用户可以分享笔记。", "用户可以分享笔记。小红书是生活方式社区。",
     None, 0.428571, 0.434783),
    ("2024年的价格是199元", "2024年售价为199元起", None, 0.769231, 0.461538),
]  # fmt: skip
PRECISION_RECALL = [
    (0, "rouge-score", 0.7778, 0.7),
    (2, "chars", 0.866667, 0.764706),
    (2, "words", 0.7778, 0.7),
]


def rouge_l(prediction: str, reference: object, rule: str = "auto") -> dict[str, float]:
    return trecpy.answers([reference], [prediction], rule).summary


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_worked_examples(example: tuple[str, str, float | None, float, float]) -> None:
    prediction, reference, ascii_words, characters, words = example
    assert rouge_l(prediction, reference, "chars")["ROUGE-L"] == pytest.approx(characters, abs=5e-7)
    assert rouge_l(prediction, reference, "words")["ROUGE-L"] == pytest.approx(words, abs=5e-7)
    if ascii_words is None:
        with pytest.raises(InputError, match="would drop the letters of '"):
            rouge_l(prediction, reference, "rouge-score")
    else:
        assert rouge_l(prediction, reference, "rouge-score")["ROUGE-L"] == pytest.approx(ascii_words, abs=5e-7)
    best = characters if ascii_words is None else ascii_words
    assert rouge_l(prediction, reference)["ROUGE-L"] == pytest.approx(best, abs=5e-7)


@pytest.mark.parametrize(("example", "rule", "precision", "recall"), PRECISION_RECALL)
def test_worked_precision_and_recall(example: int, rule: str, precision: float, recall: float) -> None:
    found = rouge_l(*EXAMPLES[example][:2], rule)
    assert (found["ROUGE-L-P"], found["ROUGE-L-R"]) == pytest.approx((precision, recall), abs=4e-5)


ascii_text = st.lists(st.sampled_from(["the", "The", "cat", "2", "it's", "a-b", ".", "!", ""]), max_size=90).map(
    " ".join
)


@given(ascii_text, ascii_text.filter(str.strip))
def test_values_are_rouge_scores(prediction: str, reference: str) -> None:
    """To the last bit, on either side of a word of 64 tokens."""
    expected = RougeScorer(["rougeL"]).score(reference, prediction)["rougeL"]
    found = rouge_l(prediction, reference)
    assert (found["ROUGE-L-P"], found["ROUGE-L-R"], found["ROUGE-L"]) == tuple(expected)


@given(ascii_text, st.lists(ascii_text.filter(str.strip), min_size=1, max_size=4))
def test_the_best_reference_counts(prediction: str, references: list[str]) -> None:
    expected = RougeScorer(["rougeL"]).score_multi(references, prediction)["rougeL"]
    found = rouge_l(prediction, references)
    assert (found["ROUGE-L-P"], found["ROUGE-L-R"], found["ROUGE-L"]) == tuple(expected)


chinese = st.text(st.sampled_from("今天气很好我们去公园"), min_size=1, max_size=100)


@given(chinese, chinese)
def test_characters_are_rouge_chineses(prediction: str, reference: str) -> None:
    [expected] = Rouge(metrics=["rouge-l"]).get_scores(" ".join(prediction), " ".join(reference))
    found = rouge_l(prediction, reference)
    assert (found["ROUGE-L-P"], found["ROUGE-L-R"]) == (expected["rouge-l"]["p"], expected["rouge-l"]["r"])
    assert found["ROUGE-L"] == pytest.approx(expected["rouge-l"]["f"], abs=1e-7)


def length(first: list[int], second: list[int]) -> int:
    out = np.zeros(1, np.int64)
    words = max(len(first), len(second)) // 64 + 1
    lcs(
        np.array(first + second, np.int32), np.array([0, len(first), len(first) + len(second)]), np.array([0]),
        np.array([1]), np.full(max(first + second, default=0) + 1, -1, np.int32), np.zeros(64 * words, np.int32),
        np.zeros(words, np.uint64), np.zeros(words, np.uint64), out,
    )  # fmt: skip
    return int(out[0])


def table(first: list[int], second: list[int]) -> int:
    row = [0] * (len(second) + 1)
    for a in first:
        above = row
        row = [0]
        for j, b in enumerate(second):
            row.append(above[j] + 1 if a == b else max(above[j + 1], row[j]))
    return row[-1]


numbers = st.integers(1, 20).flatmap(lambda most: st.lists(st.integers(0, most), max_size=200))


@given(numbers, numbers)
def test_kernel_finds_what_the_table_does(first: list[int], second: list[int]) -> None:
    assert length(first, second) == table(first, second)


def test_texts_of_any_length() -> None:
    """rouge, of the same algorithm in recursion, fails at 1,200 tokens."""
    long = list(range(50_000))
    assert length(long, long[::-1]) == 1
    assert length(long, long[1::2]) == 25_000
    assert length(long, [token + 50_000 for token in long]) == 0


def test_each_item_by_its_own_rule() -> None:
    found = trecpy.answers({"a": "good day", 2: "很好"}, {"a": "Good day!", "2": "好 很好"})
    assert found.rules == (
        "ROUGE-L: characters that are no blanks: 1 item",
        "ROUGE-L: runs of a-z and 0-9, as rouge-score has it: 1 item",
    )
    assert found.to_dict()["a"]["ROUGE-L"] == 1.0
    assert found.to_dict()["2"] == pytest.approx({"ROUGE-L": 0.8, "ROUGE-L-P": 2 / 3, "ROUGE-L-R": 1.0})
    assert found["ROUGE-L"] == pytest.approx(0.9)
    assert "Answers to 2 items, 0 missing" in repr(found)
    with pytest.raises(MeasureError, match="expected one of ROUGE-L"):
        found["BLEU"]


@pytest.mark.parametrize(
    ("prediction", "reference", "rule", "f1"),
    [
        ("Цена была 199", "Стоимость 199 рублей", "letters", 1 / 3),
        ("добрый день", "Добрый вечер", "letters", 1 / 2),
        ("السعر ١٩٩ ريال", "الوزن ١٩٩", "letters", 2 / 5),
        ("été à Nice", "l'été à Paris", "letters", 4 / 7),
        ("e\u0301te\u0301", "été", "letters", 1),  # accents by themselves, and not
        ("हिन्दी में", "हिन्दी", "letters", 2 / 3),  # vowel signs are of their words
        ("the cat\u2019s 199 €", "the cat's", "rouge-score", 6 / 7),
        ("♥\ufe0f good", "good", "rouge-score", 1),
        ("ราคา 199 บาท", "หนัก 199 กก", "chars", 6 / 19),
        ("가격은 199원", "무게 199그램", "chars", 6 / 14),
    ],
)
def test_auto_drops_no_letters(prediction: str, reference: str, rule: str, f1: float) -> None:
    """Digits alone, which rouge-score keeps of most scripts, would be a match of everything."""
    found = trecpy.answers([reference], [prediction])
    assert found["ROUGE-L"] == pytest.approx(f1)
    assert found.rules == (f"ROUGE-L: {RULES[rule]}: 1 item",)
    assert found.rules[0] in repr(found)
    assert trecpy.answers([reference], [prediction], rule)["ROUGE-L"] == found["ROUGE-L"]


words = st.text(st.sampled_from("aé e\u0301я9_-क\u093f\ufe0f今"), max_size=20)


@given(words)
def test_letters_keep_every_letter_and_digit(text: str) -> None:
    split = _letter_words(text)
    assert "".join(filter(str.isalnum, "".join(split))) == "".join(filter(str.isalnum, normalize("NFC", text)))
    assert all(any(map(str.isalnum, word)) for word in split)


def test_letters_that_rouge_score_drops_are_said() -> None:
    found = trecpy.answers(["un café noir"], ["un cafe noir"], "rouge-score")
    assert found["ROUGE-L"] == pytest.approx(2 / 3)
    note = "ROUGE-L: letters outside a-z are dropped in 1 of 1 items, as rouge-score does; 'letters' keeps them"
    assert found.notes == (note,)
    assert repr(found).endswith(f"note: {note}")
    assert trecpy.answers(["été"], ["l'été"], "rouge-score")["ROUGE-L"] == pytest.approx(2 / 3)  # both have a t


@pytest.mark.parametrize("text", ["добрый", "Стоимость 199 рублей", "١٩٩", "iPhone за 199 рублей", "API 的"])
def test_rouge_score_is_refused_where_it_drops_most_letters(text: str) -> None:
    with pytest.raises(InputError, match="id '0': the rule rouge-score keeps a-z and 0-9 only and would drop the let"):
        trecpy.answers([text], ["199"], "rouge-score")
    with pytest.raises(InputError, match="would drop the letters of"):
        trecpy.answers(["199"], [text], "rouge-score")


def test_missing_and_empty_predictions_score_0() -> None:
    found = trecpy.answers({"1": "a b", "2": "a", "3": "b"}, {"1": "a b", "2": " ", "9": "x"})
    assert (found.missing, found.extra, found["ROUGE-L"]) == (1, 1, pytest.approx(1 / 3))
    assert found.notes == ("1 prediction without text; a score of 0 each",)


@pytest.mark.parametrize(
    ("references", "predictions", "options", "said"),
    [
        ([], [], {}, "references: expected texts, found none"),
        (["a"], [], {}, "predictions: expected texts, found none"),
        (["a", "b"], ["a"], {}, "expected as many predictions as references, found 1 and 2"),
        ({"1": "a"}, ["a"], {}, "expected dicts by id, or texts in one order"),
        ("text", ["a"], {}, "references: expected a dict of texts by id, or a list of texts, found 'text'"),
        ([""], ["a"], {}, "references: id '0': expected a text, found an empty one"),
        ([["a", " "]], ["a"], {}, "references: id '0': expected a text, found an empty one"),
        ([[]], ["a"], {}, "references: id '0': expected a text or texts"),
        ([3], ["a"], {}, "references: id '0': expected a text or texts, found 3"),
        (["a"], ["\ud800"], {}, "predictions: id '0': expected text that UTF-8 can write"),
        (["a"], [None], {}, "predictions: id '0': expected a text, found None"),
        ({1.5: "a"}, {1.5: "a"}, {}, "references: expected ids that are strings or integers, found 1.5"),
        ({1: "a", "1": "b"}, {1: "a"}, {}, "references: expected each id once"),
        (
            ["a"],
            ["a"],
            {"rouge_l": "bleu"},
            "rouge_l: expected one of auto, chars, letters, words, spaces, rouge-score",
        ),
        (["a"], ["a"], {"rouge_l": None}, "expected ROUGE-L or BERTScore, found neither"),
    ],
)
def test_what_is_refused(references: object, predictions: object, options: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as raised:
        trecpy.answers(references, predictions, **options)  # type: ignore[arg-type]
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("library", "extra", "options"),
    [("jieba", "text", {"rouge_l": "words"}), ("bert_score", "bertscore", {"lang": "zh"})],
)
def test_a_missing_library_is_named(
    monkeypatch: pytest.MonkeyPatch, library: str, extra: str, options: dict[str, str]
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(LibraryError, match=rf"^{library}: .*pip install 'trecpy\[{extra}\]'"):
        trecpy.answers(["a"], ["a"], **options)  # type: ignore[arg-type]


def test_jieba_is_silent() -> None:
    code = "import trecpy; trecpy.answers(['今天'], ['今天'], 'words')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=300, check=True)
    assert (ran.stdout, ran.stderr) == (b"", b"")


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    references = [{"id": 1, "reference": "the cat"}, {"id": "2", "references": ["很好", "好"]}]
    predictions = [{"id": 2, "prediction": "好"}, {"id": "1", "answer": "a cat"}]
    for name, records in (("refs", references), ("preds", predictions)):
        (tmp_path / name).write_text("\n".join(json.dumps(record) for record in records) + "\n\n")
    return str(tmp_path / "refs"), str(tmp_path / "preds")


def test_command(files: tuple[str, str]) -> None:
    outcome = command("answers", *files, "-q", "--format", "jsonl")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    expected = trecpy.answers({1: "the cat", 2: ["很好", "好"]}, {1: "a cat", 2: "好"})
    assert {row.pop("id"): row for row in rows if row.pop("predictions") == files[1]} == {
        **expected.to_dict(), "all": expected.summary,
    }  # fmt: skip
    assert (outcome.code, outcome.said) == (0, list(expected.rules))
    table = command("answers", *files, files[1]).out.decode().splitlines()
    assert [line.split()[1:] for line in table[1:3]] == [["0.7500", "0.7500", "0.7500"]] * 2
    assert table[3:] == list(expected.rules)


def test_lines_without_ids_are_joined_by_their_number(tmp_path: Path) -> None:
    (tmp_path / "refs").write_text('{"text": "a b"}\n{"text": "c"}\n')
    (tmp_path / "preds").write_text('{"output": "b"}\n{"output": "c"}\n')
    outcome = command("answers", str(tmp_path / "refs"), str(tmp_path / "preds"), "--format", "tsv", "--places", "3")
    assert outcome.out.decode().splitlines()[1].split("\t")[1:] == ["0.833", "1.000", "0.750"]


def test_ids_are_in_all_files_or_in_none(tmp_path: Path) -> None:
    """Numbers of lines are no ids that happen to be 1, 2, ..."""
    own, none = tmp_path / "own", tmp_path / "none"
    own.write_text('{"id": 2, "text": "a"}\n{"id": 1, "text": "b"}\n')
    none.write_text('{"text": "a"}\n{"text": "b"}\n')
    outcome = command("answers", str(none), str(own), str(none), "--format", "tsv")
    assert (outcome.code, len(outcome.out.splitlines())) == (2, 2)
    assert outcome.said[0] == f"error: {own}: expected no ids, as in {none}, found some"
    outcome = command("answers", str(own), str(none))
    assert (outcome.code, outcome.out) == (2, b"")
    assert outcome.said == [f"error: {none}: expected ids, as in {own}, found none"]


def test_standard_input(files: tuple[str, str]) -> None:
    expected = command("answers", *files, "--format", "tsv").out.replace(files[1].encode(), b"-")
    assert command("answers", files[0], "-", "--format", "tsv", stdin=Path(files[1]).read_bytes()).out == expected
    outcome = command("answers", "-", files[1], "--format", "tsv", stdin=Path(files[0]).read_bytes())
    assert outcome.out.replace(files[1].encode(), b"-") == expected


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"id": 1, "text": "a"}\n{"id": 2, "text": " "}', ":2: text: expected a text, found an empty one"),
        ('{"id": 1, "references": ["a", ""]}', ":1: references: expected a text, found an empty one"),
        ('{"id": 1, "references": []}', ":1: references: expected a text or a list of texts, found []"),
        ('{"id": 1, "text": "\\ud800"}', ":1: text: expected text that UTF-8 can write, found half of a surrogate"),
    ],
)
def test_references_that_cannot_be(files: tuple[str, str], tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "bad").write_text(content)
    outcome = command("answers", str(tmp_path / "bad"), files[1])
    assert (outcome.code, outcome.out, len(outcome.said)) == (2, b"", 1)
    assert outcome.said[0].startswith(f"error: {tmp_path / 'bad'}{said}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rouge-l", "none"], "expected --bertscore or --lang with --rouge-l none"),
        (["--layer", "3"], "expected --bertscore or --lang with --layer"),
        (["--batch-size", "8"], "expected --bertscore or --lang with --batch-size"),
        (["--idf"], "expected --bertscore or --lang with --idf"),
        (["-"], "expected '-', standard input, once"),
    ],
)
def test_options_that_cannot_be(files: tuple[str, str], options: list[str], said: str) -> None:
    outcome = command("answers", *(("-",) if "-" in options else files), *options)
    assert (outcome.code, outcome.out, outcome.said) == (1, b"", [f"error: {said}"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "expected lines of JSON, found none"),
        ("{", ":1: expected a JSON object, found '{'"),
        ("[1]", ":1: expected a JSON object, found [1]"),
        (
            '{"id": 1, "text": "a", "text": "b"}',
            ':1: expected a JSON object, found \'{"id": 1, "text": "a", "text": "b"}\' (\'text\' is there twice)',
        ),
        ('{"id": 1, "text": "a"}\n{"text": "b"}', ":2: expected ids in all lines or in none"),
        ('{"id": 1, "text": "a"}\n{"id": "1", "text": "b"}', ":2: expected each id once, found '1' again"),
        ('{"id": 1.5, "text": "a"}', ":1: id: expected a string or an integer, found 1.5"),
        ('{"id": 1, "gold": "a"}', ":1: expected one of prediction, answer, output, text, found 'id', 'gold'"),
        ('{"id": 1, "text": ["a"]}', ":1: text: expected a text, found ['a']"),
    ],
)
def test_lines_that_cannot_be_read(files: tuple[str, str], tmp_path: Path, content: str, said: str) -> None:
    bad = tmp_path / "bad"
    bad.write_text(content)
    outcome = command("answers", files[0], str(bad), files[1])
    assert outcome.code == 2
    assert len(outcome.out.splitlines()) == 4
    errors = [line for line in outcome.said if line.startswith("error: ")]
    assert len(errors) == 1
    assert said in errors[0]
    assert str(bad) in errors[0]


def test_progress_adds_up() -> None:
    done: list[int] = []
    scorer = trecpy.answering.AnswerScorer()
    scorer.score(["a"] * 3000, ["b"] * 3000, step=done.append)
    assert (sum(done), scorer.steps) == (3000, 1)
    assert len(done) > 1
