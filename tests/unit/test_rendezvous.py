"""Runs that wait for each other, on a clock that stands still until somebody waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.rendezvous import Rendezvous, RendezvousTimeoutError
from tests.faults.clock import ManualClock


class ClockWithArrivals(ManualClock):
    """Lets somebody arrive during a wait: `arrivals` says who comes during the n-th, counted from 1."""

    def __init__(self, folder: Path, arrivals: dict[int, str]) -> None:
        super().__init__()
        self._folder, self._arrivals = folder, arrivals

    def wait_s(self, seconds: float) -> None:
        super().wait_s(seconds)
        if len(self.waits) in self._arrivals:
            (self._folder / self._arrivals[len(self.waits)]).touch()


def rendezvous(folder: Path, clock: ManualClock, *, parties: int) -> Rendezvous:
    return Rendezvous(folder, parties=parties, run_id="mine", wait_s_max=1.0, clock=clock)


def test_a_run_goes_on_when_the_last_one_has_come(tmp_path: Path) -> None:
    """It waits as long as somebody is missing, and no longer."""
    clock = ClockWithArrivals(tmp_path / "meet", {2: "second", 5: "third"})

    rendezvous(tmp_path / "meet", clock, parties=3).meet()

    assert len(clock.waits) == 5
    assert sorted(marker.name for marker in (tmp_path / "meet").iterdir()) == ["mine", "second", "third"]


def test_a_run_alone_does_not_wait(tmp_path: Path) -> None:
    """One party is itself."""
    clock = ManualClock()

    rendezvous(tmp_path / "meet", clock, parties=1).meet()

    assert clock.waits == []


def test_only_the_first_attempt_meets(tmp_path: Path) -> None:
    """A reapplied change must not wait for runs that are done, and whose markers may be gone."""
    clock = ClockWithArrivals(tmp_path / "meet", {1: "second"})
    meeting = rendezvous(tmp_path / "meet", clock, parties=2)
    meeting.meet()
    for marker in (tmp_path / "meet").iterdir():
        marker.unlink()

    meeting.meet()

    assert len(clock.waits) == 1
    assert list((tmp_path / "meet").iterdir()) == []


def test_it_gives_up_in_the_end_and_says_how_many_came(tmp_path: Path) -> None:
    """A run that failed before its read never comes."""
    clock = ClockWithArrivals(tmp_path / "meet", {1: "second"})

    with pytest.raises(RendezvousTimeoutError) as missed:
        rendezvous(tmp_path / "meet", clock, parties=3).meet()

    assert (missed.value.present, missed.value.parties) == (2, 3)
    assert 1.0 <= clock.seconds < 1.1
