"""`remove_orphans`: what nothing needs goes, once it is old; what anything may need stays."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.statistics import StatisticsFile
from pyiceberg.table.update import SetStatisticsUpdate

from seriatim.commit import LedgerPolicy, RetentionPolicy
from seriatim.errors import TableReplacedError, UpkeepRefusedError
from seriatim.system import SystemClock
from seriatim.upkeep import Orphan, OrphanReport, Progress, remove_orphans
from tests.contract.apply_support import Deposit, call
from tests.contract.ledger_support import commit, ledger_files, note
from tests.contract.upkeep_support import age, files, home, litter, ordered, readings
from tests.faults.bank import Bank
from tests.faults.files import local_path


def sweep(bank: Bank, catalog: Any = None, **options: Any) -> OrphanReport:
    """Remove orphans, for good."""
    return remove_orphans(catalog or bank.connect(), bank.identifier, **{"dry_run": False, **options})


def test_old_files_that_nothing_needs_go_and_all_others_stay(bank: Bank) -> None:
    """Data files, manifests, lists and metadata files that are old, and not those that are live or young."""
    bank.deposit(10)
    live = files(bank)
    age(*live)
    orphans = [
        *litter(home(bank) / "data", "dead.parquet"),
        *litter(home(bank) / "data" / "part=1", "dead.parquet"),
        *litter(home(bank) / "data" / "_part=1", "dead.parquet"),
        *litter(home(bank) / "metadata", "snap-1-0-dead.avro", "dead-m0.avro"),
    ]
    young = home(bank) / "data" / "pending.parquet"
    young.write_bytes(b"of an attempt that is about to commit")
    before = readings(bank.table())

    report = sweep(bank)

    assert files(bank) == live | {young}
    assert readings(bank.table()) == before
    assert (report.removed, report.orphans, report.failed, report.files_young) == (len(orphans), len(orphans), 0, 1)
    assert report.bytes_removed == len(orphans) * len(b"litter")
    assert {local_path(each.location) for each in report.examples} == set(orphans)


def test_a_dry_run_finds_the_same_and_removes_nothing(bank: Bank) -> None:
    """It is the default, so that the first look costs nothing."""
    litter(home(bank) / "data", "a.parquet", "b.parquet")
    before = files(bank)
    found: list[Orphan] = []

    report = remove_orphans(bank.connect(), bank.identifier, on_orphan=found.append)

    assert files(bank) == before
    assert (report.is_dry_run, report.orphans, report.removed) == (True, 2, 0)
    assert {Path(each.location).name for each in found} == {"a.parquet", "b.parquet"}


def test_every_retained_snapshot_keeps_its_files(bank: Bank) -> None:
    """Also those of a branch, of a tag, and of a history that was rolled back; expired ones lose theirs."""
    first = bank.head()
    bank.append_to_branch("other")
    bank.roll_back_a_deposit(10)
    bank.compact()
    age(*files(bank))
    before = readings(bank.table())

    sweep(bank)

    assert readings(bank.table()) == before
    assert bank.inventory().missing == []
    assert first in before

    bank.expire_all_but_head()
    age(*files(bank))
    report = sweep(bank)

    assert report.removed > 0
    assert bank.inventory().missing == bank.inventory().unreachable == []


@pytest.mark.parametrize("where", [None, "elsewhere"])
def test_what_was_the_newest_snapshot_within_the_age_can_be_read_on(empty_bank: Bank, where: str | None) -> None:
    """A reader began before a burst of commits that expired what it reads; the files are all from long ago."""
    properties = {"write.metadata.path": f"{empty_bank.path}/{where}"} if where else {}
    bank = empty_bank.create(properties=properties)
    bank.deposit(1)
    bank.deposit(1)
    reader = bank.table()
    before = ordered(reader.scan().to_arrow())
    everything = {path for path in bank.path.rglob("*") if path.suffix in (".parquet", ".avro")}
    age(*everything)
    for amount in (2, 3):
        call(bank, Deposit(amount), retention=RetentionPolicy(snapshots_min=1))

    report = sweep(bank)

    assert reader.metadata.current_snapshot_id not in bank.snapshot_ids()
    assert ordered(reader.scan().to_arrow()) == before
    assert report.removed > 0  # What came before the reader's snapshot, and was expired as well.
    assert report.snapshots_recent == 2

    age(*(path for path in bank.path.rglob("*") if path.suffix in (".parquet", ".avro")))
    sweep(bank)

    assert bank.inventory().missing == []
    with pytest.raises(FileNotFoundError):
        reader.scan().to_arrow()


def test_a_manifest_list_that_is_damaged_hinders_nothing(bank: Bank) -> None:
    """A dead attempt's may be cut short, or name manifests that are gone."""
    (home(bank) / "metadata" / "snap-7-0-dead.avro").write_bytes(b"Obj")
    copied = next(path for path in files(bank) if path.name.startswith("snap-"))
    (home(bank) / "metadata" / "snap-8-0-dead.avro").write_bytes(copied.read_bytes()[:200])
    orphans = litter(home(bank) / "data", "dead.parquet")

    assert sweep(bank).removed == len(orphans)
    assert bank.inventory().missing == []


