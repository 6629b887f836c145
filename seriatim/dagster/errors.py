"""The errors that only this package raises; the others are in `seriatim.errors`."""

from __future__ import annotations

from collections.abc import Sequence

from seriatim.errors import SeriatimError


class OperationIdError(SeriatimError):
    """No operation id can be made for this launch; nothing was written."""

    def __init__(self, asset_key: str, *, reason: str) -> None:
        """Build the message from the asset and what is wrong."""
        super().__init__(f"{asset_key}: no operation id can be made: {reason}.")
        self.asset_key, self.reason = asset_key, reason


class OutputError(SeriatimError):
    """What an asset returned cannot be written as its metadata say; nothing was written."""

    def __init__(self, table: str, *, reason: str) -> None:
        """Build the message from the table and what is wrong."""
        super().__init__(f"{table}: the asset's output cannot be written: {reason}.")
        self.table, self.reason = table, reason


class CatalogBusyError(SeriatimError):
    """Other processes kept the catalog's database busy for too long; nothing was created, so try again."""

    def __init__(self, what: str, *, tries: int, reason: str) -> None:
        """Build the message from what was wanted, how often it was tried, and the database's last answer."""
        super().__init__(
            f"{what}: the catalog's database was busy at each of {tries} tries, last: {reason}. Try again; if this "
            f"stays, look for a process that keeps the database file locked, or use a server such as PostgreSQL."
        )
        self.what, self.tries, self.reason = what, tries, reason


class CatalogOpenError(SeriatimError):
    """The catalog cannot be opened; look at its settings."""

    def __init__(self, name: str, *, reason: str) -> None:
        """Build the message from the catalog's name and PyIceberg's reason, without secrets."""
        super().__init__(
            f"catalog {name!r} cannot be opened: {reason}. Its uri is like sqlite:///file, "
            f"postgresql+psycopg2://user:password@host/database or https://host; see PyIceberg's configuration."
        )
        self.name, self.reason = name, reason


class ConflictEventError(SeriatimError):
    """An observation is marked as a conflict but cannot be read as one; skip it and look at who wrote it."""

    def __init__(self, event: str, *, problems: Sequence[str]) -> None:
        """Build the message from how the event can be found and what is wrong with it."""
        super().__init__(f"{event} is not a readable conflict event: {'; '.join(problems)}.")
        self.event, self.problems = event, tuple(problems)


class AlertNotSentError(SeriatimError):
    """An alert did not reach whom it is for, or it is not known; the next tick of its sensor sends it again."""

    def __init__(self, alert_id: str, to: str, *, reason: str) -> None:
        """Build the message from the alert, where it was to go, and why it did not."""
        super().__init__(f"alert {alert_id} was not taken by {to}: {reason}.")
        self.alert_id, self.to, self.reason = alert_id, to, reason
