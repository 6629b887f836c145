"""Runs of overlapping ranges, schedules and daemons that launch the same work twice, as real processes."""

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

SUCCESS, FAILURE = dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE


@pytest.fixture(scope="module")
def station(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Station]:
    """One for all tests, since its start costs seconds; each test posts a kind of its own."""
    with open_station(tmp_path_factory.mktemp("station")) as station:
        yield station


@pytest.mark.parametrize(("kind", "held_is_longer"), [("household", True), ("interest", False)])
def test_two_runs_of_ranges_that_overlap_post_each_version_once(
    station: Station, kind: str, held_is_longer: bool
) -> None:
    """One is held before its commit until the other has landed: it posts the rest, or finds that all is posted."""
    short, long = station.arrive(), station.arrive()
    held, other = (long, short) if held_is_longer else (short, long)
    station.plan(before=Plan.HOLD)

    first = station.launch(f"post_{kind}", upto=held)
    station.wait_until_held()
    second = station.launch(f"post_{kind}", upto=other)
    statuses = [station.ended(second).status]
    station.let_go()
    statuses.append(station.ended(first).status)

    assert statuses == [SUCCESS, SUCCESS]
    assert station.already(second) == {}
    landed = station.snapshot_of(f"bank/{kind}@{other}")
    if held_is_longer:
        assert station.told(first)["versions"] == f"{long}"
        assert station.snapshot_of(f"bank/{kind}@{long}") != landed
    else:
        assert station.already(first) == {f"bank/{kind}@{short}": landed}
    assert station.judge().verdict.is_equal


def test_a_run_that_is_launched_again_after_a_kill_posts_nothing_and_names_the_snapshot(station: Station) -> None:
    """It had committed, and nobody was told."""
    version = station.arrive()
    station.plan(after=Plan.DIE)

    killed = station.ended(station.launch("post_loan")).status
    again = station.launch("post_loan")

    assert (killed, station.ended(again).status) == (FAILURE, SUCCESS)
    assert station.judge().verdict.is_equal
    assert station.already(again) == {f"bank/loan@{version}": station.snapshot_of(f"bank/loan@{version}")}


def test_a_tick_that_is_replayed_posts_nothing(station: Station) -> None:
    """The scheduler has lost its ticks and its run, as after a restored backup, and comes to the same minute again."""
    version, now = station.arrive(), at("1993-01-15T02:00:30")
    first = station.tick("pension_daily", now)
    assert station.ended(first).status is SUCCESS
    applied = station.told(first)["operations_applied"]
    station.instance.delete_run(first)

    again = station.tick("pension_daily", now)

    assert station.ended(again).status is SUCCESS
    assert applied == 1
    assert station.judge().verdict.is_equal
    assert station.already(again) == {f"bank/pension@{version}": station.snapshot_of(f"bank/pension@{version}")}


def test_two_daemons_on_one_instance_post_everything_once(station: Station) -> None:
    """Dagster lets them both work, so that whatever is launched may be launched twice; one run is killed on top."""
    version, kinds = station.arrive(), ("cash_withdrawal", "insurance", "standing_order")
    station.plan(after=Plan.DIE)

    with station.daemons(2):
        runs = [station.submit(f"post_{kind}") for kind in kinds]
        statuses = {run_id: station.ended(run_id).status for run_id in runs}
        (killed,) = [run_id for run_id, status in statuses.items() if status is FAILURE]
        retries = station.retries_of(killed)

    assert {run.status for run in retries} == {SUCCESS}
    assert station.judge().verdict.is_equal
    for kind in kinds:
        station.snapshot_of(f"bank/{kind}@{version}")
