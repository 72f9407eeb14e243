"""Which of Spark's settings can change a result.

Whatever is called `spark.sql.*` can, unless it is on a list of those that only decide how fast, in
how many parts and in whose sight a result is computed. The others go into the key of every view.
"""

from collections.abc import Mapping

_SQL = "spark.sql."
HARMLESS = frozenset(
    f"{_SQL}{name}"
    for name in (
        *("adaptive.enabled", "adaptive.advisoryPartitionSizeInBytes"),
        *("adaptive.autoBroadcastJoinThreshold", "adaptive.coalescePartitions.enabled"),
        *("adaptive.coalescePartitions.initialPartitionNum", "adaptive.skewJoin.enabled"),
        *("adaptive.coalescePartitions.minPartitionSize", "adaptive.localShuffleReader.enabled"),
        *("adaptive.coalescePartitions.parallelismFirst", "artifact.isolation.enabled"),
        *(
            "autoBroadcastJoinThreshold",
            "broadcastTimeout",
            "cbo.enabled",
            "cbo.joinReorder.enabled",
        ),
        *("catalogImplementation", "codegen.wholeStage", "debug.maxToStringFields"),
        *("defaultCacheStorageLevel", "error.messageFormat", "event.truncate.length"),
        *("execution.arrow.maxRecordsPerBatch", "execution.arrow.pyspark.enabled"),
        *("files.maxPartitionBytes", "files.maxPartitionNum", "files.minPartitionNum"),
        *("files.maxRecordsPerFile", "files.openCostInBytes"),
        *("inMemoryColumnarStorage.batchSize", "inMemoryColumnarStorage.compressed"),
        *("join.preferSortMergeJoin", "leafNodeDefaultParallelism", "maxPlanStringLength"),
        *("optimizer.dynamicPartitionPruning.enabled", "optimizer.runtime.bloomFilter.enabled"),
        *("parquet.columnarReaderBatchSize", "parquet.compression.codec"),
        *("parquet.enableVectorizedReader", "parquet.filterPushdown"),
        *("pyspark.jvmStacktrace.enabled", "queryExecutionListeners", "repl.eagerEval.enabled"),
        *("shuffle.partitions", "sources.parallelPartitionDiscovery.threshold"),
        *("ui.explainMode", "ui.retainedExecutions", "warehouse.dir"),
    )
)
"""Settings that decide how a query runs, not what it gives; a test tries some of them."""


def result_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings among these that can change a result, by name."""
    return {
        name: value
        for name, value in sorted(settings.items())
        if name.startswith(_SQL) and name not in HARMLESS
    }
