"""Removes staging tables: at the end of a run, and those of runs that died.

The folder of staging tables enters. Only files of runs are deleted, whatever else is in the folder.
"""

import logging

from headrace.errors import HeadraceError
from headrace.log.name import LOG_DIRECTORY
from headrace.pipeline.output.note import last_note
from headrace.pipeline.output.staging import RUN_FOLDER
from headrace.pipeline.place import Place

_LOGGER = logging.getLogger("headrace.pipeline")


def clear_tables(folder: Place) -> None:
    """Remove the staging tables below a folder; other files are kept."""
    store = folder.open()
    try:
        paths = [entry.path for entry in store.list_tree("")]
    except HeadraceError as error:
        _LOGGER.warning("staging tables in %s are kept for now: %s", folder, error)
        return
    for name in sorted({table for path in paths if (table := _table_of(path)) is not None}):
        _remove_staging_table(folder / name)
    store.prune("")


def _table_of(path: str) -> str | None:
    """Return the table that a path belongs to: the folder with a log or with files of a run."""
    parts = path.split("/")
    for depth, part in enumerate(parts[1:], start=1):
        if part == LOG_DIRECTORY or RUN_FOLDER.fullmatch(part):
            return "/".join(parts[:depth])
    return None


def _remove_staging_table(table: Place) -> None:
    """Remove the files of runs, and the log if a run wrote it; other files are kept."""
    store = table.open()
    try:
        has_note = last_note(table) is not None
    except HeadraceError:
        has_note = False
    try:
        parts = ((entry.path.partition("/")[0], entry.path) for entry in store.list_tree(""))
        run_files = [
            path
            for part, path in parts
            if RUN_FOLDER.fullmatch(part) or (has_note and part == LOG_DIRECTORY)
        ]
        store.delete(run_files)
    except HeadraceError as error:
        _LOGGER.warning("the staging table %s is kept for now: %s", table, error)
    store.prune("")
