"""Of each failed run it is said whether its change has landed all the same: from the table, not from the run."""

# No `from __future__ import annotations`: Dagster 1.13 does not understand `context` with a type in quotes.

import dagster as dg
import pytest

from seriatim import apply
from seriatim.commit import LedgerPolicy, RetentionPolicy
from seriatim.dagster import IcebergCatalog
from tests.dagster_api.accounts import DAYS, TABLE, add, daily, deposit
from tests.dagster_api.failing import Bench, fails, reads

TICK = {"dagster/schedule_name": "nightly", ".dagster/scheduled_execution_time": "2026-11-20T02:00:00+00:00"}
RANGE = {"dagster/asset_partition_range_start": "mon", "dagster/asset_partition_range_end": "wed"}


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


def test_a_table_that_is_not_there_has_nothing(bench: Bench) -> None:
    run_id = bench.run(fails(before=True))
    bench.catalog.load().drop_table(TABLE)
    bench.tick()

    (told,) = bench.told
    assert (told["verdict"], told["head_snapshot_id"]) == ("not_landed", "none")
    assert told["not_landed"] == [f"deposit|run={run_id}"]
