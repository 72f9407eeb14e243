"""A Bloom filter: tells which keys are worth a look on disk.

It saves look-ups and decides nothing: a key that it lets through must be confirmed, a key that
it holds back was never added.
"""

from array import array
from collections.abc import Iterable

_WORD_BYTES = 8
_PATTERN_BITS = 12
_PATTERN_MASK = (1 << _PATTERN_BITS) - 1
_PATTERNS = tuple((1 << (n & 63)) | (1 << (n >> 6)) for n in range(1 << _PATTERN_BITS))
"""Every pair of bits in a word, by twelve bits of a hash."""


class BloomFilter:
    """Four bits a key, all in one word of 64, so that a look-up is a single step of Python.

    Python's own hash will do, though it differs from process to process: a filter never travels.
    """

    __slots__ = ("_word_mask", "_words")

    def __init__(self, size_bytes: int) -> None:
        """A filter of at most that size, or of one word."""
        words = 1 << (max(size_bytes // _WORD_BYTES, 1).bit_length() - 1)
        self._words = array("Q", bytes(words * _WORD_BYTES))
        self._word_mask = words - 1

    @property
    def size_bytes(self) -> int:
        """How much memory the filter takes, however many keys it is given."""
        return len(self._words) * _WORD_BYTES

    def add(self, keys: Iterable[bytes]) -> None:
        """Let these keys through from now on."""
        words, word_mask, patterns = self._words, self._word_mask, _PATTERNS
        for hashed in map(hash, keys):
            words[(hashed >> 2 * _PATTERN_BITS) & word_mask] |= (
                patterns[hashed & _PATTERN_MASK]
                | patterns[(hashed >> _PATTERN_BITS) & _PATTERN_MASK]
            )

    def candidates(self, keys: Iterable[bytes]) -> list[bytes]:
        """The keys that may have been added: all that were, and a few that were not."""
        words, word_mask, patterns = self._words, self._word_mask, _PATTERNS
        found = []
        for key in keys:
            hashed = hash(key)
            absent = ~words[(hashed >> 2 * _PATTERN_BITS) & word_mask]
            if absent & patterns[hashed & _PATTERN_MASK]:
                continue
            if not absent & patterns[(hashed >> _PATTERN_BITS) & _PATTERN_MASK]:
                found.append(key)
        return found
