"""Looks for signs, below a table's folders, that files there belong to something else."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass, field
from typing import Final

from pyiceberg.table import Table, TableProperties

from seriatim.errors import UpkeepRefusedError
from seriatim.locations import Place
from seriatim.upkeep.listing import Folder, Listed

_OTHER_FORMATS: Final = {"_delta_log": "Delta", ".hoodie": "Hudi"}
_UUID: Final = re.compile(rb'"table-uuid"\s*:\s*"([0-9A-Fa-f-]{32,36})"')
_HEAD_BYTES: Final = 4096  # Engines write the uuid near the beginning.


@dataclass(slots=True)
class Strangers:
    """What may lie below a table's folders, and what may not."""

    name: str
    table: Table
    _own_metadata: Place = field(init=False)

    def __post_init__(self) -> None:
        """Note where the table's own metadata lies."""
        path = self.table.properties.get(TableProperties.WRITE_METADATA_PATH)
        self._own_metadata = Place.of(path or f"{self.table.location().rstrip('/')}/metadata")

    def look_at(self, folder: Folder, listed: Listed, *, is_needed: bool) -> None:
        """Look at what was listed.

        Raises:
            UpkeepRefusedError: it is a sign that another table's files lie there.
        """
        if listed.is_folder:
            if listed.name in _OTHER_FORMATS:
                raise self._refused(f"{listed.location} is of a {_OTHER_FORMATS[listed.name]} table")
        elif listed.name.endswith((".metadata.json", ".metadata.json.gz")) and not is_needed:
            uuid = _table_uuid(folder, listed)
            if uuid is not None and uuid != self.table.metadata.table_uuid.hex:
                raise self._refused(f"{listed.location} is the metadata of another table, with uuid {uuid}")
            if uuid is None and not self._own_metadata.contains(listed.place):
                raise self._refused(f"{listed.location} is the metadata of a table that does not say which")

    def _refused(self, reason: str) -> UpkeepRefusedError:
        remedy = (
            "Its files cannot be told from this table's: move or drop the other table, or remove what is left of it"
        )
        return UpkeepRefusedError(self.name, reason=reason, remedy=remedy)


def _table_uuid(folder: Folder, listed: Listed) -> str | None:
    """Return the uuid that a metadata file names; None: it names none, or is damaged, or gone."""
    is_compressed = ".gz." in listed.name or listed.name.endswith(".gz")
    try:
        content = folder.read(listed.path, None if is_compressed else _HEAD_BYTES)
        match = _UUID.search(gzip.decompress(content) if is_compressed else content)
        if match is None and not is_compressed and listed.size > _HEAD_BYTES:
            match = _UUID.search(folder.read(listed.path))
    except (OSError, EOFError):
        return None
    return match.group(1).decode().replace("-", "").lower() if match else None
