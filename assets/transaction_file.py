"""Columns of transactions as they are stored, in Parquet, CSV or a table; what they mean is checked elsewhere."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from assets.errors import Place, Problem, TransactionsError


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One column as it was read, and the means to complain about one of its rows."""

    place: Place
    name: str
    values: pa.ChunkedArray

    def require(self, is_good: pa.ChunkedArray, problem: Problem) -> None:
        """Raise `problem` for the first row that is not good (null counts as not good)."""
        index = pc.index(pc.fill_null(is_good, False), False).as_py()
        if index >= 0:
            raise self.error(problem, index)

    def convert(self, cast: Callable[[pa.ChunkedArray], pa.ChunkedArray], problem: Problem) -> pa.ChunkedArray:
        """Return the values as `cast` makes them, or raise `problem` for the first row that it refuses."""
        try:
            return cast(self.values)
        except pa.ArrowInvalid as err:
            raise self.error(problem, _first_refused(cast, self.values)) from err

    def error(self, problem: Problem, index: int) -> TransactionsError:
        """Build the error about the row at `index`, with the value that stands there."""
        scalar = self.values[index]
        if pa.types.is_temporal(scalar.type) and scalar.is_valid:
            value: object = scalar.cast(pa.string()).as_py()  # Not every stored day or time is a Python date.
        else:
            value = scalar.as_py()
        return TransactionsError(self.place, problem, row=index + 1, column=self.name, value=value)


def column_names(path: Path) -> list[str]:
    """List the file's columns in their order.

    Raises:
        TransactionsError: the file is missing, of an unknown format, or cannot be read.
    """
    if not path.exists():
        raise TransactionsError(path, Problem.MISSING_FILE)
    try:
        match path.suffix.lower():
            case ".parquet":
                with pq.ParquetFile(path) as file:
                    return list(file.schema_arrow.names)
            case ".csv":
                with path.open(encoding="utf-8-sig", newline="") as lines:
                    return next(csv.reader(lines), [])
    except (pa.ArrowException, OSError, UnicodeDecodeError, csv.Error) as err:
        raise TransactionsError(path, Problem.UNREADABLE_FILE, reason=str(err)) from err
    raise TransactionsError(path, Problem.UNKNOWN_FORMAT)


def read_columns(path: Path, names: Sequence[str]) -> dict[str, Column]:
    """Read the named columns, none of which has a null; those of a CSV file are text.

    Raises:
        TransactionsError: the file or one of the columns is not there, cannot be read, or has a null.
    """
    present = column_names(path)
    for name in names:
        if name not in present:
            raise TransactionsError(path, Problem.LACKING_COLUMN, column=name)
        if present.count(name) > 1:
            raise TransactionsError(path, Problem.REPEATED_COLUMN, column=name)
    try:
        table = _read_csv(path, names) if path.suffix.lower() == ".csv" else _read_parquet(path, names)
    except (pa.ArrowException, OSError) as err:
        raise TransactionsError(path, Problem.UNREADABLE_FILE, reason=str(err)) from err
    return columns_of(table, path)


def columns_of(table: pa.Table, place: Place) -> dict[str, Column]:
    """Return the columns of a table that has been read, none of which has a null.

    Raises:
        TransactionsError: one of them has.
    """
    columns = {name: Column(place, name, _plain(table.column(name))) for name in table.column_names}
    for column in columns.values():
        column.require(column.values.is_valid(), Problem.NULL)
    return columns


def _read_parquet(path: Path, names: Sequence[str]) -> pa.Table:
    with pq.ParquetFile(path) as file:
        return file.read(columns=list(names))


def _read_csv(path: Path, names: Sequence[str]) -> pa.Table:
    ragged_rows: list[int] = []

    def stop_at(row: pacsv.InvalidRow) -> str:
        ragged_rows.append(row.number - 1)  # The number counts the header.
        return "error"

    try:
        return pacsv.read_csv(
            path,
            read_options=pacsv.ReadOptions(use_threads=False),  # Only then are invalid rows numbered.
            parse_options=pacsv.ParseOptions(newlines_in_values=True, invalid_row_handler=stop_at),
            convert_options=pacsv.ConvertOptions(
                include_columns=list(names),
                column_types={name: pa.string() for name in names},  # Amounts never pass through a float.
                strings_can_be_null=True,
                null_values=[""],  # Only what is empty is absent: "NaN" or "null" is a bad value.
            ),
        )
    except pa.ArrowInvalid as err:
        if ragged_rows:
            raise TransactionsError(path, Problem.RAGGED_ROW, row=ragged_rows[0]) from err
        raise


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Undo the encodings that other writers choose for the same values."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.cast(kind.value_type)
    is_other_text = pa.types.is_large_string(values.type) or pa.types.is_string_view(values.type)
    return values.cast(pa.string()) if is_other_text else values


def _first_refused(cast: Callable[[pa.ChunkedArray], pa.ChunkedArray], values: pa.ChunkedArray) -> int:
    """Find the first row that `cast` refuses; a prefix is refused if and only if it holds such a row."""
    cast(values.slice(0, 0))  # Refuses no row: what fails here is the cast itself, and must not pass for bad input.
    accepted, refused = 0, len(values)
    while refused - accepted > 1:
        middle = (accepted + refused) // 2
        try:
            cast(values.slice(0, middle))
        except pa.ArrowInvalid:
            refused = middle
        else:
            accepted = middle
    return accepted
