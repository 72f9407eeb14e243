"""Lowers plan nodes to the embedded engine. This module does not import Arrow.

Plans enter; batches leave, lazily and in order.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import compress
from threading import RLock
from types import SimpleNamespace
from typing import Any, assert_never

from msgspec.structs import replace

from headrace.engines.arrow.arrow_part import Checkpoints, Columnar, Footer, LoadColumnar
from headrace.engines.arrow.json_lines import count_json_rows, scan_json
from headrace.engines.arrow.parquet.action import READABLE, read_actions
from headrace.engines.computed import computed
from headrace.engines.execution_store import execution_store
from headrace.engines.log_bytes import LogBytes, LogCache
from headrace.errors import CorruptLogError, ObjectNotFoundError, UnexpectedBatchError
from headrace.metrics.meter import Meter
from headrace.plan.batch import ActionBatch, AddBatch, Batch, Document, FileListing, RowBatch
from headrace.plan.cancellation import Cancellation
from headrace.plan.context import ExecutionContext
from headrace.plan.executor import Executor
from headrace.plan.node import (
    Chain,
    CollectKeys,
    DropSeen,
    FirstOfEach,
    ListFiles,
    ListTree,
    Node,
    ReadDocument,
    RecordSeen,
    ScanAvro,
    ScanJson,
    ScanParquet,
    SkipFiles,
)
from headrace.plan.seen import RecordingSeen
from headrace.protocol.log_file import LogFile
from headrace.storage.store import ObjectMeta, Store
from headrace.storage.unchanged import check_unchanged


class ArrowExecutor(Executor):
    """Executes plans on this machine, over one store."""

    def __init__(
        self,
        store: Store,
        *,
        load_columnar: LoadColumnar,
        cache: LogCache,
        context: ExecutionContext | None = None,
    ) -> None:
        self._store = store
        self._load_columnar = load_columnar
        self._cache = cache
        self._context = context or ExecutionContext()
        self._unrequested_commits = 0
        """The number of commits of the running plan that have not been requested yet."""
        self._expected: list[Node] = []
        """The plans whose reads start once all commits have been requested."""
        self._unrequested_adds: list[ScanParquet] = []
        """The expected adds of checkpoints whose footers may not have arrived yet."""
        self._loading = RLock()
        self._loaded: Columnar | None = None
        self._loaded_checkpoints: Checkpoints | None = None
        self._collected: set[str] = set()
        """The files whose keys this execution has collected; they are read again for their adds."""

    def bound(self, context: ExecutionContext) -> "ArrowExecutor":
        """Return an executor on the same store for one execution, with its settings and meter."""
        return ArrowExecutor(
            self._store, load_columnar=self._load_columnar, cache=self._cache, context=context
        )

    def forget(self) -> None:
        """Drop the cached footers and commits."""
        self._load_columnar.clear()
        self._cache.clear()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the engine, not the execution that it is bound to."""
        make = partial(ArrowExecutor, load_columnar=self._load_columnar, cache=self._cache)
        return make, (self._store,)

    @computed
    def _log(self) -> LogBytes:
        store = self._execution_store(self._reads)
        return LogBytes(store, cache=self._cache, meter=self._context.meter)

    def _execution_store(self, cancellation: Cancellation) -> Store:
        return execution_store(self._store, replace(self._context, cancellation=cancellation))

    @computed
    def _reads(self) -> Cancellation:
        """Cancels the reads of this execution alone; others may share the caller's cancellation."""
        return self._context.cancellation.linked()

    @computed
    def _early_reads(self) -> Cancellation:
        """Cancels the reads that newer commits may make unnecessary."""
        return self._reads.linked()

    @property
    def _columnar(self) -> Columnar:
        """The part that needs Arrow, loaded on first use; threads may ask for footers at once."""
        if self._loaded is None:
            with self._loading:
                if self._loaded is None:
                    self._loaded = self._load_columnar(self._log, self._context)
        return self._loaded

    @property
    def _checkpoints(self) -> Checkpoints:
        """The part that reads Parquet, loaded on first use."""
        if self._loaded_checkpoints is None:
            with self._loading:
                if self._loaded_checkpoints is None:
                    self._loaded_checkpoints = self._load_columnar.checkpoints(
                        self._log, self._context, self._columnar
                    )
        return self._loaded_checkpoints

    def execute(self, plan: Node) -> Iterator[Batch]:  # noqa: C901, PLR0912  (one case a node)
        """Execute one plan, lazily and in order."""
        match plan:
            case ListFiles(directory=directory, start_from=start_from):
                yield self._list(directory, start_from)
            case ListTree(directory=directory):
                yield _listing(self._log.store.list_tree(directory))
            case ReadDocument(path=path):
                yield from self._read(path)
            case ScanJson(files=files, columns=columns):
                yield from self._scan_json(files, columns)
            case ScanParquet(files=files, columns=columns, row_groups=groups):
                for file in files:
                    yield from self._scan_parquet(file, columns, groups)
            case ScanAvro(columns=("state",), files=files):
                yield from map(self._read_state, files)
            case ScanAvro():
                yield from self._columnar.scan_manifests((plan,)) or ()
            case Chain(inputs=inputs):
                for part in inputs:
                    yield from self.execute(part)
            case FirstOfEach(input=source, columns=columns):
                yield from _first_of_each(self._actions(source), columns)
            case RecordSeen(input=source, seen=recording):
                yield from self._recorded(source, recording)
            case CollectKeys(input=source, seen=recording):
                for adds in self._recorded(source, recording):
                    self._collected.add(adds.source.path)
            case DropSeen(input=source, seen=frozen):
                for batch in self._actions(source):
                    yield self._columnar.drop_seen(batch, frozen)
            case SkipFiles(input=source, predicate=predicate):
                yield from self._columnar.skip_files(self._actions(source), predicate)
            case _:
                assert_never(plan)

    def begin(self, plan: Node) -> None:
        """Request the first commits, documents and footers of a plan from a remote store.

        Footers come first, since they say what else to request.
        """
        if self._log.is_remote:
            nodes = sorted(_reading_nodes(plan), key=lambda node: isinstance(node, ScanJson))
            for node in nodes:
                self._request(node)

    def expect(self, plans: Sequence[Node]) -> None:
        """Do the same for later plans; on a local disk, read footers in the background.

        Local footers are not read before Arrow is needed: it may never be. Remote requests wait
        until all commits of the current replay are requested. The first row groups of a
        checkpoint are requested too, if nothing is left to decide about them, so that they arrive
        while the commits are replayed.
        """
        if self._log.is_remote:
            self._expected += plans
            if not self._unrequested_commits:
                self._request_expected()
        elif self._loaded is not None:
            nodes = (node for plan in plans for node in _reading_nodes(plan))
            scans = [node for node in nodes if isinstance(node, ScanParquet)]
            if files := [file for scan in scans for file in scan.files]:
                self._checkpoints.expect(files)

    def finish(self) -> None:
        """Drop the reads that have not started, and cancel the row groups in flight.

        Commits in flight arrive if no checkpoint was read: the scan of a snapshot needs them.
        """
        if "_early_reads" in self.__dict__:
            self._early_reads.request()
        if self._loaded_checkpoints is not None:
            self._loaded_checkpoints.finish()
        if self._loaded is not None:
            self._reads.request()
        if "_log" in self.__dict__:
            self._log.close()

    def _request_expected(self) -> None:
        plans, self._expected = self._expected, []
        for plan in plans:
            self.begin(plan)
            if isinstance(plan, ScanParquet) and plan.columns:
                self._unrequested_adds.append(plan)
        self._request_adds()

    def _request_adds(self) -> None:
        self._unrequested_adds = [
            scan for scan in self._unrequested_adds if not self._checkpoints.read_ahead(scan)
        ]

    def _expect_actions(self, file: LogFile, columns: tuple[str, ...]) -> None:
        """Request protocol and metadata as soon as the end of the file has arrived."""
        store = self._execution_store(self._early_reads)
        read = partial(read_actions, self._log.parquet(file, store=store), columns)
        self._log.ahead.expect(("actions", file.path), read, size_bytes=0)

    def _request(self, node: Node) -> None:
        match node:
            case ListFiles(directory=directory):
                self._log.expect_listing(directory)
            case ReadDocument(path=path):
                self._log.expect(LogFile(path=path))
            case ScanJson(files=files):
                self._expect_commits(files[: self._context.settings.commit_parallelism])
            case ScanParquet(files=files) if self._loaded_checkpoints is not None:
                self._loaded_checkpoints.expect(files)  # it caches footers
            case ScanParquet(files=files, columns=columns):
                for file in files:
                    self._log.expect_tail(file)
                    if columns and READABLE.issuperset(columns):
                        self._expect_actions(file, columns)
            case _:
                pass

    def execute_leaves(self, leaves: Sequence[Node]) -> Iterator[Batch]:
        """Execute the leaves of a checkpoint in parallel, other leaves in turn."""
        scanned = self._columnar.scan_manifests(leaves)
        if scanned is None:
            scanned = self._checkpoints.scan_leaves(leaves)
        if scanned is not None:
            yield from scanned
            return
        for leaf in leaves:
            yield from self.execute(leaf)

    def _scan_json(
        self, files: tuple[LogFile, ...], columns: tuple[str, ...]
    ) -> Iterator[ActionBatch]:
        ahead = self._context.settings.commit_parallelism
        requested = 1  # a caller that needs one file may need only the first commit
        for position, file in enumerate(files):
            if position and self._log.is_remote:
                self._expect_commits(files[max(position, requested) : position + ahead])
                requested = position + ahead
            self._unrequested_commits = max(0, len(files) - requested)
            if position and not self._unrequested_commits:
                self._request_expected()
            self._request_adds()
            check_unchanged(self._log.store, file)
            self._context.meter.count(commits_scanned=_is_commit(file))
            yield from scan_json(self._log, file, columns=columns)

    def _expect_commits(self, files: Sequence[LogFile]) -> None:
        for file in files:
            if self._log.is_small(file):
                self._log.expect(file)

    def footer(self, file: LogFile) -> Footer:
        """Return the decoded footer of a Parquet file, reading it unless it is cached.

        Raises:
            ObjectNotFoundError: the file does not exist.
            CorruptCheckpointError: it is damaged.
        """
        return self._checkpoints.footer(file)

    def remember(self, file: LogFile, footer: Footer) -> None:
        """Cache a footer that another process has read, so that it is not read again."""
        self._checkpoints.remember(file, footer)

    def _scan_parquet(
        self, file: LogFile, columns: tuple[str, ...], row_groups: tuple[int, ...] | None
    ) -> Iterator[ActionBatch]:
        """Read a few small columns without Arrow if possible, everything else with it."""
        if row_groups is None and READABLE.issuperset(columns):
            check_unchanged(self._log.store, file)
            read = partial(read_actions, self._log.parquet(file), columns)
            actions = self._log.ahead.take(("actions", file.path), read)
            if actions is not None:
                self._context.meter.count(files_read=1)
                yield RowBatch(file, [SimpleNamespace(**actions)])
                return
        yield from self._checkpoints.scan_parquet(file, columns=columns, row_groups=row_groups)

    def _read_state(self, file: LogFile) -> RowBatch:
        content = self._log.read(file)
        state = self._load_columnar.decode_state(content, path=file.path)
        return RowBatch(file, [SimpleNamespace(state=state)])

    def _list(self, directory: str, start_from: str) -> FileListing:
        return _listing(self._log.list(directory, start_from=start_from))

    def _read(self, path: str) -> Iterator[Document]:
        try:
            content = self._log.read(LogFile(path=path))
        except ObjectNotFoundError:
            return
        yield Document(path, content)

    def _recorded(self, source: Node, seen: RecordingSeen) -> Iterator[AddBatch]:
        """Yield the adds that nothing newer hides; collected files are not counted twice."""
        counted = frozenset(self._collected)
        for batch in self._actions(source):
            meter = Meter() if batch.source.path in counted else self._context.meter
            yield _record(batch, seen, meter)

    def _actions(self, plan: Node) -> Iterator[ActionBatch]:
        for batch in self.execute(plan):
            if isinstance(batch, FileListing | Document):
                raise UnexpectedBatchError(
                    phase=type(plan).__name__, expected="ActionBatch", got=type(batch).__name__
                )
            self._context.cancellation.check()  # some plans yield nothing until their input ends
            yield batch


