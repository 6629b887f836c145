"""The bank that the development server generates."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from assets.transactions import read_transactions
from pipelines.dev import bank_around, today
from tests.faults.clock import ManualClock


@pytest.mark.parametrize("day", [date(2026, 1, 1), date(2026, 11, 30), date(2028, 2, 29), date(2026, 12, 31)])
def test_yesterday_and_the_rest_of_the_month_have_transactions(
    day: date, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A schedule that is switched on has something to post tonight."""
    monkeypatch.chdir(tmp_path)

    days = read_transactions(bank_around(day)).days()

    assert days[0] == (day.replace(day=1) - timedelta(days=1)).replace(day=1)
    assert day - timedelta(days=1) in days
    assert (days[-1] + timedelta(days=1)).day == 1
    assert days[-1].month == day.month


def test_within_a_month_it_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restart finds the bank that its tables come from."""
    monkeypatch.chdir(tmp_path)
    first = bank_around(date(2026, 11, 2))
    before = first.stat().st_mtime_ns

    assert bank_around(date(2026, 11, 30)) == first
    assert first.stat().st_mtime_ns == before


def test_the_day_is_that_of_utc() -> None:
    """The schedules' own."""
    clock = ManualClock()
    clock.seconds = 725_846_400.0  # 1993-01-01 00:00:00 UTC

    assert today(clock) == date(1993, 1, 1)
