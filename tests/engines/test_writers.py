"""A table that another engine wrote before us is taken over as it is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from seriatim.commit import Append, Delete, NoChange, Rewrite, Upsert
from seriatim.commit.ledger_policy import LedgerPolicy
from seriatim.errors import HistoryCutError
from tests.contract.apply_support import call
from tests.contract.writer_checks import check_commit, check_inspection
from tests.engines.readers import READERS, duck
from tests.faults.avro_files import Written
from tests.faults.bank import Bank

pytestmark = pytest.mark.filterwarnings("ignore:.*polars_iceberg:Warning")  # A faster planner, which we do not need.


def accounts(*rows: tuple[int, int]) -> pa.Table:
    return pa.table({"id": pa.array([id_ for id_, _ in rows], pa.int64()), "bal": [bal for _, bal in rows]})


@pytest.fixture
def bank_of_duckdb(empty_bank: Bank, tmp_path: Path) -> Bank:
    """Three accounts, written by DuckDB: no sort order, no sizes in the summary, numbers that begin at 0."""
    folder = tmp_path / "duck"
    duck().register("three_accounts", accounts((1, 100), (2, 200), (3, 300)))
    duck().execute(f"COPY three_accounts TO '{folder}' (FORMAT iceberg)")
    (metadata,) = folder.rglob("*.metadata.json")
    with empty_bank.rival() as catalog:
        catalog.create_namespace("bank")
        catalog.register_table(empty_bank.identifier, f"file://{metadata}")
    return empty_bank


def test_we_work_on_top_of_what_duckdb_wrote(bank_of_duckdb: Bank) -> None:
    """Each kind of edit, each commit by the specification, and every engine reads the outcome."""
    bank = bank_of_duckdb
    bank.set_property("owner", "a duck")
    edits = [
        Append(accounts((4, 400))),
        Rewrite(accounts((1, 101)), keys="id"),
        Upsert(accounts((2, 202), (5, 500)), keys="id"),
        Delete(where="id == 3"),
    ]
    for edit in edits:
        before = Written.at(bank.table().metadata_location)
        call(bank, lambda base, edit=edit: edit)
        check_commit(before, Written.at(bank.table().metadata_location))

    assert bank.balances() == {1: 101, 2: 202, 4: 400, 5: 500}
    assert bank.table().properties["owner"] == "a duck"
    check_inspection(bank.table())
    for name, read in READERS.items():
        head = bank.head()
        assert head is not None
        rows = read(bank.table(), head).to_pylist()
        assert {row["id"]: row["bal"] for row in rows} == bank.balances(), name


def test_an_operation_on_it_wants_its_history_accepted_first(bank_of_duckdb: Bank) -> None:
    """Its first snapshot has the number 0, as all have that an upgraded table has left: that proves no beginning."""
    with pytest.raises(HistoryCutError):
        call(bank_of_duckdb, lambda base: NoChange(), "op")

    call(bank_of_duckdb, lambda base: NoChange(), "op", ledger=LedgerPolicy(accepts_cut_history=True))

    assert call(bank_of_duckdb, lambda base: Append(accounts((9, 9))), "op").is_noop
