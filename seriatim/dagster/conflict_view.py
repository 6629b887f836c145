"""Conflicts as a table in Markdown: what a person sees of them in the Dagster UI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from seriatim.conflict_events import ConflictEvent
from seriatim.dagster.markdown import listed, markdown_table, run_link
from seriatim.times import readable

_CONFLICTS: Final = 20
_HEADER: Final = ("time (UTC)", "loser", "attempt", "wasted", "its change", "winner", "the winner's change")


def conflicts_markdown(conflicts: Sequence[ConflictEvent], *, shown_max: int = _CONFLICTS) -> str:
    """Return the latest of the conflicts by the time at which they occurred, newest first.

    Runs are links within the Dagster UI.
    """
    latest = sorted(conflicts, key=lambda each: (-each.occurred_at_ms, each.event_id))[:shown_max]
    return markdown_table(_HEADER, map(_row, latest))


def _row(conflict: ConflictEvent) -> tuple[str, ...]:
    return (
        readable(conflict.occurred_at_ms),
        run_link(conflict.loser_run_id),
        str(conflict.attempt),
        f"{conflict.wasted_ms} ms",
        listed(conflict.loser_operation_ids),
        "names no run" if conflict.winner_run_id is None else run_link(conflict.winner_run_id),
        listed(conflict.winner_operation_ids),
    )
