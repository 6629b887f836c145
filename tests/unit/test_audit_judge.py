"""Every anomaly is named, with its witness, in a history made by hand; and no clean history is accused."""

from __future__ import annotations

import pytest
from pyiceberg.expressions import EqualTo, GreaterThan

from seriatim.audit.invariants import Bounds, ConstantSum, SumsAsRecorded, UniqueKey
from seriatim.audit.past import StreamStep
from seriatim.audit.verdict import Status
from seriatim.commit.ledger_words import Entry, FileReference, Page
from seriatim.commit.reads import Reads
from seriatim.commit.streams import Watermark
from tests.unit.audit_support import EVERYTHING, HandMade, Limits, kinds

ONE = Reads((EqualTo("id", 1),), is_cut=False)
TWO = Reads((EqualTo("id", 2),), is_cut=False)


@pytest.fixture
def past() -> HandMade:
    """Two accounts, opened by a commit of ours: snapshot 101."""
    made = HandMade()
    made.commit({1: 100, 2: 200}, "opening", rows_added=2, rows_removed=0)
    return made


def test_an_empty_table_is_clean() -> None:
    assert HandMade().judged().status is Status.CLEAN


def test_commits_that_chain_up_are_clean(past: HandMade) -> None:
    past.commit({1: 101, 2: 200}, "a", sums={"bal": 1}, rows_added=1, rows_removed=1)
    past.commit({1: 101, 2: 200}, "b", rows_added=0, rows_removed=0)
    past.commit({1: 101, 2: 202}, "c", sums={"bal": 2}, rows_added=1, rows_removed=1)

    verdict = past.judged(UniqueKey("id"), SumsAsRecorded("bal"), Bounds("bal", 0, 300))

    assert (verdict.status, verdict.snapshots, verdict.judged_from_snapshot_id) == (Status.CLEAN, 4, None)


def test_a_rebase_over_what_it_did_not_read_is_clean(past: HandMade) -> None:
    past.commit({1: 100, 2: 207}, "rival")
    past.commit({1: 105, 2: 207}, "a", computed_on_snapshot_id=101, reads=ONE, rows_added=1, rows_removed=1)

    assert past.judged().status is Status.CLEAN


def test_a_rebase_over_a_compaction_is_clean(past: HandMade) -> None:
    """The same rows in other files are nothing that was changed."""
    past.snapshot([(2, 200), (1, 100)], operation="replace")
    past.commit({1: 105, 2: 200}, "a", computed_on_snapshot_id=101, reads=EVERYTHING)

    assert past.judged().status is Status.CLEAN


@pytest.mark.parametrize("reads", [EVERYTHING, ONE], ids=["everything", "a row as it was"])
def test_a_rebase_over_what_came_and_went_again_is_clean(past: HandMade, reads: Reads) -> None:
    """It has landed on the rows that it had seen, also where one that came was like one that it replaced."""
    past.commit([(1, 100), (1, 100), (2, 200)], "rival")
    past.commit([(1, 100), (2, 200), (3, 300)], "another")
    past.commit([(1, 100), (2, 200)], "a third")
    past.commit({1: 105, 2: 200}, "a", computed_on_snapshot_id=101, reads=reads)

    assert past.judged().status is Status.CLEAN


def test_what_lasts_beside_what_came_and_went_again_is_missed(past: HandMade) -> None:
    past.commit({1: 100, 2: 0, 3: 300}, "rival")
    past.commit({1: 100, 2: 0}, "another")
    past.commit({1: 105, 2: 0}, "a", computed_on_snapshot_id=101, reads=EVERYTHING)

    verdict = past.judged()

    assert kinds(verdict) == ["write skew"]
    assert (verdict.anomalies[0].snapshot_ids, verdict.anomalies[0].rows) == ((102, 104), ("came: id=2, bal=0",))


def test_an_overwritten_update_is_lost(past: HandMade) -> None:
    """It was computed from 100, a rival made it 110, and it wrote 101."""
    past.commit({1: 110, 2: 200}, "rival")
    past.commit({1: 101, 2: 200}, "a", base_snapshot_id=101, base_sequence_number=1, reads=ONE)

    verdict = past.judged()

    assert kinds(verdict) == ["lost update"]
    (anomaly,) = verdict.anomalies
    assert (anomaly.snapshot_ids, anomaly.operation_ids) == ((102, 103), ("a",))
    assert anomaly.rows == ("overwritten: id=1, bal=110", "with: id=1, bal=101")


