"""The bank's oracle: right by hand-made examples, and shown to catch what it is there to catch."""

from __future__ import annotations

import ast
import gzip
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog

import oracle
from assets.kinds import KINDS
from assets.posting import post
from assets.transactions import read_transactions
from oracle.bank import Operation, Unposted, missing, replay
from oracle.entries import lost_on_the_way, read_delta, read_file
from oracle.errors import DoubleApplyError, LineageError, OracleError, UnknownOperationError
from oracle.lineage import bank_operations, landed_operation_ids
from oracle.verdict import Difference, compare
from pipelines.generated_bank import generate_bank, write_bank
from pipelines.landing import arrivals, land
from tests.oracle.days import batch_of, by_day, of_day

DAY = date(1993, 1, 5)


def bank_file(folder: Path, *rows: str) -> Path:
    path = folder / "bank.csv"
    path.write_text("\n".join(["trans_id,account_id,date,kind,amount", *rows]) + "\n", encoding="utf-8")
    return path


def all_operations(path: Path) -> list[Operation]:
    """List every posting of the file, day by day: what a bank without any overlap would do."""
    never = sorted(missing(by_day(path), ()), key=lambda each: (each.version, each.kind))
    return [Operation(each.kind, each.version - 1, each.version) for each in never]


def days_of(operation: Operation) -> list[date]:
    return [date.fromordinal(version) for version in range(operation.after + 1, operation.upto + 1)]


def posted(path: Path, operations: Sequence[Operation]) -> dict[int, int]:
    """Post with the product's own code; what the oracle's code is compared with."""
    transactions = read_transactions(path)
    kinds = {kind.name: kind for kind in KINDS}
    balances = dict.fromkeys(transactions.account_ids(), 0)
    for operation in operations:
        batch = batch_of(transactions, kinds[operation.kind], days_of(operation))
        balances.update(post(balances, batch).balances_minor)
    return balances


def test_each_rule_is_replayed_as_the_bank_states_it(tmp_path: Path) -> None:
    """Worked out by hand: 100.00 in, 0.25 % of it, 1 % fee of the rest up to 0.50, an order refused and one paid."""
    path = bank_file(
        tmp_path,
        "1,1,1993-01-05,cash_deposit,100.00",
        "2,1,1993-01-06,percentage_interest,0.25",
        "3,1,1993-01-07,balance_fee,-0.50",
        "5,1,1993-01-08,standing_order,-99.75",
        "4,1,1993-01-08,standing_order,-99.76",
        "6,2,1993-01-08,penalty_interest,-0.03",
        "7,2,1993-01-09,percentage_interest,100.00",
        "8,2,1993-01-09,balance_fee,-7.00",
        "9,3,1993-01-09,loan,-1.00",
    )
    operations = all_operations(path)

    balances = [replay(by_day(path), operations[:count]) for count in range(len(operations) + 1)]

    assert [each[1] for each in balances[:6]] == [0, 10_000, 10_025, 9_975, 9_975, 0]
    assert balances[-1] == {1: 0, 2: -3, 3: -100}


def test_an_operation_without_transactions_changes_nothing(tmp_path: Path) -> None:
    """A day without business lands, too."""
    path = bank_file(tmp_path, "1,1,1993-01-05,cash_deposit,100.00")

    assert replay(by_day(path), [of_day("loan", DAY)]) == {1: 0}


def test_an_operation_replayed_twice_is_a_double_apply(tmp_path: Path) -> None:
    """No serial order of runs applied once each has it twice, nor a part of it."""
    arrivals = by_day(bank_file(tmp_path, "1,1,1993-01-05,cash_deposit,100.00"))
    once, next_day = of_day("cash_deposit", DAY), of_day("cash_deposit", DAY + timedelta(days=1))
    wider = Operation("cash_deposit", once.after - 5, once.upto)

    assert replay(arrivals, [next_day, once]) == replay(arrivals, [wider, next_day]) == {1: 10_000}
    for operations in ([once, once], [once, wider], [wider, once], [wider, next_day, once]):
        with pytest.raises(DoubleApplyError):
            replay(arrivals, operations)


