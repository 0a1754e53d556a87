"""Byte strings that lie in an array: read eight bytes at a time, hashed and compared. For other kernels to take in."""

import numpy as np

from trecpy.kernels._jit import inlined
from trecpy.kernels.dtypes import Bytes

_MIX = np.uint64(0x9E3779B97F4A7C15)
_ZERO, _ONE, _THREE, _EIGHT, _32 = (np.uint64(i) for i in (0, 1, 3, 8, 32))


@inlined
def eight(data: Bytes, i: np.uint64) -> np.uint64:
    """The eight bytes from data[i] on, the first one lowest; the compiler makes one load of them."""
    word = _ZERO
    for j in range(8):
        word |= np.uint64(data[i + np.uint64(j)]) << np.uint64(8 * j)
    return word


@inlined
def _mixed(h: np.uint64, word: np.uint64) -> np.uint64:
    """A hash with eight bytes more."""
    h = np.uint64((h ^ word) * _MIX)
    return np.uint64(h ^ (h >> _32))


@inlined
def hash_bytes(data: Bytes, at: int, size: int) -> np.uint64:
    """
    64-bit hash of data[at:at+size], whose low bits serve as the index of a table.

    Eight bytes, the first one lowest, are mixed in at a time, and at last those that are left, be it none.
    """
    h, i, end = _ZERO, np.uint64(at), np.uint64(at + size)
    while i + _EIGHT <= end:
        h = _mixed(h, eight(data, i))
        i += _EIGHT
    word, shift = _ZERO, _ZERO
    while i < end:
        word |= np.uint64(data[i]) << shift
        shift += _EIGHT
        i += _ONE
    return _mixed(h, word)


@inlined
def hash_padded(data: Bytes, at: int, size: int) -> np.uint64:
    """What hash_bytes() gives, in fewer steps; up to eight bytes behind data[at:at+size] are read."""
    h, i, left = _ZERO, np.uint64(at), np.uint64(size)
    while left >= _EIGHT:
        h = _mixed(h, eight(data, i))
        i += _EIGHT
        left -= _EIGHT
    return _mixed(h, eight(data, i) & ((_ONE << (left << _THREE)) - _ONE))


@inlined
def same(a: Bytes, at: int, b: Bytes, start: int, size: int) -> bool:
    """Are a[at:at+size] and b[start:start+size] the same bytes? Nothing outside them is read."""
    i, j, end = np.uint64(at), np.uint64(start), np.uint64(at + size)
    if size >= 8:
        while i + _EIGHT < end:
            if eight(a, i) != eight(b, j):
                return False
            i += _EIGHT
            j += _EIGHT
        back = i + _EIGHT - end  # the last eight overlap those before them
        return bool(eight(a, i - back) == eight(b, j - back))
    while i < end:
        if a[i] != b[j]:
            return False
        i += _ONE
        j += _ONE
    return True
