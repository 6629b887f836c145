"""What each of several processes does that meet a machine on which nothing has been made yet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from assets.account_opening import open_accounts
from assets.mirrored import mirrored
from assets.tables import CONFLICTS_TABLE
from assets.transactions_table import TRANSACTIONS_TABLE
from pipelines.instance import prepare_instance
from pipelines.resources import DELTA, BankCatalog
from seriatim.commit import Writer
from seriatim.dagster import ensure_conflict_table, ensure_namespace
from seriatim.mirror import mirror


class Meeting(Protocol):
    """A barrier of processes."""

    def wait(self, timeout: float | None = None) -> int: ...


def create_everything(meeting: Meeting, home: Path, run_id: str) -> None:
    """Make instance, catalog, namespace and tables, step by step with the others."""
    meeting.wait(60)
    prepare_instance(home)
    meeting.wait(60)
    catalog = BankCatalog().load()
    meeting.wait(60)
    ensure_namespace(catalog, TRANSACTIONS_TABLE[:-1])
    mirror(os.environ[DELTA], catalog, TRANSACTIONS_TABLE)
    found = mirrored(catalog)
    assert found is not None
    meeting.wait(60)
    open_accounts(catalog, *found, writer=Writer(run_id))
    meeting.wait(60)
    ensure_conflict_table(catalog, CONFLICTS_TABLE)