def test_a_rebase_that_overwrote_is_a_lost_update_too(past: HandMade) -> None:
    past.commit({1: 110, 2: 200}, "rival")
    past.commit({1: 101, 2: 200}, "a", computed_on_snapshot_id=101, reads=ONE)

    assert kinds(past.judged()) == ["lost update"]


def test_a_deleted_row_that_is_written_again_is_a_lost_update(past: HandMade) -> None:
    past.commit({2: 200}, "close|1")
    past.commit({1: 101, 2: 200}, "a", base_snapshot_id=101, base_sequence_number=1)

    assert kinds(past.judged(UniqueKey("id"))) == ["lost update"]


def test_a_value_computed_from_an_older_one_is_a_lost_update(past: HandMade) -> None:
    """The records lie about the base; the sum, and the rows as they were before, give it away."""
    past.commit({1: 110, 2: 200}, "rival", sums={"bal": 10})
    past.commit({1: 110, 2: 205}, "rival|2", sums={"bal": 5})
    past.commit({1: 101, 2: 201}, "a", sums={"bal": 2})

    verdict = past.judged(UniqueKey("id"), SumsAsRecorded("bal"))

    assert kinds(verdict) == ["lost update"]
    (anomaly,) = verdict.anomalies
    assert (anomaly.snapshot_ids, anomaly.operation_ids) == ((102, 104), ("a",))
    assert anomaly.rows == (
        "id=1: bal was 100, then 110, and was overwritten with 101",
        "id=2: bal was 200, then 205, and was overwritten with 201",
    )


def test_a_transfer_computed_from_an_older_balance_is_a_lost_update(past: HandMade) -> None:
    past.commit({1: 90, 2: 210, 3: 0}, "transfer|1")
    past.commit({1: 90, 2: 200, 3: 10}, "transfer|2")
    past.commit({1: 95, 2: 200, 3: 15}, "transfer|3")  # 100 - 5 and 10 + 5: the 90 of transfer|1 is lost.
    past.steps.pop(0)

    verdict = past.judged(UniqueKey("id"), ConstantSum("bal"), is_cut=True, is_cut_vouched_for=True)

    assert kinds(verdict) == ["broken invariant"]
    assert "300 to 310" in verdict.anomalies[0].what


def test_a_transfer_computed_before_another_is_a_lost_update() -> None:
    made = HandMade()
    made.commit({1: 100, 2: 200, 3: 0}, "opening")
    made.commit({1: 90, 2: 210, 3: 0}, "transfer|1")
    made.commit({1: 95, 2: 210, 3: 5}, "transfer|2")  # 100 - 5 and 0 + 5.

    verdict = made.judged(UniqueKey("id"), ConstantSum("bal"))

    assert kinds(verdict) == ["lost update"]
    assert verdict.anomalies[0].snapshot_ids == (102, 103)


def test_a_read_that_changed_before_the_write_is_write_skew(past: HandMade) -> None:
    past.commit({1: 100, 2: 0}, "rival")
    past.commit({1: 0, 2: 0}, "a", base_snapshot_id=101, base_sequence_number=1, reads=TWO)

    verdict = past.judged()

    assert kinds(verdict) == ["write skew"]
    assert verdict.anomalies[0].rows == ("came: id=2, bal=0",)


def test_an_untrue_base_without_harm_is_a_false_record(past: HandMade) -> None:
    past.commit({1: 100, 2: 207}, "rival")
    past.commit({1: 105, 2: 207}, "a", base_snapshot_id=101, base_sequence_number=1, reads=ONE)
    past.commit({1: 106, 2: 207}, "b", base_sequence_number=7)

    assert kinds(past.judged()) == ["false record", "false record"]


@pytest.mark.parametrize("reads", [None, Reads((EqualTo("id", 1),), is_cut=True)])
def test_what_was_read_and_is_not_said_cannot_be_judged(past: HandMade, reads: Reads | None) -> None:
    past.commit({1: 100, 2: 207}, "rival")
    past.commit({1: 105, 2: 207}, "a", computed_on_snapshot_id=101, reads=reads)

    assert past.judged().status is Status.CANNOT_BE_JUDGED


