"""Errors as one line for a person: what, with which values, what to do next."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

import typer
from pydantic import ValidationError
from pyiceberg.exceptions import (
    CommitFailedException,
    ForbiddenError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NotInstalledError,
    OAuthError,
    UnauthorizedError,
)
from pyiceberg.exceptions import ValidationError as DamagedMetadataError
from requests.exceptions import ConnectionError as HttpConnectionError
from requests.exceptions import Timeout

from seriatim.cli import exit_codes
from seriatim.cli.catalogs import CatalogError, settings
from seriatim.errors import SeriatimError
from seriatim.redaction import redacted, secrets_of

_MORE: Final = "For further information visit"
_TEMPLATES: Final[tuple[tuple[tuple[type[Exception], ...], str], ...]] = (
    (
        (NoSuchNamespaceError,),
        "catalog {catalog!r} has no such namespace: {reason}; `pyiceberg --catalog {catalog} create namespace`",
    ),
    (
        (NoSuchTableError,),
        "catalog {catalog!r} has no such table: {reason}; `pyiceberg --catalog {catalog} list NAMESPACE` lists tables",
    ),
    ((CommitFailedException,), "{table}: others committed at the same time: {reason}; run it again"),
    ((NotInstalledError,), "catalog {catalog!r} needs more than is installed: {reason}"),
    (
        (UnauthorizedError, ForbiddenError, OAuthError),
        "catalog {catalog!r} refuses: {reason}; check its token or credential",
    ),
    ((ValidationError, DamagedMetadataError), "{table}: its metadata is damaged: {reason}; restore the metadata file"),
    ((FileNotFoundError,), "{table}: a file of the table is missing: {reason}; restore it"),
    (
        (HttpConnectionError, Timeout, ConnectionError, TimeoutError),
        "catalog {catalog!r} cannot be reached: {reason}; is its address right, and its server up?",
    ),
)


@contextmanager
def explained(table: str, catalog: str, *, debug: bool, hidden: Collection[str] = ()) -> Iterator[None]:
    """Print whatever goes wrong as one line, without secrets, and exit; with `debug` the traceback comes first.

    `hidden` are secrets that the configuration does not know of.
    """
    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
        raise  # The command's own ways to end.
    except Exception as err:
        secrets = secrets_of(settings()).union(hidden)
        if debug:
            typer.echo(redacted("".join(traceback.format_exception(err)), secrets), err=True, nl=False)
        typer.echo(f"seriatim: {redacted(sentence(err, table, catalog), secrets)}", err=True)
        raise typer.Exit(exit_codes.ERROR) from err


def sentence(err: Exception, table: str, catalog: str) -> str:
    """Return one line that says what is wrong and what to do."""
    if isinstance(err, CatalogError | SeriatimError):
        return _line(str(err))
    if (reason := _of_database(err)) is not None:
        return f"the database of catalog {catalog!r} says: {reason}; is its address right, and its server up?"
    for types, template in _TEMPLATES:
        if isinstance(err, types):
            return template.format(table=table, catalog=catalog, reason=_reason(err))
    return f"{table}: {type(err).__name__}: {_reason(err)} (--debug shows where)"


def _reason(err: BaseException) -> str:
    """Return what an error says; of a connection that failed only that, and not how often it was tried."""
    inner = getattr(err.args[0], "reason", None) if err.args else None
    return _reason(inner) if isinstance(inner, BaseException) else _line(str(err))


def _of_database(err: Exception) -> str | None:
    """Return what the database's driver said; None: it is not an error of a database."""
    try:
        from sqlalchemy.exc import DBAPIError
    except ModuleNotFoundError:  # A catalog of another kind needs none.
        return None
    return _line(str(err.orig)) if isinstance(err, DBAPIError) else None


def _line(text: str) -> str:
    """Return the text in one line, without Pydantic's advertisement and a full stop that another would follow."""
    return " ".join(text.partition(_MORE)[0].split()).rstrip(".")
