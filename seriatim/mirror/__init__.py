"""The mirror: the versions of a Delta Lake table as snapshots of an Iceberg table, each exactly once and in order."""

from seriatim.mirror.changes import appended
from seriatim.mirror.consume import Consumed, NewRows, consume
from seriatim.mirror.lookup import delta_version_of, snapshot_of
from seriatim.mirror.mirroring import Progress, mirror
from seriatim.mirror.receipt import LandedVersion, MirrorReceipt

__all__ = [
    "Consumed",
    "LandedVersion",
    "MirrorReceipt",
    "NewRows",
    "Progress",
    "appended",
    "consume",
    "delta_version_of",
    "mirror",
    "snapshot_of",
]
