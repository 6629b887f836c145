"""P4 over expiry and rollback: an id is found while its rows are there, and absence is believed where it is proof."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from pyiceberg.table.update import RemoveSnapshotRefUpdate

from seriatim.commit.ledger import Ledger
from seriatim.commit.ledger_names import Names
from seriatim.commit.ledger_policy import LedgerPolicy
from seriatim.commit.pin import Pin
from seriatim.errors import HistoryCutError, InvalidChangeError, LedgerUnreadableError, OperationTooOldError
from solution import commit_with_retry
from tests.contract.apply_support import Deposit, call, opening
from tests.contract.ledger_support import (
    TAG,
    commit,
    expire_as_pyiceberg_does,
    expire_unreferenced,
    head,
    note,
    recent_ids,
    roll_back,
    set_ref,
    tagged,
    words,
)
from tests.faults.bank import Bank
from tests.faults.clock import ManualClock
from tests.faults.files import local_path

FOLDS_OFTEN = LedgerPolicy(recent_max=2)


@pytest.mark.parametrize("expiry", [expire_as_pyiceberg_does, expire_unreferenced, Bank.expire_all_but_head])
@pytest.mark.parametrize("policy", [LedgerPolicy(), FOLDS_OFTEN])
def test_ids_are_found_after_expiry(bank: Bank, expiry: Callable[[Bank], None], policy: LedgerPolicy) -> None:
    """One snapshot is left of six, and it tells for all of them; absence is believed, too."""
    first = call(bank, Deposit(10), "deposit", ledger=policy)
    for number in range(5):
        note(bank, f"later {number}", ledger=policy)
    expiry(bank)
    assert len(bank.snapshot_ids()) == 1

    again = call(bank, Deposit(10), "deposit", ledger=policy)
    new = call(bank, Deposit(1), "new", ledger=policy)

    assert again.already_applied == {"deposit": first.snapshot_ids[-1]}
    assert note(bank, *[f"later {number}" for number in range(5)], ledger=policy).is_noop
    assert not new.is_noop
    assert bank.balances()[1] == 111


@pytest.mark.parametrize("expiry", [expire_as_pyiceberg_does, expire_unreferenced])
def test_ids_are_found_below_foreign_commits_after_expiry(bank: Bank, expiry: Callable[[Bank], None]) -> None:
    """The tag keeps our newest commit, though it is not the head, and the foreign commit's parent leads to it."""
    call(bank, Deposit(10), "old")
    call(bank, Deposit(1), "newest")
    bank.open_account(4, 400)
    expiry(bank)

    assert len(bank.snapshot_ids()) == 2
    assert call(bank, Deposit(10), "old").is_noop
    assert not call(bank, Deposit(5), "other").is_noop
    assert bank.balances() == {1: 116, 2: 200, 3: 300, 4: 400}


def test_a_missing_link_is_proven_by_a_manifest_of_ours(bank: Bank) -> None:
    """Others appended twice and expired the snapshot between: our manifest still is in the head's list."""
    call(bank, Deposit(10), "ours")
    bank.open_account(4, 400)
    bank.open_account(5, 500)
    expire_unreferenced(bank)
    assert head(bank).parent_snapshot_id is None

    again = call(bank, Deposit(10), "ours")
    new = call(bank, Deposit(1), "new")

    assert again.is_noop
    assert not new.is_noop
    assert bank.balances()[1] == 111


def test_a_missing_link_that_cannot_be_proven_fails_closed(bank: Bank) -> None:
    """Others rewrote everything that we wrote, and expired what was between: the tag alone is no proof."""
    call(bank, Deposit(10), "ours")
    bank.compact()
    bank.compact()
    expire_unreferenced(bank)

    with pytest.raises(HistoryCutError) as caught:
        call(bank, Deposit(10), "ours")

    assert caught.value.oldest_snapshot_id == bank.head()
    assert bank.balances()[1] == 110


def test_the_tag_of_a_commit_that_was_rolled_back_is_not_believed(bank: Bank) -> None:
    """Its rows are gone; others appended on the commit before it, and expired everything but head and tag."""
    call(bank, opening(4, 400), "kept")
    kept_id = head(bank).snapshot_id
    call(bank, Deposit(10), "undone")
    roll_back(bank, kept_id)
    bank.open_account(5, 500)
    bank.open_account(6, 600)
    expire_unreferenced(bank)
    assert tagged(bank) not in (kept_id, bank.head())

    with pytest.raises(HistoryCutError):
        call(bank, Deposit(10), "undone")

    assert bank.balances()[1] == 100


