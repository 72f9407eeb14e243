"""What a phase is: `Consume`, `PartialResult` or `Terminus`.

A driver asks a phase for its plan, has an executor run it, and calls `next`:

- a `Consume` phase gets the batches: they are configuration, such as a listing;
- a `PartialResult` phase gets nothing: its batches went to the caller, one by one. What the
  next phase needs lives in the phase's own state;
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
    """Structs that insist on their abstract methods."""


class Terminus(msgspec.Struct, Generic[T], frozen=True):
    """The machine has ended with a value. `events` say what happened on the way to it."""

    value: T
    events: tuple[Event, ...] = ()


class Consume(msgspec.Struct, Generic[T], metaclass=_Abstract, frozen=True, kw_only=True):
    """Its batches are configuration: the driver collects them and hands them to `next`."""

    events: tuple[Event, ...] = ()

    @abstractmethod
    def plan(self) -> Node:
        """What to read."""

    @abstractmethod
    def next(self, data: Sequence[Batch]) -> "Phase[T]":
        """Where to go from here, given everything that the plan has read."""

    def expects(self) -> tuple[Node, ...]:
        """Plans that the phases after this one are likely to have: an engine may read ahead."""
        return ()

    def failed(self, error: HeadraceError) -> "Phase[T]":
        """Where to go when the plan could not be executed; raises where there is no way."""
        raise error

    def listed(self, data: Sequence[Batch]) -> list[LogFile]:
        """The files, where the plan was to list some."""
        files: list[LogFile] = []
        for batch in data:
            if not isinstance(batch, FileListing):
                raise self._unexpected(batch, "FileListing")
            files += batch.files
        return files

    def documents(self, data: Sequence[Batch]) -> list[Document]:
        """The documents, where the plan was to read some."""
        documents: list[Document] = []
        for batch in data:
            if not isinstance(batch, Document):
                raise self._unexpected(batch, "Document")
            documents.append(batch)
        return documents

    def actions(self, data: Sequence[Batch]) -> list[ActionBatch]:
        """The action batches, where the plan was to read actions."""
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
    """What follows a machine, given its value. It is a frozen struct: phases pickle."""

    def after(self, value: U_contra) -> "Phase[T]":
        """The phase to go on with."""


class Then(Consume[T], Generic[U, T], frozen=True, kw_only=True):
    """A machine of consuming phases, and what follows it."""

    phase: "Phase[U]"
    continuation: Continuation[U, T]

    @classmethod
    def of(cls, phase: "Phase[U]", continuation: Continuation[U, T]) -> "Phase[T]":
        """The machine at a phase; what follows it, if the phase is the end."""
        if isinstance(phase, Terminus):
            return continuation.after(phase.value)
        return cls(phase=phase, continuation=continuation, events=phase.events)

    @property
    def _consuming(self) -> Consume[U]:
        assert isinstance(self.phase, Consume)
        return self.phase

    def plan(self) -> Node:
        """That of the phase."""
        return self._consuming.plan()

    def expects(self) -> tuple[Node, ...]:
        """What the phase expects."""
        return self._consuming.expects()

    def next(self, data: Sequence[Batch]) -> "Phase[T]":
        """Where the phase goes, and what follows."""
        return self.of(self._consuming.next(data), self.continuation)

    def failed(self, error: HeadraceError) -> "Phase[T]":
        """Likewise."""
        return self.of(self._consuming.failed(error), self.continuation)


class PartialResult(msgspec.Struct, Generic[T], metaclass=_Abstract, frozen=True, kw_only=True):
    """Its batches are results: the driver streams them to the caller."""

    events: tuple[Event, ...] = ()

    @abstractmethod
    def plan(self) -> Node:
        """What to read."""

    @abstractmethod
    def next(self) -> "Phase[T]":
        """Where to go once all batches have been given out."""

    def expects(self) -> tuple[Node, ...]:
        """Plans that the phases after this one are likely to have: an engine may read ahead."""
        return ()

    def failed(self, error: HeadraceError, *, given: int) -> "Phase[T]":  # noqa: ARG002
        """Where to go when the plan failed after `given` batches; raises where there is no way."""
        raise error


class Sequential(PartialResult[T], frozen=True, kw_only=True):
    """Batches must be made in order, by one reader."""


class Parallel(PartialResult[T], frozen=True, kw_only=True):
    """The plan falls apart into leaves that any thread or machine may execute. It pickles."""

    @abstractmethod
    def leaves(self) -> tuple[Node, ...]:
        """Independent plans; together they are `plan()`."""


Phase: TypeAlias = Terminus[T] | Consume[T] | Sequential[T] | Parallel[T]
