"""The assets, run for real on a SQLite catalog."""

from __future__ import annotations

import pytest

from tests.code_location.scene import Scene, error_of, metadata_of, partitions_of


def test_a_day_is_posted_onto_the_balances(scene: Scene) -> None:
    """Only that day, only that kind; the accounts of the file are there, at 0, before anything is posted."""
    result = scene.post("cash_deposit", "1993-01-01")

    assert result.success
    assert scene.balances() == {1: 100_00, 2: 50_00}
    told = metadata_of(result)
    assert told["operation_ids"] == ["bank/cash_deposit|1993-01-01"]
    assert (told["attempts"], told["conflicts"], told["operations_applied"]) == (1, 0, 1)
    assert (told["rows_changed"], told["transactions"], told["refused"]) == (2, 2, 0)
    assert (told["sum_posted_minor"], told["sum_posted"]) == (150_00, "150.00")
    opened, *_, landed = [snapshot.snapshot_id for snapshot in scene.snapshots()]
    assert (told["base_snapshot_id"], told["committed_snapshot_id"]) == (str(opened), str(landed))


def test_a_commit_names_the_run_that_made_it(scene: Scene) -> None:
    """So that a loser can be told who won."""
    result = scene.post("cash_deposit", "1993-01-01")
    summaries = [snapshot.summary for snapshot in scene.snapshots()]

    assert {each.additional_properties["seriatim.run-id"] for each in summaries if each} == {result.run_id}


def test_a_day_is_posted_once_and_the_second_run_names_the_snapshot(scene: Scene) -> None:
    """Whoever launches it, the table is not touched again."""
    first = scene.post("cash_deposit", "1993-01-01")
    before = scene.snapshots()

    second = scene.post("cash_deposit", "1993-01-01")

    assert second.success
    assert scene.snapshots() == before
    told = metadata_of(second)
    assert told["already_applied"] == {
        "bank/cash_deposit|1993-01-01": metadata_of(first)["committed_snapshot_id"],
    }
    assert (told["operations_applied"], told["rows_changed"], told["sum_posted_minor"]) == (0, 0, 0)
    assert told["committed_snapshot_id"] == "none"


def test_a_forced_run_posts_the_day_again(scene: Scene) -> None:
    """It is a change of its own, and says so by its operation id."""
    scene.post("cash_deposit", "1993-01-01")

    forced = scene.post("cash_deposit", "1993-01-01", config={"force": True})

    assert scene.balances() == {1: 200_00, 2: 100_00}
    assert metadata_of(forced)["operation_ids"] == [f"bank/cash_deposit|1993-01-01|run={forced.run_id}"]


def test_a_range_is_one_commit_of_one_operation_per_day(scene: Scene) -> None:
    """Each partition's event names its own operation; the commit names them all, in order."""
    result = scene.post("cash_deposit", "1993-01-01", "1993-01-03")

    assert scene.balances() == {1: 110_00, 2: 50_00}
    assert scene.history() == [[f"bank/cash_deposit|1993-01-0{day}" for day in (1, 2, 3)]]
    assert partitions_of(result) == ["1993-01-01", "1993-01-02", "1993-01-03"]
    told = metadata_of(result, "1993-01-02")
    assert told["operation_ids"] == ["bank/cash_deposit|1993-01-02"]
    assert (told["operations_applied"], told["sum_posted_minor"]) == (3, 160_00)


def test_a_range_posts_only_the_days_that_have_not_been(scene: Scene) -> None:
    """What an earlier run did is not done again, though the range covers it."""
    first = scene.post("cash_deposit", "1993-01-01")

    result = scene.post("cash_deposit", "1993-01-01", "1993-01-02")

    assert scene.balances() == {1: 110_00, 2: 50_00}
    assert scene.history() == [["bank/cash_deposit|1993-01-01"], ["bank/cash_deposit|1993-01-02"]]
    assert metadata_of(result, "1993-01-01")["already_applied"] == {
        "bank/cash_deposit|1993-01-01": metadata_of(first)["committed_snapshot_id"],
    }
    assert metadata_of(result, "1993-01-02")["already_applied"] == {}
    assert metadata_of(result, "1993-01-02")["sum_posted_minor"] == 10_00


def test_a_day_without_transactions_counts_as_posted(scene: Scene) -> None:
    """An empty commit carries the operation, so that a transaction that is added to the file later is not posted."""
    scene.post("cash_deposit", "1993-01-03")
    with scene.transactions.open("a", encoding="utf-8") as file:
        file.write("7,1,1993-01-03,cash_deposit,1.00\n")

    late = scene.post("cash_deposit", "1993-01-03")

    assert metadata_of(late)["already_applied"].keys() == {"bank/cash_deposit|1993-01-03"}
    assert scene.balances() == {1: 0, 2: 0}


