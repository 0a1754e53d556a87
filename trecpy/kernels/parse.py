"""
Bytes of a qrels, run or preference file to packed arrays: one pass, one record a line, no Python object a line.

Nothing here decides whether an odd value is an error: what is not plainly a number is left to the caller
(trecpy.formats), with its place.

Bytes are counted in uint64: an index that may be negative costs a comparison each time; hashing took 3 times as long.
"""

import numpy as np

from trecpy.kernels._jit import compiled, inlined
from trecpy.kernels.dtypes import Bytes, Int32s, Integers, Reals, Words
from trecpy.kernels.strings import eight, hash_bytes, hash_padded, same

# Entries of `layout`, which says what a line must look like. A column is an index from 0, or -1 where there is none.
COLUMNS, EXACT, DOC, VALUE, TAG, FIRST_SPAN, SECOND_SPAN, COMMENTS, BLANKS, INTEGER = range(10)
LAYOUT_SIZE = 10
# Values of layout[COMMENTS]: none, lines whose first byte is '#', lines whose first byte that is not blank is '#'.
NO_COMMENTS, HASH_FIRST, HASH_INDENTED = range(3)

# Entries of `state`, what a call found.
RECORDS, LINES, TOPICS, MIXED, BACK, TAG_AT, TAG_SIZE, ODD, FOUND, COMMENT_TOPICS, COMMENT_AT, CURRENT = range(12)
STATE_SIZE = 12

# What parse() returns.
DONE, WRONG_COLUMNS = range(2)

MAX_COLUMNS = 6

_32 = np.uint64(32)
_LOW32 = np.uint64(0xFFFFFFFF)
_ZERO, _ONE, _TEN, _128 = np.uint64(0), np.uint64(1), np.uint64(10), np.uint64(128)
_11, _52, _63 = np.uint64(11), np.uint64(52), np.uint64(63)
_HALF, _BELOW_HALF, _TAIL = np.uint64(0x400), np.uint64(0x3FF), np.uint64(0x7FF)
_NEARLY = np.uint64(0xFFFFFFFFFFFFFFF0)
_FRACTION = np.uint64(0xFFFFFFFFFFFFF)
_2_53, _2_63 = np.uint64(1 << 53), np.uint64(1 << 63)
_EXACT_TENS = np.array([10.0**i for i in range(23)])
_2, _4, _6, _56 = np.uint64(2), np.uint64(4), np.uint64(6), np.uint64(56)
# Every second bit, every second pair of bits, every second four; the lowest bit of each byte.
_BITS_1, _BITS_2, _BITS_4, _BYTES_1 = (np.uint64(byte * 0x0101010101010101) for byte in (0x55, 0x33, 0x0F, 0x01))
_GATHER = np.uint64(0x0102040810204080)  # times eight bytes that are 0 or 1: these as the bits of the highest byte
_LARGEST_EXPONENT = 10**17  # beyond any number of digits
_MOST_DIGITS = 19  # of a number that always fits 64 bits

FIRST_POWER, LAST_POWER = -342, 308
POWER_BIAS = 4096


def powers_of_five() -> Words:
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
def _ones(word: np.uint64) -> np.uint64:
    """How many bits are set; that and what _next_edge() makes of it are one instruction each of a processor."""
    word -= (word >> _ONE) & _BITS_1
    word = (word & _BITS_2) + ((word >> _2) & _BITS_2)
    word = (word + (word >> _4)) & _BITS_4
    return np.uint64((word * _BYTES_1) >> _56)


