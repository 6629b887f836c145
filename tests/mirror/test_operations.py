"""Whatever delta-rs does to a table, PyIceberg and DuckDB read the mirror equal at every version."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyiceberg
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import EqualTo, IsNull

from seriatim.errors import UnsupportedFeatureError
from seriatim.mirror import mirror, snapshot_of
from tests.engines.readers import read_with_duckdb
from tests.mirror.equality import delta_table, iceberg_table, require_same_rows

MINOR = tuple(map(int, pyiceberg.__version__.split(".")[:2]))
_AMOUNT = pa.decimal128(12, 2)
ROWS = pa.table(
    {
        "id": [1, 2, 3, 4],
        "branch": ["n", "n", "s", None],
        "amount": pa.array([Decimal("1.10"), None, Decimal(3), Decimal(4)], _AMOUNT),
    }
)
MORE = pa.table({"id": [3, 5], "branch": ["s", "n"], "amount": pa.array([Decimal(33), Decimal("5.55")], _AMOUNT)})


def _merge(source: str) -> None:
    (
        DeltaTable(source)
        .merge(MORE, "t.id = s.id", source_alias="s", target_alias="t")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute()
    )


OPERATIONS: dict[str, Callable[[str], object]] = {
    "append": lambda source: write_deltalake(source, MORE, mode="append"),
    "delete some": lambda source: DeltaTable(source).delete("id > 2"),
    "delete all": lambda source: DeltaTable(source).delete(),
    "update": lambda source: DeltaTable(source).update({"amount": "amount + 1"}, predicate="branch = 'n'"),
    "merge": _merge,
    "overwrite": lambda source: write_deltalake(source, MORE, mode="overwrite"),
    "replace where": lambda source: write_deltalake(
        source, MORE.filter(pa.compute.equal(MORE["branch"], "n")), mode="overwrite", predicate="branch = 'n'"
    ),
    "optimize": lambda source: DeltaTable(source).optimize.compact(),
    "z-order": lambda source: DeltaTable(source).optimize.z_order(["id"]),
    "restore": lambda source: DeltaTable(source).restore(0),
    "vacuum": lambda source: DeltaTable(source).vacuum(retention_hours=200, dry_run=False),
    "checkpoint": lambda source: DeltaTable(source).create_checkpoint(),
    "add a column": lambda source: write_deltalake(
        source, MORE.append_column("note", pa.array(["x", None])), mode="append", schema_mode="merge"
    ),
    "add a column without rows": lambda source: DeltaTable(source).alter.add_columns(
        [Field("seen", PrimitiveType("timestamp"))]
    ),
    "other columns": lambda source: write_deltalake(
        source, pa.table({"id": ["a", "b"], "why": [1.5, None]}), mode="overwrite", schema_mode="overwrite"
    ),
    "a property": lambda source: DeltaTable(source).alter.set_table_properties({"delta.appendOnly": "false"}),
}


def _require_equal(catalog: Catalog, source: str) -> None:
    table = catalog.load_table("mirrors.it")
    for version in range(DeltaTable(source).version() + 1):
        snapshot = snapshot_of(table, version)
        assert snapshot is not None
        wanted = delta_table(DeltaTable(source, version=version))
        require_same_rows(iceberg_table(table, snapshot.snapshot_id), wanted)
        require_same_rows(read_with_duckdb(table, snapshot.snapshot_id), wanted)


@pytest.mark.parametrize("partition_by", [None, ["branch"]], ids=["not partitioned", "partitioned"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_mirrored_equal(
    tmp_path: Path, catalog: Catalog, name: str, partition_by: list[str] | None
) -> None:
    if partition_by is not None and name in ("z-order", "other columns"):
        pytest.skip("delta-rs does not do this to a table that is partitioned so")
    source = str(tmp_path / "delta")
    write_deltalake(source, ROWS, partition_by=partition_by)
    OPERATIONS["append"](source)

    OPERATIONS[name](source)
    OPERATIONS["optimize"](source)

    mirror(source, catalog, "mirrors.it")
    _require_equal(catalog, source)


@pytest.mark.parametrize("batch", [1, 3, None])
def test_operations_one_after_the_other_are_mirrored_equal(tmp_path: Path, catalog: Catalog, batch: int | None) -> None:
    source = str(tmp_path / "delta")
    write_deltalake(source, ROWS, partition_by=["branch"])
    names = (
        "append",
        "merge",
        "add a column",
        "update",
        "optimize",
        "delete some",
        "restore",
        "replace where",
        "append",
    )
    for name in names:
        OPERATIONS[name](source)

    mirror(source, catalog, "mirrors.it", batch=batch)

    _require_equal(catalog, source)


def test_other_partition_columns_are_mirrored_equal(tmp_path: Path, catalog: Catalog) -> None:
    source = str(tmp_path / "delta")
    write_deltalake(source, ROWS, partition_by=["branch"])
    mirror(source, catalog, "mirrors.it")
    write_deltalake(source, MORE, mode="overwrite", schema_mode="overwrite", partition_by=["id"])
    write_deltalake(source, ROWS, mode="append")

    mirror(source, catalog, "mirrors.it")

    _require_equal(catalog, source)
    assert [field.name for field in catalog.load_table("mirrors.it").spec().fields] == ["id"]


PARTITIONS: dict[str, pa.Array] = {
    "string": pa.array(["", "a/b", "50%", "a=b&c", "a b", "é", "\\", "'", '"', "a#b?c", None]),
    "long": pa.array([-1, 0, 2**62, None]),
    "int": pa.array([-1, 0, None], pa.int32()),
    "short": pa.array([-1, None], pa.int16()),
    "byte": pa.array([-1, None], pa.int8()),
    "boolean": pa.array([True, False, None]),
    "float": pa.array([1.1, -0.5, None], pa.float32()),
    "double": pa.array([1.5, -0.25, None]),
    "date": pa.array([dt.date(1969, 12, 31), dt.date(2026, 2, 28), None]),
    "decimal": pa.array([Decimal("1.20"), Decimal("99999999.99"), None], pa.decimal128(12, 2)),
    "timestamp": pa.array([dt.datetime(2026, 1, 1, 1, 2, 3, 456789, dt.UTC), None], pa.timestamp("us", "UTC")),
    "timestamp_ntz": pa.array([dt.datetime(1960, 1, 1, 1, 2, 3, 4), None], pa.timestamp("us")),  # noqa: DTZ001  # It has none.
}


@pytest.mark.parametrize("name", PARTITIONS)
def test_partitions_of_every_type_are_mirrored_equal_and_found(tmp_path: Path, catalog: Catalog, name: str) -> None:
    values = PARTITIONS[name]
    source = str(tmp_path / "delta")
    write_deltalake(source, pa.table({"part": values, "id": list(range(len(values)))}), partition_by=["part"])

    if MINOR < (0, 12) and any(value in (0, False) for value in values.to_pylist()):
        with pytest.raises(UnsupportedFeatureError, match="reads as NULL, in column 'part'"):
            mirror(source, catalog, "mirrors.it")
        return

    mirror(source, catalog, "mirrors.it")

    if name != "string":  # deltalake reads the empty text as itself, and by the protocol it is null.
        _require_equal(catalog, source)
    table = catalog.load_table("mirrors.it")
    for number, value in enumerate(values.to_pylist()):
        condition = IsNull("part") if value in (None, "") else EqualTo("part", _literal(name, value))
        assert number in table.scan(condition).to_arrow_batch_reader().read_all()["id"].to_pylist()


def _literal(name: str, value: object) -> object:
    return value.isoformat() if isinstance(value, dt.date) else value  # Also of a time.
