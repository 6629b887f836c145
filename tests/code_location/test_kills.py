"""Runs that are killed, retried, re-executed, ended and launched twice, as real processes: everything is posted once.

After each of them the balances are what the serial oracle makes of the operations in the table's history.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator

import dagster as dg
import pytest

from tests.code_location.gated import Plan
from tests.code_location.station import RUN_S_MAX, Station, open_station

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(sys.platform != "linux", reason="pidfd_open is Linux's"),
]

SUCCESS, FAILURE, CANCELED = dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED


@pytest.fixture(scope="module")
def station(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Station]:
    """One for all tests, since its start costs seconds; each test posts a version of its own.

    It says so in the launch: Dagster may retry a run of an earlier test late, which would post what is new otherwise.
    """
    with open_station(tmp_path_factory.mktemp("station")) as station:
        yield station


def check_posted_once(station: Station, operation_id: str) -> str:
    """The operation is in one commit, and every balance is the oracle's; return the snapshot."""
    assert station.judge().verdict.is_equal
    return station.snapshot_of(operation_id)


@pytest.mark.parametrize(("gate", "applies"), [("before", 1), ("after", 0)])
def test_a_run_that_is_killed_is_retried_by_itself_and_posts_once(station: Station, gate: str, applies: int) -> None:
    """The bank's own executor: run and step are one process. After the commit the retry names the snapshot."""
    version = station.arrive()
    station.plan(**{gate: Plan.DIE})

    run_id = station.launch("post_cash_deposit", upto=version)
    died = station.ended(run_id).status
    station.retry()
    (retry,) = station.retries_of(run_id)

    snapshot = check_posted_once(station, f"bank/cash_deposit@{version}")
    assert (died, retry.status) == (FAILURE, SUCCESS)
    assert station.told(retry.run_id)["operations_applied"] == applies
    assert station.already(retry.run_id) == ({} if applies else {f"bank/cash_deposit@{version}": snapshot})


@pytest.mark.parametrize(("gate", "applies"), [("before", 1), ("after", 0)])
def test_a_step_that_is_killed_is_re_executed_from_failure_and_posts_once(
    station: Station, gate: str, applies: int
) -> None:
    """Its run lives on and fails of it, so nobody retries it but the one who presses the button."""
    version = station.arrive()
    station.plan(**{gate: Plan.DIE})

    run_id = station.launch("post_cash_deposit_apart", upto=version)
    died = station.ended(run_id).status
    again = station.ended(station.reexecute(run_id, from_failure=True))

    snapshot = check_posted_once(station, f"bank/cash_deposit@{version}")
    assert (died, again.status) == (FAILURE, SUCCESS)
    assert station.told(again.run_id)["operations_applied"] == applies
    assert station.already(again.run_id) == ({} if applies else {f"bank/cash_deposit@{version}": snapshot})


def test_a_step_that_outlives_its_run_posts_once_with_the_retry_of_the_run(station: Station) -> None:
    """The run's process is killed, its step commits all the same, and the retry finds that."""
    version = station.arrive()
    station.plan(before=Plan.ORPHAN_AND_HOLD)

    run_id = station.launch("post_cash_deposit_apart", upto=version)
    zombie = station.wait_until_held()
    died = station.ended(run_id).status
    station.plan(after=Plan.HOLD)
    station.let_go()
    assert station.wait_until_held() == zombie  # It has committed.
    station.retry()
    (retry,) = station.retries_of(run_id)
    station.let_go()

    snapshot = check_posted_once(station, f"bank/cash_deposit@{version}")
    assert (died, retry.status) == (FAILURE, SUCCESS)
    assert station.already(retry.run_id) == {f"bank/cash_deposit@{version}": snapshot}


def test_a_step_that_outlives_its_run_finds_that_the_retry_was_first(station: Station) -> None:
    """The zombie has computed and is about to commit, while the retry of its run does all of it."""
    version = station.arrive()
    station.plan(before=Plan.ORPHAN_AND_HOLD)

    run_id = station.launch("post_cash_deposit_apart", upto=version)
    zombie = station.wait_until_held()
    died = station.ended(run_id).status
    station.retry()
    (retry,) = station.retries_of(run_id)
    snapshot = check_posted_once(station, f"bank/cash_deposit@{version}")
    station.let_go()
    wait_for_end(zombie)

    assert (died, retry.status) == (FAILURE, SUCCESS)
    assert station.already(retry.run_id) == {}
    assert station.already(run_id) == {f"bank/cash_deposit@{version}": snapshot}
    assert check_posted_once(station, f"bank/cash_deposit@{version}") == snapshot


