"""Keeping secrets out of what is printed: libraries put a catalog's address, password and all, into their errors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Final
from urllib.parse import unquote, urlsplit

_HIDDEN: Final = "***"
_NAMES: Final = r"(?:password|passwd|pwd|secret|token|credential|access.?key|api.?key|account.?key|signature|sas)"
_IS_SECRET: Final = re.compile(_NAMES, re.IGNORECASE)
_IN_ADDRESS: Final = re.compile(r"(://)[^\s'\"]*@")
_ASSIGNED: Final = re.compile(rf"({_NAMES}[\w.-]*['\"]?\s*[=:]\s*['\"]?)[^\s&;,'\"]+", re.IGNORECASE)


def secrets_of(settings: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the values among settings, given with their names, that nobody is to read."""
    found: set[str] = set()
    for name, value in settings:
        if _IS_SECRET.search(name):
            found.add(value)
        elif "://" in value:
            found.update(_passwords(value))
    return frozenset(secret for secret in found if secret)


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text without these secrets, and without whatever looks like one."""
    for secret in sorted(secrets, key=len, reverse=True):  # One may be a part of another.
        text = text.replace(secret, _HIDDEN)
    return _ASSIGNED.sub(rf"\1{_HIDDEN}", _IN_ADDRESS.sub(rf"\1{_HIDDEN}@", text))


def _passwords(address: str) -> set[str]:
    """Return the password in an address, as it is written there and as it is meant."""
    written = {address.partition("://")[2].rpartition("@")[0].partition(":")[2]}
    with suppress(ValueError):  # It is no address after all.
        written.add(urlsplit(address).password or "")
    return written | {unquote(password) for password in written}
