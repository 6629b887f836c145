"""What goes wrong is one line that says what, and what to do; never a traceback unasked, never a secret."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seriatim.redaction import redacted, secrets_of
from tests.faults.files import local_path
from tests.unit.cli_support import ACCOUNT, Cli, cli_on, use_environment

PLAIN = "s3cr/t p@ss"
QUOTED = "s3cr%2Ft%20p%40ss"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    with cli_on(tmp_path, monkeypatch) as cli:
        cli.bank.create()
        yield cli


def _metadata_file(cli: Cli) -> Path:
    return local_path(cli.bank.table().metadata_location)


def _damage(cli: Cli) -> None:
    _metadata_file(cli).write_text('{"format-version": 2}')


def _truncate(cli: Cli) -> None:
    file = _metadata_file(cli)
    file.write_text(file.read_text()[:100])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("history", ACCOUNT, "--catalog", "prod"), "no catalog 'prod': it has bank;"),
        (("history", "bank.acount"), "'bank' has no such table: Table does not exist: bank.acount"),
        (("lookup", "nope.account", "x"), "'bank' has no such table: Table does not exist: nope.account"),
        (("history", ACCOUNT, "--branch", "nope"), "no branch 'nope'"),
        (("lookup", ACCOUNT, ""), "non-empty"),
        (("conflicts", ACCOUNT), "Table does not exist: bank.conflicts"),
        (("conflicts", ACCOUNT, "--from", ACCOUNT), "keeps no conflicts"),
    ],
)
def test_a_wrong_name_is_told(cli: Cli, arguments: tuple[str, ...], said: str) -> None:
    code, output, errors = cli(*arguments)

    assert (code, output) == (1, "")
    assert errors.startswith("seriatim: ")
    assert errors.count("\n") == 1
    assert said in errors


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda cli: _metadata_file(cli).unlink(), "a file of the table is missing"),
        (_damage, "metadata is damaged"),
        (_truncate, "metadata is damaged"),
    ],
)
def test_a_damaged_table_is_told(cli: Cli, harm: Callable[[Cli], None], said: str) -> None:
    harm(cli)

    code, output, errors = cli("history", ACCOUNT)

    assert (code, output) == (1, "")
    assert errors.count("\n") == 1
    assert said in errors


@pytest.mark.parametrize("arguments", [("history", "account"), ("history", "bank."), ("history",), ("nope",)])
def test_wrong_use_exits_with_two(cli: Cli, arguments: tuple[str, ...]) -> None:
    code, output, errors = cli(*arguments)

    assert (code, output) == (2, "")
    assert "Usage: seriatim" in errors


def test_a_time_that_is_none_is_wrong_use(cli: Cli) -> None:
    code, _, errors = cli("lookup", ACCOUNT, "x", "--issued-at", "yesterday")

    assert code == 2
    assert "'yesterday' is no ISO-8601 time" in errors


def test_a_database_that_is_not_there_is_not_made(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking at a mistaken place must not leave an empty catalog in it."""
    nowhere = tmp_path / "nowhere.db"
    monkeypatch.setenv("PYICEBERG_CATALOG__BANK__URI", f"sqlite:///{nowhere}")
    use_environment(monkeypatch)

    code, _, errors = cli("history", ACCOUNT)

    assert code == 1
    assert f"is not there: {nowhere}" in errors
    assert not nowhere.exists()


@pytest.mark.parametrize("debug", [(), ("--debug",)])
@pytest.mark.parametrize(
    "uri",
    [
        f"weird://joe:{QUOTED}@127.0.0.1:1/ice",  # PyIceberg prints the address.
        f"http://joe:{QUOTED}@127.0.0.1:1/ice",  # Nobody listens there.
        f"http://127.0.0.1:1/ice?password={QUOTED}",
        f"sqlite:////proc/nope/{QUOTED}.db?password={QUOTED}",
    ],
)
def test_no_secret_of_a_catalog_is_printed(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, uri: str, debug: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__BANK__URI", uri)
    monkeypatch.setenv("PYICEBERG_CATALOG__BANK__TOKEN", "t0ken-of-joe")
    use_environment(monkeypatch)

    code, output, errors = cli("history", ACCOUNT, *debug)

    assert (code, output) == (1, "")
    assert ("Traceback" in errors) == bool(debug)
    assert "t0ken-of-joe" not in errors
    assert PLAIN not in errors
    assert QUOTED not in errors.replace(f"/{QUOTED}.db", "")


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://joe:hunter2@db/ice refused",
        "postgresql://joe:a@hunter2@db/ice refused",
        "connect(password=hunter2, user=joe)",
        "{'s3.secret-access-key': 'hunter2'}",
        "Authorization: token: hunter2",
        "https://files/x?sig=1&signature=hunter2&y=2",
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str) -> None:
    assert "hunter2" not in redacted(text)
    assert "***" in redacted(text)


def test_what_a_catalog_keeps_secret_is_hidden_wherever_it_stands() -> None:
    """A driver may quote a password in words that no pattern knows."""
    settings = [
        ("uri", f"postgresql://joe:{QUOTED}@db/ice"),
        ("s3.secret-access-key", "AKIA/1"),
        ("warehouse", "s3://lake"),
    ]

    text = redacted(f"joe may not enter with {PLAIN}, {QUOTED} or AKIA/1 in s3://lake", secrets_of(settings))

    assert text == "joe may not enter with ***, *** or *** in s3://lake"


def test_what_is_no_secret_is_kept() -> None:
    text = "bank.account: snapshot 7 of run 0f3c1a52 in s3://lake/bank, 12:30:00"

    assert redacted(text) == text
