"""The sensor of failures: each once, in whatever order they show, and none lost while the catalog is away."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pytest

from seriatim.dagster import IcebergCatalog
from seriatim.dagster.failure_sensor import Place
from tests.dagster_api.accounts import deposit
from tests.dagster_api.failing import Bench, fails


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


@pytest.mark.parametrize("cursor", [None, "7", "nonsense", "{}", '{"told": [], "begins_at": 1, "storage_id": 1}'])
def test_a_cursor_of_another_sensor_is_none(cursor: str | None) -> None:
    assert Place.of(cursor) is None


def test_the_cursor_forgets_what_is_not_looked_at_again() -> None:
    place = Place(0, 0, {}).after("a", 1, overlap=10).after("b", 11, overlap=10).after("c", 5, overlap=10)

    assert place == Place(0, 11, {"b": 11, "c": 5})
    assert Place.of(place.cursor()) == place


@dg.op
def nothing() -> None:
    """Is not executed."""


@dg.job
def failing_job() -> None:
    nothing()


@pytest.mark.parametrize(("is_away", "seen_by_tick"), [(True, [3, 3, 3]), (False, [1, 2, 3])])
def test_dagsters_own_sensor_passes_a_run_whose_body_raised_and_else_takes_one_per_tick(
    instance: dg.DagsterInstance, is_away: bool, seen_by_tick: list[int]
) -> None:
    """Why ours reads the log by itself. Once this fails, look whether that is still needed."""
    seen: list[str] = []

    @dg.run_failure_sensor(name="dagsters")
    def sensor(context: dg.RunFailureSensorContext) -> dg.SkipReason:
        seen.append(context.dagster_run.run_id)
        if is_away:
            raise ConnectionError("the catalog is away")
        return dg.SkipReason("told")

    counts: list[int] = []
    cursor: str | None = None
    for count in range(4):
        repository = dg.Definitions(jobs=[failing_job]).get_repository_def()
        context = dg.build_sensor_context(instance=instance, cursor=cursor, repository_def=repository)
        cursor = sensor.evaluate_tick(context).cursor
        counts.append(len(seen))
        for _ in range(3 if count == 0 else 0):
            instance.report_run_failed(instance.create_run_for_job(failing_job))

    assert counts == [0, *seen_by_tick]
    assert len(set(seen)) == 3
