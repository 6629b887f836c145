"""What the code location works on: which catalog, and whose transactions.

| environment variable    | meaning                                      | when it is not set                         |
|-------------------------|----------------------------------------------|--------------------------------------------|
| `SERIATIM_CATALOG_URI`  | the Iceberg catalog, as PyIceberg's `uri`    | SQLite, `.seriatim/catalog.db`             |
| `SERIATIM_WAREHOUSE`    | where the tables' files go                   | the folder `.seriatim/warehouse`           |
| `SERIATIM_DELTA`        | the Delta table in which transactions arrive | `.seriatim/bank_transactions`, landed once |
| `SERIATIM_TRANSACTIONS` | a Parquet or CSV file to be landed there     | a generated bank of 1993                   |
| `SERIATIM_ALERT_URL`    | a webhook that gets alerts, as JSON          | they are written to Dagster's log          |

Relative places are in the working directory. The variables are read when a run runs, not when definitions are loaded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

import dagster as dg

from seriatim.dagster import Alert, IcebergCatalog, LogNotifier, WebhookNotifier, open_catalog

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

CATALOG_URI: Final = "SERIATIM_CATALOG_URI"
WAREHOUSE: Final = "SERIATIM_WAREHOUSE"
DELTA: Final = "SERIATIM_DELTA"
TRANSACTIONS: Final = "SERIATIM_TRANSACTIONS"
ALERT_URL: Final = "SERIATIM_ALERT_URL"
CATALOG_NAME: Final = "bank"

SEED: Final = 1993
_FIRST_DAY: Final = date(1993, 1, 1)
_LOCK_WAIT_S_MAX: Final = 60  # Writers of a SQLite file wait for each other; the driver's own limit is 5 s.


class BankCatalog(IcebergCatalog):
    """The catalog of the bank's tables, from `SERIATIM_CATALOG_URI` and `SERIATIM_WAREHOUSE` or under `.seriatim/`.

    What is set here (by `dg.EnvVar`, where it is secret) goes before the environment.
    """

    name: str = CATALOG_NAME
    uri: str = ""
    warehouse: str = ""

    def load(self) -> Catalog:
        """Open the catalog, which is made if need be, also by several processes at once.

        Raises:
            CatalogBusyError: other processes kept a SQLite file locked for too long.
        """
        file = local_folder() / "catalog.db"
        uri = self.uri or os.environ.get(CATALOG_URI) or f"sqlite:///{file}?timeout={_LOCK_WAIT_S_MAX}"
        warehouse = self.warehouse or os.environ.get(WAREHOUSE) or f"file://{local_folder() / 'warehouse'}"
        return open_catalog(self.name, uri=uri, warehouse=warehouse, properties=self.properties)


class TransactionsDelta(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The Delta table of the transactions: `SERIATIM_DELTA`, or one that is landed where that is not set."""

    def uri(self) -> str:
        """Return where it is; one of our own is landed when it is asked for first, and then stays as it is.

        Raises:
            TransactionsError: the file that `SERIATIM_TRANSACTIONS` names cannot be used; nothing was landed.
        """
        named = os.environ.get(DELTA)
        return named or str(landed(local_folder() / "bank_transactions", transactions_file()))

    def options(self) -> Mapping[str, str]:
        """Return none: delta-rs finds what it needs for an object store in the environment."""
        return {}


class Alerts(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Where alerts go: to the webhook that `SERIATIM_ALERT_URL` names, or to the log where that is not set."""

    def notify(self, alert: Alert) -> None:
        """Tell it.

        Raises:
            AlertNotSentError: the webhook did not take it.
        """
        url = os.environ.get(ALERT_URL)
        (WebhookNotifier(url=url) if url else LogNotifier()).notify(alert)


def transactions_file() -> Path:
    """Return the file: `SERIATIM_TRANSACTIONS`, or a generated bank, which is the same on every machine."""
    named = os.environ.get(TRANSACTIONS)
    return Path(named) if named else generated_bank(local_folder() / "bank.parquet", _FIRST_DAY)


def landed(folder: Path, transactions: Path) -> Path:
    """Land a file in a Delta table at `folder` if nothing is there, and return `folder`.

    Raises:
        TransactionsError: the file cannot be used; nothing was landed.
    """
    if not folder.exists():
        from assets.transactions import read_transactions
        from pipelines.landing import arrivals, land

        land(arrivals(read_transactions(transactions), seed=SEED), folder)
    return folder


def generated_bank(path: Path, first_day: date, *, days: int = 59) -> Path:
    """Write a generated bank to `path` if nothing is there, and return `path`."""
    if not path.exists():
        from pipelines.generated_bank import generate_bank, write_bank

        path.parent.mkdir(parents=True, exist_ok=True)
        write_bank(path, generate_bank(SEED, first_day, days=days))  # In one step, so two at once do no harm.
    return path


def local_folder() -> Path:
    """Return the folder of the working directory that holds what no environment variable places elsewhere."""
    return Path.cwd() / ".seriatim"
