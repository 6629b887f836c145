"""What a call leaves in the storage: nothing of an attempt that is known to be dead, all of one that may land."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any, Final

import pytest

from seriatim.commit import Append, Base, Change, Receipt, Rewrite, pinned
from seriatim.errors import ConflictError, InvalidChangeError, RowNotFoundError
from tests.contract.apply_support import Deposit, call, opening, settings
from tests.faults.bank import Bank
from tests.faults.catalog import REPORTS, Fault, Landing
from tests.faults.deeds import DEEDS, nothing, rows
from tests.faults.fileio import Kind, Step, WatchedCatalog

START: Final = {1: 100, 2: 200, 3: 300}
deeds = pytest.mark.parametrize("deed", DEEDS)

# What a rival does while the change is computed, and what it makes of the balances.
RIVALS: Final[dict[str, tuple[Callable[[Bank], None], dict[int, int]]]] = {
    "elsewhere": (lambda bank: bank.open_account(5, 500), {**START, 5: 500}),
    "same row": (lambda bank: bank.deposit(10), {**START, 1: 110}),
    "all rows": (lambda bank: bank.compact(), START),
}


def do(bank: Bank, deed: str, meanwhile: Callable[[], None], *, catalog: Any = None, attempts_max: int = 3) -> Any:
    """Do the deed, with an operation id where it can have one."""
    ids = ("it",) if DEEDS[deed].has_operation_ids else ()
    return DEEDS[deed].run(catalog or bank.connect(), ids, attempts_max, meanwhile)


def once(*happenings: Callable[[], None]) -> Callable[[], None]:
    """Return what lets these happen, one in each attempt."""
    left = list(happenings)
    return lambda: left.pop(0)() if left else None


@deeds
def test_nothing_is_left_by_a_call_that_lands_at_once(bank: Bank, deed: str) -> None:
    """Not even by the operations of PyIceberg that make two snapshots."""
    do(bank, deed, nothing)

    assert bank.inventory().unreachable == []


@deeds
@pytest.mark.parametrize("rival", RIVALS)
def test_nothing_is_left_by_attempts_that_lost(bank: Bank, deed: str, rival: str) -> None:
    """Two conflicts, rebased or computed anew, and then success."""
    act, balances = RIVALS[rival]
    catalog = bank.connect()

    do(bank, deed, once(lambda: act(bank), lambda: bank.open_account(6, 600)), catalog=catalog)

    assert len(catalog.submitted) >= 2
    assert bank.balances().items() >= DEEDS[deed].after(balances).items()
    assert bank.inventory().missing == []
    assert bank.inventory().unreachable == []


@deeds
@pytest.mark.parametrize("attempts_max", [1, 2])
def test_nothing_is_left_when_every_attempt_lost(bank: Bank, deed: str, attempts_max: int) -> None:
    """The table tells that they are dead, whatever the catalog called it: here a rival won, and the reply was lost."""
    lost = [Fault(REPORTS["ConnectionError"](), Landing.NEVER, lambda: bank.deposit(1)) for _ in range(attempts_max)]
    catalog = bank.connect().fail(*lost)

    with pytest.raises(ConflictError):
        do(bank, deed, nothing, catalog=catalog, attempts_max=attempts_max)

    assert len(catalog.submitted) == attempts_max
    assert bank.balances() == {**START, 1: 100 + attempts_max}
    assert bank.inventory().missing == []
    assert bank.inventory().unreachable == []


@deeds
def test_what_may_land_is_left_and_what_lost_before_it_is_not(bank: Bank, deed: str) -> None:
    """The first attempt lost to a rival, the second is on its way: when it arrives, no file is over and none lacks."""
    catalog = bank.connect().fail(None, Fault(REPORTS["ConnectionError"](), Landing.AFTER_NEXT_COMMIT))

    with pytest.raises(Exception, match="not known"):
        do(bank, deed, once(lambda: bank.open_account(5, 500)), catalog=catalog, attempts_max=2)

    assert bank.inventory().unreachable != []
    catalog.deliver()
    assert catalog.landed_late == 1
    assert bank.balances() == DEEDS[deed].after({**START, 5: 500})
    assert bank.inventory().missing == []
    assert bank.inventory().unreachable == []


@deeds
@pytest.mark.parametrize("conflicts", [0, 1])
def test_nothing_is_left_when_the_change_raises(bank: Bank, deed: str, conflicts: int) -> None:
    """At once, or when it is computed anew after a conflict; what it raises comes out as it is."""
    trouble = ArithmeticError("theirs")

    def fail() -> None:
        raise trouble

    meanwhile = once(*[bank.compact] * conflicts, fail)
    if conflicts and deed in ("append", "insert"):  # Nothing that it read has changed: it is not computed again.
        do(bank, deed, meanwhile)
    else:
        with pytest.raises(ArithmeticError) as caught:
            do(bank, deed, meanwhile)
        assert caught.value is trouble

    assert bank.inventory().missing == []
    assert bank.inventory().unreachable == []


@pytest.mark.parametrize("conflicts", [0, 1])
@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda base: Rewrite(rows(base.schema, {77: 7}), keys="id"), RowNotFoundError),
        (
            lambda base: [Append(rows(base.schema, {9: 7})), Rewrite(rows(base.schema, {77: 7}), keys="id")],
            InvalidChangeError,
        ),
        (lambda base: Append(rows(base.schema, {9: 7}).drop_columns(["bal"])), InvalidChangeError),
        (lambda base: "no change", InvalidChangeError),
    ],
)
def test_nothing_is_left_by_a_change_that_does_not_fit(
    bank: Bank, wrong: Callable[[Base], Change], error: type[Exception], conflicts: int
) -> None:
    """Also when the change before it, which lost, did fit."""
    good = Deposit(10, lambda: bank.deposit(1))
    left = [good] * conflicts

    with pytest.raises(error):
        call(bank, lambda base: left.pop()(base) if left else wrong(base), "it")

    assert bank.balances() == {**START, 1: 100 + conflicts}
    assert bank.inventory().unreachable == []


def test_nothing_is_left_by_a_call_whose_operation_had_landed(bank: Bank) -> None:
    """Found before the change is computed; and found after a conflict, with a twin who was faster."""
    call(bank, opening(4, 1), "it")
    assert call(bank, opening(4, 1), "it").is_noop

    receipt = call(bank, opening(6, 1, lambda: _open_as_twin(bank)), "twin")

    assert receipt.is_noop
    assert tuple(receipt.already_applied) == ("twin",)
    assert bank.balances() == {**START, 4: 1, 6: 1}
    assert bank.inventory().missing == []
    assert bank.inventory().unreachable == []


@pytest.mark.parametrize("deed", [deed for deed in DEEDS if DEEDS[deed].has_operation_ids])
@pytest.mark.parametrize("report", ["CommitFailed", "ConnectionError"])
def test_a_twin_that_was_faster_keeps_its_files(bank: Bank, report: str, deed: str) -> None:
    """A zombie and its retry share an operation id: files go by attempt, never by operation."""
    catalog = bank.connect().fail(Fault(REPORTS[report](), Landing.NEVER, lambda: _twin(bank, deed)))

    receipt = do(bank, deed, nothing, catalog=catalog)

    assert isinstance(receipt, Receipt)
    assert receipt.is_noop
    assert catalog.script_is_done
    assert bank.balances() == DEEDS[deed].after(START)
    assert bank.inventory().missing == []
    assert bank.inventory().unreachable == []


EVENTS = ("AttemptBegun", "OutcomeLookedUp", "Conflict", "Reapplied", "Rebased", "Landed")


class _Breaking:
    """An observer that breaks at one kind of event, the first time."""

    def __init__(self, event: str) -> None:
        self.error = ArithmeticError("the observer's")
        self.broke = False
        self._event = event

    def notify(self, told: object) -> None:
        if type(told).__name__ == self._event and not self.broke:
            self.broke = True
            raise self.error


@pytest.mark.parametrize("event", EVENTS)
def test_an_observer_that_breaks_changes_nothing(bank: Bank, event: str, caplog: pytest.LogCaptureFixture) -> None:
    """Whether a commit landed is not a question of who has heard of it: what it raises goes to the log."""
    observer = _Breaking(event)
    rival: Callable[[], None] = (
        (lambda: bank.open_account(5, 500)) if event == "Rebased" else (lambda: bank.deposit(10))
    )

    receipt = call(bank, Deposit(7, rival), "it", observer=observer)

    assert receipt.attempts == 2
    assert observer.broke
    assert [record.exc_info[1] for record in caplog.records if record.exc_info] == [observer.error]
    assert bank.balances()[1] == (107 if event == "Rebased" else 117)
    assert bank.inventory().missing == []
    assert bank.inventory().unreachable == []


class _LateThread:
    """The manifest of what is added fails; the other one is closed only when the call has ended, or waits for it."""

    def __init__(self) -> None:
        self.error = OSError(28, "No space left on device")
        self.call_has_ended, self.other_is_at_work, self.other_is_done = (threading.Event() for _ in range(3))
        self.failed = 0

    def before(self, step: Step, kind: Kind) -> None:
        if kind is not Kind.MANIFEST or step not in (Step.CREATE, Step.CLOSE):
            return
        # PyIceberg asks this one first how it went, and the other not any more. Its name tells nothing.
        if any(frame.function == "_write_added_manifest" for frame in inspect.stack(context=0)):
            self.other_is_at_work.wait(10.0)
            self.failed += 1
            raise self.error
        if step is Step.CLOSE:
            self.other_is_at_work.set()
            self.call_has_ended.wait(0.5)  # Not for ever: the call may as well wait for this thread.

    def after(self, step: Step, kind: Kind) -> None:
        if kind is Kind.MANIFEST and step is Step.CLOSE:
            self.other_is_done.set()


def test_a_manifest_that_another_thread_closes_late_on_an_object_store_goes_too(bank: Bank) -> None:
    """PyIceberg, in `pinned`, passes the first failure on and does not wait; what is uploaded late stays for ever.

    The changes of `apply` write their manifests one after another.
    """
    before, watch = bank.inventory(), _LateThread()
    catalog = WatchedCatalog("bank", watch, **bank.properties())
    catalog.is_object_store = True

    with pytest.raises(OSError, match="No space left"):
        pinned(catalog, bank.identifier, lambda table: table.delete("id == 1"), **settings({}))
    watch.call_has_ended.set()

    assert watch.failed == 1
    assert watch.other_is_done.wait(10.0)
    catalog.engine.dispose()
    assert bank.inventory() == before


def _open_as_twin(bank: Bank) -> None:
    call(bank, opening(6, 1), "twin")


def _twin(bank: Bank, deed: str) -> None:
    assert not do(bank, deed, nothing).is_noop
