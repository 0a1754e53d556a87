"""Optional libraries, imported where they are used."""

import importlib
from types import ModuleType

from trecpy.errors import LibraryError


def load(module: str, extra: str) -> ModuleType:
    """Import a module of an optional library. Raises LibraryError: it is not installed; the text names the extra."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        why = "" if isinstance(error, ModuleNotFoundError) and error.name == library else f" ({error})"
        raise LibraryError(
            f"{library}: cannot be imported{why}; expected it from the extra: pip install 'trecpy[{extra}]'"
        ) from None
