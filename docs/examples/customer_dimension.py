"""Three systems know our customers. Each has a job that merges its feed of the day into one table, at the same hour."""

import dagster as dg
import pyarrow as pa
from pyarrow import csv
from pyiceberg.expressions import In
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from seriatim import Base, Upsert
from seriatim.dagster import IcebergCatalog

TABLE = "sales.customer"
SCHEMA = Schema(
    NestedField(1, "email", StringType(), required=True),
    NestedField(2, "name", StringType(), doc="As it was given last."),
    NestedField(3, "contacts", LongType(), required=True, doc="How often anyone has heard of them."),
    identifier_field_ids=[1],
)


def customers_of(system: str) -> dg.AssetsDefinition:
    """Make the asset that merges what one system knows."""

    @dg.asset(name=system, group_name="customers", partitions_def=dg.DailyPartitionsDefinition("2026-11-01"))
    def customers(context: dg.AssetExecutionContext, catalog: IcebergCatalog) -> dg.MaterializeResult:
        feed = csv.read_csv(f"feeds/{system}-{context.partition_key}.csv").to_pylist()

        def merge(base: Base) -> Upsert:
            rows = base.read(where=In("email", [new["email"] for new in feed])).to_pylist()
            merged = {row["email"]: row for row in rows}
            for new in feed:
                old = merged.get(new["email"], {"name": None, "contacts": 0})
                merged[new["email"]] = {**new, "name": new["name"] or old["name"], "contacts": old["contacts"] + 1}
            return Upsert(pa.Table.from_pylist(list(merged.values()), schema=base.schema.as_arrow()), keys="email")

        catalog.ensure_table(TABLE, SCHEMA)
        return catalog.apply(context, TABLE, merge, totals=["contacts"])

    return customers


defs = dg.Definitions(
    assets=[customers_of(system) for system in ("shop", "support", "newsletter")],
    resources={"catalog": IcebergCatalog(uri=dg.EnvVar("CATALOG_URI"), warehouse=dg.EnvVar("WAREHOUSE"))},
)
