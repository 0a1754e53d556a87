"""
trecpy: trec_eval, byte for byte, on a compiled core.

`trecpy.evaluate(qrels, run, measures)` scores what is in memory or in files; the command `trec_eval` scores files.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trecpy.answering import Answers as Answers
    from trecpy.answering import answers as answers
    from trecpy.api import Evaluation as Evaluation
    from trecpy.api import Evaluator as Evaluator
    from trecpy.api import evaluate as evaluate
    from trecpy.api import merge as merge
    from trecpy.collection import Folds as Folds
    from trecpy.collection import Qrels as Qrels
    from trecpy.collection import Run as Run
    from trecpy.comparison import Comparison as Comparison
    from trecpy.comparison import compare as compare
    from trecpy.comparison import compare_many as compare_many
    from trecpy.dense import evaluate_dense as evaluate_dense
    from trecpy.errors import FileError as FileError
    from trecpy.errors import FormatError as FormatError
    from trecpy.errors import InputError as InputError
    from trecpy.errors import LibraryError as LibraryError
    from trecpy.errors import MeasureError as MeasureError
    from trecpy.errors import NothingScoredError as NothingScoredError
    from trecpy.errors import ParameterError as ParameterError
    from trecpy.errors import TopicError as TopicError
    from trecpy.errors import TrecpyError as TrecpyError
    from trecpy.errors import UsageError as UsageError
    from trecpy.errors import ZScoreError as ZScoreError
    from trecpy.explaining import Explanation as Explanation
    from trecpy.explaining import explain as explain
    from trecpy.papers.figures import Figures as Figures
    from trecpy.papers.qilin import qilin as qilin
    from trecpy.papers.quoter import quoter as quoter
    from trecpy.presets import Preset as Preset
    from trecpy.presets import protocols as protocols
    from trecpy.protocol import Protocol as Protocol
    from trecpy.registry import Cutoffs as Cutoffs
    from trecpy.registry import measure as measure

__version__ = "0.1.0"

# Loaded when first asked for: `import trecpy` costs nothing that is not used.
_HOMES = {
    "Answers": "trecpy.answering",
    "Comparison": "trecpy.comparison",
    "Cutoffs": "trecpy.registry",
    "Evaluation": "trecpy.api",
    "Evaluator": "trecpy.api",
    "Explanation": "trecpy.explaining",
    "Figures": "trecpy.papers.figures",
    "FileError": "trecpy.errors",
    "Folds": "trecpy.collection",
    "FormatError": "trecpy.errors",
    "InputError": "trecpy.errors",
    "LibraryError": "trecpy.errors",
    "MeasureError": "trecpy.errors",
    "NothingScoredError": "trecpy.errors",
    "ParameterError": "trecpy.errors",
    "Preset": "trecpy.presets",
    "Protocol": "trecpy.protocol",
    "Qrels": "trecpy.collection",
    "Run": "trecpy.collection",
    "TopicError": "trecpy.errors",
    "TrecpyError": "trecpy.errors",
    "UsageError": "trecpy.errors",
    "ZScoreError": "trecpy.errors",
    "answers": "trecpy.answering",
    "compare": "trecpy.comparison",
    "compare_many": "trecpy.comparison",
    "evaluate": "trecpy.api",
    "evaluate_dense": "trecpy.dense",
    "explain": "trecpy.explaining",
    "measure": "trecpy.registry",
    "merge": "trecpy.api",
    "protocols": "trecpy.presets",
    "qilin": "trecpy.papers.qilin",
    "quoter": "trecpy.papers.quoter",
}

__all__ = [
    "Answers",
    "Comparison",
    "Cutoffs",
    "Evaluation",
    "Evaluator",
    "Explanation",
    "Figures",
    "FileError",
    "Folds",
    "FormatError",
    "InputError",
    "LibraryError",
    "MeasureError",
    "NothingScoredError",
    "ParameterError",
    "Preset",
    "Protocol",
    "Qrels",
    "Run",
    "TopicError",
    "TrecpyError",
    "UsageError",
    "ZScoreError",
    "__version__",
    "answers",
    "compare",
    "compare_many",
    "evaluate",
    "evaluate_dense",
    "explain",
    "measure",
    "merge",
    "protocols",
    "qilin",
    "quoter",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'trecpy' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
