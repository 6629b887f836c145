"""How many runs were in flight at once."""

from __future__ import annotations

import pytest

from pipelines.main_job.measure import Measured, peak


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], 0),
        ([(0.0, 1.0)], 1),
        ([(0.0, 1.0), (1.0, 2.0)], 1),
        ([(0.0, 3.0), (1.0, 2.0), (2.0, 4.0)], 2),
        ([(0.0, 9.0), (1.0, 9.0), (2.0, 9.0), (3.0, 4.0)], 4),
        ([(0.0, None), (None, None), (0.0, 1.0)], 1),
    ],
)
def test_the_peak_is_the_most_spans_at_one_moment(
    spans: list[tuple[float | None, float | None]], expected: int
) -> None:
    """Spans that touch do not overlap; a run that never started or ended is not counted."""
    assert peak(spans) == expected


def test_attempts_per_commit_of_no_commit_is_zero() -> None:
    """Nothing landed: there is nothing to divide by."""
    nothing = Measured(runs=1, runs_failed=1, in_flight_peak=1, commits=0, attempts=5, conflicts=5, wasted_ms=1)

    assert nothing.attempts_per_commit == 0.0
