"""The storage fails, at each step of each file: the table is what it was, or what the call says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seriatim.errors import ConflictError, OutcomeUnknownError
from tests.faults.bank import THREE_ACCOUNTS, Bank
from tests.faults.catalog import Fault, Landing
from tests.faults.deeds import DEEDS, nothing
from tests.faults.fileio import FileFaults, Kind, Step, WatchedCatalog

FILES = (Kind.DATA, Kind.MANIFEST, Kind.MANIFEST_LIST)
START = {1: 100, 2: 200, 3: 300}
SOME = ("rewrite", "pinned overwrite", "account function")  # One of each function.
APPENDS = ("append", "insert", "pinned append")
WRITTEN = [(deed, kind) for deed in DEEDS for kind in FILES]
deeds = pytest.mark.parametrize("deed", DEEDS)


@pytest.fixture
def connect(empty_bank: Bank) -> Iterator[Callable[[FileFaults], WatchedCatalog]]:
    """Returns catalogs of the bank whose files fail as told."""
    made: list[WatchedCatalog] = []

    def connect(faults: FileFaults) -> WatchedCatalog:
        made.append(WatchedCatalog("bank", faults, **empty_bank.properties()))
        return made[-1]

    yield connect
    for catalog in made:
        catalog.engine.dispose()


Connect = Callable[[FileFaults], WatchedCatalog]


def do(deed: str, catalog: WatchedCatalog, *, attempts_max: int = 3, meanwhile: Callable[[], None] = nothing) -> object:
    """Return what the deed returned, or the exception that it raised."""
    ids = ("it",) if DEEDS[deed].has_operation_ids else ()
    try:
        return DEEDS[deed].run(catalog, ids, attempts_max, meanwhile)
    except Exception as err:  # noqa: BLE001  (How it ends is what is checked.)
        return err


def steps_of(deed: str, path: Path, *, is_beaten: bool = False) -> Counter[tuple[Step, Kind]]:
    """Return how often the deed takes each step when nothing fails, on a bank of its own."""
    path.mkdir()
    bank, faults = Bank(path).create(), FileFaults()
    catalog = WatchedCatalog("bank", faults, **bank.properties())
    ending = do(deed, catalog, meanwhile=rival(bank) if is_beaten else nothing)
    catalog.engine.dispose()
    assert not isinstance(ending, Exception)
    return faults.counts


def first_and_last(first: int, last: int) -> list[int]:
    """Return the two, which may be one, or none."""
    return sorted({first, last}) if first <= last else []


def rival(bank: Bank) -> Callable[[], None]:
    """Return what opens account 5, the first time it is called."""
    left = [lambda: bank.open_account(5, 500)]
    return lambda: left.pop()() if left else None


def assert_readable(bank: Bank, balances: object) -> None:
    """The rows are these, no row is there twice, and each snapshot can be read."""
    table = bank.table()
    for snapshot in table.metadata.snapshots:
        table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
    assert bank.inventory().missing == []
    assert bank.balances() == balances
    assert len(bank.rows()) == len(bank.balances())


@deeds
@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_cannot_be_written_ends_the_call_and_nothing_is_left(
    bank: Bank, connect: Connect, tmp_path: Path, deed: str, kind: Kind
) -> None:
    """Nothing was sent to the catalog, so what was written can go, also the file that is there in part."""
    counts = steps_of(deed, tmp_path / "counted")
    before = bank.inventory()

    for step in (Step.CREATE, Step.WRITE, Step.CLOSE):
        last = counts[step, kind]
        assert last > 0
        for number in sorted({1, (last + 1) // 2, last}):
            faults = FileFaults().fail(step, kind, number)
            catalog = connect(faults)

            ending = do(deed, catalog)

            assert ending is faults.error
            assert faults.failed == 1
            assert catalog.submitted == []
            assert_readable(bank, START)
            assert bank.inventory() == before


@pytest.mark.parametrize("deed", SOME)
@pytest.mark.parametrize("kind", [Kind.MANIFEST, Kind.MANIFEST_LIST])
def test_a_file_whose_header_cannot_be_written_is_closed(bank: Bank, connect: Connect, deed: str, kind: Kind) -> None:
    """Else nobody ever closes it: the clean-up waits for that in vain, and the process keeps the file open."""
    faults = FileFaults().fail(Step.WRITE, kind, 1)

    ending = do(deed, connect(faults))

    assert ending is faults.error
    assert faults.counts[Step.CREATE, kind] == faults.counts[Step.CLOSE, kind] > 0


@deeds
def test_a_file_that_cannot_be_read_ends_the_call_and_nothing_is_left(
    bank: Bank, connect: Connect, tmp_path: Path, deed: str
) -> None:
    """Each time on a new table: PyIceberg remembers manifests that it has read."""
    counts = steps_of(deed, tmp_path / "counted")
    assert sum(counts[Step.READ, kind] for kind in FILES) > 0

    for kind in FILES:
        for number in first_and_last(1, counts[Step.READ, kind]):
            bank.replace(THREE_ACCOUNTS)
            before = bank.inventory()
            faults = FileFaults().fail(Step.READ, kind, number)
            catalog = connect(faults)

            ending = do(deed, catalog)

            assert ending is faults.error
            assert faults.failed == 1
            assert catalog.submitted == []
            assert bank.inventory() == before
            assert_readable(bank, START)


@pytest.mark.parametrize("deed", ["append", "delete", *SOME])
def test_a_rivals_files_that_cannot_be_read_end_the_call_and_leave_the_rival_alone(
    bank: Bank, connect: Connect, tmp_path: Path, deed: str
) -> None:
    """After a conflict the rival's manifests tell whether to compute again; without them there is no guess."""
    honest = steps_of(deed, tmp_path / "honest")
    beaten = steps_of(deed, tmp_path / "beaten", is_beaten=True)
    failed = 0

    for kind in FILES:
        for number in first_and_last(honest[Step.READ, kind] + 1, beaten[Step.READ, kind]):
            bank.replace(THREE_ACCOUNTS)
            left_of_others = bank.inventory().unreachable
            faults = FileFaults().fail(Step.READ, kind, number)
            catalog = connect(faults)

            ending = do(deed, catalog, meanwhile=rival(bank))

            assert ending is faults.error
            failed += faults.failed
            assert len(catalog.submitted) == 1
            assert bank.inventory().unreachable == left_of_others
            assert_readable(bank, {**START, 5: 500})
    assert failed > 0


