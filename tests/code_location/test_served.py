"""The UI and the daemons as the documents start them: runs that are launched there land, once, whatever overlaps."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from pipelines.screenshots.browser import browser_page, chromium
from tests.code_location.scene import ARRIVALS, TIMEOUT_S, Scene
from tests.code_location.served import Served, meeting, served

pytestmark = pytest.mark.slow

WEBSERVER, DAEMON = "dagster-webserver -w workspace.yaml", "dagster-daemon run -w workspace.yaml"
SUCCESS = dg.DagsterRunStatus.SUCCESS


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A webserver and a daemon on a bank whose deposits are posted; one for all, since its start costs seconds."""
    with pytest.MonkeyPatch.context() as patch:
        scene = Scene(tmp_path_factory.mktemp("ui"))
        for name, value in scene.environment.items():
            patch.setenv(name, value)
        for rows in ARRIVALS:
            scene.arrive(*rows)
        scene.mirror()
        assert scene.post("cash_deposit").success
        with served(scene, WEBSERVER, DAEMON) as (bank, _):
            yield bank


@pytest.mark.documented(
    "dagster-webserver -w workspace.yaml",
    "dagster-daemon run -w workspace.yaml",
    "dagster job launch -j post_cash_deposit",
)
def test_a_job_that_is_launched_by_a_command_and_in_the_ui_posts_once(ui: Served, documented: tuple[str, ...]) -> None:
    """Each puts a run into the queue, the daemon starts both: together they post one deposit."""
    assert documented[:2] == (WEBSERVER, DAEMON)
    ui.scene.arrive("30,3,1993-01-05,cash_deposit,7.00")
    ui.scene.mirror()

    command = ui.scene.typed(documented[2], home=ui.home)
    ui.launch("cash_deposit")
    output, _ = command.communicate(timeout=TIMEOUT_S)

    assert command.returncode == 0, output
    assert ui.ended(ui.run_ids("post_cash_deposit")) == [SUCCESS, SUCCESS]
    assert ui.scene.balances()[3] == 7_00


@pytest.mark.skipif(chromium() is None, reason="there is no Chromium on the PATH")
def test_runs_that_a_person_launches_in_the_ui_while_others_run_are_serial(ui: Served, tmp_path: Path) -> None:
    """Both have read before either commits. Interest of a tenth and 30 paid: what comes of it depends on the order."""
    assert ui.scene.balances()[1] == 110_00
    kinds, executable = ("household", "percentage_interest"), chromium()
    assert executable is not None
    told: list[tuple[str, ...]] = []

    with browser_page(executable) as page:
        for kind in kinds:
            page.goto(f"{ui.url}/locations/bank/jobs/post_{kind}/playground")
            page.locator(".CodeMirror").first.click()
            page.keyboard.press("ControlOrMeta+A")
            page.keyboard.insert_text(meeting(kind, tmp_path / "meet", len(kinds)))
            page.get_by_role("button", name="Launch Run").click()
            page.wait_for_url("**/runs/*")
        statuses = ui.ended(ui.run_ids(*(f"post_{kind}" for kind in kinds)))
        page.goto(f"{ui.url}/assets/bank/account?view=events")
        page.get_by_text("bank.account: attempt 1 lost to run").wait_for()
        for kind in kinds:
            page.goto(f"{ui.url}/assets/bank/{kind}?view=events")
            rows = page.get_by_role("row")
            told.append(
                tuple(
                    rows.filter(has=page.get_by_text(key, exact=True)).locator("td").nth(1).inner_text()
                    for key in ("attempts", "conflicts")
                )
            )

    assert statuses == [SUCCESS, SUCCESS]
    assert ui.scene.balances()[1] in {88_00, 91_00}
    assert sorted(told) == [("1", "0"), ("2", "1")]


@pytest.mark.documented("python3 run.py dev", "dagster dev -w workspace.yaml", "dagster dev")
def test_the_development_server_runs_what_is_launched_and_ends_by_ctrl_c(
    scene: Scene, documented: tuple[str, ...]
) -> None:
    """The recipe prepares the instance and becomes `dagster dev`; nothing of it is left afterwards."""
    with served(scene, documented[0]) as (bank, (server,)):
        statuses = bank.ended([bank.launch("cash_deposit")])
        said = subprocess.run(["ps", "-o", "args=", "-g", str(server.pid)], capture_output=True, text=True, check=True)

        os.killpg(server.pid, signal.SIGINT)  # As a terminal does.
        code = server.wait(TIMEOUT_S)

    assert statuses == [SUCCESS]
    assert scene.balances() == {1: 110_00, 2: 50_00}
    assert all(command in said.stdout for command in documented[1:])
    assert code == 128 + signal.SIGINT