def test_ledger_files_of_retained_snapshots_stay_and_others_go(bank: Bank) -> None:
    """A summary that names a ledger file keeps it, though only the newest is registered as statistics."""
    for number in range(4):
        note(bank, f"it-{number}", ledger=LedgerPolicy(recent_max=0))
    age(*files(bank))
    assert len(ledger_files(bank)) == 3

    sweep(bank)
    assert len(ledger_files(bank)) == 3

    bank.expire_all_but_head()
    sweep(bank)

    assert len(ledger_files(bank)) == 1
    assert note(bank, "it-0").is_noop


def test_statistics_files_stay(bank: Bank) -> None:
    """Those of other engines, too."""
    (path,) = litter(home(bank) / "metadata", "theirs.stats")
    location = f"{bank.table().location()}/metadata/theirs.stats"
    commit(bank, statistics(bank.head(), location))

    sweep(bank)

    assert path.exists()


def statistics(snapshot_id: int | None, location: str) -> SetStatisticsUpdate:
    file = StatisticsFile.model_validate(
        {
            "snapshot-id": snapshot_id,
            "statistics-path": location,
            "file-size-in-bytes": 6,
            "file-footer-size-in-bytes": 0,
            "blob-metadata": [],
        }
    )
    return SetStatisticsUpdate(statistics=file)


def test_metadata_files_beyond_the_log_go(empty_bank: Bank) -> None:
    """The current one and those in its log stay."""
    bank = empty_bank.create(properties={"write.metadata.previous-versions-max": "2"})
    for _ in range(4):
        bank.deposit(1)
    age(*files(bank))
    table = bank.table()

    sweep(bank)

    kept = {local_path(each.metadata_file) for each in table.metadata.metadata_log}
    assert {path for path in files(bank) if path.name.endswith(".metadata.json")} == {
        *kept,
        local_path(table.metadata_location),
    }
    assert len(kept) == 2


class _Moving(SqlCatalog):
    """A catalog in which something happens to the table when it is loaded for the n-th time."""

    def __init__(self, bank: Bank, at_load: int, happens: Callable[[], object]) -> None:
        super().__init__("bank", **bank.properties())
        self._left, self._happens = at_load, happens

    def load_table(self, identifier: Any) -> Table:
        self._left -= 1
        if self._left == 0:
            self._happens()
        return super().load_table(identifier)


@pytest.mark.parametrize("at_load", [2, 3], ids=["after the listing", "before a batch is deleted"])
def test_an_old_file_that_becomes_live_after_the_listing_is_spared(bank: Bank, at_load: int) -> None:
    """Its age did not save it: its writer was slow, or adopted a file that had lain there."""
    path, orphan = copied_file(bank), *litter(home(bank) / "data", "dead.parquet")

    def adopt() -> None:
        with bank.rival() as rival:
            rival.load_table(bank.identifier).add_files([f"file://{path}"])

    catalog = _Moving(bank, at_load, adopt)
    report = sweep(bank, catalog)
    catalog.engine.dispose()

    assert (path.exists(), orphan.exists()) == (True, False)
    assert (report.rescued, report.removed, report.bytes_removed) == (1, 1, len(b"litter"))
    assert len(bank.rows()) == 6


class _Swept(SqlCatalog):
    """A catalog that is swept just before each commit."""

    def __init__(self, bank: Bank, **options: Any) -> None:
        super().__init__("bank", **bank.properties())
        self._bank, self._options = bank, options

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        sweep(self._bank, **self._options)
        return super().commit_table(table, requirements, updates)


@pytest.mark.parametrize("older_than_s", [3600.0, 0.0], ids=["an hour", "no age"])
def test_only_its_age_saves_what_a_pending_attempt_has_written(bank: Bank, older_than_s: float) -> None:
    """So an age of nothing is for tables that nobody writes: it has to be forced by name."""
    catalog = _Swept(bank, older_than_s=older_than_s, accepts_any_age=True, clock=Ahead())

    call(bank, Deposit(1), "it", catalog=catalog)
    catalog.engine.dispose()

    assert bool(bank.inventory().missing) == (older_than_s == 0)


class Ahead(SystemClock):
    """A clock that is a minute ahead, so that what was written in this very moment is older than nothing."""

    def now_ms(self) -> int:
        return super().now_ms() + 60_000


