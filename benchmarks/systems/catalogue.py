"""Which systems are compared in what, and which of them are installed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.systems.delta import DeltaRs
from benchmarks.systems.ducklake import DuckLake
from benchmarks.systems.guards import Jittered, Locked, Relayed
from benchmarks.systems.port import Contended, System, is_installed
from benchmarks.systems.raw import Raw
from benchmarks.systems.seriatim import Apply, CommitWithRetry


def of_one_commit() -> Iterator[System]:
    """Return what makes one commit after another, alone."""
    yield CommitWithRetry()
    yield Apply()
    yield Raw()
    yield DeltaRs()
    yield DeltaRs("delta-rs, handle kept", is_handle_kept=True)
    yield DuckLake()


def of_contention() -> Iterator[System]:
    """Return what overlapping writers may use: ours, and the peers, each with its ways of getting along."""
    yield CommitWithRetry("commit_with_retry with turnstile")
    yield Apply("apply with turnstile")
    yield Apply("apply without turnstile", has_turnstile=False)
    yield Locked(Raw())
    yield Relayed(Raw())
    yield Relayed(Apply("apply", has_turnstile=False))
    peers: tuple[Contended, ...] = (DeltaRs("delta-rs"), DuckLake())
    for peer in peers:
        yield Jittered(peer)
        yield Locked(peer)


def installed(systems: Iterator[System]) -> tuple[Sequence[System], Sequence[str]]:
    """Return those that can be measured here, and a note for each of the others."""
    there, notes = [], []
    for system in systems:
        if is_installed(system):
            there.append(system)
        else:
            notes.append(f"Not measured: {system.name}, which needs {', '.join(system.requires)}.")
    return there, notes
