#!/usr/bin/env python3
"""The front door: `python3 run.py RECIPE [arguments]`.

It needs Python 3.11 or newer and nothing else. The first recipe makes `.venv` from `requirements/lock.txt`, every later
one makes it again only when that lock has changed; otherwise nothing is asked of the network.

This file must also parse on older Pythons (3.8), so that they get a message instead of a traceback.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

PYTHON_MIN = (3, 11)
ROOT = Path(__file__).resolve().parent
INSTALL_WAIT_S_MAX = 1200.0
# A file's tests share what it costs to set up. In the order of the files: sorted by size, few and long tests come last.
PYTEST = ("-m", "pytest", "-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder")
EXIT_SETUP = 2  # Wrong use, or an environment that cannot be made.


class SetupError(Exception):
    """The recipe was not started; the message says what to do."""


class StoppedError(Exception):
    """A signal came while a child ran, and the child has ended."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"stopped by signal {signum}")
        self.exit_code = 128 + signum


class Environment(NamedTuple):
    """A virtual environment in the checkout and the lock that it is made from."""

    name: str
    lock: str
    compile_args: tuple[str, ...]  # What `uv pip compile` makes the lock from.
    python_below: tuple[int, int] = (4, 0)

    @property
    def path(self) -> Path:
        """Where it is."""
        return ROOT / self.name

    @property
    def scripts(self) -> Path:
        """The folder of its executables."""
        return self.path / ("Scripts" if os.name == "nt" else "bin")

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.scripts / ("python.exe" if os.name == "nt" else "python")

    @property
    def stamp(self) -> Path:
        """Says what it was made from; written last, so an interrupted installation has none."""
        return self.path / "seriatim-stamp.txt"


TOOLS = Environment(".venv-tools", "requirements/bootstrap.txt", ("--group", "bootstrap"))
MAIN = Environment(".venv", "requirements/lock.txt", ("pyproject.toml", "--all-extras", "--group", "dev"))
CONTRACT = {
    "0.10": Environment(
        ".venv-pyiceberg-0.10",
        "requirements/pyiceberg-0.10.txt",
        ("pyproject.toml", "--extra", "sql", "--group", "pyiceberg-0.10"),
        python_below=(3, 14),
    ),
    "0.11": Environment(
        ".venv-pyiceberg-0.11",
        "requirements/pyiceberg-0.11.txt",
        ("pyproject.toml", "--extra", "sql", "--group", "pyiceberg-0.11"),
    ),
    "0.12": MAIN,
}
MUTATION = Environment(
    ".venv-mutation", "requirements/mutation.txt", ("pyproject.toml", "--extra", "sql", "--group", "mutation")
)
BENCH = Environment(
    ".venv-bench",
    "requirements/bench.txt",
    # The versions of the main environment, which are the tested ones: its lock is made before.
    (
        *("pyproject.toml", "--extra", "sql", "--extra", "delta", "--extra", "dagster", "--group", "bench"),
        "-c",
        MAIN.lock,
    ),
)
LOCKED = (TOOLS, MAIN, CONTRACT["0.10"], CONTRACT["0.11"], MUTATION, BENCH)


# Recipes


def demo(args: Sequence[str]) -> int:
    """The main job: overlapping bank runs, compared with the serial oracle."""
    return python(MAIN, "-m", "pipelines.main_job", *args)


def dev(args: Sequence[str]) -> int:
    """The Dagster UI on the same pipeline, with its schedules ready to switch on."""
    return python(MAIN, "-m", "pipelines.dev", *args)


def test(args: Sequence[str]) -> int:
    """The default tests; arguments go to pytest (`-m slow`: the slow ones alone)."""
    return python(MAIN, *PYTEST, *args)


def exhaustive(args: Sequence[str]) -> int:
    """What CI has no time for: every case of the matrices, long runs with kills and replays. An hour or more."""
    return python(MAIN, *PYTEST, "--dist", "load", "-m", "exhaustive", *args)


def contract(args: Sequence[str]) -> int:
    """[0.10|0.11|0.12] The contract tests on that PyIceberg, or on all three; the rest goes to pytest."""
    versions, rest = list(CONTRACT), list(args)
    if rest and re.fullmatch(r"\d+(\.\d+)*", rest[0]):
        if rest[0] not in CONTRACT:
            raise SetupError(f"No lock for PyIceberg {rest[0]}; there is one for each of {', '.join(CONTRACT)}.")
        versions = [rest.pop(0)]
    return every_step([(CONTRACT[version], [*PYTEST, "tests/contract", *rest]) for version in versions])


