"""Assets that fail before or after their commit, and the sensor that says what of them has landed."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
from collections.abc import Mapping
from typing import Any

import dagster as dg
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run

from seriatim import apply
from seriatim.commit import Writer
from seriatim.commit.streams import Stream
from seriatim.dagster import ForceConfig, IcebergCatalog, failure_sensor
from tests.dagster_api.accounts import TABLE, TABLE_KEY, add


class Bench:
    """A sensor on the table, which has had its first tick, and what it observed."""

    def __init__(self, instance: dg.DagsterInstance, catalog: IcebergCatalog, **options: Any) -> None:
        self.instance, self.catalog = instance, catalog
        self._sensor = failure_sensor(name="tell", asset_key=TABLE_KEY, identifier=("bank", "account"), **options)
        self.cursor: str | None = None
        self.told: list[dict[str, Any]] = []
        self.tick()

    def run(self, asset: dg.AssetsDefinition, **options: Any) -> str:
        """Run an asset, whatever becomes of it; return the run's id."""
        options = {"instance": self.instance, "resources": {"catalog": self.catalog}, **options}
        return dg.materialize([asset], raise_on_error=False, **options).run_id

    def reexecute(self, asset: dg.AssetsDefinition, first: str, tags: Mapping[str, str]) -> str:
        """Run an asset as the retry of another run; return the run's id."""
        definitions = dg.Definitions([asset], resources={"catalog": self.catalog}, executor=dg.in_process_executor)
        job = definitions.resolve_implicit_global_asset_job_def()
        run = self.instance.create_run_for_job(job, root_run_id=first, parent_run_id=first, tags=tags)
        execute_run(InMemoryJob(job), run, self.instance)
        return run.run_id

    def tick(self, catalog: object = None) -> str:
        """Evaluate the sensor as the daemon does; return what the tick says."""
        resources = {"catalog": catalog or self.catalog}
        context = dg.build_sensor_context(instance=self.instance, cursor=self.cursor, resources=resources)
        result = self._sensor.evaluate_tick(context)
        self.cursor = result.cursor
        for event in result.asset_events:
            assert event.asset_key == TABLE_KEY
            self.told.append({name: entry.value for name, entry in event.metadata.items()})
        return result.skip_message or ""

    def head(self) -> str:
        snapshot = self.catalog.load().load_table(TABLE).current_snapshot()
        assert snapshot is not None
        return str(snapshot.snapshot_id)


def fails(
    *, before: bool = False, partitions_def: dg.PartitionsDefinition[str] | None = None, name: str = "deposit"
) -> dg.AssetsDefinition:
    """Make an asset that fails, after its commit or before."""

    @dg.asset(name=name, partitions_def=partitions_def, backfill_policy=dg.BackfillPolicy.single_run())
    def failing(
        context: dg.AssetExecutionContext, config: ForceConfig, catalog: IcebergCatalog
    ) -> dg.MaterializeResult[None]:
        if before:
            raise ValueError("before the commit")
        catalog.apply(context, TABLE, add(10))
        raise ValueError("after the commit")

    return failing


def reads(upto: int, after: int | None, *, fail: bool = True) -> dg.AssetsDefinition:
    """Make an asset that takes a step of a stream, and then fails."""

    @dg.asset
    def reading(context: dg.AssetExecutionContext, catalog: IcebergCatalog) -> None:
        writer = Writer(context.run.run_id)
        apply(catalog.load(), TABLE, add(1), stream=Stream("bank/reading", upto, after), writer=writer)
        if fail:
            raise ValueError("after the commit")

    return reading
