"""The record formats of HTTP: an Arrow stream, or one JSON object per line.

Record batches and an outcome enter; bytes leave. An answer that fails is visibly incomplete: JSON
lines end with an error instead of an outcome, and an Arrow stream lacks its end marker.
"""

from abc import ABC, abstractmethod
from typing import Any

import msgspec
import pyarrow as pa

from headrace.errors import MalformedRequestError, NotAcceptableError
from headrace.serve.json_value import encode_lines
from headrace.serve.outcome import Outcome, Refusal

ARROW = "application/vnd.apache.arrow.stream"
NDJSON = "application/x-ndjson"
OUTCOME_KEY = b"headrace.outcome"
_RESERVED = ("$outcome", "$error")
"""The keys of the last JSON line."""
_ANY = {"*/*", "application/*"}


class RecordFormat(ABC):
    """Encodes an answer."""

    media_type: str

    @abstractmethod
    def begin(self, schema: pa.Schema) -> bytes:
        """Return the bytes before the first batch."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> bytes:
        """Encode a batch."""

    @abstractmethod
    def end(self, empty: pa.RecordBatch, outcome: Outcome) -> bytes:
        """Return the outcome and the end marker."""

    @abstractmethod
    def fail(self, refusal: Refusal) -> bytes:
        """Return the bytes that replace the end of a failed answer."""


class ArrowFormat(RecordFormat):
    """The Arrow IPC stream format."""

    media_type = ARROW

    def __init__(self) -> None:
        self._sink = _Sink()
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None

    def begin(self, schema: pa.Schema) -> bytes:
        """Return the schema message."""
        self._writer = pa.ipc.new_stream(self._sink, schema)
        return self._sink.take()

    def write(self, batch: pa.RecordBatch) -> bytes:
        """Encode a batch."""
        assert self._writer is not None
        self._writer.write_batch(batch)
        return self._sink.take()

    def end(self, empty: pa.RecordBatch, outcome: Outcome) -> bytes:
        """Return an empty batch with the outcome as its metadata, and the end marker."""
        assert self._writer is not None
        self._writer.write_batch(empty, custom_metadata={OUTCOME_KEY: outcome.encode()})
        self._writer.close()
        return self._sink.take()

    def fail(self, refusal: Refusal) -> bytes:  # noqa: ARG002
        """Return nothing: the stream has no end marker, and the connection breaks off."""
        return b""


class JsonLines(RecordFormat):
    """One JSON object per line; the last one has the key `$outcome` or `$error`."""

    media_type = NDJSON

    def begin(self, schema: pa.Schema) -> bytes:
        """Return nothing.

        Raises:
            MalformedRequestError: a row could be taken for the last line.
        """
        for name in _RESERVED:
            if name in schema.names:
                reason = f"JSON lines reserve {name}, a column here: accept {ARROW}, or set columns"
                raise MalformedRequestError(reason=reason)
        return b""

    def write(self, batch: pa.RecordBatch) -> bytes:
        """Encode one line per record."""
        return encode_lines(batch)

    def end(self, empty: pa.RecordBatch, outcome: Outcome) -> bytes:  # noqa: ARG002
        """Return the outcome as a line."""
        return self._line({"$outcome": outcome})

    def fail(self, refusal: Refusal) -> bytes:
        """Return the error as a line."""
        return self._line({"$error": refusal})

    def _line(self, content: Any) -> bytes:
        return msgspec.json.encode(content) + b"\n"


def choose_format(accept: str | None) -> RecordFormat:
    """Return the format that an `Accept` header prefers; JSON lines if it does not say.

    Raises:
        NotAcceptableError: it accepts neither.
    """
    offers: list[tuple[float, RecordFormat]] = []
    for offer in (accept or "*/*").split(","):
        media, *parameters = (part.strip().lower() for part in offer.split(";"))
        quality = next((p[2:] for p in parameters if p.startswith("q=")), "1")
        weight = float(quality) if quality.replace(".", "", 1).isdecimal() else 0.0
        if not weight:
            continue
        if media == ARROW:
            offers.append((weight, ArrowFormat()))
        elif media in {NDJSON, "application/json", "text/plain", "text/*", *_ANY}:
            offers.append((weight, JsonLines()))
    if not offers:
        raise NotAcceptableError(offered=(NDJSON, ARROW))
    return max(offers, key=lambda offer: offer[0])[1]


class _Sink:
    """A writable file that is emptied after each message."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, content: Any) -> int:
        self._parts.append(bytes(content))
        return len(content)

    def take(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True
