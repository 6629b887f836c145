"""What must be true of a table after every commit, as its owner declares it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """No two rows have the same values in these columns."""

    columns: tuple[str, ...]

    def __init__(self, *columns: str) -> None:
        """Take the columns one by one: `UniqueKey("id")`."""
        if not columns:
            raise ValueError("UniqueKey needs at least one column")
        object.__setattr__(self, "columns", columns)

    def __str__(self) -> str:
        """Say it as a person would."""
        return f"{', '.join(self.columns)} is unique"


@dataclass(frozen=True, slots=True)
class ConstantSum:
    """The column's total never changes, as that of balances under transfers."""

    column: str

    def __str__(self) -> str:
        """Say it as a person would."""
        return f"the sum of {self.column} is constant"


@dataclass(frozen=True, slots=True)
class SumsAsRecorded:
    """Each commit moves the column's total by what it declares (`Declared.sums`), and nothing else moves it."""

    column: str

    def __str__(self) -> str:
        """Say it as a person would."""
        return f"the sum of {self.column} moves as recorded"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Every value of the column lies between the two, both included; a null is no value."""

    column: str
    at_least: int | float | None = None  # None: no bound
    at_most: int | float | None = None

    def __str__(self) -> str:
        """Say it as a person would."""
        low = f"{self.at_least} <= " if self.at_least is not None else ""
        return f"{low}{self.column}" + (f" <= {self.at_most}" if self.at_most is not None else "")


Invariant = UniqueKey | ConstantSum | SumsAsRecorded | Bounds


def columns_of(invariant: Invariant) -> tuple[str, ...]:
    """Return the columns that the invariant is about."""
    return invariant.columns if isinstance(invariant, UniqueKey) else (invariant.column,)
