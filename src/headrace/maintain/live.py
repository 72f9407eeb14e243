"""Streams the live entries of a base, for checkpoints, purges and descriptions of a log."""

from collections.abc import Iterator
from contextlib import closing

from headrace.engines.producer import in_order
from headrace.maintain.base import Base
from headrace.maintain.home import Home
from headrace.maintain.manifest_file import ManifestShelf
from headrace.maintain.replay import replay
from headrace.maintain.visibility import Visibility
from headrace.protocol.state import Entry


def live_entries(
    base: Base, *, home: Home, shelf: ManifestShelf, parallelism: int = 8
) -> Iterator[Entry]:
    """Yield the live files of the newest version: those of its state, then those added later.

    Raises:
        CorruptStateError: a manifest is missing or damaged.
    """
    net = replay(base)
    if base.state is not None:
        visibility = Visibility(base.state, home)
        opened = in_order(
            shelf.file, base.state.manifests, threads=parallelism, name="headrace-state"
        )
        with closing(opened) as files:
            for file in files:
                for at in range(len(file.blocks)):
                    for entry in file.entries(at):
                        if not visibility.hides(entry) and home.key_of(entry) not in net.removes:
                            yield entry
    yield from net.adds.values()
