"""The command `mirror`, and the look-ups of a mirror: what they print, and what they exit with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
import typer
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import CommitTableResponse

import run
from seriatim import RetentionPolicy
from seriatim.cli.mirroring import Mirroring
from seriatim.mirror import delta_version_of
from seriatim.upkeep import expire
from tests.faults.clock import ManualClock
from tests.unit.cli_support import ANSI, Cli, cli_on

TABLE = "bank.mirror"
STORE = {  # Where nobody listens.
    "aws_endpoint": "http://127.0.0.1:1",
    "aws_allow_http": "true",
    "aws_region": "nowhere",
    "aws_access_key_id": "joe",
    "aws_secret_access_key": "x",
    "max_retries": "0",
}
NEAR = [word for key, value in STORE.items() for word in ("--storage-option", f"{key}={value}")]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    with cli_on(tmp_path, monkeypatch) as cli:
        cli.bank.create()
        yield cli


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    """A Delta table with versions 0 to 3."""
    write(tmp_path / "delta", 4)
    return tmp_path / "delta"


def write(delta: Path, count: int) -> None:
    for number in range(count):
        deltalake.write_deltalake(delta, pa.table({"i": [number]}), mode="append")


def at(cli: Cli) -> int | None:
    with cli.bank.rival() as catalog:
        return delta_version_of(catalog.load_table(TABLE))


def snapshot_ids(cli: Cli) -> list[int]:
    with cli.bank.rival() as catalog:
        return [snapshot.snapshot_id for snapshot in catalog.load_table(TABLE).snapshots()]


def work_of(catalog: Catalog, delta: Path, **options: Any) -> Mirroring:
    work = Mirroring(catalog, str(delta), TABLE, None, None, "fail", False, False, None, {}, False)
    return replace(work, **options)


def test_what_landed_what_it_began_on_and_how_far_it_is(cli: Cli, delta: Path) -> None:
    code, output, errors = cli("mirror", str(delta), TABLE, "--upto", "2")

    (third,) = snapshot_ids(cli)[2:]
    assert (code, errors) == (0, "")
    assert [line.split(maxsplit=1) for line in output.splitlines()[1:]] == [
        ["landed", f"versions 0 to 2 in 1 commit; version 2 (WRITE) is snapshot {third}"],
        ["base", "none: the mirror was empty"],
        ["conflicts", "none"],
        ["lag", "1: the mirror is at version 2, the Delta table at 3"],
    ]

    _, again, _ = cli("mirror", str(delta), TABLE, "--batch", "1")

    assert "landed     version 3 in 1 commit;" in again
    assert f"base       version 2, snapshot {third}" in again
    assert "lag        0: the mirror is at version 3, the Delta table's latest" in again


def test_a_document_says_the_same(cli: Cli, delta: Path) -> None:
    document = cli.json("mirror", str(delta), TABLE, "--batch", "2", "--location", f"file://{delta.parent}/elsewhere")

    landed = document.pop("landed")
    assert document == {
        "table": TABLE,
        "source": str(delta),
        "delta_version": 3,
        "latest_delta_version": 3,
        "lag": 0,
        "base_delta_version": None,
        "base_snapshot_id": None,
        "found_landed": [],
        "commits": 2,
        "attempts": 2,
        "conflicts": [],
    }
    assert [each["delta_version"] for each in landed] == [0, 1, 2, 3]
    assert [each["snapshot_id"] for each in landed] == snapshot_ids(cli)
    assert landed[0]["delta_timestamp"].endswith("Z")
    with cli.bank.rival() as catalog:
        assert catalog.load_table(TABLE).location() == f"file://{delta.parent}/elsewhere"


def test_files_are_checked_if_asked_for(cli: Cli, delta: Path) -> None:
    """A file that is damaged is none of the log's business, and so of nobody's who does not open it."""
    for file in delta.glob("*.parquet"):
        file.write_bytes(b"no Parquet file at all")

    checked = cli("mirror", str(delta), TABLE, "--check-files")

    assert checked[0] == 1
    assert "cannot be read" in checked[2]
    assert cli("mirror", str(delta), TABLE)[0] == 0


def test_nothing_new_is_no_error(cli: Cli, delta: Path) -> None:
    cli("mirror", str(delta), TABLE)

    code, output, _ = cli("mirror", str(delta), TABLE)

    assert code == 0
    assert "landed     nothing" in output


def test_a_terminal_shows_how_far_it_is(cli: Cli, delta: Path) -> None:
    """On stderr; a pipe and a document are spared it."""
    shown = ANSI.sub("", cli("mirror", str(delta), TABLE, "--upto", "1", width=80)[2])

    assert "version 1 of 1 has landed" in shown
    assert cli("mirror", str(delta), TABLE, "--upto", "2", "--json", width=80)[2] == ""
    assert cli("mirror", str(delta), TABLE)[2] == ""


def test_a_gap_fails_unless_it_may_be_one_snapshot(cli: Cli, delta: Path) -> None:
    cli("mirror", str(delta), TABLE, "--upto", "0")
    deltalake.DeltaTable(delta).create_checkpoint()
    for version in (1, 2):
        (delta / "_delta_log" / f"{version:020}.json").unlink()

    code, _, errors = cli("mirror", str(delta), TABLE)
    landed = cli("mirror", str(delta), TABLE, "--on-gap", "snapshot")

    assert code == 1
    assert "versions 1 to 2 are still to be mirrored" in errors
    assert landed[0] == 0
    head = snapshot_ids(cli)[-1]
    assert f"snapshot {head}: versions 1 to 3 are one, as they were gone from the Delta log" in landed[1]
    found = cli("lookup", TABLE, "--delta-version", "2")
    assert found[0] == 3
    assert f"no snapshot of its own: snapshot {head} stands for versions 1 to 3" in found[1]
    assert cli.json("lookup", TABLE, "--delta-version", "2")["stood_for_by"]["snapshot_id"] == head
    assert cli.json("lookup", TABLE, "--delta-version", "3")["gap_from"] == 1


def test_starting_over_is_for_mirrors_alone(cli: Cli, delta: Path) -> None:
    cli("mirror", str(delta), TABLE)
    first = snapshot_ids(cli)

    assert cli("mirror", str(delta), TABLE, "--start-over")[0] == 0
    code, _, errors = cli("mirror", str(delta), "bank.account", "--start-over")

    assert set(first).isdisjoint(snapshot_ids(cli))
    assert len(snapshot_ids(cli)) == 4
    assert code == 1
    assert "it has never been a mirror" in errors
    assert len(cli.bank.rows()) == 3


def test_a_namespace_that_is_not_there_is_told(cli: Cli, delta: Path) -> None:
    code, output, errors = cli("mirror", str(delta), "nope.mirror")

    assert (code, output) == (1, "")
    assert "has no such namespace" in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize("debug", [(), ("--debug",)])
@pytest.mark.parametrize("key", ["timeout", "aws_endpoint"])
def test_no_storage_option_is_printed(cli: Cli, key: str, debug: tuple[str, ...]) -> None:
    """Not even where the store repeats what it cannot use: whatever was given may be a secret."""
    value = "http://127.0.0.1:1/hunter2"

    code, output, errors = cli("mirror", "s3://b/t", TABLE, *NEAR, "--storage-option", f"{key}={value}", *debug)

    assert (code, output) == (1, "")
    assert "cannot be read" in errors
    assert "hunter2" not in errors


def test_an_option_that_is_none_is_not_repeated(cli: Cli, delta: Path) -> None:
    """Whoever forgot the key has typed the secret alone."""
    code, _, errors = cli("mirror", str(delta), TABLE, "--storage-option", "hunter2")

    assert code == 2
    assert "of the form KEY=VALUE" in errors
    assert "hunter2" not in errors


def test_the_password_in_an_address_is_not_printed(cli: Cli, delta: Path) -> None:
    _, _, errors = cli("mirror", "s3://joe:hunter2@bucket/t", TABLE, *NEAR)

    assert "hunter2" not in errors


@pytest.mark.parametrize("interval", ["0s", "2d", "soon"])
def test_a_pause_has_bounds(cli: Cli, delta: Path, interval: str) -> None:
    assert cli("mirror", str(delta), TABLE, "--watch", "--interval", interval)[0] == 2


def test_a_watch_goes_on_as_the_delta_table_does(cli: Cli, delta: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever came in a pause lands after it; a round without news says nothing."""
    clock = Writing(lambda waits: write(delta, (2, 0, 1)[waits - 1]))

    work_of(cli.bank.connect(), delta, upto=6).watch(clock, 30.0)

    assert at(cli) == 6
    assert clock.waits == [30.0, 30.0, 30.0]
    first, later, last = capsys.readouterr().out.split("the Delta table's latest\n")[:3]
    assert "versions 0 to 3 in 1 commit" in first
    assert later.startswith("bank.mirror: landed versions 4 to 5 in 1 commit")
    assert last.startswith("bank.mirror: landed version 6 in 1 commit")
    assert "lag 0" in last


