import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.cluster import standalone_cluster
from tests.spark.lake import kernel_rows
from tests.spark.special_table import with_vectors

DRIVER = """
import json, sys
import headrace.spark

master, table = sys.argv[1:]
settings = {
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.scheduler.minRegisteredResourcesRatio": "1",
    "spark.sql.files.maxPartitionBytes": "4000",
}
spark = headrace.spark.open_session(master=master, **settings)
frame = headrace.spark.read(spark, table)
print(json.dumps({
    "rows": [list(row) for row in frame.collect()],
    "pruned": [row.id for row in frame.where("id >= 10038").collect()],
    "executors": spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1,
}))
spark.stop()
"""


@pytest.mark.timeout(600)
def test_a_pinned_table_is_read_by_the_workers_of_a_cluster(tmp_path: Path) -> None:
    table = with_vectors(tmp_path / "table")
    with standalone_cluster(tmp_path) as master:
        done = subprocess.run(
            [sys.executable, "-c", DRIVER, master, str(table)],
            check=False,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr[-8000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert sorted(map(tuple, result["rows"]), key=repr) == kernel_rows(table)
    assert result["pruned"] == [10038]
    assert result["executors"] == 2
