"""trecpy: trec_eval, byte for byte, on a compiled core."""

__version__ = "0.1.0"

__all__ = ["__version__"]
