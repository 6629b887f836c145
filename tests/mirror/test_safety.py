"""Nothing of ours deletes or rewrites a file of a Delta table, and no clean-up of either side harms the mirror."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import Catalog

from seriatim import RetentionPolicy
from seriatim.errors import SourceMismatchError, UpkeepRefusedError
from seriatim.mirror import delta_version_of, mirror
from seriatim.upkeep import compact, expire, fold, maintain, remove_orphans, repair
from tests.faults.files import local_path
from tests.mirror.delta_logs import needs_real_tables
from tests.mirror.equality import delta_rows, iceberg_rows
from tests.mirror.untouched import fingerprints, untouched

NAME = "mirrors.t"


class Scene:
    """A Delta table that goes on, and its mirror."""

    def __init__(self, path: Path, catalog: Catalog) -> None:
        """Begin with a few versions, mirrored; the mirror's owner lets files be collected."""
        self.catalog, self.root = catalog, path / "delta"
        self.rows = 0
        for _ in range(3):
            self._append()
        DeltaTable(self.root).optimize.compact()
        self._append()
        self.mirror()
        catalog.load_table(NAME).transaction().set_properties({"gc.enabled": "true"}).commit_transaction()

    def _append(self) -> None:
        self.rows += 2
        rows = pa.table({"i": range(self.rows - 2, self.rows), "p": ["a", "b"]})
        deltalake.write_deltalake(self.root, rows, mode="append", partition_by=["p"])

    def mirror(self) -> None:
        """Go on in Delta: rows are added, and one goes; then mirror it."""
        self._append()
        DeltaTable(self.root).delete(f"i = {self.rows - 3}")
        with untouched(self.root):
            receipt = mirror(str(self.root), self.catalog, NAME)
        assert receipt.lag == 0

    def vacuum(self) -> None:
        """Let Delta delete whatever it does not need or know."""
        before = fingerprints(self.root)
        table = DeltaTable(self.root)
        table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True)
        after = fingerprints(self.root)
        assert {path: after[path] for path in after if path in before}.items() <= before.items()

    def expire(self) -> None:
        """Expire all but the newest two snapshots."""
        report = expire(self.catalog, NAME, retention=RetentionPolicy(snapshots_min=2), dry_run=False)
        assert report.retained == {"main": 2}

    def orphans(self) -> None:
        """Remove whatever the mirror does not need, however young."""
        remove_orphans(self.catalog, NAME, older_than_s=0, accepts_any_age=True, dry_run=False)

    def maintain(self) -> None:
        """Do a round of upkeep."""
        maintain(self.catalog, NAME, retention=RetentionPolicy(snapshots_min=3), older_than_s=3600, dry_run=False)

    def refused(self) -> None:
        """Try what would make a snapshot that is no Delta version."""
        head = self.catalog.load_table(NAME).current_snapshot()
        with pytest.raises(UpkeepRefusedError):
            compact(self.catalog, NAME)
        assert fold(self.catalog, NAME).is_noop
        assert repair(self.catalog, NAME, dry_run=False).receipt is None
        assert self.catalog.load_table(NAME).current_snapshot() == head

    def require_equal(self) -> int:
        """Compare each snapshot that is left, and whose files Delta has left, with its version; return how many."""
        table = self.catalog.load_table(NAME)
        compared = 0
        for snapshot in table.snapshots():
            version = delta_version_of(table, snapshot)
            assert version is not None
            opened = DeltaTable(self.root, version=version)
            if all(Path(file).exists() for file in opened.file_uris()):
                assert iceberg_rows(table, snapshot.snapshot_id) == delta_rows(str(self.root), version), version
                compared += 1
        head = table.current_snapshot()
        assert head is not None
        head_version = delta_version_of(table, head)
        assert head_version is not None
        assert iceberg_rows(table, head.snapshot_id) == delta_rows(str(self.root), head_version)
        return compared


STEPS = ("mirror", "vacuum", "expire", "orphans")
PAIRWISE = (STEPS, STEPS[::-1])  # Each step comes before each other one, in one of the two.
ORDERS = [
    pytest.param(order, id="-".join(order), marks=() if order in PAIRWISE else pytest.mark.exhaustive)
    for order in permutations(STEPS)
]


@pytest.mark.parametrize("order", ORDERS)
def test_no_order_of_clean_ups_harms_either_table(order: tuple[str, ...], catalog: Catalog, tmp_path: Path) -> None:
    """Delta's files are as they were after each step of ours, and each version that Delta can still read is equal."""
    scene = Scene(tmp_path, catalog)

    for step in (*order, "maintain", "mirror"):
        if step in ("mirror", "vacuum"):  # These let Delta itself write or delete.
            getattr(scene, step)()
        else:
            with untouched(scene.root):
                getattr(scene, step)()
        with untouched(scene.root):
            scene.refused()
            assert scene.require_equal() > 0


