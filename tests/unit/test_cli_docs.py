"""docs/cli.md tells what is so: every key, every exit code, every command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

import run
from seriatim.cli import exit_codes
from seriatim.conflict_events import ConflictEvent
from tests.unit.cli_support import ACCOUNT, RUN, Cli, cli_on, record_conflicts, with_history

DOCS = (run.ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
OPEN_KEYS = ("sums", "snapshots_retained")  # Their keys are columns and branches.


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    with cli_on(tmp_path, monkeypatch) as cli:
        with_history(cli.bank)
        yield cli


def _keys(content: object) -> Iterator[str]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield key
            if key not in OPEN_KEYS:
                yield from _keys(value)
    if isinstance(content, list):
        for each in content:
            yield from _keys(each)


@pytest.mark.parametrize(
    "arguments",
    [
        ("history", ACCOUNT),
        ("conflicts", ACCOUNT),
        ("lookup", ACCOUNT, "deposit|1"),
        ("lookup", ACCOUNT, "deposit|2"),
        ("audit", ACCOUNT),
        ("upkeep", ACCOUNT),
        ("repair", ACCOUNT),
    ],
)
def test_every_key_of_a_document_is_described(cli: Cli, arguments: tuple[str, ...]) -> None:
    record_conflicts(cli.bank, ConflictEvent("e1", ACCOUNT, 1, RUN, ("a",), RUN, ("b",), 1, 2, 3, 4, 5))

    keys = set(_keys(cli.json(*arguments)))

    assert len(keys) > 5
    assert {key for key in keys if f"`{key}`" not in DOCS} == set()


def test_every_key_of_a_mirrors_documents_is_described(cli: Cli, tmp_path: Path) -> None:
    for number in range(3):
        deltalake.write_deltalake(tmp_path / "delta", pa.table({"i": [number]}), mode="append")
    documents = [
        cli.json("mirror", str(tmp_path / "delta"), "bank.mirror"),
        *(cli.json("lookup", "bank.mirror", "--delta-version", version) for version in ("1", "9")),
        cli.json("lookup", "bank.mirror", "--snapshot", "1"),
    ]

    keys = set(_keys(documents))

    assert {"landed", "gap_from", "head_delta_version"} <= keys
    assert {key for key in (*keys, "stood_for_by") if f"`{key}`" not in DOCS} == set()


def test_every_exit_code_is_described() -> None:
    codes = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}

    assert codes == {1, 3, 4, 5, 6, 130}
    assert [code for code in (0, *codes, 2) if f"| {code} |" not in DOCS] == []
    assert [code for code in (0, *codes, 2) if f"\n  {code:<4} " not in exit_codes.EXIT_CODES] == []