def copied_file(bank: Bank) -> Path:
    """Write the table's rows to a file in its folder, and make it look old."""
    path = home(bank) / "data" / "copied.parquet"
    pq.write_table(pa.Table.from_pylist(bank.rows()), path)  # Without field ids, which PyIceberg 0.10 does not adopt.
    age(path)
    return path


@pytest.mark.parametrize("spell", [lambda path: f"file:{path}", str, lambda path: f"file://{path}"])
def test_a_live_file_is_known_however_its_location_is_spelled(bank: Bank, spell: Callable[[Path], str]) -> None:
    """Engines write `file:/x`, `file:///x` and `/x` for one file."""
    source = copied_file(bank)
    with bank.rival() as rival:
        rival.load_table(bank.identifier).add_files([spell(source)])
    age(*files(bank))

    report = sweep(bank)

    assert (report.removed, source.exists()) == (0, True)


def test_a_table_that_is_reached_through_a_link_keeps_its_files(tmp_path: Path) -> None:
    """Its files have two names, and are listed by one and needed by the other."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    bank = Bank(tmp_path / "link").create()
    source = copied_file(bank).resolve()
    with bank.rival() as rival:
        rival.load_table(bank.identifier).add_files([f"file://{source}"])
    age(*files(bank))

    assert sweep(bank).removed == 0
    assert source.exists()


def test_links_are_not_followed(bank: Bank, tmp_path: Path) -> None:
    """What lies behind one is not the table's."""
    (elsewhere,) = litter(tmp_path / "elsewhere", "precious.parquet")
    (home(bank) / "data" / "link").symlink_to(elsewhere.parent)

    assert sweep(bank).orphans == 0
    assert elsewhere.exists()


@pytest.mark.parametrize("name", ["version-hint.text", ".hidden", "_SUCCESS"])
def test_files_that_engines_leave_alone_stay(bank: Bank, name: str) -> None:
    """A Hadoop catalog finds the table by the one, engines keep the others for themselves."""
    (path,) = litter(home(bank) / "metadata", name)

    assert sweep(bank).orphans == 0
    assert path.exists()


def test_an_age_below_an_hour_must_be_forced_by_name(bank: Bank) -> None:
    """A writer's files are in no snapshot until it commits."""
    (path,) = litter(home(bank) / "data", "dead.parquet")

    with pytest.raises(UpkeepRefusedError, match="accepts_any_age"):
        sweep(bank, older_than_s=0)
    assert path.exists()

    assert sweep(bank, older_than_s=0, accepts_any_age=True).removed == 1


def test_a_table_that_forbids_collection_is_left_alone(bank: Bank) -> None:
    """Its files may be another table's, too."""
    bank.set_property("gc.enabled", "false")
    (path,) = litter(home(bank) / "data", "dead.parquet")

    with pytest.raises(UpkeepRefusedError, match=re.escape("gc.enabled=false")):
        sweep(bank)
    assert path.exists()


def test_another_tables_files_below_the_location_are_refused(bank: Bank) -> None:
    """Their files are needed by a table that is not looked at."""
    (orphan,) = litter(home(bank) / "data", "dead.parquet")
    with bank.rival() as rival:
        table = rival.load_table(bank.identifier)
        rival.create_table("bank.inner", table.schema(), location=f"{table.location()}/inner")

    with pytest.raises(UpkeepRefusedError, match="another table"):
        sweep(bank)
    assert orphan.exists()


def test_what_a_dropped_table_of_the_same_place_left_is_refused(bank: Bank) -> None:
    """A table that is dropped and created anew lies in the same folder; somebody may still want the old one back."""
    old = files(bank)
    bank.replace([{"id": 1, "bal": 1}])
    age(*old)

    with pytest.raises(UpkeepRefusedError, match="another table"):
        sweep(bank)
    assert old <= files(bank)


def test_a_uuid_far_from_the_beginning_is_found(bank: Bank) -> None:
    """Another engine may write the keys in any order."""
    metadata = json.loads(local_path(bank.table().metadata_location).read_text())
    uuid = metadata.pop("table-uuid")
    path = home(bank) / "metadata" / "00009-x.metadata.json"
    path.write_text(json.dumps({"properties": {"long": "x" * 10_000}, "table-uuid": uuid}))
    assert sweep(bank).orphans == 0

    path.write_text(json.dumps({"properties": {"long": "x" * 10_000}, "table-uuid": "0" * 32}))
    with pytest.raises(UpkeepRefusedError):
        sweep(bank)


def test_a_delta_table_below_the_location_is_refused(bank: Bank) -> None:
    """One set of data files may be two tables."""
    litter(home(bank) / "_delta_log", "00000000000000000000.json")

    with pytest.raises(UpkeepRefusedError, match="Delta"):
        sweep(bank)


