"""What every test may ask for. No Dagster here: the environments of the older PyIcebergs have none."""

from __future__ import annotations

import pytest


@pytest.fixture
def documented(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The commands that the test is marked with, as the documents write them; see tests/documents."""
    mark = request.node.get_closest_marker("documented")
    assert mark is not None
    return tuple(str(command) for command in mark.args)
