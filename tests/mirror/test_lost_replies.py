"""The catalog says of a commit of the mirror that it failed, or that it does not know; the table knows.

By default a choice of cases in which every pair of values occurs; the whole product is marked exhaustive.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from pyiceberg.catalog import Catalog

from seriatim.commit import RetryPolicy
from seriatim.errors import ConflictError, OutcomeUnknownError
from seriatim.mirror import MirrorReceipt
from tests.faults.catalog import REPORTS, Fault, FaultyCatalog, Landing
from tests.faults.pairwise import Case, all_pairs, full, pairs, pairwise
from tests.faults.rest_server import REPLIES, Backing, RestServer
from tests.mirror.hand_table import HandTable
from tests.mirror.targets import Target, assert_mirrors, history, said, versions

REPORTED: dict[str, Callable[[], BaseException]] = {**REPORTS, "KeyboardInterrupt": KeyboardInterrupt, **REPLIES}
USUAL = ("CommitFailed", "StateUnknown", "KeyboardInterrupt", "HTTP 409", "HTTP 500", "HTTP 503", "dropped")
STARTS = ("empty", "at version 2")
MEANWHILE = ("nobody", "a rival", "a rival that is rolled back", "a rollback")
LATE_REQUEST = ("before the next run", "after the next run")
OTHER_AXES = (tuple(landing.name for landing in Landing), STARTS, MEANWHILE, ("1", "3"), LATE_REQUEST)
AXES = (USUAL, *OTHER_AXES)
CHOSEN = pairwise(AXES, seed=5)
OTHERS = random.Random(7).sample([case for case in full((tuple(REPORTED), *OTHER_AXES)) if case not in CHOSEN], 150)


@pytest.fixture
def source(source: HandTable) -> HandTable:
    """Seven versions; what comes after 2 takes position deletes."""
    path = source.append()
    other = source.append()
    source.delete(path, 0)
    source.delete(path, 0, 1)
    source.rewrite([path, other])
    source.append()
    return source


def test_every_pair_of_values_is_among_the_chosen_cases() -> None:
    """A pair that is left out would be a hole that nobody sees."""
    assert {pair for case in CHOSEN for pair in pairs(case)} == all_pairs(AXES)


@pytest.mark.parametrize("case", CHOSEN, ids="-".join)
def test_a_lost_reply_ends_in_each_version_once_or_in_the_truth(target: Target, source: HandTable, case: Case) -> None:
    """Whatever is reported, whenever it lands, and whoever comes in between."""
    check(target, source, case)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", OTHERS, ids="-".join)
def test_so_do_other_cases(target: Target, source: HandTable, case: Case) -> None:
    """A sample of the rest of the product."""
    check(target, source, case)


@dataclass(slots=True)
class Ending:
    """How a run ended."""

    receipt: MirrorReceipt | None = None
    error: BaseException | None = None


def check(target: Target, source: HandTable, case: Case) -> None:
    """Run one case and check everything that must hold of it."""
    report, landing, start, meanwhile, attempts, late_request = case
    if start == "at version 2":
        target.mirror(source, upto=2, batch=1)
    else:
        target.make_empty(source)
    fault = Fault(REPORTED[report](), Landing[landing], lambda: interfere(target, source, meanwhile))

    ending = Ending()
    with connected(target, report) as (catalog, script):
        script.fail(fault)
        try:
            ending.receipt = target.mirror(source, catalog, policy=RetryPolicy(attempts_max=int(attempts)))
        except BaseException as err:  # noqa: BLE001  # How it ends is what is checked, KeyboardInterrupt included.
            ending.error = err
        assert script.script_is_done
        assert_true(target, source, ending, report)
        if late_request == "before the next run":
            script.deliver()
        target.mirror(source)
        assert_mirrors(target, source, at=())
        script.deliver()

    if isinstance(ending.error, ConflictError):
        assert script.landed_late == 0
    assert_mirrors(target, source)
    assert target.inventory().missing == []
    assert target.mirror(source).is_noop


def assert_true(target: Target, source: HandTable, ending: Ending, report: str) -> None:
    """A run that returns has each version in the table, its own by their snapshots; one that does not says why."""
    found = versions(target.table())
    assert found == list(range(len(found)))
    if ending.receipt is None:
        if report == "KeyboardInterrupt":
            assert isinstance(ending.error, KeyboardInterrupt)
        elif not isinstance(ending.error, ConflictError):  # That one says that nothing was written.
            assert isinstance(ending.error, OutcomeUnknownError)
            staged = set(ending.error.snapshot_ids)
            assert staged
            assert not staged & set(target.snapshot_ids())  # Else it could have been told.
        return
    receipt, by_version = ending.receipt, {said(each): each.snapshot_id for each in history(target.table())}
    assert receipt.version == source.version == found[-1]
    assert receipt.lag == 0
    ours = {landed.version: landed.snapshot_id for landed in receipt.landed}  # One that was rolled back comes again.
    assert {version: by_version[version] for version in ours} == ours
    base = -1 if receipt.base_version is None else receipt.base_version
    assert {*receipt.found_landed, *ours} >= set(range(base + 1, source.version + 1))
    assert not {*receipt.found_landed} & {*ours}


def interfere(target: Target, source: HandTable, meanwhile: str) -> None:
    """Do what somebody does between the commit and its reply."""
    head = target.head()
    if meanwhile.startswith("a rival"):
        target.mirror(source, upto=4)
    if meanwhile == "a rival that is rolled back" and head is not None:
        target.roll_back(head)
    if meanwhile == "a rollback" and head is not None:
        target.set_back(1)


@contextmanager
def connected(target: Target, report: str) -> Iterator[tuple[Catalog, FaultyCatalog]]:
    """Yield the catalog for the run and the one that follows the script: over HTTP where the report is HTTP's."""
    if report not in REPLIES:
        catalog = target.connect()
        yield catalog, catalog
        return
    backing = Backing("bank", **target.properties())
    with RestServer(backing) as server:
        yield server.connect(), backing
    backing.engine.dispose()
