"""Requests that cannot be answered: a wrong argument, predicate or column."""

from collections.abc import Sequence
from difflib import get_close_matches

from headrace.errors.root import HeadraceError


class RequestError(HeadraceError):
    """The request is invalid or cannot be answered."""


class FallbackForbiddenError(RequestError):
    """The scan would have to fall back to a strategy that the request forbids."""

    code = "FALLBACK_FORBIDDEN"

    def __init__(self, *, table: str, reason: str) -> None:
        self.table, self.reason = table, reason
        super().__init__(
            f"{table}: {reason}, so the strict tripwire requires the forward strategy, and "
            "falling back is forbidden; allow it, or use the lenient tripwire, which is just as "
            "exact"
        )


class FilesNotSeenError(RequestError):
    """A Spark Connect server does not see all the files it has to read."""

    code = "FILES_NOT_SEEN"

    def __init__(self, *, table: str, expected: int, seen: int) -> None:
        self.table, self.expected, self.seen = table, expected, seen
        super().__init__(
            f"{table}: Spark should read {expected} files and sees {seen}, so rows would be "
            "missing; it ignores names that start with _ or a dot: read such a table with a "
            "classic session instead of Spark Connect"
        )


class IncrementRefusedError(RequestError):
    """An older list of files cannot be updated exactly."""

    code = "INCREMENT_REFUSED"

    def __init__(self, *, table: str, reason: str) -> None:
        self.table, self.reason = table, reason
        super().__init__(f"{table}: {reason}, so the old list cannot be updated; scan again")


class InvalidArgumentError(RequestError):
    """An argument has a value that the call does not accept."""

    code = "INVALID_ARGUMENT"

    def __init__(self, *, argument: str, reason: str) -> None:
        self.argument, self.reason = argument, reason
        super().__init__(f"{argument}: {reason}")


class UnknownStorageOptionError(RequestError):
    """A store has no such option."""

    code = "UNKNOWN_STORAGE_OPTION"

    def __init__(self, *, option: str, store: str, nearest: str | None) -> None:
        self.option, self.store, self.nearest = option, store, nearest
        hint = "see the guide on object stores" if nearest is None else f"do you mean {nearest}?"
        super().__init__(f"{option}: {store} has no such storage option; {hint}")


class MalformedRequestError(RequestError):
    """A request to a server, or to the C library, is not in the wire format."""

    code = "MALFORMED_REQUEST"

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the request cannot be read: {reason}; see the request schema")


class PredicateSyntaxError(RequestError):
    """The text of a predicate cannot be parsed, or uses SQL that is not supported."""

    code = "PREDICATE_SYNTAX"

    def __init__(self, *, predicate: str, reason: str, position: int | None = None) -> None:
        self.predicate, self.reason, self.position = predicate, reason, position
        where = "" if position is None else f" at character {position}"
        super().__init__(
            f"cannot parse the predicate {predicate!r}{where}: {reason}; write one Spark SQL "
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
    """A reader was read after it had been closed early."""

    code = "READER_CLOSED"

    def __init__(self) -> None:
        super().__init__("the reader was closed before its end; open a new one")


class UnknownColumnError(RequestError):
    """A predicate or a list of columns names a column that does not exist."""

    code = "UNKNOWN_COLUMN"

    def __init__(self, *, column: str, known: Sequence[str], in_condition: bool = False) -> None:
        self.column, self.known, self.in_condition = column, tuple(known), in_condition
        listed = ", ".join(self.known)
        known_columns = f"the table has {listed}" if listed else "its parent has no columns"
        super().__init__(f"no column {column}; {known_columns}{self._hint()}")

    def _hint(self) -> str:
        folded = {name.casefold(): name for name in self.known}
        close = get_close_matches(self.column.casefold(), folded, n=1)
        if close:
            return f"; did you mean {folded[close[0]]}?"
        is_word = self.in_condition and self.column.isidentifier()
        return f"; if it is a text, quote it: '{self.column}'" if is_word else ""


class UnsupportedPredicateError(RequestError):
    """A predicate that can skip files cannot be evaluated row by row."""

    code = "UNSUPPORTED_PREDICATE"

    def __init__(self, *, part: str) -> None:
        self.part = part
        super().__init__(
            f"{part}: rows cannot be filtered by this; compare columns with literals, and leave "
            "the rest to the consumer of the rows"
        )


class StatementSyntaxError(RequestError):
    """A SQL statement about a state does not follow the grammar."""

    code = "STATEMENT_SYNTAX"

    def __init__(self, *, statement: str, expected: str, found: str, position: int) -> None:
        self.statement, self.expected, self.found = statement, expected, found
        self.position = position
        super().__init__(
            f"cannot parse {statement!r} at character {position}: expected {expected}, found "
            f"{found}; the guide to maintaining a state lists the "
            "statements"
        )
