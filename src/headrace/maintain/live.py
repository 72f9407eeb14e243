"""Streams the live entries of a base, for checkpoints, purges and descriptions of a log."""

from collections.abc import Generator, Iterator

from headrace.engines.producer import Producer, one_at_a_time
from headrace.engines.production import Backpressure, Order
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
        with _opened(base.state.manifests, shelf, ahead=parallelism) as files:
            for file in files:
                for at in range(len(file.blocks)):
                    for entry in file.entries(at):
                        if not visibility.hides(entry) and home.key_of(entry) not in net.removes:
                            yield entry
    yield from net.adds.values()


def _opened(
    infos: tuple[ManifestInfo, ...], shelf: ManifestShelf, *, ahead: int
) -> Producer[ManifestFile]:
    """Return the manifests in order, opening up to `ahead` of them in advance."""

    def open_one(info: ManifestInfo) -> Generator[ManifestFile, None, None]:
        yield shelf.file(info)

    return Producer(
        one_at_a_time(open_one),
        infos,
        order=Order.BY_UNIT,
        backpressure=Backpressure(threads=ahead),
        name="headrace-state",
    )