def _listing(objects: Iterable[ObjectMeta]) -> FileListing:
    return FileListing(
        tuple(
            LogFile(path=o.path, size_bytes=o.size_bytes, modified_ms=o.modified_ms, etag=o.etag)
            for o in objects
        )
    )


def _record(batch: ActionBatch, seen: RecordingSeen, meter: Meter) -> AddBatch:
    adds, removes = batch.actions("add"), batch.actions("remove")
    spilled_before = seen.spilled_keys
    try:
        keep = seen.admit(batch.source.path, adds=adds, removes=removes)
    except ValueError as error:
        raise CorruptLogError(path=batch.source.path, line=None, reason=str(error)) from error
    meter.dedup_hashmap_size = len(seen)
    meter.count(removes_processed=len(removes), spilled_keys=seen.spilled_keys - spilled_before)
    count_json_rows(len(batch), files=len(adds) + len(removes), meter=meter)
    return AddBatch(batch.source, list(compress(adds, keep)))


def _reading_nodes(plan: Node) -> Iterator[Node]:
    """Yield the nodes of a plan that read something."""
    match plan:
        case ListFiles() | ListTree() | ReadDocument() | ScanJson() | ScanParquet() | ScanAvro():
            yield plan
        case Chain(inputs=inputs):
            for part in inputs:
                yield from _reading_nodes(part)
        case FirstOfEach() | RecordSeen() | CollectKeys() | DropSeen() | SkipFiles():
            yield from _reading_nodes(plan.input)
        case _:
            assert_never(plan)


def _is_commit(file: LogFile) -> bool:
    return file.version is not None or file.compacted is not None


def _first_of_each(
    batches: Iterator[ActionBatch], columns: tuple[str, ...]
) -> Iterator[ActionBatch]:
    missing = set(columns)
    for batch in batches:
        present = {column for column in missing if batch.actions(column)}
        if present:
            yield batch
        missing -= present
        if not missing:
            return
