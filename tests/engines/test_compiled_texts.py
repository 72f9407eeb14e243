"""Compiled loops copy the same text as Arrow, into memory that nothing else writes to."""

import os
import random
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.compiled.library import is_built
from headrace.compiled.memory import Memory
from headrace.compiled.text_copies import selected_texts, words_of
from headrace.engines.arrow.checkpoint import add_batches
from tests.effort import examples
from tests.engines.add_file import by_arrow, quick, written

pytestmark = pytest.mark.skipif(not is_built(), reason="built without a compiler")

texts = st.text(max_size=40)


@pytest.mark.property
@settings(max_examples=examples(200))
@given(st.lists(st.tuples(texts, st.booleans()), max_size=60), st.integers(0, 9))
def test_selected_texts_equal_those_of_a_filter(rows: list[tuple[str, bool]], skipped: int) -> None:
    column = pa.array([text for text, _ in rows], pa.string()).slice(skipped)
    mask = np.array([own for _, own in rows], dtype=np.bool_)[skipped:]
    copied = selected_texts(column, mask, Memory())
    copied.validate(full=True)
    assert copied.equals(column.filter(pa.array(mask)))


def test_nulls_are_kept_too() -> None:
    column, mask = pa.array(["a", None, "b"]), np.array([False, True, True])
    assert selected_texts(column, mask, Memory()).to_pylist() == [None, "b"]


@pytest.mark.property
@settings(max_examples=examples(200))
@given(st.lists(texts, min_size=1, max_size=20), st.data())
def test_words_are_looked_up_by_their_codes(words: list[str], data: st.DataObject) -> None:
    codes = data.draw(st.lists(st.integers(0, len(words) - 1), max_size=90))
    array = pa.array(words, pa.string())
    looked_up = words_of(np.array(codes, dtype=np.int32), array, Memory())
    assert looked_up is not None
    looked_up.validate(full=True)
    assert looked_up.equals(array.take(pa.array(codes, pa.int32())))


@pytest.mark.parametrize("code", [-1, 2, 1 << 30])
def test_codes_without_a_word_are_declined(code: int) -> None:
    codes = np.array([0, code], dtype=np.int32)
    assert words_of(codes, pa.array(["a", "b"]), Memory()) is None


def test_words_that_would_take_much_memory_are_declined() -> None:
    codes = np.zeros(1 << 20, dtype=np.int32)
    assert words_of(codes, pa.array(["a long word"]), Memory()) is None


def test_nulls_among_the_words_are_declined() -> None:
    assert words_of(np.zeros(1, np.int32), pa.array([None, "a"], pa.string()), Memory()) is None


@pytest.mark.property
@settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(seed=st.integers(0, 1 << 30), alphabet=st.integers(1, 30), longest=st.integers(1, 400))
def test_repetitive_texts_are_decompressed(
    tmp_path: Path, seed: int, alphabet: int, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Near and far repetitions, short and long literals: everything that Snappy supports."""
    monkeypatch.setattr(add_batches, "_WORTHWHILE_BYTES", 0)
    chance = random.Random(seed)
    pieces = [
        "".join(chance.choices(ascii_lowercase, k=chance.randint(1, longest)))
        for _ in range(alphabet)
    ]
    rows = [
        {
            "path": f"{number:09}-{chance.getrandbits(64):x}",
            "size": 1,
            "partitionValues": [],
            "stats": "".join(chance.choices(pieces, k=chance.randint(0, 9))),
        }
        for number in range(800)
    ]
    path = written(tmp_path / "checkpoint.parquet", rows, use_dictionary=False)
    assert quick(path, batch_rows=300) == by_arrow(path)


def test_a_block_is_reused_once_it_is_unreferenced() -> None:
    memory = Memory()
    block = memory.block(1 << 20)
    address = block.address
    buffer = block.buffer(100)
    del block
    another = memory.block(1 << 20)
    assert another.address != address
    del buffer
    assert memory.block((1 << 20) - 9).address == address


def test_an_outgrown_block_is_released() -> None:
    memory = Memory()
    sizes = [len(memory.block(size << 19)) >> 19 for size in (4, 5, 6, 7, 6, 5, 7)]
    assert sizes == [4, 5, 6, 7, 7, 7, 7]
    assert [len(free) >> 19 for free in memory._free] == [7]


def test_texts_of_a_batch_do_not_change_while_others_are_decoded() -> None:
    memory, batches = Memory(), []
    for number in range(40):
        column = pa.array([f"{number}-{row}" for row in range(30_000)])
        mask = np.arange(30_000) % 3 != number % 3
        if number % 4:
            selected_texts(column, mask, memory)
        else:
            batches.append((selected_texts(column, mask, memory), column.filter(pa.array(mask))))
    assert all(own.equals(expected) for own, expected in batches)
    assert pc.sum(pc.binary_length(batches[0][0])).as_py() > 1 << 17  # large enough to be recycled


def test_a_forked_process_keeps_its_batches() -> None:
    memory = Memory()
    block = memory.block(1 << 20)
    block.bytes[:5] = 65
    held = block.buffer(5)
    read_end, write_end = os.pipe()
    go, may_go = os.pipe()
    child = os.fork()
    if not child:
        os.read(go, 1)
        os.write(write_end, held.to_pybytes())
        os._exit(0)
    del held, block
    memory.block(1 << 20).bytes[:5] = 66
    os.write(may_go, b"!")
    assert os.read(read_end, 5) == b"AAAAA"
    os.waitpid(child, 0)


def test_retired_memory_holds_nothing() -> None:
    memory = Memory()
    block = memory.block(1 << 20)
    memory.block(1 << 21)
    assert len(memory._free) == 1
    memory.retire()
    del block
    assert not memory._free
