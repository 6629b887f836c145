"""A bank of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.code_location.scene import Scene


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    scene = Scene(tmp_path)
    for name, value in scene.environment.items():
        monkeypatch.setenv(name, value)
    return scene
