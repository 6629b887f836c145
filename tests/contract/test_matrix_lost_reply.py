"""The lost-reply matrix: what is reported, when the commit lands, what is done, and on which attempt it happens.

By default a choice of cases in which every pair of values occurs; the whole product is marked slow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from pyiceberg.catalog import Catalog

from seriatim.commit import Receipt, summary
from seriatim.errors import OutcomeUnknownError, UnconfirmedConflictError
from tests.faults.bank import Bank
from tests.faults.catalog import REPORTS, Fault, FaultyCatalog, Landing
from tests.faults.deeds import DEEDS, nothing
from tests.faults.pairwise import Case, all_pairs, full, pairs, pairwise
from tests.faults.rest_server import REPLIES, Backing, RestServer

REPORTED: dict[str, Callable[[], BaseException]] = {**REPORTS, "KeyboardInterrupt": KeyboardInterrupt, **REPLIES}
SENT_AGAIN = ("HTTP 419", "replayed")  # Below us, by the client or on the way: the call hears the second answer.
CONFLICTS = ("CommitFailed", "HTTP 409")
LATE = (Landing.AT_NEXT_LOAD, Landing.BEFORE_NEXT_COMMIT, Landing.AFTER_NEXT_COMMIT)
AXES = (tuple(REPORTED), tuple(landing.name for landing in Landing), tuple(DEEDS), ("first", "last"))
START = {1: 100, 2: 200, 3: 300}
CHOSEN = pairwise(AXES, seed=3)
OTHERS = [case for case in full(AXES) if case not in set(CHOSEN)]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a call ended, and what the table was at that moment."""

    returned: Receipt | int | None
    error: BaseException | None
    rows: list[tuple[int, int]]


def test_every_pair_of_values_is_among_the_chosen_cases() -> None:
    """A pair that is left out would be a hole that nobody sees; a choice as large as the product would be none."""
    covered = {pair for case in CHOSEN for pair in pairs(case)}

    assert covered == all_pairs(AXES)
    assert len(CHOSEN) < len(full(AXES)) / 8
    assert len(CHOSEN) + len(OTHERS) == len(full(AXES))


@pytest.mark.parametrize("case", CHOSEN, ids="-".join)
def test_a_lost_reply_ends_in_one_application_or_in_the_truth(bank: Bank, case: Case) -> None:
    """P4, P5: whatever is reported, whenever it lands."""
    check(bank, case)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", OTHERS, ids="-".join)
def test_every_other_case_does_too(bank: Bank, case: Case) -> None:
    """The rest of the product."""
    check(bank, case)


def check(bank: Bank, case: Case) -> None:
    """Run one case and check everything that must hold of it."""
    report, landing, position = case[0], Landing[case[1]], case[3]
    deed = DEEDS[case[2]]
    start = START if position == "first" else {**START, 5: 500}
    rows_before, rows_after = sorted(start.items()), sorted(deed.after(start).items())
    fault = Fault(REPORTED[report](), landing)

    with connected(bank, report) as (catalog, script):
        ending = run(bank, case, catalog, script, fault)
        # The request that is still on its way arrives after the call has ended.
        script.deliver()

    has_landed = _rows(bank) == rows_after
    if is_resolved(report, landing, position):
        assert (ending.error, ending.rows) == (None, rows_after)
        assert_true(bank, ending.returned)
    else:
        assert ending.rows == (rows_after if landing is Landing.AT_ONCE else rows_before)
        assert has_landed == (landing is not Landing.NEVER)
        assert_says_unknown(bank, ending.error, fault.error, report, has_landed)
    assert script.script_is_done
    assert script.landed_late + script.refused_late == (landing in LATE)
    assert_whole(bank)
    if has_landed:  # Otherwise the files of an attempt that may land yet are left.
        assert bank.inventory().unreachable == []

    if deed.has_operation_ids:
        again = deed.run(bank.connect(), ("it",), 1, nothing)
        assert isinstance(again, Receipt)
        assert again.is_noop == has_landed
        assert len(commits_of(bank, "it")) == 1
        assert _rows(bank) == rows_after
        assert_whole(bank)


def is_resolved(report: str, landing: Landing, position: str) -> bool:
    """Whether the call itself can find out, or do it once more without risk.

    An interrupt ends it without a look-up; after the last attempt only what has landed by the next load can be seen.
    """
    if report == "KeyboardInterrupt":
        return False
    if report in SENT_AGAIN or position == "first":
        return True
    return landing in (Landing.AT_ONCE, Landing.AT_NEXT_LOAD)


def run(bank: Bank, case: Case, catalog: Catalog, script: FaultyCatalog, fault: Fault) -> Ending:
    """Call with the fault on the first of three attempts, or on the second of two, after a rival won the first."""
    deed, is_last = DEEDS[case[2]], case[3] == "last"
    rivals = [lambda: bank.open_account(5, 500)] if is_last else []
    script.fail(*([None] if is_last else []), fault)
    returned: Receipt | int | None = None
    error: BaseException | None = None
    try:
        returned = deed.run(
            catalog,
            ("it",) if deed.has_operation_ids else (),
            2 if is_last else 3,
            lambda: rivals.pop()() if rivals else None,
        )
    except BaseException as err:  # noqa: BLE001  (How it ends is what is checked, KeyboardInterrupt included.)
        error = err
    assert rivals == []
    return Ending(returned, error, _rows(bank))


@contextmanager
def connected(bank: Bank, report: str) -> Iterator[tuple[Catalog, FaultyCatalog]]:
    """Yield the catalog for the call and the one that follows the script: over HTTP where the report is HTTP's."""
    if report not in REPLIES:
        catalog = bank.connect()
        yield catalog, catalog
        return
    backing = Backing("bank", **bank.properties())
    with RestServer(backing) as server:
        yield server.connect(), backing
    backing.engine.dispose()


def assert_true(bank: Bank, returned: Receipt | int | None) -> None:
    """What the call returned is what the table says."""
    if isinstance(returned, Receipt):
        assert returned.snapshot_ids != ()
        assert set(returned.snapshot_ids) <= set(bank.snapshot_ids())
    else:
        assert returned == bank.balances()[1]


def assert_says_unknown(
    bank: Bank, error: BaseException | None, reported: BaseException, report: str, has_landed: bool
) -> None:
    """The error claims nothing, and names what the commit would be known by; an interrupt stays itself."""
    if report == "KeyboardInterrupt":
        assert error is reported
        return
    assert isinstance(error, OutcomeUnknownError)
    assert isinstance(error, UnconfirmedConflictError) == (report in CONFLICTS)
    assert bool(set(error.snapshot_ids) & set(bank.snapshot_ids())) == has_landed


def assert_whole(bank: Bank) -> None:
    """Every snapshot can be read, whatever its files."""
    table = bank.table()
    for snapshot in table.metadata.snapshots:
        table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
    assert bank.inventory().missing == []


def commits_of(bank: Bank, operation_id: str) -> set[str | None]:
    """Return the commits that say that they applied the operation."""
    applied = [each for each in bank.table().metadata.snapshots if operation_id in summary.operation_ids(each)]
    return {each.summary[summary.COMMIT_ID] for each in applied if each.summary is not None}


def _rows(bank: Bank) -> list[tuple[int, int]]:
    return [(row["id"], row["bal"]) for row in bank.rows()]
