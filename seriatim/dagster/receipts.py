"""A receipt as the metadata of a materialization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dagster as dg

from seriatim.commit import Receipt
from seriatim.dagster.conflicts import snapshot_text


def receipt_metadata(receipt: Receipt) -> dict[str, dg.MetadataValue[Any]]:
    """Return what landed, where, on which base and at what price; snapshot ids are text, what can be plotted a number.

    `already_applied` is there when the launch has a name to be known by: whether everything it stands for had landed
    before. `applied_before` then maps what had to the snapshot that did it.
    """
    return {
        "operation_ids": dg.MetadataValue.json(list(receipt.operation_ids)),
        "base_snapshot_id": snapshot_text(receipt.base_snapshot_id),
        "committed_snapshot_id": snapshot_text(receipt.snapshot_ids[-1] if receipt.snapshot_ids else None),
        "operations_applied": dg.MetadataValue.int(_applied_now(receipt)),
        "attempts": dg.MetadataValue.int(receipt.attempts),
        "conflicts": dg.MetadataValue.int(len(receipt.conflicts)),
        "rows_changed": dg.MetadataValue.int(receipt.rows_written),
        "rows_removed": dg.MetadataValue.int(receipt.rows_removed),
        "waited_ms": dg.MetadataValue.int(round(receipt.waited_s * 1000)),
        "queued_ms": dg.MetadataValue.int(round(receipt.queued_s * 1000)),
        "wasted_ms": dg.MetadataValue.int(round(receipt.wasted_s * 1000)),
        "took_ms": dg.MetadataValue.int(round(receipt.took_s * 1000)),
        **_applied_before(receipt, receipt.operation_ids),
    }


def operation_metadata(receipt: Receipt, operation_id: str) -> dict[str, dg.MetadataValue[Any]]:
    """Return what of `receipt_metadata` is different for one operation of several: its own id, and who applied it.

    For `context.add_asset_metadata(..., partition_key=...)`: a range of n partitions is n events, each of which would
    otherwise carry all n ids.
    """
    return {"operation_ids": dg.MetadataValue.json([operation_id]), **_applied_before(receipt, [operation_id])}


def outcome_sentence(receipt: Receipt) -> str:
    """Return in one line what became of the operations, for the run's log."""
    earlier = sorted({_snapshot(snapshot_id) for snapshot_id in receipt.already_applied.values()})
    if receipt.is_noop and earlier:
        return f"{receipt.table}: already applied at snapshot {', '.join(earlier)}; nothing was written."
    if receipt.is_noop:
        return f"{receipt.table}: nothing to write."
    rest = f"; {len(receipt.already_applied)} operation(s) had been applied before" if receipt.already_applied else ""
    return (
        f"{receipt.table}: {receipt.rows_written} row(s) at snapshot {receipt.snapshot_ids[-1]}, "
        f"attempt {receipt.attempts}{rest}."
    )


def _applied_before(receipt: Receipt, operation_ids: Sequence[str]) -> dict[str, dg.MetadataValue[Any]]:
    if not operation_ids:
        return {}
    applied = receipt.already_applied
    before = {each: _snapshot(applied[each]) for each in operation_ids if each in applied}
    return {
        "already_applied": dg.MetadataValue.bool(len(before) == len(operation_ids)),
        "applied_before": dg.MetadataValue.json(before),
    }


def _applied_now(receipt: Receipt) -> int:
    return 0 if receipt.is_noop else len(receipt.operation_ids) - len(receipt.already_applied)


def _snapshot(snapshot_id: int | None) -> str:
    """Return a snapshot as text; a partition that was applied long ago is remembered without its snapshot."""
    return "not remembered" if snapshot_id is None else str(snapshot_id)
