"""What users do to a mirror that Iceberg allows: roll back, tag, branch, expire. The next run goes on from there."""

from __future__ import annotations

import pytest
from pyiceberg.exceptions import CommitStateUnknownException
from pyiceberg.table.update import SetCurrentSchemaUpdate
from pyiceberg.types import StringType

from tests.faults.catalog import Fault, Landing
from tests.mirror.hand_table import HandTable
from tests.mirror.targets import Target, assert_mirrors, history, ids_at, said, versions


@pytest.fixture
def source(source: HandTable) -> HandTable:
    """Eight versions that append, delete rows by deletion vectors, rewrite and take back."""
    first, second = source.append(), source.append()
    source.delete(first, 1)
    source.delete(first, 0, 1)
    source.rewrite([first, second])
    source.restore(3)
    source.append()
    return source


@pytest.mark.parametrize("batch", [None, 1, 3])
@pytest.mark.parametrize("k", range(7))
def test_after_a_rollback_the_next_run_lands_what_came_after_once(
    target: Target, source: HandTable, k: int, batch: int | None
) -> None:
    """Also where it is into the middle of what one catalog commit landed: a property would still say 7."""
    target.mirror(source, batch=batch)
    target.set_back(k)

    receipt = target.mirror(source)

    assert_mirrors(target, source)
    assert receipt.base_version == k
    assert [landed.version for landed in receipt.landed] == list(range(k + 1, 8))
    assert target.mirror(source).is_noop


def test_a_rollback_between_read_and_commit_is_seen(target: Target, source: HandTable) -> None:
    """What was planned for version 4 must not land on 1."""
    target.mirror(source, upto=4)

    receipt = target.mirror(source, target.interposing(lambda: target.set_back(1)))

    assert_mirrors(target, source)
    assert [landed.version for landed in receipt.landed] == list(range(2, 8))


def test_a_rollback_between_two_batches_of_a_run_is_seen(target: Target, source: HandTable) -> None:
    """The run remembers the files of what it landed last, which the table has no longer."""
    was_set_back: list[int] = []

    def set_back_once(version: int) -> None:
        if version == 5 and not was_set_back:
            was_set_back.append(version)
            target.set_back(2)

    target.mirror(source, batch=2, progress=lambda done: set_back_once(done.version))

    assert was_set_back == [5]
    assert_mirrors(target, source)


def test_a_batch_whose_commit_died_by_a_rollback_lands_with_all_its_files(target: Target, source: HandTable) -> None:
    """The table is back at the base of the dead commit, and what was planned for it is right again.

    The files of position deletes of a dead commit are removed; those that the next attempt uses are not.
    """
    target.mirror(source, upto=2)

    def land_and_take_back() -> None:
        target.mirror(source, upto=5)
        target.set_back(2)

    fault = Fault(CommitStateUnknownException("reported by the double"), Landing.NEVER, land_and_take_back)
    catalog = target.connect().fail(fault)
    receipt = target.mirror(source, catalog)

    assert catalog.script_is_done
    assert_mirrors(target, source)
    assert [landed.version for landed in receipt.landed] == list(range(3, 8))


def test_tags_and_branches_of_users_stay_where_they_are(target: Target, source: HandTable) -> None:
    """And what they hold can be read as it was."""
    target.mirror(source, upto=3)
    with target.changing() as table:
        at = {version: target.snapshot(version).snapshot_id for version in (1, 2)}
        table.manage_snapshots().create_tag(at[1], "audit").create_branch(at[2], "experiment").commit()
    target.set_back(1)

    target.mirror(source)

    assert_mirrors(target, source)
    table = target.table()
    assert {name: ref.snapshot_id for name, ref in table.metadata.refs.items() if name in ("audit", "experiment")} == {
        "audit": at[1],
        "experiment": at[2],
    }
    for version, id_ in at.items():
        snapshot = table.snapshot_by_id(id_)
        assert snapshot is not None
        assert ids_at(table, snapshot) == source.ids(version)


def test_what_somebody_commits_to_a_branch_is_no_foreign_commit(target: Target, source: HandTable) -> None:
    """Only main is the mirror."""
    target.mirror(source, upto=3)
    target.append_to_branch("experiment")

    target.mirror(source)

    assert_mirrors(target, source)


@pytest.mark.parametrize("kept", [1, 3])
def test_the_mirror_of_which_old_snapshots_were_expired_goes_on(target: Target, source: HandTable, kept: int) -> None:
    """Where the owner has allowed it; by default `gc.enabled` is false."""
    target.mirror(source, upto=5, properties={"gc.enabled": "true"})
    target.expire_all_but(kept)

    receipt = target.mirror(source)

    assert [landed.version for landed in receipt.landed] == [6, 7]
    table = target.table()
    assert versions(table) == list(range(6 - kept, 8))
    for snapshot in history(table):
        assert ids_at(table, snapshot) == source.ids(said(snapshot) or 0)


def test_an_expiry_between_read_and_commit_does_no_harm(target: Target, source: HandTable) -> None:
    """It moves no branch, so that nobody loses to it."""
    target.mirror(source, upto=5, properties={"gc.enabled": "true"})

    receipt = target.mirror(source, target.interposing(lambda: target.expire_all_but(1)))

    assert [landed.version for landed in receipt.landed] == [6, 7]
    assert versions(target.table()) == [5, 6, 7]


def test_properties_that_expire_with_each_commit_leave_the_mirror_exact(target: Target, source: HandTable) -> None:
    """The owner's bounds on the history cut its beginning and nothing else."""
    bounds = {"history.expire.min-snapshots-to-keep": "2", "history.expire.max-snapshot-age-ms": "0"}

    target.mirror(source, batch=2, properties={"gc.enabled": "true", **bounds})

    table = target.table()
    assert versions(table)[-2:] == [6, 7]
    assert versions(table) == list(range(8 - len(versions(table)), 8))
    assert ids_at(table, history(table)[-1]) == source.ids(7)


def test_of_two_attempts_the_run_goes_on_with_the_files_of_the_one_that_landed(
    target: Target, source: HandTable
) -> None:
    """The table took another form and its old one again, so that the first could land after the second had begun."""
    target.mirror(source, upto=2)

    def take_another_form() -> None:
        with target.changing() as table, table.update_schema() as update:
            update.add_column("note", StringType())

    def take_the_old_form() -> None:
        with target.changing() as table:
            table.catalog.commit_table(table, (), (SetCurrentSchemaUpdate(schema_id=forms[0]),))

    forms = [target.table().metadata.current_schema_id]
    catalog = target.interposing(lambda: None, take_the_old_form)
    late = CommitStateUnknownException("reported by the double")
    catalog.fail(Fault(late, Landing.BEFORE_NEXT_COMMIT, take_another_form))

    receipt = target.mirror(source, catalog, batch=1)

    assert (catalog.landed_late, catalog.script_is_done) == (1, True)
    assert_mirrors(target, source)
    assert [landed.version for landed in receipt.landed] == list(range(3, 8))