def test_a_watch_prints_a_document_a_line(cli: Cli, delta: Path) -> None:
    code, output, _ = cli("mirror", str(delta), TABLE, "--watch", "--upto", "3", "--json")

    assert code == 0
    assert [json.loads(line)["lag"] for line in output.splitlines()] == [0]


def test_only_the_first_round_of_a_watch_starts_over(cli: Cli, delta: Path) -> None:
    first_round: list[int] = []

    def note_and_write(waits: int) -> None:
        first_round.extend(snapshot_ids(cli))
        write(delta, 1)

    clock = Writing(note_and_write)
    cli("mirror", str(delta), TABLE)
    before = snapshot_ids(cli)

    work_of(cli.bank.connect(), delta, upto=4, start_over=True, is_json=True).watch(clock, 1.0)

    assert clock.waits == [1.0]
    assert len(first_round) == 4
    assert snapshot_ids(cli)[:4] == first_round
    assert set(before).isdisjoint(first_round)


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_ends_the_pause(cli: Cli, delta: Path, signum: signal.Signals, code: int) -> None:
    clock = Writing(lambda waits: signal.raise_signal(signum))
    before = signal.getsignal(signum)

    with pytest.raises(typer.Exit) as ended:
        work_of(cli.bank.connect(), delta).watch(clock, 30.0)

    assert ended.value.exit_code == code
    assert at(cli) == 3
    assert signal.getsignal(signum) == before


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_in_a_commit_ends_the_watch_after_it(cli: Cli, delta: Path, signum: signal.Signals, code: int) -> None:
    """Not in the middle of it, and not after all that there is to do."""
    catalog = Signalling("bank", **cli.bank.properties())
    catalog.signum = signum

    with pytest.raises(typer.Exit) as ended:
        work_of(catalog, delta, batch=1).watch(ManualClock(), 30.0)
    catalog.close()

    assert ended.value.exit_code == code
    assert at(cli) == 0
    assert cli("mirror", str(delta), TABLE)[0] == 0
    assert at(cli) == 3


