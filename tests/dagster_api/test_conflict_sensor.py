"""The sensor that records conflicts: what a tick shows, and that neither order nor a restart changes what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import dagster as dg

from seriatim.dagster import IcebergCatalog, conflict_sensor
from seriatim.dagster.conflict_view import conflicts_markdown
from tests.dagster_api.accounts import TABLE_KEY
from tests.dagster_api.event_log import NOON_MS, conflict, emit, put

KEPT: Final = ("bank", "conflicts")
KEPT_KEY: Final = dg.AssetKey([*KEPT])


def tick(
    instance: dg.DagsterInstance, catalog: IcebergCatalog, cursor: str | None = None, **options: Any
) -> tuple[str, str | None, Sequence[str]]:
    """Evaluate a sensor as the daemon does; return what the tick says, its cursor, and the tables that it shows."""
    sensor = conflict_sensor(name="record", asset_key=TABLE_KEY, conflicts_key=KEPT_KEY, identifier=KEPT, **options)
    result = sensor.evaluate_tick(
        dg.build_sensor_context(instance=instance, cursor=cursor, resources={"catalog": catalog})
    )
    shown = [str(event.metadata["latest"].value) for event in result.asset_events]
    return result.skip_message or "", result.cursor, shown


def kept(catalog: IcebergCatalog) -> list[str]:
    return sorted(catalog.load().load_table(KEPT).scan().to_arrow()["event_id"].to_pylist())


def test_a_tick_shows_the_latest_conflicts_with_links_to_both_runs(
    instance: dg.DagsterInstance, catalog: IcebergCatalog
) -> None:
    """By the time at which they occurred, also those that earlier ticks recorded."""
    emit(instance, conflict(60, loser="aaaaaaaa-1111"), conflict(0, loser="bbbbbbbb-2222"))
    _, cursor, _ = tick(instance, catalog)
    emit(instance, conflict(30, loser="cccccccc-3333", attempt=2))

    _, _, (shown,) = tick(instance, catalog, cursor)

    mon, tue = r"deposit\|mon", r"deposit\|tue"
    header, _, *lines = shown.splitlines()
    assert header == "| time (UTC) | loser | attempt | wasted | its change | winner | the winner's change |"
    assert lines == [
        rf"| {time} | [{loser[:8]}](/runs/{loser}) | {attempt} | 3 ms | {mon} | [winner](/runs/winner) | {tue} |"
        for time, loser, attempt in (
            ("2026-09-21 14:14:20", "aaaaaaaa-1111", 1),
            ("2026-09-21 14:13:50", "cccccccc-3333", 2),
            ("2026-09-21 14:13:20", "bbbbbbbb-2222", 1),
        )
    ]


def test_what_others_named_breaks_no_cell_and_makes_no_link() -> None:
    """Operation ids and run ids are whatever a caller said."""
    shown = conflicts_markdown([conflict(0, loser="](x) | <b>\n*")])

    assert len(shown.splitlines()) == 3
    assert r"[\](x) \| \<](/runs/%5D%28x%29%20%7C%20%3Cb%3E%0A%2A)" in shown


def test_no_more_than_the_latest_are_shown() -> None:
    shown = conflicts_markdown([conflict(at_s) for at_s in range(50)], shown_max=2)

    assert [line[2:21] for line in shown.splitlines()[2:]] == ["2026-09-21 14:14:09", "2026-09-21 14:14:08"]


def test_events_that_show_late_and_in_another_order_are_kept_once(
    instance: dg.DagsterInstance, catalog: IcebergCatalog
) -> None:
    """Some stores give out ids before they commit: the first tick sees a later id than the second."""
    emit(instance, *(conflict(at_s, event_id=f"e{at_s}") for at_s in (3, 1, 2)))
    last = instance.fetch_observations(TABLE_KEY, limit=1).records[0].storage_id

    first = tick(instance, catalog, str(last - 1), overlap=0)
    second = tick(instance, catalog, first[1])
    third = tick(instance, catalog, second[1])

    assert [said for said, _, _ in (first, second, third)] == [
        "recorded 1 conflict of 1 run",
        "recorded 2 conflicts of 1 run",
        "no new conflicts",
    ]
    assert kept(catalog) == ["e1", "e2", "e3"]


def test_a_batch_of_nothing_but_unreadable_events_is_passed(
    instance: dg.DagsterInstance, catalog: IcebergCatalog
) -> None:
    """Otherwise the sensor would stand before it for ever."""
    for _ in range(2):
        put(instance, dg.AssetObservation(TABLE_KEY, metadata={"seriatim/event": "conflict"}), at_ms=NOON_MS)
    emit(instance, conflict(1, event_id="e1"))

    said, cursor, _ = tick(instance, catalog, batch_max=2)
    tick(instance, catalog, cursor, batch_max=2)

    assert said.startswith("no new conflicts; 2 unreadable events skipped: event ")
    assert "event_id should be a text, but is missing" in said
    assert kept(catalog) == ["e1"]


def test_the_cursor_survives_a_restart_of_dagster(catalog: IcebergCatalog, tmp_path: Path) -> None:
    """It is a text that the instance keeps; with another process comes another instance on the same folder."""
    home = tmp_path / "home"
    home.mkdir()
    with dg.instance_for_test(temp_dir=str(home)) as before:
        emit(before, conflict(1, event_id="e1"))
        said, cursor, _ = tick(before, catalog)
        emit(before, conflict(2, event_id="e2"))
    with dg.instance_for_test(temp_dir=str(home)) as after:
        again, end, _ = tick(after, catalog, cursor, overlap=0)
        third, _, _ = tick(after, catalog, end)

    assert [said, again, third] == [*["recorded 1 conflict of 1 run"] * 2, "no new conflicts"]
    assert kept(catalog) == ["e1", "e2"]
