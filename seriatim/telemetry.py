"""Metrics of what calls go through, by OpenTelemetry's API (extra `seriatim[otel]`)."""

from __future__ import annotations

from opentelemetry.metrics import Meter, get_meter

from seriatim.commit.observe import AttemptBegun, Event, GaveUp, Landed, Reapplied, Rebased
from seriatim.commit.receipt import Conflict


class MetricsObserver:
    """Counts by table: `seriatim.attempts`, `.conflicts`, `.rebases`, `.reapplies`, `.commits`, `.failures`.

    `seriatim.wasted` and `seriatim.waited` are histograms in seconds. Operation ids and runs are not attributes: there
    is no bound on how many there are.
    """

    def __init__(self, meter: Meter | None = None) -> None:
        """Count on `meter`; by default on the one that the process has set up."""
        meter = meter or get_meter("seriatim")
        self._attempts = meter.create_counter("seriatim.attempts", description="Attempts to commit, also lost ones.")
        self._conflicts = meter.create_counter("seriatim.conflicts", description="Attempts that lost.")
        self._rebases = meter.create_counter("seriatim.rebases", description="Changes kept on a new base.")
        self._reapplies = meter.create_counter("seriatim.reapplies", description="Changes computed again.")
        self._commits = meter.create_counter("seriatim.commits", description="Calls whose change landed.")
        self._failures = meter.create_counter("seriatim.failures", description="Calls that ended in an error.")
        self._wasted = meter.create_histogram("seriatim.wasted", unit="s", description="Time spent on a lost attempt.")
        self._waited = meter.create_histogram("seriatim.waited", unit="s", description="Waiting of one call, in all.")

    def notify(self, event: Event) -> None:
        """Count the event."""
        match event:
            case AttemptBegun():
                self._attempts.add(1, {"table": event.table})
            case Conflict():
                self._conflicts.add(1, {"table": event.table})
                self._wasted.record(event.wasted_s, {"table": event.table})
            case Rebased():
                self._rebases.add(1, {"table": event.table})
            case Reapplied():
                self._reapplies.add(1, {"table": event.table})
            case Landed(receipt) if not receipt.is_noop:
                self._commits.add(1, {"table": receipt.table})
                self._waited.record(receipt.waited_s, {"table": receipt.table})
            case GaveUp():
                self._failures.add(1, {"table": event.table, "error": type(event.error).__name__})
            case _:
                pass