def test_an_operation_of_no_kind_is_refused(tmp_path: Path) -> None:
    """What it did to the table is not known, so there is no verdict."""
    with pytest.raises(OracleError):
        replay(by_day(bank_file(tmp_path)), [of_day("bribe", DAY)])


@pytest.mark.parametrize("amount", ["1.005", "NaN"])
def test_an_amount_that_is_no_number_of_cents_is_refused(tmp_path: Path, amount: str) -> None:
    """The oracle does not round what the product must refuse."""
    path = bank_file(tmp_path, f"1,1,1993-01-05,cash_deposit,{amount}")

    with pytest.raises(OracleError):
        replay(by_day(path), [])


def test_what_never_landed_is_listed(tmp_path: Path) -> None:
    """By kind and version."""
    path = bank_file(
        tmp_path,
        "1,1,1993-01-05,cash_deposit,100.00",
        "2,1,1993-01-06,cash_deposit,100.00",
        "3,1,1993-01-06,loan,-1.00",
    )

    landed = [of_day("cash_deposit", date(1993, 1, 6)), of_day("pension", DAY)]

    first, second = DAY.toordinal(), DAY.toordinal() + 1
    assert missing(by_day(path), landed) == (Unposted("cash_deposit", first), Unposted("loan", second))


def test_the_verdict_names_what_differs() -> None:
    """Accounts that differ, with both balances; accounts that only one side has."""
    verdict = compare({1: 10, 2: 20, 3: 30, 5: 0}, {1: 10, 2: 21, 4: 40, 3: -30})

    assert verdict.differing == (Difference(2, 20, 21), Difference(3, 30, -30))
    assert (verdict.missing, verdict.extra, verdict.accounts) == ((5,), (4,), 4)
    assert not verdict.is_equal


@pytest.mark.parametrize("actual", [{}, {1: 0, 2: 0}, {1: 1}])
def test_one_difference_of_any_sort_is_not_equal(actual: dict[int, int]) -> None:
    """A missing account with balance 0 is a difference; so is an extra one."""
    assert compare({1: 0}, {1: 0}).is_equal
    assert not compare({1: 0}, actual).is_equal


@pytest.mark.parametrize("seed", range(4))
def test_a_planted_order_error_is_caught(tmp_path: Path, seed: int) -> None:
    """Two operations are swapped in the replay that did not land in that order: the accounts they touch differ."""
    print(f"seed {seed}")
    path = tmp_path / "bank.parquet"
    write_bank(path, generate_bank(seed, DAY, days=40, accounts=20, transactions=900))
    landed = all_operations(path)
    Random(seed).shuffle(landed)
    actual = posted(path, landed)
    interest = next(index for index, each in enumerate(landed) if each.kind == "percentage_interest")
    # The deposit that lands just after the interest is replayed before it: the interest meets a larger balance.
    deposit = next(index for index in range(interest, len(landed)) if _feeds(path, landed[index], landed[interest]))
    swapped = list(landed)
    swapped[interest], swapped[deposit] = swapped[deposit], swapped[interest]

    assert compare(replay(by_day(path), landed), actual).is_equal
    verdict = compare(replay(by_day(path), swapped), actual)

    assert verdict.differing
    touched = {row["account_id"] for row in _rows(path, landed[interest : deposit + 1])}
    assert {each.account_id for each in verdict.differing} <= touched
    assert all(each.expected_minor != each.actual_minor for each in verdict.differing)


def test_the_smallest_order_error_is_caught(tmp_path: Path) -> None:
    """Interest before the deposit or after it: one account, 25 cents."""
    path = bank_file(
        tmp_path,
        "1,1,1993-01-05,cash_deposit,100.00",
        "2,1,1993-01-05,percentage_interest,0.25",
        "3,2,1993-01-05,cash_deposit,3.00",
    )
    deposit, interest = of_day("cash_deposit", DAY), of_day("percentage_interest", DAY)

    verdict = compare(replay(by_day(path), [interest, deposit]), posted(path, [deposit, interest]))

    assert verdict.differing == (Difference(1, expected_minor=10_000, actual_minor=10_025),)


