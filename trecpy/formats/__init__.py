"""Bytes to packed arrays: the only place that knows columns and comments."""
