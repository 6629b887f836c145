"""Every interleaving of two writers, and sampled ones of three, ends as some serial order of them would (P1 to P5).

A schedule that fails is named, and done again by

    SERIATIM_SCHEDULE='<scene> <gates> <choices>' python3 run.py test tests/oracle/test_schedules.py -k replayed
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Final

import pytest
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform

from seriatim.inspection.lookup import Applied, lookup
from seriatim.upkeep import fold
from tests.faults.bank import Bank
from tests.faults.catalog import Landing
from tests.faults.files import take_inventory
from tests.faults.scheduler import Choice, Gate, Scheduler, Script, Step, all_schedules
from tests.oracle.actors import COMPACTION, EXPIRY, Actor, GatedCatalog, Stage, lost, rival, writer
from tests.oracle.serial import Balances, RefusedError, replay

START: Final = {1: 100, 2: 200, 3: 300, 4: 400}
# What is shared is read at a load and changed at a commit: where else one waits cannot be told from the outside.
SHARED: Final = frozenset({Gate.BEFORE_CATALOG, Gate.AFTER_CATALOG})
MORE: Final = SHARED | {Gate.READ}
ALL: Final = frozenset(Gate)

DEPOSIT: Final = writer("deposit|1|7|a")
INTEREST: Final = writer("interest|3|b")
WITHDRAW: Final = writer("withdraw|1|80|c")
PAIRS: Final[Mapping[str, Sequence[Actor]]] = {
    "deposit+interest": (DEPOSIT, INTEREST),
    "withdraw+transfer": (WITHDRAW, writer("transfer|1|2|50|d")),
    "open+open": (writer("open|9|5|e"), writer("open|9|6|f")),
    "put+close": (writer("put|1|5|g"), writer("close|1|h")),
    "interest+compaction": (INTEREST, COMPACTION),
    "deposit+expiry": (DEPOSIT, EXPIRY),
    "interest+rival": (INTEREST, rival("put|1|50|i")),
    "withdraw+rival": (WITHDRAW, rival("close|1|j")),
    "deposit twice": (DEPOSIT, DEPOSIT),
    "lost+interest": (writer("deposit|1|7|a", lost("ConnectionError", Landing.AT_ONCE)), INTEREST),
    "refused+interest": (writer("deposit|1|7|a", lost("CommitFailed", Landing.AT_ONCE)), INTEREST),
    "never+interest": (writer("deposit|1|7|a", lost("StateUnknown", Landing.NEVER)), INTEREST),
    "late+interest": (writer("deposit|1|7|a", lost("ConnectionError", Landing.AT_NEXT_LOAD)), INTEREST),
    "lost twin+twin": (writer("deposit|1|7|a", lost("OperationalError", Landing.AT_ONCE)), DEPOSIT),
}
QUICK: Final = ("deposit+interest", "interest+compaction", "interest+rival", "lost+interest", "lost twin+twin")
TRIOS: Final[Mapping[str, Sequence[Actor]]] = {
    "deposit+interest+transfer": (DEPOSIT, INTEREST, writer("transfer|1|2|104|k")),
    "withdraw+rival+compaction": (WITHDRAW, rival("put|1|50|i"), COMPACTION),
    "lost+interest+expiry": (*PAIRS["lost+interest"], EXPIRY),
    "twins+late": (DEPOSIT, DEPOSIT, writer("deposit|1|7|a", lost("StateUnknown", Landing.BEFORE_NEXT_COMMIT))),
}
SCENES: Final = {**PAIRS, **TRIOS}
SAMPLES: Final = 4
SEED: Final = int(os.environ.get("SERIATIM_SEED", "20"))


@dataclass(frozen=True, slots=True)
class Ending:
    """What a schedule led to."""

    trace: tuple[Step, ...]
    balances: Balances
    found: frozenset[str]  # the operations that the ledger knows


@pytest.fixture(params=["flat", "partitioned"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    """Four accounts in four files, on which PyIceberg 0.12 reports a conflict at once."""
    yield from _stage(tmp_path, is_partitioned=request.param == "partitioned")


@pytest.fixture
def partitioned(tmp_path: Path) -> Iterator[Stage]:
    """The same, in two partitions."""
    yield from _stage(tmp_path, is_partitioned=True)


@pytest.fixture
def flat(tmp_path: Path) -> Iterator[Stage]:
    """The same, without partitions."""
    yield from _stage(tmp_path, is_partitioned=False)


def _stage(path: Path, *, is_partitioned: bool) -> Iterator[Stage]:
    bank = Bank(path)
    rows = [{"id": account, "bal": balance} for account, balance in START.items()]
    prompt = {"commit.retry.num-retries": "0"}
    by = PartitionSpec(PartitionField(1, 1000, BucketTransform(2), "bucket")) if is_partitioned else PartitionSpec()
    bank.create(rows, spec=by, file_per_row=True, properties=prompt)
    fold(bank.connect(), Bank.identifier)  # A history with a ledger may be expired.
    yield Stage(bank)
    bank.close()


def _play(stage: Stage, scene: str, choose: Choice, gates: frozenset[Gate] = ALL) -> Ending:
    """Play a scene by one schedule, and want it to end as a serial order of what was done."""
    stage.reset()
    scheduler = Scheduler(gates)
    actors = {f"{number}": actor for number, actor in enumerate(SCENES[scene])}
    catalogs = {name: stage.catalog(scheduler) for name in actors}
    done: dict[str, bool] = {}

    def task(name: str) -> None:
        done[name] = actors[name].run(catalogs[name])

    try:
        scheduler.run({name: lambda name=name: task(name) for name in actors}, choose)  # type: ignore[misc]
        for catalog in catalogs.values():
            catalog.deliver()  # What is still on its way arrives when everybody has gone.
            assert catalog.script_is_done or not catalog.submitted
        table = next(iter(catalogs.values())).load_table(Bank.identifier)
        operations = sorted({actor.operation for name, actor in actors.items() if done[name] and actor.operation})
        found = frozenset(each for each in operations if _is_applied(catalogs["0"], each))
        ending = Ending(tuple(scheduler.trace), _balances(table), found)
        _judge(ending, operations)
        assert take_inventory(table).missing == []
        assert found == {actor.operation for name, actor in actors.items() if done[name] and actor.is_ours}
    except BaseException as err:
        names = ",".join(sorted(gate.name for gate in gates))
        err.add_note(f"SERIATIM_SCHEDULE='{scene} {names} {choose}'")
        raise
    finally:
        for catalog in catalogs.values():
            catalog.engine.dispose()
    return ending


def _judge(ending: Ending, operations: Sequence[str]) -> None:
    results = []
    for order in permutations(operations):
        with suppress(RefusedError):  # In that order it would have been refused, and it was not.
            results.append(dict(replay(START, order)))
    assert dict(ending.balances) in results


def _is_applied(catalog: GatedCatalog, operation: str) -> bool:
    return isinstance(lookup(catalog, Bank.identifier, operation), Applied)


def _balances(table: Table) -> dict[int, int]:
    rows = table.scan(row_filter=AlwaysTrue()).to_arrow().to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row["bal"] for row in rows}


@pytest.mark.parametrize("scene", QUICK)
def test_every_schedule_of_two_ends_in_a_serial_order(flat: Stage, scene: str) -> None:
    """None is left out: the next one differs from the last in the latest choice that has another way to go."""
    assert _play_all(flat, scene, SHARED) >= 10


@pytest.mark.exhaustive
@pytest.mark.parametrize("scene", PAIRS)
def test_every_schedule_of_every_pair_ends_in_a_serial_order(partitioned: Stage, scene: str) -> None:
    """The same of all pairs, where files and partitions come into it."""
    assert _play_all(partitioned, scene, SHARED) >= 10


@pytest.mark.exhaustive
@pytest.mark.parametrize("scene", PAIRS)
def test_a_further_gate_makes_no_difference(stage: Stage, scene: str) -> None:
    """With a gate after each read as well: what was thought not to matter does not."""
    assert _play_all(stage, scene, MORE) >= 10


@pytest.mark.parametrize("scene", TRIOS)
def test_sampled_schedules_of_three_end_in_a_serial_order(stage: Stage, scene: str) -> None:
    """There are too many to go through; `SERIATIM_SEED` draws others."""
    rng = random.Random(f"{SEED} {scene}")
    print(f"SERIATIM_SEED={SEED}")

    for _ in range(SAMPLES):
        _play(stage, scene, Script([rng.randrange(6) for _ in range(60)]))


def test_a_schedule_is_replayed(flat: Stage) -> None:
    """The harness itself is deterministic: the same schedule is the same story, step by step, and its outcome."""
    told = os.environ.get("SERIATIM_SCHEDULE", f"lost+interest {','.join(Gate.__members__)} 01101001011")
    scene, names, numbers = told.rsplit(" ", 2)
    gates = frozenset(Gate[name] for name in names.split(","))

    first, second = (_play(flat, scene, Script([int(each) for each in numbers]), gates) for _ in range(2))

    assert first == second
    print(*(f"{step.name}: {step.reached}" for step in first.trace), sep="\n")


def _play_all(stage: Stage, scene: str, gates: frozenset[Gate]) -> int:
    """Play a scene by every schedule, and return how many there are."""

    def play(script: Script) -> None:
        _play(stage, scene, script, gates)

    count = sum(1 for _ in all_schedules(play))
    print(f"{scene}: {count} schedules")
    return count
