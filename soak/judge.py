"""The verdict: the table against the model, and what the ledger says of every operation that somebody has begun."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from seriatim.inspection.lookup import Applied, NotApplied, lookup
from soak.changes import TABLE
from soak.load import Course, Settings
from soak.model import replay
from soak.place import Place
from soak.task import name_of

_LOOKED_UP_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was compared, and what is wrong; all is well if `problems` is empty."""

    problems: tuple[str, ...]
    operations: int
    accounts: int
    looked_up: int
    snapshots_read: int


def judge(place: Place, settings: Settings, course: Course) -> Judgement:
    """Compare the table with the model after the operations that were seen to land, in their order."""
    catalog = place.catalog()
    table = catalog.load_table(TABLE)
    landed = course.observer.operation_ids
    has_landed = frozenset(landed)
    problems = [*course.observer.problems]
    problems += [f"{name} landed {times} times" for name, times in Counter(landed).items() if times > 1]
    expected = replay(landed)
    problems += _differences(expected, table)
    begun = _begun(place, settings)
    problems += [f"{name} was said to be done, and did not land" for name in begun.done if name not in has_landed]
    problems += [f"{name} landed, and nobody has begun it" for name in landed if name not in begun.issued_at_ms]
    asked = _sample_of(begun, settings)
    problems += [problem for name in asked if (problem := _wrong(catalog, name, asked[name], name in has_landed))]
    read, unreadable = _read_all(table)
    catalog.engine.dispose()
    return Judgement((*problems, *unreadable), len(landed), len(expected), len(asked), read)


@dataclass(frozen=True, slots=True)
class _Begun:
    issued_at_ms: Mapping[str, int]  # by operation
    done: frozenset[str]


def _begun(place: Place, settings: Settings) -> _Begun:
    issued_at_ms: dict[str, int] = {}
    done: set[str] = set()
    for writer in range(settings.writers):
        for entry in place.log(f"writer-{writer}").read():
            name = name_of(settings.seed, writer, entry["number"])
            issued_at_ms[name] = entry["issued_at_ms"]
            if "attempts" in entry:
                done.add(name)
    return _Begun(issued_at_ms, frozenset(done))


def _sample_of(begun: _Begun, settings: Settings) -> dict[str, int]:
    """Choose what to look up: whatever was begun and not ended, some of the rest, and some that never were."""
    left = [name for name in begun.issued_at_ms if name not in begun.done]
    others = sorted(begun.done)
    chosen = left + Random(settings.seed).sample(others, min(len(others), _LOOKED_UP_MAX))
    latest = max(begun.issued_at_ms.values(), default=0)
    never = {name_of(settings.seed, settings.writers, number): latest for number in range(20)}
    return {name: begun.issued_at_ms[name] for name in chosen} | never


def _wrong(catalog: Catalog, name: str, issued_at_ms: int, has_landed: bool) -> str | None:
    found = lookup(catalog, TABLE, name, issued_at_ms=issued_at_ms)
    if isinstance(found, Applied if has_landed else NotApplied):
        return None
    return f"{name}: {'landed' if has_landed else 'did not land'}, and the ledger says {type(found).__name__}"


def _differences(expected: Mapping[int, int], table: Table) -> list[str]:
    rows = table.scan().to_arrow()
    actual = dict(zip(rows["id"].to_pylist(), rows["bal"].to_pylist(), strict=True))
    problems = [f"{rows.num_rows - len(actual)} rows are double"] if rows.num_rows != len(actual) else []
    return problems + [
        f"account {account}: the table has {actual.get(account)}, the model {expected.get(account)}"
        for account in sorted(expected.keys() | actual.keys())
        if expected.get(account) != actual.get(account)
    ]


def _read_all(table: Table) -> tuple[int, list[str]]:
    """Read every snapshot that is left, to the last file."""
    problems: list[str] = []
    for snapshot in table.metadata.snapshots:
        try:
            table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
        except OSError as err:
            problems.append(f"snapshot {snapshot.snapshot_id} cannot be read: {err}")
    return len(table.metadata.snapshots), problems
