"""Reads what snapshots say of themselves into the values that the judge takes."""

from __future__ import annotations

import json

from pyiceberg.table.snapshots import Snapshot

from seriatim.audit.past import Recorded, Step, StreamStep
from seriatim.commit import ledger_words, mirrors, reads, summary


def step_of(snapshot: Snapshot) -> Step:
    """Return one snapshot with what it records; words that are damaged count as none, and are told."""
    recorded, damage = None, None
    try:
        recorded = _recorded(snapshot)
    except (ValueError, TypeError, AttributeError, KeyError) as err:
        damage = str(err) or type(err).__name__
    engine = [summary.word(snapshot, name) for name in ("engine-name", "engine-version")]
    return Step(
        snapshot_id=snapshot.snapshot_id,
        sequence_number=snapshot.sequence_number or 0,
        committed_at_ms=snapshot.timestamp_ms,
        operation=snapshot.summary.operation.value if snapshot.summary is not None else None,
        parent_id=snapshot.parent_snapshot_id,
        files_total=_total(snapshot, "total-data-files"),
        records_total=_total(snapshot, "total-records"),
        recorded=recorded,
        damage=damage,
        made_by=" ".join(word for word in engine if word) or None,
        mirrored=mirrors.delta_versions(snapshot),
    )


def _recorded(snapshot: Snapshot) -> Recorded | None:
    commit_id = summary.word(snapshot, summary.COMMIT_ID)
    if commit_id is None:
        return None
    base = summary.base_snapshot_id(snapshot)
    described = summary.word(snapshot, summary.READS_JSON)
    step = json.loads(summary.word(snapshot, ledger_words.OWN_STREAM) or "null")
    part = summary.word(snapshot, summary.PART)
    number, _, count = (part or "1/1").partition("/")
    has_ledger = ledger_words.format_of(snapshot) == ledger_words.FORMAT
    return Recorded(
        commit_id=commit_id,
        operation_ids=_names(snapshot),
        base_snapshot_id=base if isinstance(base, int) else None,
        base_sequence_number=_number(snapshot, summary.BASE_SEQUENCE_NUMBER),
        computed_on_snapshot_id=_number(snapshot, summary.COMPUTED_ON),
        reads=reads.decoded(described) if described is not None else None,
        part=(int(number), int(count)) if part is not None else None,
        rows_added=_number(snapshot, summary.ROWS_ADDED),
        rows_removed=_number(snapshot, summary.ROWS_REMOVED),
        sums={str(name): int(total) for name, total in json.loads(_word(snapshot, summary.SUMS, "{}")).items()},
        step=StreamStep(str(step[0]), step[1], int(step[2])) if step is not None else None,
        page=ledger_words.page_before(snapshot) if has_ledger else None,
        run_id=summary.run_id(snapshot),
    )


def _names(snapshot: Snapshot) -> tuple[str, ...]:
    names = json.loads(_word(snapshot, summary.OPERATION_IDS, "[]"))
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{summary.OPERATION_IDS} is no list of names")
    return tuple(names)


def _word(snapshot: Snapshot, key: str, otherwise: str) -> str:
    return summary.word(snapshot, key) or otherwise


def _number(snapshot: Snapshot, key: str) -> int | None:
    text = summary.word(snapshot, key)
    return int(text) if text is not None else None


def _total(snapshot: Snapshot, key: str) -> int | None:
    text = summary.word(snapshot, key)
    return int(text) if text is not None and text.isdigit() else None