def check(args: Sequence[str]) -> int:
    """Format, lint, strict types, import contracts, locks."""
    if args:
        raise SetupError("`check` takes no arguments.")
    failed = every_step(
        [
            (MAIN, ["-m", "ruff", "format", "--check", "."]),
            (MAIN, ["-m", "ruff", "check", "."]),
            (MAIN, ["-m", "mypy"]),
            (MAIN, [str(MAIN.scripts / "lint-imports"), "--no-logo"]),
        ]
    )
    problems = [problem for environment in LOCKED for problem in lock_problems(environment.lock)]
    for problem in problems:
        say(problem)
    return failed or int(bool(problems))


def oracle(args: Sequence[str]) -> int:
    """Every comparison with the serial oracle, the slow ones too."""
    return python(MAIN, *PYTEST, "-m", "", "tests/oracle", *args)


def mutants(args: Sequence[str]) -> int:
    """Sabotages a copy of the core line by line; the tests must catch every one. Arguments: words of names."""
    return python(MAIN, "-m", "tests.mutants", *args)


def mutation(args: Sequence[str]) -> int:
    """[--sample 20] [--seed S] Mutates a sample of the core, and says which mutants no test notices; not in CI."""
    return python(MUTATION, "-m", "tests.mutation", *args)


def soak(args: Sequence[str]) -> int:
    """[--minutes 30] A table under load, with kills and upkeep beside it, judged and reported; not in CI."""
    return python(MAIN, "-m", "soak", *args)


def bench(args: Sequence[str]) -> int:
    """[NAME ...] [--quick] [--compare] [--report] The library beside its peers on this machine; not in CI."""
    return python(BENCH, "-m", "benchmarks", *args)


def screenshots(args: Sequence[str]) -> int:
    """[--into docs/images] The documents' pictures of the Dagster UI, by the machine's own Chromium; not in CI."""
    return python(MAIN, "-m", "pipelines.screenshots", *args)


def lock(args: Sequence[str]) -> int:
    """Makes the locks again from pyproject.toml; keeps what is pinned unless `--upgrade` is given."""
    uv = ensure_tools()
    if uv is None:
        raise SetupError("The locks are made by uv, which could not be installed.")
    for environment in LOCKED:
        say(f"Locking {environment.lock}")
        options = ["--universal", "--python-version", ".".join(map(str, PYTHON_MIN)), "--generate-hashes"]
        silent = ["--no-emit-index-url", "--no-header", "--quiet"]
        command = [str(uv), "pip", "compile", *environment.compile_args, *options, *silent, "-o", environment.lock]
        code = run_child([*command, *args], uv_variables())
        if code:
            return code
        path = ROOT / environment.lock
        path.write_text(lock_header() + path.read_text(encoding="utf-8"), encoding="utf-8")
    return 0


RECIPES: dict[str, Callable[[Sequence[str]], int]] = {
    recipe.__name__: recipe
    for recipe in (
        *(demo, dev, test, exhaustive, contract, check, oracle, mutants, mutation, soak, bench, screenshots),
        lock,
    )
}


def main(argv: Sequence[str]) -> int:
    """Run one recipe and return the exit code of its child."""
    if sys.version_info < PYTHON_MIN:
        say(f"Seriatim needs Python {'.'.join(map(str, PYTHON_MIN))} or newer; this is {sys.version.split()[0]}.")
        say("Start run.py with a newer one, for instance `python3.11 run.py`.")
        return EXIT_SETUP
    try:
        return start(argv)
    except SetupError as error:
        say(str(error))
        return EXIT_SETUP
    except StoppedError as stopped:
        return stopped.exit_code
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def start(argv: Sequence[str]) -> int:
    """Find the recipe and run it."""
    if not argv or argv[0] in ("help", "-h", "--help"):
        print(usage())
        return 0
    if argv[0] not in RECIPES:
        raise SetupError(f"There is no recipe `{argv[0]}`.\n{usage()}")
    return RECIPES[argv[0]](argv[1:])


def usage() -> str:
    """The table of recipes."""
    rows = [f"  {name:<11} {recipe.__doc__}" for name, recipe in RECIPES.items()]
    return "\n".join(["python3 run.py RECIPE [arguments]", *rows, "Paths in arguments are relative to the checkout."])


# Children


def python(environment: Environment, *args: str) -> int:
    """Run Python in an environment, which is made first when it is absent or old."""
    ensure(environment)
    return run_child([str(environment.python), *args], recipe_variables(environment))


def every_step(steps: Sequence[tuple[Environment, Sequence[str]]]) -> int:
    """Run all the steps, also after one that failed, and return the first failure's exit code."""
    failed = 0
    for environment, args in steps:
        say(f"{environment.name}: python {' '.join(args)}")
        failed = python(environment, *args) or failed
    return failed


