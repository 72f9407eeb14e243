"""What was asked for cannot be answered: an argument, a predicate, a column."""

from collections.abc import Sequence

from headrace.errors.root import HeadraceError


class RequestError(HeadraceError):
    """What was asked for cannot be answered."""


class FallbackForbiddenError(RequestError):
    """The scan would have to take another way than the request allows."""

    code = "FALLBACK_FORBIDDEN"

    def __init__(self, *, table: str, reason: str) -> None:
        self.table, self.reason = table, reason
        super().__init__(
            f"{table}: {reason}, which the strict tripwire sends the forward way, and falling "
            "back is forbidden; allow it, or use the lenient tripwire, which is as exact"
        )


class FilesNotSeenError(RequestError):
    """A Spark Connect server sees other files than those that it was told to read."""

    code = "FILES_NOT_SEEN"

    def __init__(self, *, table: str, expected: int, seen: int) -> None:
        self.table, self.expected, self.seen = table, expected, seen
        super().__init__(
            f"{table}: Spark was told of {expected} files and sees {seen}, so rows would be "
            "missing; it passes over names that begin with _ or a dot: read such a table with a "
            "session that is not of Spark Connect"
        )


class IncrementRefusedError(RequestError):
    """An older list of files cannot be brought up to date exactly."""

    code = "INCREMENT_REFUSED"

    def __init__(self, *, table: str, reason: str) -> None:
        self.table, self.reason = table, reason
        super().__init__(f"{table}: {reason}, so the old list cannot be built upon; scan anew")


class InvalidArgumentError(RequestError):
    """An argument is outside of what the call takes."""

    code = "INVALID_ARGUMENT"

    def __init__(self, *, argument: str, reason: str) -> None:
        self.argument, self.reason = argument, reason
        super().__init__(f"{argument}: {reason}")


class PredicateSyntaxError(RequestError):
    """The text of a predicate is not SQL that we know."""

    code = "PREDICATE_SYNTAX"

    def __init__(self, *, predicate: str, reason: str, position: int | None = None) -> None:
        self.predicate, self.reason, self.position = predicate, reason, position
        where = "" if position is None else f" at character {position}"
        super().__init__(
            f"cannot read the predicate {predicate!r}{where}: {reason}; write one Spark SQL "
            "condition, for example \"date >= '2026-01-01' AND city IN ('Bern', 'Basel')\""
        )


class PredicateTypeError(RequestError):
    """A literal cannot be compared with its column."""

    code = "PREDICATE_TYPE"

    def __init__(self, *, column: str, type_name: str, literal: str) -> None:
        self.column, self.type_name, self.literal = column, type_name, literal
        super().__init__(
            f"column {column} is of type {type_name} and cannot be compared with {literal}; "
            f"write a {type_name} literal"
        )


class ReaderClosedError(RequestError):
    """A reader was closed before its end, and is read on."""

    code = "READER_CLOSED"

    def __init__(self) -> None:
        super().__init__("the reader was closed before its end; ask for what is to be read again")


class UnknownColumnError(RequestError):
    """A predicate or a list of columns names one that the table does not have."""

    code = "UNKNOWN_COLUMN"

    def __init__(self, *, column: str, known: Sequence[str]) -> None:
        self.column, self.known = column, tuple(known)
        listed = ", ".join(self.known)
        beside = f"the table has {listed}" if listed else "what should hold it has no columns"
        super().__init__(f"no column {column}; {beside}")


class UnsupportedPredicateError(RequestError):
    """A predicate that can leave out files cannot be evaluated row by row."""

    code = "UNSUPPORTED_PREDICATE"

    def __init__(self, *, part: str) -> None:
        self.part = part
        super().__init__(
            f"{part}: rows are not filtered by this; compare columns with literals, and leave the "
            "rest to the engine that takes the rows"
        )