def test_a_planted_double_apply_in_the_table_is_caught(tmp_path: Path) -> None:
    """Posted twice and named once: only the balances can tell, and they do."""
    path = tmp_path / "bank.csv"
    write_bank(path, generate_bank(1, DAY, days=40, accounts=20, transactions=900))
    landed = all_operations(path)

    verdict = compare(replay(by_day(path), landed), posted(path, [*landed, landed[0]]))

    assert [each.account_id for each in verdict.differing] == sorted(
        {row["account_id"] for row in _rows(path, landed[:1])}
    )


def test_a_planted_missing_operation_is_caught(tmp_path: Path) -> None:
    """Named and not posted (a lost update) shows in the balances; neither named nor posted shows as missing."""
    path = tmp_path / "bank.csv"
    write_bank(path, generate_bank(1, DAY, days=40, accounts=20, transactions=900))
    landed = all_operations(path)
    lost = landed.pop()

    assert not compare(replay(by_day(path), [*landed, lost]), posted(path, landed)).is_equal
    assert missing(by_day(path), landed) == (Unposted(lost.kind, lost.upto),)


def _rows(path: Path, operations: Sequence[Operation]) -> list[dict[str, Any]]:
    wanted = {(operation.kind, day) for operation in operations for day in days_of(operation)}
    return [row for row in read_transactions(path).table.to_pylist() if (row["kind"], row["date"]) in wanted]


def _feeds(path: Path, operation: Operation, interest: Operation) -> bool:
    """Say whether the operation brings so much to one of the interest's accounts that the interest must differ."""
    if operation.kind != "cash_deposit":
        return False
    earning = {row["account_id"] for row in _rows(path, [interest])}
    return any(row["account_id"] in earning and row["amount_minor"] > 100_000 for row in _rows(path, [operation]))


# The lineage, from metadata written by hand.


def metadata_file(folder: Path, *snapshots: dict[str, Any], head: int | None = None, **further: Any) -> Path:
    path = folder / "v1.metadata.json"
    current = snapshots[-1]["snapshot-id"] if head is None and snapshots else head
    path.write_text(
        json.dumps({"format-version": 2, "snapshots": list(snapshots), "current-snapshot-id": current, **further}),
        encoding="utf-8",
    )
    return path


def snapshot(
    snapshot_id: int, parent: int | None, *operation_ids: str, commit: str | None = None, number: int | None = None
) -> dict[str, Any]:
    summary = {"operation": "append"}
    if operation_ids:
        summary["seriatim.operation-ids"] = json.dumps(operation_ids)
    if commit:
        summary["seriatim.commit-id"] = commit
    made = {"snapshot-id": snapshot_id, "sequence-number": number or (1 if parent is None else 9), "summary": summary}
    return made if parent is None else made | {"parent-snapshot-id": parent}


def test_the_order_is_that_of_the_parents(tmp_path: Path) -> None:
    """Neither the order in the file nor that of the ids; what is not on the main branch did not happen to it."""
    path = metadata_file(
        tmp_path,
        snapshot(30, 20, "c", commit="C"),
        snapshot(20, 99, "b1", "b2", commit="B"),
        snapshot(21, 99, "never landed", commit="X"),
        snapshot(99, None, "a", commit="A"),
        head=30,
        refs={"main": {"snapshot-id": 30, "type": "branch"}, "other": {"snapshot-id": 21, "type": "branch"}},
    )

    assert landed_operation_ids(path) == ("a", "b1", "b2", "c")
    assert landed_operation_ids(f"file://{path}") == ("a", "b1", "b2", "c")


