"""What the code location defines, pinned: whoever renames an asset renames operations that have landed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from assets.kinds import KINDS
from pipelines.definitions import defs

KIND_NAMES = (
    *("cash_deposit", "pension", "transfer_in", "cash_withdrawal", "interest", "household", "statement_fee"),
    *("transfer_out", "insurance", "penalty_interest", "loan", "standing_order", "percentage_interest", "balance_fee"),
)
UPKEEP = ("account_upkeep", "conflicts_upkeep")
OTHERS = ("transactions", "accounts", "account", "conflicts", *UPKEEP)


def test_the_definitions_can_be_loaded() -> None:
    """Every reference between them resolves."""
    dg.Definitions.validate_loadable(defs)


def test_the_assets_are_these() -> None:
    """One for each kind, the source and its mirror, the one that opens accounts, the two tables, the upkeep of each."""
    keys = {key.to_user_string() for key in defs.resolve_asset_graph().get_all_asset_keys()}

    assert keys == {"delta/bank_transactions", *(f"bank/{name}" for name in (*KIND_NAMES, *OTHERS))}
    assert tuple(kind.name for kind in KINDS) == KIND_NAMES


def test_a_posting_follows_the_mirror_and_the_accounts() -> None:
    """It has no partitions: a stream says itself what is new."""
    graph = defs.resolve_asset_graph()
    for name in KIND_NAMES:
        node = graph.get(dg.AssetKey(["bank", name]))

        assert node.partitions_def is None
        assert {key.path[-1] for key in node.parent_keys} == {"transactions", "accounts"}
        assert (node.group_name, node.owners, node.kinds) == ("bank", ["team:bank"], {"iceberg"})
        assert node.description


def test_the_tables_are_external_and_follow_the_postings() -> None:
    """Many jobs write the one, the sensor tells of the other; no run materializes either."""
    graph = defs.resolve_asset_graph()
    account, conflicts = graph.get(dg.AssetKey(["bank", "account"])), graph.get(dg.AssetKey(["bank", "conflicts"]))

    assert (account.is_executable, conflicts.is_executable) == (False, False)
    assert {key.path[-1] for key in account.parent_keys} == set(KIND_NAMES)
    assert conflicts.parent_keys == {account.key}


def test_each_job_makes_one_asset_but_for_upkeep_and_the_mirror() -> None:
    """Jobs that write one table overlap as separate runs; upkeep is one for all, the mirror's job opens accounts."""
    jobs = {job.name: job for job in defs.resolve_all_job_defs() if not job.name.startswith("__")}

    assert set(jobs) == {"mirror_transactions", "upkeep", "audit", *(f"post_{name}" for name in KIND_NAMES)}
    assert {key.path[-1] for key in jobs.pop("upkeep").asset_layer.executable_asset_keys} == {*UPKEEP}
    mirror = jobs.pop("mirror_transactions").asset_layer.executable_asset_keys
    assert {key.path[-1] for key in mirror} == {"transactions", "accounts"}
    assert not jobs.pop("audit").asset_layer.executable_asset_keys  # A check alone.
    assert all(len(set(job.asset_layer.executable_asset_keys)) == 1 for job in jobs.values())
    assert {job.executor_def.name for job in jobs.values()} == {"in_process"}


def test_the_schedules_share_a_minute_and_are_off() -> None:
    """They overlap on purpose, once somebody has switched them on."""
    schedules = [defs.resolve_schedule_def(f"post_{name}_daily") for name in KIND_NAMES]

    assert len(list(defs.schedules or [])) == len(KIND_NAMES) + 1  # upkeep_daily
    assert {schedule.cron_schedule for schedule in schedules} == {"0 2 * * *"}
    assert {schedule.default_status for schedule in schedules} == {dg.DefaultScheduleStatus.STOPPED}


def test_a_tick_starts_one_run() -> None:
    """What it posts is what the run finds new."""
    night = dg.build_schedule_context(scheduled_execution_time=datetime(2026, 11, 29, 2, 0, tzinfo=UTC))

    tick = defs.resolve_schedule_def("post_loan_daily").evaluate_tick(night)

    assert [request.partition_key for request in tick.run_requests or []] == [None]


@pytest.mark.slow
def test_upkeep_is_left_out_while_one_is_in_progress() -> None:
    """A second one would find nothing to do."""
    night = datetime(2026, 11, 29, 4, 0, tzinfo=UTC)
    schedule = defs.resolve_schedule_def("upkeep_daily")
    with (
        dg.instance_for_test() as instance,
        dg.build_schedule_context(instance=instance, scheduled_execution_time=night) as context,
    ):
        first = schedule.evaluate_tick(context)
        run = instance.create_run_for_job(defs.resolve_job_def("upkeep"))
        second = schedule.evaluate_tick(context)

    assert len(first.run_requests or []) == 1
    assert (second.run_requests, second.skip_message) == ([], f"run {run.run_id} of upkeep is not_started")


def test_the_sensors_that_watch_are_on_and_those_that_start_runs_are_off() -> None:
    """Conflicts and failures are told without anybody having to ask; runs begin when somebody has switched them on."""
    statuses = {sensor.name: sensor.default_status for sensor in defs.sensors or []}

    assert statuses == {
        "mirror_new_versions": dg.DefaultSensorStatus.STOPPED,
        "post_what_is_mirrored": dg.DefaultSensorStatus.STOPPED,
        "record_conflicts": dg.DefaultSensorStatus.RUNNING,
        "alert_on_conflicts": dg.DefaultSensorStatus.RUNNING,
        "tell_failures": dg.DefaultSensorStatus.RUNNING,
    }


def test_loading_the_definitions_reads_no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variables are read when a run runs; until then nothing is made anywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SERIATIM_CATALOG_URI", "nonsense")

    dg.Definitions.validate_loadable(defs)

    assert list(tmp_path.iterdir()) == []
