"""The wire format of a request to a server or to the C library: JSON.

JSON enters; a `WireRequest` leaves, or an error that names the fault. The format has a version
number, and unknown keys are errors. `request.schema.json`, next to this module, describes it for
other languages.
"""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from headrace.errors import MalformedRequestError, RequestTooLargeError
from headrace.phases.tripwire import Fallback
from headrace.rows.option import RowOptions
from headrace.scan.options import ScanOptions, Strategy, Tripwire
from headrace.serve.condition import parse_condition, unique_keys

FORM: Literal[1] = 1
"""The version of this format; a change that an old client would notice increments it."""
MAX_REQUEST_BYTES = 64 << 10
MAX_ENDPOINTS = 64

Kind: TypeAlias = Literal["files", "rows"]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class WireOptions(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The scan options that a client may set, each within bounds that a server can afford."""

    tripwire: Tripwire | None = None
    fallback: Fallback | None = None
    memory_limit_bytes: Annotated[int, msgspec.Meta(ge=0, le=256 << 20)] | None = None
    commit_parallelism: Annotated[int, msgspec.Meta(ge=1, le=64)] | None = None
    leaf_parallelism: Annotated[int, msgspec.Meta(ge=1, le=8)] | None = None
    batch_rows: Annotated[int, msgspec.Meta(ge=1, le=65_536)] | None = None
    rows_per_batch: Annotated[int, msgspec.Meta(ge=1, le=262_144)] | None = None
    files_at_once: Annotated[int, msgspec.Meta(ge=1, le=16)] | None = None
    batches_ahead: Annotated[int, msgspec.Meta(ge=1, le=8)] | None = None

    def overrides(self) -> dict[str, Any]:
        """Return the options that are set, by name."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in values.items() if value is not None}


class WireRequest(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One well-formed request; whether the table has its columns is checked later."""

    form: Literal[1] = FORM
    table: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
    """The name of a served table; for the C library, the address of the table."""
    kind: Kind = "files"
    where: msgspec.Raw = msgspec.Raw(b"null")
    """A SQL condition as text, or a predicate as an object."""
    limit: _Count | None = None
    """The maximum number of files or rows; 0 or None means all."""
    version: _Count | None = None
    as_of: Annotated[str, msgspec.Meta(min_length=1, max_length=100)] | None = None
    strategy: Strategy | None = None
    columns: Annotated[tuple[str, ...], msgspec.Meta(max_length=10_000)] | None = None
    options: WireOptions = WireOptions()
    endpoints: Annotated[int, msgspec.Meta(ge=1, le=MAX_ENDPOINTS)] = 1
    """The number of streams that the files may be divided into."""

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
            reason = "where must be a SQL string or an object"
            raise MalformedRequestError(reason=reason) from error

    @property
    def most(self) -> int | None:
        """The limit, or None if there is none."""
        return self.limit or None

    @property
    def scan_overrides(self) -> dict[str, Any]:
        """The options of a file scan, by name."""
        return self._overrides(ScanOptions)

    @property
    def row_overrides(self) -> dict[str, Any]:
        """The options of a row read, by name."""
        return self._overrides(RowOptions)

    def _overrides(self, kind: type[ScanOptions]) -> dict[str, Any]:
        overrides = self.options.overrides()
        if self.strategy is not None:
            overrides["strategy"] = self.strategy
        for name in overrides:
            if name not in kind.__struct_fields__:
                reason = f"the option {name} is for rows, but kind is {self.kind}"
                raise MalformedRequestError(reason=reason)
        return overrides

    def encode(self) -> bytes:
        """Encode the request as JSON."""
        return msgspec.json.encode(self)


def decode_request(content: bytes | str, *, kind: Kind | None = None) -> WireRequest:
    """Decode and check a request.

    Args:
        content: The JSON text.
        kind: The kind that the endpoint serves; the request must not name another one.

    Raises:
        MalformedRequestError: it is not in the wire format.
        RequestTooLargeError: it is too long.
    """
    if len(content) > MAX_REQUEST_BYTES:
        raise RequestTooLargeError(limit_bytes=MAX_REQUEST_BYTES)
    try:
        fields = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        request = msgspec.json.decode(content, type=WireRequest)
        json.loads(content, object_pairs_hook=unique_keys, parse_int=str, parse_float=str)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise MalformedRequestError(reason=str(error)) from error
    if kind is not None and "kind" in fields and request.kind != kind:
        raise MalformedRequestError(reason=f"kind is {request.kind}, and this is for {kind}")
    return checked(msgspec.structs.replace(request, kind=kind or request.kind))


def checked(request: WireRequest) -> WireRequest:
    """Return the request if its fields are consistent.

    Raises:
        MalformedRequestError: they are not.
    """
    if request.version is not None and request.as_of is not None:
        raise MalformedRequestError(reason="use version or as_of, not both")
    if request.endpoints > 1 and (request.most is not None or request.kind == "rows"):
        raise MalformedRequestError(
            reason="endpoints divides all files of a table: request files, without a limit"
        )
    request.condition  # noqa: B018  (refuses a malformed condition at once)
    request._overrides(RowOptions if request.kind == "rows" else ScanOptions)  # noqa: SLF001
    return request


def make_request(  # noqa: PLR0913  (one parameter per key)
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
    """Build a request from Python values, for clients.

    Raises:
        MalformedRequestError: the wire format cannot hold a value.
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
