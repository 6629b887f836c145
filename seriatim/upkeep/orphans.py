"""Removes files that nothing in the table needs, beside running writers.

What saves the files of a pending attempt is their age: they are in no snapshot yet. So the age has to be above the time
that any writer takes from its first file to its commit, and everything that has become live since the listing is taken
out again before each batch of deletions. What snapshots reach that were expired within the age stays as well: whoever
reads them, or computes a change from them, has begun before that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, islice
from tempfile import SpooledTemporaryFile
from typing import IO, Final

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table, TableProperties
from pyiceberg.typedef import Identifier

from seriatim.commit.retention import GC_ENABLED, is_gc_disabled
from seriatim.errors import TableReplacedError, UpkeepRefusedError
from seriatim.locations import Place
from seriatim.system import Clock, SystemClock
from seriatim.upkeep.listing import Folder, Listed, ListingError, is_hidden
from seriatim.upkeep.reachable import Reachable
from seriatim.upkeep.recent import Recent
from seriatim.upkeep.reports import Orphan, OrphanReport, Progress
from seriatim.upkeep.strangers import Strangers

AGE_S_MIN: Final = 3600.0
_BATCH: Final = 1000  # files, between two looks at the table
_THREADS: Final = 8
_EXAMPLES_MAX: Final = 20
_SPOOL_BYTES_MAX: Final = 8 * 1024 * 1024  # of candidates in memory; beyond it they wait on the disk
_PATHS: Final = (
    TableProperties.WRITE_DATA_PATH,
    TableProperties.WRITE_METADATA_PATH,
    "write.object-storage.path",  # What older engines called write.data.path.
    "write.folder-storage.path",
)


def remove_orphans(
    catalog: Catalog,
    identifier: str | Identifier,
    *,
    older_than_s: float = 3 * 24 * 3600,
    dry_run: bool = True,
    accepts_any_age: bool = False,
    is_sole_owner: bool = False,
    clock: Clock | None = None,
    progress: Callable[[Progress], None] | None = None,
    on_orphan: Callable[[Orphan], None] | None = None,
) -> OrphanReport:
    """Remove the files below the table's location that nothing in the table needs and that are older than the age.

    A dry run finds the same files and removes none. `on_orphan` is told of each, before it is deleted.

    A folder outside the table's location (`write.data.path` and the like) is listed only if `is_sole_owner` says that
    no other table writes there: from the files alone that cannot be seen.

    Raises:
        UpkeepRefusedError: it would not be safe: the age is below one hour without `accepts_any_age`, the table says
            `gc.enabled=false`, another table's files lie there too, live files lie in another file system than was
            listed, or the table cannot be read. Nothing was deleted from then on.
        TableReplacedError: the table was dropped and created anew meanwhile; nothing was deleted from then on.
    """
    table = catalog.load_table(identifier)
    name = ".".join(table.name())
    if older_than_s < AGE_S_MIN and not accepts_any_age:
        raise UpkeepRefusedError(
            name,
            reason=f"an age of {older_than_s:.0f} s is less than a writer may take from its first file to its commit",
            remedy=f"Give at least {AGE_S_MIN:.0f} s, or accepts_any_age=True if nobody writes",
        )
    oldest_ms = (clock or SystemClock()).now_ms() - round(older_than_s * 1000)
    folders, skipped = _folders(name, table, is_sole_owner)
    report = OrphanReport(name, dry_run, older_than_s, tuple(one.location for one in folders), skipped)
    with SpooledTemporaryFile(_SPOOL_BYTES_MAX) as spool:
        run = _Run(catalog, identifier, table, folders, oldest_ms, report, spool, progress, on_orphan)
        return run.run()


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A file that looked like an orphan when it was listed."""

    folder: int
    path: str
    orphan: Orphan


