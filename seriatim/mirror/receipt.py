"""What a call of the mirror did."""

from __future__ import annotations

from dataclasses import dataclass

from seriatim.commit import Conflict
from seriatim.mirror.words import Mirrored


@dataclass(frozen=True, slots=True)
class LandedVersion:
    """A Delta version that the call landed, and the snapshot that it is now."""

    version: int
    snapshot_id: int
    operation: str | None  # Delta's word; None: the log does not say
    timestamp_ms: int  # Delta's, since 1970-01-01 UTC
    gap_from: int | None = None  # None: the version alone; else the first of those that the snapshot stands for

    @classmethod
    def of(cls, said: Mirrored, snapshot_id: int) -> LandedVersion:
        """Return the version that a snapshot says it is."""
        return cls(said.version, snapshot_id, said.operation, said.timestamp_ms, said.gap_from)

    @property
    def versions(self) -> range:
        """Every version that the snapshot stands for."""
        return range(self.version if self.gap_from is None else self.gap_from, self.version + 1)


@dataclass(frozen=True, slots=True)
class MirrorReceipt:
    """What a call of the mirror landed, what others had landed, and how far the mirror is behind."""

    source: str
    table: str
    landed: tuple[LandedVersion, ...]  # by this call, in order
    found_landed: tuple[int, ...]  # versions that other runs landed while this call was at work, in order
    base_version: int | None  # the version that the mirror was at when the call began; None: it was empty
    base_snapshot_id: int | None
    version: int | None  # that it is at now; None: it is empty
    delta_version: int  # the Delta table's latest
    commits: int  # of the catalog
    attempts: int
    conflicts: tuple[Conflict, ...] = ()

    @property
    def lag(self) -> int:
        """How many versions are not mirrored yet."""
        return versions_behind(self.version, self.delta_version)

    @property
    def is_noop(self) -> bool:
        """Whether this call left the mirror as it was."""
        return not self.landed


def versions_behind(version: int | None, delta_version: int) -> int:
    """Return how many versions a mirror that is at `version` (None: empty) has still to land."""
    return delta_version - (-1 if version is None else version)
