"""The mirror: the versions of a Delta Lake table as snapshots of an Iceberg table, each exactly once and in order."""

from seriatim.mirror.backlog import OnGap
from seriatim.mirror.changes import appended
from seriatim.mirror.consume import Consumed, NewRows, consume
from seriatim.mirror.lookup import (
    VersionFound,
    VersionGone,
    VersionLookup,
    VersionNotMirrored,
    delta_version_of,
    look_up_version,
    snapshot_of,
)
from seriatim.mirror.mirroring import Progress, mirror
from seriatim.mirror.receipt import LandedVersion, MirrorReceipt
from seriatim.mirror.words import Mirrored

__all__ = [
    "Consumed",
    "LandedVersion",
    "MirrorReceipt",
    "Mirrored",
    "NewRows",
    "OnGap",
    "Progress",
    "VersionFound",
    "VersionGone",
    "VersionLookup",
    "VersionNotMirrored",
    "appended",
    "consume",
    "delta_version_of",
    "look_up_version",
    "mirror",
    "snapshot_of",
]
