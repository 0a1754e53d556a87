"""
Everything that trecpy refuses, as one small tree.

TrecpyError
├── UsageError          1    an option or its value
│   └── MeasureError    1    a measure that is not known
├── ParameterError      2    a measure's parameters, or the name of a format
├── FileError           2    a file that cannot be opened, read or written
│   ├── FormatError     2    what is in a file
│   └── ZScoreError   255    the z-score file
├── InputError          2    data given in Python
├── LibraryError        2    an optional library that is not installed
├── TopicError          4    a topic that cannot be scored
└── NothingScoredError  7    no topic has both judgements and a ranking

The number is the exit code of the commands: trec_eval's where it has one.
"""


class TrecpyError(Exception):
    """Every error that trecpy raises on purpose. Its text is one line: where, what was expected, what was found."""

    exit_code = 1


class UsageError(TrecpyError):
    """An option, an argument or its value is wrong."""


class MeasureError(UsageError, ValueError):
    """No measure or nickname has this name."""


class ParameterError(TrecpyError, ValueError):
    """A measure is known but its parameters cannot be read, or a format is not known."""

    exit_code = 2


class FileError(TrecpyError):
    """A file is missing, empty, a directory, or cannot be read or written."""

    exit_code = 2


class FormatError(FileError):
    """A file has content that cannot be read: the text names file, line and column."""


class ZScoreError(FileError):
    """The z-score file is missing or malformed."""

    exit_code = 255


class InputError(TrecpyError, ValueError):
    """Data given in Python cannot be read: the text names the argument, the row, topic and document."""

    exit_code = 2


class LibraryError(TrecpyError, ImportError):
    """An optional library is missing: the text names the extra that brings it."""

    exit_code = 2


class TopicError(TrecpyError, ValueError):
    """A topic cannot be scored: a document twice, contradicting judgements, judgements of the wrong kind."""

    exit_code = 4


class NothingScoredError(TrecpyError):
    """No topic has both judgements and a ranking."""

    exit_code = 7
