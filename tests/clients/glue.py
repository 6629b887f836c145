"""A bank in AWS Glue, which moto plays on loopback, reached by PyIceberg's own GlueCatalog and a real boto3."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import boto3
import pytest
import requests
from botocore.session import get_session
from moto.core.exceptions import JsonRESTError
from moto.glue.responses import GlueResponse
from moto.server import ThreadedMotoServer
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.glue import GlueCatalog

from tests.faults.bank import Bank

_REGION, _KEY, _SECRET = "eu-central-1", "testing", "testing"
_BUCKET: Final = "warehouse"


class ConcurrentModificationError(JsonRESTError):
    """What Glue answers to an update of a version of a table that is not its newest."""

    code = 400

    def __init__(self) -> None:
        super().__init__("ConcurrentModificationException", "Update table failed due to concurrent modifications.")


def compare_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make moto's Glue refuse an update whose VersionId is not the newest, as AWS does and moto does not."""
    lock, update = threading.Lock(), GlueResponse.update_table

    def compared(self: GlueResponse) -> Any:
        wanted = self.parameters.get("VersionId")
        with lock:
            table = self.glue_backend.get_table(self.parameters["DatabaseName"], self.parameters["TableInput"]["Name"])
            if wanted is not None and wanted != table.as_dict()["VersionId"]:
                raise ConcurrentModificationError
            return update(self)

    monkeypatch.setattr(GlueResponse, "update_table", compared)


def is_update(method: str, path: str, headers: Mapping[str, str]) -> bool:
    """Whether a request commits to a table."""
    return headers.get("X-Amz-Target") == "AWSGlue.UpdateTable"


class Aws:
    """Glue and S3 of nobody but this test."""

    def __init__(self, server: ThreadedMotoServer) -> None:
        self.uri = "http://{}:{}".format(*server.get_host_and_port())
        self._session = get_session()  # One for all: it reads megabytes of JSON for its first client.
        self._making = threading.Lock()  # Its clients may be used by threads, and must not be made by them.

    def forget(self) -> None:
        """Be as it was at the beginning."""
        requests.post(f"{self.uri}/moto-api/reset", timeout=60).raise_for_status()

    def bucket(self) -> str:
        """Make the bucket, and return the location of a warehouse in it."""
        s3: Any = boto3.client(  # boto3 has no types.
            "s3", endpoint_url=self.uri, region_name=_REGION, aws_access_key_id=_KEY, aws_secret_access_key=_SECRET
        )
        s3.create_bucket(Bucket=_BUCKET, CreateBucketConfiguration={"LocationConstraint": _REGION})
        return f"s3://{_BUCKET}"

    def catalog(self, warehouse: str, *, through: str | None = None, **options: Any) -> GlueCatalog:
        """Return a new catalog object, its Glue reached by a proxy if one is named."""
        properties = {
            "warehouse": warehouse,
            "glue.endpoint": through or self.uri,
            "s3.endpoint": self.uri,
            "client.region": _REGION,
            "client.access-key-id": _KEY,
            "client.secret-access-key": _SECRET,
            "botocore_session": self._session,
        }
        with self._making:
            return GlueCatalog("glue", **properties, **options)


class GlueBank(Bank):
    """The table `bank.account` in Glue, its files under a local path or in S3."""

    def __init__(self, path: Path, aws: Aws, warehouse: str | None = None) -> None:
        """Keep the files under `path`, or in `warehouse`."""
        super().__init__(path)
        self.aws, self.warehouse = aws, warehouse or f"file://{path}"
        self._rivals = self.client()

    def client(self, *, through: str | None = None, **options: Any) -> GlueCatalog:
        """Return a new catalog object."""
        return self.aws.catalog(self.warehouse, through=through, **options)

    @contextmanager
    def rival(self) -> Iterator[Catalog]:
        """Yield somebody else's catalog object."""
        yield self._rivals
