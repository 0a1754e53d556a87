"""Byte strings that lie in an array: read eight bytes at a time, hashed and compared. For other kernels to take in."""

import numpy as np

from trecpy.kernels._jit import inlined
from trecpy.kernels.dtypes import Bytes

_MIX = np.uint64(0x9E3779B97F4A7C15)
_ZERO, _ONE, _TWO, _THREE, _FOUR = (np.uint64(i) for i in range(5))
_FIVE, _SIX, _SEVEN, EIGHT = (np.uint64(i) for i in range(5, 9))
_16, _24, _32, _40, _48, _56 = (np.uint64(bits) for bits in range(16, 64, 8))


@inlined
def eight(data: Bytes, i: np.uint64) -> np.uint64:
    """The eight bytes from data[i] on, the first one lowest; the compiler makes one load of them."""
    low = np.uint64(data[i]) | np.uint64(data[i + _ONE]) << EIGHT
    low |= np.uint64(data[i + _TWO]) << _16 | np.uint64(data[i + _THREE]) << _24
    high = np.uint64(data[i + _FOUR]) << _32 | np.uint64(data[i + _FIVE]) << _40
    high |= np.uint64(data[i + _SIX]) << _48 | np.uint64(data[i + _SEVEN]) << _56
    return np.uint64(low | high)


@inlined
def mixed(h: np.uint64, word: np.uint64) -> np.uint64:
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
    while i + EIGHT <= end:
        h = mixed(h, eight(data, i))
        i += EIGHT
    word, shift = _ZERO, _ZERO
    while i < end:
        word |= np.uint64(data[i]) << shift
        shift += EIGHT
        i += _ONE
    return mixed(h, word)


@inlined
def hash_padded(data: Bytes, at: int, size: int) -> np.uint64:
    """What hash_bytes() gives, in fewer steps; eight bytes more than data[at:at+size] are read."""
    h, i, left = _ZERO, np.uint64(at), np.uint64(size)
    while left >= EIGHT:
        h = mixed(h, eight(data, i))
        i += EIGHT
        left -= EIGHT
    return mixed(h, eight(data, i) & ((_ONE << (left << _THREE)) - _ONE))


@inlined
def same(a: Bytes, at: int, b: Bytes, start: int, size: int) -> bool:
    """Are a[at:at+size] and b[start:start+size] the same bytes?"""
    i, j, end = np.uint64(at), np.uint64(start), np.uint64(at + size)
    if size >= 8:
        while i + EIGHT < end:
            if eight(a, i) != eight(b, j):
                return False
            i += EIGHT
            j += EIGHT
        back = i + EIGHT - end  # the last eight overlap those before them
        return bool(eight(a, i - back) == eight(b, j - back))
    while i < end:
        if a[i] != b[j]:
            return False
        i += _ONE
        j += _ONE
    return True
