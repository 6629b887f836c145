"""The arguments and options that commands share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Final

import typer

_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_HIDDEN_LENGTH_MIN: Final = 8  # Shorter ones, such as `true`, are no secrets, and are parts of words.
_INTERVAL_S_MIN: Final = 0.1
_INTERVAL_S_MAX: Final = 24 * 3600
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)([smhd])", re.ASCII)


class OnGap(StrEnum):
    """What to do where versions are gone from the Delta log."""

    FAIL = "fail"
    SNAPSHOT = "snapshot"


def _identifier(text: str) -> str:
    if not all(text.split(".")) or "." not in text:
        raise typer.BadParameter(f"{text!r} is not of the form namespace.table")
    return text


def _catalog_names() -> list[str]:
    from seriatim.cli.catalogs import known_catalogs

    return known_catalogs()


def time_ms(text: str) -> int:
    """Return milliseconds since 1970-01-01 UTC; a time without a zone is one of UTC.

    Raises:
        BadParameter: it is no ISO-8601 time.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no ISO-8601 time, such as 2026-11-30T02:30:00Z") from None
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def duration_s(text: str) -> float:
    """Return the seconds of a duration such as 90m, 12h or 3d.

    Raises:
        BadParameter: it is none.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise typer.BadParameter(f"{text!r} is no duration, such as 90m, 12h or 3d")
    return float(match[1]) * _UNITS_S[match[2]]


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """Between which values a column lies; light enough to be made before a command runs."""

    column: str
    at_least: int | float | None
    at_most: int | float | None


def bounds(text: str) -> ColumnBounds:
    """Return the bounds that a text such as bal:0:100, bal:0: or bal::100 stands for.

    Raises:
        BadParameter: it is of another form.
    """
    column, *ends = text.rsplit(":", 2)
    try:
        low, high = (_number(end) for end in ends)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not of the form COLUMN:MIN:MAX, such as bal:0: or bal:0:100") from None
    if not column or (low is None and high is None):
        raise typer.BadParameter(f"{text!r} bounds nothing; say COLUMN:MIN:MAX, such as bal:0: or bal:0:100")
    return ColumnBounds(column, low, high)


@dataclass(frozen=True, slots=True)
class StorageOption:
    """A setting of the Delta table's object store."""

    key: str
    value: str

    @property
    def is_hidden(self) -> bool:
        """Whether its value, which may be a secret whatever its key says, is struck out of what is printed."""
        return len(self.value) >= _HIDDEN_LENGTH_MIN


def storage_option(text: str) -> StorageOption:
    """Return the option that a text such as aws_region=eu-west-1 stands for.

    Raises:
        BadParameter: it is of another form; the text, which may hold a secret, is not repeated.
    """
    key, mark, value = text.partition("=")
    if not key or not mark:
        raise typer.BadParameter("a storage option is of the form KEY=VALUE, such as aws_region=eu-west-1")
    return StorageOption(key, value)


def interval_s(text: str) -> float:
    """Return the seconds of a pause.

    Raises:
        BadParameter: it is no duration, or too short or too long for one.
    """
    seconds = duration_s(text)
    if not _INTERVAL_S_MIN <= seconds <= _INTERVAL_S_MAX:
        raise typer.BadParameter(f"{text!r} is not between {_INTERVAL_S_MIN} s and {_INTERVAL_S_MAX / 3600:g} h")
    return seconds


def _number(text: str) -> int | float | None:
    if not text:
        return None
    return int(text) if text.lstrip("-").isdigit() else float(text)


Table = Annotated[str, typer.Argument(metavar="TABLE", help="The table, as namespace.table.", callback=_identifier)]
Catalog = Annotated[
    str | None,
    typer.Option(
        "--catalog",
        "-c",
        metavar="NAME",
        help="A catalog of PyIceberg's configuration; without it PyIceberg's default.",
        autocompletion=_catalog_names,
        show_default=False,
    ),
]
Branch = Annotated[str, typer.Option("--branch", metavar="NAME", help="The branch of the table.")]
DryRun = Annotated[bool, typer.Option("--dry-run/--apply", help="Say what would be done, or do it.", show_default=True)]
Limit = Annotated[
    int | None,
    typer.Option("--limit", "-n", metavar="COUNT", min=1, help="No more than these, the newest.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document, for machines.")]
UniqueKey = Annotated[
    list[str] | None,
    typer.Option("--unique-key", metavar="COLUMN[,COLUMN]", help="No two rows have the same.", show_default=False),
]
ConstantSum = Annotated[
    list[str] | None,
    typer.Option("--constant-sum", metavar="COLUMN", help="Its total never changes.", show_default=False),
]
SumsAsRecorded = Annotated[
    list[str] | None,
    typer.Option(
        "--sums-as-recorded",
        metavar="COLUMN",
        help="Each commit moves its total by what it declares, and nothing else does.",
        show_default=False,
    ),
]
Bounded = Annotated[
    list[ColumnBounds] | None,
    typer.Option(
        "--bounds",
        metavar="COLUMN:MIN:MAX",
        parser=bounds,
        help="Its values; either may be left out.",
        show_default=False,
    ),
]
StorageOptions = Annotated[
    list[StorageOption] | None,
    typer.Option(
        "--storage-option",
        metavar="KEY=VALUE",
        parser=storage_option,
        help="For the Delta table's object store, as deltalake takes them; never printed. Others on the machine can "
        "read a command line: keep secrets in the environment (AWS_SECRET_ACCESS_KEY and the like).",
        show_default=False,
    ),
]
Interval = Annotated[
    float,
    typer.Option("--interval", metavar="DURATION", parser=interval_s, help="With --watch: the pause between looks."),
]
Upto = Annotated[
    int | None,
    typer.Option("--upto", metavar="VERSION", min=0, help="No version after this one.", show_default=False),
]
Batch = Annotated[
    int | None,
    typer.Option(
        "--batch",
        metavar="COUNT",
        min=1,
        help="Versions per catalog commit, at most.  [default: 100, or a quarter of what is there]",
        show_default=False,
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="With an error, the traceback.")]
