"""Of each failed run it is said whether its change has landed all the same: from the table, not from the run."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.
from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run

from seriatim import apply
from seriatim.commit import LedgerPolicy, RetentionPolicy, Writer
from seriatim.commit.streams import Stream
from seriatim.dagster import ForceConfig, IcebergCatalog, failure_sensor
from seriatim.dagster.failure_sensor import Place
from tests.dagster_api.accounts import DAYS, TABLE, TABLE_KEY, add, daily, deposit

TICK = {"dagster/schedule_name": "nightly", ".dagster/scheduled_execution_time": "2026-11-20T02:00:00+00:00"}
RANGE = {"dagster/asset_partition_range_start": "mon", "dagster/asset_partition_range_end": "wed"}


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


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


@pytest.fixture
def bench(instance: dg.DagsterInstance, catalog: IcebergCatalog) -> Bench:
    return Bench(instance, catalog)


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


def test_a_run_that_failed_after_its_commit_has_landed(bench: Bench) -> None:
    """The tick and the observation name run, snapshot and operations, and what to do."""
    run_id = bench.run(fails())

    said = bench.tick()

    (told,) = bench.told
    operation_id = f"deposit|run={run_id}"
    assert said.startswith(f"Run {run_id} of __ephemeral_asset_job__ failed; all of it has landed at snapshot")
    assert (told["seriatim/event"], told["verdict"], told["run"]) == ("run_failure", "landed", run_id)
    assert (told["landed"], told["not_landed"], told["cannot_be_told"]) == ({operation_id: bench.head()}, [], {})
    assert told["head_snapshot_id"] == bench.head()
    assert f"[{run_id[:8]}](/runs/{run_id})" in told["commits_of_its_chain"]
    assert "re-executing it changes nothing" in told["next_step"]


def test_a_run_that_failed_before_its_commit_has_not(bench: Bench) -> None:
    run_id = bench.run(fails(before=True))

    said = bench.tick()

    (told,) = bench.told
    assert "nothing of it has landed. Mend what failed and re-execute it" in said
    assert (told["verdict"], told["landed"], told["not_landed"]) == ("not_landed", {}, [f"deposit|run={run_id}"])


@pytest.mark.filterwarnings("ignore:.*backfill_policy")
def test_partitions_that_landed_before_are_told_from_those_that_did_not(bench: Bench) -> None:
    """One run of three partitions fails; another run had applied one of them."""
    bench.run(daily(), partition_key="tue")
    bench.run(fails(before=True, partitions_def=DAYS, name="daily_deposit"), tags=RANGE)

    said = bench.tick()

    (told,) = bench.told
    assert "a part of it has landed" in said
    assert (told["verdict"], told["landed"]) == ("partly", {"daily_deposit|tue": bench.head()})
    assert sorted(told["not_landed"]) == ["daily_deposit|mon", "daily_deposit|wed"]


def test_a_partition_that_somebody_else_has_applied_has_landed(bench: Bench) -> None:
    bench.run(daily(), partition_key="mon")
    bench.run(fails(before=True, partitions_def=DAYS, name="daily_deposit"), partition_key="mon")
    bench.tick()

    assert [told["verdict"] for told in bench.told] == ["landed"]


def test_a_tick_whose_other_run_has_landed_has_landed(bench: Bench) -> None:
    """Two daemons launched it; one of the runs failed."""
    bench.run(deposit(), tags=TICK)
    bench.run(fails(before=True), tags=TICK)
    bench.tick()

    (told,) = bench.told
    assert told["landed"] == {"deposit|schedule=nightly@2026-11-20T02:00:00+00:00": bench.head()}


def test_a_forced_run_is_a_change_of_its_own(bench: Bench) -> None:
    """That the partition had been applied says nothing of it."""
    bench.run(daily(), partition_key="mon")
    config = {"ops": {"daily_deposit": {"config": {"force": True}}}}
    asset = fails(before=True, partitions_def=DAYS, name="daily_deposit")
    run_id = bench.run(asset, partition_key="mon", run_config=config)
    bench.tick()

    (told,) = bench.told
    assert (told["verdict"], told["not_landed"]) == ("not_landed", [f"daily_deposit|mon|run={run_id}"])


def test_what_the_first_run_of_a_chain_has_landed_is_that_of_its_retry(bench: Bench) -> None:
    """The retry failed before it came to find that out; it is known by the same name."""
    first = bench.run(fails())
    bench.tick()
    tags = {"dagster/root_run_id": first, "dagster/parent_run_id": first}
    retry = bench.reexecute(fails(before=True), first, tags)

    said = bench.tick()

    assert f"Run {retry} " in said
    assert bench.told[1]["landed"] == {f"deposit|run={first}": bench.head()}
    assert f"(/runs/{first})" in bench.told[1]["commits_of_its_chain"]


def test_the_step_of_a_stream_is_found_by_its_run(instance: dg.DagsterInstance, catalog: IcebergCatalog) -> None:
    """Where it ends is not known from the launch; what another run landed of the stream is not this run's."""
    bench = Bench(instance, catalog, streams={dg.AssetKey("reading"): "bank/reading"})
    bench.run(reads(1, None, fail=False))
    bench.run(reads(5, 1))
    landed_at = bench.head()
    bench.run(reads(9, 7))  # It begins where the stream is not.

    bench.tick()

    landed, not_landed = bench.told
    assert (landed["verdict"], landed["landed"]) == ("landed", {"bank/reading@5": landed_at})
    assert (not_landed["verdict"], not_landed["not_landed"]) == ("not_landed", ["bank/reading@..."])


