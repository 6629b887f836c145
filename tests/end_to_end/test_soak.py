"""The soak: a short one passes, and its judge finds what is wrong."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import EqualTo

from soak.changes import SCHEMA, TABLE, do
from soak.judge import judge
from soak.load import Course, Settings
from soak.place import Place
from soak.task import KINDS, name_of, task_of

ROOT = Path(__file__).parents[2]
SETTINGS = Settings(minutes=0, writers=1, seed=5, kill_every_s=0)
OPERATIONS = 40  # All kinds are among them.


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, Course]:
    """A table on which one writer has done its operations."""
    place = Place(tmp_path_factory.mktemp("soak") / "place")
    place.create()
    catalog, course, log = place.catalog(), Course(begun_s=0.0), place.log("writer-0")
    for number in range(OPERATIONS):
        do(catalog, task_of(name_of(SETTINGS.seed, 0, number)), issued_at_ms=1_000)
        log.write({"number": number, "issued_at_ms": 1_000, "attempts": 1})
    course.observer.look(catalog.load_table(TABLE))
    catalog.engine.dispose()
    return place, course


def test_the_model_and_the_library_agree_on_every_kind_of_operation(done: tuple[Place, Course]) -> None:
    place, course = done

    judgement = judge(place, SETTINGS, course)

    assert judgement.problems == ()
    assert judgement.operations == OPERATIONS
    assert judgement.looked_up == OPERATIONS + 20
    assert {task_of(name).kind for name in course.observer.operation_ids} == set(KINDS)


def _lose_a_cent(catalog: Catalog) -> None:
    table, only = catalog.load_table(TABLE), EqualTo("id", 3)
    (balance,) = table.scan(row_filter=only).to_arrow()["bal"].to_pylist()
    table.overwrite(pa.table([pa.array([3]), pa.array([balance - 1])], schema=SCHEMA.as_arrow()), overwrite_filter=only)


def _lose_an_account(catalog: Catalog) -> None:
    catalog.load_table(TABLE).delete(EqualTo("id", 3))


def _apply_another(catalog: Catalog) -> None:
    do(catalog, task_of(name_of(SETTINGS.seed, 0, OPERATIONS)), issued_at_ms=1_000)


@pytest.mark.parametrize(
    ("sabotage", "said"),
    [
        (_lose_a_cent, "account 3: the table has"),
        (_lose_an_account, "account 3: the table has None"),
        (_apply_another, "and nobody has begun it"),
    ],
)
def test_the_judge_finds_what_is_wrong(
    done: tuple[Place, Course], sabotage: Callable[[Catalog], None], said: str
) -> None:
    """A verdict that cannot fail would be worth nothing."""
    place, _ = done
    catalog = place.catalog()
    table = catalog.load_table(TABLE)
    before = table.metadata.current_snapshot_id
    assert before is not None

    sabotage(catalog)
    seen = Course(begun_s=0.0)
    seen.observer.look(catalog.load_table(TABLE))
    judgement = judge(place, SETTINGS, seen)
    catalog.load_table(TABLE).manage_snapshots().rollback_to_snapshot(before).commit()
    catalog.engine.dispose()

    assert any(said in problem for problem in judgement.problems)


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL, and no fork")
def test_a_short_soak_with_kills_passes_and_leaves_a_report(tmp_path: Path) -> None:
    options = ["--minutes", "0.3", "--writers", "2", "--kill-every", "3", "--report", str(tmp_path)]

    soak = subprocess.run(
        [sys.executable, "-m", "soak", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert soak.returncode == 0, soak.stdout + soak.stderr
    assert "0 problems" in (tmp_path / "soak.md").read_text()
    assert "<svg" in (tmp_path / "soak.svg").read_text()