def test_a_second_interrupt_does_not_wait(cli: Cli, delta: Path) -> None:
    catalog = Signalling("bank", **cli.bank.properties())
    catalog.times = 2

    with pytest.raises(KeyboardInterrupt):
        work_of(catalog, delta, batch=1).watch(ManualClock(), 30.0)
    catalog.close()

    assert cli("mirror", str(delta), TABLE)[0] == 0
    assert at(cli) == 3


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_watching_process_ends_when_it_is_asked_to(cli: Cli, delta: Path, signum: signal.Signals, code: int) -> None:
    """Within the pause of an hour, with its exit code and without a traceback."""
    arguments = ["mirror", str(delta), TABLE, "--watch", "--interval", "1h", "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "seriatim.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(run.ROOT)},
    ) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        process.send_signal(signum)
        _, errors = process.communicate(timeout=60)

    assert (told["delta_version"], told["lag"]) == (3, 0)
    assert process.returncode == code
    assert errors == f"seriatim: ended by {signum.name}; what has landed has landed\n"


def test_each_version_is_looked_up_both_ways(cli: Cli, delta: Path) -> None:
    cli("mirror", str(delta), TABLE)

    for version, snapshot_id in enumerate(snapshot_ids(cli)):
        code, output, _ = cli("lookup", TABLE, "--delta-version", str(version))
        assert code == 0
        assert f"Delta version {version} (WRITE) is snapshot {snapshot_id};" in output
        assert cli.json("lookup", TABLE, "--delta-version", str(version))["snapshot_id"] == snapshot_id
        assert cli("lookup", TABLE, "--snapshot", str(snapshot_id))[:2] == (
            0,
            f"{TABLE}: snapshot {snapshot_id} is Delta version {version}.\n",
        )
        assert cli.json("lookup", TABLE, "--snapshot", str(snapshot_id))["delta_version"] == version


