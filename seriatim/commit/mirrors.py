"""Mirrors of Delta tables: nobody but the mirror commits to their main branch, or it could not go on.

What `seriatim.mirror` lands is known by these words; the commit core, upkeep and inspection look at them from below.
"""

from __future__ import annotations

from typing import Final

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot

from seriatim.commit import summary
from seriatim.errors import InvalidChangeError

VERSION: Final = "delta-version"
TABLE_ID: Final = "delta-table-id"
GAP_FROM: Final = "delta-gap-from"

MIRROR_OF: Final = "seriatim.mirror-of"
"""The property by which a mirror is known before its first version has landed: the Delta table's id."""
MIRROR_ROOT: Final = "seriatim.mirror-root"  # Where the Delta table is, as its files are called in the mirror.


def delta_version(snapshot: Snapshot) -> int | None:
    """Return the Delta version that a snapshot is; None: it is of no mirror."""
    text = summary.word(snapshot, VERSION)
    is_mirrored = text is not None and text.isdecimal() and summary.word(snapshot, TABLE_ID) is not None
    return int(text) if text is not None and is_mirrored else None


def delta_versions(snapshot: Snapshot) -> tuple[int, int] | None:
    """Return the first and the last Delta version that a snapshot stands for; None: it is of no mirror."""
    version, first = delta_version(snapshot), summary.word(snapshot, GAP_FROM)
    if version is None:
        return None
    return (int(first) if first is not None and first.isdecimal() else version), version


def is_mirror(metadata: TableMetadata, branch: str) -> bool:
    """Tell whether the branch is the mirror of a Delta table: other branches are whoever's."""
    if branch != MAIN_BRANCH:
        return False
    head = metadata.snapshot_by_name(branch)
    return MIRROR_OF in metadata.properties if head is None else delta_version(head) is not None


def require_none(name: str, metadata: TableMetadata, branch: str) -> None:
    """Refuse a change of a mirror.

    Raises:
        InvalidChangeError: the branch is one.
    """
    if is_mirror(metadata, branch):
        raise InvalidChangeError(
            f"{name}: it is the mirror of a Delta table, which a commit of anybody else's would end; nothing was "
            f"written. Change the Delta table, or commit to another branch or table."
        )
