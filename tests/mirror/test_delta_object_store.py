"""A Delta table in an object store: S3, which moto plays on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import boto3
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from moto.server import ThreadedMotoServer

from tests.mirror.test_delta_deletion_vectors import bitmap, framed

REGION, BUCKET = "eu-central-1", "warehouse"
KEYS = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}

# In a process of its own: deltalake's file system holds the interpreter while it waits for the store.
READ = """
import json, sys
from seriatim.errors import DeltaLogError
from seriatim.mirror.delta.actions import DeletionVector
from seriatim.mirror.delta.log import DeltaLog

options = json.loads(sys.argv[1])
log = DeltaLog.open("s3://warehouse/a%20b/t", options)
latest = log.latest_version()
for version in range(latest + 1):
    print(json.dumps(sorted(file.path for file in log.state(version).files.values())))
print(json.dumps([[commit.version, commit.operation] for commit in log.commits(-1, latest)]))
for path in ("s3://warehouse/a%20b/t/dv.bin", "s3://warehouse/else/d%20v.bin"):
    print(json.dumps(log.deleted_positions(DeletionVector("p", path, SIZE, 3, offset=1)).to_pylist()))
for nothing in ("s3://warehouse/nothing", "s3://no-such-bucket/t"):
    try:
        DeltaLog.open(nothing, options).latest_version()
    except DeltaLogError as err:
        print(json.dumps(err.source))
"""


def client(endpoint: str) -> Any:
    """Return what puts and lists objects."""
    return boto3.client("s3", endpoint_url=endpoint, region_name=REGION, **KEYS)


@pytest.fixture
def options() -> Iterator[Mapping[str, str]]:
    """What deltalake needs to reach an S3 that has one bucket."""
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    s3 = client(endpoint)
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    for key in ("a b/t/dv.bin", "else/d v.bin"):
        s3.put_object(Bucket=BUCKET, Key=key, Body=b"\x01" + framed(bitmap([1, 5, 2**33])))
    yield {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        **{name.upper(): value for name, value in KEYS.items()},
        "AWS_REGION": REGION,
    }
    server.stop()


def test_a_table_in_an_object_store_is_read_as_a_local_one(options: Mapping[str, str]) -> None:
    """Commits, a checkpoint, deletion vectors in the table's folder and outside of it, and what is not there."""
    where = "s3://warehouse/a%20b/t"
    for number in range(3):
        rows = pa.table({"part": ["x y", "a/b"], "id": [number, number]})
        write_deltalake(where, rows, partition_by=["part"], mode="append", storage_options=dict(options))
    DeltaTable(where, version=1, storage_options=dict(options)).create_checkpoint()

    code = READ.replace("SIZE", str(len(bitmap([1, 5, 2**33]))))
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(options)], capture_output=True, text=True, check=True, timeout=60
    )
    said = [json.loads(line) for line in done.stdout.splitlines()]

    keys = [item["Key"] for item in client(options["AWS_ENDPOINT_URL"]).list_objects_v2(Bucket=BUCKET)["Contents"]]
    stored = {f"s3://{BUCKET}/{key}" for key in keys if key.endswith(".parquet") and "_delta_log" not in key}
    assert [len(files) for files in said[:3]] == [2, 4, 6]
    assert set(said[2]) == stored
    assert said[3] == [[0, "WRITE"], [1, "WRITE"], [2, "WRITE"]]
    assert said[4] == said[5] == [1, 5, 2**33]
    assert said[6:] == ["s3://warehouse/nothing", "s3://no-such-bucket/t"]