@dataclass(slots=True)
class _Run:
    """One removal."""

    catalog: Catalog
    identifier: str | Identifier
    table: Table  # as last loaded
    folders: Sequence[Folder]
    oldest_ms: int
    report: OrphanReport
    spool: IO[bytes]
    progress: Callable[[Progress], None] | None
    on_orphan: Callable[[Orphan], None] | None
    needed: Reachable = field(default_factory=Reachable)
    recent: Recent = field(init=False)

    def __post_init__(self) -> None:
        self.recent = Recent(self.oldest_ms)

    def run(self) -> OrphanReport:
        self._take_in()
        self._list()
        self._look_again()
        try:
            self._spare_recent()
        except OSError as err:
            raise self._refused(f"what was needed of late cannot be read: {err}", "Run it again") from err
        self.spool.seek(0)
        lines = iter(self.spool)
        while batch := [_decoded(line) for line in islice(lines, _BATCH)]:
            self._remove(batch)
        return self.report

    def _list(self) -> None:
        """Write every candidate to the spool; nothing is deleted while something may still show that it must not be."""
        strangers = Strangers(self.report.table, self.table)
        for number, folder in enumerate(self.folders):
            try:
                for listed in folder.walk():
                    strangers.look_at(folder, listed, is_needed=listed.place in self.needed)
                    if not listed.is_folder:
                        self.recent.look_at(listed)
                        self._sort(number, listed)
            except ListingError as err:
                raise self._refused(str(err), "Give the table a FileIO that PyArrow or fsspec can list") from err
        self._tell()

    def _spare_recent(self) -> None:
        """Take what snapshots reach for needed that were in the table within the age."""
        outside = [Folder.of(self.table.io, path) for path in self.report.folders_skipped if path == self._lists_path]
        for listed in (listed for folder in outside for listed in folder.walk()):
            self.recent.look_at(listed)
        self.recent.take_in(self.table.io, self.needed)
        self.spool.seek(0)
        candidates = (_decoded(line).orphan.location for line in self.spool)
        listed_outside = (listed.location for folder in outside for listed in folder.walk())
        for location in chain(candidates, listed_outside):
            if self.recent.is_parent(location.rpartition("/")[2]):
                self.needed.add_list(self.table.io, location)
        self._count(snapshots_recent=len(self.recent))

    @property
    def _lists_path(self) -> str | None:
        """Where manifest lists lie, if the table says it (None: in its own folder)."""
        return self.table.properties.get(TableProperties.WRITE_METADATA_PATH)

    def _sort(self, folder: int, listed: Listed) -> None:
        self._count(files_listed=1)
        if self.report.files_listed % _BATCH == 0:
            self._tell()
        if listed.place in self.needed:
            self._count(files_needed=1)
        elif listed.modified_at_ms is None or listed.modified_at_ms > self.oldest_ms:
            self._count(files_young=1)
        elif not (is_hidden(listed.name) or listed.name == "version-hint.text"):
            orphan = Orphan(listed.location, listed.size, listed.modified_at_ms)
            self.spool.write(_encoded(_Candidate(folder, listed.path, orphan)))
            self._count(orphans=1, bytes_orphaned=orphan.size)

    def _remove(self, batch: Sequence[_Candidate]) -> None:
        self._look_again()
        orphans = [each for each in batch if Place.of(each.orphan.location) not in self.needed]
        rescued = [each for each in batch if Place.of(each.orphan.location) in self.needed]
        self._count(
            rescued=len(rescued),
            orphans=-len(rescued),
            bytes_orphaned=-sum(each.orphan.size for each in rescued),
        )
        room = _EXAMPLES_MAX - len(self.report.examples)
        examples = (*self.report.examples, *(each.orphan for each in orphans[:room]))
        self.report = replace(self.report, examples=examples)
        if self.on_orphan is not None:
            for each in orphans:
                self.on_orphan(each.orphan)
        if not self.report.is_dry_run:
            self._delete(orphans)
        self._tell()

    def _delete(self, orphans: Sequence[_Candidate]) -> None:
        with ThreadPoolExecutor(_THREADS) as pool:
            for each, failure in zip(orphans, pool.map(self._deleted, orphans), strict=True):
                if failure is None:
                    self._count(removed=1, bytes_removed=each.orphan.size)
                    continue
                self._count(failed=1)
                if len(self.report.failures) < _EXAMPLES_MAX:
                    self.report = replace(self.report, failures=(*self.report.failures, failure))

    def _deleted(self, candidate: _Candidate) -> str | None:
        """Delete the file, and return why it could not be (None: it is gone)."""
        try:
            self.folders[candidate.folder].delete(candidate.path)
        except OSError as err:
            return f"{candidate.orphan.location}: {err}"
        return None

    def _look_again(self) -> None:
        """Load the table anew, and take in what has become live."""
        before = self.table
        self.table = self.catalog.load_table(self.identifier)
        if self.table.metadata.table_uuid != before.metadata.table_uuid:
            raise TableReplacedError(
                self.report.table,
                expected_uuid=str(before.metadata.table_uuid),
                actual_uuid=str(self.table.metadata.table_uuid),
            )
        if self.table.metadata_location != before.metadata_location:
            self._take_in()

    def _take_in(self) -> None:
        if is_gc_disabled(self.table.metadata):
            raise self._refused(f"the table says {GC_ENABLED}=false", "Its files may be those of another table, too")
        try:
            self.needed.add(self.table)
        except OSError as err:
            remedy = "Run it again if another upkeep was at work; else the table is damaged"
            raise self._refused(f"what the table needs cannot be read: {err}", remedy) from err
        listed = {folder.place.prefix for folder in self.folders}
        for prefix, example in self.needed.prefixes.items():
            if prefix not in listed:
                raise self._refused(
                    f"it needs {example}, which lies in {prefix}, but what is listed lies in {sorted(listed)}",
                    "One file may have two names there, so it cannot be told which files are needed",
                )

    def _count(self, **more: int) -> None:
        self.report = replace(self.report, **{name: getattr(self.report, name) + by for name, by in more.items()})

    def _tell(self) -> None:
        if self.progress is not None:
            report = self.report
            self.progress(Progress(report.table, report.files_listed, report.orphans, report.removed))

    def _refused(self, reason: str, remedy: str) -> UpkeepRefusedError:
        return UpkeepRefusedError(self.report.table, reason=reason, remedy=remedy)


def _folders(name: str, table: Table, is_sole_owner: bool) -> tuple[tuple[Folder, ...], tuple[str, ...]]:
    """Return what to list, no folder within another, and what to leave out."""
    home = Place.of(table.location())
    outside = [table.properties[key] for key in _PATHS if key in table.properties]
    outside = [path for path in outside if not home.contains(Place.of(path))]
    paths = [table.location(), *outside] if is_sole_owner else [table.location()]
    chosen: list[str] = []
    for path in sorted(paths, key=lambda each: len(Place.of(each).path)):
        if not any(Place.of(other).contains(Place.of(path)) for other in chosen):
            chosen.append(path)
    try:
        folders = tuple(Folder.of(table.io, path) for path in chosen)
    except ListingError as err:
        remedy = "Give the table a FileIO that PyArrow or fsspec can list"
        raise UpkeepRefusedError(name, reason=str(err), remedy=remedy) from err
    return folders, () if is_sole_owner else tuple(dict.fromkeys(outside))


def _encoded(candidate: _Candidate) -> bytes:
    return json.dumps([candidate.folder, candidate.path, asdict(candidate.orphan)]).encode() + b"\n"


def _decoded(line: bytes) -> _Candidate:
    folder, path, orphan = json.loads(line)
    return _Candidate(folder, path, Orphan(**orphan))
