"""The code of docs/sensors.md is a code location that loads, and the names in it are there."""

from __future__ import annotations

import re
from pathlib import Path

import dagster as dg

ROOT = Path(__file__).resolve().parents[2]
DOCS = (ROOT / "docs" / "sensors.md").read_text(encoding="utf-8")


def test_the_code_location_of_the_docs_loads() -> None:
    """As a user's module does: without any environment."""
    (code,) = re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL)
    module: dict[str, object] = {}
    exec(compile(code, "docs/sensors.md", "exec", dont_inherit=True), module)  # noqa: S102  # It is ours.
    definitions = module["defs"]
    assert isinstance(definitions, dg.Definitions)

    dg.Definitions.validate_loadable(definitions)


def test_each_file_that_the_docs_name_is_there() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", DOCS)) | {
        f"docs/{at}" for at in re.findall(r"\]\(([^)#]+)\)", DOCS)
    }

    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []
