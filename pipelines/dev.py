"""`python -m pipelines.dev`: the Dagster UI on this pipeline, its schedules ready to switch on.

Arguments go to `dagster dev`, for example `--port 3001`.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NoReturn

from pipelines.instance import prepare_instance
from pipelines.resources import DELTA, TRANSACTIONS, generated_bank, landed, local_folder
from seriatim.system import Clock, SystemClock

_ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> NoReturn:
    """Prepare what `dagster dev` needs and become it, so that Ctrl-C and every other signal are its own."""
    os.chdir(_ROOT)  # Where workspace.yaml is.
    home = Path(os.environ.setdefault("DAGSTER_HOME", str(local_folder() / "dagster")))
    os.environ.setdefault("DAGSTER_DISABLE_TELEMETRY", "1")
    prepare_instance(home)
    if not os.environ.get(DELTA):
        bank = Path(os.environ.get(TRANSACTIONS) or bank_around(today(SystemClock())))
        os.environ[DELTA] = str(landed(local_folder() / f"bank_transactions-{bank.stem}", bank))
    print(f"Transactions: {os.environ[DELTA]} (Delta)")
    print(f"Instance:     {home}")
    print(f"UI:           {_url(arguments)}  (Ctrl-C ends it)", flush=True)
    os.execv(  # noqa: S606  # No shell, so nothing to escape.
        sys.executable, [sys.executable, "-m", "dagster", "dev", "-w", "workspace.yaml", *arguments]
    )


def today(clock: Clock) -> date:
    """Return the day in UTC, in which the schedules run."""
    return datetime.fromtimestamp(clock.now_ms() / 1000, tz=UTC).date()


def bank_around(day: date) -> Path:
    """Return a generated bank of the month of `day` and the one before: the schedules have work each night."""
    first = (day.replace(day=1) - timedelta(days=1)).replace(day=1)
    after = (day.replace(day=28) + timedelta(days=4)).replace(day=1)
    return generated_bank(local_folder() / f"bank-{day:%Y-%m}.parquet", first, days=(after - first).days)


def _url(arguments: list[str]) -> str:
    port = "3000"
    for name, value in zip(arguments, [*arguments[1:], ""], strict=True):
        if name in ("-p", "--port") and value:
            port = value
    return f"http://127.0.0.1:{port}"


if __name__ == "__main__":
    main(sys.argv[1:])