@pytest.mark.parametrize("policy", [LedgerPolicy(), LedgerPolicy(recent_max=0)])
def test_an_id_is_found_after_a_rollback_only_when_its_rows_are_there(bank: Bank, policy: LedgerPolicy) -> None:
    """The words follow the lineage, and so do ledger files: a fold writes a new one, the old commit names the old."""
    for number in range(4):
        call(bank, Deposit(10), f"kept {number}", ledger=policy)
    kept_id = head(bank).snapshot_id
    for number in range(4):
        call(bank, Deposit(1), f"undone {number}", ledger=policy)
    roll_back(bank, kept_id)

    again = call(bank, Deposit(10), *[f"kept {number}" for number in range(4)], ledger=policy)
    redone = call(bank, Deposit(1), "undone 0", ledger=policy)

    assert again.is_noop
    assert redone.already_applied == {}
    assert bank.balances()[1] == 141
    assert tagged(bank) == bank.head()
    expire_unreferenced(bank)
    assert call(bank, Deposit(10), "kept 3", ledger=policy).is_noop
    assert not call(bank, Deposit(1), "undone 1", ledger=policy).is_noop


def test_a_cut_below_foreign_commits_fails_closed_without_the_tag(bank: Bank) -> None:
    """Somebody removed the tag, then expired: neither presence nor absence can be told."""
    call(bank, Deposit(10), "ours")
    bank.deposit(5)
    commit(bank, RemoveSnapshotRefUpdate(ref_name=TAG))
    expire_unreferenced(bank)

    with pytest.raises(HistoryCutError):
        call(bank, Deposit(10), "ours")

    assert bank.balances()[1] == 115


def test_a_history_that_was_cut_before_the_first_id_fails_closed(bank: Bank) -> None:
    """Who knows what was applied there."""
    bank.deposit(5)
    bank.expire_all_but_head()

    with pytest.raises(HistoryCutError):
        call(bank, Deposit(10), "first")

    assert bank.balances()[1] == 105


def test_a_commit_on_a_cut_history_vouches_for_nothing(bank: Bank) -> None:
    """Without an operation id it may land, but it does not pretend to know what came before."""
    bank.deposit(5)
    bank.expire_all_but_head()

    receipt = call(bank, Deposit(10))

    assert not receipt.is_noop
    assert "seriatim.ledger-format" not in words(head(bank))
    assert tagged(bank) is None
    with pytest.raises(HistoryCutError):
        call(bank, Deposit(10), "first")


def test_a_cut_history_can_be_accepted(bank: Bank) -> None:
    """Somebody has looked. From then on absence is proof again, but for what was issued before."""
    bank.deposit(5)
    bank.expire_all_but_head()
    clock = ManualClock()
    clock.seconds = 1_000.0

    note(bank, "repair", ledger=LedgerPolicy(accepts_cut_history=True), clock=clock)

    assert not call(bank, Deposit(10), "new", issued_at_ms=1_000_000, clock=clock).is_noop
    with pytest.raises(OperationTooOldError):
        call(bank, Deposit(10), "from before", issued_at_ms=999_999, clock=clock)
    assert bank.balances()[1] == 115


@pytest.mark.parametrize("expiry", [lambda bank: None, expire_unreferenced])
def test_commits_of_before_the_ledger_are_taken_into_it(bank: Bank, expiry: Callable[[Bank], None]) -> None:
    """A table whose commits carry ids alone: the next commit carries them on, so that they survive expiry."""
    old = {"seriatim.operation-ids": '["a","b"]', "seriatim.base-snapshot-id": "1"}
    with bank.rival() as catalog:
        table = catalog.load_table(bank.identifier)
        table.append(table.scan().to_arrow().slice(0, 0), snapshot_properties=old)
    before = head(bank)
    note(bank, "c")
    expiry(bank)

    assert recent_ids(head(bank)) == ["a", "b"]
    assert note(bank, "a", "b", "c").already_applied == {
        "a": before.snapshot_id,
        "b": before.snapshot_id,
        "c": bank.head(),
    }


def test_the_tag_is_on_the_newest_commit_and_hinders_no_expiry(bank: Bank) -> None:
    """It moves in the same commit; PyIceberg's expiry leaves the head alone, or the head and our newest commit."""
    for number in range(3):
        note(bank, f"op {number}")
        assert tagged(bank) == bank.head()
    expire_as_pyiceberg_does(bank)
    assert bank.snapshot_ids() == [bank.head()]

    bank.deposit(1)
    bank.deposit(1)
    newest = tagged(bank)
    expire_as_pyiceberg_does(bank)

    assert set(bank.snapshot_ids()) == {newest, bank.head()}


