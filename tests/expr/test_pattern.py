"""LIKE: every pattern matches what a naive matcher matches."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.expr.pattern import match_pattern
from tests.expr.naive import is_like

texts = st.text(st.sampled_from("ab\\%_.*\n(ü\U0001f600"), max_size=5)
tokens = st.sampled_from(["a", "b", "\\\\", "\\%", "\\_", "%", "_", ".", "*", "\n", "(", "ü"])
patterns = st.lists(tokens, max_size=5).map("".join)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("%\\\\", "C:\\temp\\", True),
        ("%\\\\", "C:\\temp", False),
        ("a\\\\b%", "a\\bc", True),
        ("a\\\\b%", "ab", False),
        ("%\\\\b\\\\%", "a\\b\\c", True),
        ("_", "\U0001f600", True),
        ("", "", True),
        ("a%%", "a", True),
        ("_" * 3000, "a" * 3000, True),
        ("%" + "_" * 30_000 + "b", "a" * 30_000 + "b", True),
    ],
)
def test_a_pattern_matches_as_in_spark(pattern: str, text: str, *, expected: bool) -> None:
    assert match_pattern(pa.array([text, None]), pattern).to_pylist() == [expected, None]


@pytest.mark.property
@given(st.lists(st.none() | texts, max_size=4), patterns)
def test_every_pattern_matches_as_a_naive_matcher(values: list[str | None], pattern: str) -> None:
    expected = [None if text is None else is_like(text, pattern) for text in values]
    assert match_pattern(pa.array(values, pa.string()), pattern).to_pylist() == expected