def test_an_operation_that_two_commits_name_was_applied_twice(past: HandMade) -> None:
    past.commit({1: 101, 2: 200}, "a")
    past.commit({1: 102, 2: 200}, "a")

    verdict = past.judged()

    assert kinds(verdict) == ["double apply"]
    assert (verdict.anomalies[0].snapshot_ids, verdict.anomalies[0].operation_ids) == ((102, 103), ("a",))


def test_an_operation_that_the_ledger_names_was_applied_twice(past: HandMade) -> None:
    """The commit that did it first was expired."""
    past.commit({1: 101, 2: 200}, "b")
    past.commit({1: 102, 2: 200}, "day|1", page=Page((Entry(99, 1, (), {"day": ["1"]}),)))

    assert kinds(past.judged(is_cut=True, is_cut_vouched_for=True, expired=1)) == ["double apply"]


def test_a_commit_that_landed_twice_was_applied_twice(past: HandMade) -> None:
    past.commit([(1, 100), (2, 200), (3, 1)], "a", commit_id="twice", operation="append")
    past.commit([(1, 100), (2, 200), (3, 1), (3, 1)], "a", commit_id="twice", operation="append")

    assert kinds(past.judged()) == ["double apply"]


def test_a_sum_that_moved_twice_was_applied_twice(past: HandMade) -> None:
    past.commit({1: 114, 2: 200}, "a", sums={"bal": 7})

    assert kinds(past.judged(SumsAsRecorded("bal"))) == ["double apply"]


def test_one_commit_of_several_snapshots_is_clean(past: HandMade) -> None:
    """Between them anything may be; so it is with a PyIceberg overwrite, which does not number its snapshots."""
    both = {"commit_id": "both", "base_snapshot_id": 101, "base_sequence_number": 1}
    past.commit({1: 100}, "a", part=(1, 2), **both)
    past.commit({1: 100, 2: 200}, "a", part=(2, 2), **both)
    loop = {"commit_id": "loop", "base_snapshot_id": 103, "base_sequence_number": 3}
    past.commit({2: 200}, "b", operation="delete", **loop)
    past.commit({2: 200, 1: 100}, "b", operation="append", **loop)

    assert past.judged(ConstantSum("bal"), UniqueKey("id")).status is Status.CLEAN


def test_a_part_that_is_missing_is_a_torn_commit(past: HandMade) -> None:
    past.commit({1: 100}, "a", part=(1, 2))
    past.commit({1: 100, 3: 1}, "b")

    verdict = past.judged()

    assert kinds(verdict) == ["torn commit"]
    assert verdict.anomalies[0].snapshot_ids == (102,)


def test_parts_with_another_commit_between_are_a_torn_commit(past: HandMade) -> None:
    past.commit({1: 100}, "a", part=(1, 2), commit_id="both")
    past.commit({1: 101}, "b")
    past.commit({1: 101, 2: 200}, "a", part=(2, 2), commit_id="both", base_snapshot_id=101, base_sequence_number=1)

    assert "torn commit" in kinds(past.judged())


def test_a_commit_whose_first_part_was_expired_is_not_torn(past: HandMade) -> None:
    both = {"commit_id": "both", "base_snapshot_id": 101, "base_sequence_number": 1}
    past.commit({1: 100}, "a", part=(1, 2), **both)
    past.commit({1: 100, 2: 200}, "a", part=(2, 2), **both)

    assert past.judged(is_cut=True, is_cut_vouched_for=True, expired=2).status is Status.CLEAN


def test_a_base_that_is_no_ancestor_is_a_ghost(past: HandMade) -> None:
    past.commit({1: 101, 2: 200}, "a", base_snapshot_id=77, base_sequence_number=1)

    verdict = past.judged()

    assert kinds(verdict) == ["ghost commit"]
    assert verdict.anomalies[0].snapshot_ids == (77, 102)


def test_an_applied_snapshot_that_is_not_in_the_history_is_a_ghost(past: HandMade) -> None:
    past.commit({1: 101, 2: 200}, "b", page=Page((Entry(101, 1, ("opening",)), Entry(88, 2, ("a",)))))

    verdict = past.judged()

    assert kinds(verdict) == ["ghost commit"]
    assert verdict.anomalies[0].operation_ids == ("a",)


