"""
Bytes of a qrels, run or preference file to packed arrays: one pass, one record a line, no Python object a line.

Nothing here decides whether an odd line is an error: oddities are counted, with the line of the first, and the
caller (trecpy.formats) says what they mean.
"""

import numpy as np

from trecpy.kernels._jit import compiled, inlined
from trecpy.kernels.dtypes import Bytes, Hashes, Integers, Numbers, Reals

# Entries of `layout`, which says what a line must look like. A column is an index from 0, or -1 where there is none.
COLUMNS, EXACT, DOC, VALUE, TAG, GROUP, SUBGROUP, COMMENTS, BLANKS, INTEGER = range(10)
LAYOUT_SIZE = 10
# Values of layout[COMMENTS]: none, lines whose first byte is '#', lines whose first byte that is not blank is '#'.
NO_COMMENTS, HASH_FIRST, HASH_INDENTED = range(3)

# Entries of `state`, which is carried from call to call.
RECORDS, LINES, TOPICS, CURRENT, MIXED, TAG_AT, TAG_SIZE, SLOW, FOUND, COMMENT_TOPICS = range(10)
STATE_SIZE = 10

# Rows of `notes`: [how often, line of the first, place of its value in data].
NOT_A_NUMBER, CUT_NUMBER = range(2)
NOTES_SIZE = 2

# What parse() returns.
DONE, WRONG_COLUMNS, NAN_VALUE = range(3)

# What _number() returns, and what it leaves to a slower reader that knows every form.
_WHOLE, _CUT, _NONE, _NAN, _UNDECIDED = range(5)

MAX_COLUMNS = 6

_FNV_BASIS = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_32 = np.uint64(32)
_LOW32 = np.uint64(0xFFFFFFFF)
_ZERO, _ONE, _TEN = np.uint64(0), np.uint64(1), np.uint64(10)
_11, _52, _63 = np.uint64(11), np.uint64(52), np.uint64(63)
_HALF, _BELOW_HALF, _TAIL = np.uint64(0x400), np.uint64(0x3FF), np.uint64(0x7FF)
_NEARLY = np.uint64(0xFFFFFFFFFFFFFFF0)
_FRACTION = np.uint64(0xFFFFFFFFFFFFF)
_2_53, _2_63 = np.uint64(1 << 53), np.uint64(1 << 63)
_EXACT_TENS = np.array([10.0**i for i in range(23)])

FIRST_POWER, LAST_POWER = -342, 308
POWER_BIAS = 4096


def powers_of_five() -> Hashes:
    """
    The table that parse() rounds decimals with.

    Returns uint64[651, 3]: for q = -342..308 the leading 128 bits of 5**q as (high, low), rounded down, and the
    exponent of the last of them plus POWER_BIAS.
    """
    table = np.empty((LAST_POWER - FIRST_POWER + 1, 3), np.uint64)
    for q in range(FIRST_POWER, LAST_POWER + 1):
        if q >= 0:
            power = 5**q
            exponent = power.bit_length() - 128
            leading = power >> exponent if exponent > 0 else power << -exponent
        else:
            divisor = 5**-q
            exponent = -(divisor.bit_length() + 127)
            leading = (1 << -exponent) // divisor
            if leading.bit_length() > 128:  # where the divisor is far from the next power of two
                leading >>= 1
                exponent += 1
        table[q - FIRST_POWER] = leading >> 64, leading & (2**64 - 1), exponent + POWER_BIAS
    return table


@inlined
def hash_bytes(data: Bytes, at: int, size: int) -> np.uint64:
    """64-bit FNV-1a of data[at:at+size], mixed so that its low bits serve as the index of a table."""
    h = _FNV_BASIS
    for i in range(at, at + size):
        h = (h ^ np.uint64(data[i])) * _FNV_PRIME
    h = (h ^ (h >> _32)) * _MIX
    return h ^ (h >> _32)


