"""Bringing an Arrow list of live files up to date."""

from collections.abc import Generator, Iterable

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import InvalidArgumentError
from headrace.phases.scan import ScanOutcome
from headrace.replay.match import SeenMatcher, all_but
from headrace.scan.arrow_files import arrow_files, files_schema
from headrace.scan.live_file import FileContext
from headrace.scan.run import Run

_VECTOR_NAMES = {"storage_type": "storageType", "path_or_inline_dv": "pathOrInlineDv"}


def bring_up_to_date(
    previous: Iterable[pa.RecordBatch], run: Run[ScanOutcome], context: FileContext
) -> Generator[pa.RecordBatch, None, None]:
    """The files that the commits in between added, then the old ones that they did not name."""
    schema = files_schema(context)
    for batch in run:
        yield arrow_files(batch, context)
    seen = run.terminal.seen
    matcher = SeenMatcher(seen)
    for batch in previous:
        run.cancellation.check()
        if batch.schema.names != schema.names:
            reason = "the old list must have all the columns of Scan.batches()"
            raise InvalidArgumentError(argument="previous", reason=reason)
        old = batch.cast(schema)
        gone = matcher.seen_rows(old.column("path"), _vectors(old))
        kept = old.filter(all_but(gone, len(old))) if len(gone) else old
        if kept.num_rows:
            yield kept


def _vectors(batch: pa.RecordBatch) -> pa.StructArray:
    """The deletion vectors under the names that the log has for them."""
    vectors = batch.column("deletion_vector")
    names = [_VECTOR_NAMES.get(field.name, field.name) for field in vectors.type]
    fields = [pc.struct_field(vectors, [i]) for i in range(len(names))]
    return pa.StructArray.from_arrays(fields, names, mask=vectors.is_null())
