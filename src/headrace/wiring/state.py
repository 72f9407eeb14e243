"""Open the keeper of a table's states, and run SQL statements about states."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from headrace.wiring.store import open_writable_store


def open_state_keeper(table: Any, *, settings: Any = None) -> Any:
    """Open the `headrace.maintain.keeper.StateKeeper` of a table."""
    from headrace.maintain.delta_sync import DeltaVersion  # noqa: PLC0415
    from headrace.maintain.home import DELTA_HOME, Home, HomeKind  # noqa: PLC0415
    from headrace.maintain.keeper import StateKeeper  # noqa: PLC0415
    from headrace.maintain.live_version import delta_version  # noqa: PLC0415

    def newest() -> DeltaVersion:
        # A state that is rebuilt because it is damaged must not be read for its successor.
        snapshot = table.snapshot()
        of_log = replace(snapshot.table_version, segment=snapshot.segment.log)
        return delta_version(type(snapshot)(table, of_log, snapshot.counts))

    place: str = getattr(table, "state_root", None) or ""
    folder, _, name = place.rpartition("/")
    options = table.storage_options
    if folder:  # the states are stored outside the table
        home = Home(kind=HomeKind.DELTA, root=name)
        store = open_writable_store(folder, options=options)
    else:
        is_writable = hasattr(table.store, "put")
        home = DELTA_HOME
        store = table.store if is_writable else open_writable_store(table.uri, options=options)
    return StateKeeper(
        table.store,
        store,
        delta_home=home,
        newest=newest,
        settings=settings,
        reporter=table.reporter,
    )


def run_state_sql(
    text: str, *, settings: Any = None, options: Mapping[str, Any] | None = None
) -> Any:
    """Run a state statement and return its `ResultTable`; None for any other statement."""
    from headrace.maintain.command import run_statement  # noqa: PLC0415
    from headrace.maintain.statement import parse_statement  # noqa: PLC0415

    statement = parse_statement(text)
    if statement is None:
        return None
    return run_statement(
        statement, open_store=partial(open_writable_store, options=options), settings=settings
    )
