"""A bank of its own for each test, all of whose transactions are mirrored and none posted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.code_location.scene import ARRIVALS, Scene
from tests.dagster_api.conftest import catalog

__all__ = ["catalog"]


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    scene = Scene(tmp_path)
    for name, value in scene.environment.items():
        monkeypatch.setenv(name, value)
    for rows in ARRIVALS:
        scene.arrive(*rows)
    scene.mirror()
    return scene
