"""Many runs of the mirror at once, on a Delta table that is still being written."""

from __future__ import annotations

import multiprocessing
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from seriatim.mirror import MirrorReceipt, mirror
from tests.mirror.hand_table import HandTable
from tests.mirror.targets import Target, assert_mirrors

RUNS = 8
VERSIONS = 220
_barrier: list[Barrier] = []  # In a process: the one that it was started with.


def grow(source: HandTable, upto: int) -> None:
    """Write versions of every kind, to a number that is told."""
    draw = random.Random(1)
    while source.version < upto:
        paths = sorted(source.live)
        match draw.randrange(8):
            case 0 if paths:
                path = draw.choice(paths)
                source.delete(path, *source.live[path], draw.randrange(len(source.files[path])))
            case 1 if len(paths) > 4:
                source.rewrite(paths[:3])
            case 2:
                source.touch()
            case _:
                source.append()


def mirror_until(path: Path, uri: str, version: int) -> list[MirrorReceipt]:
    """Mirror again and again, until that version is there; wait first until all are ready to."""
    target = Target(path)
    catalog = target.connect()
    if _barrier:
        _barrier[0].wait()
    receipts = [mirror(uri, catalog, Target.identifier, batch=5)]
    while (receipts[-1].version or 0) < version:
        receipts.append(mirror(uri, catalog, Target.identifier))
    target.close()
    return receipts


def assert_each_version_landed_once(receipts: list[MirrorReceipt], upto: int) -> None:
    """No two runs claim the same version."""
    assert sorted(landed.version for receipt in receipts for landed in receipt.landed) == list(range(upto + 1))


def test_runs_in_threads_land_each_version_once(target: Target, source: HandTable) -> None:
    """Each has a catalog object of its own, as runs have; the table is absent at first."""
    source.appends(5)
    with ThreadPoolExecutor(5) as pool:
        calls = [pool.submit(mirror_until, target.path, source.uri, 30) for _ in range(4)]
        pool.submit(grow, source, 30).result()
        receipts = [receipt for call in calls for receipt in call.result()]

    assert_mirrors(target, source, at=range(0, 31, 5))
    assert_each_version_landed_once(receipts, 30)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no forkserver")
def test_eight_processes_land_each_of_two_hundred_versions_once(target: Target, source: HandTable) -> None:
    """Requirement 1: they find no table, and the ninth is still writing."""
    fork = multiprocessing.get_context("forkserver")
    fork.set_forkserver_preload([__name__])
    barrier = fork.Barrier(RUNS + 1, timeout=120)
    processes = [
        fork.Process(target=_with_barrier, args=(barrier, target.path, source.uri, VERSIONS)) for _ in range(RUNS)
    ]
    for process in processes:
        process.start()
    barrier.wait()
    grow(source, VERSIONS)
    for process in processes:
        process.join()

    assert [process.exitcode for process in processes] == [0] * RUNS
    assert source.version == VERSIONS
    assert_mirrors(target, source, at=[*range(0, VERSIONS, 9), VERSIONS])
    assert target.inventory().missing == []


def _with_barrier(barrier: Barrier, path: Path, uri: str, version: int) -> None:
    _barrier.append(barrier)
    mirror_until(path, uri, version)
