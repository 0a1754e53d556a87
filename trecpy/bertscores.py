"""BERTScore by the library bert-score, with what it stumbles over said in one line or mended before."""

import contextlib
import math
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from logging import ERROR, getLogger
from pathlib import Path
from typing import Any

import numpy as np

from trecpy.errors import InputError
from trecpy.extras import load
from trecpy.kernels.dtypes import Reals
from trecpy.text import described, quoted, shown

_T5 = ("t5", "mt5", "umt5", "byt5")
_UNLIMITED = 10**6  # transformers' own mark for "no limit known" is far above that
_CHUNKS = 4  # batches between two steps of progress


@dataclass(frozen=True)
class BertOptions:
    """
    What bert-score is asked for.

    model     a folder with a model, or a name on the hub; None: what bert-score takes for `lang`
    lang      "en", "zh", ...: chooses the model, and the baseline where `rescale` asks for one
    layer     hidden layer, from 1; None: bert-score's choice, which it has for models of its table
    idf       weight tokens by their inverse document frequency in the references
    rescale   (F - b) / (1 - b) with the baseline b of bert-score, or that in the file `baseline`
    """

    model: str | None = None
    lang: str | None = None
    layer: int | None = None
    idf: bool = False
    rescale: bool = False
    baseline: str | None = None
    batch_size: int = 64
    device: str | None = None

    @property
    def wanted(self) -> bool:
        """Is BERTScore asked for?"""
        return self != BertOptions()


