"""Every `python3 run.py ...` of the documents, typed into a small checkout, starts what stands behind the recipe."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import run
from tests.unit.small_checkout import TIMEOUT_S, Checkout, small_checkout

# What says how it was started instead of doing anything.
STAND_IN = """
import os, sys
name = __spec__.name if __spec__ else os.path.basename(sys.argv[0])
told = [f"{each}={os.path.basename(os.environ[each])}" for each in sorted(os.environ) if each.startswith("SERIATIM_")]
print(os.path.basename(sys.prefix), *told, name, *sys.argv[1:])
"""
PYTEST = "pytest -n auto --dist loadfile --no-loadscope-reorder"
CONTRACT = [f"{name} {PYTEST} tests/contract" for name in (".venv-pyiceberg-0.10", ".venv-pyiceberg-0.11", ".venv")]
CHECK = ["ruff format --check .", "ruff check .", "mypy", "lint-imports --no-logo"]
SOAK = "--minutes 5 --writers 8 --kill-every 3 --seed 2 --report somewhere"
BENCH = (  # What follows on the recipe.
    "",
    " --quick",
    " one_commit contention",
    " --compare",
    " --from newest --save-baseline --report",
    " mirror --long",
    " main_job --profile",
)
STARTED = {
    "python3 run.py demo": [".venv pipelines.main_job"],
    "SERIATIM_TRANSACTIONS=bank.parquet python3 run.py demo": [
        ".venv SERIATIM_TRANSACTIONS=bank.parquet pipelines.main_job"
    ],
    "python3 run.py dev": [".venv pipelines.dev"],
    "python3 run.py test": [f".venv {PYTEST}"],
    "SERIATIM_SCHEDULE='...' python3 run.py test tests/oracle/test_schedules.py -k replayed": [
        f".venv SERIATIM_SCHEDULE=... {PYTEST} tests/oracle/test_schedules.py -k replayed"
    ],
    "SERIATIM_PIN=1 python3 run.py test tests/code_location/test_pinned.py": [
        f".venv SERIATIM_PIN=1 {PYTEST} tests/code_location/test_pinned.py"
    ],
    "python3 run.py exhaustive": [f".venv {PYTEST} --dist load -m exhaustive"],
    "python3 run.py contract": CONTRACT,
    "python3 run.py contract 0.10": CONTRACT[:1],
    "python3 run.py check": [f".venv {each}" for each in CHECK],
    "python3 run.py oracle": [f".venv {PYTEST} -m  tests/oracle"],
    "python3 run.py mutants": [".venv tests.mutants"],
    "python3 run.py mutation": [".venv-mutation tests.mutation"],
    "python3 run.py mutation --sample 200 --seed 1": [".venv-mutation tests.mutation --sample 200 --seed 1"],
    "python3 run.py soak": [".venv soak"],
    f"python3 run.py soak {SOAK}": [f".venv soak {SOAK}"],
    **{f"python3 run.py bench{words}": [f".venv-bench benchmarks{words}"] for words in BENCH},
    "python3 run.py screenshots": [".venv pipelines.screenshots"],
}
MODULES = sorted({word for lines in STARTED.values() for line in lines for word in line.split()[1:2] if word.islower()})
OURS = [name for name in MODULES if name not in ("pytest", "ruff", "mypy", "lint-imports")]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """One for all recipes: its environments are made once each, and what they start says how it was started."""
    small = small_checkout(tmp_path_factory.mktemp("recipes"))
    for module in MODULES:
        file = small.root / f"{module.replace('.', '/')}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(STAND_IN, encoding="utf-8")
    _typed(small, "python3 run.py demo")
    (small.root / ".venv/bin/lint-imports").write_text(STAND_IN, encoding="utf-8")
    return small


def _typed(checkout: Checkout, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command by a shell in the checkout, with an environment that has a PATH and nothing else."""
    typed = re.sub(r"\bpython3\b", sys.executable, command)
    return subprocess.run(
        ["sh", "-c", typed],
        cwd=checkout.root,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )


@pytest.mark.documented(
    "python3 run.py demo",
    "SERIATIM_TRANSACTIONS=bank.parquet python3 run.py demo",
    "python3 run.py dev",
    "python3 run.py test",
    "SERIATIM_SCHEDULE='...' python3 run.py test tests/oracle/test_schedules.py -k replayed",
    "SERIATIM_PIN=1 python3 run.py test tests/code_location/test_pinned.py",
    "python3 run.py exhaustive",
    "python3 run.py contract",
    "python3 run.py contract 0.10",
    "python3 run.py check",
    "python3 run.py oracle",
    "python3 run.py mutants",
    "python3 run.py mutation",
    "python3 run.py mutation --sample 200 --seed 1",
    "python3 run.py soak",
    "python3 run.py soak --minutes 5 --writers 8 --kill-every 3 --seed 2 --report somewhere",
    "python3 run.py bench",
    "python3 run.py bench --quick",
    "python3 run.py bench one_commit contention",
    "python3 run.py bench --compare",
    "python3 run.py bench --from newest --save-baseline --report",
    "python3 run.py bench mirror --long",
    "python3 run.py bench main_job --profile",
    "python3 run.py screenshots",
)
def test_a_recipe_starts_what_stands_behind_it(checkout: Checkout, documented: tuple[str, ...]) -> None:
    """In its environment, with the arguments and the variables that the document gives it."""
    started = {command: _typed(checkout, command).stdout.splitlines() for command in documented}

    assert started == STARTED


@pytest.mark.documented("python3 run.py lock")
def test_every_lock_is_made_again(checkout: Checkout, documented: tuple[str, ...]) -> None:
    """By uv, from what pyproject.toml says of it."""
    before = len(checkout.uv_calls())
    shown = checkout.root / "pyproject.toml"
    shown.write_text((run.ROOT / "pyproject.toml").read_text(encoding="utf-8"), encoding="utf-8")

    ended = _typed(checkout, documented[0])

    assert ended.returncode == 0, ended.stderr
    made = [call.rpartition(" ")[2] for call in checkout.uv_calls()[before:]]
    assert made == [environment.lock for environment in run.LOCKED]


@pytest.mark.parametrize("module", OURS)
def test_what_a_recipe_starts_is_there(module: str) -> None:
    place = run.ROOT / module.replace(".", "/")

    assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file()


def test_the_schedule_that_is_played_again_is_chosen_by_its_name() -> None:
    """`-k replayed` would choose nothing if the test had another one."""
    text = Path(run.ROOT, "tests/oracle/test_schedules.py").read_text(encoding="utf-8")

    assert len(re.findall(r"^def test_\w*replayed\w*\(", text, re.MULTILINE)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("command", [command for command in STARTED if " --" in command])
def test_the_options_of_a_command_are_known(command: str) -> None:
    """To the program itself, by its own help."""
    recipe, *words = command.split("run.py ")[1].split()
    module = {"mutation": "tests.mutation", "soak": "soak", "bench": "benchmarks"}[recipe]

    shown = subprocess.run(
        [sys.executable, "-m", module, "--help"], cwd=run.ROOT, capture_output=True, text=True, check=True
    )

    assert [word for word in words if word.startswith("--") and f"{word} " not in shown.stdout] == []
