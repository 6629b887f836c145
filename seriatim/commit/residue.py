"""Removes the files of an attempt that is known never to have landed."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from pyiceberg.io import FileIO

_log = logging.getLogger(__name__)


def remove(io: FileIO, locations: Iterable[str]) -> None:
    """Delete the files that are there. A file that cannot be deleted is left to upkeep: it harms nobody."""
    for location in locations:
        try:
            io.delete(location)
        except FileNotFoundError:
            continue
        except Exception as err:  # noqa: BLE001  # Each FileIO has errors of its own.
            _log.warning("could not remove %s, left by an attempt that did not land: %s", location, err)
