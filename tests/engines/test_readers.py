"""Other engines read every snapshot as it was: of random changes, ours and PyIceberg's."""

from __future__ import annotations

import copy

import pytest

from tests.contract.writer_model import FOREIGN, OURS, SCHEMA, SPECS, Row, World, append, by_id
from tests.engines.readers import READERS
from tests.faults.bank import Bank
from tests.faults.delete_files import delete_positions

pytestmark = pytest.mark.filterwarnings("ignore:.*polars_iceberg:Warning")  # A faster planner, which we do not need.

STEPS, STEPS_OF_SLOW = 8, 30


@pytest.mark.parametrize(("format_version", "spec"), [*((2, spec) for spec in SPECS), (1, "none"), (1, "two")])
def test_engines_read_every_snapshot_alike(empty_bank: Bank, format_version: int, spec: str) -> None:
    _check(empty_bank, format_version, spec, STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS)
def test_engines_read_every_snapshot_of_a_long_history_alike(empty_bank: Bank, spec: str) -> None:
    _check(empty_bank, 2, spec, STEPS_OF_SLOW)


def test_engines_apply_delete_files_of_others_to_snapshots_of_ours(empty_bank: Bank) -> None:
    """A manifest of deletes that we carried on still deletes what it did, and nothing that came later."""
    empty_bank.create((), schema=SCHEMA)
    world = World(empty_bank, seed=4)
    append(world)
    file = empty_bank.table().inspect.files()["file_path"][0].as_py()
    gone = empty_bank.table().scan().to_arrow()["id"][0].as_py()
    delete_positions(empty_bank, {file: [0]})
    del world.rows[gone]
    append(world)
    history = {empty_bank.head(): by_id(world.rows.values())}

    for name, read in READERS.items():
        for snapshot_id, rows in history.items():
            assert snapshot_id is not None
            assert by_id(read(empty_bank.table(), snapshot_id).to_pylist()) == rows, name


def _check(bank: Bank, format_version: int, spec: str, steps: int) -> None:
    bank.create((), schema=SCHEMA, spec=SPECS[spec], properties={"format-version": str(format_version)})
    world = World(bank, seed=30 * format_version + len(spec))
    history: dict[int, list[Row]] = {}
    for number in range(steps):
        if not world.rows:
            append(world)
        elif number % 3 == 2:
            world.chance.choice(FOREIGN)(world)
        else:
            world.chance.choice(OURS)(world)
        head = bank.head()
        assert head is not None
        history[head] = copy.deepcopy(by_id(world.rows.values()))

    table = bank.table()
    left = [snapshot.snapshot_id for snapshot in table.metadata.snapshots if snapshot.snapshot_id in history]
    assert len(left) >= min(steps, 10)
    for name, read in READERS.items():
        for snapshot_id in left:
            assert by_id(read(table, snapshot_id).to_pylist()) == history[snapshot_id], f"{name}, {snapshot_id}"
