"""The Python client of a server, with the interface of local tables: `headrace.connect(...)`.

Table names enter; snapshots, scans and rows leave, streamed as the server reads them. Errors are
the ones that a local call would raise.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any, Self

import msgspec
import pyarrow as pa
from pyarrow import flight

from headrace import wiring
from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.log.segment import Segment
from headrace.phases.snapshot import TableVersion
from headrace.rows.option import RowOptions
from headrace.scan.argument import chosen_options, column_names, condition, whole_number
from headrace.scan.options import ScanOptions
from headrace.serve.client_error import remote_errors
from headrace.serve.client_flight import PinnedFlight
from headrace.serve.client_stream import RemoteReader, RemoteScan
from headrace.serve.description import Description
from headrace.serve.discovery import Certificates, find_flight
from headrace.serve.request import Kind, WireRequest, make_request
from headrace.table.handover import RowHandover


class Connection:
    """A connection to a server over Arrow Flight.

    It sends nothing before the first request, except to look up the Flight port of an HTTP address.
    """

    def __init__(
        self,
        location: str,
        *,
        token: str | None = None,
        tls_root_certs: bytes | None = None,
        cert_chain: bytes | None = None,
        private_key: bytes | None = None,
    ) -> None:
        """Take the address of a server; users call `headrace.connect`."""
        self._token = token
        certificates = Certificates(
            authority=tls_root_certs, chain=cert_chain, private_key=private_key
        )
        self.location = find_flight(location, token=token, certificates=certificates)
        secure = {"cert_chain": cert_chain, "private_key": private_key} if cert_chain else {}
        try:
            self._client = flight.FlightClient(
                self.location, tls_root_certs=tls_root_certs, **secure
            )
        except (pa.ArrowException, flight.FlightError) as error:
            raise InvalidArgumentError(argument="location", reason=str(error)) from error

    def __repr__(self) -> str:
        return f"Connection({self.location!r})"

    def table(self, name: str) -> "RemoteTable":
        """Return a table by name, such as `lake/events`, without contacting the server."""
        return RemoteTable(self, name)

    def tables(self, beginning: str = "") -> list[str]:
        """Return the names of the server's tables that begin with `beginning`."""
        with remote_errors(self.location):
            infos = list(self._client.list_flights(beginning.encode(), self.call_options))
        return [msgspec.json.decode(info.descriptor.command)["table"] for info in infos]

    def is_ready(self) -> bool:
        """Return whether the server is reachable and accepts requests."""
        try:
            with remote_errors(self.location):
                results = list(self._client.do_action("health", self.call_options))
        except HeadraceError:
            return False
        return [result.body.to_pybytes() for result in results] == [b"ready"]

    def close(self) -> None:
        """Close the connection; this cancels open streams."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    @property
    def call_options(self) -> flight.FlightCallOptions:
        """The options of every call, with the token if there is one."""
        if self._token is None:
            return flight.FlightCallOptions()
        return flight.FlightCallOptions(
            headers=[(b"authorization", f"Bearer {self._token}".encode())]
        )

    def info(self, request: WireRequest) -> flight.FlightInfo:
        """Request a flight.

        Raises:
            HeadraceError: the server refuses it.
        """
        descriptor = flight.FlightDescriptor.for_command(request.encode())
        with remote_errors(self.location):
            return self._client.get_flight_info(descriptor, self.call_options)

    def open(self, ticket: flight.Ticket) -> flight.FlightStreamReader:
        """Start a stream.

        Raises:
            HeadraceError: the server refuses it.
        """
        with remote_errors(self.location):
            return self._client.do_get(ticket, self.call_options)


class RemoteTable:
    """A table of a server."""

    def __init__(self, connection: Connection, name: str) -> None:
        """Name a table; users get them from `Connection.table`."""
        self.connection = connection
        self.name = name

    def __repr__(self) -> str:
        return f"RemoteTable({self.connection.location!r}, {self.name!r})"

    def snapshot(
        self, version: int | None = None, *, as_of: datetime | date | str | None = None
    ) -> "RemoteSnapshot":
        """Take a snapshot of the newest version, of a given version, or of the version at a time.

        Raises:
            TableNotServedError: the server has no such table.
            HeadraceError: as for `headrace.Table.snapshot`.
        """
        if as_of is not None and version is not None:
            raise InvalidArgumentError(argument="as_of", reason="use as_of or version, not both")
        moment = as_of.isoformat() if isinstance(as_of, datetime | date) else as_of
        number = None if version is None else whole_number("version", version)
        info = self.connection.info(make_request(self.name, version=number, as_of=moment))
        return RemoteSnapshot(self, msgspec.json.decode(info.app_metadata, type=Description))


class RemoteSnapshot(RowHandover):
    """One pinned version of a server's table: later commits do not change it."""

    def __init__(self, table: RemoteTable, description: Description) -> None:
        """Wrap the server's description; users get snapshots from `RemoteTable.snapshot`."""
        super().__init__(
            TableVersion(
                table=description.uri,
                segment=Segment(version=description.version, commits_newest_first=()),
                protocol=description.protocol,
                metadata=description.metadata,
            )
        )
        self.table = table

    def __repr__(self) -> str:
        return f"RemoteSnapshot({self.table.name!r}, version={self.version})"

    def scan(
        self,
        where: str | None = None,
        *,
        limit: int | None = None,
        options: ScanOptions | None = None,
        endpoints: int = 1,
        **overrides: Any,
    ) -> RemoteScan:
        """Plan a scan of the live files; the server reads nothing before the scan is iterated.

        Args:
            where: A SQL condition; files that cannot hold a matching row are pruned.
            limit: Stop after this many files.
            options: How to scan; no option changes which files are returned.
            endpoints: The number of streams that the files may be divided into.
            overrides: Single options by name, such as `strategy="forward"`.

        Raises:
            RequestError: an argument is wrong, as for `headrace.Snapshot.scan`.
        """
        scan_options = chosen_options(options or ScanOptions(), ScanOptions, overrides)
        most = None if limit is None else whole_number("limit", limit)
        changed_options = _changed(scan_options, ScanOptions())
        request = self._request(
            "files", where=where, limit=most, overrides=changed_options, endpoints=endpoints
        )
        return RemoteScan(
            self._pinned(request), context=self.context, options=scan_options, limit=most
        )

    def rows(
        self,
        where: str | None = None,
        *,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        options: RowOptions | None = None,
        **overrides: Any,
    ) -> RemoteReader:
        """Return the rows as a `pyarrow.RecordBatchReader`, streamed by the server.

        Arguments and errors are those of `headrace.Snapshot.rows`. Closing the reader stops the
        read on the server.
        """
        row_options = chosen_options(options or RowOptions(), RowOptions, overrides)
        most = None if limit is None else whole_number("limit", limit)
        request = self._request(
            "rows",
            where=where,
            limit=most,
            columns=None if columns is None else column_names(columns),
            overrides=_changed(row_options, RowOptions()),
        )
        return RemoteReader.open(self._pinned(request), is_empty=most == 0)

    def to_pyarrow_dataset(self, where: str | None = None) -> Any:
        """Not supported: a dataset reads files itself, but a server streams rows.

        Raises:
            InvalidArgumentError: always; use `rows` or `to_polars` to read the same rows.
        """
        reason = f"a server's rows have no dataset; use rows({where!r})"
        raise InvalidArgumentError(argument="to_pyarrow_dataset", reason=reason)

    def to_duckdb(self, connection: Any = None, *, where: str | None = None) -> Any:
        """Return the rows as a DuckDB relation, which can be read once.

        Raises:
            MissingExtraError: DuckDB is not installed.
        """
        return wiring.open_relation(self.rows(where), connection)

    def refresh(self) -> "RemoteSnapshot":
        """Return the newest snapshot, or this one if there is no newer version."""
        newest = self.table.snapshot()
        return self if newest == self else newest

    def _pinned(self, request: WireRequest) -> PinnedFlight:
        return PinnedFlight(self.table.connection, request, table_id=self.metadata.id)

    def _request(self, kind: Kind, *, where: str | None, **parts: Any) -> WireRequest:
        return make_request(
            self.table.name,
            kind=kind,
            where=None if where is None else condition(where),
            version=self.version,
            **parts,
        )


def _changed(options: ScanOptions, defaults: ScanOptions) -> dict[str, Any]:
    """Return the options that differ from the defaults; for others, the server's defaults apply."""
    names: Iterator[str] = iter(options.__struct_fields__)
    return {n: v for n in names if (v := getattr(options, n)) != getattr(defaults, n)}
