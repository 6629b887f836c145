"""A code location whose assets commit through the core, or do nothing, with the same imports."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
import dagster as dg

from seriatim.dagster import IcebergCatalog

TABLE = "bench.account"


@dg.asset
def nothing(catalog: IcebergCatalog) -> None:
    """Import what the others do, and open the catalog."""
    from benchmarks import materialized

    materialized.nothing(catalog.load())


@dg.asset
def change(catalog: IcebergCatalog) -> None:
    """Increment the row by `apply`, of which nothing is told."""
    from benchmarks import materialized

    materialized.change(catalog.load())


@dg.asset
def told(context: dg.AssetExecutionContext, catalog: IcebergCatalog) -> dg.MaterializeResult[None]:
    """Increment the row by the resource, which tells what became of it."""
    from benchmarks import materialized

    return catalog.apply(context, TABLE, materialized.one_more)


defs = dg.Definitions(
    assets=[nothing, change, told],
    resources={
        "catalog": IcebergCatalog(name="bench", uri=dg.EnvVar("BENCH_URI"), warehouse=dg.EnvVar("BENCH_WAREHOUSE"))
    },
    executor=dg.in_process_executor,
)
