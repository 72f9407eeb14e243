"""Separates the Spark settings that can change a result from those that cannot.

Every `spark.sql.*` setting can, unless it is on a list of settings that affect only performance,
partitioning or visibility. The settings that can are part of every skip key.
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
"""Settings that affect how a query runs, but not its result; a test tries some of them."""
PINNED = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.sources.partitionOverwriteMode": "static",
    "spark.sql.ui.explainMode": "extended",
}
"""The settings that are the same in every run."""
_PROJECT_SETTINGS = frozenset({"spark.sql.session.timeZone", "spark.sql.ansi.enabled"})


def result_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that can change a result."""
    return {
        name: value
        for name, value in sorted(settings.items())
        if name.startswith(_SQL) and name not in HARMLESS
    }


def view_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that can change the result of a view: runs and projects set some."""
    changed = result_settings(settings)
    return {n: v for n, v in changed.items() if n not in PINNED and n not in _PROJECT_SETTINGS}
