"""The record formats of HTTP: an Arrow stream, or one JSON object per line.

Record batches and an outcome enter; bytes leave. An answer that fails is visibly incomplete: JSON
lines end with an error instead of an outcome, and an Arrow stream lacks its end marker.
"""

from abc import ABC, abstractmethod
from typing import Any

import msgspec
import pyarrow as pa

from headrace.errors import NotAcceptableError
from headrace.serve.outcome import Outcome, Refusal

ARROW = "application/vnd.apache.arrow.stream"
NDJSON = "application/x-ndjson"
OUTCOME_KEY = b"headrace.outcome"
_ANY = {"*/*", "application/*"}


class RecordFormat(ABC):
    """Encodes an answer."""

    media_type: str

    @abstractmethod
    def begin(self, schema: pa.Schema) -> bytes:
        """Return the bytes before the first batch."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> bytes:
        """A batch."""

    @abstractmethod
    def end(self, empty: pa.RecordBatch, outcome: Outcome) -> bytes:
        """The outcome, and the end."""

    @abstractmethod
    def fail(self, refusal: Refusal) -> bytes:
        """What comes instead of an end."""


class ArrowFormat(RecordFormat):
    """Arrow's stream format."""

    media_type = ARROW

    def __init__(self) -> None:
        self._sink = _Sink()
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None

    def begin(self, schema: pa.Schema) -> bytes:
        """The schema."""
        self._writer = pa.ipc.new_stream(self._sink, schema)
        return self._sink.take()

    def write(self, batch: pa.RecordBatch) -> bytes:
        """A batch."""
        assert self._writer is not None
        self._writer.write_batch(batch)
        return self._sink.take()

    def end(self, empty: pa.RecordBatch, outcome: Outcome) -> bytes:
        """An empty batch with the outcome as its metadata, and the mark of the end."""
        assert self._writer is not None
        self._writer.write_batch(empty, custom_metadata={OUTCOME_KEY: outcome.encode()})
        self._writer.close()
        return self._sink.take()

    def fail(self, refusal: Refusal) -> bytes:  # noqa: ARG002
        """Nothing: the stream has no end, and the connection breaks off."""
        return b""


class JsonLines(RecordFormat):
    """A JSON object a line; the last one has the key `$outcome` or `$error`."""

    media_type = NDJSON

    def begin(self, schema: pa.Schema) -> bytes:
        """Nothing; columns whose values JSON cannot write are made texts."""
        self._encoder = msgspec.json.Encoder(enc_hook=str)
        del schema
        return b""

    def write(self, batch: pa.RecordBatch) -> bytes:
        """A line a record."""
        return self._encoder.encode_lines(batch.to_pylist(maps_as_pydicts="lossy"))

    def end(self, empty: pa.RecordBatch, outcome: Outcome) -> bytes:  # noqa: ARG002
        """The outcome."""
        return self._line({"$outcome": outcome})

    def fail(self, refusal: Refusal) -> bytes:
        """The error."""
        return self._line({"$error": refusal})

    def _line(self, content: Any) -> bytes:
        return msgspec.json.encode(content) + b"\n"


def choose_format(accept: str | None) -> RecordFormat:
    """The format that an `Accept` header prefers; JSON lines where it does not say.

    Raises:
        NotAcceptableError: it takes neither.
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
    """A file to write to, emptied after each message."""

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
