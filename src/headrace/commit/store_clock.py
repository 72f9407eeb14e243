"""The time by a store's own clock, for ages that must not depend on the clock of a machine."""

from headrace.storage.store import PutMode, WritableStore


def store_time_ms(store: WritableStore, *, probe: str) -> int:
    """Return the modification time of an object that is written now, at `probe`, and deleted."""
    store.put(probe, b"", mode=PutMode.CREATE)
    try:
        return store.head(probe).modified_ms
    finally:
        store.delete([probe])