@deeds
def test_files_that_cannot_be_deleted_do_not_turn_success_into_failure(bank: Bank, connect: Connect, deed: str) -> None:
    """They are left to upkeep: the attempt that lost stays dead, and the next one lands."""
    faults = FileFaults()
    for kind in FILES:
        faults.fail(Step.DELETE, kind)
    catalog = connect(faults)

    ending = do(deed, catalog, meanwhile=rival(bank))

    assert not isinstance(ending, Exception)
    assert faults.failed > 0
    assert len(bank.inventory().unreachable) == faults.failed
    assert_readable(bank, DEEDS[deed].after({**START, 5: 500}))


@deeds
def test_files_that_cannot_be_deleted_do_not_hide_the_conflict(bank: Bank, connect: Connect, deed: str) -> None:
    """The error is the one that is true of the table, not that of the cleaning."""
    faults = FileFaults()
    for kind in FILES:
        faults.fail(Step.DELETE, kind)
    catalog = connect(faults)

    ending = do(deed, catalog, attempts_max=1, meanwhile=rival(bank))

    assert isinstance(ending, ConflictError)
    assert faults.failed > 0
    assert_readable(bank, {**START, 5: 500})


@deeds
def test_old_metadata_that_cannot_be_deleted_does_not_turn_success_into_failure(
    empty_bank: Bank, connect: Connect, deed: str
) -> None:
    """It is deleted after the commit has landed."""
    forgetful = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
    bank = empty_bank.create(properties=forgetful)
    faults = FileFaults().fail(Step.DELETE, Kind.METADATA)
    catalog = connect(faults)

    ending = do(deed, catalog)

    assert not isinstance(ending, Exception)
    assert faults.failed > 0
    assert len(catalog.submitted) == 1
    assert_readable(bank, DEEDS[deed].after(START))