def run_child(command: Sequence[str], variables: dict[str, str]) -> int:
    """Run a child in the checkout to its end; SIGINT and SIGTERM reach it, and end the recipe after it.

    Raises:
        StoppedError: a signal came meanwhile.
    """
    received: list[int] = []
    child: subprocess.Popen[bytes] | None = None

    def on_signal(signum: int, _frame: FrameType | None) -> None:
        received.append(signum)
        if child is not None and not (signum == signal.SIGINT and is_in_foreground()):
            child.send_signal(signum)

    previous = {signum: signal.signal(signum, on_signal) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        child = subprocess.Popen(command, cwd=ROOT, env=variables)
        code = child.wait()
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)
    if received:
        raise StoppedError(received[0])
    return code if code >= 0 else 128 - code


def is_in_foreground() -> bool:
    """Whether a terminal sends Ctrl-C to the child by itself, so that it must not be sent twice."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except (OSError, AttributeError):
        return False


def recipe_variables(environment: Environment) -> dict[str, str]:
    """The caller's variables, with the environment's executables first and nothing from another Python."""
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
    variables["VIRTUAL_ENV"] = str(environment.path)
    variables["PATH"] = os.pathsep.join([str(environment.scripts), os.environ.get("PATH", os.defpath)])
    variables.setdefault("DAGSTER_DISABLE_TELEMETRY", "1")  # It would write to the home directory, too.
    for name in ("SERIATIM_TRANSACTIONS", "SERIATIM_TRANSACTIONS_REAL"):
        if variables.get(name):
            variables[name] = str(Path(variables[name]).absolute())  # The child starts elsewhere: in the checkout.
    return variables


def say(line: str) -> None:
    """Tell the user something that is not the recipe's own output."""
    print(line, file=sys.stderr, flush=True)


# Environments


def ensure(environment: Environment) -> None:
    """Make the environment from its lock unless it is there and current."""
    if is_current(environment):
        return
    if sys.version_info >= environment.python_below:
        below = ".".join(map(str, environment.python_below))
        raise SetupError(
            f"{environment.lock} has packages for Python below {below} only; start run.py with such a one."
        )
    with exclusively(ROOT / ".venv.lock", wait_s_max=INSTALL_WAIT_S_MAX):
        if not is_current(environment):  # Another run.py may have made it while this one waited.
            install(environment)


def is_current(environment: Environment) -> bool:
    """Whether its installation was finished from this very lock, in this place, by this minor of Python."""
    try:
        found = environment.stamp.read_text(encoding="utf-8")
    except OSError:
        return False
    return found == stamp_text(environment) and environment.python.exists()


def stamp_text(environment: Environment) -> str:
    """What an environment depends on. The place counts, since its scripts name it."""
    digest = hashlib.sha256((ROOT / environment.lock).read_bytes()).hexdigest()
    return f"lock sha256 {digest}\npython {sys.version_info[0]}.{sys.version_info[1]}\nplace {environment.path}\n"


def install(environment: Environment) -> None:
    """Make the environment from nothing: with uv where that can be had, else with pip."""
    started = time.monotonic()
    say(f"Making {environment.name} from {environment.lock} (Python {sys.version.split()[0]}) ...")
    wanted = stamp_text(environment)
    uv = tools_under_lock()
    installed = False
    if uv is not None:
        make_venv(environment, "--without-pip")
        options = ["--quiet", "--require-hashes", "--python", str(environment.python), "-r", environment.lock]
        installed = run_child([str(uv), "pip", "install", *options], uv_variables()) == 0
    if not installed:
        say("uv could not be used: installing with pip, which takes longer.")
        make_venv(environment, "--without-pip")
        pip_install(environment)
    write_pth(environment)
    environment.stamp.write_text(wanted, encoding="utf-8")
    say(f"Made {environment.name} in {time.monotonic() - started:.0f} s.")


def ensure_tools() -> Path | None:
    """The path of uv, which is installed first when it is absent or old."""
    with exclusively(ROOT / ".venv.lock", wait_s_max=INSTALL_WAIT_S_MAX):
        return tools_under_lock()


def tools_under_lock() -> Path | None:
    """The path of uv, or None when it could not be installed; pip is in the same environment."""
    uv = TOOLS.scripts / ("uv.exe" if os.name == "nt" else "uv")
    if is_current(TOOLS) and uv.exists():
        return uv
    make_venv(TOOLS)
    try:
        pip_install(TOOLS)
    except SetupError:
        return None
    if not uv.exists():
        return None
    TOOLS.stamp.write_text(stamp_text(TOOLS), encoding="utf-8")
    return uv