def test_what_is_computed_from_the_balance_is_computed_from_the_winners(scene: Scene) -> None:
    """The rival's deposit lands between the read and the commit: 10 % of 200.00, not of 100.00."""
    scene.post("cash_deposit", "1993-01-01")

    result = scene.post(
        "percentage_interest",
        "1993-01-03",
        rival=lambda: scene.post("cash_deposit", "1993-01-01", config={"force": True}),
    )

    assert scene.balances() == {1: 220_00, 2: 100_00}
    told = metadata_of(result)
    assert (told["attempts"], told["conflicts"], told["sum_posted_minor"]) == (2, 1, 20_00)


def test_a_day_that_a_rival_posts_meanwhile_is_not_posted_twice(scene: Scene) -> None:
    """A zombie and its retry post the same partition; what this run had computed is dropped."""
    result = scene.post("cash_deposit", "1993-01-01", rival=lambda: scene.post("cash_deposit", "1993-01-01"))

    assert scene.balances() == {1: 100_00, 2: 50_00}
    told = metadata_of(result)
    assert told["already_applied"].keys() == {"bank/cash_deposit|1993-01-01"}
    assert (told["conflicts"], told["transactions"], told["sum_posted_minor"]) == (1, 0, 0)


def test_a_withdrawal_that_would_overdraw_is_refused_and_counted(scene: Scene) -> None:
    """The day is posted all the same."""
    result = scene.post("standing_order", "1993-01-03")

    told = metadata_of(result)
    assert (told["refused"], told["transactions"], told["rows_changed"]) == (1, 1, 0)
    assert scene.history() == [["bank/standing_order|1993-01-03"]]


@pytest.mark.parametrize(("kind", "day"), [("cash_deposit", "1993-01-01"), ("cash_deposit", "1993-01-02")])
def test_nothing_is_posted_from_a_file_with_an_account_that_the_table_lacks(scene: Scene, kind: str, day: str) -> None:
    """The error names file, row and account, also where another day has it; all goes on once the account is open."""
    scene.post("household", "1993-01-01")
    before = scene.snapshots()
    with scene.transactions.open("a", encoding="utf-8") as file:
        file.write("7,99,1993-01-01,cash_deposit,1.00\n")

    refused = scene.post(kind, day)

    assert not refused.success
    name, message = error_of(refused)
    assert name == "UnknownAccountError"
    assert all(part in message for part in ("transactions.csv", "row 7", "99"))
    assert scene.snapshots() == before

    assert scene.open_accounts().success
    assert scene.post(kind, "1993-01-01").success
    assert scene.balances() == {1: 70_00, 2: 50_00, 99: 1_00}


@pytest.mark.parametrize(
    "line", ["7,1,1993-01-01,cash_deposit,1.001", "7,1,1993-01-01,theft,1.00", "6,1,1993-01-01,loan,-1.00"]
)
def test_nothing_of_a_bad_file_is_posted(scene: Scene, line: str) -> None:
    """Not even the table is made."""
    with scene.transactions.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")

    refused = scene.post("cash_deposit", "1993-01-01")

    assert error_of(refused)[0] == "TransactionsError"
    assert scene.catalog().list_namespaces() == []


def test_opening_accounts_leaves_the_balances_of_the_others(scene: Scene) -> None:
    """Insert if absent: a second run has nothing to insert, and a third after a posting resets nothing."""
    assert metadata_of(scene.open_accounts())["rows_changed"] == 2
    assert metadata_of(scene.open_accounts())["rows_changed"] == 0
    scene.post("cash_deposit", "1993-01-01")

    scene.open_accounts()

    assert scene.balances() == {1: 100_00, 2: 50_00}


def test_a_scheduled_run_without_partitions_is_named_by_its_tick(scene: Scene) -> None:
    """The context of a real run holds what the operation id is made of."""
    scene.open_accounts()
    tick = {"dagster/schedule_name": "nightly", ".dagster/scheduled_execution_time": "2026-11-29T02:00:00+00:00"}

    first, again, by_hand = scene.open_accounts(tags=tick), scene.open_accounts(tags=tick), scene.open_accounts()

    operation = "bank/accounts|schedule=nightly@2026-11-29T02:00:00+00:00"
    assert metadata_of(first)["operation_ids"] == [operation]
    assert metadata_of(again)["already_applied"] == {operation: metadata_of(first)["committed_snapshot_id"]}
    assert metadata_of(by_hand)["operation_ids"] == [f"bank/accounts|run={by_hand.run_id}"]
