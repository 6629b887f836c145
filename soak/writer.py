"""The processes of a soak: writers that do one operation after another, and upkeep."""

from __future__ import annotations

from typing import Any, Final

from seriatim.errors import SeriatimError
from seriatim.system import SystemClock
from seriatim.upkeep import compact, expire, remove_orphans
from soak.changes import POLICY, TABLE, do
from soak.place import Place
from soak.task import name_of, task_of

UPKEEP_EVERY_S: Final = 15.0
ORPHANS_OLDER_S: Final = 2 * POLICY.total_s_max  # No attempt is as old as that, so that its files are none.
_TARGET_BYTES: Final = 64 * 1024 * 1024


def write(place: Place, seed: int, writer: int, until_s: float) -> None:
    """Do operations until the time has come; begin with the one that an earlier process of the same writer left."""
    clock, catalog, log = SystemClock(), place.catalog(), place.log(f"writer-{writer}")
    number, begun = 0, {}
    for entry in log.read():
        begun[entry["number"]] = entry["issued_at_ms"]
        number = entry["number"] + ("attempts" in entry)
    while clock.monotonic_s() < until_s:
        issued_at_ms = begun.get(number) or clock.now_ms()
        about: dict[str, Any] = {"number": number, "issued_at_ms": issued_at_ms}
        task = task_of(name_of(seed, writer, number))
        log.write({**about, "begun_s": (begun_s := clock.monotonic_s())})
        try:
            receipt = do(catalog, task, issued_at_ms=issued_at_ms)
        except SeriatimError as err:  # It is done again: by its name it cannot be done twice.
            log.write({**about, "error": type(err).__name__, "said": str(err), "ended_s": clock.monotonic_s()})
            continue
        ended_s = clock.monotonic_s()
        log.write(
            {
                **about,
                "kind": task.kind,
                "ended_s": ended_s,
                "latency_s": ended_s - begun_s,
                "attempts": receipt.attempts,
                "rebases": receipt.rebases,
                "is_noop": receipt.is_noop,
            }
        )
        number += 1


def keep_up(place: Place, until_s: float) -> None:
    """Expire, compact and remove orphans, again and again, until the time has come."""
    clock, catalog, log = SystemClock(), place.catalog(), place.log("upkeep")
    while (left_s := until_s - clock.monotonic_s()) > 0:
        clock.wait_s(min(UPKEEP_EVERY_S, left_s))
        begun_s = clock.monotonic_s()
        entry: dict[str, Any] = {}
        try:
            entry["expired"] = len(expire(catalog, TABLE, dry_run=False).expired)
            entry["compacted"] = compact(catalog, TABLE, target_bytes=_TARGET_BYTES, policy=POLICY).files_removed
            orphans = remove_orphans(catalog, TABLE, older_than_s=ORPHANS_OLDER_S, accepts_any_age=True, dry_run=False)
            entry["orphans_removed"] = orphans.removed
        except SeriatimError as err:
            entry |= {"error": type(err).__name__, "said": str(err)}
        log.write({**entry, "ended_s": clock.monotonic_s(), "took_s": clock.monotonic_s() - begun_s})
