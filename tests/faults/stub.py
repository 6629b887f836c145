"""A catalog that is nothing but an account: tables with `scan(...).to_arrow()` and `overwrite(...)`, as tests write."""

from __future__ import annotations

from collections import deque
from typing import Any

import pyarrow as pa


class StubScan:
    """The rows a scan was made of."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def to_arrow(self) -> pa.Table:
        return self._rows


class StubTable:
    """The account as it was when the table was loaded."""

    def __init__(self, catalog: StubCatalog) -> None:
        self._catalog = catalog
        self._rows = pa.table({"id": pa.array([1], pa.int64()), "bal": pa.array([catalog.balance], pa.int64())})

    def scan(self, *args: Any, **kwargs: Any) -> StubScan:
        return StubScan(self._rows)

    def overwrite(self, df: pa.Table, /, *, overwrite_filter: Any) -> None:
        """Write the balance, or lose to a rival as the catalog's script says."""
        self._catalog.writes.append((self, df, overwrite_filter))
        error = self._catalog.script.popleft() if self._catalog.script else None
        if error is not None:
            self._catalog.balance += self._catalog.rival
            raise error
        self._catalog.balance = df.column("bal").to_pylist()[0]


class StubCatalog:
    """Hands out stub tables; each error in `script` is one lost race, in which a rival adds `rival`."""

    def __init__(self, balance: int, *script: Exception, rival: int = 10) -> None:
        self.balance = balance
        self.script = deque(script)
        self.rival = rival
        self.loaded: list[StubTable] = []
        self.writes: list[tuple[StubTable, pa.Table, Any]] = []

    def load_table(self, identifier: Any) -> StubTable:
        self.loaded.append(StubTable(self))
        return self.loaded[-1]
