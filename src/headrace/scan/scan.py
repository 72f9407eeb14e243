"""`Scan`: a lazy iterable of the live files of one snapshot.

Users iterate it for `LiveFile` values or for Arrow batches; each iteration is a new `Run`.
"""

from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from contextlib import aclosing, closing, contextmanager

from msgspec.structs import replace

from headrace.errors import IncrementRefusedError, InvalidArgumentError
from headrace.expr.reference import opaque_parts
from headrace.metrics.reporter import Reporter
from headrace.phases.increment import plan_increment
from headrace.phases.phase import Phase
from headrace.phases.scan_request import ScanOutcome, ScanRequest
from headrace.plan.cancellation import Cancellation
from headrace.plan.context import ExecutionContext
from headrace.scan.argument import column_names, whole_number
from headrace.scan.explain import explain_machine
from headrace.scan.file_list import FileList
from headrace.scan.file_list_cache import FileListShape
from headrace.scan.html import facts_html
from headrace.scan.label import ListLabel
from headrace.scan.lazy_imports import ArrowBatches, ArrowSchema, RecordBatch
from headrace.scan.live_file import FileContext, LiveFile, live_files
from headrace.scan.metering import ScanMetering
from headrace.scan.metrics import ScanMetrics
from headrace.scan.options import ScanOptions
from headrace.scan.reader import BatchReader
from headrace.scan.run import Run
from headrace.scan.source import ScanSource
from headrace.scan.strategy import ScanDecision, choose_base, decide, decide_increment, first_phase


