"""The assets that post, run for real on a SQLite catalog."""

from __future__ import annotations

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.expressions import EqualTo

from assets.account_table import ACCOUNT_TABLE
from tests.code_location.scene import Scene, error_of, metadata_of


def test_what_is_new_is_posted_onto_the_balances(scene: Scene) -> None:
    """Only that kind; the accounts of the transactions are there, at 0, before anything is posted."""
    result = scene.post("cash_deposit", upto=0)

    assert result.success
    assert scene.balances() == {1: 100_00, 2: 50_00}
    told = metadata_of(result)
    assert told["operation_ids"] == ["bank/cash_deposit@0"]
    assert (told["attempts"], told["conflicts"], told["operations_applied"]) == (1, 0, 1)
    assert (told["rows_changed"], told["transactions"], told["refused"]) == (2, 2, 0)
    assert (told["sum_posted_minor"], told["sum_posted"], told["versions"]) == (150_00, "150.00", "0")
    opened, *_, landed = [snapshot.snapshot_id for snapshot in scene.snapshots()]
    assert (told["base_snapshot_id"], told["committed_snapshot_id"]) == (str(opened), str(landed))


def test_a_commit_names_the_run_that_made_it(scene: Scene) -> None:
    """So that a loser can be told who won."""
    result = scene.post("cash_deposit")
    summaries = [snapshot.summary for snapshot in scene.snapshots()]

    assert {each.additional_properties["seriatim.run-id"] for each in summaries if each} == {result.run_id}


def test_a_run_goes_on_where_the_one_before_has_ended(scene: Scene) -> None:
    """Version by version or several at once: each transaction is posted once, and the commit says up to where."""
    first, second = scene.post("cash_deposit", upto=0), scene.post("cash_deposit")

    assert scene.balances() == {1: 110_00, 2: 50_00}
    assert scene.history() == [["bank/cash_deposit@0"], ["bank/cash_deposit@2"]]
    assert [metadata_of(run)["versions"] for run in (first, second)] == ["0", "1 to 2"]
    assert metadata_of(second)["sum_posted_minor"] == 10_00


def test_a_run_that_finds_nothing_new_writes_nothing_and_names_the_snapshot(scene: Scene) -> None:
    """Whoever launches it, the table is not touched again; nor by a run for versions that were posted long ago."""
    first = scene.post("cash_deposit")
    before = scene.snapshots()

    for upto in (None, 2, 0):
        again = scene.post("cash_deposit", upto=upto)

        assert again.success
        assert scene.snapshots() == before
        told = metadata_of(again)
        name = f"bank/cash_deposit@{2 if upto is None else upto}"
        assert told["applied_before"] == {name: metadata_of(first)["committed_snapshot_id"]}
        assert told["already_applied"] is True
        assert (told["operations_applied"], told["rows_changed"], told["sum_posted_minor"]) == (0, 0, 0)
        assert (told["committed_snapshot_id"], told["transactions"]) == ("none", 0)
        assert told["versions"].startswith("nothing new")


def test_before_anything_is_mirrored_there_is_nothing_to_do(scene: Scene) -> None:
    """It is no failure: the mirror's first run has not come yet."""
    scene.catalog().drop_table("bank.transactions")

    for result in (scene.post("cash_deposit"), scene.open_accounts()):
        assert result.success
        assert metadata_of(result) == {"versions": "nothing is mirrored yet"}
    assert ACCOUNT_TABLE not in scene.catalog().list_tables("bank")


def test_late_rows_are_posted_by_the_run_that_first_sees_them(scene: Scene) -> None:
    """The business day is a column of the report: the late row is of a day that had been posted."""
    scene.post("cash_deposit")
    scene.arrive("7,1,1993-01-01,cash_deposit,5.00", "8,2,1993-01-04,cash_deposit,1.00")
    scene.arrive("9,2,1993-01-04,cash_deposit,2.00", "10,9,1993-01-04,cash_deposit,4.00")
    scene.mirror()

    late = scene.post("cash_deposit")

    assert scene.balances() == {1: 115_00, 2: 53_00, 9: 4_00}
    assert scene.history() == [["bank/cash_deposit@2"], ["bank/cash_deposit@4"]]
    days = [record.data for record in metadata_of(late)["days"].records]
    assert days == [
        {"day": "1993-01-01", "transactions": 1, "refused": 0, "sum_posted": "5.00"},
        {"day": "1993-01-04", "transactions": 3, "refused": 0, "sum_posted": "7.00"},
    ]


def test_versions_without_transactions_of_a_kind_count_as_posted(scene: Scene) -> None:
    """An empty commit moves the watermark, so that nobody looks at them again; a version without rows, too."""
    scene.post("pension")
    opened = DeltaTable(scene.delta)
    opened.optimize.compact()
    latest = opened.version()
    scene.arrive("7,1,1993-01-05,pension,1.00")
    scene.mirror()

    compacted, paid = scene.post("pension", upto=latest), scene.post("pension")

    assert scene.history() == [[f"bank/pension@{upto}"] for upto in (2, latest, latest + 1)]
    assert [metadata_of(run)["transactions"] for run in (compacted, paid)] == [0, 1]
    assert scene.balances() == {1: 1_00, 2: 0}


def test_what_is_computed_from_the_balance_is_computed_from_the_winners(scene: Scene) -> None:
    """The rival's deposit lands between the read and the commit: 10 % of 110.00, not of 100.00."""
    scene.post("cash_deposit", upto=0)

    result = scene.post("percentage_interest", rival=lambda: scene.post("cash_deposit"))

    assert scene.balances() == {1: 121_00, 2: 50_00}
    told = metadata_of(result)
    assert (told["attempts"], told["conflicts"], told["sum_posted_minor"]) == (2, 1, 11_00)


