"""The Iceberg catalog as a Dagster resource."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import dagster as dg
from pydantic import Field
from pyiceberg.catalog import Catalog, load_catalog

from seriatim.dagster.errors import CatalogOpenError
from seriatim.dagster.first_use import first_use
from seriatim.errors import SeriatimError
from seriatim.redaction import redacted, secrets_of

_SQLITE: Final = "sqlite:///"


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

    def load(self) -> Catalog:
        """Open the catalog, which on SQLite is made if need be, also by several processes at once.

        Raises:
            CatalogBusyError: other processes kept a SQLite file locked for too long.
        """
        return open_catalog(self.name, uri=self.uri, warehouse=self.warehouse, properties=self.properties)


def open_catalog(name: str, *, uri: str, warehouse: str, properties: Mapping[str, str]) -> Catalog:
    """Open a catalog; the folders of a SQLite file and of a local warehouse are made.

    Raises:
        CatalogBusyError: other processes kept a SQLite file locked for too long.
        CatalogOpenError: PyIceberg cannot open it; the message holds no secret.
    """
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
