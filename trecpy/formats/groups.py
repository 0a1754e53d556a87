"""A file that names the group of each topic."""

from trecpy.errors import FormatError
from trecpy.formats.source import read_lines
from trecpy.text import quoted


def read_groups(path: str) -> dict[str, str]:
    """
    Read `topic group`, separated by blanks or tabs; a group's name may have blanks in it. Blank lines are skipped.

    Raises FileError, and FormatError: a line of one column, a topic twice, no line.
    """
    groups: dict[str, str] = {}
    name, lines = read_lines(path)
    for number, line in enumerate(lines, 1):
        columns = [part.decode("utf-8", "surrogateescape") for part in line.split(None, 1)]
        if not columns:
            continue
        if len(columns) == 1:
            raise FormatError(f"{name}:{number}: expected 2 columns (topic group), found 1: {quoted(columns[0])}")
        topic, group = columns
        if topic in groups:
            raise FormatError(f"{name}:{number}: expected each topic once, found {quoted(topic)} again")
        groups[topic] = group.strip()
    if not groups:
        raise FormatError(f"{name}: expected lines of 2 columns (topic group), found none")
    return groups