def test_what_a_rival_posts_meanwhile_is_not_posted_twice(scene: Scene) -> None:
    """A zombie and its retry post the same versions; what this run had computed is dropped."""
    result = scene.post("cash_deposit", rival=lambda: scene.post("cash_deposit"))

    assert scene.balances() == {1: 110_00, 2: 50_00}
    told = metadata_of(result)
    assert told["applied_before"].keys() == {"bank/cash_deposit@2"}
    assert (told["conflicts"], told["transactions"], told["sum_posted_minor"]) == (1, 0, 0)


def test_of_what_a_rival_posts_a_part_of_meanwhile_the_rest_is_posted(scene: Scene) -> None:
    """The watermark has moved into the range that this run had computed: it takes what is after it."""
    result = scene.post("cash_deposit", rival=lambda: scene.post("cash_deposit", upto=0))

    assert scene.balances() == {1: 110_00, 2: 50_00}
    assert scene.history() == [["bank/cash_deposit@0"], ["bank/cash_deposit@2"]]
    told = metadata_of(result)
    assert (told["versions"], told["transactions"], told["sum_posted_minor"]) == ("1 to 2", 1, 10_00)
    assert (told["conflicts"], told["attempts"]) == (1, 2)


def test_a_withdrawal_that_would_overdraw_is_refused_and_counted(scene: Scene) -> None:
    """It counts as posted all the same."""
    result = scene.post("standing_order")

    told = metadata_of(result)
    assert (told["refused"], told["transactions"], told["rows_changed"]) == (1, 1, 0)
    assert scene.history() == [["bank/standing_order@2"]]


@pytest.mark.parametrize("change", ["delete", "update"])
def test_a_transaction_that_is_taken_back_stops_the_postings_by_name(scene: Scene, change: str) -> None:
    """A posted transaction cannot be taken back in silence; what came before it is posted."""
    opened = DeltaTable(scene.delta)
    if change == "delete":
        opened.delete("trans_id = 3")
    else:
        opened.update(updates={"amount": "0"}, predicate="trans_id = 3")
    scene.mirror()

    refused = scene.post("cash_deposit")
    before = scene.post("cash_deposit", upto=2)

    name, message = error_of(refused)
    assert name == "NotAppendedError"
    assert f"version 3 of the Delta table ({change.upper()})" in message
    assert before.success
    assert scene.balances() == {1: 110_00, 2: 50_00}


def test_versions_that_are_not_mirrored_yet_are_no_versions_without_transactions(scene: Scene) -> None:
    """A run that was told to post them fails, and they are posted later."""
    scene.arrive("7,1,1993-01-05,cash_deposit,1.00")

    early = scene.post("cash_deposit", upto=3)
    scene.mirror()
    late = scene.post("cash_deposit", upto=3)

    assert error_of(early)[0] == "ChangesUnknownError"
    assert late.success
    assert scene.balances() == {1: 111_00, 2: 50_00}


def test_an_account_that_somebody_took_out_is_named(scene: Scene) -> None:
    """Postings open no accounts that had been opened before: the row and the account are said, nothing is posted."""
    scene.post("household")
    scene.catalog().load_table(ACCOUNT_TABLE).delete(EqualTo("id", 2))
    before = scene.snapshots()

    refused = scene.post("cash_deposit")

    name, message = error_of(refused)
    assert name == "UnknownAccountError"
    assert all(part in message for part in ("bank.transactions, Delta version 0 to 2", "column account_id: 2"))
    assert scene.snapshots() == before


@pytest.mark.parametrize(
    "line", ["7,1,1993-01-01,theft,1.00", "6,1,1993-01-01,loan,-1.00", "7,1,1993-01-01,percentage_interest,-1.00"]
)
def test_nothing_of_bad_arrivals_is_posted(scene: Scene, line: str) -> None:
    """Neither of that kind nor of another, until the upstream job is mended; what arrived before is."""
    scene.arrive("8,1,1993-01-01,cash_deposit,1.00", line)
    scene.mirror()

    refused, good = scene.post("cash_deposit"), scene.post("cash_deposit", upto=2)

    name, message = error_of(refused)
    assert name == "TransactionsError"
    assert "bank.transactions, Delta version 0 to 3" in message
    assert good.success
    assert scene.balances() == {1: 110_00, 2: 50_00}


def test_opening_accounts_leaves_the_balances_of_the_others(scene: Scene) -> None:
    """Insert if absent: a second run finds nothing new, and a third after a posting opens what has come and no more."""
    assert metadata_of(scene.open_accounts())["rows_changed"] == 2
    assert metadata_of(scene.open_accounts())["rows_changed"] == 0
    scene.post("cash_deposit")
    scene.arrive("7,1,1993-01-05,loan,-1.00", "8,99,1993-01-05,loan,-1.00")
    scene.mirror()

    opened = metadata_of(scene.open_accounts())

    assert (opened["rows_changed"], opened["delta_version"]) == (1, 3)
    assert scene.balances() == {1: 110_00, 2: 50_00, 99: 0}


def test_text_and_numbers_of_other_writers_are_understood(scene: Scene) -> None:
    """delta-rs writes text as `string_view` where it was given that; what it means is the same."""
    scene.post("cash_deposit")
    columns = {
        "trans_id": pa.array([7]),
        "account_id": pa.array([1]),
        "date": DeltaTable(scene.delta).to_pyarrow_table()["date"][:1],
        "kind": pa.array(["cash_deposit"], pa.string_view()),
        "amount": DeltaTable(scene.delta).to_pyarrow_table()["amount"][:1],
    }
    write_deltalake(scene.delta, pa.table(columns), mode="append")
    scene.mirror()

    assert metadata_of(scene.post("cash_deposit"))["transactions"] == 1
