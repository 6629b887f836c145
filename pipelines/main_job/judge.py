"""The verdict: the table against the serial model, in the order in which the table says the operations landed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyiceberg.catalog import Catalog

from assets.recorded_balances import read_recorded_balances
from oracle.bank import Unposted, missing, replay
from oracle.entries import lost_on_the_way, read_delta, read_file
from oracle.lineage import bank_operations, landed_operation_ids
from oracle.verdict import Verdict, compare


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """Our balances beside those that the bank recorded, which are rounded in places: a cross-check, no oracle."""

    accounts: int
    equal: int
    difference_max_minor: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the comparison found."""

    verdict: Verdict
    operations: int
    versions: int  # of the Delta table
    lost_on_the_way: tuple[int, ...]  # transactions that did not reach the Delta table as they stand in the file
    never_posted: tuple[Unposted, ...]
    cross_check: CrossCheck | None  # None: the file records no balances

    @property
    def is_serial(self) -> bool:
        """Whether the table holds exactly what the serial model says, and nothing is missing from it."""
        return self.verdict.is_equal and not self.never_posted and not self.lost_on_the_way


def judge(catalog: Catalog, identifier: tuple[str, ...], transactions_file: Path, delta: Path) -> Judgement:
    """Compare the table's balances with those of the serial model, for every account; the model reads Delta by itself.

    Raises:
        OracleError: the table's history shows an operation twice, or cannot be followed.
    """
    table = catalog.load_table(identifier)
    rows = table.scan().to_arrow()
    actual = dict(zip(rows["id"].to_pylist(), rows["bal"].to_pylist(), strict=True))
    operations = bank_operations(landed_operation_ids(table.metadata_location))
    arrivals = read_delta(delta)
    return Judgement(
        verdict=compare(replay(arrivals, operations), actual),
        operations=len(operations),
        versions=len(arrivals),
        lost_on_the_way=lost_on_the_way(read_file(transactions_file), arrivals),
        never_posted=missing(arrivals, operations),
        cross_check=_cross_check(transactions_file, actual),
    )


def _cross_check(transactions_file: Path, actual: Mapping[int, int]) -> CrossCheck | None:
    recorded = read_recorded_balances(transactions_file)
    if recorded is None:
        return None
    differences = [abs(actual.get(account_id, 0) - balance) for account_id, balance in recorded.items()]
    return CrossCheck(len(recorded), sum(each == 0 for each in differences), max(differences, default=0))