def test_a_step_that_another_run_of_the_chain_took_is_not_the_retrys(
    instance: dg.DagsterInstance, catalog: IcebergCatalog
) -> None:
    """What the retry was to do is not known; the other's commit is shown."""
    bench = Bench(instance, catalog, streams={dg.AssetKey("reading"): "bank/reading"})
    first = bench.run(reads(1, None))
    bench.reexecute(reads(9, 7), first, {"dagster/root_run_id": first})
    bench.tick()

    assert [told["verdict"] for told in bench.told] == ["landed", "not_landed"]
    assert "bank/reading@1" in bench.told[1]["commits_of_its_chain"]


def test_a_history_that_is_cut_after_the_run_was_made_tells_nothing_of_a_stream(
    instance: dg.DagsterInstance, catalog: IcebergCatalog
) -> None:
    """Its commit may be among those that are gone."""
    bench = Bench(instance, catalog, streams={dg.AssetKey("reading"): "bank/reading"})
    bench.run(reads(1, None))
    apply(catalog.load(), TABLE, add(1), retention=RetentionPolicy(snapshots_min=1))
    apply(catalog.load(), TABLE, add(1), retention=RetentionPolicy(snapshots_min=1))

    said = bench.tick()

    (told,) = bench.told
    assert "it is not known whether it has landed. Find out before" in said
    assert told["cannot_be_told"] == {"bank/reading@...": "the history does not reach back to when the run was made"}


def test_an_operation_that_the_ledger_may_have_forgotten_is_not_known(bench: Bench) -> None:
    """It was issued before the time that is remembered; the one of the other run was not."""
    old = bench.run(fails(before=True))
    for operation_id in ("x", "y"):
        policy = LedgerPolicy(window_s=0, recent_max=0)
        apply(bench.catalog.load(), TABLE, add(1), operation_ids=[operation_id], ledger=policy)
    bench.run(fails(before=True))
    bench.tick()

    assert [told["verdict"] for told in bench.told] == ["unknown", "not_landed"]
    assert list(bench.told[0]["cannot_be_told"]) == [f"deposit|run={old}"]


