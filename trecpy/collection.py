"""Judgements and runs as objects of their own: made once from whatever a user has, then used and pickled freely."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import Any

from trecpy.errors import FormatError, InputError, TopicError, TrecpyError
from trecpy.files import TableRun, dataset_qrels, is_dataset, open_run, read_qrels
from trecpy.formats.runs import RunReader
from trecpy.formats.source import Source
from trecpy.formats.trec import JUDGEMENT_LAYOUTS
from trecpy.inputs import KNOWN, Names, ThreeColumns, file_name, packed_levels, packed_scores, source_of
from trecpy.kernels.dtypes import Reals
from trecpy.mapped import Mapped
from trecpy.packed import Block, Judgements, Records
from trecpy.packed import Qrels as Leveled
from trecpy.protocol import COMPATS, Compat, Protocol
from trecpy.text import as_strings, described, quoted


class Qrels:
    """
    Judgements, prepared for any number of evaluations. They do not change.

    topics: ids of the judged topics, in byte order; notes: what was odd in a file; fingerprint: a hash of the content,
    the same however it was given, in whatever order
    """

    def __init__(self, judgements: Judgements, notes: Sequence[str] = ()) -> None:
        if not isinstance(judgements, Judgements):
            raise InputError("Qrels: expected to be made by from_dict(), from_frame(), read() or the like")
        self.judgements, self.notes = judgements, tuple(notes)

    @classmethod
    def from_dict(cls, qrels: Mapping[Any, Mapping[Any, Any]]) -> "Qrels":
        """{topic: {docno: level}}. Levels may be fractions, which are scored with gains="float". Raises InputError."""
        return cls._packed(_expect(qrels, Mapping, "qrels"))

    @classmethod
    def from_tuples(cls, rows: Iterable[Any]) -> "Qrels":
        """(topic, docno, level), one after another. Raises InputError."""
        return cls._packed(rows)

    @classmethod
    def from_frame(
        cls, frame: Any, *, topic: str | None = None, docno: str | None = None, level: str | None = None
    ) -> "Qrels":
        """
        A pandas, polars or pyarrow table.

        topic, docno, level: names of its columns, where they are none of the usual ones. Raises InputError.
        """
        return cls._packed(frame, (topic, docno, level))

    @classmethod
    def from_arrays(cls, topic: Any, docno: Any, level: Any) -> "Qrels":
        """Three columns of N topics, N docnos and N levels. Raises InputError."""
        return cls._packed(ThreeColumns(topic, docno, level))

    @classmethod
    def read(
        cls,
        file: Any,
        *,
        form: str = "qrels",
        compat: Compat = "10.0",
        fractions: bool = False,
        layout: str | None = None,
    ) -> "Qrels":
        """
        Read a path, a binary file, or "irds:NAME", strictly.

        layout: trec, msmarco, beir, tsv, csv, json, jsonl, parquet or arrow; None: the first lines tell
        form: as trec_eval's -R has it: "qrels", "qrels_jg", "prefs", "qrels_prefs"; compat: 9.0.8 knows no comments
        fractions: levels may be fractions. Raises FileError, FormatError, InputError.
        """
        if form not in JUDGEMENT_LAYOUTS:
            raise InputError(f"form: expected {', '.join(map(repr, JUDGEMENT_LAYOUTS))}, found {described(form)}")
        if compat not in COMPATS:
            raise InputError(f"compat: expected {', '.join(map(repr, COMPATS))}, found {described(compat)}")
        if is_dataset(file):
            return cls._packed(dataset_qrels(file), fractions=fractions)
        return cls._of_source(_source(file, "qrels"), form, compat, fractions, layout)

    @classmethod
    def _of_source(
        cls,
        source: Source,
        form: str,
        compat: Compat,
        fractions: bool,
        layout: str | None = None,
        twice: bool = False,
    ) -> "Qrels":
        with source:
            judgements, notes = read_qrels(source, form, compat, fractions, layout, twice)
        if form == "qrels" and not twice:
            refuse_twice(judgements, FormatError)
        return cls(judgements, notes)

    @classmethod
    def _packed(cls, given: Any, names: Names = KNOWN, fractions: bool = True, twice: bool = False) -> "Qrels":
        records, level, grades = packed_levels(given, names, fractions)
        judgements = Leveled.of("qrels", records, level, grades=grades)
        if not twice:
            refuse_twice(judgements, InputError)
        return cls(judgements)

    @property
    def topics(self) -> tuple[str, ...]:
        """Ids of the judged topics, in byte order."""
        return tuple(as_strings(self.judgements.topics))

    def __len__(self) -> int:
        return len(self.judgements.topics)

    def __repr__(self) -> str:
        return f"<Qrels: {len(self):,} topics, {len(self.judgements.documents.spans):,} documents>"

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content."""
        return fingerprint(self.judgements.digests())


