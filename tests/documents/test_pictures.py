"""The pictures of the documents: all there, none left over, each small enough to be looked at."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.screenshots.__main__ import main
from pipelines.screenshots.browser import chromium
from tests.documents.commands import DOCUMENTS, ROOT

IMAGES = ROOT / "docs" / "images"
BYTES_MAX = 300_000
PNG = b"\x89PNG\r\n\x1a\n"


def _shown() -> set[Path]:
    """Return the pictures that the documents show or link to."""
    return {
        (document.parent / target).resolve()
        for document in DOCUMENTS
        for target in re.findall(r"\]\(([^)]+\.png)\)", document.read_text(encoding="utf-8"))
    }


def test_every_picture_is_there_and_shown() -> None:
    assert _shown() == {*IMAGES.glob("*")}


def test_every_picture_is_small() -> None:
    for picture in IMAGES.glob("*"):
        content = picture.read_bytes()

        assert content.startswith(PNG), picture
        assert len(content) < BYTES_MAX, picture


def test_without_a_browser_nothing_is_made_and_the_exit_code_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert main(["--into", str(tmp_path / "images")]) == 2
    assert "apt install chromium" in capsys.readouterr().out
    assert not (tmp_path / "images").exists()


@pytest.mark.exhaustive
@pytest.mark.skipif(chromium() is None, reason="there is no Chromium on the PATH")
@pytest.mark.documented("python3 run.py screenshots")
def test_the_pictures_are_made_again(tmp_path: Path, documented: tuple[str, ...]) -> None:
    """The same that are in the documents, of a bank of today."""
    words = documented[0].removeprefix("python3 ").split()

    made = subprocess.run(
        [sys.executable, *words, "--into", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert made.returncode == 0, made.stdout + made.stderr
    assert {file.name for file in tmp_path.iterdir()} == {file.name for file in IMAGES.iterdir()}