def test_the_tag_moves_with_the_commit_or_not_at_all(bank: Bank) -> None:
    """One catalog commit: a reader never finds our head without its tag."""
    catalog = bank.connect()

    note(bank, "op", catalog=catalog)

    assert len(catalog.submitted) == 1
    assert tagged(bank) == bank.head()


def test_a_branch_of_the_tags_name_is_not_touched(bank: Bank) -> None:
    """It is somebody's branch, and the commit would take it away."""
    head_id = head(bank).snapshot_id
    commit(bank, set_ref(TAG, head_id))

    with pytest.raises(InvalidChangeError, match=TAG):
        note(bank, "op")

    assert bank.head() == head_id
    assert bank.table().metadata.refs[TAG].snapshot_id == head_id


def test_each_branch_has_a_ledger_of_its_own(bank: Bank) -> None:
    """A branch knows what was applied before it left main, and main does not know what was applied on the branch."""
    note(bank, "before")
    commit(bank, set_ref("side", head(bank).snapshot_id))
    note(bank, "on the side", branch="side")
    note(bank, "on main")

    assert note(bank, "before", "on the side", branch="side").is_noop
    assert not note(bank, "on the side").is_noop
    assert not note(bank, "on main", branch="side").is_noop
    assert tagged(bank) == bank.head()
    assert tagged(bank, "seriatim-ledger-side") == bank.table().metadata.refs["side"].snapshot_id
    expire_unreferenced(bank)
    assert note(bank, "before", "on the side", "on main").is_noop
    assert note(bank, "before", "on the side", "on main", branch="side").is_noop


def test_format_version_1_has_the_ledger_too(empty_bank: Bank) -> None:
    """Tags and statistics are in its metadata as well."""
    bank = empty_bank.create((), properties={"format-version": "1"})
    call(bank, opening(1, 100), "opening")
    for number in range(4):
        call(bank, Deposit(10), f"op {number}", ledger=LedgerPolicy(recent_max=1))
    expire_unreferenced(bank)

    assert bank.table().format_version == 1
    assert len(bank.snapshot_ids()) == 1
    assert call(bank, Deposit(10), "opening", *[f"op {number}" for number in range(4)]).is_noop
    assert bank.balances()[1] == 140


def test_a_look_up_walks_foreign_commits_alone(bank: Bank) -> None:
    """Below the first commit of ours nothing is looked at, however long the history is."""
    note(bank, "first")
    bank.deposit(1)
    note(bank, "second")
    bank.open_account(4, 400)
    table = bank.table()
    for snapshot in table.metadata.snapshots[:-2]:
        assert snapshot.summary is not None
        snapshot.summary.additional_properties["seriatim.operation-ids"] = "whoever reads this fails"

    ledger = Ledger.at(bank.identifier, table, Pin.of(table), LedgerPolicy())

    assert set(ledger.applied(Names(("first", "second", "third")))) == {"first", "second"}


@pytest.mark.parametrize(
    ("key", "word"), [("seriatim.recent", "[[1,2"), ("seriatim.recent", "7"), ("seriatim.applied-at-ms", "1.5e12")]
)
def test_words_that_are_damaged_fail_closed_and_can_be_accepted(bank: Bank, key: str, word: str) -> None:
    """Whoever spoilt them: everybody is told where, and whoever has looked can go on."""
    call(bank, Deposit(10), "old")
    spoil(bank, key, word)

    with pytest.raises(LedgerUnreadableError) as caught:
        call(bank, Deposit(1), "new")
    repaired = call(bank, Deposit(1), "new", ledger=LedgerPolicy(accepts_cut_history=True))

    assert caught.value.location == f"snapshot {repaired.base_snapshot_id}"
    assert call(bank, Deposit(1), "new").is_noop
    assert bank.balances()[1] == 111


def test_the_exercises_function_carries_the_ledger_on(bank: Bank) -> None:
    """Its commits alone, and an expiry by others: what was applied before is known all the same."""
    call(bank, Deposit(10), "old")
    for _ in range(2):
        commit_with_retry(bank.connect(), bank.identifier, lambda balance: balance + 1)
    expire_as_pyiceberg_does(bank)

    assert call(bank, Deposit(10), "old").is_noop
    assert not call(bank, Deposit(5), "new").is_noop
    assert bank.balances()[1] == 117


def spoil(bank: Bank, key: str, word: str) -> None:
    """Change a word of the newest snapshot, in the metadata file itself."""
    location = local_path(bank.table().metadata_location)
    metadata = json.loads(location.read_text(encoding="utf-8"))
    newest = next(one for one in metadata["snapshots"] if one["snapshot-id"] == bank.head())
    newest["summary"][key] = word
    location.write_text(json.dumps(metadata), encoding="utf-8")
