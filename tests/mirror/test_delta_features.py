"""Which tables can be read right."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from seriatim.errors import UnsupportedFeatureError
from seriatim.mirror.delta.actions import Metadata, Protocol
from seriatim.mirror.delta.features import READABLE, require_readable


def metadata(configuration: Mapping[str, str] | None = None) -> Metadata:
    return Metadata("id", {"type": "struct", "fields": []}, (), configuration or {})


def with_features(*names: str) -> Protocol:
    return Protocol(3, 7, frozenset(names), frozenset((*names, "someWriterFeature")))


@pytest.mark.parametrize("protocol", [Protocol(1, 2), Protocol(2, 5), with_features(), with_features(*READABLE)])
def test_what_is_known_is_read(protocol: Protocol) -> None:
    """Also with writer features that nobody here has heard of: they bind writers only."""
    require_readable("t", 4, protocol, metadata())


@pytest.mark.parametrize(
    ("protocol", "named"),
    [
        (Protocol(4, 7), "reader version 4"),
        (with_features("columnMapping", "futureFeature"), "futureFeature"),
        (with_features("catalogManaged"), "catalogManaged"),
        (with_features("catalogOwned-preview"), "catalogOwned-preview"),
        (with_features("aFeature", "catalogManaged"), "catalogManaged"),
    ],
)
def test_what_is_not_known_is_refused_by_its_name(protocol: Protocol, named: str) -> None:
    """Rows could be read that are deleted, or versions that are none."""
    with pytest.raises(UnsupportedFeatureError) as refused:
        require_readable("t", 4, protocol, metadata(), "UPGRADE PROTOCOL")
    assert (refused.value.source, refused.value.version, refused.value.operation) == ("t", 4, "UPGRADE PROTOCOL")
    assert named in refused.value.feature


@pytest.mark.parametrize(
    ("protocol", "mode", "readable"),
    [
        (Protocol(2, 5), "name", True),
        (Protocol(2, 5), "id", True),
        (Protocol(1, 2), "none", True),
        (with_features("columnMapping"), "name", True),
        (Protocol(2, 5), "position", False),
        (Protocol(1, 2), "name", False),
        (with_features("deletionVectors"), "id", False),
    ],
)
def test_columns_are_mapped_only_in_ways_that_the_protocol_lets(protocol: Protocol, mode: str, readable: bool) -> None:
    """Else it is not known by which names columns are found."""
    mapped = metadata({"delta.columnMapping.mode": mode})
    if readable:
        require_readable("t", 4, protocol, mapped)
        return
    with pytest.raises(UnsupportedFeatureError) as refused:
        require_readable("t", 4, protocol, mapped)
    assert mode in refused.value.feature
