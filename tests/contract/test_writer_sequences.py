"""Random sequences of changes, ours and PyIceberg's: rows, manifests and totals stay right at every step."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seriatim.commit import Receipt
from tests.contract.writer_checks import check_commit, check_inspection
from tests.contract.writer_model import FOREIGN, OURS, SCHEMA, SPECS, World, add_column, append, repartition
from tests.faults.avro_files import Written
from tests.faults.bank import Bank

STEPS, STEPS_OF_SLOW = 6, 25


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("format_version", [1, 2])
def test_every_commit_is_right_by_the_specification(empty_bank: Bank, format_version: int, spec: str) -> None:
    """After each change: the model's rows, every file listed once, numbers, counts and totals true."""
    world = _world(empty_bank, format_version, spec, seed=10 * format_version + len(spec))

    for _ in range(STEPS_OF_SLOW):
        _step(world)

    check_inspection(world.bank.table())


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("format_version", [1, 2])
def test_we_and_pyiceberg_work_on_top_of_each_other(empty_bank: Bank, format_version: int, spec: str) -> None:
    """In turns, with a new column and another partition spec in between."""
    world = _world(empty_bank, format_version, spec, seed=20 * format_version + len(spec))

    for number in range(STEPS):
        if number == STEPS // 3:
            add_column(world)
        if number == STEPS // 2:
            repartition(world)
        _step(world)
        world.chance.choice(FOREIGN)(world)
        world.check_rows()

    check_inspection(world.bank.table())


def _world(bank: Bank, format_version: int, spec: str, seed: int) -> World:
    properties = {"format-version": str(format_version), "owner": "somebody else"}
    bank.create((), schema=SCHEMA, spec=SPECS[spec], properties=properties)
    world = World(bank, seed)
    for _ in range(2):
        _commit(world, append)
    return world


def _step(world: World) -> None:
    deed = world.chance.choice(OURS) if world.rows else append
    _commit(world, deed)


def _commit(world: World, deed: Callable[[World], Receipt]) -> None:
    before = Written.at(world.bank.table().metadata_location)

    receipt = deed(world)

    after = Written.at(world.bank.table().metadata_location)
    head = check_commit(before, after)
    assert receipt.snapshot_ids == (head.id,)
    world.check_rows()
