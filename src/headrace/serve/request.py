"""The wire form of a request: what a client asks of a server, or of the C library, as JSON.

JSON enters; a `WireRequest` leaves, or an error that says what is wrong. The form has a number,
unknown keys are errors, and `request.schema.json` beside this module describes it for other
languages.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from headrace.errors import MalformedRequestError, RequestTooLargeError
from headrace.phases.tripwire import Fallback
from headrace.rows.option import RowOptions
from headrace.scan.options import ScanOptions, Strategy, Tripwire
from headrace.serve.condition import parse_condition

FORM: Literal[1] = 1
"""The number of this form; a change that an old client would notice raises it."""
MAX_REQUEST_BYTES = 64 << 10
MAX_ENDPOINTS = 64

Kind: TypeAlias = Literal["files", "rows"]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class WireOptions(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The options of a scan that a client may set, each within bounds that a server can afford."""

    tripwire: Tripwire | None = None
    fallback: Fallback | None = None
    memory_limit_bytes: Annotated[int, msgspec.Meta(ge=0, le=256 << 20)] | None = None
    commit_parallelism: Annotated[int, msgspec.Meta(ge=1, le=32)] | None = None
    leaf_parallelism: Annotated[int, msgspec.Meta(ge=1, le=8)] | None = None
    batch_rows: Annotated[int, msgspec.Meta(ge=1, le=65_536)] | None = None
    rows_per_batch: Annotated[int, msgspec.Meta(ge=1, le=262_144)] | None = None
    files_at_once: Annotated[int, msgspec.Meta(ge=1, le=16)] | None = None
    batches_ahead: Annotated[int, msgspec.Meta(ge=1, le=8)] | None = None

    def overrides(self) -> dict[str, Any]:
        """Those that were given, by name."""
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in given.items() if value is not None}


class WireRequest(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One request, as far as its form goes; whether the table has such columns is asked later."""

    form: Literal[1] = FORM
    table: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
    """A name that the server knows; for the C library the address of the table."""
    kind: Kind = "files"
    where: msgspec.Raw = msgspec.Raw(b"null")
    """A SQL condition as text, or a predicate as an object."""
    limit: _Count | None = None
    """The most files or rows; 0, as none, means all."""
    version: _Count | None = None
    as_of: Annotated[str, msgspec.Meta(min_length=1, max_length=100)] | None = None
    strategy: Strategy | None = None
    columns: Annotated[tuple[str, ...], msgspec.Meta(max_length=10_000)] | None = None
    options: WireOptions = WireOptions()
    endpoints: Annotated[int, msgspec.Meta(ge=1, le=MAX_ENDPOINTS)] = 1
    """Into how many streams the files may be divided."""

    @property
    def condition(self) -> str | None:
        """The condition in SQL.

        Raises:
            MalformedRequestError: `where` is neither text nor a predicate.
        """
        raw = bytes(self.where).strip()
        if raw == b"null":
            return None
        if raw.startswith(b"{"):
            return parse_condition(raw)
        try:
            return msgspec.json.decode(raw, type=str)
        except msgspec.MsgspecError as error:
            reason = "where must be a text in SQL, or an object"
            raise MalformedRequestError(reason=reason) from error

    @property
    def most(self) -> int | None:
        """The limit, where there is one."""
        return self.limit or None

    @property
    def scan_overrides(self) -> dict[str, Any]:
        """The options of a scan of files, by name."""
        return self._overrides(ScanOptions)

    @property
    def row_overrides(self) -> dict[str, Any]:
        """The options of a reading of rows, by name."""
        return self._overrides(RowOptions)

    def _overrides(self, kind: type[ScanOptions]) -> dict[str, Any]:
        given = self.options.overrides()
        if self.strategy is not None:
            given["strategy"] = self.strategy
        for name in given:
            if name not in kind.__struct_fields__:
                reason = f"the option {name} is for rows, and kind is {self.kind}"
                raise MalformedRequestError(reason=reason)
        return given

    def encode(self) -> bytes:
        """The request as JSON."""
        return msgspec.json.encode(self)


def decode_request(content: bytes | str, *, kind: Kind | None = None) -> WireRequest:
    """Read a request.

    Args:
        content: The JSON text.
        kind: What the place that it was sent to is for; the request must not say otherwise.

    Raises:
        MalformedRequestError: it is not in the wire form.
        RequestTooLargeError: it is too long.
    """
    if len(content) > MAX_REQUEST_BYTES:
        raise RequestTooLargeError(limit_bytes=MAX_REQUEST_BYTES)
    try:
        given = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        request = msgspec.json.decode(content, type=WireRequest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedRequestError(reason=str(error)) from error
    if kind is not None and "kind" in given and request.kind != kind:
        raise MalformedRequestError(reason=f"kind is {request.kind}, and this is for {kind}")
    return checked(msgspec.structs.replace(request, kind=kind or request.kind))


def checked(request: WireRequest) -> WireRequest:
    """The request, if its parts fit together.

    Raises:
        MalformedRequestError: they do not.
    """
    if request.version is not None and request.as_of is not None:
        raise MalformedRequestError(reason="version and as_of exclude each other")
    if request.endpoints > 1 and (request.most is not None or request.kind == "rows"):
        raise MalformedRequestError(
            reason="endpoints divides all files of a table: leave out limit, and ask for files"
        )
    request.condition  # noqa: B018  (a condition that cannot be read is refused at once)
    request._overrides(RowOptions if request.kind == "rows" else ScanOptions)  # noqa: SLF001
    return request


def make_request(  # noqa: PLR0913  (one parameter a key)
    table: str,
    *,
    kind: Kind = "files",
    where: str | None = None,
    limit: int | None = None,
    version: int | None = None,
    as_of: str | None = None,
    columns: Sequence[str] | None = None,
    overrides: dict[str, Any] | None = None,
    endpoints: int = 1,
) -> WireRequest:
    """A request from Python's values, for clients.

    Raises:
        MalformedRequestError: a value is outside of what the wire form holds.
    """
    options = dict(overrides or {})
    strategy = options.pop("strategy", None)
    form = {
        "table": table,
        "kind": kind,
        "where": where,
        "limit": limit,
        "version": version,
        "as_of": as_of,
        "columns": columns,
        "strategy": strategy,
        "options": options,
        "endpoints": endpoints,
    }
    return decode_request(msgspec.json.encode({k: v for k, v in form.items() if v is not None}))