def make_venv(environment: Environment, *options: str) -> None:
    """Make an empty virtual environment in place of any that is there."""
    missing = [name for name in ("venv", "ensurepip") if not is_installed(name)]
    if missing:
        minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise SetupError(
            f"This Python ({sys.executable}) lacks {' and '.join(missing)} and can make no environment.\n"
            f"On Debian and Ubuntu: `apt install python3-venv` (or python{minor}-venv), then start again."
        )
    shutil.rmtree(environment.path, ignore_errors=True)
    base = getattr(sys, "_base_executable", None) or sys.executable  # Not the environment that may be replaced.
    code = run_child([base, "-m", "venv", *options, str(environment.path)], dict(os.environ))
    if code:
        raise SetupError(f"`{base} -m venv` failed with exit code {code}; its output is above.")


def is_installed(module: str) -> bool:
    """Whether a module is there; a folder that a removed package left behind is not one."""
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.origin is not None


def pip_install(environment: Environment) -> None:
    """Install the lock with the pip of the tools' environment."""
    pip = [str(TOOLS.python), "-m", "pip", "--python", str(environment.python), "--disable-pip-version-check"]
    options = ["--quiet", "--no-input", "--require-hashes", "-r", environment.lock]
    code = run_child([*pip, "install", *options], dict(os.environ))
    if code:
        raise SetupError(f"pip could not install {environment.lock} (exit code {code}); its output is above.")


def write_pth(environment: Environment) -> None:
    """Make the checkout's packages importable there, also for `.venv/bin/dagster` started by hand."""
    where = {"base": str(environment.path), "platbase": str(environment.path)}
    site_packages = Path(sysconfig.get_path("purelib", "venv", vars=where))
    (site_packages / "seriatim-checkout.pth").write_text(f"{ROOT}\n", encoding="utf-8")


def uv_variables() -> dict[str, str]:
    """The caller's variables and ours for uv."""
    ours = {
        "UV_COMPILE_BYTECODE": "1",  # Halves the import time of the first run.
        "UV_NO_PROGRESS": "1",
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_SYSTEM_CERTS": "1",  # As pip: trust what the machine trusts.
    }
    return {**ours, **os.environ}


@contextmanager
def exclusively(path: Path, *, wait_s_max: float) -> Iterator[None]:
    """Hold a lock of this checkout; it goes with the process, however that ends.

    Raises:
        SetupError: another process still held it after `wait_s_max`.
    """
    if sys.platform == "win32":
        yield  # No flock there: two first runs at once are not kept apart.
        return
    give_up_at = time.monotonic() + wait_s_max
    is_told = False
    with path.open("a", encoding="utf-8") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= give_up_at:
                    raise SetupError(
                        f"Another run.py has been installing for {wait_s_max:.0f} s; end it, or wait and start again."
                    ) from None
                if not is_told:
                    say("Another run.py is installing; waiting for it.")
                    is_told = True
                time.sleep(0.1)
        yield


# Locks


def lock_inputs_sha256() -> str:
    """The digest of what the locks are made from: the requirements in pyproject.toml."""
    import tomllib  # Not at the top: Python 3.10 and older lack it.

    with (ROOT / "pyproject.toml").open("rb") as file:
        pyproject = tomllib.load(file)
    keys = ("requires-python", "dependencies", "optional-dependencies")
    inputs = [pyproject["dependency-groups"], *(pyproject["project"][key] for key in keys)]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def lock_header() -> str:
    """The first lines of a lock."""
    return f"# Made by `python3 run.py lock`; do not edit.\n# sha256 of its inputs: {lock_inputs_sha256()}\n"


def lock_problems(lock: str) -> list[str]:
    """Why a lock cannot be used as it is: old, without hashes, or naming an address or a place on one machine."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    problems = []
    if not text.startswith(lock_header()):
        problems.append(f"{lock}: not made from the present pyproject.toml; `python3 run.py lock`")
    for number, line in enumerate(text.splitlines(), start=1):
        if "://" in line:
            problems.append(f"{lock}:{number}: names an address: {line.strip()}")
        if re.search(r"(^|[\s\"'=@(])(/\w|~/|[A-Za-z]:\\)", line):
            problems.append(f"{lock}:{number}: names a place on one machine: {line.strip()}")
    uncommented = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for requirement in uncommented.replace("\\\n", " ").splitlines():
        is_pinned = re.match(r"[\w.-]+(\[[\w,.-]+\])?==\S+", requirement)
        if requirement.strip() and not (is_pinned and "--hash=sha256:" in requirement):
            problems.append(f"{lock}: not pinned with hashes: {requirement.strip()}")
    return problems


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
