"""Construct stores and engines, and import optional libraries on demand.

Addresses, tables and requests enter; stores, engines and readers leave. Only this room constructs
stores and engines, and below the command line only it may import inside functions. So
`import headrace` stays light, and a cloud client, Arrow or a SQL parser is loaded only when it is
used.
"""

from headrace.wiring.engine import (
    DEFAULT_CACHE_BYTES,
    ColumnarLoader,
    import_readers,
    open_executor,
    use_lean_memory,
)
from headrace.wiring.rows import (
    arrow_schema,
    count_rows,
    open_change_rows,
    open_dataset,
    open_lazy_frame,
    open_relation,
    open_rows,
    row_request,
)
from headrace.wiring.scan import ScanImports, bound_predicate
from headrace.wiring.state import open_state_keeper, run_state_sql
from headrace.wiring.store import open_files, open_store, open_writable_store, require

__all__ = [
    "DEFAULT_CACHE_BYTES",
    "ColumnarLoader",
    "ScanImports",
    "arrow_schema",
    "bound_predicate",
    "count_rows",
    "import_readers",
    "open_change_rows",
    "open_dataset",
    "open_executor",
    "open_files",
    "open_lazy_frame",
    "open_relation",
    "open_rows",
    "open_state_keeper",
    "open_store",
    "open_writable_store",
    "require",
    "row_request",
    "run_state_sql",
    "use_lean_memory",
]
