"""Whatever the bytes, the compiled loop reads what the row decoder reads, or declines."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.compiled.library import is_built
from tests.effort import examples
from tests.protocol.leaves import SCALARS, TYPES, UNUSUAL, binary, read_both, stats_text

pytestmark = [
    pytest.mark.property,
    pytest.mark.skipif(not is_built(), reason="built without compiled loops"),
]

SPACE = st.sampled_from(["", "", "", " ", "\n\t", "\r ", "\v"])
NAMES = st.sampled_from(
    [*("numRecords", "minValues", "maxValues", "nullCount", "id", "s", "é", "x"), "\\u0069d", '\\"']
)
VALUES = st.sampled_from([*(text for texts in SCALARS.values() for text in texts), *UNUSUAL])


def _object(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.builds('{3}"{0}"{2}:{3}{1}{2}'.format, NAMES, values, SPACE, SPACE)
    return st.lists(member, max_size=5).map(lambda members: "{" + ",".join(members) + "}")


def _listed(values: list[str]) -> str:
    return "[" + ",".join(values) + "]"


DOCUMENTS = _object(
    st.recursive(VALUES, lambda inner: _object(inner) | st.lists(inner).map(_listed), max_leaves=8)
)


@st.composite
def _batches(draw: st.DrawFn, kind: type) -> list[bytes | None]:
    """Draw texts that mostly resemble the previous ones, some with one or two damaged bytes."""
    ordinary = st.builds(
        lambda value, other, space: stats_text(value, other=other, space=space),
        *(st.sampled_from([*SCALARS[kind], "null"]), VALUES, SPACE),
    )
    texts: list[bytes | None] = []
    for _ in range(draw(st.integers(1, 4))):
        known = st.sampled_from([text for text in texts if text is not None] or [b"{}"])
        text = draw(known | ordinary.map(str.encode) | DOCUMENTS.map(str.encode))
        for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
            at = draw(st.integers(0, len(text)))
            put = draw(
                st.sampled_from(list(b'{}[]",:\\ 0159-.eEntu\n\x00\x1f\x80\xff')) | st.none()
            )
            cut = draw(st.integers(0, 2))
            text = text[:at] + (b"" if put is None else bytes([put])) + text[at + cut :]
        texts.append(draw(st.sampled_from([text, text, text, text, None])))
    return texts


@pytest.mark.parametrize("kind", TYPES)
@settings(max_examples=examples(300))
@given(data=st.data())
def test_the_loop_and_the_rows_agree_on_any_bytes(kind: type, data: st.DataObject) -> None:
    read_both(binary(data.draw(_batches(kind))), kind)


NUMBERS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,37})(\.[0-9]{1,37})?([eE][+-]?[0-9]{1,3})?",
    fullmatch=True,
    alphabet="-+.eE0123456789",
)


@pytest.mark.parametrize("kind", [int, float, Decimal])
@settings(max_examples=examples(300))
@given(numbers=st.lists(NUMBERS | st.floats(allow_nan=False, allow_infinity=False).map(repr)))
def test_the_loop_and_the_rows_agree_on_any_number(kind: type, numbers: list[str]) -> None:
    for number in numbers:
        read_both(binary([stats_text(number)]), kind)
    read_both(binary([stats_text(number) for number in numbers]), kind)
