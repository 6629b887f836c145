"""Where the files of a Delta table are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seriatim.mirror.delta.locations import as_uri, file_location, root_location
from seriatim.mirror.delta.log import DeltaLog
from tests.mirror.delta_logs import BIRTH, add, write_commit


@pytest.mark.parametrize(
    ("uri", "root"),
    [
        ("/data/my table", "/data/my table"),
        ("/data/a%20b#1?", "/data/a%20b#1?"),  # A path is no URI.
        ("/data/x/../t/", "/data/t"),
        ("file:///data/a%20b%23/", "/data/a b#"),
        ("file:/data/t", "/data/t"),
        ("file://localhost/data/t", "/data/t"),
        ("s3://bucket/a%20b/t/", "s3://bucket/a b/t"),
        ("abfss://c@account.dfs.core.windows.net/t", "abfss://c@account.dfs.core.windows.net/t"),
    ],
)
def test_a_root_is_a_plain_path_or_has_its_scheme(uri: str, root: str) -> None:
    assert root_location(uri) == root


def test_a_relative_root_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert root_location("t") == os.path.join(os.getcwd(), "t")  # noqa: PTH109, PTH118 (what the system calls it)


@pytest.mark.parametrize(
    ("path", "root", "location"),
    [
        ("a.parquet", "/t", "/t/a.parquet"),
        ("p=a%20b/c.parquet", "/t", "/t/p=a b/c.parquet"),
        ("p=A%252FA/c.parquet", "/t", "/t/p=A%2FA/c.parquet"),  # Decoded once, as the folder is called.
        ("p=a+b:c/c.parquet", "/t", "/t/p=a+b:c/c.parquet"),
        ("p=%C3%A9/c.parquet", "/t", "/t/p=é/c.parquet"),
        ("/else/a%20b.parquet", "/t", "/else/a b.parquet"),
        ("/else/a.parquet", "s3://bucket/t", "s3://bucket/else/a.parquet"),
        ("file:/else/a%20b.parquet", "/t", "/else/a b.parquet"),
        ("file:///else/a%23b.parquet", "s3://bucket/t", "/else/a#b.parquet"),
        ("s3://other/x%20y/a.parquet", "s3://bucket/t", "s3://other/x y/a.parquet"),
        ("p=1/a.parquet", "s3://bucket/my t", "s3://bucket/my t/p=1/a.parquet"),
    ],
)
def test_a_path_is_decoded_once_and_put_after_the_root(path: str, root: str, location: str) -> None:
    assert file_location(path, root) == location


@pytest.mark.parametrize("location", ["s3://bucket/a b/t#1", "s3://bucket/100%/t?", "gs://bucket/é"])
def test_a_location_and_its_uri_say_the_same(location: str) -> None:
    """Files outside of the table's folder are reached by URI."""
    uri = as_uri(location)

    assert not set(" #?") & set(uri)
    assert file_location(uri, "/t") == location


def test_a_folder_may_be_called_anything(tmp_path: Path) -> None:
    """Also what a URI would have to escape; PyArrow and DuckDB take the path as it stands."""
    table = tmp_path / "my %20 #täble? = 1"
    write_commit(table, 0, *BIRTH, add("p=x%20y/a.parquet"))
    (table / "p=x y").mkdir()
    (table / "p=x y" / "a.parquet").write_text("")

    for uri in (str(table), table.as_uri()):
        (file,) = DeltaLog.open(uri).state(0).files.values()
        assert Path(file.path).is_file()
