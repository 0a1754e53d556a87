"""Answers in words scored by reference answers: answers() once, an AnswerScorer for many systems."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trecpy.bertscores import BertOptions, BertScorer
from trecpy.errors import InputError, MeasureError
from trecpy.kernels.dtypes import Reals
from trecpy.rouge import AUTO, RULES, refuse_rule, rouge_l
from trecpy.text import described, plural, quoted

_ROUGE = ("ROUGE-L", "ROUGE-L-P", "ROUGE-L-R")
_BERT = ("BERTScore", "BERTScore-P", "BERTScore-R")


@dataclass(frozen=True)
class Answers:
    """
    What a system's answers scored.

    ids: of the references, in their order; columns: F1, precision and recall of each measure
    per_item: float64[ids, columns], each from 0 to 1 (rescaled BERTScore may be below); summary: their means
    rules: how text was split and which model was used; notes: what was odd
    missing: references without a prediction, which score 0; extra: predictions without a reference, which do not count
    """

    ids: tuple[str, ...]
    columns: tuple[str, ...]
    per_item: Reals
    rules: tuple[str, ...]
    notes: tuple[str, ...]
    missing: int
    extra: int

    @property
    def summary(self) -> dict[str, float]:
        """Column -> mean over all references."""
        return dict(zip(self.columns, self.per_item.mean(axis=0).tolist(), strict=True))

    def __getitem__(self, name: str) -> float:
        """The mean of a column. Raises MeasureError: there is none."""
        if name not in self.columns:
            raise MeasureError(f"{quoted(str(name))}: expected one of {', '.join(self.columns)}")
        return self.summary[name]

    __iter__ = None  # of ids, or of columns? Both have their own names

    def to_dict(self) -> dict[str, dict[str, float]]:
        """{id: {column: value}}"""
        rows = self.per_item.tolist()
        return {item: dict(zip(self.columns, row, strict=True)) for item, row in zip(self.ids, rows, strict=True)}

    def __repr__(self) -> str:
        lines = [f"  {name:<11}  {value:.4f}" for name, value in self.summary.items()]
        about = f"Answers to {plural(len(self.ids), 'item')}, {self.missing} missing"
        return "\n".join([about, *lines, *self.rules, *(f"note: {note}" for note in self.notes)])


def answers(
    references: Any,
    predictions: Any,
    rouge_l: str | None = AUTO,
    *,
    bertscore: str | None = None,
    lang: str | None = None,
    layer: int | None = None,
    idf: bool = False,
    rescale: bool = False,
    baseline: str | None = None,
    batch_size: int = 64,
    device: str | None = None,
) -> Answers:
    """
    Score answers by ROUGE-L and, where a model or a language is given, BERTScore.

    references, predictions
        {id: text}, or texts in one order; a reference may be a list of texts, of which the best counts
    rouge_l
        how text is split: "chars", "letters" (words of any script), "words" (jieba; the extra trecpy[text]), "spaces",
        "rouge-score" (a-z and 0-9), or "auto": for each item rouge-score's rule where it drops no letter, characters
        for Chinese, Japanese, Korean, Thai and their kin, else letters; None: no ROUGE-L
    bertscore, lang, layer, idf, rescale, baseline, batch_size, device
        a model's folder or its name on the hub, or the language whose model bert-score chooses, and its options: see
        trecpy.bertscores.BertOptions (the extra trecpy[bertscore])

    Raises InputError: no text, an empty reference, a rule that would drop the text, an option that cannot be.
    LibraryError: an extra that is missing.
    """
    options = BertOptions(bertscore, lang, layer, idf, rescale, baseline, batch_size, device)
    return AnswerScorer(rouge_l, options if options.wanted else None).score(references, predictions)


@dataclass
class AnswerScorer:
    """What is needed to score many systems: the rule of ROUGE-L, the model of BERTScore. See answers()."""

    rouge_l: str | None = AUTO
    bert: BertOptions | None = None
    _model: BertScorer | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.rouge_l is None and self.bert is None:
            raise InputError("answers: expected ROUGE-L or BERTScore, found neither")
        if self.rouge_l is not None:
            refuse_rule(self.rouge_l)
        if self.bert is not None:
            self._model = BertScorer(self.bert)

    @property
    def steps(self) -> int:
        """How often step() is told of each item."""
        return (self.rouge_l is not None) + (self._model is not None)

    def score(
        self, references: Any, predictions: Any, *, step: Callable[[int], object] = lambda count: None
    ) -> Answers:
        """Score one system. step: called with the number of items that a measure has done since."""
        wanted = _by_id(references, "references")
        given = _by_id(predictions, "predictions")
        if isinstance(references, Mapping) != isinstance(predictions, Mapping):
            raise InputError("answers: expected dicts by id, or texts in one order, found one of each")
        if not isinstance(references, Mapping) and len(wanted) != len(given):
            raise InputError(
                f"answers: expected as many predictions as references, found {len(given):,} and {len(wanted):,}"
            )
        ids = list(wanted)
        known = [_texts(wanted[item], item) for item in ids]
        found = [_prediction(given.get(item, ""), item) for item in ids]
        missing = len(wanted.keys() - given.keys())
        notes = []
        if blank := sum(not text.strip() for text in found) - missing:
            notes.append(f"{plural(blank, 'prediction')} without text; a score of 0 each")
        parts, columns, rules = [], list[str](), list[str]()
        if self.rouge_l is not None:
            rouge = rouge_l(ids, found, known, self.rouge_l, step)
            parts.append(np.stack((rouge.f1, rouge.precision, rouge.recall)))
            columns += _ROUGE
            rules += [f"ROUGE-L: {RULES[rule]}: {plural(n, 'item')}" for rule, n in sorted(rouge.used.items())]
            notes += rouge.notes
        if self._model is not None:
            (precision, recall, f1), odd = self._model.score(found, known, step)
            parts.append(np.stack((f1, precision, recall)))
            columns += _BERT
            rules.append(self._model.configuration)
            notes += [*self._model.notes, *odd]
        return Answers(
            ids=tuple(ids),
            columns=tuple(columns),
            per_item=np.ascontiguousarray(np.concatenate(parts).T),
            rules=tuple(rules),
            notes=tuple(notes),
            missing=missing,
            extra=len(given.keys() - wanted.keys()),
        )


def _by_id(given: Any, what: str) -> dict[str, Any]:
    if isinstance(given, Mapping):
        by_id = {_id(key, what): value for key, value in given.items()}
        if len(by_id) < len(given):
            raise InputError(f"{what}: expected each id once, found an integer and its string")
    elif isinstance(given, Sequence) and not isinstance(given, str | bytes):
        by_id = {str(place): value for place, value in enumerate(given)}
    else:
        raise InputError(f"{what}: expected a dict of texts by id, or a list of texts, found {described(given)}")
    if not by_id:
        raise InputError(f"{what}: expected texts, found none")
    return by_id


def _id(key: object, what: str) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return str(int(key))
    raise InputError(f"{what}: expected ids that are strings or integers, found {described(key)}")


def _prediction(given: object, item: str) -> str:
    if not isinstance(given, str):
        raise InputError(f"predictions: id {quoted(item)}: expected a text, found {described(given)}")
    return _encodable(given, "predictions", item)


def _texts(given: object, item: str) -> list[str]:
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, Sequence) or not several or not all(isinstance(text, str) for text in several):
        raise InputError(f"references: id {quoted(item)}: expected a text or texts, found {described(given)}")
    if not all(text.strip() for text in several):
        raise InputError(f"references: id {quoted(item)}: expected a text, found an empty one")
    return [_encodable(text, "references", item) for text in several]


def _encodable(text: str, what: str, item: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(
            f"{what}: id {quoted(item)}: expected text that UTF-8 can write, found half of a surrogate pair"
        ) from None
    return text
