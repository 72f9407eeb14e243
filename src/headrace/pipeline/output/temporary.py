"""Tables that last as long as a run: they are removed after it, and after one that died."""

import logging

from headrace.errors import HeadraceError
from headrace.log.name import LOG_DIRECTORY
from headrace.pipeline.output.note import last_note
from headrace.pipeline.output.staging import RUN_FOLDER
from headrace.pipeline.place import Place

_LOGGER = logging.getLogger("headrace.pipeline")


def clear_tables(folder: Place) -> None:
    """Remove tables below a folder that were to last as long as a run, and leave all else."""
    store = folder.open()
    try:
        paths = [found.path for found in store.list_tree("")]
    except HeadraceError as error:
        _LOGGER.warning("temporary tables in %s stay for now: %s", folder, error)
        return
    for name in sorted({table for path in paths if (table := _table_of(path)) is not None}):
        _remove_temporary_table(folder / name)
    store.prune("")


def _table_of(path: str) -> str | None:
    """The table that a path is in: the folder that has a log, or files of a run."""
    parts = path.split("/")
    for place, part in enumerate(parts[1:], start=1):
        if part == LOG_DIRECTORY or RUN_FOLDER.fullmatch(part):
            return "/".join(parts[:place])
    return None


def _remove_temporary_table(table: Place) -> None:
    """Remove a table that was to last as long as a run, and leave what others put there."""
    store = table.open()
    try:
        is_ours = last_note(table) is not None
    except HeadraceError:
        is_ours = False
    try:
        parts = ((found.path.partition("/")[0], found.path) for found in store.list_tree(""))
        ours = [
            path
            for part, path in parts
            if RUN_FOLDER.fullmatch(part) or (is_ours and part == LOG_DIRECTORY)
        ]
        store.delete(ours)
    except HeadraceError as error:
        _LOGGER.warning("the temporary table %s stays for now: %s", table, error)
    store.prune("")
