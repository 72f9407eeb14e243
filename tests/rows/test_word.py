"""The compiled loop looks up the same dictionary words as Arrow."""

from unittest.mock import Mock, patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.compiled.library import function, is_built
from headrace.rows import word
from headrace.rows.word import words_of_codes

ROWS = 20_000
"""Enough for the compiled loop."""

dictionaries = st.lists(st.text(max_size=70), min_size=1, max_size=9)


def coded(words: list[str], kind: pa.DataType, codes: list[int | None]) -> pa.DictionaryArray:
    stored = pa.array([text.encode() for text in words], pa.binary()).cast(kind)
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), stored)


@given(
    words=dictionaries,
    kind=st.sampled_from([pa.string(), pa.binary(), pa.large_string()]),
    step=st.integers(1, 7),
    start=st.integers(0, 40),
    has_null=st.booleans(),
)
def test_words_are_those_that_arrow_decodes(
    words: list[str], kind: pa.DataType, step: int, start: int, *, has_null: bool
) -> None:
    codes: list[int | None] = [row * step % len(words) for row in range(ROWS)]
    if has_null:
        codes[start + 1] = None
    array = coded(words, kind, codes).slice(start)
    decoded = words_of_codes(array)
    decoded.validate(full=True)
    assert decoded.equals(array.dictionary_decode())


def test_words_of_a_slice_of_a_dictionary_are_those_that_arrow_decodes() -> None:
    words = pa.array(["left out", "a", "", "bcd"]).slice(1)
    codes = pa.array([row % 3 for row in range(ROWS)], pa.int32())
    array = pa.DictionaryArray.from_arrays(codes, words)
    assert words_of_codes(array).equals(array.dictionary_decode())


@pytest.mark.skipif(not is_built(), reason="there is no compiled library")
def test_common_columns_are_written_by_the_compiled_loop() -> None:
    array = coded(["a", "b"], pa.string(), [row % 2 for row in range(ROWS)])
    loop = function("headrace_words", *word._ARGUMENTS)
    spy = Mock(wraps=loop)
    with patch.object(word, "function", return_value=spy):
        decoded = words_of_codes(array)
    spy.assert_called_once()
    assert decoded.equals(array.dictionary_decode())


@pytest.mark.parametrize("code", [2, 3, -1])
def test_a_code_without_a_word_is_an_error(code: int) -> None:
    codes = pa.array([0] * (ROWS - 1) + [code], pa.int32())
    array = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b"]), safe=False)
    with pytest.raises(pa.ArrowException):
        words_of_codes(array)
