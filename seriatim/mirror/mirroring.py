"""`mirror`: what a Delta table has and its Iceberg mirror has not, landed version by version."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.typedef import Identifier

from seriatim.commit import ANY_BASE, Conflict, LedgerPolicy, Observer, Receipt, RetentionPolicy, RetryPolicy, Writer
from seriatim.commit.ledger_names import Names
from seriatim.commit.loop import Call, Settings
from seriatim.errors import ConflictError
from seriatim.mirror import target
from seriatim.mirror.backlog import Backlog, OnGap
from seriatim.mirror.delta.log import DeltaLog
from seriatim.mirror.receipt import LandedVersion, MirrorReceipt
from seriatim.mirror.work import MirrorWork
from seriatim.system import Clock

Base = tuple[int | None, int | None]  # version and snapshot id; None: the mirror is empty
_KEEP: Final = RetentionPolicy(snapshots_min=None)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a call of the mirror is."""

    version: int  # that has landed
    upto: int  # that it is to land


def mirror(  # noqa: PLR0913  # Options, by name.
    delta_uri: str,
    catalog: Catalog,
    identifier: str | Identifier,
    *,
    upto: int | None = None,
    batch: int | None = None,
    on_gap: OnGap = "fail",
    start_over: bool = False,
    check_files: bool = False,
    location: str | None = None,
    properties: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
    progress: Callable[[Progress], None] | None = None,
    policy: RetryPolicy | None = None,
    retention: RetentionPolicy | None = None,
    writer: Writer | None = None,
    observer: Observer | None = None,
    clock: Clock | None = None,
    chance: random.Random | None = None,
) -> MirrorReceipt:
    """Land each version of a Delta table that its Iceberg mirror has not, as one snapshot, exactly once and in order.

    Any number of calls may overlap: a version lands only on the snapshot of the one before it, which the catalog's
    compare-and-swap demands, and whoever loses goes on after what the others have landed. A call that was killed is
    followed up by the next. What the call began with as the latest version (or `upto`) is the last that it lands.

    Up to `batch` versions land in one catalog commit, by default as many as keep the cost per version even. The table
    is created when it is absent, at `location` and with `properties`, which must lie outside the Delta table. No Delta
    file is written, moved or deleted, and Parquet files are read only where the log does not tell their number of rows;
    with `check_files`, the footer of each that is added is read, and field ids of which the log says nothing are
    refused. Where versions are gone from the log, `on_gap="snapshot"` lands one snapshot for all of them. `start_over`
    drops the mirror from the catalog first, and makes a new history.

    Raises:
        HistoryGapError: versions to be mirrored are gone from the log, and `on_gap` is "fail".
        SourceMismatchError: the table is not the mirror of this Delta table, or somebody else has committed to it.
        UnsupportedFeatureError: a version cannot be said in Iceberg; those before it have landed.
        DeltaLogError: the log cannot be read, or contradicts itself; the versions before have landed.
        ConflictError: the table moved under every attempt that the policy allows without becoming any newer.
        TableReplacedError: somebody else started over meanwhile; the history that they began is as they left it.
        ValueError: `upto` or `batch` allow nothing.
        OutcomeUnknownError, NoSuchTableError: as `apply`.
    """
    _require_positive(upto, batch)
    log = DeltaLog.open(delta_uri, storage_options)
    settings = Settings.of(
        Names(), MAIN_BRANCH, ANY_BASE, policy, LedgerPolicy(), retention or _KEEP, writer, observer, clock, chance
    )
    latest = log.latest_version()
    backlog = Backlog(log, latest if upto is None else min(upto, latest), on_gap)
    if start_over:
        backlog.require_beginning()
        target.drop(catalog, identifier, log.source)
    run = _Run(log, catalog, identifier, settings, MirrorWork(backlog, settings, batch, check_files), progress)
    run.begin(location, properties or {})
    run.run()
    return run.receipt()


@dataclass(slots=True)
class _Run:
    """One call of the mirror."""

    log: DeltaLog
    catalog: Catalog
    identifier: str | Identifier
    settings: Settings
    work: MirrorWork
    progress: Callable[[Progress], None] | None
    _name: str = field(default="", init=False)
    _base: Base = field(default=(None, None), init=False)
    _landed: list[LandedVersion] = field(default_factory=list, init=False)
    _commits: int = field(default=0, init=False)
    _attempts: int = field(default=0, init=False)
    _conflicts: list[Conflict] = field(default_factory=list, init=False)

    def begin(self, location: str | None, properties: Mapping[str, str]) -> None:
        """See to it that the table is there, and note what it is at."""
        try:
            table = self.catalog.load_table(self.identifier)
        except NoSuchTableError:
            table_id = self.work.backlog.latest_metadata().id
            table = target.create(self.catalog, self.identifier, table_id, location, properties, self.log)
        target.require_apart(target.name_of(table), table.location(), table.properties, self.log)
        self._name = target.name_of(table)
        head = table.metadata.snapshot_by_name(MAIN_BRANCH)
        self._base = (self._at(table), head.snapshot_id if head else None)
        self.work.version, self.work.table_uuid = self._base[0], table.metadata.table_uuid

    def run(self) -> None:
        """Land batch after batch until nothing is left."""
        while True:
            before = self.work.version
            try:
                receipt = self._land()
            except ConflictError:
                self.work.version = self._at(self.catalog.load_table(self.identifier))
                if self.work.version == before:  # Whoever made it lose has not landed what it was to land.
                    raise
                continue
            if receipt.is_noop:
                return

    def _land(self) -> Receipt:
        call = Call(self.catalog, self.identifier, self.settings)
        self.work.begin(call.attempts)
        try:
            receipt = call.run(self.work)
        finally:
            self._attempts += call.attempts.count
            self._conflicts += call.conflicts
        if not receipt.is_noop:
            self._commits += 1
            self._landed += [LandedVersion.of(said, id_) for said, id_ in self.work.landed(receipt)]
        if self.progress is not None and self.work.version is not None:
            self.progress(Progress(self.work.version, self.work.backlog.goal))
        return receipt

    def receipt(self) -> MirrorReceipt:
        """Return what was done."""
        base_version, base_snapshot_id = self._base
        ours = {version for landed in self._landed for version in landed.versions}
        version = self.work.version
        since = range(*(0 if each is None else each + 1 for each in (base_version, version)))
        return MirrorReceipt(
            source=self.log.source,
            table=self._name,
            landed=tuple(self._landed),
            found_landed=tuple(version for version in since if version not in ours),
            base_version=base_version,
            base_snapshot_id=base_snapshot_id,
            version=version,
            delta_version=self.log.latest_version(),
            commits=self._commits,
            attempts=self._attempts,
            conflicts=tuple(self._conflicts),
        )

    def _at(self, table: Table) -> int | None:
        said = target.mirrored_at(table, self.log.source)
        return said.version if said else None


def _require_positive(upto: int | None, batch: int | None) -> None:
    if upto is not None and upto < 0:
        raise ValueError(f"upto must be a version, 0 or above, not {upto}")
    if batch is not None and batch < 1:
        raise ValueError(f"batch must be at least 1, not {batch}")
