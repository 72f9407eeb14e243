"""A Bloom filter that saves look-ups on disk.

It never decides by itself: a key that passes must be confirmed; a key that does not pass was
never added.
"""

from array import array
from collections.abc import Iterable

_WORD_BYTES = 8
_PATTERN_BITS = 12
_PATTERN_MASK = (1 << _PATTERN_BITS) - 1
_PATTERNS = tuple((1 << (n & 63)) | (1 << (n >> 6)) for n in range(1 << _PATTERN_BITS))
"""The pair of bits to set in a word, indexed by twelve bits of a hash."""


class BloomFilter:
    """Sets four bits per key, all in one 64-bit word, so that a look-up touches one word.

    It uses Python's `hash`, which differs between processes, so a filter is never pickled.
    """

    __slots__ = ("_word_mask", "_words")

    def __init__(self, size_bytes: int) -> None:
        """Create a filter of at most `size_bytes`, but at least one word."""
        words = 1 << (max(size_bytes // _WORD_BYTES, 1).bit_length() - 1)
        self._words = array("Q", bytes(words * _WORD_BYTES))
        self._word_mask = words - 1

    @property
    def size_bytes(self) -> int:
        """The memory that the filter takes; it does not grow with the number of keys."""
        return len(self._words) * _WORD_BYTES

    def add(self, keys: Iterable[bytes]) -> None:
        """Add keys."""
        words, word_mask, patterns = self._words, self._word_mask, _PATTERNS
        for hashed in map(hash, keys):
            words[(hashed >> 2 * _PATTERN_BITS) & word_mask] |= (
                patterns[hashed & _PATTERN_MASK]
                | patterns[(hashed >> _PATTERN_BITS) & _PATTERN_MASK]
            )

    def candidates(self, keys: Iterable[bytes]) -> list[bytes]:
        """Return the keys that may have been added: all that were, and a few that were not."""
        words, word_mask, patterns = self._words, self._word_mask, _PATTERNS
        candidates = []
        for key in keys:
            hashed = hash(key)
            absent = ~words[(hashed >> 2 * _PATTERN_BITS) & word_mask]
            if absent & patterns[hashed & _PATTERN_MASK]:
                continue
            if not absent & patterns[(hashed >> _PATTERN_BITS) & _PATTERN_MASK]:
                candidates.append(key)
        return candidates
