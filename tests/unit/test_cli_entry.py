"""The command as a process: through its entry point, with completion, and without what it can do without."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import run
from tests.faults.bank import Bank
from tests.unit.cli_support import ACCOUNT, with_history

PYPROJECT = tomllib.loads((run.ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _environment(home: Path, **variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYICEBERG_", "FORCE_"))}
    return {**kept, "HOME": str(home), "PYTHONPATH": str(run.ROOT), **variables}


def _python(code: str, *arguments: str, home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=home,
        env=_environment(home, **variables),
    )


def _script() -> str:
    """Return the script that an installer makes of the entry point."""
    module, _, function = PYPROJECT["project"]["scripts"]["seriatim"].partition(":")
    return f"import sys; from {module} import {function}; sys.exit({function}())"


def _seriatim(*arguments: str, home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return _python(_script(), *arguments, home=home, **variables)


def test_the_command_reads_the_configuration_of_pyiceberg(tmp_path: Path) -> None:
    """A file in the home folder names the catalog; the environment needs nothing."""
    bank = Bank(tmp_path)
    snapshots = with_history(bank).snapshot_ids()
    bank.close()
    uri = bank.properties()["uri"]
    (tmp_path / ".pyiceberg.yaml").write_text(f"catalog:\n  bank:\n    uri: {uri}\n")

    shown = _seriatim("history", ACCOUNT, "--catalog", "bank", "--json", home=tmp_path)
    found = _seriatim("lookup", ACCOUNT, "deposit|2", "-c", "bank", home=tmp_path)

    assert (shown.returncode, shown.stderr) == (0, "")
    entries = json.loads(shown.stdout)["history"]
    assert [entry["snapshot_ids"] for entry in entries] == [[id_] for id_ in reversed(snapshots)]
    assert found.returncode == 4


def test_an_exit_code_is_not_lost_while_the_interpreter_is_taken_down(tmp_path: Path) -> None:
    """Arrow's threads abort the process now and then if it is; nothing is left to be done by then."""
    bank = Bank(tmp_path)
    with_history(bank)
    bank.close()
    code = "import atexit; atexit.register(print, 'taken down'); from seriatim.cli.entry import main; main()"
    uri = bank.properties()["uri"]

    ended = _python(code, "lookup", ACCOUNT, "deposit|1", "-c", "bank", home=tmp_path, PYICEBERG_CATALOG__BANK__URI=uri)

    assert ended.returncode == 0
    assert "has been applied by snapshot" in ended.stdout
    assert "taken down" not in ended.stdout


def test_a_reader_that_goes_away_is_no_error_to_speak_of(tmp_path: Path) -> None:
    """`seriatim history TABLE | head`."""
    bank = Bank(tmp_path)
    with_history(bank)
    bank.close()
    command = "from seriatim.cli.entry import main; main()"
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(
        [sys.executable, "-c", command, "history", ACCOUNT, "-c", "bank"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=120,
        env=_environment(tmp_path, PYICEBERG_CATALOG__BANK__URI=bank.properties()["uri"]),
    )
    os.close(write)

    assert "Traceback" not in ended.stderr


def test_help_needs_nothing_heavy_and_documents_the_exit_codes(tmp_path: Path) -> None:
    """PyIceberg and PyArrow take seconds to import."""
    code = (
        "import sys\n"
        "from seriatim.cli.entry import main\n"
        "try:\n    main()\n"
        "finally:\n    print(sorted({'pyiceberg', 'pyarrow', 'dagster', 'sqlalchemy'} & set(sys.modules)))"
    )

    shown = _python(code, "--help", home=tmp_path)

    assert shown.returncode == 0
    assert shown.stdout.splitlines()[-1] == "[]"
    assert "4    lookup: the operation has not been applied" in shown.stdout
    for command in ("history", "conflicts", "lookup"):
        assert command in shown.stdout


def test_the_version_is_that_of_the_project(tmp_path: Path) -> None:
    assert _seriatim("--version", home=tmp_path).stdout == f"seriatim {PYPROJECT['project']['version']}\n"


@pytest.mark.parametrize(
    ("words", "expected"), [("seriatim hi", ["history"]), ("seriatim history --catalog b", ["bank", "books"])]
)
def test_the_shell_completes_commands_and_catalogs(tmp_path: Path, words: str, expected: list[str]) -> None:
    """Catalogs are offered by the names that PyIceberg's configuration gives them."""
    completed = _seriatim(
        home=tmp_path,
        _SERIATIM_COMPLETE="complete_bash",
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split()) - 1),
        PYICEBERG_CATALOG__BANK__URI="sqlite://",
        PYICEBERG_CATALOG__BOOKS__URI="sqlite://",
        PYICEBERG_CATALOG__PROD__URI="sqlite://",
    )

    assert completed.stdout.split() == expected


def test_completion_can_be_shown_for_a_shell(tmp_path: Path) -> None:
    shown = _seriatim("--show-completion", "bash", home=tmp_path, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")

    assert shown.returncode == 0
    assert "_SERIATIM_COMPLETE=complete_bash" in shown.stdout


@pytest.mark.documented("seriatim --install-completion")
def test_completion_is_installed_for_the_shell_that_asks(tmp_path: Path, documented: tuple[str, ...]) -> None:
    """A function of bash stands for the script that an installer would have made."""
    seriatim = f'seriatim() {{ {sys.executable} -c {shlex.quote(_script())} "$@"; }}'

    ended = subprocess.run(
        ["bash", "--norc", "-c", f"{seriatim}; {documented[0]}; exit $?"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=tmp_path,
        env=_environment(tmp_path),
    )

    assert ended.returncode == 0, ended.stderr
    assert "_SERIATIM_COMPLETE" in "".join(path.read_text() for path in tmp_path.rglob("*.sh"))
    assert "seriatim.sh" in (tmp_path / ".bashrc").read_text()


def test_without_its_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['typer'] = None; from seriatim.cli.entry import main; main()"

    ended = _python(code, home=tmp_path)

    assert ended.returncode == 1
    assert ended.stderr == "seriatim: typer is not installed, which the command needs: pip install 'seriatim[cli]'\n"


@pytest.mark.slow
def test_an_installed_wheel_has_the_command(tmp_path: Path) -> None:
    """The script itself, as an installer makes it."""
    uv = run.ensure_tools()
    assert uv is not None
    target = ["--quiet", "--no-deps", "--python", sys.executable, "--target", str(tmp_path / "site")]
    subprocess.run([str(uv), "pip", "install", *target, str(run.ROOT)], check=True, env=run.uv_variables(), timeout=300)

    ended = subprocess.run(
        [str(tmp_path / "site" / "bin" / "seriatim"), "--version"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**_environment(tmp_path), "PYTHONPATH": str(tmp_path / "site")},
    )

    assert ended.stdout == f"seriatim {PYPROJECT['project']['version']}\n"
