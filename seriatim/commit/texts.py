"""Texts from outside that a commit carries: in a snapshot's summary, which is JSON in UTF-8."""

from __future__ import annotations

from seriatim.errors import InvalidChangeError


def require_text(what: str, value: object) -> str:
    """Return the value, if it is a text that a summary can carry.

    Raises:
        InvalidChangeError: it is not: no `str`, empty, or not to be written in UTF-8 (half of a surrogate pair, as
            `os.listdir` makes of a file name that is not UTF-8).
    """
    if not (isinstance(value, str) and value):
        raise InvalidChangeError(f"{what} is a non-empty string, not {value!r}. Nothing was written.")
    try:
        value.encode()
    except UnicodeEncodeError as err:
        raise InvalidChangeError(
            f"{what} cannot be written in UTF-8: {value!r}; name it by other characters. Nothing was written."
        ) from err
    return value
