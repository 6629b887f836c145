"""The turnstile saves attempts, and nothing depends on it: broken in every way, it changes no result."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from seriatim import NO_TURNSTILE, LocalTurnstile, commit_with_retry, pinned
from seriatim.commit.turnstile.chosen import VARIABLE
from seriatim.commit.turnstile.patience import Patience
from seriatim.system import Clock, SystemClock
from tests.contract.apply_support import Deposit, call
from tests.contract.checks import check_no_residue
from tests.faults.bank import Bank
from tests.faults.clock import ManualClock, WatchedClock
from tests.faults.tickets import turn_of_process
from tests.faults.workers import deposit_in_turns

S_MAX = 60.0


class _Processes:
    """The line of processes alone, in which threads stand for processes."""

    wait_s_max = S_MAX

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def turn(self, line: str, *, wait_s_max: float, clock: Clock) -> AbstractContextManager[bool]:
        return turn_of_process(self._folder, Patience.of(wait_s_max, wait_s_max, clock))


class _Broken:
    """A turnstile that fails in one way."""

    wait_s_max = 1.0

    def __init__(self, way: Callable[[Clock], AbstractContextManager[object]]) -> None:
        self._way = way

    def turn(self, line: str, *, wait_s_max: float, clock: Clock) -> AbstractContextManager[object]:
        return self._way(clock)


@contextmanager
def _never_grants(clock: Clock) -> Iterator[None]:
    clock.wait_s(1.0)
    yield


@contextmanager
def _grants_always(clock: Clock) -> Iterator[None]:
    yield


@contextmanager
def _cannot_be_entered(clock: Clock) -> Iterator[None]:
    raise OSError("no space left on device")
    yield


@contextmanager
def _cannot_be_left(clock: Clock) -> Iterator[None]:
    yield
    raise OSError("no space left on device")


@contextmanager
def _swallows_errors(clock: Clock) -> Iterator[None]:
    with suppress(Exception):
        yield


def _cannot_be_asked(clock: Clock) -> AbstractContextManager[object]:
    raise RuntimeError("no turnstile today")


BROKEN = (_never_grants, _grants_always, _cannot_be_entered, _cannot_be_left, _swallows_errors, _cannot_be_asked)


@pytest.mark.parametrize("way", BROKEN)
def test_a_broken_turnstile_changes_no_result(bank: Bank, way: Any) -> None:
    """A rival lands in the middle of the turn, which nobody should have trusted: the loser computes again."""
    change = Deposit(10, lambda: bank.deposit(1))

    receipt = call(bank, change, "it", turnstile=_Broken(way))

    assert bank.balances()[1] == 111
    assert (receipt.attempts, len(change.bases)) == (2, 2)
    check_no_residue(bank)


@pytest.mark.parametrize("way", BROKEN)
def test_a_broken_turnstile_hides_no_error(bank: Bank, way: Any) -> None:
    """What the change raises comes out, and nothing is written."""

    def refuse() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        call(bank, Deposit(10, refuse), turnstile=_Broken(way))

    assert bank.balances()[1] == 100


@pytest.mark.parametrize("way", BROKEN)
def test_pinned_trusts_no_turnstile_either(bank: Bank, way: Any) -> None:
    rivals = [lambda: bank.deposit(1)]

    def close(table: Any) -> None:
        while rivals:
            rivals.pop()()
        table.delete("id == 3")

    receipt = pinned(bank.connect(), bank.identifier, close, turnstile=_Broken(way), clock=ManualClock())

    assert bank.balances() == {1: 101, 2: 200}
    assert receipt.attempts == 2


def test_who_waits_for_its_turn_needs_one_attempt(bank: Bank, tmp_path: Path) -> None:
    """The second is in the line while the first computes: without a turn it would land first, and the first lose."""
    turnstile, clock, ended = _Processes(tmp_path), WatchedClock(), threading.Event()
    second: list[Any] = []

    def work() -> None:
        second.append(call(bank, Deposit(2), turnstile=turnstile, clock=clock))
        ended.set()
        clock.waits.set()  # Whoever waits for it to wait waits no longer.

    thread = threading.Thread(target=work, daemon=True)

    def start() -> None:
        thread.start()
        assert clock.waits.wait(S_MAX)

    first = call(bank, Deposit(10, start), turnstile=turnstile, clock=SystemClock())
    thread.join(S_MAX)

    assert bank.balances()[1] == 112
    assert (first.attempts, second[0].attempts) == (1, 1)
    assert 0 < second[0].queued_s == second[0].waited_s
    assert first.waited_s < 1.0


def test_a_slow_holder_delays_nobody_beyond_patience(bank: Bank) -> None:
    """The other goes on without a turn, and lands; the slow one finds the base moved, and computes again."""
    turnstile, others = LocalTurnstile(0.02), []

    def overtake() -> None:
        with ThreadPoolExecutor(1) as pool:
            others.append(pool.submit(call, bank, Deposit(2), turnstile=turnstile, clock=SystemClock()).result(S_MAX))

    receipt = call(bank, Deposit(10, overtake), turnstile=turnstile, clock=SystemClock())

    assert bank.balances()[1] == 112
    assert (receipt.attempts, others[0].attempts) == (2, 1)
    assert others[0].queued_s > 0


def test_a_change_that_changes_the_same_table_does_not_wait_for_itself(bank: Bank) -> None:
    turnstile, inner = LocalTurnstile(S_MAX), []

    def within() -> None:
        inner.append(call(bank, Deposit(2), turnstile=turnstile, clock=SystemClock()))

    receipt = call(bank, Deposit(10, within), turnstile=turnstile, clock=SystemClock())

    assert bank.balances()[1] == 112
    assert (receipt.attempts, inner[0].attempts) == (2, 1)
    assert inner[0].queued_s < 1.0


def test_threads_that_take_turns_meet_no_conflict(bank: Bank) -> None:
    turnstile = LocalTurnstile(S_MAX)

    def work(worker: int) -> int:
        catalog = bank.connect()
        receipts = [
            call(bank, Deposit(10**worker), catalog=catalog, turnstile=turnstile, clock=SystemClock()) for _ in range(3)
        ]
        return sum(receipt.attempts for receipt in receipts)

    with ThreadPoolExecutor(4) as pool:
        attempts = list(pool.map(work, range(4)))

    assert bank.balances()[1] == 100 + 3333
    assert attempts == [3, 3, 3, 3]


@pytest.mark.slow  # Processes are started.
def test_processes_and_their_threads_that_take_turns_meet_no_conflict(bank: Bank) -> None:
    """Three processes of two threads each."""
    attempts = deposit_in_turns(bank.path, processes=3, threads=2, each=4, turnstile=LocalTurnstile(S_MAX))

    assert bank.balances()[1] == 100 + 3 * 2 * 4
    assert attempts == 3 * 2 * 4


def test_a_hook_may_wait_for_another_writer(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has one takes no turn, since the other one might wait for it to end."""
    monkeypatch.setenv(VARIABLE, f"{S_MAX}")
    others: list[int] = []

    def let_another_in(attempt: int) -> None:
        if attempt == 0:
            with ThreadPoolExecutor(1) as pool:
                deposit = partial(commit_with_retry, bank.connect(), bank.identifier, partial(operator.add, 2))
                others.append(pool.submit(deposit).result(S_MAX / 4))

    balance = commit_with_retry(
        bank.connect(), bank.identifier, partial(operator.add, 10), before_commit=let_another_in
    )

    assert (balance, others, bank.balances()[1]) == (112, [102], 112)


def test_the_account_function_takes_turns(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    """One attempt is allowed: whoever met a conflict would raise."""
    monkeypatch.setenv(VARIABLE, f"{S_MAX}")

    def work(worker: int) -> None:
        catalog = bank.connect()
        for _ in range(3):
            commit_with_retry(catalog, bank.identifier, partial(operator.add, 10**worker), max_retries=1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))

    assert bank.balances()[1] == 100 + 3333


def test_a_call_may_be_let_in_at_once(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    """`NO_TURNSTILE` goes before what the environment says."""
    monkeypatch.setenv(VARIABLE, f"{S_MAX}")
    others: list[Any] = []

    def overtake() -> None:
        with ThreadPoolExecutor(1) as pool:
            others.append(pool.submit(call, bank, Deposit(2), turnstile=NO_TURNSTILE).result(S_MAX / 4))

    assert call(bank, Deposit(10, overtake), clock=SystemClock()).attempts == 2
    assert others[0].queued_s == 0.0
