"""Objects of JSON, in which no key may hide another one."""

from collections import Counter
from typing import Any

from trecpy.text import quoted


def of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, as json's object_pairs_hook. Raises ValueError: a key is there twice; a dict would have the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"{quoted(twice)} is there twice")
    return found
