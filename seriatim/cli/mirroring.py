"""The command `mirror`: once, or watching."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import typer
from pyiceberg.catalog import Catalog

from seriatim.cli import documents, mirror_views
from seriatim.cli.progress import mirror_progress
from seriatim.cli.watching import Stop, StoppedError, watched
from seriatim.mirror import MirrorReceipt, OnGap, Progress, mirror
from seriatim.system import Clock


@dataclass(frozen=True, slots=True)
class Mirroring:
    """What is to be mirrored, and how."""

    catalog: Catalog
    source: str
    table: str
    upto: int | None
    batch: int | None
    on_gap: OnGap
    start_over: bool
    check_files: bool
    location: str | None
    storage_options: Mapping[str, str]
    is_json: bool

    def run(self) -> None:
        """Mirror what is there, and say what was done."""
        receipt = self.once(None)
        if self.is_json:
            documents.print_json(mirror_views.mirror_document(self.table, receipt))
        else:
            typer.echo("\n".join(mirror_views.mirror_lines(self.table, receipt)))

    def watch(self, clock: Clock, interval_s: float) -> None:
        """Go on as the Delta table does; of the rounds after the first, tell of those that change something.

        Raises:
            Exit: it was asked to end.
        """
        stop, rounds = Stop(), _Rounds(self)
        with stop.listening():
            try:
                for receipt in watched(rounds, stop, clock, interval_s=interval_s, upto=self.upto):
                    self._tell(receipt, is_first=rounds.count == 1)
            except StoppedError as asked:
                typer.echo(f"seriatim: ended by {asked.name}; what has landed has landed", err=True)
                raise typer.Exit(asked.exit_code) from None

    def once(self, check: Callable[[], None] | None, *, is_silent: bool = False) -> MirrorReceipt:
        """Mirror what is there; `check` is called whenever a batch has landed."""
        with mirror_progress(is_silent=is_silent or self.is_json) as show:

            def tell(progress: Progress) -> None:
                if show is not None:
                    show(progress)
                if check is not None:
                    check()

            return mirror(
                self.source,
                self.catalog,
                self.table,
                upto=self.upto,
                batch=self.batch,
                on_gap=self.on_gap,
                start_over=self.start_over,
                check_files=self.check_files,
                location=self.location,
                storage_options=self.storage_options,
                progress=tell,
            )

    def _tell(self, receipt: MirrorReceipt, *, is_first: bool) -> None:
        if not (is_first or receipt.landed or receipt.found_landed or receipt.conflicts or receipt.lag):
            return
        if self.is_json:
            documents.print_json_line(mirror_views.mirror_document(self.table, receipt))
        elif is_first:
            typer.echo("\n".join(mirror_views.mirror_lines(self.table, receipt)))
        else:
            typer.echo(mirror_views.watch_line(self.table, receipt))


@dataclass(slots=True)
class _Rounds:
    """Mirrors again and again; only the first round may start over, and shows how far it is."""

    work: Mirroring
    count: int = 0

    def __call__(self, check: Callable[[], None]) -> MirrorReceipt:
        """Mirror once more; `check` is called whenever a batch has landed."""
        work = self.work if self.count == 0 else replace(self.work, start_over=False)
        self.count += 1
        return work.once(check, is_silent=self.count > 1)