class Scan:
    """A lazy iterable of live files; each iteration reads the log again, and only as far as needed.

    Iterate it (`for` or `async for`) for `LiveFile` values, or call `batches()` for Arrow.

    Raises:
        SnapshotExpiredError: from any read: the log was cleaned up meanwhile.
        CorruptLogError, CorruptCheckpointError: from any read: the log is damaged.
        FallbackForbiddenError: from any read: a fallback is forbidden but needed.
        StoreFailedError, SpillFailedError: from any read: a store or a disk failed.
    """

    def __init__(  # noqa: PLR0913  (users get scans from `Snapshot.scan`)
        self,
        *,
        source: ScanSource,
        request: ScanRequest,
        options: ScanOptions,
        reporter: Reporter,
        where: str | None = None,
        limit: int | None = None,
    ) -> None:
        """Prepare a scan; nothing is read.

        Args:
            source: The snapshot's part of the scan.
            request: What to scan, and the predicate.
            options: How to scan.
            reporter: Receives the events of the scan.
            where: The condition as text; the request has it bound to the columns.
            limit: The maximum number of files.
        """
        self.where = where
        self.request = request
        self.segment = choose_base(source.segment, limit=limit, request=request)
        self.options = options
        self.limit = limit
        self._source = source
        self._reporter = reporter
        self._metering = ScanMetering(
            request=request,
            segment=self.segment,
            checksum=source.checksum,
            reporter=reporter,
            planned=self.decision,
        )

    def __repr__(self) -> str:
        parameters = {"version": self.request.version, "where": self.where, "limit": self.limit}
        shown = (f"{name}={value!r}" for name, value in parameters.items() if value is not None)
        return f"Scan({self.request.table!r}, {', '.join(shown)})"

    def _repr_html_(self) -> str:
        parameters = {"version": self.request.version, "where": self.where, "limit": self.limit}
        return facts_html(f"Scan of {self.request.table}", parameters | {"strategy": self.decision})

    @property
    def context(self) -> FileContext:
        """What all files of the table share."""
        return self._source.context

    @property
    def decision(self) -> ScanDecision:
        """The strategy of the scan, and why it was chosen."""
        return decide(self.options, segment=self.segment, limit=self.limit, request=self.request)

    @property
    def not_evaluated(self) -> tuple[str, ...]:
        """The parts of the condition that prune no files, since they are not evaluated."""
        predicate = self.request.predicate
        return () if predicate is None else tuple(map(str, opaque_parts(predicate)))

    @property
    def metrics(self) -> ScanMetrics:
        """The metrics of the iteration started last, live while it runs."""
        return self._metering.metrics

    def run(
        self,
        *,
        projection: tuple[str, ...] | None = None,
        cancellation: Cancellation | None = None,
    ) -> Run[ScanOutcome]:
        """Return a `Run` before its first phase; it yields raw batches without the limit.

        All files of a batch are counted as returned when the batch is.

        Args:
            projection: The fields of an add to read; by default all.
            cancellation: Cancels the scan from another thread, even while it waits for a batch.
        """
        execution = ExecutionContext(
            settings=self.options, cancellation=cancellation or Cancellation()
        )
        metrics = self._metering.start(execution.meter, self.decision)
        return Run(
            self._first_phase(projection),
            executor=self._source.executor,
            context=execution,
            reporter=self._reporter,
            completed=lambda: self._metering.completed(metrics),
        )

    @contextmanager
    def replay(
        self, execution: ExecutionContext, *, projection: tuple[str, ...] | None = None
    ) -> Iterator[Run[ScanOutcome]]:
        """Run the scan for a caller that counts files itself, and may not use all of a batch.

        Args:
            execution: The settings, the cancellation, and the meter in which the caller counts.
            projection: As for `run`.
        """
        with (
            self._metering.reported(execution.meter, self.decision),
            self._run(self._first_phase(projection), execution) as run,
        ):
            yield run

    def compare(self, files: int, size_bytes: int) -> None:
        """Report a checksum file that contradicts the total of a run, counted by its caller."""
        self._metering.compare(files, size_bytes)

    def explain(self) -> str:
        """Describe the decision, the phases and their plans, without reading results."""
        phases = explain_machine(self._first_phase(None), executor=self._source.executor)
        ignored = (f"not evaluated: {part}" for part in self.not_evaluated)
        return "\n".join([f"strategy: {self.decision}", *ignored, *phases])

    def __iter__(self) -> Iterator[LiveFile]:
        execution = ExecutionContext(settings=self.options)
        meter = execution.meter
        with (
            self._metering.reported(meter, self.decision),
            closing(self._files(execution)) as live_files,
        ):
            for files, file in enumerate(live_files, start=1):
                if files == 1:
                    meter.first_file()
                meter.files_emitted = files
                yield file

    async def __aiter__(self) -> AsyncIterator[LiveFile]:
        execution = ExecutionContext(settings=self.options)
        live_files = self._source.lazy.in_bulk(self._files(execution), execution.cancellation)
        with self._metering.reported(execution.meter, self.decision):
            async with aclosing(live_files):
                async for file in live_files:
                    execution.meter.count_emitted(1)
                    yield file

    def _files(self, execution: ExecutionContext) -> Generator[LiveFile, None, None]:
        """Yield the files up to the limit; the caller counts them."""
        if self.limit == 0:
            return
        files = size_bytes = 0
        with self._run(self._first_phase(None), execution) as run:
            for batch in run:
                for file in live_files(batch, self.context):
                    files += 1
                    size_bytes += file.size_bytes
                    yield file
                    if files == self.limit:
                        return
        self._metering.compare(files, size_bytes)

    def batches(self, *, columns: Sequence[str] | None = None) -> BatchReader[RecordBatch]:
        """Return the live files as `pyarrow.RecordBatch` values, read ahead by a thread.

        A small file list that was read to its end is cached, and served from memory next time.

        Args:
            columns: Column names; by default all, with the content of `LiveFile`.

        Raises:
            InvalidArgumentError: it is not a list of names, or there is no such column.
            UnsafePathError, PartitionValueError: from the batches: a path leads outside the
                table, or a partition value does not have its column's type.
        """
        names = None if columns is None else column_names(columns)
        schema = self._file_list.schema(names)
        projection = None if names is None else self._source.lazy.add_fields(schema.names)
        execution = ExecutionContext(settings=self.options)
        run = self._run(self._first_phase(projection), execution)
        batches = self._file_list.batches(run, names, execution.meter)
        return self._reader(batches, execution, planned=self.decision)

    def _reader(
        self,
        batches: Generator[RecordBatch, None, None],
        execution: ExecutionContext,
        *,
        planned: ScanDecision,
    ) -> BatchReader[RecordBatch]:
        return BatchReader(
            self._metering.batches(batches, execution.meter, planned),
            cancellation=execution.cancellation,
            taken=lambda batch: execution.meter.count_emitted(batch.num_rows),
            to_async=self._source.lazy.one_by_one,
        )

    def _run(self, phase: Phase[ScanOutcome], execution: ExecutionContext) -> Run[ScanOutcome]:
        """Return a `Run` whose caller reports its end."""
        return Run(
            phase, executor=self._source.executor, context=execution, reporter=self._reporter
        )

    def since(
        self, previous: ArrowBatches, *, version: int, where: str | None = None
    ) -> BatchReader[RecordBatch]:
        """Return the files of `batches()`, from those of an older version and the commits since.

        Args:
            previous: The batches of the older version, with all columns; or a table of them.
                They carry a label, as long as the metadata of their schema is kept.
            version: The version of `previous`.
            where: The condition of `previous`, which must be that of this scan.

        Raises:
            IncrementRefusedError: the result would not be exact; now, or from the batches.
            InvalidArgumentError: the scan has a limit; or, from the batches, `previous` is not a
                list of files.
        """
        if self.limit is not None:
            raise InvalidArgumentError(argument="limit", reason="an increment has no limit")
        version = whole_number("version", version)
        if version > self.request.version:
            reason = f"version {version} is not older than {self.request.version}"
            raise IncrementRefusedError(table=self.request.table, reason=reason)
        if where != self.where:
            reason = f"the old files were listed with where={where!r}, this scan has {self.where!r}"
            raise IncrementRefusedError(table=self.request.table, reason=reason)
        phase = plan_increment(self.request, self.segment, since=version)
        execution = ExecutionContext(settings=self.options)
        label = replace(self._file_list.label, version=version)
        batches = self._brought_up_to_date(previous, label, phase, execution)
        planned = decide_increment(self.segment, since=version)
        return self._reader(batches, execution, planned=planned)

    def _brought_up_to_date(
        self,
        previous: ArrowBatches,
        label: ListLabel,
        phase: Phase[ScanOutcome],
        execution: ExecutionContext,
    ) -> Generator[RecordBatch, None, None]:
        with self._run(phase, execution) as run:
            batches = self._source.lazy.bring_up_to_date(previous, run, self.context, label)
            yield from self._file_list.up_to_limit(batches)

    def arrow_schema(self, *, columns: Sequence[str] | None = None) -> ArrowSchema:
        """Return the `pyarrow.Schema` of the batches."""
        return self._file_list.schema(columns)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the live files to libraries that read Arrow, such as `polars.DataFrame(scan)`.

        The columns are those of `batches()`. The struct of typed partition values is left out
        if the table has no partition columns: few libraries support a struct without fields.
        """
        names = self._file_list.stream_columns
        schema = self.arrow_schema(columns=names)
        reader = self._source.lazy.reader(schema, self.batches(columns=names))
        return reader.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Export the schema of the live files to libraries that read Arrow."""
        return self.arrow_schema(columns=self._file_list.stream_columns).__arrow_c_schema__()

    def count(self) -> int:
        """Return the number of files, without creating a value for each."""
        execution = ExecutionContext(settings=self.options)
        files = 0
        with self.replay(execution, projection=("path",)) as run:
            while files != self.limit and (batch := next(run, None)) is not None:
                counted = len(batch) if self.limit is None else min(len(batch), self.limit - files)
                execution.meter.count_emitted(counted)
                files += counted
        if files != self.limit:
            self._metering.compare(files, None)
        return files

    @property
    def _file_list(self) -> FileList:
        """Produces the files of this scan as Arrow batches."""
        file_lists = self._source.file_lists
        return FileList(
            lazy=self._source.lazy,
            context=self.context,
            file_lists=file_lists,
            label=ListLabel(
                table_id=file_lists.table_id,
                root=self.context.root,
                version=self.request.version,
                where=self.where,
                limit=self.limit,
            ),
            shape=FileListShape(
                where=self.where,
                columns=None,
                strategy=self.decision.strategy,
                tripwire=self.options.tripwire,
                fallback=self.options.fallback,
                batch_rows=self.options.batch_rows,
            ),
            metering=self._metering,
        )

    def _first_phase(self, projection: tuple[str, ...] | None) -> Phase[ScanOutcome]:
        request = self.request if projection is None else self.request.projected(projection)
        return first_phase(self.decision, self.options, request=request, segment=self.segment)
