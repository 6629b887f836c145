"""What every test may ask for. No Dagster here: the environments of the older PyIcebergs have none."""

from __future__ import annotations

import os

import pytest

# Gates and rivals within a change make races certain; a turnstile would let most of them wait until it loses patience.
os.environ["SERIATIM_TURNSTILE"] = os.environ.get("SERIATIM_TESTS_TURNSTILE", "off")


@pytest.fixture
def documented(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The commands that the test is marked with, as the documents write them; see tests/documents."""
    mark = request.node.get_closest_marker("documented")
    assert mark is not None
    return tuple(str(command) for command in mark.args)
