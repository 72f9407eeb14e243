"""Streams the live entries of a base, for checkpoints, purges and descriptions of a log."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from headrace.maintain.base import Base
from headrace.maintain.home import Home
from headrace.maintain.manifest_file import ManifestFile, ManifestShelf
from headrace.maintain.replay import replay
from headrace.maintain.visibility import Visibility
from headrace.protocol.state import Entry, ManifestInfo


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
        with ThreadPoolExecutor(max_workers=parallelism) as pool:
            for file in _opened(base.state.manifests, shelf, pool, ahead=parallelism):
                for at in range(len(file.blocks)):
                    for entry in file.entries(at):
                        if not visibility.hides(entry) and home.key_of(entry) not in net.removes:
                            yield entry
    yield from net.adds.values()


def _opened(
    infos: tuple[ManifestInfo, ...],
    shelf: ManifestShelf,
    pool: ThreadPoolExecutor,
    *,
    ahead: int,
) -> Iterator[ManifestFile]:
    """Yield the manifests in order, opening up to `ahead` of them in advance."""
    waiting = iter(infos)
    opening = [pool.submit(shelf.file, info) for info in islice(waiting, ahead)]
    while opening:
        file = opening.pop(0).result()
        opening += [pool.submit(shelf.file, info) for info in islice(waiting, 1)]
        yield file