def test_a_commit_that_records_rows_and_has_none_is_a_ghost(past: HandMade) -> None:
    past.commit({1: 100, 2: 200}, "a", rows_added=1, rows_removed=1)

    assert kinds(past.judged()) == ["ghost commit"]


def test_a_missing_file_is_named_once_and_the_rest_is_judged(past: HandMade) -> None:
    past.commit({1: 101, 2: 200}, "a")
    past.commit({1: 102, 2: 200}, "b")
    past.commit({1: 103, 2: 200}, "c")
    past.commit({1: 103, 2: -1}, "d")
    past.lost.add("file-2")

    verdict = past.judged(Bounds("bal", 0))

    assert kinds(verdict) == ["missing file", "broken invariant"]
    assert "file-2" in verdict.anomalies[0].what
    assert verdict.unjudged


def test_a_file_that_cannot_be_read_is_no_anomaly(past: HandMade) -> None:
    past.commit({1: 101, 2: 200}, "a")
    past.unreadable.add("file-2")

    assert past.judged().status is Status.CANNOT_BE_JUDGED


def test_a_duplicate_key_is_named_where_it_came(past: HandMade) -> None:
    past.commit([(1, 100), (2, 200), (2, 5)], "a")
    past.commit([(1, 101), (2, 200), (2, 5)], "b")
    past.commit([(1, 101), (2, 201), (2, 5)], "c")

    verdict = past.judged(UniqueKey("id"))

    assert kinds(verdict) == ["duplicate key"]
    assert (verdict.anomalies[0].snapshot_ids, verdict.anomalies[0].rows) == ((102,), ("{'id': 2}: 2 rows",))


@pytest.mark.parametrize(
    ("after", "upto"), [pytest.param(None, 1, id="again"), pytest.param(2, 3, id="gap"), pytest.param(0, 1, id="back")]
)
def test_a_stream_that_does_not_go_on_has_regressed(past: HandMade, after: int | None, upto: int) -> None:
    past.commit({1: 101, 2: 200}, "s@1", step=StreamStep("s", None, 1))
    past.commit({1: 102, 2: 200}, "x", step=StreamStep("s", after, upto))

    assert kinds(past.judged()) == ["watermark regression"]


def test_a_watermark_that_is_carried_on_lower_has_regressed(past: HandMade) -> None:
    past.commit({1: 101, 2: 200}, page=Page(watermarks={"s": Watermark(7, 5)}))
    past.commit({1: 102, 2: 200}, page=Page(watermarks={"s": Watermark(6, 4)}))

    assert kinds(past.judged()) == ["watermark regression"]


def test_a_ledger_that_forgets_has_regressed_and_one_that_folds_has_not(past: HandMade) -> None:
    first = Entry(101, 1, ("opening",))
    past.commit({1: 101, 2: 200}, "a", page=Page((first,)))
    past.commit({1: 102, 2: 200}, "b", page=Page(file=FileReference("ledger", 1, 1)))
    past.commit({1: 103, 2: 200}, "c", page=Page((Entry(103, 1, ("b",)),), file=FileReference("ledger", 1, 1)))
    assert past.judged().status is Status.CLEAN

    past.commit({1: 104, 2: 200}, "d", page=Page((Entry(103, 1, ("b",)),), file=FileReference("ledger", 1, 1)))

    verdict = past.judged()
    assert kinds(verdict) == ["watermark regression"]
    assert verdict.anomalies[0].operation_ids == ("c",)


def test_a_cut_counts_only_where_nobody_vouches_for_it(past: HandMade) -> None:
    past.commit({1: 101, 2: 200}, "a", rows_added=1, rows_removed=1)
    past.commit({1: 102, 2: 200}, "b", rows_added=1, rows_removed=1)

    vouched = past.judged(is_cut=True, is_cut_vouched_for=True, expired=1)
    assert (vouched.status, vouched.judged_from_snapshot_id, vouched.snapshots) == (Status.CLEAN, 102, 1)
    assert "102" in vouched.notes[0]
    assert kinds(past.judged(is_cut=True, expired=1)) == ["cut history"]
    assert past.judged(is_cut=True, is_cut_certain=False).status is Status.CANNOT_BE_JUDGED


