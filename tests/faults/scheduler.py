"""A deterministic scheduler: threads that hand a baton to one another, so that exactly one of them runs.

A thread runs from one gate to the next, and a `Choice` says who goes on. So a schedule is a list of names, the same
list makes the same things happen, and all lists can be gone through one by one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

_STALLED_AFTER_S = 60.0  # A thread that waits for one without the baton would wait for ever.


class Gate(Enum):
    """Where a thread may have to wait."""

    READ = "the base is read, nothing is computed"
    COMPUTED = "computed, nothing is written"
    FILES = "the manifest list is written"
    BEFORE_CATALOG = "before the commit reaches the catalog"
    AFTER_CATALOG = "the catalog is done with the commit, before its reply"
    REPLY = "the reply has come, before the call returns or tries again"


@dataclass(frozen=True, slots=True)
class Step:
    """A thread went on from where it stood, to a gate or to its end."""

    name: str
    reached: Gate | None  # None: it has ended


@dataclass(slots=True)
class _Worker:
    """A thread, and the half of the baton that lets it go on."""

    thread: threading.Thread
    may_go_on: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    reached: Gate | None = None
    error: BaseException | None = None


Choice = Callable[[Sequence[str]], str]


class Scheduler:
    """Runs tasks by turns; `gates` are those at which a turn ends."""

    def __init__(self, gates: frozenset[Gate] = frozenset(Gate)) -> None:
        self._gates = gates
        self._workers: dict[str, _Worker] = {}
        self._names: dict[int, str] = {}  # by thread
        self._baton_is_back = threading.Semaphore(0)
        self.trace: list[Step] = []

    def run(self, tasks: Mapping[str, Callable[[], None]], choose: Choice) -> None:
        """Run the tasks to their ends; raises the error of the first one, by name, that ended with one."""
        for name, task in tasks.items():
            thread = threading.Thread(target=self._work, args=(name, task), name=name, daemon=True)
            self._workers[name] = _Worker(thread)
            thread.start()
        left = sorted(tasks)
        while left:
            name = choose(tuple(left)) if len(left) > 1 else left[0]
            worker = self._workers[name]
            worker.reached = None
            worker.may_go_on.release()
            if not self._baton_is_back.acquire(timeout=_STALLED_AFTER_S):
                raise RuntimeError(f"{name} waits for a thread that has not the baton; so far: {self.trace}")
            self.trace.append(Step(name, worker.reached))
            if worker.reached is None:
                worker.thread.join()
                left.remove(name)
        for name in sorted(tasks):
            if (error := self._workers[name].error) is not None:
                raise error

    def reach(self, gate: Gate) -> None:
        """Give the baton back, and wait for it; a thread that is none of the scheduler's goes on."""
        name = self._names.get(threading.get_ident())
        if name is None or gate not in self._gates:
            return
        self._workers[name].reached = gate
        self._baton_is_back.release()
        self._workers[name].may_go_on.acquire()

    def _work(self, name: str, task: Callable[[], None]) -> None:
        worker = self._workers[name]
        worker.may_go_on.acquire()
        self._names[threading.get_ident()] = name
        try:
            task()
        except BaseException as err:  # noqa: BLE001  # It is raised in the thread that runs the tasks.
            worker.error = err
        finally:
            del self._names[threading.get_ident()]
            self._baton_is_back.release()


class Script:
    """A schedule as numbers, each the place of who goes on among those who can; beyond its end the first goes on.

    `taken` holds what was chosen, `widths` among how many.
    """

    def __init__(self, numbers: Sequence[int] = ()) -> None:
        self._numbers = tuple(numbers)
        self.taken: list[int] = []
        self.widths: list[int] = []

    def __call__(self, names: Sequence[str]) -> str:
        at = len(self.taken)
        number = self._numbers[at] % len(names) if at < len(self._numbers) else 0
        self.taken.append(number)
        self.widths.append(len(names))
        return names[number]

    def following(self) -> Script | None:
        """Return the script of the next schedule, in the order of the numbers; None: this was the last."""
        for at in reversed(range(len(self.taken))):
            if self.taken[at] + 1 < self.widths[at]:
                return Script([*self.taken[:at], self.taken[at] + 1])
        return None

    def __str__(self) -> str:
        return "".join(map(str, self.taken))


def all_schedules(run: Callable[[Script], None]) -> Iterator[Script]:
    """Run every schedule there is, each once, and yield it when it is done."""
    script: Script | None = Script()
    while script is not None:
        run(script)
        yield script
        script = script.following()
