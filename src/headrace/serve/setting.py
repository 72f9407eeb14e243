"""The settings of a server and their checks: addresses, secret files, limits.

The options of the command line enter; parsed addresses, keys and limits leave, or an error that
names the option.
"""

import ipaddress
import re
from pathlib import Path

import msgspec

from headrace.errors import InvalidArgumentError
from headrace.serve.flight_server import TlsFiles
from headrace.serve.root import Roots
from headrace.serve.service import ServerLimits
from headrace.serve.ticket import read_ticket_key
from headrace.serve.token import Tokens

DEFAULT_LISTEN = "127.0.0.1:50051"
_ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]]+):(?P<port>\d{1,5})")
_MAX_PORT = 65_535
_MAX = 1_000_000_000
"""The largest number of any setting; as seconds, about 30 years."""


class ListenAddress(msgspec.Struct, frozen=True):
    """A host and port to listen on."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, *, argument: str) -> "ListenAddress":
        """Parse an address such as `0.0.0.0:50051` or `[::]:50051`; port 0 means any free port.

        Raises:
            InvalidArgumentError: it is not a valid address.
        """
        match = _ADDRESS.fullmatch(text)
        if match is None or int(match["port"]) > _MAX_PORT:
            reason = f"{text!r} is not HOST:PORT, such as {DEFAULT_LISTEN}"
            raise InvalidArgumentError(argument=argument, reason=reason)
        return cls(match["host"].strip("[]"), int(match["port"]))

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of `headrace serve`."""

    roots: tuple[str, ...]
    """The roots, each NAME=URI."""
    listen: str = DEFAULT_LISTEN
    """The HTTP address."""
    flight_listen: str | None = None
    """The Flight address; by default one port above HTTP."""
    token_file: Path | None = None
    ticket_key_file: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    mtls_ca: Path | None = None
    max_streams: int = 256
    deadline_s: float = 3600.0
    drain_s: float = 30.0
    answer_cache_mib: int = 256
    """The size of the cached answers of all workers together, in MiB; 0 caches none."""
    workers: int = 1
    access_log: bool = False
    """Whether to log a line for each request."""

    @property
    def http_address(self) -> ListenAddress:
        """The parsed HTTP address."""
        return ListenAddress.parse(self.listen, argument="--listen")

    @property
    def flight_address(self) -> ListenAddress:
        """The parsed Flight address."""
        if self.flight_listen is not None:
            return ListenAddress.parse(self.flight_listen, argument="--flight-listen")
        http = self.http_address
        return ListenAddress(http.host, http.port + 1 if http.port else 0)

    def for_worker(self, number: int) -> "ServerSettings":
        """Return the settings of a worker, counted from 0.

        Workers share the HTTP port. Each has its own Flight port, since Arrow's Flight server
        cannot share one.
        """
        flight = self.flight_address
        address = ListenAddress(flight.host, flight.port + number)
        return msgspec.structs.replace(self, flight_listen=str(address))

    def limits(self) -> ServerLimits:
        """Return the limits of each worker."""
        return ServerLimits(
            max_streams=-(-self.max_streams // self.workers),
            deadline_s=self.deadline_s,
            drain_s=self.drain_s,
            answer_cache_bytes=(self.answer_cache_mib << 20) // self.workers,
        )

    def read_tokens(self) -> Tokens:
        """Read the token file, if one is set."""
        return Tokens() if self.token_file is None else Tokens.read(self.token_file)

    def read_ticket_key(self) -> bytes | None:
        """Read the ticket key, if a file is set."""
        return None if self.ticket_key_file is None else read_ticket_key(self.ticket_key_file)

    def read_tls(self) -> TlsFiles | None:
        """Read the certificates, if any are set.

        Raises:
            InvalidArgumentError: one is missing, or cannot be read.
        """
        if self.tls_cert is None and self.tls_key is None and self.mtls_ca is None:
            return None
        if self.tls_cert is None or self.tls_key is None:
            reason = "give both --tls-cert and --tls-key"
            raise InvalidArgumentError(argument="--tls-cert", reason=reason)
        try:
            return TlsFiles(
                certificate=self.tls_cert.read_bytes(),
                key=self.tls_key.read_bytes(),
                client_authority=None if self.mtls_ca is None else self.mtls_ca.read_bytes(),
            )
        except OSError as error:
            raise InvalidArgumentError(argument="--tls-cert", reason=str(error)) from error

    def check(self) -> None:
        """Refuse settings that are impossible or unsafe.

        Raises:
            InvalidArgumentError: a setting is wrong, or anonymous callers on other machines could
                read the tables.
        """
        for folder in Roots.parse(self.roots).local_folders:
            if not Path(folder).is_dir():
                reason = f"{folder} is not a folder"
                raise InvalidArgumentError(argument="--root", reason=reason)
        addresses = (self.http_address, self.flight_address)
        for name, value, least in (
            ("--max-streams", self.max_streams, 1),
            ("--deadline", self.deadline_s, 0.001),
            ("--drain", self.drain_s, 0),
            ("--answer-cache", self.answer_cache_mib, 0),
            ("--workers", self.workers, 1),
        ):
            if not least <= value <= _MAX:
                reason = f"it must be from {least} to {_MAX:,}"
                raise InvalidArgumentError(argument=name, reason=reason)
        if self.workers > 1:
            self._check_ports()
        tls = self.read_tls()
        knows_callers = self.token_file is not None or (tls is not None and tls.client_authority)
        if not knows_callers and not all(address.is_loopback for address in addresses):
            reason = "other machines could read all tables; add --token-file or --mtls-ca"
            raise InvalidArgumentError(argument="--listen", reason=reason)
        self.read_tokens()
        self.read_ticket_key()

    def _check_ports(self) -> None:
        """Refuse ports that cannot work with several workers."""
        http, flight = self.http_address, self.flight_address
        if not http.port or not flight.port:
            reason = "several workers share the port, so it must not be 0"
            raise InvalidArgumentError(argument="--listen", reason=reason)
        last = flight.port + self.workers - 1
        if last > _MAX_PORT or (http.host == flight.host and flight.port <= http.port <= last):
            reason = f"each worker needs a separate Flight port, {flight.port} to {last}"
            raise InvalidArgumentError(argument="--flight-listen", reason=reason)