def test_a_foreign_commit_cannot_be_judged_unless_an_invariant_covers_it(past: HandMade) -> None:
    past.snapshot({1: 90, 2: 210})

    assert past.judged().status is Status.CANNOT_BE_JUDGED
    assert past.judged(ConstantSum("bal")).status is Status.CLEAN


@pytest.mark.parametrize("invariant", [ConstantSum("bal"), SumsAsRecorded("bal"), Bounds("bal", at_most=200)])
def test_a_foreign_commit_that_breaks_an_invariant_is_a_foreign_write(
    past: HandMade, invariant: ConstantSum | SumsAsRecorded | Bounds
) -> None:
    past.snapshot({1: 100, 2: 201})

    verdict = past.judged(invariant)
    assert "foreign write" in kinds(verdict)
    assert verdict.anomalies[-1].snapshot_ids == (102,)


def test_a_replace_that_changes_rows_is_a_foreign_write(past: HandMade) -> None:
    past.snapshot({1: 100, 2: 201}, operation="replace")

    assert kinds(past.judged()) == ["foreign write"]


def test_a_value_out_of_bounds_breaks_an_invariant(past: HandMade) -> None:
    past.commit({1: -1, 2: 200}, "a")

    verdict = past.judged(Bounds("bal", at_least=0))

    assert kinds(verdict) == ["broken invariant"]
    assert verdict.anomalies[0].rows == ("id=1, bal=-1",)


@pytest.mark.parametrize(
    "recorded",
    [{"rows_added": 2, "rows_removed": 1}, {"rows_added": 0, "rows_removed": 0}, {"records_total": 3}],
)
def test_untrue_numbers_are_a_false_record(past: HandMade, recorded: dict[str, int]) -> None:
    past.commit({1: 101, 2: 200}, "a", **recorded)

    assert kinds(past.judged()) == ["false record"]


def test_equal_rows_count_as_often_as_they_are_there(past: HandMade) -> None:
    past.commit([(1, 100), (2, 200), (3, 1), (3, 1)], "a", rows_added=2, rows_removed=0)
    past.commit([(1, 100), (2, 200)], "b", rows_added=0, rows_removed=2)

    assert past.judged().status is Status.CLEAN


def test_a_sum_that_nothing_explains_is_a_false_record(past: HandMade) -> None:
    past.commit({1: 101, 2: 200}, "a", sums={"bal": 5})

    assert kinds(past.judged(SumsAsRecorded("bal"), UniqueKey("id"))) == ["false record"]


def test_a_sum_that_is_not_recorded_cannot_be_judged(past: HandMade) -> None:
    past.steps.clear()
    past.commit({1: 0}, "opening")
    past.commit({1: 1}, "a")

    assert past.judged(SumsAsRecorded("bal")).status is Status.CANNOT_BE_JUDGED


def test_only_what_came_after_a_snapshot_is_judged(past: HandMade) -> None:
    """Its own state is taken as it is, and what was applied before it still counts as applied."""
    past.commit({1: 101, 2: 200}, "a", base_snapshot_id=77, base_sequence_number=1)
    past.commit({1: 102, 2: 200}, "b", rows_added=1, rows_removed=1)
    past.reads.clear()

    verdict = past.judged(ConstantSum("id"), since=102)

    assert (verdict.status, verdict.snapshots, verdict.judged_from_snapshot_id) == (Status.CLEAN, 1, 102)
    assert "file-1" not in past.reads

    past.commit({1: 103, 2: 200}, "a")
    assert kinds(past.judged(since=102)) == ["double apply"]
    assert kinds(past.judged(since=4711)) == ["ghost commit", "double apply"]


def test_beyond_the_limits_nothing_is_called_clean(past: HandMade) -> None:
    past.commit({1: 101, 2: 200}, "a")

    assert past.judged(limits=Limits(rows_max=3)).status is Status.CANNOT_BE_JUDGED
    assert past.judged(UniqueKey("id"), limits=Limits(keys_max=1)).status is Status.CANNOT_BE_JUDGED


def test_a_condition_selects_rows_and_not_files(past: HandMade) -> None:
    """A rival's change in the same file, to a row that does not match, touches nothing that was read."""
    past.commit({1: 100, 2: 207}, "rival")
    small = Reads((GreaterThan("bal", 1000),), is_cut=False)
    past.commit({1: 105, 2: 207}, "a", computed_on_snapshot_id=101, reads=small)

    assert past.judged().status is Status.CLEAN
