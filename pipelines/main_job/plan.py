"""Which runs the main job launches: mirror runs, then postings of one kind and about a month of arrivals each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

RUNS_MIN = 8  # Fewer postings than this would hardly overlap: few arrivals are then posted one by one.
_ARRIVALS_A_MONTH: Final = 5  # weeks, and what comes late


@dataclass(frozen=True, slots=True)
class Run:
    """One run: of which assets, with what configuration, and how a person tells it from the others.

    Runs of one party meet before they write, so that all of them are in flight at once.
    """

    label: str
    assets: tuple[str, ...]
    config: Mapping[str, int]  # of the first of the assets
    party: str | None = None  # None: it meets nobody


def mirror_runs(count: int) -> tuple[Run, ...]:
    """Return runs of the mirror that meet, and then race for version after version."""
    one = ("bank/transactions",)
    return tuple(Run(f"mirror, run {number + 1}", one, {"batch": 2}, party="mirror") for number in range(count))


def last_mirror_run() -> Run:
    """Return the run that mirrors what is left, and opens the accounts."""
    return Run("mirror what is left, open the accounts", ("bank/transactions", "bank/accounts"), {})


def posting_runs(arrivals: Sequence[pa.Table], *, party: int) -> tuple[Run, ...]:
    """Return the runs that post all arrivals, whichever of them comes first; the first `party` of them meet.

    Two of those are of one kind: one of the two finds that a part of its work has been done, or all of it.
    """
    kinds = [pc.unique(rows["kind"]).to_pylist() for rows in arrivals]
    runs = _runs(kinds, _ends(len(arrivals), max(1, len(arrivals) // _ARRIVALS_A_MONTH)))
    if len(runs) < RUNS_MIN:
        runs = _runs(kinds, range(len(arrivals)))
    return tuple(_with_opening_party(runs, party))


def _runs(kinds: Sequence[Sequence[str]], ends: Iterable[int]) -> list[Run]:
    """Return a run for each kind and span, by what its last arrival is; spans without the kind have none."""
    runs, after = [], -1
    for upto in ends:
        present = sorted({kind for each in kinds[after + 1 : upto + 1] for kind in each})
        runs += [Run(f"{kind} up to version {upto}", (f"bank/{kind}",), {"upto": upto}) for kind in present]
        after = upto
    return runs


def _ends(arrivals: int, spans: int) -> list[int]:
    return [(number + 1) * arrivals // spans - 1 for number in range(spans)]


def _with_opening_party(runs: Sequence[Run], party: int) -> Sequence[Run]:
    """Move the first run of several kinds, and the second of one of them, to the front and let them meet."""
    by_kind: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        by_kind.setdefault(run.assets, []).append(run)
    twice = next((each[:2] for each in by_kind.values() if len(each) > 1), [])
    others = [each[0] for each in by_kind.values() if each[0] not in twice]
    members = [*twice, *others][:party]
    if len(members) < 2:
        return runs
    met = [replace(run, party="opening") for run in members]
    return [*met, *(run for run in runs if run not in members)]
