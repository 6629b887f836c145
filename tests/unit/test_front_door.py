"""The front door, run for real in a small checkout whose uv and pip are stand-ins, so that nothing needs a network."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import run
from tests.unit.small_checkout import TIMEOUT_S, Checkout, small_checkout

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_it_parses_on_python_3_8() -> None:
    """An old Python must come as far as the message that says it is old."""
    ast.parse((run.ROOT / "run.py").read_text(encoding="utf-8"), feature_version=(3, 8))


def test_an_old_python_is_told_what_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is started."""
    monkeypatch.setattr(run, "PYTHON_MIN", (99, 0))

    assert run.main(["demo"]) == 2
    assert "needs Python 99.0 or newer" in capsys.readouterr().err


def test_every_recipe_is_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    """`python3 run.py` alone says what there is."""
    assert run.main([]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")] == [
        *("demo", "dev", "test", "exhaustive", "contract", "check", "oracle", "mutants", "mutation", "soak", "bench"),
        *("screenshots", "lock"),
    ]


@pytest.mark.parametrize("argv", [["tset"], ["contract", "0.9"], ["check", "everything"]])
def test_a_wrong_use_ends_with_exit_code_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It is refused before anything is made or run, and says what would be right."""
    assert run.main(argv) == 2
    assert capsys.readouterr().err


def test_a_python_without_ensurepip_is_told_which_package_it_lacks(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Debian's python3 is such a one until python3-venv is installed."""
    monkeypatch.setattr(run, "ROOT", checkout.root)
    monkeypatch.setitem(sys.modules, "ensurepip", None)

    assert run.main(["test"]) == 2
    assert "apt install python3-venv" in capsys.readouterr().err
    assert not (checkout.root / ".venv").exists()


def test_an_old_pyiceberg_is_refused_on_a_python_that_it_does_not_know(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A clear word instead of a failing build."""
    monkeypatch.setattr(run, "ROOT", checkout.root)
    monkeypatch.setattr(sys, "version_info", (3, 14, 0, "final", 0))

    assert run.main(["contract", "0.10"]) == 2
    assert "below 3.14" in capsys.readouterr().err


def test_a_recipe_gets_its_arguments_and_returns_its_exit_code(checkout: Checkout, tmp_path: Path) -> None:
    """With an empty environment and from another directory, the checkout's own packages are importable."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    ended = checkout.run("demo", "--fast", cwd=elsewhere, SERIATIM_TRANSACTIONS="mine.csv", PYTHONPATH="/other")

    assert ended.returncode == 7
    assert ended.stdout == (
        f'{{"args": ["--fast"], "cwd": "{checkout.root}", "SERIATIM_TRANSACTIONS": "{elsewhere}/mine.csv", '
        '"PYTHONPATH": null, "DAGSTER_DISABLE_TELEMETRY": "1"}\n'
    )


def test_the_environment_is_made_once(checkout: Checkout) -> None:
    """The second recipe asks nothing of uv, and so nothing of the network."""
    checkout.run("demo")
    second = checkout.run("demo")

    assert len(checkout.uv_calls()) == 1
    assert "pip install --quiet --require-hashes" in checkout.uv_calls()[0]
    assert second.stderr == ""


def test_the_environment_imports_the_checkout_from_anywhere(checkout: Checkout, tmp_path: Path) -> None:
    """So that `.venv/bin/dagster` works when a user starts it by hand."""
    checkout.run("demo")
    command = [str(checkout.root / ".venv/bin/python"), "-c", "import run; print(run.ROOT)"]
    out = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True, timeout=TIMEOUT_S).stdout

    assert out == f"{checkout.root}\n"


def test_an_environment_whose_python_has_gone_is_made_again(checkout: Checkout) -> None:
    """The Python that it was made by was removed: its link leads nowhere."""
    checkout.run("demo")
    python = checkout.root / ".venv/bin/python"
    python.unlink()
    python.symlink_to(checkout.root / "removed")

    assert checkout.run("demo").returncode == 7
    assert len(checkout.uv_calls()) == 2


def test_a_changed_lock_makes_the_environment_again(checkout: Checkout) -> None:
    """What an earlier lock had installed is gone."""
    checkout.run("demo")
    leftover = checkout.root / ".venv/leftover.txt"
    leftover.touch()
    (checkout.root / "requirements/lock.txt").write_text("# other\n", encoding="utf-8")
    checkout.run("demo")

    assert len(checkout.uv_calls()) == 2
    assert not leftover.exists()


