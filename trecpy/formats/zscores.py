"""Means and deviations of z-scores."""

from trecpy.errors import ZScoreError
from trecpy.formats.source import Lines, Source
from trecpy.numbers import strtod
from trecpy.text import quoted

_BLOCK = 1 << 16


def read_zscores(source: Source) -> tuple[dict[bytes, dict[bytes, tuple[float, float]]], list[str]]:
    """
    Read `topic measure mean stddev` lines.

    Returns topic -> measure's printed name -> (mean, stddev), of two lines for one measure the first; what was odd.

    Raises ZScoreError: no lines, or one that has not exactly four columns (comments and blank lines have not).
    """
    lines = Lines(source, _BLOCK)
    stop = lines.read(whole=True)
    if stop == 0:
        raise ZScoreError(f"{source.name}: is empty: expected lines of 'topic measure mean stddev'")
    scores: dict[bytes, dict[bytes, tuple[float, float]]] = {}
    notes: list[str] = []
    repeated: list[str] = []
    for number, line in enumerate(lines.data[: stop - 1].tobytes().split(b"\n"), 1):
        columns = line.split()
        if len(columns) != 4:
            found = len(columns) or "a blank line"
            raise ZScoreError(f"{source.name}:{number}: expected 4 columns (topic measure mean stddev), found {found}")
        topic, measure, *values = columns
        (mean, rest), (stddev, more) = strtod(values[0]), strtod(values[1])
        if (rest or more) and not notes:
            notes.append(f"{source.name}:{number}: expected numbers, found {quoted(values[0])} and {quoted(values[1])}")
        if measure in scores.setdefault(topic, {}):
            repeated.append(
                f"{source.name}:{number}: {quoted(measure)} of topic {quoted(topic)} again; the first counts"
            )
        scores[topic].setdefault(measure, (mean, stddev))
    return scores, notes + repeated[:1]
