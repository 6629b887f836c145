"""The turnstile of calls that are given none, as the environment has it."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Final

from seriatim.commit.turnstile.local import LocalTurnstile
from seriatim.commit.turnstile.notices import say_once
from seriatim.commit.turnstile.port import NO_TURNSTILE, Turnstile

VARIABLE: Final = "SERIATIM_TURNSTILE"


def default_turnstile() -> Turnstile:
    """Return this machine's turnstile, unless SERIATIM_TURNSTILE says `off`, or how many seconds a turn may take."""
    return _of(os.environ.get(VARIABLE, "").strip().lower())


@lru_cache(maxsize=8)
def _of(setting: str) -> Turnstile:
    if not setting:
        return LocalTurnstile()
    if setting == "off":
        return NO_TURNSTILE
    try:
        return LocalTurnstile(float(setting))
    except ValueError:
        say_once(f"{VARIABLE} is neither `off` nor a number of seconds but {setting!r}; the default is used")
        return LocalTurnstile()
