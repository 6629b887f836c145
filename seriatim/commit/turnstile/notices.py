"""What a process says once, however often it happens."""

from __future__ import annotations

import logging
from functools import lru_cache

_log = logging.getLogger("seriatim.turnstile")


@lru_cache(maxsize=64)
def say_once(text: str) -> None:
    """Put the text into the log, unless it is there."""
    _log.warning(text)


def reason(err: Exception) -> str:
    """Return what went wrong without what differs each time, such as the name of a file."""
    return f"{type(err).__name__}: {getattr(err, 'strerror', None) or err}"
