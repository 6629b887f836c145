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
OTHERS = ("accounts", "account", "conflicts", *UPKEEP)


def test_the_definitions_can_be_loaded() -> None:
    """Every reference between them resolves."""
    dg.Definitions.validate_loadable(defs)


def test_the_assets_are_these() -> None:
    """One for each kind, the one that opens accounts, the two tables, and the upkeep of each."""
    keys = {key.to_user_string() for key in defs.resolve_asset_graph().get_all_asset_keys()}

    assert keys == {f"bank/{name}" for name in (*KIND_NAMES, *OTHERS)}
    assert tuple(kind.name for kind in KINDS) == KIND_NAMES


def test_a_posting_is_partitioned_by_day_and_backfilled_in_one_run() -> None:
    """A range is one commit."""
    graph = defs.resolve_asset_graph()
    for name in KIND_NAMES:
        node = graph.get(dg.AssetKey(["bank", name]))

        assert isinstance(node.partitions_def, dg.DailyPartitionsDefinition)
        assert node.partitions_def.start.date().isoformat() == "1993-01-01"
        assert node.backfill_policy == dg.BackfillPolicy.single_run()
        assert (node.group_name, node.owners, node.kinds) == ("bank", ["team:bank"], {"iceberg"})
        assert node.description


def test_the_tables_are_external_and_follow_the_postings() -> None:
    """Many jobs write the one, the sensor tells of the other; no run materializes either."""
    graph = defs.resolve_asset_graph()
    account, conflicts = graph.get(dg.AssetKey(["bank", "account"])), graph.get(dg.AssetKey(["bank", "conflicts"]))

    assert (account.is_executable, conflicts.is_executable) == (False, False)
    assert {key.path[-1] for key in account.parent_keys} == set(KIND_NAMES)
    assert conflicts.parent_keys == {account.key}


def test_each_job_makes_one_asset_but_for_upkeep() -> None:
    """Jobs that write one table overlap as separate runs; the upkeep of all tables is one."""
    jobs = {job.name: job for job in defs.resolve_all_job_defs() if not job.name.startswith("__")}

    assert set(jobs) == {"open_accounts", "upkeep", "audit", *(f"post_{name}" for name in KIND_NAMES)}
    assert {key.path[-1] for key in jobs.pop("upkeep").asset_layer.executable_asset_keys} == {*UPKEEP}
    assert not jobs.pop("audit").asset_layer.executable_asset_keys  # A check alone.
    assert all(len(set(job.asset_layer.executable_asset_keys)) == 1 for job in jobs.values())
    assert {job.executor_def.name for job in jobs.values()} == {"in_process"}


def test_the_schedules_share_a_minute_and_are_off() -> None:
    """They overlap on purpose, once somebody has switched them on."""
    schedules = [defs.resolve_schedule_def(f"post_{name}_daily") for name in KIND_NAMES]

    assert len(list(defs.schedules or [])) == len(KIND_NAMES) + 1  # upkeep_daily
    assert {schedule.cron_schedule for schedule in schedules} == {"0 2 * * *"}
    assert {schedule.default_status for schedule in schedules} == {dg.DefaultScheduleStatus.STOPPED}


def test_a_tick_posts_yesterday() -> None:
    """The night's run is for the business day that has ended."""
    night = dg.build_schedule_context(scheduled_execution_time=datetime(2026, 11, 29, 2, 0, tzinfo=UTC))

    tick = defs.resolve_schedule_def("post_loan_daily").evaluate_tick(night)

    assert [request.partition_key for request in tick.run_requests or []] == ["2026-11-28"]


def test_the_one_sensor_is_on() -> None:
    """Conflicts are recorded without anybody having to ask for it."""
    sensor = defs.resolve_sensor_def("record_conflicts")

    assert len(list(defs.sensors or [])) == 1
    assert sensor.default_status == dg.DefaultSensorStatus.RUNNING


def test_loading_the_definitions_reads_no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variables are read when a run runs; until then nothing is made anywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SERIATIM_CATALOG_URI", "nonsense")

    dg.Definitions.validate_loadable(defs)

    assert list(tmp_path.iterdir()) == []
