"""pyarrow: decode the columns that an answer needs, without replay. A floor, not an answer."""

from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.question import Ask, Question

_COLUMNS = {
    Ask.COUNT: ["add.path"],
    Ask.PREDICATE: ["add.path", "add.stats"],
    Ask.BATCHES: [
        "add.path",
        "add.partitionValues",
        "add.size",
        "add.modificationTime",
        "add.stats",
    ],
}


class Contestant:
    """Reads only the checkpoint, on one thread, in bounded memory."""

    def __init__(self, question: Question) -> None:
        self.question = question

    def floor(self) -> int:
        rows = 0
        log = Path(self.question.table) / "_delta_log"
        for path in sorted(log.glob("*.checkpoint.parquet")):
            with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 18) as file:
                columns = _COLUMNS[self.question.ask]
                for batch in file.iter_batches(16_384, columns=columns, use_threads=False):
                    rows += batch.num_rows
        return rows
