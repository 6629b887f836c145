"""A table's life as a Hypothesis state machine: any operation, upkeep, fault or foreign hand, in any order."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Final

import pyarrow as pa
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import LongType

from seriatim.commit import Receipt, RetentionPolicy, RetryPolicy, apply
from seriatim.errors import ConflictError, HistoryCutError, OutcomeUnknownError
from seriatim.inspection.lookup import Applied, CannotTell, lookup
from seriatim.upkeep import compact, expire, fold, remove_orphans, repair
from tests.contract.ledger_support import expire_as_pyiceberg_does
from tests.faults.bank import Bank
from tests.faults.catalog import REPORTS, Fault, FaultyCatalog, Landing
from tests.faults.clock import ManualClock
from tests.faults.files import take_inventory
from tests.oracle.serial import RefusedError
from tests.oracle.snapshots import Snapshots
from tests.oracle.work import Work


class CrashError(BaseException):
    """The process is gone: nothing of the library's gets to run any more."""


LAYOUTS: Final[Mapping[str, tuple[PartitionSpec, str]]] = {
    "flat": (PartitionSpec(), "2"),
    "partitioned": (PartitionSpec(PartitionField(1, 1000, BucketTransform(2), "bucket")), "2"),
    "format version 1": (PartitionSpec(), "1"),
}
ACCOUNTS: Final = st.integers(1, 5)
AMOUNTS: Final = st.integers(1, 300)
OPERATIONS: Final = st.one_of(
    *(st.builds(f"{what}|{{}}|{{}}|".format, ACCOUNTS, AMOUNTS) for what in ("open", "put", "deposit", "withdraw")),
    st.builds("transfer|{}|{}|{}|".format, ACCOUNTS, ACCOUNTS, AMOUNTS),
    st.builds("interest|{}|".format, st.integers(1, 9)),
    st.builds("close|{}|".format, ACCOUNTS),
)
LATE: Final = (Landing.AT_NEXT_LOAD, Landing.BEFORE_NEXT_COMMIT, Landing.AFTER_NEXT_COMMIT)
PLACES: Final = st.integers(0, 999)  # Taken by the remainder, of a list that is not known before.


