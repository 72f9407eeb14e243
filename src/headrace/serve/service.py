"""The protocol-independent core of a server, shared by Flight and HTTP.

A request and its caller enter; a description or an answer leaves.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
import pyarrow as pa

from headrace.errors import HeadraceError, SnapshotExpiredError
from headrace.log.name import LOG_DIRECTORY
from headrace.plan.cancellation import Cancelled
from headrace.serve.answer import Answer
from headrace.serve.answer_cache import AnswerCache
from headrace.serve.description import Description
from headrace.serve.message import FlushPolicy
from headrace.serve.monitor import Access, Monitor
from headrace.serve.outcome import Refusal
from headrace.serve.request import WireRequest
from headrace.serve.root import Roots
from headrace.serve.stream_slot import StreamSlots
from headrace.serve.table_cache import TableCache
from headrace.serve.ticket import Ticket, TicketSigner
from headrace.serve.token import Tokens
from headrace.table import Snapshot

_logger = logging.getLogger("headrace.serve")

CANCELLED = "CANCELLED"


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one server process."""

    max_streams: int = 256
    """The maximum number of concurrent streams."""
    deadline_s: float = 3600.0
    """The maximum duration of a stream."""
    drain_s: float = 30.0
    """How long running streams may continue when the server shuts down."""
    answer_cache_bytes: int = 256 << 20
    """The size of all cached answers together; 0 caches none."""


class Service:
    """Answers requests."""

    def __init__(  # noqa: PLR0913  (the parts of a service)
        self,
        roots: Roots,
        *,
        tokens: Tokens | None = None,
        tickets: TicketSigner | None = None,
        limits: ServerLimits | None = None,
        monitor: Monitor | None = None,
        flush_policy: FlushPolicy | None = None,
    ) -> None:
        """Assemble a service without opening a table."""
        self.roots = roots
        self.tokens = tokens or Tokens()
        self.tickets = tickets or TicketSigner()
        self.limits = limits or ServerLimits()
        self.monitor = monitor or Monitor()
        self.slots = StreamSlots(
            max_streams=self.limits.max_streams,
            deadline_s=self.limits.deadline_s,
            release=pa.default_memory_pool().release_unused,
        )
        self.answers = AnswerCache(self.limits.answer_cache_bytes)
        self._tables = TableCache(roots, reporter=self.monitor.report)
        self._flush_policy = flush_policy

    def describe(self, request: WireRequest) -> tuple[Description, pa.Schema]:
        """Return the description of a request's snapshot, and the schema of its answer.

        Raises:
            HeadraceError: the request cannot be answered.
        """
        self.slots.refuse_when_draining()
        snapshot = self._tables.snapshot(request)
        answer = self._answer(request, snapshot)
        description = Description(
            table=request.table,
            uri=snapshot.table.uri,
            version=snapshot.version,
            protocol=snapshot.protocol,
            metadata=snapshot.metadata,
            not_evaluated=answer.not_evaluated,
        )
        return description, answer.schema

    def open(self, request: WireRequest) -> Answer:
        """Return the answer to a request, without reading anything yet.

        Raises:
            HeadraceError: the request cannot be answered.
        """
        self.slots.refuse_when_draining()
        return self._answer(request, self._tables.snapshot(request))

    def issue(self, request: WireRequest, description: Description, *, caller: str) -> list[bytes]:
        """Return one ticket per endpoint of a flight, all for the described version."""
        pinned = msgspec.structs.replace(request, version=description.version, as_of=None)
        return [
            self.tickets.issue(pinned, table_id=description.metadata.id, part=part, caller=caller)
            for part in range(request.endpoints)
        ]

    def redeem(self, ticket: bytes, *, caller: str) -> Answer:
        """Return the answer that a ticket grants.

        Raises:
            InvalidTicketError, TicketExpiredError: the ticket is not valid.
            HeadraceError: the request can no longer be answered.
        """
        self.slots.refuse_when_draining()
        granted: Ticket = self.tickets.check(ticket, caller=caller)
        snapshot = self._tables.snapshot(granted.request)
        if snapshot.metadata.id != granted.table_id:
            raise SnapshotExpiredError(
                table=granted.request.table,
                version=snapshot.version,
                path=LOG_DIRECTORY,
                replaced=True,
            )
        return self._answer(granted.request, snapshot, part=granted.part)

    @contextmanager
    def recorded(self, access: Access) -> Iterator[None]:
        """Count and log the request that ends in this context, however it ends."""
        try:
            yield
        except HeadraceError as error:
            access.status = error.code
            self.slots.release_memory()  # gRPC buffered the whole request, however large
            raise
        except (GeneratorExit, Cancelled):
            access.status = CANCELLED
            raise
        except BaseException:
            access.status = "INTERNAL"
            raise
        finally:
            self.monitor.record(access)

    @contextmanager
    def streaming(self, answer: Answer, access: Access) -> Iterator[Callable[[], None]]:
        """Hold a slot for the stream that runs in this reading, and release everything at its end.

        Yields a check that raises when the stream exceeds its deadline.
        """
        access.kind, access.table = answer.request.kind, answer.request.table
        access.version = answer.version
        with self.slots.taken(answer.stop) as check:
            self.monitor.stream_started()
            try:
                yield check
            finally:
                access.count, access.first_ms = answer.count, answer.first_ms
                access.is_cached = answer.is_cached or None
                answer.stop()  # its thread releases everything in the background
                self.monitor.stream_ended()

    def refusal(self, error: BaseException) -> Refusal:
        """Return what a client may see of an error: no addresses, no internal failures."""
        if isinstance(error, HeadraceError):
            return Refusal.of(error, self.roots.redact(str(error)))
        _logger.error("a request failed", exc_info=error)
        return Refusal(code="INTERNAL", message="the server failed; see its log")

    def _answer(self, request: WireRequest, snapshot: Snapshot, *, part: int = 0) -> Answer:
        return Answer(
            request,
            snapshot,
            allowed=self.roots.uris,
            flush_policy=self._flush_policy,
            part=part,
            streams=self.slots.running,
            cache=self.answers,
        )
