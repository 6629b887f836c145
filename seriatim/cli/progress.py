"""How far the removal of orphans, or a mirror, has come, on a terminal; nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from seriatim.mirror import Progress as MirrorProgress
from seriatim.upkeep import Progress as OrphanProgress

Tell = Callable[..., None]
"""Changes the bar: its description, and how much of how much is done."""


@contextmanager
def orphan_progress(*, is_silent: bool) -> Iterator[Callable[[OrphanProgress], None] | None]:
    """Give a function to call as files are listed and removed; None where nobody would see it."""
    with _bar("expiring, compacting", is_silent=is_silent) as change:  # How many files there are is not known before.
        if change is None:
            yield None
            return

        def tell(how_far: OrphanProgress) -> None:
            listed, removed = f"{how_far.files_listed:,} files listed", f"{how_far.removed:,} removed"
            change(description=f"{listed}, {how_far.orphans:,} orphans, {removed}")

        yield tell


@contextmanager
def mirror_progress(*, is_silent: bool) -> Iterator[Callable[[MirrorProgress], None] | None]:
    """Give a function to call as versions land; None where nobody would see it."""
    with _bar("reading the Delta log", is_silent=is_silent) as change:  # The first batch tells how far there is to go.
        if change is None:
            yield None
            return

        def tell(how_far: MirrorProgress) -> None:
            said = f"version {how_far.version:,} of {how_far.upto:,} has landed"
            change(total=how_far.upto + 1, completed=how_far.version + 1, description=said)

        yield tell


@contextmanager
def _bar(description: str, *, is_silent: bool) -> Iterator[Tell | None]:
    """Show a bar without an end yet, and give what changes it; None where nobody would see it."""
    console = Console(stderr=True)
    if is_silent or not console.is_terminal:
        yield None
        return
    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True) as bar:
        yield partial(bar.update, bar.add_task(description, total=None))
