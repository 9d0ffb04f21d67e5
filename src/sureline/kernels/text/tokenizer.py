"""From UTF-8 bytes to the distinct features of each text, with how often it has them.

Words are the runs of letters, digits and underscores of the lower-cased text. Every word is
written, in lower case, to one buffer, with a space behind it: so the name of a word, of
neighbouring words and of the characters of a word is always a part of that buffer.

`read_texts` is given NamedTuples. The functions that it calls take arrays one by one: given
NamedTuples, LLVM inlines less of them, and reading took 13 % longer.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from sureline.kernels.compiling import Kernel, array, given, i8
from sureline.kernels.text.arguments import (
    CHARACTER_TABLES,
    NAMED_VALUES,
    TEXTS,
    TOKEN_BUFFERS,
    TOKEN_RULES,
    Characters,
    NamedValues,
    Texts,
    TokenBuffers,
    TokenRules,
)
from sureline.kernels.text.byte_vectors import SIZE, fold_block, load8, lowest_bit, store8
from sureline.kernels.text.fingerprints import (
    CHARACTERS,
    NAMES,
    ONE,
    WORDS,
    U,
    all_absorbed,
    few_absorbed,
    fingerprint,
    finished,
    first_bytes,
    joined,
)

# What the character tables say.
LOWER, WORD, WORD_AS_IS, CASED, IGNORABLE = (1 << 21) - 1, 1 << 21, 1 << 22, 1 << 23, 1 << 24
SPACE, SIGMA, FINAL_SIGMA, CAPITAL_SIGMA = 0x20, 0x3C3, 0x3C2, 0x3A3
DOTTED_I, DOT_ABOVE = 0x130, 0x307  # the one letter whose lower case is two characters
LAST = 0x10FFFF
HIGH = U(0x8080808080808080)  # the bits of eight bytes that no ASCII character has

CLOSE = 4096  # a table of so many entries stays in the core's own cache
TWO, THREE, FOUR = U(2), U(3), U(4)
BLOCK = 64  # so many words are joined with their neighbours at a time

# How often a text has a feature, as its value.
BINARY, COUNTS, LOG = 0, 1, 2


@register_jitable
def decode(text: Any, place: int, stop: int) -> tuple[int, int]:
    """The character at a place and its number of bytes; a byte of a broken one is no character."""
    first = int(text[place])
    if first < 0x80:
        return first, 1
    if first < 0xC2 or first > 0xF4:
        return LAST, 1
    width = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if place + width > stop:
        return LAST, 1
    code = first & (0xFF >> (width + 1))
    for k in range(1, width):
        code = (code << 6) | (int(text[place + k]) & 0x3F)
    return min(code, LAST), width


@register_jitable
def encode(code: int, out: Any, place: int) -> int:
    """Write a character; return the place behind it."""
    if code < 0x80:
        out[place] = code
        return place + 1
    if code < 0x800:
        out[place] = 0xC0 | (code >> 6)
        out[place + 1] = 0x80 | (code & 0x3F)
        return place + 2
    if code < 0x10000:
        out[place] = 0xE0 | (code >> 12)
        out[place + 1] = 0x80 | ((code >> 6) & 0x3F)
        out[place + 2] = 0x80 | (code & 0x3F)
        return place + 3
    out[place] = 0xF0 | (code >> 18)
    out[place + 1] = 0x80 | ((code >> 12) & 0x3F)
    out[place + 2] = 0x80 | ((code >> 6) & 0x3F)
    out[place + 3] = 0x80 | (code & 0x3F)
    return place + 4


@register_jitable
def is_space(code: int) -> bool:
    """What Python calls white space."""
    if code < 0x80:
        return code == SPACE or 9 <= code <= 13 or 28 <= code <= 31
    if code < 0x2000:
        return code in (0x85, 0xA0, 0x1680)
    return code <= 0x200A or code in (0x2028, 0x2029, 0x202F, 0x205F, 0x3000)


@register_jitable
def ends_word(text: Any, place: int, start: int, stop: int, pages: Any, index: Any) -> bool:
    """Whether the capital sigma at a place is the last letter of a word, as Unicode sees it."""
    before = place
    cased = False
    while before > start:
        before -= 1
        while before > start and (int(text[before]) & 0xC0) == 0x80:
            before -= 1
        code, _ = decode(text, before, stop)
        known = pages[index[code >> 8], code & 0xFF]
        if not known & IGNORABLE:
            cased = bool(known & CASED)
            break
    if not cased:
        return False
    behind = place + 2
    while behind < stop:
        code, width = decode(text, behind, stop)
        known = pages[index[code >> 8], code & 0xFF]
        if not known & IGNORABLE:
            return not known & CASED
        behind += width
    return True


@register_jitable
def lowered(
    code: int, place: int, text: Any, start: int, stop: int, pages: Any, index: Any
) -> tuple[int, bool]:
    """The lower case of the character at a place, and whether that is part of a word."""
    known = pages[index[code >> 8], code & 0xFF]
    if code == CAPITAL_SIGMA:
        return (FINAL_SIGMA if ends_word(text, place, start, stop, pages, index) else SIGMA), True
    lower = known & LOWER
    return (lower if lower else code), bool(known & WORD)


@register_jitable
def add(
    key: Any,
    value: float,
    begin: int,
    length: int,
    bits: int,
    first: int,
    size: int,
    mask: int,
    seen: Any,
    own: Any,
    values: Any,
    starts: Any,
    lengths: Any,
) -> Any:
    """Note a feature of the present text, add to its value, and return how many there are now.

    `own` has the keys of the text, behind the one that is looked for, which whoever comes to an
    empty place finds. A feature that is known is written behind all others for nothing, since
    nobody can guess whether it is, and a wrong guess takes longer.
    """
    if bits:
        key >>= U(64 - bits)
    # Numbers without a sign, since Numba lets others count from the end of an array.
    slot, last, place, number = key & U(mask), U(mask), U(size), U(size - first + 1)
    own[0] = key
    entry = U(seen[slot])
    while own[entry] != key:
        slot = (slot + ONE) & last
        entry = U(seen[slot])
    fresh = U(entry == U(0))
    seen[slot] = entry + fresh * number
    own[number] = key
    starts[place] = begin
    lengths[place] = length
    values[U(first) + entry - ONE + fresh * number] += value
    return size + np.int64(fresh)


@register_jitable
def listed(state: Any, stops: Any) -> bool:
    """Whether a word, of which all bytes are taken in, is a stop word."""
    last = stops.size - 1
    if last == 0:  # there are none
        return False
    key = finished(state)
    slot = np.int64(key >> U(32)) & last
    while stops[slot] != U(0):
        if stops[slot] == key:
            return True
        slot = (slot + 1) & last
    return False


@register_jitable
def find_runs(
    text: Any, start: int, stop: int, lowercase: bool, low: Any, out: int, runs: Any
) -> tuple[int, bool]:
    """Find the runs of a text between ASCII characters that are in no word.

    They are numbered, `runs` says where each begins and ends in the text, and `low` gets the text
    from `out` on, in lower case as far as it is ASCII. Also returned is whether all of it is.
    """
    edges, carry, foreign = 0, U(0), U(0)
    for place in range(start, stop, SIZE):
        at = out + place - start
        if place + SIZE <= text.size:
            words, others = fold_block(text, place, lowercase, low, at)
        else:
            for k in range(SIZE):
                low[at + k] = text[place + k] if place + k < stop else SPACE
            words, others = fold_block(low, at, lowercase, low, at)
        marks = words | others
        if stop - place < SIZE:
            inside = (ONE << U(stop - place)) - ONE
            marks, others = marks & inside, others & inside
        foreign |= others
        changes = marks ^ ((marks << ONE) | carry)
        carry = marks >> U(SIZE - 1)
        while changes:
            runs[U(edges)] = place - start + lowest_bit(changes)
            changes &= changes - ONE
            edges += 1
    if edges & 1:
        runs[edges] = stop - start
        edges += 1
    return edges >> 1, foreign == U(0)


@register_jitable
def keep_word(
    state: Any,
    begin: int,
    end: int,
    begun: int,
    ended: int,
    low: Any,
    count: int,
    word_keys: Any,
    spans: Any,
) -> None:
    """Note the next word, which lies in `low` and in the text from here to there."""
    word = U(count)  # without a sign, as in `add`
    word_keys[word] = state
    span = FOUR * word
    spans[span], spans[span + ONE] = begin, end
    spans[span + TWO], spans[span + THREE] = begun, ended
    low[U(end)] = SPACE


@register_jitable
def is_unspaced(code: int) -> bool:
    """Whether a letter is of a script that version 2 of the scheme takes characters from."""
    if code < 0xE00:
        return False
    if code < 0x3040:  # Thai and Lao, Burmese, Hangul letters, Khmer
        return (
            code < 0xF00
            or 0x1000 <= code < 0x10A0
            or 0x1100 <= code < 0x1200
            or 0x1780 <= code < 0x1800
        )
    if code < 0xD7B0:  # kana, Chinese characters, Hangul
        return code < 0xA000 or code >= 0xAC00
    return 0xF900 <= code < 0xFB00 or 0x20000 <= code < 0x32400


@register_jitable
def find_foreign_words(
    text: Any,
    start: int,
    stop: int,
    run: int,
    end: int,
    lowercase: bool,
    least: int,
    stops: Any,
    letters: Any,
    pages: Any,
    index: Any,
    low: Any,
    out: int,
    count: int,
    word_keys: Any,
    spans: Any,
) -> tuple[int, int, bool]:
    """What `find_words` does for one run of the text, character by character."""
    place, begun, ended = run, run, run
    unspaced = False
    begin, length = out, 0  # of the word that is being read
    while place < end or length:
        inside = place < end
        if inside:
            byte = text[place]
            if byte < 0x80:
                letter = letters[byte]
                place += 1
                inside = letter != 0
                if inside:
                    low[out] = letter
                    out += 1
            else:
                code, width = decode(text, place, end)
                place += width
                unspaced |= is_unspaced(code)
                if code == DOTTED_I and lowercase:  # its dot, a mark, ends the word
                    low[out] = 0x69
                    out += 1
                    length += 1
                    ended = place
                    inside = False
                elif lowercase:
                    code, inside = lowered(code, place - width, text, start, stop, pages, index)
                else:
                    inside = pages[index[code >> 8], code & 0xFF] & WORD_AS_IS != 0
                if inside:
                    out = encode(code, low, out)
        if inside:
            length += 1
            ended = place
            continue
        if length:
            state = all_absorbed(low, begin, out, WORDS)
            if length < least or listed(state, stops):
                out = begin
            else:
                span = begun - start, ended - start
                keep_word(state, begin, out, *span, low, count, word_keys, spans)
                count += 1
                out += 1
        begin, begun, length = out, place, 0
    return out, count, unspaced


@register_jitable
def is_ascii(data: Any, start: int, stop: int) -> bool:
    """Whether all bytes are; `data` must go on for eight bytes after them."""
    high = U(0)
    for place in range(start, stop - 8, 8):
        high |= load8(data, place)
    high |= load8(data, max(start, stop - 8)) & first_bytes(min(stop - start, 8))
    return bool(high & HIGH == U(0))


@register_jitable
def find_words(
    text: Any,
    start: int,
    stop: int,
    lowercase: bool,
    least: int,
    stops: Any,
    letters: Any,
    pages: Any,
    index: Any,
    low: Any,
    out: int,
    runs: Any,
    word_keys: Any,
    spans: Any,
) -> tuple[int, int, bool]:
    """Write the words of a text to `low` from `out` on; return the place behind and their number.

    `spans` says where each word lies in `low` and in the text. Also returned is whether it has
    letters of scripts that are written without spaces.
    """
    # Behind all that words can take: a letter grows by half at most when it becomes small.
    folded = out + 2 * (stop - start) + SIZE
    many, plain = find_runs(text, start, stop, lowercase, low, folded, runs)
    count, unspaced = 0, False
    for run in range(many):
        begun, ended = runs[TWO * U(run)], runs[TWO * U(run) + ONE]
        source, length = folded + begun, ended - begun
        if not plain and not is_ascii(low, source, source + length):
            out, count, found = find_foreign_words(
                text, start, stop, start + begun, start + ended, lowercase, least, stops, letters,
                pages, index, low, out, count, word_keys, spans,
            )  # fmt: skip
            unspaced |= found
            continue
        store8(low, out, load8(low, source))
        store8(low, out + 8, load8(low, source + 8))
        if length <= 16:
            state = few_absorbed(low, source, length, WORDS)
        else:
            for k in range(16, length, 8):
                store8(low, out + k, load8(low, source + k))
            state = all_absorbed(low, source, source + length, WORDS)
        if length < least or listed(state, stops):
            continue
        keep_word(state, out, out + length, begun, ended, low, count, word_keys, spans)
        count += 1
        out += length + 1
    for word in range(count):  # by itself, as many at a time as the machine can
        word_keys[U(word)] = finished(word_keys[U(word)])
    return out, count, unspaced


@register_jitable
def join_neighbours(
    word_keys: Any, begun: int, many: int, count: int, longest: int, chains: Any
) -> None:
    """Fingerprints of some words from `begun` on, alone and with up to `longest` - 1 behind them.

    ``chains[n * BLOCK + k]`` is that of the k-th with n more. They are made in advance, many at a
    time: a wrong guess of the processor whether a feature is new would delay each.
    """
    for k in range(many):
        chains[U(k)] = word_keys[U(begun + k)]
    for n in range(1, longest):
        row = n * BLOCK
        for k in range(min(many, count - begun - n)):
            chains[U(row + k)] = joined(chains[U(row - BLOCK + k)], word_keys[U(begun + n + k)])


@register_jitable
def add_words(
    word_keys: Any,
    spans: Any,
    count: int,
    shortest: int,
    longest: int,
    chains: Any,
    value: float,
    bits: int,
    first: int,
    size: int,
    mask: int,
    seen: Any,
    own: Any,
    values: Any,
    starts: Any,
    lengths: Any,
) -> Any:
    """Note the words of the present text and their neighbours, as `add` does."""
    for begun in range(0, count, BLOCK):
        many = min(BLOCK, count - begun)
        join_neighbours(word_keys, begun, many, count, longest, chains)
        for k in range(many):
            word = begun + k
            begin = spans[FOUR * U(word)]
            for n in range(shortest - 1, min(longest, count - word)):
                length = spans[FOUR * U(word + n) + ONE] - begin
                size = add(
                    chains[U(n * BLOCK + k)], value, begin, length, bits, first, size, mask, seen,
                    own, values, starts, lengths,
                )  # fmt: skip
    return size


@register_jitable
def lower_text(
    text: Any,
    start: int,
    stop: int,
    lowercase: bool,
    pages: Any,
    index: Any,
    low: Any,
    out: int,
) -> int:
    """Write a whole text in lower case, white space as single spaces; return the place behind."""
    place, spaced = start, False
    while place < stop:
        code, width = decode(text, place, stop)
        if is_space(code):
            if not spaced:
                low[out] = SPACE
                out += 1
            spaced = True
        else:
            spaced = False
            if not lowercase:
                out = encode(code, low, out)
            elif code == DOTTED_I:
                out = encode(DOT_ABOVE, low, encode(0x69, low, out))
            else:
                lower, _ = lowered(code, place, text, start, stop, pages, index)
                out = encode(lower, low, out)
        place += width
    return out


@register_jitable
def has_unspaced(low: Any, begin: int, end: int) -> bool:
    """Whether a word has a letter of such a script."""
    place = begin
    while place < end:
        if int(low[place]) < 0xE0:
            place += 1
            continue
        code, width = decode(low, place, end)
        if is_unspaced(code):
            return True
        place += width
    return False


def read_texts(
    texts: Texts,
    named: NamedValues,
    rules: TokenRules,
    characters: Characters,
    buffers: TokenBuffers,
) -> int:
    """The features of each text, in the order in which it first has them.

    The buffers must be large enough for the most there can be. Returns the number of words of the
    last text, whose `spans` are left behind.
    """
    text, offsets = texts
    given_offsets, given_text, given_places, given_values = named
    lowercase, least, stops, bits = rules.lowercase, rules.least, rules.stops, rules.bits
    words_from, words_to, counting = rules.words_from, rules.words_to, rules.counting
    chars_from, chars_to, across = rules.chars_from, rules.chars_to, rules.across
    unspaced = rules.unspaced
    letters, pages, index = characters
    low, runs, word_keys, chains = buffers.low, buffers.runs, buffers.word_keys, buffers.chains
    spans, seen, own, keys = buffers.spans, buffers.seen, buffers.own, buffers.keys
    indptr, values = buffers.indptr, buffers.values
    starts, lengths = buffers.starts, buffers.lengths
    out, size, count = 0, 0, 0
    before, more = (1.0, 0.0) if counting == BINARY else (0.0, 1.0)
    indptr[0] = 0
    for t in range(offsets.size - 1):
        start, stop = offsets[t], offsets[t + 1]
        first = size
        low[out] = SPACE
        lettered, count, found = find_words(
            text, start, stop, lowercase, least, stops, letters, pages, index, low, out + 1, runs,
            word_keys, spans,
        )  # fmt: skip
        out = lettered
        most = count * (words_to - words_from + 1) if words_to else 0
        with_chars = chars_to > 0 and (found or not unspaced)
        if with_chars:
            if across:
                out = lower_text(text, start, stop, lowercase, pages, index, low, out)
                most += (out - lettered) * (chars_to - chars_from + 1)
            elif count:
                most += (out - spans[0] + count) * (chars_to - chars_from + 1)
        if given_offsets.size > 1:
            most += given_offsets[t + 1] - given_offsets[t]
        mask = 15
        while mask < 2 * most or mask < min(4 * most, CLOSE):
            mask = 2 * mask + 1
        seen[: mask + 1] = 0
        values[first : first + most] = before

        if words_to:
            size = add_words(
                word_keys, spans, count, words_from, words_to, chains, more, bits, first, size,
                mask, seen, own, values, starts, lengths,
            )  # fmt: skip
        if with_chars:
            pieces = 1 if across else count
            for piece in range(pieces):
                if unspaced and not has_unspaced(low, spans[4 * piece], spans[4 * piece + 1]):
                    continue
                if across:
                    place, end = lettered, out
                else:
                    place, end = spans[4 * piece] - 1, spans[4 * piece + 1] + 1
                while place < end:
                    behind = place
                    for n in range(1, chars_to + 1):
                        if behind >= end:
                            break
                        behind += 1
                        while behind < end and (int(low[behind]) & 0xC0) == 0x80:
                            behind += 1
                        if n >= chars_from and not (unspaced and n == 1 and low[place] == SPACE):
                            key = fingerprint(low, place, behind, CHARACTERS)
                            size = add(
                                key, more, place, place - behind, bits, first, size, mask,
                                seen, own, values, starts, lengths,
                            )  # fmt: skip
                    place += 1
                    while place < end and (int(low[place]) & 0xC0) == 0x80:
                        place += 1
        if counting == LOG:
            for k in range(first, size):
                values[k] = 1.0 + log(values[k])
        if given_offsets.size > 1:
            for g in range(given_offsets[t], given_offsets[t + 1]):
                begin = out
                for p in range(given_places[g], given_places[g + 1]):
                    low[out] = given_text[p]
                    out += 1
                key, value = fingerprint(low, begin, out, NAMES), np.float64(given_values[g])
                values[size] = 0.0
                size = add(
                    key, value, begin, out - begin, bits, first, size, mask, seen, own,
                    values, starts, lengths,
                )  # fmt: skip
        for k in range(size - first):
            keys[U(first + k)] = own[U(k + 1)]
        indptr[t + 1] = size
    return count


def fill_stops(keys: Any, stops: Any) -> None:
    """Put the fingerprints of stop words into an empty table larger than these."""
    last = stops.size - 1
    for k in range(keys.size):
        slot = np.int64(keys[k] >> U(32)) & last
        while stops[slot] != U(0):
            slot = (slot + 1) & last
        stops[slot] = keys[k]


def fill_stops_signature(real: Any) -> Any:
    """The signature of `fill_stops`."""
    return types.void(given(types.uint64), array(types.uint64))


def find_fingerprints(text: Any, offsets: Any, low: Any, kind: Any, keys: Any) -> None:
    """The fingerprint of each of some names, unchanged."""
    for t in range(offsets.size - 1):
        length = offsets[t + 1] - offsets[t]
        for k in range(length):
            low[k] = text[offsets[t] + k]
        keys[t] = fingerprint(low, 0, length, kind)


def find_fingerprints_signature(real: Any) -> Any:
    """The signature of `find_fingerprints`."""
    u1, u8 = types.uint8, types.uint64
    return types.void(given(u1), given(i8), array(u1), u8, array(u8))


READ_TEXTS = Kernel(
    read_texts, lambda _: i8(TEXTS, NAMED_VALUES, TOKEN_RULES, CHARACTER_TABLES, TOKEN_BUFFERS)
)
FILL_STOPS = Kernel(fill_stops, fill_stops_signature)
FIND_FINGERPRINTS = Kernel(find_fingerprints, find_fingerprints_signature)
