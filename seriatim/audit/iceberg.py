"""Fills the judge's values from an Iceberg table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Identifier

from seriatim.audit.iceberg_rows import IcebergRows
from seriatim.audit.invariants import Bounds, Invariant, UniqueKey, columns_of
from seriatim.audit.judging import judge
from seriatim.audit.limits import Limits
from seriatim.audit.past import Past, Recorded, Step
from seriatim.audit.recorded import step_of
from seriatim.audit.verdict import Verdict
from seriatim.commit.lineage import is_beginning, walk
from seriatim.commit.pin import Pin
from seriatim.commit.reads import Reads
from seriatim.errors import AuditRefusedError
from seriatim.inspection.history import is_ledger_whole


def audit(
    catalog: Catalog,
    identifier: str | Identifier,
    invariants: Sequence[Invariant] = (),
    *,
    branch: str = MAIN_BRANCH,
    since: int | None = None,
    limits: Limits | None = None,
) -> Verdict:
    """Judge from the table alone whether its commits are what a serial order of them would have left.

    `since` is a snapshot: only what came after it is judged, and its own state is taken as it is. Nothing is written.

    Raises:
        AuditRefusedError: an invariant names a column that the table has not, or of a type that it cannot be about.
        InvalidChangeError: there is no such branch.
    """
    table = catalog.load_table(identifier)
    schema = table.schema()
    _require_columns(".".join(table.name()), schema, invariants)
    return judge(
        past_of(table, branch),
        IcebergRows(table),
        invariants,
        identifier=sorted(schema.identifier_field_names()),
        since=since,
        limits=limits,
    )


def past_of(table: Table, branch: str = MAIN_BRANCH) -> Past:
    """Return the lineage of a branch of a table as it was loaded.

    Raises:
        InvalidChangeError: there is no such branch.
    """
    pin = Pin.of(table, branch)
    snapshots = list(walk(table.metadata, pin.snapshot_id))[::-1]
    steps = tuple(_step(table, snapshot) for snapshot in snapshots)
    name = ".".join(table.name())
    if not steps:
        return Past(name, branch, ())
    part = steps[0].recorded.part if steps[0].recorded is not None else None
    is_cut = not is_beginning(snapshots[0]) or (part is not None and part[0] > 1)
    is_vouched_for = is_cut and is_ledger_whole(table, pin)
    oldest = snapshots[0]
    return Past(
        name,
        branch,
        steps,
        is_cut=is_cut,
        is_cut_certain=bool(oldest.parent_snapshot_id or oldest.sequence_number or steps[0].recorded),
        is_cut_vouched_for=is_vouched_for,
        ledger_missing=_missing_ledger(table, steps),
    )


def _step(table: Table, snapshot: Snapshot) -> Step:
    step = step_of(snapshot)
    if step.recorded is None:
        return step
    return replace(step, recorded=_in_todays_columns(table, snapshot, step.recorded))


def _in_todays_columns(table: Table, snapshot: Snapshot, recorded: Recorded) -> Recorded:
    """Return what a commit records without what it says of columns whose names mean others today."""
    if snapshot.schema_id in (None, table.metadata.current_schema_id):
        return recorded
    then = next((each for each in table.metadata.schemas if each.schema_id == snapshot.schema_id), None)
    now = {field.name: field.field_id for field in table.schema().fields}
    of_others = (
        {field.name for field in then.fields if now.get(field.name, field.field_id) != field.field_id}
        if (then)
        else set(now)
    )
    if not of_others:
        return recorded
    sums = {name: total for name, total in recorded.sums.items() if name not in of_others}
    return replace(recorded, sums=sums, reads=Reads((), is_cut=True))


def _missing_ledger(table: Table, steps: Sequence[Step]) -> str | None:
    """Return where the ledger file of the newest commit that carries a ledger should be, if it is not there."""
    pages = (step.recorded.page for step in reversed(steps) if step.recorded is not None)
    page = next((page for page in pages if page is not None), None)
    if page is None or page.file is None or table.io.new_input(page.file.location).exists():
        return None
    return page.file.location


def _require_columns(table: str, schema: Schema, invariants: Sequence[Invariant]) -> None:
    columns = {field.name: field.type for field in schema.as_arrow()}
    for invariant in invariants:
        for column in columns_of(invariant):
            if column not in columns:
                reason = f"is not among {list(columns)}"
                raise AuditRefusedError(table, invariant=str(invariant), column=column, reason=reason)
            if not isinstance(invariant, UniqueKey) and not _is_number(columns[column], invariant):
                raise AuditRefusedError(
                    table, invariant=str(invariant), column=column, reason=f"is {columns[column]}, and not a number"
                )


def _is_number(type_: pa.DataType, invariant: Invariant) -> bool:
    is_float = pa.types.is_floating(type_)
    is_whole = pa.types.is_integer(type_) or pa.types.is_decimal(type_)
    return is_whole or is_float or (isinstance(invariant, Bounds) and pa.types.is_primitive(type_))