def test_compressed_metadata_is_read(tmp_path: Path) -> None:
    """Iceberg allows it; the file's name may differ, so its first bytes decide."""
    path = metadata_file(tmp_path, snapshot(1, None, "a", commit="A"))
    path.write_bytes(gzip.compress(path.read_bytes()))

    assert landed_operation_ids(path) == ("a",)


@pytest.mark.parametrize("head", [None, -1])
def test_an_empty_table_has_no_operations(tmp_path: Path, head: int | None) -> None:
    """Older writers say -1."""
    assert landed_operation_ids(metadata_file(tmp_path, head=head)) == ()


def test_a_commit_of_several_snapshots_counts_once(tmp_path: Path) -> None:
    """PyIceberg's overwrite is a delete and an append, both with the same summary; foreign snapshots say nothing."""
    path = metadata_file(
        tmp_path,
        snapshot(1, None, "a", commit="A"),
        snapshot(2, 1, "b1", "b2", commit="B"),
        snapshot(3, 2, "b1", "b2", commit="B"),
        snapshot(4, 3),
        snapshot(5, 4, "c", commit="C"),
    )

    assert landed_operation_ids(path) == ("a", "b1", "b2", "c")


@pytest.mark.parametrize(
    "second",
    [
        pytest.param([snapshot(2, 1, "a", commit="B")], id="another commit"),
        pytest.param([snapshot(2, 1, "a")], id="a snapshot without a commit id"),
        pytest.param([snapshot(2, 1, "b", "b", commit="B")], id="twice in one commit"),
        pytest.param([snapshot(2, 1), snapshot(3, 2, "a", commit="A")], id="the same commit landed again later"),
        pytest.param([snapshot(2, 1), snapshot(3, 2, commit="A")], id="the same commit again, though it names nothing"),
    ],
)
def test_an_id_that_landed_twice_is_a_double_apply(tmp_path: Path, second: list[dict[str, Any]]) -> None:
    """Exactly once is a promise about the lineage, and here the lineage itself breaks it."""
    with pytest.raises(DoubleApplyError):
        landed_operation_ids(metadata_file(tmp_path, snapshot(1, None, "a", commit="A"), *second))


@pytest.mark.parametrize(
    "snapshots",
    [
        pytest.param([snapshot(2, 1, "b", commit="B")], id="a parent that is gone"),
        pytest.param([snapshot(2, None, "b", commit="B", number=2)], id="a first snapshot that is not the first"),
        pytest.param([snapshot(1, 2), snapshot(2, 1)], id="a circle"),
        pytest.param(
            [snapshot(1, None, "a", commit="A"), snapshot(2, 1, "b", commit="A")], id="one commit, different operations"
        ),
        pytest.param([{"snapshot-id": 1, "summary": {"seriatim.operation-ids": '"bank/loan@1"'}}], id="not a list"),
    ],
)
def test_a_history_that_is_not_whole_is_no_evidence(tmp_path: Path, snapshots: list[dict[str, Any]]) -> None:
    """An order that misses its beginning would make a verdict of chance."""
    with pytest.raises(LineageError):
        landed_operation_ids(metadata_file(tmp_path, *snapshots))


def test_operation_ids_are_read() -> None:
    """Openings post nothing; each posting goes on where the one of its kind before it has ended."""
    postings = ["bank/cash_deposit@0", "bank/loan@4", "bank/cash_deposit@4", "bank/cash_deposit@5"]

    assert bank_operations(["bank/accounts@3", *postings, "bank/accounts@9"]) == (
        Operation("cash_deposit", -1, 0),
        Operation("loan", -1, 4),
        Operation("cash_deposit", 0, 4),
        Operation("cash_deposit", 4, 5),
    )


@pytest.mark.parametrize("second", [3, 4])
def test_a_posting_that_ends_before_another_is_a_double_apply(second: int) -> None:
    """What it posted had been posted."""
    with pytest.raises(DoubleApplyError):
        bank_operations(["bank/loan@4", "bank/pension@1", f"bank/loan@{second}"])


