"""Backfills, schedules and daemons that launch the same work twice, as real processes: each day is posted once."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import dagster as dg
import pytest

from tests.code_location.gated import Plan
from tests.code_location.station import Station, at, open_station

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL, and no pipe with a name"),
]

DAYS = ("1993-01-02", "1993-01-03", "1993-01-04", "1993-01-05")


@pytest.fixture(scope="module")
def station(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Station]:
    """One for all tests, since its start costs seconds; each test posts a kind of its own."""
    with open_station(tmp_path_factory.mktemp("station")) as station:
        yield station


def test_two_backfills_over_the_same_days_post_each_day_once(station: Station) -> None:
    """They overlap: the first is held before its commit until the second has landed; their days are not the same."""
    station.plan(before=Plan.HOLD)
    station.backfill("first", "household", *DAYS[:3])
    station.go_on_with_backfills()
    station.wait_until_held()
    station.backfill("second", "household", *DAYS[1:])
    station.go_on_with_backfills()
    second = station.run_of_backfill("second")

    station.let_go()
    first = station.run_of_backfill("first")

    assert (first.status, second.status) == (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.SUCCESS)
    assert station.judge().verdict.is_equal
    landed = [station.snapshot_of(f"bank/household|{day}") for day in DAYS]
    assert len(set(landed[1:])) == 1 != len(set(landed))
    told = station.told_of_each(first.run_id)
    assert [told[day].get("already_applied", {}) for day in DAYS[:3]] == [
        {},
        *({f"bank/household|{day}": landed[1]} for day in DAYS[1:3]),
    ]


def test_a_backfill_that_is_launched_again_posts_nothing_and_names_the_snapshots(station: Station) -> None:
    """And the one whose run is killed after its commit counts as done."""
    station.plan(after=Plan.DIE)
    station.backfill("killed", "interest", *DAYS)
    station.go_on_with_backfills()
    killed = station.run_of_backfill("killed")

    station.backfill("again", "interest", *DAYS)
    station.go_on_with_backfills()
    again = station.run_of_backfill("again")

    assert (killed.status, again.status) == (dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.SUCCESS)
    assert station.judge().verdict.is_equal
    told = station.told_of_each(again.run_id)
    for day in DAYS:
        operation_id = f"bank/interest|{day}"
        assert told[day]["already_applied"] == {operation_id: station.snapshot_of(operation_id)}


def test_a_tick_that_is_replayed_posts_nothing(station: Station) -> None:
    """The scheduler has lost its ticks and its run, as after a restored backup, and comes to the same minute again."""
    now = at("1993-01-15T02:00:30")
    first = station.tick("pension_daily", now)
    assert station.ended(first).status is dg.DagsterRunStatus.SUCCESS
    applied = station.told(first)["operations_applied"]
    station.instance.delete_run(first)

    again = station.tick("pension_daily", now)

    assert station.ended(again).status is dg.DagsterRunStatus.SUCCESS
    assert applied == 1
    assert station.judge().verdict.is_equal
    snapshot = station.snapshot_of("bank/pension|1993-01-14")
    assert station.already(again) == {"bank/pension|1993-01-14": snapshot}


def test_two_daemons_on_one_instance_post_each_day_once(station: Station) -> None:
    """Dagster lets them both work, so that whatever is launched may be launched twice; one run is killed on top."""
    kinds = ("cash_withdrawal", "insurance", "standing_order")
    station.plan(after=Plan.DIE)

    with station.daemons(2):
        for kind in kinds:
            station.backfill(f"of {kind}", kind, *DAYS)
        for kind in kinds:
            station.run_of_backfill(f"of {kind}")
        (killed,) = station.failures([f"of {kind}" for kind in kinds])
        retries = station.retries_of(killed)

    assert {run.status for run in retries} == {dg.DagsterRunStatus.SUCCESS}
    assert station.judge().verdict.is_equal
    for kind in kinds:
        for day in DAYS:
            station.snapshot_of(f"bank/{kind}|{day}")
