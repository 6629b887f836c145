"""Which launches are the same logical change, and which are new ones."""

from __future__ import annotations

import pytest

from seriatim.commit import Partitions
from seriatim.dagster import Launch, OperationIdError, Tick, operation_ids, operations

DAYS = ("1993-01-01", "1993-01-02")
TICK = Tick("nightly", "2026-11-29T02:00:00+00:00")


def test_a_partition_is_named_without_the_run() -> None:
    """Whoever launches it, it is the same change."""
    by_hand = Launch("bank/loan", run_id="a", partition_keys=DAYS)
    scheduled = Launch("bank/loan", run_id="b", partition_keys=DAYS, tick=TICK)

    assert operation_ids(by_hand) == ("bank/loan|1993-01-01", "bank/loan|1993-01-02")
    assert operation_ids(scheduled) == operation_ids(by_hand)


def test_a_forced_partition_is_a_new_change_that_a_retry_of_the_run_does_not_repeat() -> None:
    """The retry has a run id of its own, but the root of the run that it retries."""
    forced = Launch("bank/loan", run_id="a", partition_keys=DAYS[:1])
    retried = Launch("bank/loan", run_id="b", root_run_id="a", partition_keys=DAYS[:1])

    assert operation_ids(forced, force=True) == ("bank/loan|1993-01-01|run=a",)
    assert operation_ids(retried, force=True) == operation_ids(forced, force=True)


def test_an_unpartitioned_launch_is_new_and_its_re_execution_is_not() -> None:
    """The root run id is absent in the first run and present in what re-executes it."""
    first = Launch("bank/accounts", run_id="a")
    retried = Launch("bank/accounts", run_id="b", root_run_id="a")

    assert operation_ids(first) == ("bank/accounts|run=a",)
    assert operation_ids(retried) == operation_ids(first)
    assert operation_ids(Launch("bank/accounts", run_id="c")) != operation_ids(first)


def test_a_tick_that_is_launched_twice_is_one_change() -> None:
    """Two daemons on one instance both launch it."""
    once = Launch("bank/accounts", run_id="a", tick=TICK)
    twice = Launch("bank/accounts", run_id="b", tick=TICK)

    assert operation_ids(once) == ("bank/accounts|schedule=nightly@2026-11-29T02:00:00+00:00",)
    assert operation_ids(twice) == operation_ids(once)
    assert operation_ids(twice, force=True) == ("bank/accounts|schedule=nightly@2026-11-29T02:00:00+00:00|run=b",)


def test_the_runs_that_one_tick_requests_are_changes_of_their_own() -> None:
    """Dagster tells them apart by their run keys, which it demands where there are several."""
    eu = Launch("bank/accounts", run_id="a", tick=Tick("nightly", TICK.scheduled_time, run_key="eu"))
    us = Launch("bank/accounts", run_id="b", tick=Tick("nightly", TICK.scheduled_time, run_key="us"))
    eu_again = Launch("bank/accounts", run_id="c", tick=Tick("nightly", TICK.scheduled_time, run_key="eu"))

    assert operation_ids(eu) == ("bank/accounts|schedule=nightly@2026-11-29T02:00:00+00:00|key=eu",)
    assert operation_ids(us) != operation_ids(eu)
    assert operation_ids(eu_again) == operation_ids(eu)


def test_no_partition_can_be_named_like_the_forced_run_of_another() -> None:
    """Partition keys are free text."""
    sly = Launch("bank/loan", run_id="b", partition_keys=("x|run=a", "x%7Crun=a"))
    forced = Launch("bank/loan", run_id="a", partition_keys=("x",))

    assert len({*operation_ids(sly), *operation_ids(forced, force=True)}) == 3


def test_a_partitioned_asset_without_partitions_has_no_ids() -> None:
    """An empty list would mean: apply whatever comes, and never look it up."""
    with pytest.raises(OperationIdError) as refused:
        operation_ids(Launch("bank/loan", run_id="a", partition_keys=()))

    assert refused.value.asset_key == "bank/loan"


def test_partitions_are_remembered_for_ever_and_forced_ones_for_the_window() -> None:
    """A partition that was posted ten years ago must not be posted again; a forced posting is a change of its own."""
    launch = Launch("bank/a", "run-1", partition_keys=("1993-01-05", "1993-01-06"), issued_at_ms=7)

    usual, forced = operations(launch), operations(launch, force=True)

    assert usual.partitions == Partitions("bank/a", ("1993-01-05", "1993-01-06"))
    assert (usual.plain_ids, usual.issued_at_ms) == ((), 7)
    assert usual.ids == usual.partitions.operation_ids == operation_ids(launch)
    assert forced.partitions is None
    assert forced.plain_ids == forced.ids == operation_ids(launch, force=True)


def test_a_launch_without_partitions_is_one_plain_operation() -> None:
    """Its retries carry the root run's id, and the time at which that was made."""
    launched = operations(Launch("bank/accounts", "run-2", root_run_id="run-1", issued_at_ms=9))

    assert launched.partitions is None
    assert launched.plain_ids == ("bank/accounts|run=run-1",)