def test_a_version_without_a_snapshot_is_told_from_one_to_come(cli: Cli, delta: Path) -> None:
    cli("mirror", str(delta), TABLE)
    expired = snapshot_ids(cli)[0]
    with cli.bank.rival() as catalog:
        catalog.load_table(TABLE).transaction().set_properties({"gc.enabled": "true"}).commit_transaction()
        expire(catalog, TABLE, retention=RetentionPolicy(snapshots_min=2), dry_run=False)

    assert cli("lookup", TABLE, "--delta-version", "4")[0] == 4
    assert "the mirror is at version 3" in cli("lookup", TABLE, "--delta-version", "4")[1]
    assert cli("lookup", TABLE, "--delta-version", "0")[0] == 3
    assert "expired" in cli("lookup", TABLE, "--delta-version", "0")[1]
    assert cli("lookup", TABLE, "--snapshot", str(expired))[0] == 3
    assert cli.json("lookup", TABLE, "--snapshot", str(expired))["status"] == "gone"


def test_a_table_that_is_no_mirror_has_no_versions(cli: Cli) -> None:
    head = cli.bank.head()

    assert cli("lookup", "bank.account", "--delta-version", "0")[:2] == (
        4,
        "bank.account: no Delta version has been mirrored to it.\n",
    )
    assert cli("lookup", "bank.account", "--snapshot", str(head))[0] == 4
    assert "Delta version" not in cli("history", "bank.account")[1]


@pytest.mark.parametrize("arguments", [(), ("id", "--delta-version", "1"), ("--snapshot", "1", "--delta-version", "1")])
def test_one_thing_is_looked_up_at_a_time(cli: Cli, arguments: tuple[str, ...]) -> None:
    code, _, errors = cli("lookup", "bank.account", *arguments)

    assert code == 2
    assert "one thing to look up" in errors


def test_the_history_of_a_mirror_has_its_versions(cli: Cli, delta: Path) -> None:
    """Those of one commit are one entry."""
    cli("mirror", str(delta), TABLE, "--upto", "2")
    cli("mirror", str(delta), TABLE)

    header, *lines = [line.split("\t") for line in cli("history", TABLE)[1].splitlines()]

    assert header[:4] == ["time (UTC)", "snapshot", "Delta version", "rows"]
    assert [line[2] for line in lines] == ["3", "0 to 2"]
    assert [entry["delta_versions"] for entry in cli.json("history", TABLE)["history"]] == [[3], [0, 1, 2]]
    assert any(line.split() == ["Delta", "version", "0", "to", "2"] for line in cli.lines("history", TABLE, width=80))


class Writing(ManualClock):
    """A clock in whose pauses something happens."""

    def __init__(self, happens: Callable[[int], object]) -> None:
        super().__init__()
        self.happens = happens

    def wait_s(self, seconds: float) -> None:
        super().wait_s(seconds)
        self.happens(len(self.waits))


class Signalling(SqlCatalog):
    """A catalog that sends this process a signal while it makes its first commit."""

    signum = signal.SIGINT
    times = 1

    def commit_table(self, *arguments: Any, **options: Any) -> CommitTableResponse:
        for _ in range(self.times):
            signal.raise_signal(self.signum)
        self.times = 0
        return super().commit_table(*arguments, **options)