class Run:
    """
    A run in memory, for any number of evaluations. It does not change.

    topics: ids of its topics, in order of appearance; tag: the sixth column of a file's last line
    fingerprint: a hash of the content, the same however it was given; documents of a topic count in the order given
    """

    def __init__(
        self,
        records: Records,
        scores: Reals | None = None,
        tag: bytes = b"",
        notes: Sequence[str] = (),
        stated: bool = False,
    ) -> None:
        if not isinstance(records, Records):
            raise InputError("Run: expected to be made by from_dict(), from_frame(), read() or the like")
        assert scores is not None
        self._records, self._scores, self.tag, self.notes = records, scores, tag, tuple(notes)
        self._stated = stated

    @classmethod
    def from_dict(cls, run: Mapping[Any, Any]) -> "Run":
        """{topic: {docno: score}}, or {topic: [docno, ...]}, best first. Raises InputError."""
        return cls(*packed_scores(_expect(run, Mapping, "run"), KNOWN))

    @classmethod
    def from_tuples(cls, rows: Iterable[Any]) -> "Run":
        """(topic, docno, score), one after another. Raises InputError."""
        return cls(*packed_scores(rows, KNOWN))

    @classmethod
    def from_frame(
        cls, frame: Any, *, topic: str | None = None, docno: str | None = None, score: str | None = None
    ) -> "Run":
        """
        A pandas, polars or pyarrow table.

        topic, docno, score: names of its columns, where they are none of the usual ones. Raises InputError.
        """
        return cls(*packed_scores(frame, (topic, docno, score)))

    @classmethod
    def from_arrays(cls, topic: Any, docno: Any, score: Any) -> "Run":
        """Three columns of N topics, N docnos and N scores. Raises InputError."""
        return cls(*packed_scores(ThreeColumns(topic, docno, score), KNOWN))

    @classmethod
    def read(cls, file: Any, *, compat: Compat = "10.0", layout: str | None = None) -> "Run":
        """
        Read a path or a binary file, strictly.

        compat: 9.0.8 knows no comments
        layout: trec, msmarco, beir, tsv, csv, json, jsonl, parquet or arrow; None: the first lines tell
        Raises FileError, FormatError.
        """
        with open_run(_source(file, "run"), Protocol(compat=compat).compat, layout) as reader:
            records, scores = reader.whole()
        return cls(records, scores, reader.tag, reader.notes, reader.stated)

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        """As a RunReader has it; there is nothing to close."""

    def blocks(self) -> Iterator[Block]:
        """Yield the rankings, all in one block."""
        yield self._block

    @cached_property
    def _block(self) -> Block:
        return Block.of(self._records, self._scores, self._stated)

    @property
    def topics(self) -> tuple[str, ...]:
        """Ids of the topics, in order of appearance."""
        return tuple(as_strings(self._records.topics))

    def __len__(self) -> int:
        return len(self._records.topics)

    def __repr__(self) -> str:
        return f"<Run: {len(self):,} topics, {len(self._scores):,} documents>"

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content."""
        return fingerprint(dict(zip(self._block.topics, self._block.digests(), strict=True)))


class Folds:
    """
    Runs of different topics that are one run: those of the folds of a cross-validation, each tested once.

    runs: whatever evaluate() takes for a run, several of it

    A topic in two of them is an error (TopicError) when they are scored.
    """

    def __init__(self, runs: Iterable[Any]) -> None:
        if isinstance(runs, str | bytes | Mapping) or not isinstance(runs, Iterable):
            raise InputError(f"folds: expected several runs, found {described(runs)}")
        self.runs = tuple(runs)
        if not self.runs:
            raise InputError("folds: expected at least one run, found none")

    def __repr__(self) -> str:
        return f"<Folds: {len(self.runs):,} runs>"


class _Joined:
    """The rankings of all folds. notes, tag: as a RunReader has them; the tag is the last fold's."""

    def __init__(self, folds: Folds, protocol: Protocol, layout: str | None) -> None:
        self._opened = ExitStack()
        self._names = [file_name(run, "") or f"fold {number}" for number, run in enumerate(folds.runs, 1)]
        self._folds: list[AnyRun] = []
        with ExitStack() as opening:  # closed again where a later one cannot be opened
            for run in folds.runs:
                fold = as_run(run, protocol, layout)
                opening.enter_context(fold)
                self._folds.append(fold)
            self._opened = opening.pop_all()

    def __enter__(self) -> "_Joined":
        return self

    def __exit__(self, *_: object) -> None:
        """Close what was opened."""
        self._opened.close()

    @property
    def notes(self) -> list[str]:
        return [note for fold in self._folds for note in fold.notes]

    @property
    def tag(self) -> bytes:
        return self._folds[-1].tag

    def blocks(self) -> Iterator[Any]:
        """Yield the rankings, fold by fold. Raises TopicError: a topic in two folds."""
        owner: dict[bytes, int] = {}
        for number, fold in enumerate(self._folds):
            for block in fold.blocks():
                for topic in block.topics:  # a fold may yield one of its own topics again
                    if (first := owner.setdefault(topic, number)) != number:
                        raise TopicError(
                            f"{self._names[number]}: expected each topic in one fold, found {quoted(topic)}, which is "
                            f"in {self._names[first]} too"
                        )
                yield block


