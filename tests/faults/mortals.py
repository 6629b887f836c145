"""Writers in processes of their own, each killed again and again, and followed by one that goes on where it died."""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from seriatim.commit import RetryPolicy, apply
from seriatim.errors import ConflictError
from seriatim.upkeep import compact
from tests.faults.bank import Bank
from tests.faults.victim import Gate, Killer, MortalCatalog
from tests.oracle.serial import RefusedError
from tests.oracle.work import Work

COMPACT: Final = "compact"  # Among the operations: upkeep, which has no name and is not done again.
_PATIENT: Final = RetryPolicy(attempts_max=10_000, total_s_max=3600.0)
_DEATHS: Final = [gate for gate in Gate if gate is not Gate.NOWHERE]


@dataclass(slots=True)
class Toll:
    """What became of the operations, as far as their writers lived to tell."""

    acknowledged: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    abandoned: set[str] = field(default_factory=set)  # the writer died over it, and nobody did it again
    killed: int = 0
    errors: list[str] = field(default_factory=list)

    def add(self, other: Toll) -> None:
        """Take in what happened to another writer."""
        self.acknowledged |= other.acknowledged
        self.refused |= other.refused
        self.abandoned |= other.abandoned
        self.killed += other.killed
        self.errors += other.errors


def write_and_die(path: Path, plan: Sequence[Sequence[str]], seed: int) -> Toll:
    """Carry out each list of operations by a writer of its own, all at once, with deaths drawn by the seed."""
    print(f"seed {seed}")
    toll = Toll()
    with ThreadPoolExecutor(len(plan)) as pool:
        for each in pool.map(
            lambda entry: _follow(path, entry[1], random.Random(f"{seed} {entry[0]}")), enumerate(plan)
        ):
            toll.add(each)
    return toll


def _follow(path: Path, operations: Sequence[str], rng: random.Random) -> Toll:
    """Start one process after the other until all is done, refused or abandoned."""
    toll, left = Toll(), list(operations)
    while left and not toll.errors:
        death = rng.randrange(1, 12), rng.choice(_DEATHS)
        for said, operation in _lived(path, left, death):
            if said == "error":
                toll.errors.append(operation)
            elif operation != COMPACT:
                (toll.acknowledged if said == "done" else toll.refused).add(operation)
            del left[:1]
        if not left or toll.errors:
            break
        toll.killed += 1
        if left[0] == COMPACT or rng.random() < 0.25:
            toll.abandoned |= {left.pop(0)} - {COMPACT}
    return toll


def _lived(path: Path, operations: Sequence[str], death: tuple[int, Gate]) -> list[tuple[str, str]]:
    """Return what a process said until it died, or was done."""
    fork = multiprocessing.get_context("forkserver")
    fork.set_forkserver_preload([__name__])
    ours, theirs = fork.Pipe(duplex=False)
    process = fork.Process(target=_live, args=(path, list(operations), *death, theirs))
    process.start()
    theirs.close()
    said: list[tuple[str, str]] = []
    try:
        while True:
            said.append(ours.recv())
    except EOFError:
        process.join()
        ours.close()
    return said


def _live(path: Path, operations: Sequence[str], number: int, gate: Gate, connection: Connection) -> None:
    """Carry out the operations, and say so of each; die at the gate in that one, if it comes by there."""
    killer = Killer(Gate.NOWHERE)
    catalog = MortalCatalog(killer, **Bank(path).properties())
    for at, operation in enumerate(operations, 1):
        killer.gate = gate if at >= number else Gate.NOWHERE
        said = "done"
        try:
            _carry_out(catalog, killer, operation)
        except RefusedError:
            said = "refused"
        except Exception as err:  # noqa: BLE001  # The one who started it is to hear of it.
            connection.send(("error", f"{operation}: {type(err).__name__}: {err}"))
            return
        killer.reach(Gate.RETURNED)
        connection.send((said, operation))
    catalog.engine.dispose()


def _carry_out(catalog: MortalCatalog, killer: Killer, operation: str) -> None:
    if operation == COMPACT:
        try:
            compact(catalog, Bank.identifier, target_bytes=2**20, policy=RetryPolicy(attempts_max=3))
        except ConflictError:
            return  # The writers were faster; they may be.
        return
    work = Work(operation, has_read=lambda: killer.reach(Gate.COMPUTED))
    apply(catalog, Bank.identifier, work, operation_ids=[operation], policy=_PATIENT)
