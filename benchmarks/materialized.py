"""What the assets of the benchmark do; imported by a run alone, as a project's own computations are."""

from __future__ import annotations

import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog

import seriatim.dagster.apply_in_run  # The same imports for all of them.
from seriatim import Base, Rewrite, apply

_TABLE = "bench.account"
_USED = (pq, seriatim.dagster.apply_in_run)


def nothing(catalog: Catalog) -> None:
    """Do nothing with the catalog."""
    del catalog


def change(catalog: Catalog) -> None:
    """Increment the row."""
    apply(catalog, _TABLE, one_more)


def one_more(base: Base) -> Rewrite:
    """Return the row with one more."""
    rows = base.read(where="id = 1")
    return Rewrite(rows.set_column(1, rows.schema.field("bal"), pc.add(rows["bal"], 1)), where="id = 1")
