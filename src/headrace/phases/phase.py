"""The kinds of phases: `Consume`, `PartialResult` and `Terminus`.

A driver asks a phase for its plan, has an executor run it, and calls `next`:

- a `Consume` phase gets the batches: they are configuration, such as a listing;
- a `PartialResult` phase gets nothing: its batches were streamed to the caller. The phase itself
  holds the state that the next phase needs;
- a `Terminus` is the end, and holds the value that the machine was built for.
"""

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from typing import Generic, Protocol, TypeAlias, TypeVar

import msgspec

from headrace.errors import HeadraceError, UnexpectedBatchError
from headrace.metrics.event import Event
from headrace.plan.batch import ActionBatch, Batch, Document, FileListing
from headrace.plan.node import Node
from headrace.protocol.log_file import LogFile

T = TypeVar("T")
U = TypeVar("U")
U_contra = TypeVar("U_contra", contravariant=True)


class _Abstract(msgspec.StructMeta, ABCMeta):
    """Makes structs enforce their abstract methods."""


class Terminus(msgspec.Struct, Generic[T], frozen=True):
    """The end of a machine, with its value. `events` report what happened on the way to it."""

    value: T
    events: tuple[Event, ...] = ()


class Consume(msgspec.Struct, Generic[T], metaclass=_Abstract, frozen=True, kw_only=True):
    """A phase whose batches are configuration: the driver collects them for `next`."""

    events: tuple[Event, ...] = ()

    @abstractmethod
    def plan(self) -> Node:
        """Return the plan of what to read."""

    @abstractmethod
    def next(self, data: Sequence[Batch]) -> "Phase[T]":
        """Return the next phase, given everything that the plan has read."""

    def expects(self) -> tuple[Node, ...]:
        """Return plans that later phases are likely to have, so that an engine may read ahead."""
        return ()

    def failed(self, error: HeadraceError) -> "Phase[T]":
        """Return the next phase after the plan failed; raise if there is none."""
        raise error

    def listed(self, data: Sequence[Batch]) -> list[LogFile]:
        """Return the files of a plan that lists files."""
        files: list[LogFile] = []
        for batch in data:
            if not isinstance(batch, FileListing):
                raise self._unexpected(batch, "FileListing")
            files += batch.files
        return files

    def documents(self, data: Sequence[Batch]) -> list[Document]:
        """Return the documents of a plan that reads documents."""
        documents: list[Document] = []
        for batch in data:
            if not isinstance(batch, Document):
                raise self._unexpected(batch, "Document")
            documents.append(batch)
        return documents

    def actions(self, data: Sequence[Batch]) -> list[ActionBatch]:
        """Return the action batches of a plan that reads actions."""
        batches: list[ActionBatch] = []
        for batch in data:
            if isinstance(batch, FileListing | Document):
                raise self._unexpected(batch, "ActionBatch")
            batches.append(batch)
        return batches

    def _unexpected(self, batch: Batch, expected: str) -> UnexpectedBatchError:
        return UnexpectedBatchError(
            phase=type(self).__name__, expected=expected, got=type(batch).__name__
        )


class Continuation(Protocol[U_contra, T]):
    """Continues after a machine, given its value. It is a frozen struct, so phases pickle."""

    def after(self, value: U_contra) -> "Phase[T]":
        """Return the phase to continue with."""


class Then(Consume[T], Generic[U, T], frozen=True, kw_only=True):
    """A machine of consuming phases, and its continuation."""

    phase: "Phase[U]"
    continuation: Continuation[U, T]

    @classmethod
    def of(cls, phase: "Phase[U]", continuation: Continuation[U, T]) -> "Phase[T]":
        """Wrap a phase of the machine; at its end, return the first phase of the continuation."""
        if isinstance(phase, Terminus):
            return continuation.after(phase.value)
        return cls(phase=phase, continuation=continuation, events=phase.events)

    @property
    def _consuming(self) -> Consume[U]:
        assert isinstance(self.phase, Consume)
        return self.phase

    def plan(self) -> Node:
        """Return the plan of the wrapped phase."""
        return self._consuming.plan()

    def expects(self) -> tuple[Node, ...]:
        """Return the plans that the wrapped phase expects."""
        return self._consuming.expects()

    def next(self, data: Sequence[Batch]) -> "Phase[T]":
        """Advance the wrapped phase, and continue after its end."""
        return self.of(self._consuming.next(data), self.continuation)

    def failed(self, error: HeadraceError) -> "Phase[T]":
        """Let the wrapped phase handle the error, and continue after its end."""
        return self.of(self._consuming.failed(error), self.continuation)


class PartialResult(msgspec.Struct, Generic[T], metaclass=_Abstract, frozen=True, kw_only=True):
    """A phase whose batches are results: the driver streams them to the caller."""

    events: tuple[Event, ...] = ()

    @abstractmethod
    def plan(self) -> Node:
        """Return the plan of what to read."""

    @abstractmethod
    def next(self) -> "Phase[T]":
        """Return the next phase, once all batches have been emitted."""

    def expects(self) -> tuple[Node, ...]:
        """Return plans that later phases are likely to have, so that an engine may read ahead."""
        return ()

    def failed(self, error: HeadraceError, *, given: int) -> "Phase[T]":  # noqa: ARG002
        """Return the next phase after a failure with `given` batches emitted; raise if none."""
        raise error


class Sequential(PartialResult[T], frozen=True, kw_only=True):
    """A phase whose batches must be produced in order, by one reader."""


class Parallel(PartialResult[T], frozen=True, kw_only=True):
    """A phase whose plan divides into leaves that any thread or machine may run. It pickles."""

    @abstractmethod
    def leaves(self) -> tuple[Node, ...]:
        """Return independent plans that together make up `plan()`."""


Phase: TypeAlias = Terminus[T] | Consume[T] | Sequential[T] | Parallel[T]