@pytest.mark.parametrize("deed", SOME)
@pytest.mark.parametrize("attempts_max", [1, 3])
@pytest.mark.parametrize("landing", Landing, ids=lambda landing: landing.name.lower())
def test_a_look_up_that_cannot_read_the_table_claims_nothing(
    bank: Bank, connect: Connect, deed: str, landing: Landing, attempts_max: int
) -> None:
    """The reply is lost, and the metadata cannot be read either: it may have landed, so nothing is deleted."""
    catalog = connect(FileFaults())
    catalog.fail(Fault(ConnectionError("lost"), landing)).fail_loads(None, OSError(5, "input/output error"))

    ending = do(deed, catalog, attempts_max=attempts_max)
    catalog.deliver()

    assert isinstance(ending, OutcomeUnknownError)
    has_landed = landing is not Landing.NEVER
    assert bool(set(ending.snapshot_ids) & set(bank.snapshot_ids())) == has_landed
    assert catalog.script_is_done
    assert_readable(bank, DEEDS[deed].after(START) if has_landed else START)


@pytest.mark.parametrize(
    ("deed", "step"),
    # A second append reads nothing that PyIceberg 0.10 does not remember.
    [*((deed, Step.CREATE) for deed in DEEDS), *((deed, Step.READ) for deed in DEEDS if deed not in APPENDS)],
)
def test_a_file_that_fails_while_an_earlier_attempt_is_open_deletes_nothing_of_it(
    bank: Bank, connect: Connect, deed: str, step: Step
) -> None:
    """The first request is on its way when the second attempt meets the full disk; it lands after the call."""
    ending = fail_while_open(bank, connect, deed, step)

    assert isinstance(ending, Exception)
    assert_readable(bank, DEEDS[deed].after(START))


@pytest.mark.parametrize("deed", SOME)
@pytest.mark.parametrize("step", [Step.CREATE, Step.READ])
def test_a_file_that_fails_while_an_earlier_attempt_is_open_does_not_pass_for_a_failure(
    bank: Bank, connect: Connect, deed: str, step: Step
) -> None:
    """P5: whoever hears of a full disk alone does it again, and has it twice."""
    ending = fail_while_open(bank, connect, deed, step)

    assert says_unknown(ending, bank.snapshot_ids())


def fail_while_open(bank: Bank, connect: Connect, deed: str, step: Step) -> object:
    """Return how a call ends whose first attempt lands late, and whose second takes a step that fails."""
    faults = FileFaults()
    catalog = connect(faults)
    catalog.fail(Fault(ConnectionError("lost"), Landing.AFTER_NEXT_COMMIT, lambda: fail_all(faults, step)))
    ending = do(deed, catalog)
    assert faults.failed > 0
    assert len(catalog.submitted) == 1
    catalog.deliver()
    assert catalog.landed_late == 1
    return ending


def fail_all(faults: FileFaults, step: Step) -> None:
    """Let that step of every file fail from now on."""
    for kind in FILES:
        faults.fail(step, kind)


def says_unknown(ending: object, snapshot_ids: list[int]) -> bool:
    """Whether an error names a snapshot that may land: by its type, or in a note on what the caller's code raised."""
    if isinstance(ending, OutcomeUnknownError):
        return bool(set(ending.snapshot_ids) & set(snapshot_ids))
    notes = " ".join(getattr(ending, "__notes__", ()))
    return any(str(snapshot_id) in notes for snapshot_id in snapshot_ids)
