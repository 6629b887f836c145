"""`lookup`: applied, not applied with proof, or an honest "cannot tell"."""

from __future__ import annotations

import pytest

from seriatim.commit import LedgerPolicy, NoChange, Partitions, RetentionPolicy, Stream
from seriatim.commit.ledger_file import forget_all
from seriatim.errors import InvalidChangeError
from seriatim.inspection import Applied, CannotTell, Lookup, NotApplied, lookup
from tests.contract.apply_support import call, opening
from tests.contract.ledger_support import TAG, expire, expire_unreferenced, ledger_files, note
from tests.faults.bank import Bank
from tests.faults.clock import ManualClock

HOUR_MS = 3_600_000
FAR_AHEAD_H = 1_000_000  # So that whatever the bank did on its own clock is old.
NO_ROOM = LedgerPolicy(recent_max=0)  # Each commit folds what came before it into a ledger file.


def _lookup(bank: Bank, operation_id: str, issued_at_ms: int | None = None) -> Lookup:
    return lookup(bank.connect(), bank.identifier, operation_id, issued_at_ms=issued_at_ms)


def _step(bank: Bank, after: int | None, upto: int) -> None:
    call(bank, lambda base: NoChange(), stream=Stream("orders.delta", upto=upto, after=after))


def _at_hour(hour: int) -> ManualClock:
    clock = ManualClock()
    clock.wait_s(hour * 3600)
    return clock


def _forget_the_first(bank: Bank) -> None:
    """Apply one id at the first hour, and others when the ledger's window has passed over it."""
    policy = LedgerPolicy(recent_max=0, window_s=3600)
    for hour, name in ((1, "old"), (3, "newer"), (3, "newest")):
        note(bank, name, clock=_at_hour(hour), ledger=policy)


def test_an_applied_operation_is_told_with_its_snapshot(bank: Bank) -> None:
    receipt = note(bank, "n1")
    note(bank, "n2")

    found = _lookup(bank, "n1")

    assert isinstance(found, Applied)
    assert (found.snapshot_id,) == receipt.snapshot_ids
    assert found.head_snapshot_id == bank.head()
    assert found.committed_at_ms is not None


def test_what_was_never_applied_is_proven_absent(bank: Bank) -> None:
    """By the table's beginning first, and by the ledger once there is one."""
    before = _lookup(bank, "n1")
    receipt = note(bank, "n2")
    after = _lookup(bank, "n1")

    assert isinstance(before, NotApplied)
    assert "beginning" in before.proof
    assert isinstance(after, NotApplied)
    assert str(receipt.snapshot_ids[0]) in after.proof


def test_nothing_was_applied_to_an_empty_table(empty_bank: Bank) -> None:
    found = _lookup(empty_bank.create([]), "n1")

    assert isinstance(found, NotApplied)
    assert found.head_snapshot_id is None


def test_an_operation_outlives_its_snapshot(bank: Bank) -> None:
    receipt = note(bank, "n1")
    for number in range(2, 5):
        note(bank, f"n{number}", retention=RetentionPolicy(snapshots_min=2), clock=_at_hour(FAR_AHEAD_H + number))

    found = _lookup(bank, "n1")

    assert found == Applied("n1", bank.head(), receipt.snapshot_ids[0], None, None)


def test_a_partition_is_found_by_its_operation_id(bank: Bank) -> None:
    """The ledger's intervals do not keep who applied which; the history does, while it lasts."""
    posted = call(bank, lambda base: NoChange(), partitions=Partitions("bank/cash", ["1993-01-05", "1993-01-06"]))
    call(bank, lambda base: NoChange(), "n", ledger=NO_ROOM)
    while_it_lasts = _lookup(bank, "bank/cash|1993-01-05")
    expire(bank, bank.snapshot_ids()[:-1])

    assert isinstance(while_it_lasts, Applied)
    assert (while_it_lasts.snapshot_id,) == posted.snapshot_ids
    assert _lookup(bank, "bank/cash|1993-01-05") == Applied("bank/cash|1993-01-05", bank.head(), None, None, None)
    assert isinstance(_lookup(bank, "bank/cash|1993-01-07"), NotApplied)


