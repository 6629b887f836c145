"""Whether commits that came between have touched what another one read or replaced, judged by the rows themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from seriatim.audit.landed import Landed
from seriatim.audit.past import CannotReadError, Rows
from seriatim.audit.records import Overtaken
from seriatim.audit.row_changes import RowChange, keys_of, net, shared, shown
from seriatim.audit.verdict import Findings, Kind
from seriatim.commit.reads import Reads


def judge_overtaken(
    rows: Rows,
    findings: Findings,
    commit: Landed,
    overtaken: Overtaken,
    *,
    own: RowChange | None,  # None: it changed no rows
    between: Sequence[RowChange],
    key_columns: Sequence[str],
) -> None:
    """Judge a commit that was computed from an older snapshot than the one that it landed on.

    What came in between and went again is no change: the rows are as the commit had seen them.
    """
    names = commit.operation_ids
    reads = commit.recorded.reads if commit.recorded else None
    try:
        found = _overlap(rows, reads, own, between, key_columns)
        if found is not None:
            found = _overlap(rows, reads, own, _lasting(between), key_columns)
    except CannotReadError as err:
        findings.leave(f"what it read cannot be compared with what came between: {err}", commit.snapshot_ids, names)
        return
    if found is not None:
        seen = (found.change.snapshot_id, *commit.snapshot_ids)
        findings.accuse(found.kind, found.what, seen, names, found.witness)
    elif between and (reads is None or reads.is_cut):
        why = "others committed after it was computed, and it does not say everything that it had read"
        findings.leave(why, commit.snapshot_ids, names)
    elif not overtaken.is_recorded:
        what = "it did not land on the base that it records, though nothing that it read was changed in between"
        findings.accuse(Kind.FALSE_RECORD, what, commit.snapshot_ids, names)


@dataclass(frozen=True, slots=True)
class _Overlap:
    """What a commit has missed of a change that came in between."""

    kind: Kind
    what: str
    change: RowChange
    witness: tuple[str, ...]


def _overlap(
    rows: Rows,
    reads: Reads | None,
    own: RowChange | None,
    between: Sequence[RowChange],
    key_columns: Sequence[str],
) -> _Overlap | None:
    for change in between:
        if overwritten := _overwritten(own, change, key_columns):
            what = f"it overwrote what snapshot {change.snapshot_id} had written after it was computed"
            return _Overlap(Kind.LOST_UPDATE, what, change, overwritten)
    if (touched := _touched(rows, reads, between)) is not None:
        change, witness = touched
        what = f"snapshot {change.snapshot_id} changed what it had read, and it was not computed again"
        return _Overlap(Kind.WRITE_SKEW, what, change, witness)
    return None


def _lasting(changes: Sequence[RowChange]) -> list[RowChange]:
    """Return the changes without the rows that others of them take back."""
    together = net([change.come for change in changes], [change.gone for change in changes])
    if together is None:
        return []
    come, gone = together
    return [replace(each, come=shared(each.come, come), gone=shared(each.gone, gone)) for each in changes]


def _overwritten(own: RowChange | None, change: RowChange, key_columns: Sequence[str]) -> tuple[str, ...]:
    """Return rows that the earlier change wrote and the later took away, or took away and the later wrote again."""
    if own is None:
        return ()
    if (lost := shared(own.gone, change.come)).num_rows:
        return (*shown(lost, "overwritten: "), *shown(own.come, "with: "))
    if not key_columns or not own.come.num_rows or not change.gone.num_rows:
        return ()
    deleted = set(keys_of(change.gone, key_columns)) - set(keys_of(change.come, key_columns))
    back = own.come.filter(pa.array([key in deleted for key in keys_of(own.come, key_columns)], pa.bool_()))
    return shown(back, "deleted, and written again: ")


def _touched(rows: Rows, reads: Reads | None, between: Sequence[RowChange]) -> tuple[RowChange, tuple[str, ...]] | None:
    for condition in reads.conditions if reads is not None else ():
        for change in between:
            for sign, some in (("came: ", change.come), ("went: ", change.gone)):
                if some.num_rows and (found := rows.matching(some, condition)).num_rows:
                    return change, shown(found, sign)
    return None
