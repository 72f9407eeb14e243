"""Write the TPC-DS tables and queries into a folder.

This runs in a separate environment (`make tpcds`): on PyPI, DuckDB's generator is only available
for an older DuckDB than the one that the tests compare with.
"""

import sys
from pathlib import Path

import duckdb
import duckdb_extension_tpcds


def generate(folder: Path, scale: str) -> None:
    """Write `data/<table>.parquet` and `queries/q<number>.sql`."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (folder / "queries").mkdir(exist_ok=True)
    package = Path(duckdb_extension_tpcds.__file__).parent
    (extension,) = package.rglob("*.duckdb_extension")
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'")
    connection.execute(f"CALL dsdgen(sf={scale})")
    tables = "SELECT table_name FROM information_schema.tables"
    for (table,) in connection.execute(tables).fetchall():
        connection.execute(f"COPY {table} TO '{folder}/data/{table}.parquet' (FORMAT parquet)")
    queries = "SELECT query_nr, query FROM tpcds_queries()"
    for number, text in connection.execute(queries).fetchall():
        # Spark SQL quotes names with backticks.
        (folder / "queries" / f"q{number:02}.sql").write_text(text.replace('"', "`"))


if __name__ == "__main__":
    generate(Path(sys.argv[1]), sys.argv[2])