@pytest.mark.parametrize(("upto", "is_applied"), [(6, True), (7, True), (8, False)])
def test_the_step_of_a_stream_is_applied_up_to_the_watermark(bank: Bank, upto: int, is_applied: bool) -> None:
    _step(bank, None, 3)
    _step(bank, 3, 7)
    head = bank.head()

    found = _lookup(bank, f"orders.delta@{upto}")

    assert isinstance(found, Applied if is_applied else NotApplied)
    assert not isinstance(found, CannotTell)
    assert found.watermark == 7
    assert not isinstance(found, Applied) or found.snapshot_id == head


def test_a_stream_that_has_not_begun_has_applied_nothing(bank: Bank) -> None:
    _step(bank, None, 3)

    found = _lookup(bank, "other@1")

    assert isinstance(found, NotApplied)
    assert found.watermark is None


def test_an_operation_id_that_looks_like_a_step_is_found(bank: Bank) -> None:
    note(bank, "mail@42")

    assert isinstance(_lookup(bank, "mail@42"), Applied)


def test_a_cut_history_cannot_tell(bank: Bank) -> None:
    note(bank, "n1")
    bank.deposit(1)
    bank.deposit(2)
    with bank.rival() as catalog:
        catalog.load_table(bank.identifier).manage_snapshots().remove_tag(TAG).commit()
    expire_unreferenced(bank)

    found = _lookup(bank, "n1")

    assert isinstance(found, CannotTell)
    assert str(bank.head()) in found.reason
    assert found.forgotten_until_ms is None


def test_a_ledger_file_that_is_gone_cannot_tell(bank: Bank) -> None:
    note(bank, "n1")
    note(bank, "n2", ledger=NO_ROOM)
    for file in ledger_files(bank):
        file.unlink()
    forget_all()

    found = _lookup(bank, "n1")

    assert isinstance(found, CannotTell)
    assert ".stats" in found.reason
    assert isinstance(_lookup(bank, "n2"), Applied)


def test_an_id_that_may_have_been_forgotten_cannot_be_told(bank: Bank) -> None:
    """Without the time of its issue, it may be as old as what was dropped."""
    _forget_the_first(bank)

    for name in ("old", "never"):
        found = _lookup(bank, name)
        assert isinstance(found, CannotTell)
        assert found.forgotten_until_ms == HOUR_MS + 1


@pytest.mark.parametrize(("hour", "kind"), [(1, CannotTell), (2, NotApplied)])
def test_the_time_of_issue_settles_it(bank: Bank, hour: int, kind: type[Lookup]) -> None:
    _forget_the_first(bank)

    assert isinstance(_lookup(bank, "never", issued_at_ms=hour * HOUR_MS), kind)


def test_streams_are_not_forgotten(bank: Bank) -> None:
    _step(bank, None, 3)
    _forget_the_first(bank)

    assert isinstance(_lookup(bank, "orders.delta@3"), Applied)
    assert isinstance(_lookup(bank, "orders.delta@4"), NotApplied)


def test_looking_writes_nothing(bank: Bank) -> None:
    note(bank, "n1")
    before = bank.table().metadata_location

    _lookup(bank, "n1")
    _lookup(bank, "n2")

    assert bank.table().metadata_location == before


def test_an_operation_lost_with_a_rollback_is_not_applied(bank: Bank) -> None:
    before = bank.head()
    note(bank, "n1")
    bank.roll_back(before)

    assert isinstance(_lookup(bank, "n1"), NotApplied)


def test_a_branch_is_looked_up_by_itself(bank: Bank) -> None:
    bank.append_to_branch("audit")
    note(bank, "n1", branch="audit")

    assert isinstance(lookup(bank.connect(), bank.identifier, "n1", branch="audit"), Applied)
    assert isinstance(_lookup(bank, "n1"), NotApplied)
    with pytest.raises(InvalidChangeError):
        lookup(bank.connect(), bank.identifier, "n1", branch="nope")


def test_the_history_behind_the_tag_is_named_as_the_proof(bank: Bank) -> None:
    """Others wrote on top and expired what lay between."""
    call(bank, opening(4, 400), "n1")
    tagged = bank.head()
    bank.open_account(7, 7)
    bank.open_account(8, 8)
    expire(bank, [one for one in bank.snapshot_ids() if one not in (tagged, bank.head())])

    found = _lookup(bank, "n2")

    assert isinstance(found, NotApplied)
    assert "tagged" in found.proof
    assert isinstance(_lookup(bank, "n1"), Applied)
