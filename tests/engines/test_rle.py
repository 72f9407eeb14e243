"""Runs and bit-packed numbers are unpacked to the original numbers."""

from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.engines.arrow.checkpoint.rle import MAX_BITS, is_repeated, unpack
from headrace.engines.arrow.parquet.run import decode_runs
from tests.effort import examples


def head(number: int) -> bytes:
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def packed_run(values: list[int], width: int) -> bytes:
    bits = sum(value << place * width for place, value in enumerate(values))
    return head(len(values) // 8 << 1 | 1) + bits.to_bytes(len(values) * width // 8, "little")


def repeated_run(value: int, times: int, width: int) -> bytes:
    return head(times << 1) + value.to_bytes((width + 7) // 8, "little")


@st.composite
def streams(draw: st.DrawFn) -> tuple[int, bytes, list[int]]:
    """Draw a bit width, a stream, and the numbers in it."""
    width = draw(st.integers(0, MAX_BITS))
    numbers = st.integers(0, (1 << width) - 1)
    runs = []
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            groups = draw(st.sampled_from([1, 2, 62, 63, 63, 63, 64, 130]))
            few = draw(st.lists(numbers, min_size=1, max_size=11))
            values = (few * (groups * 8))[: groups * 8]
            runs.append((packed_run(values, width), values))
        else:
            value, times = draw(numbers), draw(st.integers(1, 300))
            runs.append((repeated_run(value, times, width), [value] * times))
    return width, b"".join(run for run, _ in runs), list(chain(*(values for _, values in runs)))


@pytest.mark.property
@settings(max_examples=examples(100))
@given(streams(), st.data())
def test_packed_numbers_are_unpacked(
    stream: tuple[int, bytes, list[int]], data: st.DataObject
) -> None:
    width, packed, values = stream
    count = data.draw(st.integers(0, len(values)))
    assert unpack(packed, width, count).tolist() == values[:count]
    value = data.draw(st.sampled_from(values))
    assert is_repeated(packed, width, value, count) == (set(values[:count]) <= {value})


def test_a_truncated_stream_is_refused() -> None:
    packed = packed_run(list(range(8)), 3)
    for short in (packed[:-1], packed[:1], b""):
        with pytest.raises((ValueError, IndexError)):
            unpack(short, 3, 8)
    with pytest.raises((ValueError, IndexError)):
        unpack(packed, 3, 9)


def test_a_repeated_number_must_fit_the_bit_width() -> None:
    for number in (8, 255):
        with pytest.raises(ValueError, match="more than"):
            unpack(repeated_run(number, 5, 3), 3, 5)


def test_too_large_bit_widths_are_refused() -> None:
    with pytest.raises(ValueError, match="bits"):
        unpack(packed_run([1] * 8, MAX_BITS + 1), MAX_BITS + 1, 8)


@pytest.mark.property
@settings(max_examples=examples(50))
@given(streams(), st.data())
def test_numbers_are_the_same_without_numpy(
    stream: tuple[int, bytes, list[int]], data: st.DataObject
) -> None:
    width, packed, values = stream
    count = data.draw(st.integers(0, len(values)))
    decoded = [number for number, times in decode_runs(packed, width, count) for _ in range(times)]
    assert decoded == values[:count]


def test_a_truncated_stream_is_refused_without_numpy() -> None:
    packed = packed_run(list(range(8)), 3)
    repeated = repeated_run(5, 8, 3)
    for short in (packed[:-1], packed[:1], repeated[:1], b""):
        with pytest.raises((ValueError, IndexError)):
            list(decode_runs(short, 3, 8))
    with pytest.raises(ValueError, match="more than"):
        list(decode_runs(repeated_run(8, 5, 3), 3, 5))
