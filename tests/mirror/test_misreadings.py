"""What Iceberg can say and PyIceberg reads as something else: refused, and not mirrored."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.avro.decoder import new_decoder
from pyiceberg.catalog import Catalog

from seriatim.errors import UnsupportedFeatureError
from seriatim.mirror import mirror
from seriatim.mirror.misreadings import is_kept, narrowed

READS_DOUBLES = new_decoder(struct.pack("<d", 0.1)).read_double() == 0.1


@pytest.mark.parametrize("value", [0.0, -0.5, 10.0, math.inf, -math.inf, math.nan])
def test_a_value_that_is_a_float_is_read_as_it_is(value: float) -> None:
    assert is_kept(value)


@pytest.mark.parametrize("value", [0.1, 1e300, -1e300, 5e-324])
def test_a_value_that_is_no_float_is_read_as_another(value: float) -> None:
    assert narrowed(value) != value
    assert is_kept(value) == READS_DOUBLES


@pytest.mark.skipif(READS_DOUBLES, reason="this PyIceberg reads doubles as what they are")
def test_a_partition_that_would_be_read_as_another_is_refused_by_name(tmp_path: Path, catalog: Catalog) -> None:
    source = str(tmp_path / "delta")
    write_deltalake(source, pa.table({"rate": [0.1], "id": [1]}), partition_by=["rate"])

    with pytest.raises(
        UnsupportedFeatureError, match=r"version 0 \(WRITE\) .*0\.1, which .* reads as 0\.10000000149.*'rate'"
    ):
        mirror(source, catalog, "mirrors.it")

    assert catalog.load_table("mirrors.it").current_snapshot() is None
