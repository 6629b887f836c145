"""Which tables can be read right: by the protocol that they ask of their readers."""

from __future__ import annotations

from typing import Final

from seriatim.errors import UnsupportedFeatureError
from seriatim.mirror.delta.actions import Metadata, Protocol

READER_VERSION_MAX: Final = 3

# Types that Iceberg does not have are the schema's to judge: a table may have a feature and no column that uses it.
READABLE: Final = frozenset(
    (
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantShredding",
        "variantShredding-preview",
        "variantType",
        "variantType-preview",
    )
)

# A catalog, not the log, says which of the commits of such a table are its versions.
_CATALOG_MANAGED: Final = frozenset(("catalogManaged", "catalogOwned", "catalogOwned-preview"))


def require_readable(
    source: str, version: int, protocol: Protocol, metadata: Metadata, operation: str | None = None
) -> None:
    """Pass only a version whose reader features are all known and can be kept to; writer features do not matter.

    Raises:
        UnsupportedFeatureError: one of them is not.
    """
    feature = _unreadable(protocol, metadata)
    if feature is not None:
        raise UnsupportedFeatureError(source, version=version, feature=feature, operation=operation)


def _unreadable(protocol: Protocol, metadata: Metadata) -> str | None:
    """Return what cannot be kept to, None if all can."""
    if protocol.min_reader_version > READER_VERSION_MAX:
        return f"reader version {protocol.min_reader_version}"
    unknown = sorted(protocol.reader_features - READABLE)
    if by_catalog := _CATALOG_MANAGED.intersection(unknown):
        return f"the reader feature {min(by_catalog)} (its catalog, not its log, knows its versions)"
    if unknown:
        return f"the reader feature {unknown[0]}"
    mode = metadata.column_mapping
    if mode not in ("none", "name", "id"):
        return f"the column mapping mode {mode}"
    can_map = protocol.min_reader_version == 2 or "columnMapping" in protocol.reader_features
    # Readers are to pass over the mode then, but the writer that set it may have meant it.
    return None if mode == "none" or can_map else f"the column mapping mode {mode} without the reader feature for it"
