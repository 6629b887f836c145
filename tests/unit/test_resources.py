"""Where the catalog and the transactions are, by environment or by default."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

import dagster as dg
import pytest
from deltalake import DeltaTable

from assets.errors import TransactionsError
from pipelines.resources import BankCatalog, TransactionsDelta
from seriatim.dagster import CatalogOpenError, IcebergCatalog


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("SERIATIM_DELTA", "SERIATIM_TRANSACTIONS", "SERIATIM_CATALOG_URI", "SERIATIM_WAREHOUSE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_settings_everything_is_under_the_working_directory(workplace: Path) -> None:
    """A clean checkout needs no configuration."""
    catalog = BankCatalog().load()

    assert catalog.properties["warehouse"] == f"file://{workplace}/.seriatim/warehouse"
    assert TransactionsDelta().uri() == str(workplace / ".seriatim" / "bank_transactions")
    assert sorted(path.name for path in (workplace / ".seriatim").iterdir()) == [
        *("bank.parquet", "bank_transactions", "catalog.db", "warehouse")
    ]


def test_a_bank_is_landed_once(workplace: Path) -> None:
    """Runs that start later find the versions that the first one found."""
    first = TransactionsDelta().uri()
    before = sorted(Path(first).rglob("*"))

    assert TransactionsDelta().uri() == first
    assert sorted(Path(first).rglob("*")) == before


def test_a_file_that_is_named_is_what_is_landed(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that cannot be used leaves nothing behind."""
    file = workplace / "mine.csv"
    monkeypatch.setenv("SERIATIM_TRANSACTIONS", str(file))
    with pytest.raises(TransactionsError):
        TransactionsDelta().uri()
    assert not (workplace / ".seriatim").exists()

    file.write_text("trans_id,account_id,date,kind,amount\n7,1,1993-01-05,pension,10.00\n")

    assert DeltaTable(TransactionsDelta().uri()).to_pyarrow_table()["trans_id"].to_pylist() == [7]


def test_the_environment_is_read_when_a_run_asks(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Definitions that were loaded before it was set obey it."""
    transactions, catalog = TransactionsDelta(), BankCatalog()
    monkeypatch.setenv("SERIATIM_DELTA", "s3://bank/transactions")
    monkeypatch.setenv("SERIATIM_CATALOG_URI", f"sqlite:///{workplace}/mine.db")
    monkeypatch.setenv("SERIATIM_WAREHOUSE", f"file://{workplace}/mine")

    assert transactions.uri() == "s3://bank/transactions"
    assert catalog.load().properties["warehouse"] == f"file://{workplace}/mine"
    assert (workplace / "mine.db").exists()
    assert not (workplace / ".seriatim").exists()


def test_secrets_are_named_in_the_configuration_and_read_in_the_run(
    workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Dagster shows of a resource is the name of the variable; what the catalog gets is its value."""
    monkeypatch.setenv("BANK_URI", f"sqlite:///{workplace}/secret.db")
    monkeypatch.setenv("BANK_KEY", "hush")
    catalog = IcebergCatalog(
        uri=dg.EnvVar("BANK_URI"),
        warehouse=f"file://{workplace}/files",
        properties={"s3.secret-access-key": dg.EnvVar("BANK_KEY")},
    )
    seen: list[str] = []

    @dg.asset
    def reads(catalog: IcebergCatalog) -> None:
        seen.append(catalog.load().properties["s3.secret-access-key"])

    os.environ.pop("DAGSTER_HOME", None)
    result = dg.materialize([reads], resources={"catalog": catalog})

    assert result.success
    assert seen == ["hush"]
    shown = dg.Definitions(assets=[reads], resources={"catalog": catalog}).get_repository_def()
    assert "hush" not in str(shown.get_top_level_resources()["catalog"].config_schema.default_value)


@pytest.mark.parametrize("uri", ["postgres://bob:S3CRET@db/x", "postgresql+psycopg2:/bob:S3CRET@db/x", "weird"])
def test_a_catalog_that_cannot_be_opened_tells_no_password(workplace: Path, uri: str) -> None:
    """PyIceberg puts the address into its errors, and Dagster puts those, and what caused them, into its log."""
    with pytest.raises(CatalogOpenError) as caught:
        IcebergCatalog(uri=uri, warehouse=f"{workplace}/warehouse").load()

    assert "S3CRET" not in "".join(traceback.format_exception(caught.value))
