"""Other engines read each snapshot of one that lands with many, and what position deletes of ours leave."""

from __future__ import annotations

import random

import pytest

from seriatim.commit.chain import Form
from tests.contract.chain_support import BY_KIND, WITH_NOTE, Story, land, land_in_batches
from tests.contract.writer_model import by_id
from tests.engines.readers import READERS
from tests.faults.bank import Bank

pytestmark = pytest.mark.filterwarnings("ignore:.*polars_iceberg:Warning")  # A faster planner, which we do not need.


def check(bank: Bank, story: Story, ids: list[int]) -> None:
    table = bank.table()
    for name, read in READERS.items():
        for number, (id_, rows) in enumerate(zip(ids, story.history, strict=True)):
            assert by_id(read(table, id_).to_pylist()) == rows, f"{name}, step {number}"


def test_engines_read_a_chain_with_position_deletes(target: Bank, story: Story) -> None:
    """Added, replaced, removed, and gone with their data file; in two partition specs and two schemas."""
    story.tell(add=[4, 4, 2])
    story.tell(delete={0: [1], 1: [0, 3]})
    story.tell(delete={0: [2]})
    story.tell(add=[3, 1], restore=[1], form=Form(spec=BY_KIND))
    story.tell(delete={3: [0], 2: [1]}, remove=[1])
    story.tell(add=[2], form=Form(schema=WITH_NOTE))
    story.tell(remove=[0])

    ids = land(target, story.steps).snapshot_ids

    check(target, story, list(ids))


@pytest.mark.parametrize("seed", range(3))
def test_engines_read_random_chains_alike(target: Bank, story: Story, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(12):
        story.tell_any(chance)

    check(target, story, land_in_batches(target, story.steps, [5, 2]))
