"""The upkeep of a table, as an asset."""

from __future__ import annotations

import dagster as dg
import pytest

from assets.tables import account_upkeep, conflicts_upkeep
from pipelines.resources import BankCatalog
from tests.code_location.scene import Scene
from tests.contract.upkeep_support import age
from tests.faults.files import local_path, take_inventory


def _materialize(asset: dg.AssetsDefinition, **config: object) -> dict[str, object]:
    result = dg.materialize(
        [asset],
        resources={"catalog": BankCatalog()},
        run_config={"ops": {asset.op.name: {"config": config}}} if config else None,
    )
    (materialization,) = result.asset_materializations_for_node(asset.op.name)
    return {name: value.value for name, value in materialization.metadata.items()}


def test_upkeep_tells_what_it_did(scene: Scene) -> None:
    """The balances stay what they are; what nobody needs is gone when it is old, and a dry run takes nothing."""
    scene.post("cash_deposit")
    scene.post("household")
    before = scene.balances()
    table = scene.catalog().load_table(("bank", "account"))
    orphan = local_path(table.location()) / "data" / "orphan.parquet"
    orphan.write_bytes(b"left by a dead run")

    young = _materialize(account_upkeep)
    assert (young["is_dry_run"], young["orphans"], orphan.exists()) == (False, 0, True)

    age(orphan)
    dry = _materialize(account_upkeep, dry_run=True)
    assert (dry["is_dry_run"], dry["orphans"], dry["orphans_removed"], orphan.exists()) == (True, 1, 0, True)

    done = _materialize(account_upkeep)
    assert (done["orphans_removed"], orphan.exists()) == (1, False)
    assert scene.balances() == before
    assert take_inventory(scene.catalog().load_table(("bank", "account"))).missing == []


def test_a_table_that_is_not_there_yet_needs_no_upkeep(scene: Scene) -> None:
    """The conflicts table is made by the first conflict; the night's upkeep does not fail before that."""
    assert _materialize(conflicts_upkeep) == {}


def test_an_age_that_is_not_safe_fails_the_run(scene: Scene) -> None:
    """A writer may take longer than that from its first file to its commit."""
    scene.post("cash_deposit")

    with pytest.raises(Exception, match="3600"):
        _materialize(account_upkeep, older_than_hours=0.5)
