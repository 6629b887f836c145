"""A Dagster instance that runs can start on in parallel."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Final

DAGSTER_YAML: Final = """\
telemetry:
  enabled: false
nux:
  enabled: false  # A dialog would cover the page.
concurrency:
  runs:
    max_concurrent_runs: {max_concurrent_runs}
run_monitoring:
  enabled: true
  free_slots_after_run_end_seconds: 15
run_retries:
  enabled: true
  max_retries: 2
  # A run whose process died is launched again, and its operation id makes that safe. A run that failed by itself is
  # not: conflicts are retried by the commit loop alone.
  retry_on_asset_or_op_failure: false
"""


def prepare_instance(home: Path, *, max_concurrent_runs: int = 16) -> None:
    """Make `home` a Dagster instance on SQLite, unless it is one; a dagster.yaml that is there stays as it is.

    The databases are made by one process while others wait: made by several at once, a fresh instance ends up with
    more than one alembic head and refuses every run.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (home / ".prepare.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Released when the file is closed, also by a death.
        config = home / "dagster.yaml"
        if not config.exists():
            config.write_text(DAGSTER_YAML.format(max_concurrent_runs=max_concurrent_runs), encoding="utf-8")
        _make_databases(home)


def _make_databases(home: Path) -> None:
    import dagster as dg

    with dg.DagsterInstance.from_config(str(home)) as instance:
        instance.get_runs_count()
        instance.all_asset_keys()
        instance.all_instigator_state()
