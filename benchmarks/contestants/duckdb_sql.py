"""DuckDB: SQL over the log files, as someone who knows the format would write it by hand.

Each query reads only the columns that it needs. It is exact for tables without deletion vectors,
where the path is the key. It ignores protocol and metadata.
"""

import os
import re
from collections.abc import Iterator

import duckdb

from benchmarks.question import Question, RecordBatch

_BATCH_ROWS = 8192
_PATH = "path VARCHAR"
_PATH_COLUMN = "add.path AS path"
_COMMIT = re.compile(r"[0-9]{20}\.json")


class Contestant:
    """Queries the latest action on each path in the commits, and the checkpoint for the others."""

    def __init__(self, question: Question) -> None:
        self.question = question

    def limit(self) -> list[str]:
        # With both in one query, DuckDB reads the checkpoint even if the commits are enough.
        limit = f"LIMIT {self.question.limit}"
        paths = self._paths(f"{self._said(_PATH)} SELECT path FROM said WHERE live {limit}")
        if len(paths) == self.question.limit:
            return paths
        return self._paths(f"{self._live(add=_PATH)} {limit}")

    def partition(self) -> list[str]:
        date, region = (f"add.\"partitionValues\"['{name}']" for name in ("date", "region"))
        condition = f"{date} = '{self.question.date}' AND {region} = '{self.question.region}'"
        add = 'path VARCHAR, "partitionValues" STRUCT("date" VARCHAR, region VARCHAR)'
        return self._paths(self._live(add=add, where=condition))

    def count(self) -> int:
        return self._count(self._live(add=_PATH))

    def paths(self) -> Iterator[str]:
        reader = self._arrow(self._live(add=_PATH))
        return (path for batch in reader for path in batch.column("path").to_pylist())

    def batches(self) -> Iterator[RecordBatch]:
        add = (
            'path VARCHAR, "partitionValues" MAP(VARCHAR, VARCHAR), size BIGINT,'
            ' "modificationTime" BIGINT, stats VARCHAR'
        )
        columns = (
            f'{_PATH_COLUMN}, add."partitionValues" AS partition_values,'
            ' add.size AS size_bytes, add."modificationTime" AS modified_ms, add.stats AS stats'
        )
        return self._arrow(self._live(add=add, columns=columns))

    def predicate(self) -> int:
        least = "CAST(json_value(add.stats, '$.minValues.id') AS BIGINT)"
        possible = f"coalesce({least} < {self.question.below}, true)"
        add = "path VARCHAR, stats VARCHAR"
        return self._count(self._live(add=add, where=possible))

    def bytes_read(self) -> int | None:
        return None

    def _live(self, *, add: str, columns: str = _PATH_COLUMN, where: str = "true") -> str:
        """Select live files from the commits, and checkpoint files that no commit names."""
        return f"""
            {self._said(add)}
            SELECT {columns} FROM said WHERE live AND {where}
            UNION ALL
            FROM (
                SELECT {columns} FROM read_parquet({self._leaves()})
                WHERE add.path IS NOT NULL AND {where}
            ) ANTI JOIN said USING (path)
        """

    def _said(self, add: str) -> str:
        """Select the latest action on each path in the commits."""
        log = f"{self.question.table}/_delta_log"
        commits = [f"{log}/{name}" for name in _names(log) if _COMMIT.fullmatch(name)]
        return f"""
            WITH said AS (
                SELECT coalesce(add.path, remove.path) AS path,
                       arg_max(add, filename) AS add,
                       arg_max(add IS NOT NULL, filename) AS live
                FROM read_json(
                    {commits}, format = 'newline_delimited', filename = true,
                    columns = {{add: 'STRUCT({add})', remove: 'STRUCT(path VARCHAR)'}}
                )
                WHERE add IS NOT NULL OR remove IS NOT NULL
                GROUP BY 1
            )
        """

    def _leaves(self) -> list[str]:
        log = f"{self.question.table}/_delta_log"
        names = _names(log)
        if "_sidecars" in names:
            return [f"{log}/_sidecars/*.parquet"]
        return [f"{log}/{name}" for name in names if name.endswith(".parquet")]

    def _connect(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        connection.execute("SET preserve_insertion_order = false")
        connection.execute("SET enable_progress_bar = false")  # it would become part of the output
        if self.question.threads:
            connection.execute(f"SET threads = {self.question.threads}")
        return connection

    def _paths(self, query: str) -> list[str]:
        return [path for (path,) in self._connect().execute(query).fetchall()]

    def _count(self, query: str) -> int:
        rows = self._connect().execute(f"SELECT count(*) FROM ({query})").fetchall()
        return int(rows[0][0])

    def _arrow(self, query: str) -> Iterator[RecordBatch]:
        connection = self._connect()
        yield from connection.sql(query).to_arrow_reader(_BATCH_ROWS)


def _names(folder: str) -> list[str]:
    return sorted(os.listdir(folder))  # noqa: PTH208  (as quick as it gets)