@pytest.mark.parametrize("job", ["post_cash_deposit", "post_cash_deposit_apart"])
def test_a_run_that_is_terminated_before_its_commit_has_posted_nothing(station: Station, job: str) -> None:
    """Not even later; whoever launches it again posts it all."""
    version = station.arrive()
    station.plan(before=Plan.HOLD)

    run_id = station.launch(job, upto=version)
    step = station.wait_until_held()
    assert station.instance.run_coordinator.cancel_run(run_id)
    wait_for_end(step)
    ended = station.ended(run_id).status
    left = station.operations()
    again = station.ended(station.reexecute(run_id, from_failure=False))

    assert ended is CANCELED
    assert f"bank/cash_deposit@{version}" not in left
    assert again.status is SUCCESS
    assert station.told(again.run_id)["operations_applied"] == 1
    check_posted_once(station, f"bank/cash_deposit@{version}")


def test_a_run_that_is_terminated_after_its_commit_has_posted_and_the_next_one_is_told(station: Station) -> None:
    """The run says that it was cancelled, the table says what is true."""
    version = station.arrive()
    station.plan(after=Plan.HOLD)

    run_id = station.launch("post_cash_deposit", upto=version)
    step = station.wait_until_held()
    assert station.instance.run_coordinator.cancel_run(run_id)
    wait_for_end(step)
    ended = station.ended(run_id).status
    again = station.ended(station.reexecute(run_id, from_failure=False))

    snapshot = check_posted_once(station, f"bank/cash_deposit@{version}")
    assert (ended, again.status) == (CANCELED, SUCCESS)
    assert station.already(again.run_id) == {f"bank/cash_deposit@{version}": snapshot}


def test_runs_that_overlap_a_run_that_is_killed_each_post_once(station: Station) -> None:
    """One is held before its commit until the others have landed, and dies of its own; each retry finds the truth."""
    version, kinds = station.arrive(), ("cash_deposit", "household", "pension")
    station.plan(before=Plan.HOLD, after=Plan.DIE)

    held = station.launch(f"post_{kinds[0]}", upto=version)
    station.wait_until_held()
    others = [station.launch(f"post_{kind}", upto=version) for kind in kinds[1:]]
    statuses = sorted(station.ended(run_id).status.value for run_id in others)
    station.let_go()
    first = station.ended(held).status
    station.retry()
    (retried,) = [run_id for run_id in others if station.ended(run_id).status is FAILURE]
    (retry,) = station.retries_of(retried)

    assert statuses == [FAILURE.value, SUCCESS.value]
    assert (first, retry.status) == (SUCCESS, SUCCESS)
    assert len(station.already(retry.run_id)) == 1
    assert station.told(held)["conflicts"] >= 1
    for kind in kinds:
        check_posted_once(station, f"bank/{kind}@{version}")


def test_what_is_launched_twice_at_once_is_posted_once(station: Station) -> None:
    """Both have computed before either commits."""
    version = station.arrive()
    station.plan(before=Plan.HOLD)

    first = station.launch("post_cash_deposit", upto=version)
    station.wait_until_held()
    second = station.launch("post_cash_deposit", upto=version)
    assert station.ended(second).status is SUCCESS
    station.let_go()
    assert station.ended(first).status is SUCCESS

    snapshot = check_posted_once(station, f"bank/cash_deposit@{version}")
    assert station.already(second) == {}
    assert station.already(first) == {f"bank/cash_deposit@{version}": snapshot}
    assert station.told(first)["conflicts"] == 1


def test_a_green_run_that_is_re_executed_posts_nothing(station: Station) -> None:
    """And says which snapshot did it."""
    version = station.arrive()
    run_id = station.launch("post_cash_deposit", upto=version)
    assert station.ended(run_id).status is SUCCESS

    again = station.ended(station.reexecute(run_id, from_failure=False))

    snapshot = check_posted_once(station, f"bank/cash_deposit@{version}")
    assert station.told(run_id)["committed_snapshot_id"] == snapshot
    assert station.already(again.run_id) == {f"bank/cash_deposit@{version}": snapshot}


def wait_for_end(process_id: int) -> None:
    """Return when a process has ended that need be no child of ours."""
    try:
        descriptor = os.pidfd_open(process_id)
    except ProcessLookupError:
        return
    try:
        ended, _, _ = select.select([descriptor], [], [], RUN_S_MAX)
    finally:
        os.close(descriptor)
    assert ended
