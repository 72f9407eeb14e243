"""State machines that plan what to read next from what was read before.

Batches enter, plans and terminal values leave. A phase does no I/O and knows no engine; the
driver (`headrace.scan.run.Run`) connects the two. Everything exported here is public: phases can
be stepped by hand.
"""

from headrace.phases.phase import Consume, Parallel, PartialResult, Phase, Sequential, Terminus
from headrace.phases.refresh import RefreshLog
from headrace.phases.scan import (
    CheckpointManifest,
    CheckpointReplay,
    CommitReplay,
    KeyCollection,
    SidecarReplay,
    plan_forward_scan,
    plan_scan,
)
from headrace.phases.scan_request import ScanOutcome, ScanRequest
from headrace.phases.share import LeafShare, share_leaves
from headrace.phases.snapshot import (
    ListLog,
    ReadChecksum,
    ReadHint,
    ReadProtocolAndMetadata,
    SnapshotRequest,
    TableVersion,
)
from headrace.phases.tripwire import CheckTripwire

__all__ = [
    "CheckTripwire",
    "CheckpointManifest",
    "CheckpointReplay",
    "CommitReplay",
    "Consume",
    "KeyCollection",
    "LeafShare",
    "ListLog",
    "Parallel",
    "PartialResult",
    "Phase",
    "ReadChecksum",
    "ReadHint",
    "ReadProtocolAndMetadata",
    "RefreshLog",
    "ScanOutcome",
    "ScanRequest",
    "Sequential",
    "SidecarReplay",
    "SnapshotRequest",
    "TableVersion",
    "Terminus",
    "plan_forward_scan",
    "plan_scan",
    "share_leaves",
]