def test_only_failures_of_the_assets_that_write_the_table_are_told(
    instance: dg.DagsterInstance, catalog: IcebergCatalog
) -> None:
    """And no run that succeeded, nor one that failed before the sensor was switched on."""
    early = Bench(instance, catalog)
    early.run(fails())
    bench = Bench(instance, catalog, writers=[dg.AssetKey("deposit")])
    bench.run(fails(name="other"))
    bench.run(deposit())

    assert bench.tick() == "no run has failed"
    assert bench.told == []


def test_all_that_failed_are_told_by_one_tick_each_once(bench: Bench) -> None:
    """Whatever their order in the log; a batch is bounded."""
    small = Bench(bench.instance, bench.catalog, batch_max=2)
    runs = [bench.run(fails(before=True)) for _ in range(3)]
    bench.tick()
    for _ in range(3):
        small.tick()

    assert [told["run"] for told in bench.told] == runs
    assert [told["run"] for told in small.told] == runs
    assert bench.tick() == "no run has failed"


def test_a_failure_that_shows_late_is_told(bench: Bench) -> None:
    """Its id in the log is below that of one that has been told."""
    late, seen = (bench.run(fails(before=True)) for _ in range(2))
    first, second = bench.instance.fetch_run_status_changes(
        dg.DagsterEventType.RUN_FAILURE, limit=2, ascending=True
    ).records
    place = Place.of(bench.cursor)
    assert place is not None
    bench.cursor = place.after(seen, second.storage_id, overlap=1000).cursor()

    bench.tick()

    assert (first.run_id, [told["run"] for told in bench.told]) == (late, [late])


class Away:
    """Stands for the catalog resource while the catalog is away."""

    def load(self) -> None:
        raise ConnectionError("the catalog is away")


def test_a_run_that_could_not_be_looked_up_is_by_the_next_tick(bench: Bench) -> None:
    """Also after others that could be passed over."""
    run_id = bench.run(fails())

    said = [bench.tick(Away()), bench.tick(Away())]

    assert said == [f"run {run_id} could not be looked up: the catalog is away; it is tried again at the next tick"] * 2
    assert bench.told == []
    bench.tick()
    assert [told["verdict"] for told in bench.told] == ["landed"]


class AwayOnce:
    """Stands for a catalog that answers from the second time on."""

    def __init__(self, catalog: IcebergCatalog) -> None:
        self._answers: list[Away | IcebergCatalog] = [Away(), catalog, catalog]

    def load(self) -> Any:
        return self._answers.pop(0).load()


def test_those_after_a_run_that_could_not_be_looked_up_wait(
    instance: dg.DagsterInstance, catalog: IcebergCatalog
) -> None:
    """Otherwise the cursor would go past it."""
    bench = Bench(instance, catalog, overlap=0)
    runs = [bench.run(fails(before=True)) for _ in range(2)]
    once = AwayOnce(catalog)

    bench.tick(once)
    assert bench.told == []
    bench.tick(once)
    assert [told["run"] for told in bench.told] == runs


def test_a_table_that_is_not_there_has_nothing(bench: Bench) -> None:
    run_id = bench.run(fails(before=True))
    bench.catalog.load().drop_table(TABLE)
    bench.tick()

    (told,) = bench.told
    assert (told["verdict"], told["head_snapshot_id"]) == ("not_landed", "none")
    assert told["not_landed"] == [f"deposit|run={run_id}"]


@pytest.mark.parametrize("cursor", [None, "7", "nonsense", "{}", '{"told": [], "begins_at": 1, "storage_id": 1}'])
def test_a_cursor_of_another_sensor_is_none(cursor: str | None) -> None:
    assert Place.of(cursor) is None


def test_the_cursor_forgets_what_is_not_looked_at_again() -> None:
    place = Place(0, 0, {}).after("a", 1, overlap=10).after("b", 11, overlap=10).after("c", 5, overlap=10)

    assert place == Place(0, 11, {"b": 11, "c": 5})
    assert Place.of(place.cursor()) == place