def test_without_being_told_so_nothing_of_a_mirror_is_collected(catalog: Catalog, tmp_path: Path) -> None:
    """`gc.enabled=false` is how a mirror is made: not even its own old files go."""
    root = tmp_path / "delta"
    for number in range(3):
        deltalake.write_deltalake(root, pa.table({"i": [number]}), mode="overwrite")
    mirror(str(root), catalog, NAME)
    home = local_path(catalog.load_table(NAME).location())

    with untouched(root), untouched(home):
        assert expire(catalog, NAME, retention=RetentionPolicy(snapshots_min=1), dry_run=False).is_gc_disabled
        with pytest.raises(UpkeepRefusedError, match=r"gc\.enabled=false"):
            remove_orphans(catalog, NAME, older_than_s=0, accepts_any_age=True, dry_run=False)
        with pytest.raises(UpkeepRefusedError, match=r"gc\.enabled=false"):
            maintain(catalog, NAME, dry_run=False)


def test_a_delta_table_below_the_mirrors_location_is_left_alone(catalog: Catalog, tmp_path: Path) -> None:
    """The mirror refuses to be made so; somebody may put one there later."""
    scene = Scene(tmp_path, catalog)
    below = local_path(catalog.load_table(NAME).location()) / "delta"
    shutil.copytree(scene.root, below)
    scene.expire()

    with untouched(below), untouched(scene.root):
        with pytest.raises(UpkeepRefusedError, match="is of a Delta table"):
            scene.orphans()
        with pytest.raises(SourceMismatchError, match="one within the other"):
            mirror(str(below), catalog, NAME)


def _location(catalog: Catalog, root: Path) -> None:
    mirror(str(root), catalog, NAME, location=f"file://{root}/ice")


def _location_above(catalog: Catalog, root: Path) -> None:
    mirror(str(root), catalog, NAME, location=str(root.parent))


def _location_by_a_link(catalog: Catalog, root: Path) -> None:
    (root.parent / "link").symlink_to(root.parent)
    mirror(str(root), catalog, NAME, location=f"file:{root.parent}/link/delta/ice")


def _data_path(catalog: Catalog, root: Path) -> None:
    mirror(str(root), catalog, NAME, properties={"write.data.path": f"{root}/ice"})


def _metadata_path(catalog: Catalog, root: Path) -> None:
    mirror(str(root), catalog, NAME, properties={"write.metadata.path": f"file://{root}/ice"})


@pytest.mark.parametrize("put", [_location, _location_above, _location_by_a_link, _data_path, _metadata_path])
def test_a_mirror_is_not_put_where_delta_cleans_up(
    put: Callable[[Catalog, Path], None], catalog: Catalog, tmp_path: Path
) -> None:
    """`VACUUM` of Delta deletes whatever it does not know below its root: metadata, and position deletes."""
    root = tmp_path / "delta"
    deltalake.write_deltalake(root, pa.table({"i": [1]}))

    with untouched(root), pytest.raises(SourceMismatchError, match="one within the other"):
        put(catalog, root)

    assert not catalog.table_exists(NAME)


def test_a_mirror_that_is_told_to_write_there_later_stops(catalog: Catalog, tmp_path: Path) -> None:
    scene = Scene(tmp_path, catalog)
    table = catalog.load_table(NAME)
    table.transaction().set_properties({"write.data.path": str(scene.root / "deletes")}).commit_transaction()

    with untouched(scene.root), pytest.raises(SourceMismatchError, match="one within the other"):
        mirror(str(scene.root), catalog, NAME)


def test_starting_over_deletes_no_file(catalog: Catalog, tmp_path: Path) -> None:
    """Of either table: whoever reads the old history goes on."""
    scene = Scene(tmp_path, catalog)
    home = local_path(catalog.load_table(NAME).location())
    before = fingerprints(home)

    with untouched(scene.root):
        mirror(str(scene.root), catalog, NAME, start_over=True)

    assert before.items() <= fingerprints(home).items()
    assert scene.require_equal() > 5


@needs_real_tables
def test_position_deletes_that_stand_for_deletion_vectors_are_not_taken_for_orphans(
    catalog: Catalog, tmp_path: Path
) -> None:
    """They are the only data files that the mirror itself has written."""
    source, root = Path(os.environ["SERIATIM_DELTA_TABLES"]) / "table-with-dv-small", tmp_path / "dv"
    shutil.copytree(source, root)
    mirror(str(root), catalog, NAME)
    catalog.load_table(NAME).transaction().set_properties({"gc.enabled": "true"}).commit_transaction()
    home = local_path(catalog.load_table(NAME).location())
    deletes = fingerprints(home / "data")
    assert len(deletes) == 1

    with untouched(root):
        for keep in (2, 1):
            expire(catalog, NAME, retention=RetentionPolicy(snapshots_min=keep), dry_run=False)
            remove_orphans(catalog, NAME, older_than_s=0, accepts_any_age=True, dry_run=False)
            assert fingerprints(home / "data") == deletes

    table = catalog.load_table(NAME)
    (snapshot,) = table.snapshots()
    assert delta_version_of(table, snapshot) == 1
    assert iceberg_rows(table, snapshot.snapshot_id) == delta_rows(str(root), 1)