def test_live_files_in_another_file_system_are_refused(bank: Bank) -> None:
    """One file may have a name in both."""
    commit(bank, statistics(bank.head(), "s3://bucket/bank/account/metadata/theirs.stats"))
    (orphan,) = litter(home(bank) / "data", "dead.parquet")

    with pytest.raises(UpkeepRefusedError, match="s3://bucket"):
        sweep(bank)
    assert orphan.exists()


def test_a_folder_outside_the_location_is_left_alone_unless_it_is_the_tables_alone(
    empty_bank: Bank, tmp_path: Path
) -> None:
    """`write.data.path` may be one folder for many tables, which cannot be seen from its files."""
    outside = tmp_path / "outside"
    bank = empty_bank.create(properties={"write.data.path": f"file://{outside}"})
    (orphan,) = litter(outside, "dead.parquet")

    report = sweep(bank)
    assert report.folders_skipped == (f"file://{outside}",)
    assert orphan.exists()

    report = sweep(bank, is_sole_owner=True)
    assert (report.removed, report.folders_skipped) == (1, ())
    assert len(bank.rows()) == 3


def test_a_table_that_cannot_be_read_loses_nothing(bank: Bank) -> None:
    """What a manifest would have named cannot be told."""
    (orphan,) = litter(home(bank) / "data", "dead.parquet")
    bank.deposit(1)
    next(home(bank).rglob("*-m0.avro")).unlink()

    with pytest.raises(UpkeepRefusedError, match="cannot be read"):
        sweep(bank)
    assert orphan.exists()


def test_a_table_that_is_replaced_meanwhile_loses_nothing(bank: Bank) -> None:
    """What was listed is no longer known to belong to it."""
    (orphan,) = litter(home(bank) / "data", "dead.parquet")
    catalog = _Moving(bank, 2, lambda: bank.replace([{"id": 1, "bal": 1}]))

    with pytest.raises(TableReplacedError):
        sweep(bank, catalog)
    catalog.engine.dispose()

    assert orphan.exists()


def test_a_file_that_cannot_be_deleted_is_reported_and_the_others_go(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One bad file does not keep all the others."""
    folder = home(bank) / "data"
    litter(folder, "good.parquet")
    (stuck,) = litter(folder, "stuck.parquet")

    def replace_by_a_folder(orphan: Orphan) -> None:
        if orphan.location.endswith("stuck.parquet"):
            stuck.unlink()
            stuck.mkdir()

    report = sweep(bank, on_orphan=replace_by_a_folder)

    assert (report.removed, report.failed) == (1, 1)
    assert "stuck.parquet" in report.failures[0]


def test_a_table_whose_files_are_reached_by_fsspec_is_swept(bank: Bank) -> None:
    """PyIceberg has two kinds of `FileIO`, and neither can list."""
    live = files(bank)
    litter(home(bank) / "data", "dead.parquet")
    age(*live)
    catalog = SqlCatalog("bank", **bank.properties(), **{"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"})

    report = sweep(bank, catalog)
    catalog.engine.dispose()

    assert report.removed == 1
    assert files(bank) == live


def test_progress_is_told(bank: Bank) -> None:
    """Whoever waits for a listing of many files sees how far it has come."""
    litter(home(bank) / "data", *(f"{number}.parquet" for number in range(1500)))
    told: list[Progress] = []

    report = sweep(bank, progress=told.append)

    assert [each.files_listed for each in told][:2] == [1000, report.files_listed]
    assert [each.removed for each in told][-2:] == [1000, 1500]


@pytest.mark.slow
def test_ten_thousand_orphans_go_in_bounded_memory_and_with_one_load_for_each_thousand(bank: Bank) -> None:
    """They are never held all at once, and the table is read again only if it has moved."""
    for part in range(10):
        litter(home(bank) / "data" / f"part={part}", *(f"{number}.parquet" for number in range(1000)))
    catalog = bank.connect()
    tracemalloc.start()

    report = sweep(bank, catalog)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (report.removed, len(report.examples)) == (10_000, 20)
    assert len(catalog.loaded) == 2 + 10
    assert peak < 8_000_000


def test_what_dead_attempts_left_goes_and_the_next_call_works(bank: Bank) -> None:
    """Seriatim's own files are found like everybody's."""
    call(bank, Deposit(1), "one")
    litter(home(bank) / "metadata", "seriatim-ledger-dead.stats")
    age(*files(bank))

    assert sweep(bank).removed == 1
    assert call(bank, Deposit(1), "one").is_noop
    assert not call(bank, Deposit(1), "two").is_noop
