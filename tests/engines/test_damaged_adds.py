"""Damage to a file of adds is reported as Arrow reports it, or changes nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.compiled.library import is_built
from headrace.compiled.memory import Memory
from headrace.engines.arrow.checkpoint import add_batches
from headrace.engines.arrow.checkpoint.footer import Footer
from headrace.engines.arrow.checkpoint.text_column import TextColumn
from headrace.errors import CorruptCheckpointError
from tests.effort import examples
from tests.engines.add_file import (
    COLUMNS,
    TEXTS,
    by_arrow,
    many,
    outcome,
    quick,
    written,
)
from tests.engines.damage import Damaged

pytestmark = pytest.mark.skipif(not is_built(), reason="built without a compiler")


@pytest.fixture(autouse=True)
def small_columns_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(add_batches, "_WORTHWHILE_BYTES", 0)


@pytest.mark.property
@given(
    st.fixed_dictionaries(
        {
            "compression": st.sampled_from(["snappy", "none", "zstd"]),
            "use_dictionary": st.booleans(),
            "data_page_version": st.sampled_from(["1.0", "2.0"]),
            "write_page_checksum": st.booleans(),
        }
    ),
    st.integers(0, 10**6),
    st.integers(1, 255),
)
@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_is_reported_as_by_arrow_or_changes_nothing(
    tmp_path: Path, options: dict[str, Any], place: int, flip: int
) -> None:
    path = written(
        tmp_path / "checkpoint.parquet",
        [*many(90), None],
        write_batch_size=30,
        data_page_size=200,
        **options,
    )
    sound, column = outcome(by_arrow, path), pq.read_metadata(path).row_group(0).column(0)
    content = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    content[start + place % column.total_compressed_size] ^= flip
    path.write_bytes(content)
    assert outcome(quick, path) in (outcome(by_arrow, path), sound)


@pytest.mark.parametrize("number", [-(2**40), -202_927, -1, 0, 1, 50, 2**31, 2**40])
@pytest.mark.parametrize(
    "name",
    [
        "total_compressed_size",
        "total_uncompressed_size",
        "num_values",
        "data_page_offset",
        "dictionary_page_offset",
    ],
)
@pytest.mark.timeout(60)
def test_any_footer_is_handled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    path = written(tmp_path / "checkpoint.parquet", many(400))
    expected, inner = by_arrow(path), TextColumn.__init__

    def damaged(self: TextColumn, file: Any, chunk: Any, **options: Any) -> None:
        inner(self, file, Damaged(chunk, name, number), **options)

    monkeypatch.setattr(TextColumn, "__init__", damaged)
    assert quick(path, batch_rows=100) == expected


@pytest.mark.parametrize("columns", [COLUMNS, TEXTS, ("add.path",), ("add.size",)])
def test_columns_with_fewer_rows_than_the_footer_says_are_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: tuple[str, ...]
) -> None:
    path = written(tmp_path / "checkpoint.parquet", many(50))
    inner = Footer.rows
    monkeypatch.setattr(Footer, "rows", lambda *args: inner(*args) + 1)
    with pytest.raises(CorruptCheckpointError, match="lacks 1 of 51 rows"):
        quick(path, columns)


def test_a_short_mask_is_not_read_beyond_its_end(tmp_path: Path) -> None:
    path = written(tmp_path / "checkpoint.parquet", many(50))
    with path.open("rb") as file:
        chunk = pq.read_metadata(path).row_group(0).column(0)
        column = TextColumn(file, chunk, depth=2, memory=Memory())
        with pytest.raises(ValueError, match="unusual"):
            column.take(50, np.ones(49, dtype=np.bool_))


def test_an_absurd_size_in_the_footer_allocates_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "checkpoint.parquet", many(50))
    expected = by_arrow(path)
    inner = TextColumn.__init__

    def boasting(self: TextColumn, *args: Any, **options: Any) -> None:
        inner(self, *args, **options)
        self._row_bytes = 2.0**50

    monkeypatch.setattr(TextColumn, "__init__", boasting)
    assert quick(path, batch_rows=50) == expected
