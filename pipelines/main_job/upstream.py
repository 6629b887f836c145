"""The upstream job in the main job: it goes on appending to the Delta table while runs mirror it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from assets.rendezvous import Rendezvous
from pipelines.landing import append

_WAIT_S_MAX: Final = 120.0


@dataclass(frozen=True, slots=True)
class Upstream:
    """Lands arrivals in the Delta table."""

    delta: Path
    arrivals: Sequence[pa.Table]

    def land_half(self) -> None:
        """Append the first half of them."""
        self._land(self.arrivals[: self._half])

    @contextmanager
    def landing_the_rest(self, meeting: Path, parties: int) -> Iterator[None]:
        """Append the others, once the runs have met, while the `with` block runs; it ends when all have landed."""
        with ThreadPoolExecutor(1) as thread:
            rest = thread.submit(self._land_rest, meeting, parties)
            yield
            rest.result()

    @property
    def _half(self) -> int:
        return (len(self.arrivals) + 1) // 2

    def _land_rest(self, meeting: Path, parties: int) -> None:
        Rendezvous(meeting, parties=parties, run_id="upstream", wait_s_max=_WAIT_S_MAX).meet()
        self._land(self.arrivals[self._half :])

    def _land(self, parts: Sequence[pa.Table]) -> None:
        for rows in parts:
            append(rows, str(self.delta))
