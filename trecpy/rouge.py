"""ROUGE-L: rules by which text becomes tokens, and the longest common subsequence of these."""

import functools
import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trecpy.errors import InputError
from trecpy.extras import load
from trecpy.kernels.dtypes import Reals
from trecpy.kernels.lcs import lcs
from trecpy.text import described, quoted

# Scripts whose text is compared by characters, most of them without blanks between words: Thai, Lao, Tibetan, Burmese;
# jamo; Khmer, Tai, Balinese; Han (with the planes of rare ones), kana, bopomofo, Hangul, Yi; Javanese.
_BY_CHARACTERS = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f\u3005-\u3007"
    "\u3040-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\ua980-\ua9ff"
    "\uaa60-\uaadf\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U000323af]"
)
_ASCII_WORDS = re.compile("[a-z0-9]+")
_BLOCK = 1 << 10  # items at a time

Tokens = Callable[[str], list[str]]


def _characters(text: str) -> list[str]:
    return [character for character in text.lower() if not character.isspace()]


def _spaced(text: str) -> list[str]:
    return text.lower().split()


def _ascii_words(text: str) -> list[str]:
    return _ASCII_WORDS.findall(text.lower())


def _letter_words(text: str) -> list[str]:
    if text.isascii():
        return _ascii_words(text)
    # Marks belong to letters: vowel signs of India's scripts, accents that no single character has.
    whole = unicodedata.normalize("NFC", text.lower())
    kept = (c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in whole)
    return [word for word in "".join(kept).split() if any(map(str.isalnum, word))]


# What each rule makes of a text, in words. Letters are lower-cased by all of them.
RULES = {
    "chars": "characters that are no blanks",
    "letters": "runs of letters and digits of any script; of ASCII text as rouge-score has it",
    "words": "words as jieba segments them",
    "spaces": "what stands between blanks",
    "rouge-score": "runs of a-z and 0-9, as rouge-score has it",
}
AUTO = "auto"


@dataclass(frozen=True)
class RougeL:
    """
    ROUGE-L of I items.

    precision, recall, f1: float64[I]; used: rule -> items that were split by it; notes: what was odd
    """

    precision: Reals
    recall: Reals
    f1: Reals
    used: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


def refuse_rule(rule: object) -> None:
    """Raise InputError: no such rule. LibraryError: its library is missing."""
    if rule != AUTO and (not isinstance(rule, str) or rule not in RULES):
        raise InputError(f"rouge_l: expected one of {AUTO}, {', '.join(RULES)}, found {described(rule)}")
    if rule == "words":
        _segmenter()


def rouge_l(
    ids: Sequence[str],
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    rule: str = AUTO,
    step: Callable[[int], object] = lambda count: None,
) -> RougeL:
    """
    ROUGE-L of predictions against the reference of each that gives the largest F1.

    rule: one of RULES; "auto" takes, item by item, rouge-score's where it drops no letter, characters for Chinese,
        Japanese, Korean, Thai and the like, else runs of letters
    step: called with the number of items that were done since

    Precision and recall are the subsequence's length over the tokens of prediction and reference, F1 is 2PR / (P + R);
    all 0 where there are no tokens. Raises InputError: a rule that would drop the text.
    """
    known: dict[str, Tokens] = {
        "chars": _characters, "letters": _letter_words, "spaces": _spaced, "rouge-score": _ascii_words,
    }  # fmt: skip
    if rule == "words":
        known["words"] = _segmenter()
    used: Counter[str] = Counter()
    lossy = 0
    parts = []
    for start in range(0, len(ids), _BLOCK):
        chosen = range(start, min(start + _BLOCK, len(ids)))
        texts = [[predictions[item], *references[item]] for item in chosen]
        tokens = []
        for item, several in zip(chosen, texts, strict=True):
            name = rule if rule != AUTO else _fitting(several)
            used[name] += 1
            split = [known[name](text) for text in several]
            if rule == "rouge-score":
                lossy += _dropped(ids[item], several, split)
            tokens.append(split)
        parts.append(_scores(tokens))
        step(len(chosen))
    values = np.concatenate(parts, axis=1) if parts else np.zeros((3, 0))
    notes = []
    if lossy:
        notes.append(
            f"ROUGE-L: letters outside a-z are dropped in {lossy:,} of {len(ids):,} items, as rouge-score does; "
            "'letters' keeps them"
        )
    return RougeL(values[0], values[1], values[2], used, notes)