@pytest.mark.parametrize(
    "operation_id",
    ["", "bank/loan", "bank/loan@", "bank/loan@-1", "bank/loan@x", "bank/@1", "loan@1", "shop/loan@1", "bank/loan|1"],
)
def test_an_id_that_is_not_the_banks_is_refused(operation_id: str) -> None:
    """Left out in silence, it would make the oracle blind to what it did."""
    with pytest.raises(UnknownOperationError) as caught:
        bank_operations([operation_id])

    assert caught.value.operation_id == operation_id


# What arrives in a Delta table, read by the oracle alone.


def landed(folder: Path) -> tuple[Path, Path]:
    """Return a file and the Delta table in which it was landed."""
    file = folder / "bank.csv"
    write_bank(file, generate_bank(3, DAY, days=20, accounts=4, transactions=200))
    land(arrivals(read_transactions(file), seed=3), folder / "delta")
    return file, folder / "delta"


def test_the_oracle_reads_each_version_of_a_delta_table(tmp_path: Path) -> None:
    """What delta-rs says of the versions, one after another."""
    file, delta = landed(tmp_path)

    read = read_delta(delta)

    assert list(read) == list(range(DeltaTable(str(delta)).version() + 1))
    seen = 0
    for version, entries in read.items():
        rows = DeltaTable(str(delta), version=version).to_pyarrow_table()
        seen += len(entries)
        assert len(rows) == seen
    assert lost_on_the_way(read_file(file), read) == ()


def test_what_does_not_arrive_as_it_was_sent_is_named(tmp_path: Path) -> None:
    """Not at all, twice, or with another amount."""
    file, delta = landed(tmp_path)
    read = read_delta(delta)
    (first, *rest), twice = read[0], read[1][0]
    other = replace(rest[0], amount=rest[0].amount + 1)

    found = lost_on_the_way(read_file(file), {**read, 0: [other, *rest[1:]], 1: [*read[1], twice]})

    assert found == tuple(sorted({first.trans_id, other.trans_id, twice.trans_id}))


def test_a_delta_table_that_takes_something_away_is_no_evidence(tmp_path: Path) -> None:
    """Nor one whose log is not whole."""
    _, delta = landed(tmp_path)
    DeltaTable(str(delta)).delete("account_id = 1")
    with pytest.raises(OracleError, match="takes something away"):
        read_delta(delta)
    (delta / "_delta_log" / f"{0:020}.json").unlink()
    with pytest.raises(OracleError, match="version 0 is not in the log"):
        read_delta(delta)


def test_the_lineage_of_a_real_table_is_read(tmp_path: Path) -> None:
    """PyIceberg writes the metadata: an append, then overwrites of two snapshots each."""
    catalog = SqlCatalog("local", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")
    catalog.create_namespace("bank")
    rows = pa.table({"id": [1], "bal": [0]})
    table = catalog.create_table("bank.account", rows.schema)
    table.append(rows, snapshot_properties=_summary("A", "bank/accounts@0"))
    table.overwrite(rows, snapshot_properties=_summary("B", "bank/loan@3", "bank/cash_deposit@0"))
    table.overwrite(rows, snapshot_properties=_summary("C", "bank/cash_deposit@3"))

    ids = landed_operation_ids(table.metadata_location)
    catalog.close()

    assert len(table.snapshots()) == 5
    assert bank_operations(ids) == (
        Operation("loan", -1, 3),
        Operation("cash_deposit", -1, 0),
        Operation("cash_deposit", 0, 3),
    )


def _summary(commit: str, *operation_ids: str) -> dict[str, str]:
    return {"seriatim.commit-id": commit, "seriatim.operation-ids": json.dumps(operation_ids)}


def test_the_oracle_imports_nothing_of_what_it_judges() -> None:
    """Only so can it be right where we are wrong."""
    allowed = {"oracle", "pyarrow"} | sys.stdlib_module_names
    imported = set()
    for path in Path(str(oracle.__file__)).parent.glob("**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).partition(".")[0])

    assert imported <= allowed
