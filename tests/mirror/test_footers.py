"""Field ids that a data file bears and the log does not tell of: readers would take one column for another."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog import Catalog

from seriatim.errors import UnsupportedFeatureError
from seriatim.mirror import mirror, snapshot_of
from tests.mirror.equality import counted, delta_rows, iceberg_rows


def _rows(ids: dict[str, int]) -> pa.Table:
    fields = [
        pa.field(name, pa.int64(), metadata={"PARQUET:field_id": str(ids[name])} if ids else None)
        for name in ("debit", "credit")
    ]
    return pa.table([[1], [2]], schema=pa.schema(fields))


def _append(source: str, ids: dict[str, int]) -> None:
    write_deltalake(source, _rows(ids), mode="append")


def test_a_file_with_ids_of_its_own_is_refused_when_files_are_checked(tmp_path: Path, catalog: Catalog) -> None:
    source = str(tmp_path / "delta")
    _append(source, {})
    _append(source, {"debit": 2, "credit": 1})

    with pytest.raises(UnsupportedFeatureError, match=r"version 1 .*field id 2.*'debit'"):
        mirror(source, catalog, "mirrors.it", check_files=True)

    table = catalog.load_table("mirrors.it")
    landed = snapshot_of(table, 0)
    assert landed is not None
    assert landed == table.current_snapshot()
    assert iceberg_rows(table, landed.snapshot_id) == counted(_rows({}))


@pytest.mark.parametrize("ids", [{}, {"debit": 1, "credit": 2}], ids=["no ids", "the same ids"])
def test_other_files_pass_the_check(tmp_path: Path, catalog: Catalog, ids: dict[str, int]) -> None:
    source = str(tmp_path / "delta")
    _append(source, {})
    _append(source, ids)

    landed = mirror(source, catalog, "mirrors.it", check_files=True).landed

    table = catalog.load_table("mirrors.it")
    assert [iceberg_rows(table, each.snapshot_id) for each in landed] == [delta_rows(source, v) for v in (0, 1)]