class Life(RuleBasedStateMachine):
    """One table, and what must be true of it after whatever happened."""

    layout: ClassVar = "flat"

    def __init__(self) -> None:
        super().__init__()
        self.bank = Bank(Path(tempfile.mkdtemp(prefix="seriatim-life-")))
        spec, version = LAYOUTS[self.layout]
        # A foreign first snapshot of format version 1 has no number to prove that it is the first: there ours is.
        rows = [] if version == "1" else [{"id": account, "bal": 100 * account} for account in (1, 2, 3)]
        self.bank.create(rows, spec=spec, properties={"format-version": version, "commit.retry.num-retries": "0"})
        self.eye = self.bank.connect()
        self.model = Snapshots()
        self.names: list[str] = []
        self.late: list[FaultyCatalog] = []  # with a commit that is still on its way
        self.foreign: dict[int, str] = {}
        self.was_cut = self.was_expired_by_others = False
        if rows:
            self.model.begin(self.bank.head(), {row["id"]: row["bal"] for row in rows})
        else:
            self.carry_out(self.new("put|1|100|"), self.bank.connect())

    def teardown(self) -> None:
        self.bank.close()
        shutil.rmtree(self.bank.path)

    # What must be true

    @invariant()
    def the_table_is_what_its_lineage_says(self) -> None:
        table = self.see()
        rows = table.scan().to_arrow().to_pylist()
        assert len({row["id"] for row in rows}) == len(rows), f"accounts are there twice: {rows}"
        head = table.metadata.current_snapshot_id
        assert {row["id"]: row["bal"] for row in rows} == dict(self.model.balances[head])
        assert take_inventory(table).missing == []

    def see(self) -> Table:
        """Look at the table, and work out what is new in it."""
        table = self.eye.load_table(Bank.identifier)
        self.model.see(table.metadata, self.foreign)
        return table

    def head(self) -> int | None:
        """Return the current snapshot (None: the table is empty)."""
        return self.see().metadata.current_snapshot_id

    # Operations

    @rule(operation=OPERATIONS, kept=st.sampled_from([1, 3, 20]))
    def operate(self, operation: str, kept: int) -> None:
        self.carry_out(self.new(operation), self.bank.connect(), kept)

    @precondition(lambda self: self.names)
    @rule(place=PLACES)
    def submit_again(self, place: int) -> None:
        self.carry_out(self.names[place % len(self.names)], self.bank.connect())

    @rule(
        operation=OPERATIONS,
        report=st.sampled_from(sorted(REPORTS)),
        landing=st.sampled_from(Landing),
        attempts_max=st.integers(1, 3),
    )
    def lose_the_reply(self, operation: str, report: str, landing: Landing, attempts_max: int) -> None:
        catalog = self.bank.connect().fail(Fault(REPORTS[report](), landing))
        with suppress(OutcomeUnknownError, ConflictError):  # Whatever it says is held against the table by `see`.
            self.carry_out(self.new(operation), catalog, attempts_max=attempts_max)
        self.late += [catalog] * (landing in LATE)

    @rule(operation=OPERATIONS, landing=st.sampled_from([Landing.NEVER, Landing.AT_ONCE, Landing.AFTER_NEXT_COMMIT]))
    def crash(self, operation: str, landing: Landing) -> None:
        catalog = self.bank.connect().fail(Fault(CrashError(), landing))
        with suppress(CrashError):
            self.carry_out(self.new(operation), catalog)
        self.late += [catalog] * (landing in LATE)

    @precondition(lambda self: self.late)
    @rule(place=PLACES)
    def arrive_late(self, place: int) -> None:
        self.late.pop(place % len(self.late)).deliver()

    # Upkeep

    @rule(what=st.sampled_from(["compact", "fold", "expire", "remove orphans"]), kept=st.integers(1, 4))
    def look_after(self, what: str, kept: int) -> None:
        catalog, identifier = self.bank.connect(), Bank.identifier
        with self.cut_at_most():
            if what == "compact":
                compact(catalog, identifier, target_bytes=2**20, **settings())
            elif what == "fold" and not self.was_cut:
                fold(catalog, identifier, clock=ManualClock())
            elif what == "expire":
                expire(catalog, identifier, retention=RetentionPolicy(snapshots_min=kept), dry_run=False)
            elif what == "remove orphans" and not self.late:  # What is on its way is not to be removed at any age.
                remove_orphans(catalog, identifier, older_than_s=0.0, accepts_any_age=True, dry_run=False)

    @precondition(lambda self: self.was_cut)
    @rule()
    def mend(self) -> None:
        """Accept what was lost: whoever does so sees to it that nothing comes again."""
        repair(self.bank.connect(), Bank.identifier, dry_run=False)
        self.was_cut = False
        self.names.clear()

    # Others

    @rule()
    def expire_as_pyiceberg_does(self) -> None:
        expire_as_pyiceberg_does(self.bank)
        self.was_expired_by_others = True

    @rule(place=PLACES)
    def roll_back(self, place: int) -> None:
        metadata = self.see().metadata
        head = metadata.current_snapshot()
        lineage: list[int] = []
        while head is not None:
            lineage.append(head.snapshot_id)
            head = metadata.snapshot_by_id(head.parent_snapshot_id) if head.parent_snapshot_id is not None else None
        self.bank.roll_back(lineage[place % len(lineage)])

    @rule(account=st.integers(6, 8), balance=AMOUNTS, is_new=st.booleans())
    def write_as_pyiceberg_does(self, account: int, balance: int, is_new: bool) -> None:
        """Append or delete, which make one snapshot each; nobody else opens these accounts."""
        before = self.head()
        if is_new == (account in self.model.balances[before]):
            return
        if is_new:
            with self.bank.rival() as catalog:
                table = catalog.load_table(Bank.identifier)
                table.append(pa.Table.from_pylist([{"id": account, "bal": balance}], schema=table.schema().as_arrow()))
        else:
            self.bank.close_account(account)
        head = self.bank.head()  # Not by `see`: it would not know yet what has been done.
        assert head is not None
        assert head != before
        self.foreign[head] = f"open|{account}|{balance}|x" if is_new else f"close|{account}|x"

    @rule()
    def evolve_the_schema(self) -> None:
        with self.bank.rival() as catalog:
            table = catalog.load_table(Bank.identifier)
            with table.update_schema() as update:
                if "note" in table.schema().column_names:
                    update.delete_column("note")
                else:
                    update.add_column("note", LongType())

    # How an operation is carried out

    def new(self, operation: str) -> str:
        """Return a name that was never used."""
        self.names.append(f"{operation}{len(self.names)}.{len(self.model.balances)}")
        return self.names[-1]

    def carry_out(self, name: str, catalog: FaultyCatalog, kept: int = 20, attempts_max: int = 3) -> None:
        """Apply an operation; what is said of it must be so."""
        head = self.head()
        was_applied = name in self.model.applied[head]
        receipt: Receipt | None = None
        with self.cut_at_most(), suppress(RefusedError):
            receipt = apply(
                catalog,
                Bank.identifier,
                Work(name),
                operation_ids=[name],
                retention=RetentionPolicy(snapshots_min=kept),
                **settings(attempts_max),
            )
        table = self.see()
        is_applied = name in self.model.applied[table.metadata.current_snapshot_id]
        note(f"{name}: {'no receipt' if receipt is None else receipt.snapshot_ids}")
        if was_applied and not self.was_cut:
            assert receipt is not None
            assert receipt.is_noop
            assert set(receipt.already_applied) == {name}
            assert table.metadata.current_snapshot_id == head
        if receipt is not None:
            assert is_applied
        told = lookup(catalog, Bank.identifier, name)
        assert isinstance(told, Applied) == is_applied or (self.was_cut and isinstance(told, CannotTell))

    def cut_at_most(self) -> _CutAtMost:
        """Allow a refusal because the history is cut, which only others can do; nothing is written then."""
        return _CutAtMost(self)


class LifeInPartitions(Life):
    """The same, in two partitions."""

    layout = "partitioned"


class LifeOfOld(Life):
    """The same, of a format version that has no sequence numbers."""

    layout = "format version 1"


class _CutAtMost:
    def __init__(self, life: Life) -> None:
        self._life, self._head = life, life.head()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, HistoryCutError):
            return False
        assert self._life.was_expired_by_others
        assert self._life.head() == self._head
        self._life.was_cut = True
        return True


def settings(attempts_max: int = 3) -> dict[str, Any]:
    """Return what makes a call do the same each time."""
    policy = RetryPolicy(attempts_max=attempts_max)
    return {"clock": ManualClock(), "chance": random.Random(1), "policy": policy}
