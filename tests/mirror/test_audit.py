"""The auditor takes a mirror for what it is: many snapshots in one commit, each of which stands for itself."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import Catalog

from seriatim.audit import audit
from seriatim.mirror import mirror, snapshot_of


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Append, append, delete, optimize: the last is a `replace`."""
    source = str(tmp_path / "delta")
    for number in (1, 2):
        write_deltalake(source, pa.table({"id": [number, number * 10]}), mode="append")
    DeltaTable(source).delete("id = 1")
    DeltaTable(source).optimize.compact()
    return source


@pytest.mark.parametrize("batch", [1, 3, 10])
def test_a_mirror_is_clean_whatever_lands_in_one_commit(catalog: Catalog, source: str, batch: int) -> None:
    mirror(source, catalog, "mirrors.it", batch=batch)

    verdict = audit(catalog, "mirrors.it")

    assert (verdict.anomalies, verdict.unjudged) == ((), ())


def test_a_version_that_lands_twice_or_not_at_all_is_named(catalog: Catalog, source: str) -> None:
    """As a converter would land them that does not look at what it commits on."""
    mirror(source, catalog, "mirrors.it", upto=1)
    for version in (1, 4):
        table = catalog.load_table("mirrors.it")
        words = {"delta-version": str(version), "delta-timestamp": "1", "delta-table-id": "it"}
        ours = table.current_snapshot()
        assert ours is not None
        assert ours.summary is not None
        said = {key: value for key, value in ours.summary.additional_properties.items() if key.startswith("seriatim.")}
        said["seriatim.commit-id"] = f"planted-{version}"
        said["seriatim.base-snapshot-id"] = str(ours.snapshot_id)
        said["seriatim.base-sequence-number"] = str(ours.sequence_number)
        said.pop("seriatim.part", None)
        table.append(pa.table({"id": [version]}), snapshot_properties={**said, **words})

    found = {(each.kind.value, each.what) for each in audit(catalog, "mirrors.it").anomalies}

    assert ("double apply", "Delta version 1 came after version 1, which is, or follows, the same") in found
    assert ("lost update", "Delta version 4 came after version 1, without those between") in found


def test_a_mirror_that_was_set_back_into_the_middle_of_a_commit_is_clean(catalog: Catalog, source: str) -> None:
    mirror(source, catalog, "mirrors.it")
    table = catalog.load_table("mirrors.it")
    middle = snapshot_of(table, 1)
    assert middle is not None
    table.manage_snapshots().rollback_to_snapshot(middle.snapshot_id).commit()

    mirror(source, catalog, "mirrors.it")

    verdict = audit(catalog, "mirrors.it")
    assert (verdict.anomalies, verdict.unjudged) == ((), ())
