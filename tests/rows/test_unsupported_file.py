"""Unsupported features are not reported as damage: the error names column, writer and remedy."""

import base64
from datetime import time, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

from headrace.errors import CorruptDataFileError, HeadraceError, UnsupportedFileError
from headrace.rows.wide_delta import WIDE_DIFFERENCES
from tests.lake.action import add
from tests.lake.log import write_commit
from tests.listing import open_snapshot
from tests.rows.lake import array, field, write_table

FIELDS = [field("id", "long"), field("a", "string")]
DATA = pa.table({"id": [1, 2], "a": ["x", "y"]})


class PlainKeys(pe.KmsClient):  # type: ignore[misc]
    def __init__(self, _: Any) -> None:
        super().__init__()

    def wrap_key(self, key: bytes, _: str) -> bytes:
        return base64.b64encode(key)

    def unwrap_key(self, key: bytes, _: str) -> bytes:
        return base64.b64decode(key)


def refusal(table: Path) -> UnsupportedFileError:
    with pytest.raises(UnsupportedFileError) as caught:
        open_snapshot(table).rows().read_all()
    assert "not damaged" in str(caught.value)
    return caught.value


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_an_encrypted_file_is_not_damaged(tmp_path: Path, *, plaintext_footer: bool) -> None:
    write_table(tmp_path, FIELDS, [DATA])
    config = pe.EncryptionConfiguration(
        footer_key="f", column_keys={"c": ["a"]}, plaintext_footer=plaintext_footer
    )
    keys = pe.CryptoFactory(PlainKeys).file_encryption_properties(pe.KmsConnectionConfig(), config)
    path = tmp_path / "part-0.parquet"
    with pq.ParquetWriter(path, DATA.schema, encryption_properties=keys) as writer:
        writer.write_table(DATA)
    error = refusal(tmp_path)
    assert error.code == "UNSUPPORTED_FILE"
    assert "crypt" in error.reason


def test_an_unsupported_codec_is_named(tmp_path: Path) -> None:
    write_table(tmp_path, FIELDS[1:], [DATA.select(["a"])], use_dictionary=False)
    path = tmp_path / "part-0.parquet"
    stored = bytearray(path.read_bytes())
    for place in range(len(stored) - 9, 0, -1):
        if stored[place : place + 2] == b"\x15\x02":  # a field with the value 1, which is Snappy
            changed = stored.copy()
            changed[place + 1] = 6  # LZO
            path.write_bytes(changed)
            try:
                codec = pq.read_metadata(path).row_group(0).column(0).compression
            except (OSError, pa.ArrowException):
                continue
            if codec == "LZO":
                break
    error = refusal(tmp_path)
    assert (error.column, "LZO" in error.reason) == ("a", True)
    assert error.writer is not None
    assert "parquet-cpp" in error.writer


@pytest.mark.parametrize(
    ("value", "kind"), [(time(1, 2), pa.time64("us")), (timedelta(days=1), pa.duration("us"))]
)
def test_an_unsupported_type_is_named(tmp_path: Path, value: Any, kind: pa.DataType) -> None:
    write_table(tmp_path, [field("a", "long")], [pa.table({"a": pa.array([value], kind)})])
    error = refusal(tmp_path)
    assert (error.column, str(kind) in error.reason) == ("a", True)


def test_a_type_that_contradicts_the_table_is_damage(tmp_path: Path) -> None:
    write_table(tmp_path, [field("a", "long")], [pa.table({"a": ["text"]})])
    with pytest.raises(CorruptDataFileError, match="string"):
        open_snapshot(tmp_path).rows().read_all()


def test_wide_deltas_of_duckdb_are_not_damage(tmp_path: Path) -> None:
    write_table(tmp_path, [field("id", "long"), field("a", "integer")], [])
    path = tmp_path / "part-0.parquet"
    spread = "SELECT i AS id, (i * 1234567891 % 4294967296 - 2147483648)::INT AS a"
    for codec in ("uncompressed", "snappy", "zstd", "lz4_raw", "gzip"):
        duckdb.sql(
            f"COPY ({spread} FROM range(1000) t(i)) TO '{path}' "
            f"(FORMAT parquet, PARQUET_VERSION v2, CODEC {codec})"
        )
        write_commit(tmp_path, 1, [add(path.name, size=path.stat().st_size)])
        error = refusal(tmp_path)
        assert (error.column, error.reason) == ("a", WIDE_DIFFERENCES)
        assert error.writer is not None
        assert "DuckDB" in error.writer
        assert open_snapshot(tmp_path).rows(columns=["id"]).read_all().num_rows == 1000


def test_damaged_deltas_are_damage(tmp_path: Path) -> None:
    encoded: dict[str, Any] = {
        "column_encoding": {"a": "DELTA_BINARY_PACKED"},
        "use_dictionary": False,
    }
    numbers = pa.table({"a": pa.array([5, -9, 5, 7] * 100, pa.int32())})
    write_table(tmp_path, [field("a", "integer")], [numbers], compression="none", **encoded)
    path = tmp_path / "part-0.parquet"
    stored = bytearray(path.read_bytes())
    chunk = pq.read_metadata(path).row_group(0).column(0)
    end = chunk.data_page_offset + chunk.total_compressed_size
    stored[end - 120 : end] = b"\xff" * 120
    path.write_bytes(stored)
    with pytest.raises(CorruptDataFileError):
        open_snapshot(tmp_path).rows().read_all()


@pytest.mark.parametrize(
    ("depth", "code"), [(60, "UNSUPPORTED_FILE"), (150, "UNSUPPORTED_FEATURE")]
)
def test_deeply_nested_arrays_are_read_or_refused_by_name(
    tmp_path: Path, depth: int, code: str
) -> None:
    kind: Any = "long"
    stored: pa.DataType = pa.int64()
    value: Any = 1
    for _ in range(depth):
        kind, stored, value = array(kind), pa.list_(stored), [value]
    data = pa.table({"a": pa.array([value], stored)})
    table = write_table(tmp_path, [field("a", kind)], [data])
    with pytest.raises(HeadraceError) as caught:
        open_snapshot(table).rows().read_all()
    assert caught.value.code == code