class BertScorer:
    """
    A model that was loaded once.

    configuration: all that its values depend on, in one line; notes: what was mended
    """

    def __init__(self, options: BertOptions) -> None:
        self._options = options
        if isinstance(options.batch_size, bool) or not isinstance(options.batch_size, int) or options.batch_size < 1:
            raise InputError(f"batch_size: expected an integer >= 1, found {described(options.batch_size)}")
        for name, value in (("idf", options.idf), ("rescale", options.rescale)):
            if not isinstance(value, bool | np.bool_):
                raise InputError(f"{name}: expected True or False, found {described(value)}")
        self._library = load("bert_score", "bertscore")
        self._transformers = load("transformers", "bertscore")
        self.notes: list[str] = []
        self.name = self._named()
        self._layer = self._chosen_layer()
        self._baseline = self._baseline_path()
        if self._baseline is not None:
            _refuse_baseline(self._baseline, self._layer)
        self._refuse_device()
        with contextlib.ExitStack() as links, self._quiet():
            path = self._safe_path(links)
            self._refuse_layer(path)
            self._scorer = self._loaded(path)
        self._limit()

    @property
    def configuration(self) -> str:
        """The model and each option, in one line."""
        # What bert-score itself says is an older version's number.
        versions = f"bert-score {version('bert-score')}, transformers {self._transformers.__version__}"
        scaled = "rescaled" if self._options.rescale else "not rescaled"
        weights = "idf of the references" if self._options.idf else "no idf"
        return f"BERTScore: {self.name}, layer {self._layer}, {weights}, {scaled} ({versions})"

    def score(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        step: Callable[[int], object] = lambda count: None,
    ) -> tuple[Reals, list[str]]:
        """
        float64[3, I], precision, recall and F1 of each item, and what was odd.

        references: none of them blank; of several the largest value of each counts, as in bert-score
        A blank prediction has 0.
        """
        values = np.zeros((3, len(predictions)))
        chosen = [item for item, prediction in enumerate(predictions) if prediction.strip()]
        step(len(predictions) - len(chosen))
        size = self._options.batch_size * _CHUNKS
        with self._quiet():
            if self._options.idf:
                self._scorer._idf_dict = None  # weights of other references
                self._scorer.compute_idf([text for several in references for text in several])
            for start in range(0, len(chosen), size):
                part = chosen[start : start + size]
                pairs = [predictions[item] for item in part], [list(references[item]) for item in part]
                try:
                    found = self._scorer.score(*pairs, batch_size=self._options.batch_size)
                except RuntimeError as error:  # torch's, of memory or a device
                    first = shown(str(error).partition("\n")[0])
                    raise InputError(f"BERTScore: a batch of {self._options.batch_size} failed: {first}") from None
                values[:, part] = np.stack([each.double().numpy() for each in found])
                step(len(part))
        if not np.isfinite(values).all():
            raise InputError("idf: expected tokens that are not in every reference, found a text that has no other")
        return values, self._cut(predictions, references)

    def _named(self) -> str:
        model, lang = self._options.model, self._options.lang
        if model is not None:
            return model
        table = self._library.utils.lang2model
        if lang is None or lang.lower() not in table:  # any other key would silently mean a multilingual model
            raise InputError(f"lang: expected one of {', '.join(sorted(table))}, or a model; found {described(lang)}")
        return str(table[lang.lower()])

    def _chosen_layer(self) -> int:
        layer = self._options.layer
        if layer is None:
            layer = self._library.utils.model2layers.get(self.name)
        if layer is None:
            raise InputError(f"layer: expected a number, since bert-score has none for {quoted(self.name)}")
        if isinstance(layer, bool) or not isinstance(layer, int) or layer < 1:
            raise InputError(f"layer: expected an integer >= 1, found {described(layer)}")
        return layer

    def _safe_path(self, links: contextlib.ExitStack) -> str:
        """A name that bert-score can take: with 't5' in it, it is loaded as T5; 'scibert...' is downloaded."""
        if not os.path.isdir(self.name):
            if self.name.startswith("scibert"):
                raise InputError(f"model: expected a name on the hub (allenai/scibert_...), found {quoted(self.name)}")
            return self.name
        path = os.path.abspath(self.name)
        if "t5" not in path or self._config(path).model_type in _T5:
            return path
        while True:
            folder = links.enter_context(tempfile.TemporaryDirectory(prefix="model"))
            if "t5" not in folder:
                break
        link = Path(folder) / "model"
        link.symlink_to(path, target_is_directory=True)
        return str(link)

    def _baseline_path(self) -> str | None:
        """The file that is rescaled by: where there is none, bert-score would warn and give raw values."""
        options = self._options
        if not options.rescale:
            if options.baseline is not None:
                raise InputError("baseline: expected rescale with it")
            return None
        if options.baseline is not None:
            if not os.path.isfile(options.baseline):
                raise InputError(f"baseline: expected a file, found {quoted(options.baseline)}")
            return options.baseline
        if options.lang is None:
            raise InputError("rescale: expected a language, whose baseline is taken, or a baseline file")
        file = Path(str(self._library.__file__)).parent / "rescale_baseline" / options.lang.lower() / f"{self.name}.tsv"
        if not file.is_file():
            raise InputError(
                f"rescale: expected a baseline file, since bert-score has none of {quoted(self.name)} for "
                f"{quoted(options.lang)}"
            )
        return str(file)

    def _refuse_layer(self, path: str) -> None:
        layers = getattr(self._config(path), "num_hidden_layers", None)
        if layers is not None and self._layer > layers:
            raise InputError(f"layer: expected at most {layers}, which {quoted(self.name)} has, found {self._layer}")

    def _refuse_device(self) -> None:
        if self._options.device is None:
            return
        torch = load("torch", "bertscore")
        try:
            torch.zeros(1, device=self._options.device).cpu()
        except (RuntimeError, AssertionError, TypeError, ValueError) as error:
            why = shown(str(error).partition("\n")[0])
            device = described(self._options.device)
            raise InputError(
                f"device: expected one that torch has here, such as 'cpu', found {device} ({why})"
            ) from None

    def _config(self, path: str) -> Any:
        with self._loading():
            return self._transformers.AutoConfig.from_pretrained(path)

    def _loaded(self, path: str) -> Any:
        options = self._options
        with self._loading():
            return self._library.BERTScorer(
                model_type=path,
                num_layers=self._layer,
                batch_size=options.batch_size,
                nthreads=0,  # its worker processes would be forks of one that has threads
                idf=options.idf,
                lang=(options.lang or "none").lower(),  # all that it chooses by it is stated
                rescale_with_baseline=options.rescale,
                baseline_path=self._baseline,
                device=options.device,
            )

    def _limit(self) -> None:
        """Where the tokenizer knows no longest text, take the model's; bert-score would overflow."""
        tokenizer, model = self._scorer._tokenizer, self._scorer._model
        if tokenizer.model_max_length <= _UNLIMITED:
            return
        config = model.config
        longest = getattr(config, "max_position_embeddings", None)
        if not isinstance(longest, int) or longest < 1:
            longest = 512
        elif config.model_type in ("roberta", "xlm-roberta", "camembert"):
            longest -= (config.pad_token_id or 0) + 1  # positions are counted from there
        tokenizer.model_max_length = longest
        self.notes.append(f"BERTScore: the tokenizer of {quoted(self.name)} names no longest text; {longest} is taken")

    def _cut(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> list[str]:
        """A note on texts that are longer than the model takes."""
        tokenizer = self._scorer._tokenizer
        limit = tokenizer.model_max_length
        # A token has at least one byte: shorter texts need no count.
        long = [
            text
            for text in (*predictions, *(text for several in references for text in several))
            if len(text.encode("utf-8", "replace")) + 2 > limit
        ]
        with self._quiet():
            cut = sum(len(tokenizer.encode(text, add_special_tokens=True, verbose=False)) > limit for text in long)
        return [f"BERTScore: texts are cut behind {limit} tokens: {cut:,} of them"] if cut else []

    @contextlib.contextmanager
    def _loading(self) -> Iterator[None]:
        """What cannot be loaded, in one line."""
        try:
            yield
        except (OSError, ValueError, KeyError, AssertionError, RuntimeError, ImportError) as error:
            first = str(error).strip().partition("\n")[0] or type(error).__name__
            raise InputError(f"model: {quoted(self.name)} cannot be loaded: {shown(first)}") from None

    @contextlib.contextmanager
    def _quiet(self) -> Iterator[None]:
        """Keep these libraries from writing to standard error."""
        logging = self._transformers.utils.logging
        hub = getLogger("huggingface_hub")
        verbosity, level, bars = logging.get_verbosity(), hub.level, logging.is_progress_bar_enabled()
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        hub.setLevel(ERROR)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        finally:
            logging.set_verbosity(verbosity)
            hub.setLevel(level)
            if bars:
                logging.enable_progress_bar()


def _refuse_baseline(path: str, layer: int) -> None:
    """Raise InputError: no table of LAYER, P, R and F, or the row of the layer is not where bert-score takes it."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise InputError(f"baseline: {quoted(path)} cannot be read: {error.strerror or error}") from None
    rows = [(number, line.split(",")) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    for number, fields in rows:
        if len(fields) != 4 or (number > rows[0][0] and not all(map(_is_number, fields))):
            found = quoted(",".join(fields))
            raise InputError(f"baseline: {shown(path)}:{number}: expected LAYER,P,R,F, four numbers, found {found}")
    places = {float(fields[0]): place for place, (_, fields) in enumerate(rows[1:])}
    if places.get(layer) != layer:
        raise InputError(
            f"baseline: expected a row of numbers for layer {layer} behind those of the layers before it, from 0, in "
            f"{quoted(path)}, found {', '.join(f'{each:g}' for each in places) or 'none'}"
        )


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