def test_a_moved_checkout_makes_its_environment_again(checkout: Checkout, tmp_path: Path) -> None:
    """The scripts in an environment name the place where it was made."""
    checkout.run("demo")
    moved = Checkout(checkout.root.rename(tmp_path / "moved"))
    moved.install_tools()

    assert moved.run("demo").returncode == 7
    assert len(moved.uv_calls()) == 2


def test_an_interrupted_installation_is_done_again(checkout: Checkout) -> None:
    """It leaves no stamp, so that half an environment is never taken for a whole one."""
    checkout.install_tools(uv="kill -INT $PPID\n")
    interrupted = checkout.run("demo")
    checkout.install_tools()
    again = checkout.run("demo")

    assert interrupted.returncode == 130
    assert "Traceback" not in interrupted.stderr
    assert again.returncode == 7
    assert len(checkout.uv_calls()) == 2


def test_pip_installs_when_uv_fails(checkout: Checkout) -> None:
    """It takes longer, and one line says so; the hashes are demanded all the same."""
    checkout.install_tools(uv="exit 1\n")
    ended = checkout.run("demo")

    assert ended.returncode == 7
    assert ended.stderr.count("installing with pip") == 1
    assert "--require-hashes" in (checkout.root / "pip-calls.txt").read_text(encoding="utf-8")


def test_nothing_runs_in_an_environment_that_could_not_be_made(checkout: Checkout) -> None:
    """Neither installer worked: exit code 2, and the next start tries again."""
    checkout.install_tools(uv="exit 1\n", pip="exit 1\n")
    ended = checkout.run("demo")

    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    assert not (checkout.root / ".venv/seriatim-stamp.txt").exists()


def test_two_first_starts_install_once(checkout: Checkout) -> None:
    """The second one waits for the first one's installation and uses it."""
    checkout.install_tools(uv="echo started >&2\nread go\n")

    first = checkout.start("demo")
    is_started = "started\n" in lines_of(first)  # Its installer runs now, and waits for `go`.
    second = checkout.start("demo")
    waiting = next(lines_of(second))
    first.communicate("go\n", timeout=TIMEOUT_S)
    second.communicate(timeout=TIMEOUT_S)

    assert is_started
    assert "waiting" in waiting
    assert [first.returncode, second.returncode] == [7, 7]
    assert len(checkout.uv_calls()) == 1


def test_the_wait_for_another_installation_has_an_end(checkout: Checkout) -> None:
    """One that hangs is named instead of waited for without end."""
    held = checkout.root / ".venv.lock"

    with (
        run.exclusively(held, wait_s_max=0),
        pytest.raises(run.SetupError, match="has been installing"),
        run.exclusively(held, wait_s_max=0),
    ):
        pass


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_reaches_the_child_and_ends_the_recipe(checkout: Checkout, name: str, code: int) -> None:
    """The child takes its leave in its own way; the exit code says what ended it, without a traceback."""
    checkout.write_main_job(
        "import os, signal\n"
        f"signal.pthread_sigmask(signal.SIG_BLOCK, [signal.{name}])\n"
        f"os.kill(os.getppid(), signal.{name})\n"
        f"print(signal.sigwait([signal.{name}]).name)\n"
    )
    ended = checkout.run("demo")

    assert ended.returncode == code
    assert ended.stdout == f"{name}\n"
    assert "Traceback" not in ended.stderr


def test_a_killed_child_is_an_exit_code(checkout: Checkout) -> None:
    """As a shell reports it."""
    checkout.write_main_job("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")

    assert checkout.run("demo").returncode == 137


def test_each_step_runs_although_one_before_it_failed(checkout: Checkout) -> None:
    """All contract tests report; the exit code is the first failure's."""
    (checkout.root / "pytest.py").write_text("import sys\nprint(sys.prefix)\nsys.exit(3)\n", encoding="utf-8")
    ended = checkout.run("contract")

    assert ended.returncode == 3
    assert [Path(line).name for line in ended.stdout.splitlines()] == [
        *(".venv-pyiceberg-0.10", ".venv-pyiceberg-0.11", ".venv")
    ]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A small checkout whose `demo` prints how it was run and exits with 7."""
    return small_checkout(tmp_path)


def lines_of(process: subprocess.Popen[str]) -> Iterator[str]:
    """What a process tells the user, line by line."""
    assert process.stderr is not None
    return iter(process.stderr)
