"""A process of its own that mirrors, and kills itself on the way (`tests.faults.victim` says where)."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyiceberg.table import Table

from seriatim.mirror import mirror
from tests.faults.clock import ManualClock
from tests.faults.victim import Gate, Killer, MortalCatalog
from tests.mirror.targets import Target


class Newborn(MortalCatalog):
    """Dies around the creation of a table, which the gates of a commit do not know."""

    dies_after_creation = False
    dies_before_creation = False

    def create_table(self, *args: Any, **options: Any) -> Table:
        if self.dies_before_creation:
            os.kill(os.getpid(), signal.SIGKILL)
        table = super().create_table(*args, **options)
        if self.dies_after_creation:
            os.kill(os.getpid(), signal.SIGKILL)
        return table


def run_in_a_process(task: Callable[..., None], *args: object) -> int | None:
    """Run the task in a new process that has everything imported, and return its exit code."""
    fork = multiprocessing.get_context("forkserver")
    fork.set_forkserver_preload([__name__])
    process = fork.Process(target=task, args=args)
    process.start()
    process.join()
    return process.exitcode


def mirror_and_die(
    path: Path, uri: str, gate: Gate | str, commit: int, batch: int | None, options: dict[str, Any]
) -> None:
    """Mirror to the target under `path`; die at a gate of the commit of that number, counted from 1."""
    killer = _LateKiller(gate, commit) if isinstance(gate, Gate) else Killer(Gate.NOWHERE)
    catalog = Newborn(killer, **Target(path).properties())
    catalog.dies_before_creation, catalog.dies_after_creation = gate == "before creation", gate == "after creation"
    if isinstance(killer, _LateKiller):
        killer.catalog = catalog
    mirror(uri, catalog, Target.identifier, batch=batch, clock=ManualClock(), chance=random.Random(1), **options)
    killer.reach(Gate.RETURNED)
    catalog.engine.dispose()


class _LateKiller(Killer):
    """Lets the first commits pass."""

    def __init__(self, gate: Gate, commit: int) -> None:
        super().__init__(gate)
        self._commit = commit
        self.catalog: MortalCatalog | None = None

    def reach(self, gate: Gate | None) -> None:
        """Die if this is the gate, in the commit that it is to be."""
        done = len(self.catalog.submitted) if self.catalog is not None else 0
        within = gate in (Gate.BEFORE_SQL, Gate.BEFORE_REPLY, Gate.AFTER_REPLY, Gate.RETURNED)
        if done == (self._commit if within else self._commit - 1):
            super().reach(gate)