def _fitting(texts: list[str]) -> str:
    """The rule of 'auto': the first that drops no letter of any of the texts."""
    if all(map(str.isascii, texts)):
        return "rouge-score"
    if any(map(_BY_CHARACTERS.search, texts)):
        return "chars"
    return "rouge-score" if all(_ascii_words(text) == _letter_words(text) for text in texts) else "letters"


def _dropped(item: str, texts: list[str], tokens: list[list[str]]) -> bool:
    """
    Does rouge-score's rule drop letters?

    Raises InputError: most that a text has, but for accented ones of a-z; or any of Chinese and its kin.
    """
    for text, kept in zip(texts, tokens, strict=True):
        letters = [unicodedata.normalize("NFD", letter)[0].isascii() for letter in text if letter.isalpha()]
        nothing = not kept and any(map(str.isalnum, text))
        if nothing or 2 * sum(letters) < len(letters) or _BY_CHARACTERS.search(text):
            raise InputError(
                f"id {quoted(item)}: the rule rouge-score keeps a-z and 0-9 only and would drop the letters of "
                f"{quoted(text)}: expected auto, letters, chars, words or spaces for such text"
            )
    return any(character.isalnum() and not character.isascii() for text in texts for character in text)


def _scores(items: list[list[list[str]]]) -> Reals:
    """float64[3, I]: precision, recall and F1. items: of each the prediction's tokens, then each reference's."""
    texts = [tokens for several in items for tokens in several]
    numbers: dict[str, int] = {}
    flat = [numbers.setdefault(token, len(numbers)) for tokens in texts for token in tokens]
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    pairs = np.fromiter((len(several) - 1 for several in items), np.int64, len(items))
    begins = np.cumsum(pairs + 1) - (pairs + 1)
    prediction = np.repeat(begins, pairs)
    reference = np.delete(np.arange(len(texts)), begins)
    length = np.empty(len(prediction), np.int64)
    longest = int(sizes.max(initial=0))
    lcs(
        np.array(flat, np.int32),
        np.concatenate(([0], np.cumsum(sizes))),
        prediction,
        reference,
        np.full(len(numbers), -1, np.int32),
        np.empty(longest, np.int32),
        np.empty(longest // 64 + 1, np.uint64),
        np.empty(longest // 64 + 1, np.uint64),
        length,
    )
    with np.errstate(invalid="ignore"):
        precision = np.where(length > 0, length / sizes[prediction], 0.0)
        recall = np.where(length > 0, length / sizes[reference], 0.0)
        f1 = np.where(length > 0, 2 * precision * recall / (precision + recall), 0.0)
    stops = np.cumsum(pairs)
    best = [start + int(np.argmax(f1[start:stop])) for start, stop in zip(stops - pairs, stops, strict=True)]
    return np.stack((precision[best], recall[best], f1[best]))


def _segmenter() -> Tokens:
    """Jieba's precise mode, blanks left out."""
    tokenizer = _dictionary(load("jieba", "text"))

    def words(text: str) -> list[str]:
        return [word for word in tokenizer.lcut(text.lower()) if not word.isspace()]

    return words


@functools.cache
def _dictionary(jieba: Any) -> Any:
    """A tokenizer with jieba's own dictionary, whatever was added to the one that all share; a second to read."""
    jieba.setLogLevel(logging.WARNING)  # it tells of its dictionary at each start
    return jieba.Tokenizer()
