"""A table as thousands of PyIceberg's overwrites leave it, without the hours that they take.

The first are PyIceberg's own. What the last of them added to the metadata - snapshots and log entries - is then there
so many times more. The current manifest list is its own, since it does not grow: there is one live file, and an append
leaves out manifests that list none. No overwrite reads the lists of earlier snapshots: all are that of one.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.restarts import head_of
from benchmarks.systems.iceberg import local
from benchmarks.systems.textbook import Textbook, TextbookSession
from seriatim.system import new_id

Fields = dict[str, Any]  # A record as the specification has it.
_GENUINE: Final = 5
_METADATA_FILES_MAX: Final = 100  # Iceberg's default.


@dataclass(frozen=True, slots=True)
class History:
    """A table that so many overwrites were made on."""

    folder: Path
    location: str  # of its metadata file
    balance: int


def textbook_history(folder: Path, commits: int) -> History:
    """Make it."""
    Textbook().create(folder)
    session = TextbookSession(folder)
    before = after = head_of(folder)
    for _ in range(min(commits, _GENUINE)):
        session.increment()
        before, after = after, head_of(folder)
    balance = session.read()
    session.close()
    more = commits - balance
    return History(folder, _continued(before, after, more) if more else after, balance)


def _continued(before: str, after: str, times: int) -> str:
    """Return a metadata file in which the overwrite that led from one to the other was made so many times more."""
    old, new = (_metadata(location) for location in (before, after))
    length = len(old["snapshots"])
    repeated, chance = new["snapshots"][length:], random.Random(1)
    copies = [{**each, "snapshot-id": chance.getrandbits(62)} for _ in range(times) for each in repeated]
    snapshots = [*old["snapshots"], *copies, *repeated]
    for parent, child in zip(snapshots[length - 1 :], snapshots[length:], strict=False):
        child["parent-snapshot-id"] = parent["snapshot-id"]
        child["sequence-number"] = parent["sequence-number"] + 1
    logged, head = len(old["snapshot-log"]), snapshots[-1]
    continued = {
        **new,
        "snapshots": snapshots,
        "last-sequence-number": head["sequence-number"],
        "snapshot-log": [*old["snapshot-log"], *(new["snapshot-log"][logged:] * times), *new["snapshot-log"][logged:]],
        "metadata-log": (new["metadata-log"] + new["metadata-log"][-1:] * times)[:_METADATA_FILES_MAX],
    }
    location = f"{new['location']}/metadata/{len(snapshots):05}-{new_id()}.metadata.json"
    local(location).write_text(json.dumps(continued), encoding="utf-8")
    return location


def _metadata(location: str) -> Fields:
    fields: Fields = json.loads(local(location).read_text(encoding="utf-8"))
    return fields