class Watched:
    """
    A run whose rankings are shown to somebody as they are scored.

    seen: called with each block of rankings; a block is views of memory that the next one takes
    """

    def __init__(self, run: Any, seen: Callable[[Any], object]) -> None:
        self.run, self.seen = run, seen


class _Shown:
    """As _Joined, for a run that is watched."""

    def __init__(self, watched: Watched, protocol: Protocol, layout: str | None) -> None:
        self._run, self._seen = as_run(watched.run, protocol, layout), watched.seen

    def __enter__(self) -> "_Shown":
        self._run.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        """Close what was opened."""
        self._run.__exit__(*error)

    @property
    def notes(self) -> Sequence[str]:
        return self._run.notes

    @property
    def tag(self) -> bytes:
        return self._run.tag

    def blocks(self) -> Iterator[Any]:
        """Yield the rankings, each shown before."""
        for block in self._run.blocks():
            self._seen(block)
            yield block


def fingerprint(digests: Mapping[bytes, bytes]) -> str:
    """One hash, 64 hexadecimal digits, of the hashes of topics, in byte order of their ids."""
    hashed = hashlib.sha256()
    for topic, digest in sorted(digests.items()):
        hashed.update(b"%d:%b%b" % (len(topic), topic, digest))
    return hashed.hexdigest()


def as_qrels(given: Any, protocol: Protocol, layout: str | None = None) -> Qrels:
    """
    Judgements, whatever they are given as; see trecpy.evaluate for what is taken.

    layout: of a file, or None: its first lines tell. Raises InputError, FileError, FormatError.
    """
    fractions, twice = protocol.gains == "float", protocol.duplicates == "keep"
    if isinstance(given, Qrels):
        judgements = given.judgements
        if not fractions and isinstance(judgements, Leveled) and (wrong := judgements.first_fraction()):
            topic, docno, level = wrong
            raise InputError(
                f"qrels: topic {quoted(topic)}, docno {quoted(docno)}: expected an integer level, found {level:g}; "
                "gains='float' takes fractions as they are"
            )
        return given
    if is_dataset(given):
        return Qrels._packed(dataset_qrels(given), fractions=fractions, twice=twice)
    if (source := source_of(given, "qrels")) is not None:
        return Qrels._of_source(source, "qrels", protocol.compat, fractions, layout, twice)
    return Qrels._packed(given, fractions=fractions, twice=twice)


AnyRun = Run | RunReader | TableRun | Mapped | _Joined | _Shown


def as_run(given: Any, protocol: Protocol, layout: str | None = None) -> AnyRun:
    """
    A run, whatever it is given as; a file is read when its blocks are asked for.

    layout: of a file, or None: its first lines tell. Raises InputError, FileError, FormatError.
    """
    if isinstance(given, Run):
        return given
    if isinstance(given, Watched):
        return _Shown(given, protocol, layout)
    if isinstance(given, Folds):
        return _Joined(given, protocol, layout)
    if (mapped := Mapped.of(given)) is not None:
        return mapped
    if (source := source_of(given, "run")) is not None:
        return open_run(source, protocol.compat, layout)
    return Run(*packed_scores(given, KNOWN))


def _source(file: Any, what: str) -> Source:
    source = source_of(file, what)
    if source is None:
        raise InputError(f"{what}: expected a path or a binary file, found {type(file).__name__}")
    return source


def _expect(given: Any, kind: type, what: str) -> Any:
    if not isinstance(given, kind):
        raise InputError(f"{what}: expected a {kind.__name__.lower()}, found {type(given).__name__}")
    return given


def refuse_twice(judgements: Judgements, error: type[TrecpyError]) -> None:
    """Refuse judgements that name a document twice in a topic."""
    if twice := judgements.documents.first_repeated():
        unit, document, _ = twice
        docno, topic = quoted(judgements.documents.docno(document)), quoted(judgements.topics[unit])
        raise error(f"{judgements.name}: topic {topic}: expected a document once, found {docno} twice")
