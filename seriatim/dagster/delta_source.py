"""Where a Delta table is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import dagster as dg
from pydantic import Field


class DeltaSource(Protocol):
    """The resource that knows where a Delta table is; `DeltaTableSource` is one."""

    def uri(self) -> str:
        """Return its address, as deltalake takes it."""
        ...

    def options(self) -> Mapping[str, str]:
        """Return the options of its object store, as deltalake takes them."""
        ...


class DeltaTableSource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """A Delta table, by its address; what is secret among its options is given by `dg.EnvVar`."""

    table_uri: str = Field(description="Where it is: a folder, s3://..., abfss://..., gs://...")
    storage_options: dict[str, str] = Field(default={}, description="Of its object store, as deltalake takes them.")

    def uri(self) -> str:
        """Return its address, as deltalake takes it."""
        return self.table_uri

    def options(self) -> Mapping[str, str]:
        """Return the options of its object store, as deltalake takes them."""
        return self.storage_options
