"""Upkeep and repair from a terminal: nothing is changed unless it is asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.ledger_support import TAG
from tests.unit.cli_support import ACCOUNT, Cli, cli_on, with_history


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    with cli_on(tmp_path, monkeypatch) as cli:
        yield cli


def _cut(cli: Cli) -> None:
    """Lose what tells which operations were applied."""
    with_history(cli.bank)
    cli.bank.deposit(1)
    with cli.bank.rival() as catalog:
        catalog.load_table(ACCOUNT).manage_snapshots().remove_tag(TAG).commit()
    cli.bank.expire_all_but_head()


@pytest.mark.parametrize("flags", [(), ("--dry-run",)])
def test_upkeep_changes_nothing_unless_it_is_asked_to(cli: Cli, flags: tuple[str, ...]) -> None:
    with_history(cli.bank)
    before = cli.bank.table().metadata_location

    code, output, errors = cli("upkeep", ACCOUNT, "--keep", "1", *flags)

    assert (code, errors) == (0, "")
    assert output.startswith("bank.account, dry run: nothing was changed.\n")
    assert "2 snapshots would be expired" in output
    assert "3 of 3 files" in output
    assert "`--apply` does it" in output
    assert cli.bank.table().metadata_location == before


def test_upkeep_does_it_when_it_is_asked_to(cli: Cli) -> None:
    with_history(cli.bank)
    rows = cli.bank.rows()

    code, output, _ = cli("upkeep", ACCOUNT, "--keep", "1", "--apply")

    assert code == 0
    assert "2 snapshots expired" in output
    assert "3 files compacted into 1" in output
    assert "dry run" not in output
    assert len(cli.bank.inventory().missing) == 0
    assert cli.bank.rows() == rows
    assert cli("lookup", ACCOUNT, "deposit|1")[0] == 0


def test_upkeep_removes_orphans_of_the_age(cli: Cli, tmp_path: Path) -> None:
    """A file without an owner that is too young may belong to a commit under way."""
    with_history(cli.bank)
    orphan = tmp_path / "bank" / "account" / "data" / "nobodys.parquet"
    orphan.write_bytes(b"x" * 100)

    young = cli.json("upkeep", ACCOUNT)["orphans"]

    assert (young["files_orphaned"], young["files_young"], young["older_than_s"]) == (0, 1, 3 * 24 * 3600)
    assert orphan.exists()

    os.utime(orphan, (0, 0))
    assert cli.json("upkeep", ACCOUNT)["orphans"]["files_orphaned"] == 1
    assert orphan.exists()
    assert cli.json("upkeep", ACCOUNT, "--apply")["orphans"]["bytes_removed"] == 100
    assert not orphan.exists()


def test_upkeep_as_json_is_silent_otherwise(cli: Cli) -> None:
    _, opened = with_history(cli.bank).snapshot_ids()[1:]

    document = cli.json("upkeep", ACCOUNT, "--keep", "1", "--apply")
    _, _, errors = cli("upkeep", ACCOUNT, "--json", width=80)

    assert errors == ""
    assert document["is_dry_run"] is False
    assert len(document["expiry"]["expired_snapshot_ids"]) == 2
    assert opened not in document["expiry"]["expired_snapshot_ids"]
    assert len(document["compaction"]["snapshot_ids"]) == 1


@pytest.mark.parametrize("age", ["soon", "3", "-1h", "3 d"])
def test_an_age_that_is_none_is_wrong_use(cli: Cli, age: str) -> None:
    code, _, errors = cli("upkeep", ACCOUNT, "--older-than", age)

    assert code == 2
    assert "is no duration, such as 90m, 12h or 3d" in errors


def test_upkeep_that_is_not_safe_is_refused_in_one_line(cli: Cli) -> None:
    with_history(cli.bank)

    code, output, errors = cli("upkeep", ACCOUNT, "--older-than", "1m")

    assert (code, output) == (1, "")
    assert re.fullmatch(r"seriatim: bank\.account: an age of 60 s .*\n", errors)


def test_a_whole_ledger_needs_no_repair(cli: Cli) -> None:
    with_history(cli.bank)
    before = cli.bank.head()

    code, output, _ = cli("repair", ACCOUNT, "--apply")

    assert code == 0
    assert "there is nothing to repair" in output
    assert cli.bank.head() == before


def test_a_cut_history_is_told_and_nothing_is_changed(cli: Cli) -> None:
    _cut(cli)
    before = cli.bank.head()

    code, output, _ = cli("repair", ACCOUNT)
    document = cli.json("repair", ACCOUNT)

    assert code == 5
    assert f"cut at snapshot {before}" in output
    assert (document["is_whole"], document["is_dry_run"], document["cut_at_snapshot_id"]) == (False, True, before)
    assert cli.bank.head() == before


def test_a_repair_makes_a_lookup_certain_again(cli: Cli) -> None:
    """What was lost counts as not applied from then on, so it is done only when it is asked for."""
    _cut(cli)
    before = cli("lookup", ACCOUNT, "new|1", "--issued-at", "2999-01-01")[0]

    code, output, _ = cli("repair", ACCOUNT, "--apply")

    assert (before, code) == (3, 0)
    assert f"the ledger is whole from snapshot {cli.bank.head()} on" in output
    assert cli("lookup", ACCOUNT, "new|1", "--issued-at", "2999-01-01")[0] == 4
    assert cli("repair", ACCOUNT)[0] == 0