@inlined
def _next_edge(edges: Words, group: np.uint64, left: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Group and what is left of it, as they are behind the next edge, and the place of that edge."""
    while left == _ZERO:
        group += _ONE
        left = edges[group]
    below = left - _ONE
    return group, left & below, (group << _6) + _ones(~left & below)


@inlined
def _multiply(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The 128-bit product of two uint64 as (high, low)."""
    a0, a1, b0, b1 = a & _LOW32, a >> _32, b & _LOW32, b >> _32
    low, middle, other, high = a0 * b0, a1 * b0, a0 * b1, a1 * b1
    carry = (low >> _32) + (middle & _LOW32) + (other & _LOW32)
    return high + (middle >> _32) + (other >> _32) + (carry >> _32), a * b


@inlined
def _round(mantissa: np.uint64, power: np.int64, powers: Words) -> np.uint64:
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
def _number(data: Bytes, at: int, end: int, powers: Words, score: Reals, bits: Words, record: int) -> bool:
    """
    Read data[at:end] into score[record] if it is a decimal number, with an exponent or without, and nothing else.

    False: it is not, or its rounding is not decided here; nothing was written that counts.
    """
    begin, stop = np.uint64(at), np.uint64(end)
    negative = data[begin] == 45
    if negative or data[begin] == 43:
        begin += _ONE
    i = begin
    mantissa = _ZERO
    while i < stop and 48 <= data[i] <= 57:
        mantissa = mantissa * _TEN + np.uint64(data[i] - 48)
        i += _ONE
    digits, power = np.int64(i - begin), np.int64(0)
    if i < stop and data[i] == 46:
        i += _ONE
        point = i
        while i < stop and 48 <= data[i] <= 57:
            mantissa = mantissa * _TEN + np.uint64(data[i] - 48)
            i += _ONE
        power = -np.int64(i - point)
        digits -= power
    if digits == 0:
        return False
    cut = False
    if digits > _MOST_DIGITS:
        # Once more: the first 19 digits behind leading zeros; those behind them only move the point.
        mantissa, kept = _ZERO, 0
        j = begin
        while j < i:
            if data[j] != 46:
                if kept < _MOST_DIGITS:
                    mantissa = mantissa * _TEN + np.uint64(data[j] - 48)
                    kept += mantissa != _ZERO
                else:
                    cut = cut or data[j] != 48
                    power += 1
            j += _ONE
    if i < stop and data[i] | 32 == 101:
        i += _ONE
        down = i < stop and data[i] == 45
        if i < stop and (down or data[i] == 43):
            i += _ONE
        if i == stop:
            return False
        written = 0
        while i < stop and 48 <= data[i] <= 57:
            if written < _LARGEST_EXPONENT:
                written = 10 * written + int(data[i]) - 48
            i += _ONE
        power += -written if down else written
    if i < stop:
        return False
    if mantissa == _ZERO:
        score[record] = -0.0 if negative else 0.0
    elif not cut and mantissa < _2_53 and -22 <= power <= 22:
        value = np.float64(np.int64(mantissa))
        value = value / _EXACT_TENS[-power] if power < 0 else value * _EXACT_TENS[power]
        score[record] = -value if negative else value
    else:
        rounded = _round(mantissa, power, powers)
        if rounded == _ZERO or (cut and _round(mantissa + _ONE, power, powers) != rounded):
            return False
        bits[record] = rounded | _2_63 if negative else rounded
    return True


@inlined
def _integer(data: Bytes, at: int, end: int, level: Integers, record: int) -> bool:
    """Read data[at:end] into level[record] if it is an integer of at most 18 digits, and nothing else."""
    negative = data[at] == 45
    begin = at + 1 if negative or data[at] == 43 else at
    if begin == end or end - begin >= _MOST_DIGITS:
        return False
    value = 0
    for i in range(begin, end):
        if not 48 <= data[i] <= 57:
            return False
        value = 10 * value + int(data[i]) - 48
    level[record] = -value if negative else value
    return True


@compiled
def find_edges(data: Bytes, start: int, stop: int, flags: Bytes, edges: Words) -> None:
    """
    Find where columns begin and end in the lines data[start:stop].

    data: uint8[>=stop+64]; flags: uint8[64]  scratch
    edges: uint64[>stop//64]  written from start//64 on: bit i of edges[g] tells whether one of the bytes 64*g + i and
        the one before is blank and the other not. What lies before start counts as blank, what lies from stop on does
        not: where a newline ends the last line, the last edge is at stop, and parse() ends there.
    """
    group, last = np.uint64(start) >> _6, np.uint64(stop) >> _6
    before, outside = _ONE, (_ONE << (np.uint64(start) & _63)) - _ONE
    while group <= last:
        base = group << _6
        for j in range(64):  # many at a time
            c = data[base + np.uint64(j)]
            flags[j] = np.uint8(c == 32) | np.uint8(np.uint8(c - np.uint8(9)) < np.uint8(5))
        blank = outside
        for j in range(8):
            blank |= ((eight(flags, np.uint64(8 * j)) * _GATHER) >> _56) << np.uint64(8 * j)
        if group == last:
            blank &= (_ONE << (np.uint64(stop) & _63)) - _ONE
        edges[group] = blank ^ ((blank << _ONE) | before)
        before, outside = blank >> _63, _ZERO
        group += _ONE
    edges[last] &= (_2 << (np.uint64(stop) & _63)) - _ONE  # nothing behind the edge at stop


@compiled
def parse(
    data: Bytes,
    start: int,
    stop: int,
    layout: Integers,
    powers: Words,
    state: Integers,
    edges: Words,
    begins: Integers,
    ends: Integers,
    slots: Int32s,
    topics: Integers,
    arena: Bytes,
    topic: Int32s,
    spans: Integers,
    hashes: Words,
    score: Reals,
    bits: Words,
    level: Integers,
    odd: Integers,
) -> int:
    """
    Read the lines of data[start:stop] into records; return DONE, or WRONG_COLUMNS at line state[LINES].

    Reads
        data: uint8[>=stop+8]  no NUL; data[stop-1] is a newline
        layout: int64[LAYOUT_SIZE]; powers: uint64[651, 3]  from powers_of_five()
        edges  from find_edges(), of the same data up to stop
    Scratch
        begins, ends: int64[MAX_COLUMNS]  of each column of a line
    Writes
        state: int64[STATE_SIZE], 0 (as given)  RECORDS in the arrays below, LINES, TOPICS, the line at which a topic
            came back after another (MIXED, or 0) and which (BACK), the TAG of the last line, ODD values, the columns
            FOUND in a line of the wrong length, COMMENT_TOPICS: comments that read like data, where the first of them
            begins (COMMENT_AT), 1 + the CURRENT topic.
            As a call left it, with ODD 0, the next one goes on behind the last line, which was of the wrong length
        slots: int32[power of two], -1 (as given), at least twice as long as topics there can be
        topics: int64[T, 4]  place in arena, size, hash and slot of each topic, in order of appearance
        arena: uint8[]  the topics' bytes end to end
    Writes, one row a record
        topic: int32[N]  number of its topic
        spans: int64[N, 2, 4 or 6]  place in data and size of docno, and of the layout's first and second span
        hashes: uint64[N]  of the docno
        score, bits: float64[N] and the same memory as uint64[N], or level: int64[N] where layout[INTEGER]
        odd: int64[N, 2]  record, place: values that are not plainly numbers; they are not written
    """
    wanted, exact, doc, value = layout[COLUMNS], layout[EXACT], layout[DOC], layout[VALUE]
    tag, first, second = layout[TAG], layout[FIRST_SPAN], layout[SECOND_SPAN]
    comments, blanks, integer = layout[COMMENTS], layout[BLANKS], layout[INTEGER]
    mask = np.uint64(len(slots) - 1)
    record, line, current = state[RECORDS], state[LINES], state[CURRENT] - 1
    begin, after = np.uint64(start), np.uint64(stop)
    group = begin >> _6
    left = edges[group] & ~((_ONE << (begin & _63)) - _ONE)
    group, left, token = _next_edge(edges, group, left)
    while True:
        i = begin
        while i < token:  # blank lines, and what is blank before the first column
            if data[i] == 10:
                line += 1
                begin = i + _ONE
                if not blanks:
                    state[RECORDS], state[LINES], state[FOUND], state[CURRENT] = record, line, 0, current + 1
                    return WRONG_COLUMNS
            i += _ONE
        if token == after:
            break
        line += 1
        count = 0
        while True:
            group, left, end = _next_edge(edges, group, left)
            if count < wanted:
                begins[count], ends[count] = token, end
            count += 1
            group, left, token = _next_edge(edges, group, left)
            while end < token and data[end] != 10:
                end += _ONE
            if end < token:
                break
        line_start, begin = np.int64(begin), end + _ONE
        if comments != NO_COMMENTS and data[begins[0]] == 35:
            if comments == HASH_INDENTED or begins[0] == line_start:
                if count >= wanted and ends[0] - line_start > 1 and 43 <= data[begins[value]] <= 57:
                    # A guess, for a warning: an id behind the '#' and a sign or digit where the value would be.
                    if state[COMMENT_TOPICS] == 0:
                        state[COMMENT_AT] = line_start
                    state[COMMENT_TOPICS] += 1
                continue
        if count < wanted or (exact and count > wanted):
            state[RECORDS], state[LINES], state[FOUND], state[CURRENT] = record, line, count, current + 1
            return WRONG_COLUMNS

        place, size = begins[0], ends[0] - begins[0]
        # Most lines have the topic of the line before.
        if current < 0 or topics[current, 1] != size or not same(arena, topics[current, 0], data, place, size):
            h = np.int64(hash_padded(data, place, size))
            slot = np.uint64(h) & mask
            while slots[slot] >= 0:
                known = slots[slot]
                if topics[known, 2] == h and topics[known, 1] == size:
                    if same(arena, topics[known, 0], data, place, size):
                        break
                slot = (slot + _ONE) & mask
            if slots[slot] < 0:
                number = state[TOPICS]
                free = topics[number - 1, 0] + topics[number - 1, 1] if number > 0 else 0
                topics[number, 0], topics[number, 1], topics[number, 2], topics[number, 3] = free, size, h, slot
                for j in range(size):
                    arena[free + j] = data[place + j]
                slots[slot] = number
                state[TOPICS] = number + 1
            elif state[MIXED] == 0:
                state[MIXED], state[BACK] = line, slots[slot]
            current = np.int64(slots[slot])
        topic[record] = current

        spans[record, 0], spans[record, 1] = begins[doc], ends[doc] - begins[doc]
        hashes[record] = hash_padded(data, spans[record, 0], spans[record, 1])
        if first >= 0:
            spans[record, 2], spans[record, 3] = begins[first], ends[first] - begins[first]
        if second >= 0:
            spans[record, 4], spans[record, 5] = begins[second], ends[second] - begins[second]
        if integer:
            plain = _integer(data, begins[value], ends[value], level, record)
        else:
            plain = _number(data, begins[value], ends[value], powers, score, bits, record)
        if not plain:
            odd[state[ODD], 0], odd[state[ODD], 1] = record, begins[value]
            state[ODD] += 1
        if tag >= 0:
            state[TAG_AT], state[TAG_SIZE] = begins[tag], ends[tag] - begins[tag]
        record += 1
    state[RECORDS], state[LINES] = record, line
    return DONE


@compiled
def last_topic(data: Bytes, start: int, stop: int, comments: int) -> int:
    """
    Where the lines of the last topic begin in the whole lines data[start:stop]; stop where none has a topic.

    comments: as layout[COMMENTS]; comments and blank lines belong to no topic
    """
    cut, at, size = stop, 0, 0
    end = stop
    while end > start:
        begin = end - 1
        while begin > start and data[begin - 1] != 10:
            begin -= 1
        i = begin
        while data[i] == 32 or (9 <= data[i] <= 13 and data[i] != 10):
            i += 1
        comment = data[i] == 35 and (comments == HASH_INDENTED or (comments == HASH_FIRST and i == begin))
        if data[i] != 10 and not comment:
            if size == 0:
                at = i
                while data[i] > 32 or not (data[i] == 32 or 9 <= data[i] <= 13):
                    i += 1
                size = i - at
            elif (
                not same(data, at, data, i, size)
                or data[i + size] > 32
                or not (data[i + size] == 32 or 9 <= data[i + size] <= 13)
            ):
                break
            cut = begin
        end = begin
    return cut


@compiled
def count_lines(data: Bytes, start: int, stop: int) -> int:
    """How many lines end in data[start:stop]; counted in single bytes, of which a processor adds many at a time."""
    count = np.int64(0)
    i, end = np.uint64(start), np.uint64(stop)
    while i + _128 <= end:
        some = np.uint8(0)
        for j in range(128):
            some = np.uint8(some + np.uint8(data[i + np.uint64(j)] == 10))
        count += np.int64(some)
        i += _128
    while i < end:
        count += np.int64(data[i] == 10)
        i += _ONE
    return int(count)


@compiled
def intern(data: Bytes, spans: Integers, column: int, slots: Int32s, known: Integers) -> int:
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
                if same(data, spans[first, column], data, at, size):
                    break
            slot = (slot + _ONE) & mask
        if slots[slot] < 0:
            slots[slot] = count
            known[count, 0] = r
            count += 1
        known[r, 1] = slots[slot]
    return count


@compiled
def hash_all(data: Bytes, spans: Integers, hashes: Words) -> None:
    """hashes: uint64[N]  written: hash_bytes() of each string: place and size in spans: int64[N, >=2]."""
    for i in range(len(spans)):
        hashes[i] = hash_bytes(data, spans[i, 0], spans[i, 1])


@compiled
def join(data: Bytes, spans: Integers, joined: Bytes) -> None:
    """joined: uint8[>= sizes + N]  written: each string and a newline; spans: int64[N, >=2]  place and size in data."""
    at = 0
    for i in range(len(spans)):
        for j in range(spans[i, 0], spans[i, 0] + spans[i, 1]):
            joined[at] = data[j]
            at += 1
        joined[at] = 10
        at += 1
