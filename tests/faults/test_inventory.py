"""The judge of files is judged: it sees a file that is gone, and one that nobody needs."""

from __future__ import annotations

from pathlib import Path

from tests.faults.bank import Bank
from tests.faults.files import local_path


def test_a_healthy_table_has_all_its_files_and_no_others(tmp_path: Path) -> None:
    """Plain PyIceberg without rivals leaves nothing behind."""
    bank = Bank(tmp_path).create()
    bank.deposit(10)

    inventory = bank.inventory()

    assert (inventory.missing, inventory.unreachable) == ([], [])
    assert len(inventory.reachable) > 3


def test_each_kind_of_file_is_missed(tmp_path: Path) -> None:
    """Also when PyIceberg has the manifest list in its cache: the disk is what counts."""
    bank = Bank(tmp_path).create()
    bank.deposit(10)

    for path in sorted(bank.inventory().reachable):
        content = path.read_bytes()
        path.unlink()
        assert path in bank.inventory().missing
        path.write_bytes(content)
    assert bank.inventory().missing == []


def test_each_kind_of_left_over_is_found(tmp_path: Path) -> None:
    """Data files, manifests and manifest lists; a metadata.json is not counted."""
    bank = Bank(tmp_path).create()
    home = local_path(bank.table().location())

    for name in ("data/left.parquet", "data/id=1/left.parquet", "metadata/left-m0.avro"):
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_bytes(b"")
    (home / "metadata/left.metadata.json").write_bytes(b"")

    left = {str(path.relative_to(home)) for path in bank.inventory().unreachable}
    assert left == {"data/left.parquet", "data/id=1/left.parquet", "metadata/left-m0.avro"}
