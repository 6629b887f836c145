"""Every `seriatim ...` of the documents, with a table, an operation and a Delta table in the places of their words."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

import run
from seriatim.conflict_events import ConflictEvent
from tests.unit.cli_support import ACCOUNT, RUN, Cli, cli_on, record_conflicts, use_environment, with_history

DONE, NOT_APPLIED, ANOMALIES = 0, 4, 6


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    """A catalog with a table, its conflicts, and the namespace of a mirror."""
    with cli_on(tmp_path, monkeypatch) as cli:
        with_history(cli.bank)
        record_conflicts(cli.bank, ConflictEvent("e1", ACCOUNT, 1, RUN, ("a",), RUN, ("b",), 1, 2, 3, 4, 5))
        with cli.bank.rival() as catalog:
            catalog.create_namespace("lake")
        yield cli


@pytest.fixture
def delta(tmp_path: Path) -> str:
    """A Delta table of versions 0 to 3."""
    for number in range(4):
        deltalake.write_deltalake(tmp_path / "delta", pa.table({"i": [number]}), mode="append")
    return str(tmp_path / "delta")


def _spelled_out(synopsis: str) -> list[list[str]]:
    """Return what a synopsis allows: each of its alternatives, with and without what is in brackets."""
    first, *rest = re.split(r"(\[[^]]*\])", synopsis)
    program, commands, *words = first.split()
    options = [part[1:-1].removesuffix(" ...").split() for part in rest if part.startswith("[")]
    return [
        [command, *words, *(word for each in chosen for word in each)]
        for command in commands.split("|")
        for chosen in product(*([[], option] for option in options))
        if program == "seriatim"
    ]


def _with(words: Sequence[str], **places: str) -> list[str]:
    return [places.get(word, word) for word in words]


def _codes(cli: Cli, commands: Sequence[Sequence[str]]) -> dict[str, int]:
    return {shlex.join(command): cli(*command)[0] for command in commands}


@pytest.mark.documented(
    "seriatim history TABLE",
    "seriatim conflicts TABLE [--from TABLE]",
    "seriatim upkeep TABLE [--apply]",
    "seriatim repair TABLE [--apply]",
    "seriatim upkeep bank.account --keep 2",
)
def test_what_looks_after_a_table_is_done(cli: Cli, documented: tuple[str, ...]) -> None:
    *synopses, upkeep = documented
    first = [words for synopsis in synopses for words in _spelled_out(synopsis)]
    table = [[*_with(words[:2], TABLE=ACCOUNT), *_with(words[2:], TABLE="bank.conflicts")] for words in first]

    codes = _codes(cli, [*table, shlex.split(upkeep)[1:]])

    assert len(codes) == 8
    assert set(codes.values()) == {DONE}


@pytest.mark.documented("seriatim history|conflicts|lookup|audit|upkeep|repair TABLE", "seriatim upkeep")
def test_each_command_that_is_named_in_short_is_one(cli: Cli, documented: tuple[str, ...]) -> None:
    """A look-up wants to know of what, besides."""
    commands = [
        [*_with(words, TABLE=ACCOUNT), *(["deposit|1"] if words[0] == "lookup" else [])]
        for words in _spelled_out(documented[0])
    ]

    codes = _codes(cli, commands)

    assert codes.pop(f"audit {ACCOUNT}") in (DONE, 3)  # PyIceberg's own commit says nothing of itself.
    assert len(codes) == 5
    assert set(codes.values()) == {DONE}
    assert documented[1].split()[1] in {command[0] for command in commands}


@pytest.mark.documented(
    "seriatim lookup TABLE OPERATION_ID",
    "seriatim lookup bank.account 'bank/opened|1993-01-05'",
    "seriatim lookup bank.account 'deposit|4712'; echo $?",
)
def test_a_look_up_exits_with_what_the_document_prints(cli: Cli, documented: tuple[str, ...]) -> None:
    synopsis, applied, not_applied = (command.removesuffix("; echo $?") for command in documented)
    commands = [_with(shlex.split(synopsis)[1:], TABLE=ACCOUNT, OPERATION_ID="deposit|1")]
    commands += [shlex.split(applied)[1:], shlex.split(not_applied)[1:]]

    assert [*_codes(cli, commands).values()] == [DONE, DONE, NOT_APPLIED]


@pytest.mark.documented(
    "seriatim audit TABLE [--unique-key COL ...]",
    "seriatim audit bank.account --unique-key id --sums-as-recorded bal; echo $?",
    "seriatim audit bank.account --unique-key id --sums-as-recorded bal --bounds bal:0: --html audit.html",
)
def test_an_audit_judges_and_writes_its_page(cli: Cli, documented: tuple[str, ...], tmp_path: Path) -> None:
    """Somebody gives an id to a second row: found, as in the document."""
    synopsis, shown, page = (command.removesuffix("; echo $?") for command in documented)
    without, with_key = (_with(words, TABLE=ACCOUNT, COL="id") for words in _spelled_out(synopsis))

    before = _codes(cli, [without, with_key])
    with cli.bank.rival() as catalog:
        table = catalog.load_table(ACCOUNT)
        table.append(pa.Table.from_pylist([{"id": 4, "bal": 1}], schema=table.schema().as_arrow()))
    after = _codes(cli, [shlex.split(shown)[1:], shlex.split(page)[1:]])

    assert [*before.values()] == [DONE, DONE]
    assert [*after.values()] == [ANOMALIES, ANOMALIES]
    assert "duplicate key" in (tmp_path / "audit.html").read_text(encoding="utf-8")


@pytest.mark.documented(
    "seriatim mirror SOURCE TABLE",
    "seriatim mirror SOURCE TABLE [--watch]",
    "seriatim mirror s3://lake/events lake.events",
    "seriatim mirror s3://lake/events lake.events --watch",
    "seriatim lookup TABLE --delta-version N",
    "seriatim lookup TABLE --delta-version 42",
    "seriatim lookup lake.events --delta-version 3",
    "seriatim lookup lake.events --snapshot 8576792217129551491",
)
def test_a_mirror_is_made_and_looked_up(cli: Cli, delta: str, documented: tuple[str, ...]) -> None:
    """One that watches goes on, so that it is told where to end."""
    places = {"SOURCE": delta, "s3://lake/events": delta, "TABLE": "lake.events", "N": "3"}
    mirrors = [words for command in documented[:4] for words in _spelled_out(command)]
    runs = [[*_with(words, **places), *(["--upto", "3"] if "--watch" in words else [])] for words in mirrors]

    codes = _codes(cli, runs)

    assert set(codes.values()) == {DONE}
    third, missing, shown, by_snapshot = (_with(shlex.split(command)[1:], **places) for command in documented[4:])
    assert [cli(*words)[0] for words in (third, missing, shown)] == [DONE, NOT_APPLIED, DONE]
    by_snapshot[-1] = str(cli.json(*third)["snapshot_id"])
    assert cli(*by_snapshot)[0] == DONE


@pytest.mark.documented(
    "export PYICEBERG_CATALOG__BANK__URI=sqlite:////srv/bank/catalog.db", "export PYICEBERG_DEFAULT_CATALOG=bank"
)
def test_two_variables_name_the_catalog(cli: Cli, documented: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else does."""
    for key in cli.bank.properties():
        monkeypatch.delenv(f"PYICEBERG_CATALOG__BANK__{key.upper()}", raising=False)
    monkeypatch.delenv("PYICEBERG_DEFAULT_CATALOG")
    for command in documented:
        name, _, value = command.removeprefix("export ").partition("=")
        monkeypatch.setenv(name, value.replace("sqlite:////srv/bank/catalog.db", cli.bank.properties()["uri"]))
    use_environment(monkeypatch)

    assert cli("history", ACCOUNT)[0] == DONE


@pytest.mark.documented(
    'pip install "seriatim[cli]"', 'pip install "seriatim[dagster]"', 'pip install "seriatim[cli,delta]"'
)
def test_the_extras_that_are_installed_are_there(documented: tuple[str, ...]) -> None:
    """An installer takes one that is not for nothing, and says so in a line that nobody reads."""
    project = tomllib.loads((run.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    for command in documented:
        name, extras = command.removeprefix('pip install "').removesuffix(']"').split("[")

        assert name == project["name"]
        assert all(project["optional-dependencies"][extra] for extra in extras.split(","))
