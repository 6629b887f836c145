"""The turnstile that calls have by default: who shares a line, where it is kept, and what is done when it cannot be."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.catalog.sql import SqlCatalog

from seriatim import NO_TURNSTILE, LocalTurnstile, Turnstile
from seriatim.commit.turnstile.chosen import VARIABLE, default_turnstile
from seriatim.commit.turnstile.folders import folder_of
from seriatim.commit.turnstile.lines import line_of
from seriatim.commit.turnstile.notices import say_once
from tests.faults.clock import ManualClock


@pytest.mark.parametrize(
    ("setting", "turnstile"),
    [
        (None, LocalTurnstile(1.0)),
        ("", LocalTurnstile(1.0)),
        ("off", NO_TURNSTILE),
        (" OFF ", NO_TURNSTILE),
        ("0.5", LocalTurnstile(0.5)),
        ("30", LocalTurnstile(30.0)),
    ],
)
def test_the_environment_says_which_turnstile_calls_have(
    monkeypatch: pytest.MonkeyPatch, setting: str | None, turnstile: Turnstile
) -> None:
    if setting is None:
        monkeypatch.delenv(VARIABLE, raising=False)
    else:
        monkeypatch.setenv(VARIABLE, setting)

    assert default_turnstile() == turnstile


@pytest.mark.parametrize("setting", ["on", "-1", "nan", "inf"])
def test_a_setting_that_is_none_is_named_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, setting: str
) -> None:
    """A slip in a variable that only tunes stops no job."""
    say_once.cache_clear()
    monkeypatch.setenv(VARIABLE, setting)

    assert default_turnstile() == LocalTurnstile()
    assert [repr(setting) in record.getMessage() for record in caplog.records] == [True]


@pytest.mark.parametrize("turn_s_max", [-1.0, float("nan"), float("inf")])
def test_patience_without_an_end_is_refused(turn_s_max: float) -> None:
    with pytest.raises(ValueError, match="turn_s_max"):
        LocalTurnstile(turn_s_max)


def _catalog(uri: str, name: str = "bank") -> Catalog:
    return SqlCatalog(name, uri=uri, warehouse="file:///nowhere", init_catalog_tables="false")


@pytest.fixture
def reference(tmp_path: Path) -> tuple[str, str | None]:
    uri = f"sqlite:///{tmp_path}/catalog.db"
    return uri, line_of(_catalog(uri), "bank.account")


@pytest.mark.parametrize("identifier", ["bank.account", ("bank", "account"), ["bank", "account"]])
@pytest.mark.parametrize("options", ["", "?timeout=60"])
def test_one_table_has_one_line(
    reference: tuple[str, str | None], identifier: str | Sequence[str], options: str
) -> None:
    """However it is spelled, and with whatever options the catalog is opened."""
    uri, line = reference

    assert line == line_of(_catalog(uri + options), identifier)


def test_credentials_are_no_part_of_a_line() -> None:
    """Two users of one database write one table; and no hash of a password lies in a folder."""
    lines = {
        line_of(_catalog(f"postgresql+psycopg2://{user}db.example:5432/lake"), "bank.account")
        for user in ("", "me@", "me:secret@", "you:p@ss@")
    }

    assert len(lines) == 1


def test_other_tables_have_other_lines(reference: tuple[str, str | None], tmp_path: Path) -> None:
    uri, line = reference
    others = [
        line_of(_catalog(uri), "bank.conflicts"),
        line_of(_catalog(uri), ("bank.account",)),
        line_of(_catalog(uri, "other"), "bank.account"),
        line_of(_catalog(f"sqlite:///{tmp_path}/other.db"), "bank.account"),
    ]

    assert None not in others
    assert len({line, *others}) == 5


def test_a_catalog_in_memory_shares_no_line_with_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = InMemoryCatalog("bank", warehouse="file:///nowhere")
    ours = line_of(catalog, "bank.account")
    monkeypatch.setattr(os, "getpid", lambda: 0)

    assert ours != line_of(catalog, "bank.account")


def test_a_double_of_a_catalog_has_no_line() -> None:
    """Nothing is known of it: somebody's test, which waits for nobody."""
    assert line_of(object(), "bank.account") is None


def test_a_line_is_kept_where_nobody_else_can_change_it(tmp_path: Path) -> None:
    folder = folder_of("line", tmp_path / "root")

    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    assert folder_of("line", tmp_path / "root") == folder


def _symlink(root: Path) -> None:
    elsewhere = root.parent / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    root.symlink_to(elsewhere)


def _file(root: Path) -> None:
    root.touch()


def _open_to_others(root: Path) -> None:
    root.mkdir()
    root.chmod(0o777)


def _symlink_within(root: Path) -> None:
    root.mkdir(mode=0o700)
    _symlink(root / "line")


@pytest.mark.parametrize("prepare", [_symlink, _file, _open_to_others, _symlink_within])
def test_a_folder_that_is_not_ours_alone_is_refused(tmp_path: Path, prepare: object) -> None:
    """Whoever can write to the folders for temporary files may have put it there."""
    root = tmp_path / "root"
    assert callable(prepare)
    prepare(root)

    with pytest.raises(OSError, match="root"):
        folder_of("line", root)


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_of("line", tmp_path / "root")
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)

    with pytest.raises(PermissionError, match="belongs to user"):
        folder_of("line", tmp_path / "root")


def test_without_a_line_of_processes_threads_take_turns_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said once why."""
    say_once.cache_clear()
    _file(tmp_path / "root")
    turnstile, clock, turns = LocalTurnstile(0.02, tmp_path / "root"), ManualClock(), 0

    for _ in range(2):
        with turnstile.turn("line", wait_s_max=0.02, clock=clock):
            turns += 1

    assert turns == 2
    assert ["threads of each process alone" in record.getMessage() for record in caplog.records] == [True]


def test_without_fifos_threads_take_turns_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As on a file system that has none."""

    def refuse(path: Path, mode: int) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP), path)

    monkeypatch.setattr(os, "mkfifo", refuse)
    say_once.cache_clear()
    turnstile, turns = LocalTurnstile(1.0, tmp_path / "root"), 0

    for _ in range(2):
        with turnstile.turn("line", wait_s_max=1.0, clock=ManualClock()):
            turns += 1

    assert turns == 2
    assert [os.strerror(errno.EOPNOTSUPP) in record.getMessage() for record in caplog.records] == [True]
