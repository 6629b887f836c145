"""The customers in the pictures: two backfills of the example of another project overlap, over the same partitions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import urllib3

from pipelines.instance import prepare_instance
from pipelines.screenshots.webserver import process, webserver
from seriatim.system import SystemClock

_EXAMPLE: Final = Path(__file__).resolve().parents[2] / "docs" / "examples" / "customer_dimension.py"
_TARGET: Final = ("-f", str(_EXAMPLE))
_DAYS: Final = tuple(f"2026-11-{day:02}" for day in range(1, 13))
_BACKFILLS: Final = (_DAYS[:6], _DAYS[3:9])  # Three days are in both.
_LAUNCH: Final = """
mutation ($keys: [String!]!) {
  launchPartitionBackfill(backfillParams: {assetSelection: [{path: ["shop"]}], partitionNames: $keys}) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
  }
}
"""
_STATUS: Final = """
query ($id: String!) { partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill { status } } }
"""
_WAIT_S_MAX: Final = 300.0
_LOOK_EVERY_S: Final = 1.0


class BackfillFailedError(Exception):
    """A backfill did not end as it should; the log of the daemon says why."""

    def __init__(self, backfill_id: str, *, status: str, log: Path) -> None:
        super().__init__(f"backfill {backfill_id} is {status}; see {log}")
        self.backfill_id, self.status, self.log = backfill_id, status, log


@dataclass(frozen=True, slots=True)
class Customers:
    """The project under `home`."""

    home: Path

    @contextmanager
    def backfilled(self) -> Iterator[str]:
        """Yield the address of the project's UI when two backfills that overlap are done.

        Raises:
            BackfillFailedError: one of them failed, or took too long.
        """
        self._prepare()
        environment, log = self._environment(), self.home / "daemon.log"
        with webserver(environment, self.home / "webserver.log", target=_TARGET, folder=self.home) as url:
            with process("dagster._daemon", "run", *_TARGET, environment=environment, log=log, folder=self.home):
                backfills = [_launched(url, keys) for keys in _BACKFILLS]
                for backfill_id in backfills:
                    _wait_for(url, backfill_id, log)
            yield url

    def _prepare(self) -> None:
        prepare_instance(self.home / "dagster")
        feeds = self.home / "feeds"
        feeds.mkdir()
        for day in _DAYS:
            (feeds / f"shop-{day}.csv").write_text("email,name\nada@example.org,Ada\nbob@example.org,Bob\n", "utf-8")

    def _environment(self) -> dict[str, str]:
        return {
            "DAGSTER_HOME": str(self.home / "dagster"),
            "CATALOG_URI": f"sqlite:///{self.home}/catalog.db?timeout=60",
            "WAREHOUSE": f"file://{self.home}/warehouse",
        }


def _launched(url: str, keys: Sequence[str]) -> str:
    launched = _asked(url, _LAUNCH, keys=list(keys))["launchPartitionBackfill"]
    return str(launched["backfillId"])


def _wait_for(url: str, backfill_id: str, log: Path) -> None:
    clock = SystemClock()
    ends_s = clock.monotonic_s() + _WAIT_S_MAX
    status = "REQUESTED"
    while status == "REQUESTED" and clock.monotonic_s() < ends_s:
        clock.wait_s(_LOOK_EVERY_S)
        status = str(_asked(url, _STATUS, id=backfill_id)["partitionBackfillOrError"].get("status"))
    if status != "COMPLETED_SUCCESS":
        raise BackfillFailedError(backfill_id, status=status, log=log)


def _asked(url: str, query: str, **variables: object) -> dict[str, Any]:
    body = json.dumps({"query": query, "variables": variables}).encode()
    answer = urllib3.request("POST", f"{url}/graphql", body=body, headers={"Content-Type": "application/json"}).json()
    data: dict[str, Any] = answer["data"]
    return data
