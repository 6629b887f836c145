"""What observers make of events."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from seriatim.commit.observe import AttemptBegun, Event, GaveUp, Landed, OutcomeLookedUp, Reapplied, Rebased
from seriatim.commit.outcome import Outcome
from seriatim.commit.receipt import Conflict, Receipt, Winner
from seriatim.errors import ConflictError
from seriatim.observers import LogObserver, Several
from seriatim.telemetry import MetricsObserver

LOST = Conflict(
    event_id="e", table="bank.account", operation_ids=("o",), attempt=1, expected_snapshot_id=1, actual_snapshot_id=2,
    winner=Winner(2, ("w",), "their-run"), wasted_s=0.25, occurred_at_ms=0,
)  # fmt: skip
RECEIPT = Receipt("bank.account", ("o",), base_snapshot_id=2, snapshot_ids=(3,), attempts=2, waited_s=0.5)
NOTHING = Receipt("bank.account", ("o",), base_snapshot_id=2, snapshot_ids=(), attempts=0)
EVENTS: tuple[Event, ...] = (
    AttemptBegun("bank.account", ("o",), 1, 1),
    LOST,
    OutcomeLookedUp("bank.account", (9,), Outcome.DEAD),
    AttemptBegun("bank.account", ("o",), 2, 2),
    Reapplied("bank.account", 2, 1, 2),
    Rebased("bank.account", 3, 2, 4, is_replanned=False),
    Landed(RECEIPT),
    Landed(NOTHING),
    GaveUp("bank.account", ("o",), ConflictError("bank.account", expected=1, actual=2, attempts=1)),
)


class _Told:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def notify(self, event: Event) -> None:
        self.events.append(event)


def test_several_observers_are_told_in_order() -> None:
    """Each of them hears everything."""
    first, second = _Told(), _Told()

    for event in EVENTS:
        Several(first, second).notify(event)

    assert tuple(first.events) == tuple(second.events) == EVENTS


def test_the_log_says_who_won_and_what_followed(caplog: pytest.LogCaptureFixture) -> None:
    """A conflict is news, giving up is an error, the daily round is for debugging."""
    logger = logging.getLogger("test.observers")
    caplog.set_level(logging.DEBUG, logger=logger.name)

    for event in EVENTS:
        LogObserver(logger).notify(event)

    levels = [record.levelno for record in caplog.records]
    assert levels == [10, 20, 10, 10, 20, 20, 10, 10, 40]
    assert "lost to run their-run" in caplog.messages[1]
    assert "0.250 s wasted" in caplog.messages[1]
    assert "ConflictError" in caplog.messages[-1]


def test_metrics_count_what_happened_by_table() -> None:
    """A call that found its work done is no commit."""
    reader = InMemoryMetricReader()
    observer = MetricsObserver(MeterProvider(metric_readers=[reader]).get_meter("test"))

    for event in EVENTS:
        observer.notify(event)

    counted = _points(reader)
    assert {name: points for name, points in counted.items() if not isinstance(points, tuple)} == {
        "seriatim.attempts": 2,
        "seriatim.conflicts": 1,
        "seriatim.rebases": 1,
        "seriatim.reapplies": 1,
        "seriatim.commits": 1,
        "seriatim.failures": 1,
    }
    assert counted["seriatim.wasted"] == (1, 0.25)
    assert counted["seriatim.waited"] == (1, 0.5)


def _points(reader: InMemoryMetricReader) -> dict[str, Any]:
    data = reader.get_metrics_data()
    assert data is not None
    points: dict[str, Any] = {}
    for metric in data.resource_metrics[0].scope_metrics[0].metrics:
        (point,) = metric.data.data_points
        assert point.attributes is not None
        assert point.attributes["table"] == "bank.account"
        points[metric.name] = point.value if hasattr(point, "value") else (point.count, point.sum)
    return points
