"""A streaming process that can be killed at any time; it copies a table to Parquet files.

`python streaming.py table sink checkpoint` runs in small steps until it is killed. With `--finish
answer` it catches up in larger steps, writes the ids in the sink to the file `answer`, and exits.
"""

import argparse
import json
from pathlib import Path

import headrace.spark


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("table", "sink", "checkpoint"):
        parser.add_argument(name)
    parser.add_argument("--finish", type=Path)
    chosen = parser.parse_args()
    spark = headrace.spark.local(cores=2, memory="768m")
    headrace.spark.register(spark)
    step = 2 if chosen.finish is None else 100
    rows = spark.readStream.format("headrace").option("maxFilesPerTrigger", step).load(chosen.table)
    writer = (
        rows.writeStream.format("parquet")
        .option("path", chosen.sink)
        .option("checkpointLocation", chosen.checkpoint)
    )
    if chosen.finish is None:
        writer.trigger(processingTime="0 seconds").start().awaitTermination()
        return
    writer.trigger(availableNow=True).start().awaitTermination()
    # Spark's own reader knows which files of the sink are valid: a killed task may leave others.
    ids = spark.read.schema(rows.schema).parquet(chosen.sink).select("id").toArrow()
    chosen.finish.write_text(json.dumps(ids["id"].to_pylist()))
    spark.stop()


if __name__ == "__main__":
    main()
