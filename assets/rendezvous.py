"""A meeting point for runs, so that a demo or a test can be certain that they overlap."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from seriatim.errors import SeriatimError
from seriatim.system import Clock, SystemClock

_LOOK_EVERY_S: Final = 0.05


class RendezvousTimeoutError(SeriatimError):
    """The other runs did not come in time; nothing was written by this one."""

    def __init__(self, folder: Path, *, parties: int, present: int, waited_s: float) -> None:
        """Build the message from where the runs were to meet and how many came."""
        super().__init__(
            f"{folder}: only {present} of {parties} runs had read the table after {waited_s:.0f} s. Start all of them "
            f"at once, and allow as many runs in progress; a run whose work is done already does not come."
        )
        self.folder, self.parties, self.present, self.waited_s = folder, parties, present, waited_s


class Rendezvous:
    """Lets a run go on only when `parties` runs, this one included, have come to the same folder.

    The folder must be a fresh one for each meeting: markers that are there already count.
    """

    def __init__(
        self, folder: Path, *, parties: int, run_id: str, wait_s_max: float, clock: Clock | None = None
    ) -> None:
        """Prepare to meet; nothing happens before `meet`."""
        self._folder, self._parties, self._run_id = folder, parties, run_id
        self._wait_s_max, self._clock = wait_s_max, clock or SystemClock()
        self._has_met = False

    def meet(self) -> None:
        """Leave a marker, and return when all have left theirs; at once after the first time.

        Raises:
            RendezvousTimeoutError: not all had come after `wait_s_max`.
        """
        if self._has_met:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / self._run_id).touch()
        begun_s = self._clock.monotonic_s()
        while (present := len(list(self._folder.iterdir()))) < self._parties:
            waited_s = self._clock.monotonic_s() - begun_s
            if waited_s >= self._wait_s_max:
                raise RendezvousTimeoutError(self._folder, parties=self._parties, present=present, waited_s=waited_s)
            self._clock.wait_s(_LOOK_EVERY_S)
        self._has_met = True
