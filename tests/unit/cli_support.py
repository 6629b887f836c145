"""A bank with a history for the command to look at, and the command run in this process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.utils.config import Config
from typer.testing import CliRunner

from seriatim import Append, Base, Declared, Partitions, Writer, apply
from seriatim.cli.app import app
from seriatim.conflict_events import ConflictEvent
from seriatim.conflict_rows import SCHEMA, conflict_rows
from tests.faults.bank import Bank

RUN = "0f3c1a52-7c46-4f0e-9d5b-3a51c0b1e0aa"
ANSI = re.compile(r"\x1b\[[0-9;]*m")
ACCOUNT = "bank.account"


class Cli:
    """The command on the catalogs of one test."""

    def __init__(self, bank: Bank) -> None:
        self.bank = bank

    def __call__(self, *arguments: str, width: int | None = None) -> tuple[int, str, str]:
        """Run it, into a pipe or on a terminal of that width; return exit code, output and errors."""
        env = {"COLUMNS": str(width), "FORCE_COLOR": "1"} if width is not None else {"FORCE_COLOR": None}
        result = CliRunner().invoke(app, arguments, env=env, prog_name="seriatim")
        return result.exit_code, result.stdout, result.stderr

    def lines(self, *arguments: str, width: int) -> list[str]:
        """Return what a person sees on a terminal, without colours."""
        code, output, _ = self(*arguments, width=width)
        assert code == 0
        return [line.rstrip() for line in ANSI.sub("", output).splitlines()]

    def json(self, *arguments: str) -> Any:
        """Return the document."""
        return json.loads(self(*arguments, "--json")[1])


@contextmanager
def cli_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    """Yield the command, with the bank under `path` as PyIceberg's catalog `bank`, and no other."""
    bank = Bank(path)
    monkeypatch.setenv("HOME", str(path))
    monkeypatch.setenv("PYICEBERG_HOME", str(path))
    monkeypatch.chdir(path)
    for key, value in bank.properties().items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__BANK__{key.upper()}", value)
    monkeypatch.setenv("PYICEBERG_DEFAULT_CATALOG", "bank")
    use_environment(monkeypatch)
    yield Cli(bank)
    bank.close()


def use_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make PyIceberg look at the environment again: a process of its own would look once, when it begins."""
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())


def with_history(bank: Bank) -> Bank:
    """Make the account table: created by PyIceberg, then a deposit, then a month of partitions."""
    bank.create()

    def deposit(base: Base) -> Declared:
        rows = pa.Table.from_pylist([{"id": 4, "bal": 400}], schema=base.schema.as_arrow())
        return Declared(Append(rows), sums={"bal": 400})

    def accounts(base: Base) -> Append:
        rows = [{"id": 100 + number, "bal": 1} for number in range(len(base.pending))]
        return Append(pa.Table.from_pylist(rows, schema=base.schema.as_arrow()))

    writer = Writer(run_id=RUN, host="till")
    apply(bank.connect(), ACCOUNT, deposit, operation_ids=["deposit|1"], writer=writer)
    days = [f"1993-01-{day:02}" for day in range(1, 32)]
    apply(bank.connect(), ACCOUNT, accounts, partitions=Partitions("bank/opened", days), writer=writer)
    return bank


def record_conflicts(bank: Bank, *events: ConflictEvent, name: str = "bank.conflicts") -> None:
    """Keep conflicts as the sensor does."""
    with bank.rival() as catalog:
        catalog.create_table(name, SCHEMA).append(conflict_rows(events))
