"""What a scan takes from its snapshot: everything that its caller does not choose."""

import msgspec

from headrace.log.segment import Segment
from headrace.plan.executor import Executor
from headrace.protocol.action import Checksum
from headrace.scan.file_list_cache import SnapshotFileLists
from headrace.scan.lazy_imports import LazyImports
from headrace.scan.live_file import FileContext


class ScanSource(msgspec.Struct, frozen=True, kw_only=True):
    """One snapshot, as its scans see it."""

    segment: Segment
    """The files of the log that make up the version."""
    context: FileContext
    """What all files of the table share."""
    executor: Executor
    """Executes the plans."""
    lazy: LazyImports
    """Arrow and asyncio, imported on first use."""
    file_lists: SnapshotFileLists
    """The cached file lists of earlier scans."""
    checksum: Checksum | None = None
    """The checksum of the version, if the log has one."""
