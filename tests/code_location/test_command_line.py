"""The `dagster` command in the checkout, as the README writes it, with and without DAGSTER_HOME."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import pytest

from assets.account_table import ACCOUNT_KEY
from pipelines.instance import prepare_instance
from pipelines.resources import BankCatalog
from pipelines.sensors import record_conflicts
from tests.code_location.scene import TIMEOUT_S, Scene

pytestmark = pytest.mark.slow


def materialize(kind: str, *, meet: Path | None = None, parties: int = 1) -> list[str]:
    config = {} if meet is None else {"rendezvous_dir": str(meet), "rendezvous_parties": parties}
    return [
        *("asset", "materialize", "-m", "pipelines.definitions", "--select", f"bank/{kind}"),
        *("--config-json", json.dumps({"ops": {f"bank__{kind}": {"config": config}}})),
    ]


@pytest.mark.documented("dagster definitions validate")
def test_the_workspace_names_the_code_location(scene: Scene, documented: tuple[str, ...]) -> None:
    """`dagster dev` and its like find it from the checkout, without being told."""
    process = scene.typed(documented[0], home=scene.folder)

    output, _ = process.communicate(timeout=TIMEOUT_S)

    assert process.returncode == 0, output
    assert "Validation successful for code location bank" in output


@pytest.mark.documented(
    ".venv/bin/dagster asset materialize -m pipelines.definitions --select '+key:\"bank/cash_deposit\"'"
)
def test_without_a_home_what_is_new_is_posted_and_the_run_says_where_its_conflicts_are(
    scene: Scene, documented: tuple[str, ...]
) -> None:
    """Nothing has to be prepared: what has arrived is mirrored, and its accounts are opened."""
    scene.arrive("7,3,1993-01-04,cash_deposit,5.00")
    process = scene.typed(documented[0])

    output, _ = process.communicate(timeout=TIMEOUT_S)

    assert process.returncode == 0, output
    assert scene.balances() == {1: 110_00, 2: 50_00, 3: 5_00}
    assert "DAGSTER_HOME is not set" in output


@pytest.mark.documented(
    ".venv/bin/dagster asset materialize -m pipelines.definitions --select bank/cash_deposit "
    '--config-json \'{"ops": {"bank__cash_deposit": {"config": {"upto": 1}}}}\''
)
def test_a_configuration_says_up_to_where_is_posted(scene: Scene, documented: tuple[str, ...]) -> None:
    scene.arrive("7,1,1993-01-04,cash_deposit,5.00")
    scene.mirror()
    process = scene.typed(documented[0])

    output, _ = process.communicate(timeout=TIMEOUT_S)

    assert process.returncode == 0, output
    assert scene.balances()[1] == 110_00


@pytest.mark.documented(
    "dagster schedule start post_cash_deposit_daily",
    "dagster sensor start mirror_new_versions",
    "dagster sensor start post_what_is_mirrored",
)
def test_what_launches_runs_is_switched_on(scene: Scene, documented: tuple[str, ...]) -> None:
    """A daemon that is started then heeds it."""
    home = scene.folder / "home"
    prepare_instance(home)
    processes = [scene.typed(command, home=home) for command in documented]

    outputs = [process.communicate(timeout=TIMEOUT_S)[0] for process in processes]

    assert [process.returncode for process in processes] == [0, 0, 0], outputs
    with dg.DagsterInstance.from_config(str(home)) as instance:
        states = {state.instigator_name: state.status.value for state in instance.all_instigator_state()}
    assert states == {command.split()[-1]: "RUNNING" for command in documented}


def test_a_failed_run_is_a_failed_command(scene: Scene) -> None:
    """So that a script notices; the error names the transaction."""
    scene.arrive("9,1,1993-01-01,cash_deposit,1.00", "9,1,1993-01-01,cash_deposit,1.00")
    scene.mirror()
    process = scene.dagster(*materialize("cash_deposit"))

    output, _ = process.communicate(timeout=TIMEOUT_S)

    assert process.returncode == 1, output
    assert "bank.transactions, Delta version 0 to 3, row 8, column trans_id: 9" in output


def test_with_a_home_overlapping_commands_leave_their_conflict_for_the_sensor(scene: Scene) -> None:
    """Both have read before either commits: one of them loses, for certain, and applies its change to the winner's.

    They meet although one run at a time is allowed, and no daemon is there: these commands by-pass the run queue.
    """
    home, meet = scene.folder / "home", scene.folder / "meet"
    prepare_instance(home, max_concurrent_runs=1)
    processes = [
        scene.dagster(*materialize(kind, meet=meet, parties=2), home=home) for kind in ("cash_deposit", "household")
    ]

    outputs = [process.communicate(timeout=TIMEOUT_S)[0] for process in processes]

    assert [process.returncode for process in processes] == [0, 0], outputs
    assert scene.balances() == {1: 80_00, 2: 50_00}
    assert not any("DAGSTER_HOME is not set" in output for output in outputs)
    with dg.DagsterInstance.from_config(str(home)) as instance:
        assert {run.status for run in instance.get_runs()} == {dg.DagsterRunStatus.SUCCESS}
        assert len(instance.fetch_observations(ACCOUNT_KEY, limit=10).records) == 1
        context = dg.build_sensor_context(instance=instance, resources={"catalog": BankCatalog()})
        assert record_conflicts.evaluate_tick(context).skip_message == "recorded 1 conflict of 1 run"
    (row,) = scene.conflicts()
    assert {row["loser_operation_ids"], row["winner_operation_ids"]} == {
        '["bank/cash_deposit@2"]',
        '["bank/household@2"]',
    }
