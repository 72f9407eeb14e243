"""Create the TPC-H tables as Delta tables, for the views in this folder.

    python lake.py --scale 0.01

The two large tables are split by date into several files, like a lake that grows day by day, so
that there is something to prune.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
SLICED_BY = {"lineitem": "l_shipdate", "orders": "o_orderdate"}
SLICES = 8


def make_lake(folder: Path, *, scale: float) -> Path:
    """Generate the tables, and write each as a Delta table below `folder`."""
    with tempfile.TemporaryDirectory() as work:
        generator = Path(sys.executable).with_name("tpchgen-cli")
        command = [str(generator), "parquet", "-s", str(scale), f"--output-dir={work}"]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603
        for name in TABLES:
            _write(folder / name, pq.read_table(Path(work) / f"{name}.parquet"), name)
    return folder


def _write(path: Path, rows: pa.Table, name: str) -> None:
    column = SLICED_BY.get(name)
    if column is None:
        write_deltalake(path, _plain(rows))
        return
    ordered = _plain(rows).sort_by(column)
    size = -(-ordered.num_rows // SLICES)
    for start in range(0, ordered.num_rows, size):
        write_deltalake(path, ordered.slice(start, size), mode="append")


def _plain(rows: pa.Table) -> pa.Table:
    """Return the same rows, with strings in the one type that Delta has for them."""
    fields = [
        field.with_type(pa.string()) if pa.types.is_string_view(field.type) else field
        for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the tables of TPC-H as Delta tables.")
    parser.add_argument("--scale", type=float, default=0.01, help="TPC-H's scale factor")
    parser.add_argument("--folder", type=Path, default=Path(__file__).resolve().parent / "lake")
    options = parser.parse_args()
    print("made", make_lake(options.folder, scale=options.scale))
