"""Lists on a terminal: a table where it fits, one block for each row where it does not; ids are never broken up.

Into a pipe goes one line for each row: every value, tabs between columns, no colours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

_SHOWN_MAX: Final = 3
_GAP: Final = 2

Cell = tuple[str, ...]  # One value, several, or none.


@dataclass(frozen=True, slots=True)
class Column:
    """What one value of each row means."""

    name: str
    is_number: bool = False
    is_spare: bool = False  # The first to go from a table that is too wide.
    in_headline: bool = False  # Of a row's block.


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows to be shown, and what is to be said of them."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()


def show(listing: Listing) -> None:
    """Print the list in the form that suits where it goes."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        for line in _lines(listing):
            typer.echo(line)
        for note in listing.notes:
            typer.echo(note, err=True)
        return
    if listing.rows:
        _show_rows(console, listing)
    for note in listing.notes:
        console.print(Text(note, style="dim"))


def _show_rows(console: Console, listing: Listing) -> None:
    spare = [column for column in listing.columns if column.is_spare]
    for fitting in range(len(spare), -1, -1):
        left_out = spare[fitting:]
        table = _table(listing, left_out)
        if Measurement.get(console, console.options.update(max_width=10_000), table).maximum <= console.width:
            console.print(table)
            if left_out:
                names = ", ".join(column.name for column in left_out)
                console.print(Text(f"Left out for want of width: {names} (--json has it).", style="dim"))
            return
    for row in listing.rows:
        _show_block(console, listing.columns, row)


def _table(listing: Listing, left_out: Sequence[Column]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    shown = [number for number, column in enumerate(listing.columns) if column not in left_out]
    for number in shown:
        column = listing.columns[number]
        table.add_column(column.name, justify="right" if column.is_number else "left", no_wrap=True)
    for row in listing.rows:
        table.add_row(*(Text("\n".join(_few(row[number]))) for number in shown))
    return table


def _show_block(console: Console, columns: Sequence[Column], row: Sequence[Cell]) -> None:
    headline = "  ".join(
        value for column, cell in zip(columns, row, strict=True) if column.in_headline for value in cell
    )
    console.print(Text(headline, style="bold"))
    block = Table.grid(padding=(0, _GAP, 0, 0), pad_edge=False)
    block.add_column(no_wrap=True, style="dim")
    block.add_column(overflow="fold")  # Only what is longer than a whole line.
    for column, cell in zip(columns, row, strict=True):
        if cell and not column.in_headline:
            block.add_row(f"  {column.name}", Text("\n".join(_few(cell))))
    console.print(block)


def _few(cell: Cell) -> Sequence[str]:
    """Return the values of a cell, or the first and the last of many."""
    if len(cell) <= _SHOWN_MAX:
        return [printable(value) for value in cell]
    return [printable(cell[0]), f"... {len(cell) - 2} more ...", printable(cell[-1])]


def _lines(listing: Listing) -> Iterator[str]:
    """Yield the names of the columns, then a line for each row."""
    yield "\t".join(column.name for column in listing.columns)
    for row in listing.rows:
        yield "\t".join(",".join(map(printable, cell)) for cell in row)


def printable(value: str) -> str:
    """Return the value with its control characters spelt out: an operation id may hold whatever its writer liked."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in value)
