"""Updates an Arrow list of live files to a newer version.

An older list and a `Run` over the newer commits enter; the batches of the newer list leave.
"""

from collections.abc import Generator, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import IncrementRefusedError, InvalidArgumentError
from headrace.phases.scan_request import ScanOutcome
from headrace.replay.match import SeenMatcher, all_but
from headrace.scan.arrow_files import arrow_files, files_schema
from headrace.scan.label import ListLabel
from headrace.scan.live_file import FileContext
from headrace.scan.run import Run

_VECTOR_NAMES = {"storage_type": "storageType", "path_or_inline_dv": "pathOrInlineDv"}


def bring_up_to_date(
    previous: Any, run: Run[ScanOutcome], context: FileContext, label: ListLabel
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the files that newer commits added, then the old files that they did not name.

    Raises:
        IncrementRefusedError: the label of the old list differs from the expected one.
        InvalidArgumentError: it is not a list of files.
    """
    schema = files_schema(context)
    for batch in run:
        yield arrow_files(batch, context)
    seen = run.terminal.seen
    matcher = SeenMatcher(seen)
    for batch in _batches(previous):
        run.cancellation.check()
        old = _cast(batch, schema)
        _check_label(batch, label)
        try:
            changed_rows = matcher.seen_rows(old.column("path"), _vectors(old))
        except UnicodeDecodeError as error:
            raise _refused(f"it has text that is not valid UTF-8: {error}") from error
        live = old.filter(all_but(changed_rows, len(old))) if len(changed_rows) else old
        if live.num_rows:
            yield live


def _batches(previous: Any) -> Iterator[Any]:
    """Yield the batches of a table, a reader, or any object with Arrow's stream protocol."""
    if hasattr(previous, "__arrow_c_stream__"):
        previous = pa.RecordBatchReader.from_stream(previous)
    if not isinstance(previous, Iterable):
        raise _refused(f"it must be a table or a list of batches, not {previous!r}")
    yield from previous


def _cast(batch: Any, schema: pa.Schema) -> pa.RecordBatch:
    """Cast an old batch to the types of the new ones."""
    if not isinstance(batch, pa.RecordBatch):
        raise _refused(f"it must have record batches, not {batch!r}")
    if batch.schema.names != schema.names:
        raise _refused("the old list must have all the columns of Scan.batches()")
    try:
        return batch.cast(schema)
    except (ValueError, pa.ArrowException) as error:
        raise _refused(f"its columns must be of the types of Scan.batches(): {error}") from error


def _check_label(batch: pa.RecordBatch, expected: ListLabel) -> None:
    try:
        label = ListLabel.of(batch.schema.metadata)
    except ValueError as error:
        raise _refused(f"its label cannot be read: {error}") from error
    difference = None if label is None else label.difference(expected)
    if difference is not None:
        reason = f"the label of the old list does not match: {difference}"
        raise IncrementRefusedError(table=expected.root, reason=reason)


def _refused(reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(argument="previous", reason=reason)


def _vectors(batch: pa.RecordBatch) -> pa.StructArray:
    """Return the deletion vectors with the field names of the log."""
    vectors = batch.column("deletion_vector")
    names = [_VECTOR_NAMES.get(field.name, field.name) for field in vectors.type]
    fields = [pc.struct_field(vectors, [i]) for i in range(len(names))]
    return pa.StructArray.from_arrays(fields, names, mask=vectors.is_null())
