"""A table that is partitioned by a double: PyIceberg up to 0.12.0 reads its partition values rounded to floats."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, FloatType, LongType, NestedField

from seriatim import Append, apply, pinned
from seriatim.commit import private
from seriatim.commit.double_partitions import is_kept, narrowed
from seriatim.errors import InvalidChangeError
from seriatim.upkeep import compact
from tests.faults.bank import Bank

_SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "rate", DoubleType(), required=False),
    NestedField(3, "share", FloatType(), required=False),
)
_ROWS = pa.table({"id": [1, 2], "rate": [0.1, 0.5], "share": pa.array([0.1, 0.5], pa.float32())})


@pytest.fixture
def catalog(bank: Bank) -> Catalog:
    return bank.connect()


def _table(catalog: Catalog, source_id: int) -> Table:
    spec = PartitionSpec(PartitionField(source_id, 1000, IdentityTransform(), "part"))
    return catalog.create_table("bank.rates", _SCHEMA, partition_spec=spec)


@pytest.mark.parametrize(
    "write",
    [
        lambda catalog: apply(catalog, "bank.rates", lambda base: Append(_ROWS)),
        lambda catalog: pinned(catalog, "bank.rates", lambda table: table.append(_ROWS)),
    ],
    ids=["apply", "pinned"],
)
def test_it_is_not_written_where_its_values_are_read_rounded(
    catalog: Catalog, write: Callable[[Catalog], object]
) -> None:
    table = _table(catalog, 2)

    if private.reads_doubles_exactly():
        write(catalog)
        assert {file.partition[0] for file in _files(catalog)} == {0.1, 0.5}
        return
    with pytest.raises(InvalidChangeError, match="double column 'rate'"):
        write(catalog)
    assert table.refresh().current_snapshot() is None


def test_it_is_not_compacted_where_its_values_are_read_rounded(catalog: Catalog) -> None:
    table = _table(catalog, 2)
    for _ in range(2):
        table.append(_ROWS)
    before = table.current_snapshot()

    if private.reads_doubles_exactly():
        assert compact(catalog, "bank.rates").files_removed == 4
        return
    with pytest.raises(InvalidChangeError, match="double column 'rate'"):
        compact(catalog, "bank.rates")
    assert table.refresh().current_snapshot() == before


def test_a_table_partitioned_by_a_float_is_written(catalog: Catalog) -> None:
    _table(catalog, 3)

    apply(catalog, "bank.rates", lambda base: Append(_ROWS))

    assert catalog.load_table("bank.rates").scan().to_arrow().num_rows == 2


def test_a_value_that_is_a_float_is_kept_by_any_pyiceberg() -> None:
    assert all(is_kept(value) for value in (0.0, -0.5, 10.0, float("inf"), float("nan")))


@pytest.mark.parametrize("value", [0.1, 1e300, -1e300, 5e-324])
def test_a_value_that_is_no_float_is_kept_only_where_doubles_are_read_exactly(value: float) -> None:
    assert narrowed(value) != value
    assert is_kept(value) == private.reads_doubles_exactly()


def _files(catalog: Catalog) -> list:  # type: ignore[type-arg]
    return [task.file for task in catalog.load_table("bank.rates").scan().plan_files()]
