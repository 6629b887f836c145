"""The Iceberg catalog as a Dagster resource, by which an asset makes its change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import dagster as dg
from pydantic import Field, PrivateAttr
from pyiceberg.typedef import EMPTY_DICT, Identifier

from seriatim.dagster.errors import CatalogOpenError, OperationIdError
from seriatim.dagster.identifiers import names
from seriatim.errors import SeriatimError
from seriatim.redaction import redacted, secrets_of

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

    from seriatim.commit import LedgerPolicy, RetentionPolicy, RetryPolicy
    from seriatim.commit.prepare import Compute

_SQLITE: Final = "sqlite:///"
_TWICE: Final = (
    "this step has applied a change to {} already, and both would have one name; make them one change, of several "
    "edits, or two assets"
)


class IcebergCatalog(dg.ConfigurableResource):  # type: ignore[type-arg]
    """An Iceberg catalog: `load()` opens it anew for the process that asks.

    Dagster shows a resource's settings in its UI, so whatever is secret (a password within `uri`, a key among
    `properties`) belongs in the environment: give `dg.EnvVar("NAME")`, of which only the name is shown. Properties that
    are not set here are taken from where PyIceberg itself looks, such as `PYICEBERG_CATALOG__<NAME>__TOKEN`.
    """

    name: str = Field(default="default", description="The catalog's name, as PyIceberg's configuration knows it.")
    uri: str = Field(description="Where the catalog is: sqlite:///file, postgresql+psycopg2://..., https://...")
    warehouse: str = Field(description="Where tables are put that name no place of their own: file:///dir, s3://...")
    properties: dict[str, str] = Field(default={}, description="Any further PyIceberg catalog properties.")

    _steps: set[tuple[object, ...]] = PrivateAttr(default_factory=set)  # that have applied a change

    def load(self) -> Catalog:
        """Open the catalog, which on SQLite is made if need be, also by several processes at once.

        Raises:
            CatalogBusyError: other processes kept a SQLite file locked for too long.
        """
        return open_catalog(self.name, uri=self.uri, warehouse=self.warehouse, properties=self.properties)

    def ensure_table(
        self, identifier: str | Identifier, schema: Schema, properties: Mapping[str, str] = EMPTY_DICT
    ) -> Table:
        """Return the table, made with its namespace if it is not there, also by several runs at once.

        Raises:
            CatalogBusyError: the catalog's database was locked for too long.
        """
        from seriatim.dagster.first_use import ensure_table

        return ensure_table(self.load(), names(identifier), schema, properties)

    def apply(  # Options, by name.
        self,
        context: dg.AssetExecutionContext,
        identifier: str | Identifier,
        change: Compute,
        *,
        table_key: dg.AssetKey | None = None,
        force: bool | None = None,
        totals: Sequence[str] = (),
        branch: str = "main",
        policy: RetryPolicy | None = None,
        ledger: LedgerPolicy | None = None,
        retention: RetentionPolicy | None = None,
    ) -> dg.MaterializeResult[None]:
        """Commit `change(base)` once for what this run of an asset was launched to do, and return what became of it.

        `change` is called with what the table holds (`Base`), and again when another commit may have touched what it
        read. What it is known by follows from the launch (`seriatim.dagster.operation_ids`): a retry, a re-execution, a
        step that outlived its run and a tick that came twice change nothing; a partition is applied once, whoever
        launches it. `force` makes it a new change; by default it is what the field `force` of the run's configuration
        says, if the asset's configuration has one (`ForceConfig`).

        Each conflict is an observation of `table_key` (by default, the key that is named as the table), at once. The
        metadata say what landed on which base, attempts, conflicts, waiting and waste, rows, lineage, and the sums of
        the columns `totals`, each of which is read for it.

        One call for each table: what belongs together is one change, which may be several edits.

        Raises:
            OperationIdError: the launch names no partition, or this step has applied a change to the table already.
            SeriatimError: as `seriatim.apply` does; nothing was written, or it is not known.
        """
        from seriatim.dagster.apply_in_run import apply_in_run

        step = (context.run.run_id, context.op_execution_context.retry_number, context.asset_key, names(identifier))
        if step in self._steps:
            raise OperationIdError(context.asset_key.to_user_string(), reason=_TWICE.format(".".join(step[-1])))
        result = apply_in_run(
            context,
            self.load(),
            identifier,
            change,
            table_key=table_key,
            force=force,
            totals=totals,
            branch=branch,
            policy=policy,
            ledger=ledger,
            retention=retention,
        )
        self._steps.add(step)
        return result


class ForceConfig(dg.Config):
    """The configuration of an asset that can be launched to make its change once more."""

    force: bool = Field(default=False, description="Make the change once more, though it has been made.")


def open_catalog(name: str, *, uri: str, warehouse: str, properties: Mapping[str, str]) -> Catalog:
    """Open a catalog; the folders of a SQLite file and of a local warehouse are made.

    Raises:
        CatalogBusyError: other processes kept a SQLite file locked for too long.
        CatalogOpenError: PyIceberg cannot open it; the message holds no secret.
    """
    from pyiceberg.catalog import load_catalog

    from seriatim.dagster.first_use import first_use

    if uri.startswith(_SQLITE) and (file := uri.removeprefix(_SQLITE).partition("?")[0]) not in ("", ":memory:"):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
    if urlsplit(warehouse).scheme in ("", "file"):
        Path(warehouse.removeprefix("file://")).mkdir(parents=True, exist_ok=True)
    settings = {**properties, "uri": uri, "warehouse": warehouse}
    try:
        return first_use(f"catalog {name}", lambda: load_catalog(name, **settings))
    except SeriatimError:
        raise
    except Exception as err:  # noqa: BLE001  # Libraries put the address, password and all, into what they raise.
        reason = redacted(f"{type(err).__name__}: {err}", secrets_of(settings.items()))
    # Not "from" the error: Dagster and Python would show it below.
    raise CatalogOpenError(name, reason=reason)