@inlined
def _multiply(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The 128-bit product of two uint64 as (high, low)."""
    a0, a1, b0, b1 = a & _LOW32, a >> _32, b & _LOW32, b >> _32
    low, middle, other, high = a0 * b0, a1 * b0, a0 * b1, a1 * b1
    carry = (low >> _32) + (middle & _LOW32) + (other & _LOW32)
    return high + (middle >> _32) + (other >> _32) + (carry >> _32), a * b


@inlined
def _round(mantissa: np.uint64, power: int, powers: Hashes) -> np.uint64:
    """
    Mantissa * 10**power to the nearest double, as its bits; 0 where 128 bits of 5**power do not decide.

    The product with the truncated power is too small by less than 2 units of its 128th bit (4 after the shift), so
    only a remainder that close below one half, or one half itself, is undecided. As in Lemire 2021 (Number parsing at
    a gigabyte per second), but that what he proves away is left to the slow reader here: halves, subnormal and
    infinite values.
    """
    if power < FIRST_POWER or power > LAST_POWER:
        return _ZERO
    row = power - FIRST_POWER
    shift = 0
    while mantissa < _2_63:
        mantissa <<= _ONE
        shift += 1
    high, middle = _multiply(mantissa, powers[row, 0])
    carry, _ = _multiply(mantissa, powers[row, 1])
    middle += carry
    if middle < carry:
        high += _ONE
    exponent = 191 - shift + power + np.int64(powers[row, 2]) - POWER_BIAS
    if high < _2_63:
        high = (high << _ONE) | (middle >> _63)
        middle <<= _ONE
        exponent -= 1
    tail = high & _TAIL
    if (tail == _HALF and middle == _ZERO) or (tail == _BELOW_HALF and middle >= _NEARLY):
        return _ZERO
    leading = high >> _11
    if tail >= _HALF:
        leading += _ONE
        if leading == _2_53:
            leading >>= _ONE
            exponent += 1
    if exponent < -1022 or exponent > 1023:
        return _ZERO
    return (np.uint64(exponent + 1023) << _52) | (leading & _FRACTION)


@inlined
def _word(data: Bytes, at: int, end: int, first: int, second: int, third: int) -> bool:
    """Does data[at:end] begin with these three letters (given in lower case)?"""
    return at + 3 <= end and data[at] | 32 == first and data[at + 1] | 32 == second and data[at + 2] | 32 == third


@inlined
def _number(data: Bytes, at: int, end: int, powers: Hashes, score: Reals, bits: Hashes, record: int) -> int:
    """
    Read the longest prefix of data[at:end] that is a number, as C's strtod does, into score[record].

    Returns _WHOLE, _CUT (text behind the number), _NONE (no number, value 0), _NAN, or _UNDECIDED (hexadecimal, or
    rounding that this cannot decide: nothing written).
    """
    negative = data[at] == 45
    i = at + 1 if negative or data[at] == 43 else at
    mantissa, digits, power = _ZERO, 0, 0
    seen, lost = False, False
    start = i
    while i < end and 48 <= data[i] <= 57:
        seen = True
        if digits < 19:
            mantissa = mantissa * _TEN + np.uint64(data[i] - 48)
            if mantissa != _ZERO:
                digits += 1
        else:
            power += 1
            lost = lost or data[i] != 48
        i += 1
    if i == start + 1 and mantissa == _ZERO and i < end and data[i] | 32 == 120:
        return _UNDECIDED
    if i < end and data[i] == 46:
        j = i + 1
        while j < end and 48 <= data[j] <= 57:
            seen = True
            if digits < 19:
                mantissa = mantissa * _TEN + np.uint64(data[j] - 48)
                power -= 1
                if mantissa != _ZERO:
                    digits += 1
            else:
                lost = lost or data[j] != 48
            j += 1
        if seen:
            i = j
    if not seen:
        score[record] = 0.0
        if _word(data, start, end, 105, 110, 102):
            score[record] = -np.inf if negative else np.inf
            i = start + 3
            if (
                _word(data, i, end, 105, 110, 105)
                and i + 5 <= end
                and data[i + 3] | 32 == 116
                and data[i + 4] | 32 == 121
            ):
                i += 5
            return _WHOLE if i == end else _CUT
        return _NAN if _word(data, start, end, 110, 97, 110) else _NONE
    if i < end and data[i] | 32 == 101:
        j = i + 1
        down = j < end and data[j] == 45
        if j < end and (down or data[j] == 43):
            j += 1
        written = 0
        if j < end and 48 <= data[j] <= 57:
            while j < end and 48 <= data[j] <= 57:
                if written < 1_000_000:
                    written = 10 * written + int(data[j]) - 48
                j += 1
            i = j
            power += -written if down else written
    if mantissa == _ZERO:
        score[record] = -0.0 if negative else 0.0
    elif not lost and mantissa < _2_53 and -22 <= power <= 22:
        value = np.float64(mantissa)
        value = value / _EXACT_TENS[-power] if power < 0 else value * _EXACT_TENS[power]
        score[record] = -value if negative else value
    else:
        rounded = _round(mantissa, power, powers)
        if rounded == _ZERO or (lost and _round(mantissa + _ONE, power, powers) != rounded):
            return _UNDECIDED
        bits[record] = rounded | _2_63 if negative else rounded
    return _WHOLE if i == end else _CUT


@inlined
def _integer(data: Bytes, at: int, end: int, level: Integers, record: int) -> int:
    """Read the integer that data[at:end] begins with, as C's strtol does, clamped to 64 bits, into level[record]."""
    negative = data[at] == 45
    i = at + 1 if negative or data[at] == 43 else at
    start = i
    value = _ZERO
    while i < end and 48 <= data[i] <= 57:
        digit = np.uint64(data[i] - 48)
        if value > (_2_63 - digit) // _TEN:
            value = _2_63
        else:
            value = value * _TEN + digit
        i += 1
    if negative:
        level[record] = np.int64(~value + _ONE)
    else:
        level[record] = np.int64(min(value, _2_63 - _ONE))
    if i == start:
        return _NONE
    return _WHOLE if i == end else _CUT


@inlined
def _same(a: Bytes, at: int, b: Bytes, start: int, size: int) -> bool:
    """Are a[at:at+size] and b[start:start+size] the same bytes?"""
    for i in range(size):
        if a[at + i] != b[start + i]:
            return False
    return True


@compiled
def parse(
    data: Bytes,
    start: int,
    stop: int,
    layout: Integers,
    powers: Hashes,
    state: Integers,
    notes: Integers,
    slots: Numbers,
    topics: Integers,
    arena: Bytes,
    topic: Numbers,
    spans: Integers,
    hashes: Hashes,
    score: Reals,
    bits: Hashes,
    level: Integers,
    slow: Integers,
) -> int:
    """
    Read the lines of data[start:stop] into records; return DONE, or the fault of line state[LINES].

    Reads
        data: uint8[>=stop]  no NUL; data[stop-1] is a newline
        layout: int64[LAYOUT_SIZE], powers: uint64[651, 3]  from powers_of_five()
    Reads and writes, carried from block to block
        state: int64[STATE_SIZE]  RECORDS so far in the arrays below, LINES of the file so far, TOPICS seen, CURRENT
            topic, MIXED = 1 once a topic came back after another, the TAG of the last line, SLOW values, and what was
            FOUND at fault: the columns of a line of the wrong length, or the place of a value that is NaN
        notes: int64[NOTES_SIZE, 3]  how often, line of the first, place of its value in data
        slots: int32[power of two], -1 where free, at least twice as long as topics there can be
        topics: int64[T, 3]  place in arena, size, hash of each topic, in order of appearance
        arena: uint8[]  the topics' bytes end to end
    Writes, one row a record
        topic: int32[N]  number of its topic
        spans: int64[N, 2, 4 or 6]  place in data and size of docno, group, subgroup
        hashes: uint64[N]  of the docno
        score, bits: float64[N] and the same memory as uint64[N], or level: int64[N] where layout[INTEGER]
        slow: int64[N, 2]  record, place: values that are left to a slower reader
    """
    first = np.empty(MAX_COLUMNS, np.int64)
    after = np.empty(MAX_COLUMNS, np.int64)
    columns, exact, doc_column, value_column = layout[COLUMNS], layout[EXACT], layout[DOC], layout[VALUE]
    tag_column, group, subgroup = layout[TAG], layout[GROUP], layout[SUBGROUP]
    comments, blanks, integer = layout[COMMENTS], layout[BLANKS], layout[INTEGER]
    mask = np.uint64(len(slots) - 1)
    record, line, current = state[RECORDS], state[LINES], state[CURRENT]
    i = start
    while i < stop:
        line += 1
        begin = i
        count = 0
        while True:
            c = data[i]
            while c == 32 or (9 <= c <= 13 and c != 10):
                i += 1
                c = data[i]
            if c == 10:
                break
            if count == columns and not exact:
                while data[i] != 10:
                    i += 1
                count += 1
                break
            token = i
            while c > 32 or not (c == 32 or 9 <= c <= 13):
                i += 1
                c = data[i]
            if count < columns:
                first[count] = token
                after[count] = i
            count += 1
        i += 1
        if count == 0:
            if blanks:
                continue
        elif comments != NO_COMMENTS and data[first[0]] == 35 and (comments == HASH_INDENTED or first[0] == begin):
            if count >= columns and after[0] - first[0] > 1 and 43 <= data[first[value_column]] <= 57:
                state[COMMENT_TOPICS] += 1  # reads like data of a topic whose id begins with '#'
            continue
        if count < columns or (exact and count > columns):
            state[RECORDS], state[LINES], state[CURRENT], state[FOUND] = record, line, current, count
            return WRONG_COLUMNS

        place, size = first[0], after[0] - first[0]
        if current < 0 or topics[current, 1] != size or not _same(arena, topics[current, 0], data, place, size):
            h = np.int64(hash_bytes(data, place, size))
            slot = np.uint64(h) & mask
            while slots[slot] >= 0:
                known = slots[slot]
                if topics[known, 2] == h and topics[known, 1] == size:
                    if _same(arena, topics[known, 0], data, place, size):
                        break
                slot = (slot + _ONE) & mask
            if slots[slot] < 0:
                number = state[TOPICS]
                free = topics[number - 1, 0] + topics[number - 1, 1] if number > 0 else 0
                topics[number, 0], topics[number, 1], topics[number, 2] = free, size, h
                for j in range(size):
                    arena[free + j] = data[place + j]
                slots[slot] = number
                state[TOPICS] = number + 1
            else:
                state[MIXED] = 1
            current = np.int64(slots[slot])
        topic[record] = current

        spans[record, 0], spans[record, 1] = first[doc_column], after[doc_column] - first[doc_column]
        hashes[record] = hash_bytes(data, spans[record, 0], spans[record, 1])
        if group >= 0:
            spans[record, 2], spans[record, 3] = first[group], after[group] - first[group]
        if subgroup >= 0:
            spans[record, 4], spans[record, 5] = first[subgroup], after[subgroup] - first[subgroup]

        if integer:
            status = _integer(data, first[value_column], after[value_column], level, record)
        else:
            status = _number(data, first[value_column], after[value_column], powers, score, bits, record)
        if status == _CUT or status == _NONE:
            note = CUT_NUMBER if status == _CUT else NOT_A_NUMBER
            if notes[note, 0] == 0:
                notes[note, 1], notes[note, 2] = line, first[value_column]
            notes[note, 0] += 1
        elif status == _UNDECIDED:
            slow[state[SLOW], 0], slow[state[SLOW], 1] = record, first[value_column]
            state[SLOW] += 1
        elif status == _NAN:
            state[RECORDS], state[LINES], state[CURRENT], state[FOUND] = record, line, current, first[value_column]
            return NAN_VALUE
        if tag_column >= 0:
            state[TAG_AT], state[TAG_SIZE] = first[tag_column], after[tag_column] - first[tag_column]
        record += 1
    state[RECORDS], state[LINES], state[CURRENT] = record, line, current
    return DONE


@compiled
def rehash(slots: Numbers, topics: Integers, count: int) -> None:
    """Enter the first `count` topics (as parse() has them) into slots: int32[power of two], all -1."""
    mask = np.uint64(len(slots) - 1)
    for number in range(count):
        slot = np.uint64(topics[number, 2]) & mask
        while slots[slot] >= 0:
            slot = (slot + _ONE) & mask
        slots[slot] = number


@compiled
def intern(data: Bytes, spans: Integers, column: int, slots: Numbers, known: Integers) -> int:
    """
    Number the distinct byte strings of a column in order of appearance; return how many there are.

    data: uint8[]; spans: int64[N, >column+1]  place and size in columns `column` and `column` + 1
    slots: int32[power of two], -1 where free (as given), at least twice as long as N
    known: int64[N, 3]  written: record that had it first, number of this record's string, hash
    """
    count = 0
    mask = np.uint64(len(slots) - 1)
    for r in range(len(spans)):
        at, size = spans[r, column], spans[r, column + 1]
        h = hash_bytes(data, at, size)
        known[r, 2] = np.int64(h)
        slot = h & mask
        while slots[slot] >= 0:
            first = known[slots[slot], 0]
            if known[first, 2] == known[r, 2] and spans[first, column + 1] == size:
                if _same(data, spans[first, column], data, at, size):
                    break
            slot = (slot + _ONE) & mask
        if slots[slot] < 0:
            slots[slot] = count
            known[count, 0] = r
            count += 1
        known[r, 1] = slots[slot]
    return count
